"""What a forge can do for us, whatever it calls it.

A pull request is found by its branch, opened, updated in place and closed. People work on it too:
their labels, reviewers and comments stay. What a forge or a repository does not offer (drafts,
auto-merge, a reviewer who may not review) is a note in the answer and never a failure.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from gati_gitops.errors import Outside

State = Literal["open", "closed", "merged"]
CheckState = Literal["pending", "success", "failure", "error"]


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request as the forge shows it."""

    number: int
    url: str
    branch: str
    base: str
    head: str
    """The commit that the forge believes the branch to be at; it may lag behind a push."""
    title: str
    body: str
    labels: tuple[str, ...]
    reviewers: tuple[str, ...]
    """Who was asked and has not answered yet; teams as `group/team`."""
    state: State
    draft: bool
    auto_merge: bool
    updated: datetime


@dataclass(frozen=True, slots=True)
class Text:
    """What we want a pull request to say and whom to ask."""

    title: str
    body: str
    labels: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    draft: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    """A pull request after we have written to it, and what could not be had."""

    pull: PullRequest
    notes: tuple[str, ...] = ()


class Forge(Protocol):
    """One repository on one forge."""

    @property
    def name(self) -> str:
        """How people call this forge."""
        ...

    @property
    def body_limit(self) -> int:
        """How many characters the text of a pull request or comment may have."""
        ...

    def find(self, branch_prefix: str) -> list[PullRequest]:
        """Open pull requests from branches of this repository, never of forks, oldest first."""
        ...

    def closed(self, branch: str) -> list[PullRequest]:
        """The latest pull requests of one branch that are closed or merged, newest first."""
        ...

    def open(self, branch: str, base: str, text: Text) -> Done:
        """Open a pull request; if there is one already, update that."""
        ...

    def update(self, pull: PullRequest, text: Text) -> Done:
        """Make a pull request say what we want; only what differs is sent."""
        ...

    def close(self, pull: PullRequest, comment: str, body: str | None = None) -> None:
        """Close with a sentence why; `body` replaces its text."""
        ...

    def comment_in_place(self, number: int, marker: str, body: str) -> None:
        """The one comment with this marker: written, or updated if it is there."""
        ...

    def merge_when_ready(self, pull: PullRequest, head: str) -> str:
        """Let the forge merge this head once its checks pass; a note if that can't be had."""
        ...

    def set_check(
        self, head: str, name: str, state: CheckState, description: str, url: str = ""
    ) -> None:
        """Say on a commit how a check went."""
        ...


class ForgeError(Outside):
    """A forge refused or failed; `status` is HTTP's, 0 if there was no answer."""

    def __init__(self, message: str, *, remedy: str = "", status: int = 0) -> None:
        super().__init__(message, remedy=remedy)
        self.status = status


class Unanswered(ForgeError):
    """A request was sent and its answer lost: it may have been done."""
