"""Branches that pull requests are made of: their names, whose they are, and whether they are fresh.

A branch of ours is one commit on the target. It is built again only when that changes what would be
merged: an approval is worth more than a short distance to the tip. So commits elsewhere on the
target do not count, nor do records of a newer commit of the specs that wants the same. What a
person has committed to a branch is never overwritten.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol

from gati_gitops.repo.commit import Commit, Signature, is_ours, read_commit
from gati_gitops.repo.objects import BLOB, Missing, Objects, object_id
from gati_gitops.repo.repository import Repository, Tip
from gati_gitops.repo.trees import GitSnapshot, differences, folder_of
from gati_gitops.tree import Changes

PREFIX = "gati/"
"""How the names of our own branches begin."""

_DAY = 86_400
_WALK = 20_000


def branch_name(source: str, environment: str, group: str = "") -> str:
    """The branch of one pull request; without a group it is of the whole environment."""
    return "/".join(filter(None, (f"{PREFIX}{source}", environment, group)))


def environment_of(branch: str, source: str) -> str:
    """The environment that a branch of a source is about; empty if it is another's."""
    start = f"{PREFIX}{source}/"
    return branch.removeprefix(start).partition("/")[0] if branch.startswith(start) else ""


# -- what a branch holds ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Built:
    """A branch as it stands: a commit on a base, and what it changes there."""

    commit: str
    base: str
    base_time: int
    ours: bool
    before: GitSnapshot
    after: GitSnapshot
    touched: frozenset[str]


def read_branch(
    repository: Repository, branch: str, root: str, author: Signature, known: str
) -> Built:
    """Read a branch. ``known`` is the commit that its pull request says we made."""
    tip = repository.tip_of(branch)
    objects = tip.objects
    commit = read_commit(objects, tip.commit)
    own, base, mine = commit, commit.parents[:1], _made_by_us(commit, author, known)
    if len(commit.parents) == 2:  # the forge has merged the target into it, at a person's wish
        own = _commit(repository, objects, commit, commit.parents[0])
        base, mine = commit.parents[1:], _made_by_us(own, author, known)
    parents = [_commit(repository, objects, commit, id) for id in base]
    before = parents[0].tree if parents else ""
    touched = _between(objects, before, commit.tree, root)
    if mine and own is not commit:
        first = _commit(repository, objects, own, own.parents[0])
        mine = _same(objects, touched, commit.tree, first.tree, own.tree, root)
    return Built(
        commit.id,
        parents[0].id if parents else "",
        parents[0].time if parents else 0,
        mine,
        GitSnapshot(objects, before or commit.tree, root),
        GitSnapshot(objects, commit.tree, root),
        frozenset(touched),
    )


def _made_by_us(commit: Commit, author: Signature, known: str) -> bool:
    """Whether a commit is as we made it: one that a person amended names another committer."""
    by_us = commit.id == known or commit.committer.email == author.email
    return is_ours(commit) and by_us


def _commit(repository: Repository, objects: Objects, child: Commit, id: str) -> Commit:
    try:
        return read_commit(objects, id)
    except Missing:
        repository.deepen(child.id)
    return read_commit(objects, id)


def _between(objects: Objects, before: str, after: str, root: str) -> dict[str, str]:
    """The paths that differ between two trees, with the id that each has afterwards."""
    sides = (folder_of(objects, tree, root) if tree else None for tree in (before, after))
    return {path: new[1].hex() if new else "" for path, _, new in differences(objects, *sides)}


def _same(
    objects: Objects, touched: dict[str, str], merged: str, first: str, own: str, root: str
) -> bool:
    """Whether a merge changes what our commit changes, and nothing else: nobody added anything."""
    ours = _between(objects, first, own, root)
    after = GitSnapshot(objects, merged, root)
    return touched.items() <= ours.items() and all(after.id(p) == id for p, id in ours.items())


def in_history(repository: Repository, tip: Tip, commit: str, time: int) -> bool:
    """Whether a commit of a time is on the branch that leads to a tip, going by first parents.

    A target that was reset must not get back by a merge what it was reset from.
    """
    found = read_commit(tip.objects, tip.commit)
    for _ in range(_WALK):
        if found.id == commit:
            return True
        if not found.parents or found.time < time - _DAY:
            return False
        found = _commit(repository, tip.objects, found, found.parents[0])
    return False


# -- whether it is fresh ---------------------------------------------------------------------------


class Ids(Protocol):
    """A tree whose files and folders have ids; empty for what is not there."""

    def id(self, path: str) -> str: ...


def outdated(
    wanted: Changes,
    folders: Iterable[str],
    touched: Collection[str],
    before: Ids,
    branch: Ids,
    tip: Ids,
) -> str:
    """Why a branch must be built again; nothing while it would merge to exactly what is wanted.

    ``wanted`` is what we would change on the tip today, ``folders`` are those that it names. The
    branch was built on ``before`` and changes the ``touched`` paths.
    """
    strong = _strong({**dict.fromkeys(touched), **wanted})
    for path in sorted(strong):
        want = _id(wanted[path]) if path in wanted else tip.id(path)
        if branch.id(path) != want:
            return f"what it wants of {path} has changed"
    for path in sorted({*touched, *wanted, *folders}):
        if before.id(path) != (now := tip.id(path)) and now != branch.id(path):
            return f"{path} has changed on the branch that it is for"
    return ""


def wants(changes: Changes) -> str:
    """A key of what is wanted: the same while an offer is the same, whenever it is made."""
    digest = sha256()
    for path in sorted(_strong(changes)):
        digest.update(f"{path}\0{_id(changes[path])}\0".encode())
    return digest.hexdigest()[:20]


def _strong(changes: Changes) -> set[str]:
    """The paths that count: records follow the others, unless there are no others."""
    return {path for path in changes if not is_record(path)} or set(changes)


def is_record(path: str) -> bool:
    """Whether a file only tells what was published."""
    parts = path.split("/", 3)
    return parts[0] == "overlays" and parts[2:3] == ["sources"]


def _id(content: bytes | None) -> str:
    return "" if content is None else object_id(BLOB, content).hex()
