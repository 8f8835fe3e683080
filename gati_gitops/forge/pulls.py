"""What Gitea's API took over from GitHub's: comments, reviewers and checks of pull requests."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from gati_gitops.forge.comments import keep_comment, was_asked
from gati_gitops.forge.http import Http, segment
from gati_gitops.forge.model import CheckState, ForgeError, PullRequest
from gati_gitops.forge.text import fit, marker, one_line


class Pulls:
    """The pull requests of one repository."""

    name: str
    body_limit: int
    check_limit: int
    """How long the words beside a check may be."""

    def __init__(self, http: Http, repository: str) -> None:
        self._http = http
        self._owner, _, rest = repository.partition("/")
        self._repo = f"/repos/{segment(self._owner)}/{segment(rest)}"

    def _get(self, number: int) -> Any:
        return self._http.get(f"{self._repo}/pulls/{number}", f"show pull request {number}")

    def _request(
        self, number: int, reviewers: Iterable[str], asked: Collection[str]
    ) -> tuple[str, ...]:
        """Ask people, and teams as `owner/team`, for reviews; what the forge has against it."""
        notes = []
        for reviewer in reviewers:
            if was_asked(reviewer, asked):
                continue
            team = reviewer.rpartition("/")[2] if "/" in reviewer else ""
            who = {"team_reviewers": [team]} if team else {"reviewers": [reviewer]}
            path = f"{self._repo}/pulls/{number}/requested_reviewers"
            try:
                self._http.send("POST", path, f"ask {reviewer} for a review", who)
            except ForgeError as error:
                if error.status not in (403, 404, 422):
                    raise
                notes.append(error.message)
        return tuple(notes)

    def close(self, pull: PullRequest, comment: str, body: str | None = None) -> None:
        self.comment_in_place(pull.number, "closed", comment)
        change = {"state": "closed"} | (
            {} if body is None else {"body": fit(body, self.body_limit)}
        )
        path = f"{self._repo}/pulls/{pull.number}"
        self._http.send("PATCH", path, f"close pull request {pull.number}", change)

    def comment_in_place(self, number: int, marker_name: str, body: str) -> None:
        keep_comment(
            self._http,
            f"{self._repo}/issues/{number}/comments",
            lambda comment: f"{self._repo}/issues/comments/{comment['id']}",
            "PATCH",
            marker("comment", marker_name),
            body,
            self.body_limit,
        )

    def set_check(
        self, head: str, name: str, state: CheckState, description: str, url: str = ""
    ) -> None:
        words = one_line(description, self.check_limit)
        body = {"state": state, "context": name, "description": words}
        path = f"{self._repo}/statuses/{segment(head)}"
        self._http.send(
            "POST", path, f"set the check {name}", body | ({"target_url": url} if url else {})
        )
