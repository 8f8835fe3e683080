"""Whether what stands on a branch was signed by somebody we listen to.

A commit of our own is a seal: when it was made, everything before it had been looked at. So what
came since the last seal is checked, side branches of merges included. Where no seal can be seen (at
the first run, or in a clone that is too shallow), the tip alone has to be signed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import pygit2

from gati_gitops.errors import Refused
from gati_gitops.repo.sign import AnySigner
from gati_gitops.repo.signatures import AllowedSigners, State, Verdict, check_commit

LIMIT = 10_000
"""So many commits are looked at; a seal further away than that is none."""


@dataclass(frozen=True, slots=True)
class Untrusted:
    """A commit that nobody who counts has signed."""

    commit: str
    author: str
    subject: str
    verdict: Verdict

    def __str__(self) -> str:
        return f"{self.commit[:12]} by {self.author} ({self.verdict})"


def unsigned_commits(
    git: pygit2.Repository,
    tip: str,
    allowed: AllowedSigners,
    *,
    since: str = "",
    own: str = "",
) -> tuple[Untrusted, ...]:
    """Commits up to ``tip`` that are not signed by an allowed key, newest first.

    ``since`` is a commit that is trusted with all that is before it. Without it, the last commit
    that was signed with the key ``own`` (a fingerprint) is.
    """
    if not tip or tip == since:
        return ()
    seal = since if since and since in git else _seal(git, tip, allowed, own)
    return tuple(
        Untrusted(str(commit.id), _person(commit), _subject(commit), verdict)
        for commit in _since(git, tip, seal)
        if not (verdict := check_commit(commit.read_raw(), allowed)).good
    )


def require_signed(untrusted: Iterable[Untrusted], branch: str) -> None:
    """Refuse to build on commits that are not signed by an allowed key."""
    found = list(untrusted)
    if found:
        many = f"{len(found)} commits" if len(found) > 1 else "a commit"
        more = [f"and {len(found) - 10} more"] if len(found) > 10 else []
        raise Refused(
            f"{branch} has {many} that no allowed key has signed, the newest {found[0]}",
            details=[*(str(item) for item in found[:10]), *more] if len(found) > 1 else (),
            remedy="look at what was done; then add the key to the allowed signers, or take the"
            " branch back to before it",
        )


def require_own(signer: AnySigner, allowed: AllowedSigners, now: int) -> None:
    """Refuse a key whose commits we would refuse to build on the next time."""
    head = f"tree {'0' * 40}\nauthor a <a> {now} +0000\ncommitter a <a> {now} +0000"
    signature = signer.sign(f"{head}\n\n\n".encode()).rstrip("\n").replace("\n", "\n ")
    verdict = check_commit(f"{head}\ngpgsig {signature}\n\n\n".encode(), allowed)
    if not verdict.good:
        what = "has expired" if verdict.state is State.EXPIRED else "is not among the allowed ones"
        raise Refused(
            f"the signing key {signer.key} {what}: the next run would refuse our own commit",
            remedy="add it to the allowed signers, or sign with a key that is there",
        )


def _seal(git: pygit2.Repository, tip: str, allowed: AllowedSigners, own: str) -> str:
    """Our last commit on the way back from the tip."""
    for commit in islice(_line(git, tip), LIMIT) if own else ():
        verdict = check_commit(commit.read_raw(), allowed)
        if verdict.good and verdict.key == own:
            return str(commit.id)
    return ""


def _line(git: pygit2.Repository, tip: str) -> Iterator[pygit2.Commit]:
    """The commits that stood at the tip one after the other, as far as they are here."""
    found: object = git.get(tip)
    while isinstance(found, pygit2.Commit):
        yield found
        parents = found.parent_ids
        found = git.get(parents[0]) if parents else None


def _since(git: pygit2.Repository, tip: str, seal: str) -> Iterator[pygit2.Commit]:
    """All that came to the branch after a seal; without one the tip alone."""
    if not seal:
        yield from islice(_line(git, tip), 1)
        return
    walker = git.walk(pygit2.Oid(hex=tip), pygit2.enums.SortMode.TOPOLOGICAL)
    walker.hide(pygit2.Oid(hex=seal))
    yield from walker


def _person(commit: pygit2.Commit) -> str:
    return f"{commit.author.name} <{commit.author.email}>"


def _subject(commit: pygit2.Commit) -> str:
    return commit.message.partition("\n")[0]
