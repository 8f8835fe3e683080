"""What Git servers and libgit2 answer, in words: one sentence, the address, a remedy.

Two things matter to whoever called: a Transient failure may pass if tried again, any other is
final. No text of a server gets out before our secrets are taken from it.
"""

from __future__ import annotations

from gati_gitops.errors import Outside


class Transient(Outside):
    """Something that may pass: a cut connection, a time-out, a busy server."""

    def __init__(self, message: str, *, remedy: str = "", after: float = 0) -> None:
        super().__init__(message, remedy=remedy)
        self.after = after
        """How many seconds the server asked us to wait."""


class Unclear(Transient):
    """A push without an answer: it may have been applied, or may not, or may yet be."""


class Rejected(Outside):
    """The server said no, in words of its own; asking again would change nothing."""


class Lost(Outside):
    """Somebody else moved the branch first. Whoever writes starts again on the new tip."""
