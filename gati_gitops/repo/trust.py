"""Whether what stands on a branch was signed by somebody we listen to.

A signed commit of our own that says so is a seal: when it was made, everything before it had been
checked. So what came since the last seal is checked, with the side branches of merges, and no more.
Where there is no seal (at the first run, or beyond the end of a shallow clone), the tip alone has
to be signed.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gati_gitops.errors import Refused
from gati_gitops.repo.commit import CHECKED, Commit, is_ours, read_commit, trailers
from gati_gitops.repo.objects import COMMIT, Missing, Objects
from gati_gitops.repo.repository import Repository, Tip
from gati_gitops.repo.sign import AnySigner
from gati_gitops.repo.signatures import (
    AllowedSigners,
    State,
    Verdict,
    allowed_signers,
    check_commit,
)

LIMIT = 1000
"""So many commits back a seal is looked for."""

Deepen = Callable[[str], bool]
"""Fetches the parents of a commit, and perhaps more; False if there is no more to be had."""


@dataclass(frozen=True, slots=True)
class Untrusted:
    """A commit that nobody who counts has signed."""

    commit: str
    author: str
    verdict: Verdict

    def __str__(self) -> str:
        return f"{self.commit[:12]} by {self.author} ({self.verdict})"


def require_signed(repository: Repository, tip: Tip, environ: Mapping[str, str]) -> None:
    """Refuse a branch with commits since the last seal that no allowed key has signed."""
    allowed = allowed_signers(environ)
    found = unsigned_commits(tip.objects, tip.commit, allowed, deepen=repository.deepen)
    if found:
        many = f"{len(found)} commits" if len(found) > 1 else "a commit"
        more = [f"and {len(found) - 10} more"] if len(found) > 10 else []
        newest = ", the newest" if len(found) > 1 else ":"
        raise Refused(
            f"{tip.branch} has {many} that no allowed key has signed{newest} {found[0]}",
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


def unsigned_commits(
    objects: Objects,
    tip: str,
    allowed: AllowedSigners,
    *,
    since: str = "",
    deepen: Deepen | None = None,
) -> tuple[Untrusted, ...]:
    """Commits up to ``tip`` that are not signed by an allowed key, newest first.

    ``since`` is a commit that is trusted with all that is before it; without it our last signed
    commit is.
    """
    if not tip:
        return ()
    branch = _Branch(objects, allowed, deepen)
    seal = since or branch.seal(tip)
    found = branch.since(tip, seal) if seal else [read_commit(objects, tip)]
    return tuple(
        Untrusted(commit.id, f"{commit.author.name} <{commit.author.email}>", verdict)
        for commit in found
        if not (verdict := branch.verdict(commit)).good
    )


@dataclass(frozen=True, slots=True)
class _Branch:
    objects: Objects
    allowed: AllowedSigners
    deepen: Deepen | None

    def verdict(self, commit: Commit) -> Verdict:
        return check_commit(self.objects.read(bytes.fromhex(commit.id), COMMIT), self.allowed)

    def seal(self, tip: str) -> str:
        """Our last signed commit on the way back from the tip."""
        commit = read_commit(self.objects, tip)
        for _ in range(LIMIT):
            checked = is_ours(commit) and CHECKED in trailers(commit.message)
            if checked and self.verdict(commit).good:
                return commit.id
            parents = self._parents(commit)
            if not parents:
                break
            commit = parents[0]
        return ""

    def since(self, tip: str, seal: str) -> list[Commit]:
        """All that came after a seal.

        What led to the seal is told apart as Git does it, from new to old. Should clocks have run
        backwards, that may name a commit too many, and never one too few.
        """
        sealed = {seal}
        found: dict[str, Commit] = {}
        queue: list[tuple[int, bool, str]] = []

        def push(commit: Commit) -> None:
            found[commit.id] = commit
            heapq.heappush(queue, (-commit.time, commit.id not in sealed, commit.id))

        for start in (seal, tip) if tip != seal else ():
            push(read_commit(self.objects, start))
        while any(id not in sealed for _, _, id in queue):
            commit = found[heapq.heappop(queue)[2]]
            before = commit.id in sealed
            for parent in self._parents(commit, fetch=not before):
                if before and parent.id not in sealed:
                    sealed.add(parent.id)
                    push(parent)
                elif parent.id not in found:
                    push(parent)
        return [commit for commit in found.values() if commit.id not in sealed]

    def _parents(self, commit: Commit, *, fetch: bool = True) -> list[Commit]:
        """A commit's parents, as far as they can be had."""
        try:
            return [read_commit(self.objects, parent) for parent in commit.parents]
        except Missing:
            if fetch and self.deepen is not None and self.deepen(commit.id):
                return [read_commit(self.objects, parent) for parent in commit.parents]
            return []
