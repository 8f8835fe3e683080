"""What people did to our ledgers, and when each file last changed.

A ledger's `seq` never falls by us. Where it fell, a person reverted, restored or deleted something,
by whatever road it came: a revert, its merge, a squash. All that can hide such a fall is what we
have not written ourselves, so the walk goes back from the tip over the commits of others and ends
at the first of ours: whoever made that one had looked, too. Only folders that differ are read.

A commit of ours that was rebased, squashed or picked elsewhere counts as somebody else's, for
nobody looked at what it was put upon: `is_ours` tells them apart. But a unit that such a copy takes
away, or the merge of a pull request of ours, is gone by our own decision.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from gati_gitops.repo.commit import Commit, Signature, has_our_trailers, is_ours, read_commit
from gati_gitops.repo.objects import BLOB, FOLDER, Entry, Missing, Objects
from gati_gitops.repo.trees import GitSnapshot, differences, folder_of

Deepen = Callable[[str], bool]
"""Fetches the parents of a commit, and perhaps more; False if there is no more to be had."""

LIMIT = 1000
"""How many commits a walk goes back at most. Whoever wrote before us had looked that far, too."""

NEW = 50
"""The same for a branch without any unit: most likely nothing was ever published there."""

_LEDGER = re.compile(r"overlays(?:/[^/]+){4}/rollout\.yaml")
_SEQ = re.compile(rb"^seq:[ \t]*[\"']?(\d{1,18})\b", re.MULTILINE)

_Wanted = dict[bytes, "_Wanted | str"]


@dataclass(frozen=True, slots=True)
class Lowered:
    """A ledger that a person has set back."""

    highest: int
    """The highest seq that it had."""
    found: int | None
    """What it has now; None if it was deleted."""
    commit: str
    author: Signature


@dataclass(frozen=True, slots=True)
class Changed:
    """When and by what a file got the content that it has."""

    time: int
    commit: str


def lowered(
    objects: Objects,
    tip: str,
    *,
    root: str = "",
    deepen: Deepen | None = None,
    limit: int = LIMIT,
) -> dict[str, Lowered]:
    """The ledgers whose seq fell, or that were deleted, with their unit or without it."""
    top = f"{root}/overlays" if root else "overlays"
    commit = read_commit(objects, tip)
    if folder_of(objects, commit.tree, top) is None:
        limit = min(limit, NEW)
    highest: dict[str, int] = {}
    fallen: dict[str, Commit] = {}
    for child, parents in _foreign(objects, commit, deepen, limit):
        for parent in parents:
            trees = (folder_of(objects, each.tree, top) for each in (parent, child))
            for path, before, after in differences(objects, *trees, prefix="overlays/"):
                if not _LEDGER.fullmatch(path):
                    continue
                was = _seq(objects, before)
                if _seq(objects, after) >= was or _taken_by_us(objects, child, parents, path, root):
                    continue
                highest[path] = max(highest.get(path, 0), was)
                fallen.setdefault(path, child)
    snapshot = GitSnapshot(objects, commit.tree, root)
    found: dict[str, Lowered] = {}
    for path, by in sorted(fallen.items()):
        content = snapshot.read(path)
        now = None if content is None else _number(content)
        if (now or 0) < highest[path]:
            found[path] = Lowered(highest[path], now, by.id, by.author)
    return found


def last_changed(
    objects: Objects, tip: str, paths: Iterable[str], *, root: str = "", limit: int = LIMIT
) -> dict[str, Changed]:
    """Which commit on the branch gave each file its content, newest first, in one walk.

    What is older than the clone or than ``limit`` commits is left out.
    """
    found: dict[str, Changed] = {}

    def visit(commit: Commit, path: str, _before: Entry | None, _after: Entry | None) -> bool:
        found[path] = Changed(commit.time, commit.id)
        return True

    walk(objects, tip, paths, visit, root=root, limit=limit)
    return found


Visit = Callable[[Commit, str, Entry | None, Entry | None], bool]
"""What a commit made of a file, and of what; True if no older change matters."""


def walk(
    objects: Objects,
    tip: str,
    paths: Iterable[str],
    visit: Visit,
    *,
    root: str = "",
    deepen: Deepen | None = None,
    limit: int = LIMIT,
) -> Commit:
    """Show every change of some files on the branch, newest first; the last commit looked at."""
    wanted: _Wanted = {}
    for path in paths:
        _want(wanted, f"{root}/{path}" if root else path, path)
    commit = read_commit(objects, tip)
    trees = _Trees(objects)
    for _ in range(limit):
        if not wanted:
            break
        try:
            parent = _parents(objects, commit, deepen)[0] if commit.parents else None
        except Missing:
            break
        before = bytes.fromhex(parent.tree) if parent else None
        _take(wanted, trees, before, bytes.fromhex(commit.tree), partial(visit, commit))
        if parent is None:
            break
        commit = parent
    return commit


def _foreign(
    objects: Objects, commit: Commit, deepen: Deepen | None, limit: int
) -> Iterator[tuple[Commit, list[Commit]]]:
    """The commits of others since the last of ours, each with its parents."""
    for _ in range(limit):
        if is_ours(commit) or not commit.parents:
            return
        parents = _parents(objects, commit, deepen)
        yield commit, parents
        commit = parents[0]


def _taken_by_us(
    objects: Objects, child: Commit, parents: list[Commit], path: str, root: str
) -> bool:
    """Whether a commit of others took a unit away only because we had said so."""
    folder = path.rpartition("/")[0]
    named = [child, *(parent for parent in parents[1:] if has_our_trailers(parent))]
    without = [each for each in named if not GitSnapshot(objects, each.tree, root).id(folder)]
    return child in without and any(has_our_trailers(each) for each in without)


def _parents(objects: Objects, commit: Commit, deepen: Deepen | None) -> list[Commit]:
    try:
        return [read_commit(objects, parent) for parent in commit.parents]
    except Missing:
        if deepen is None or not deepen(commit.id):
            raise
    return [read_commit(objects, parent) for parent in commit.parents]


def _seq(objects: Objects, entry: Entry | None) -> int:
    return 0 if entry is None else _number(objects.read(entry[1], BLOB))


def _number(content: bytes) -> int:
    match = _SEQ.search(content)
    return int(match[1]) if match else 0


def _want(wanted: _Wanted, path: str, name: str) -> None:
    *folders, last = path.encode().split(b"/")
    for folder in folders:
        inner = wanted.setdefault(folder, {})
        assert isinstance(inner, dict), f"{path} is wanted inside of a file"
        wanted = inner
    wanted[last] = name


class _Trees:
    """Trees read; those of one commit are those of the next one's parent."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._known: dict[bytes, dict[bytes, Entry]] = {}

    def read(self, id: bytes | None) -> dict[bytes, Entry]:
        if id is None:
            return {}
        if len(self._known) > 64:
            self._known.clear()
        known = self._known.get(id)
        if known is None:
            known = self._known[id] = self._objects.tree(id)
        return known


def _take(
    wanted: _Wanted,
    trees: _Trees,
    before: bytes | None,
    after: bytes | None,
    done: Callable[[str, Entry | None, Entry | None], bool],
) -> None:
    """Show what differs between two trees; take out of ``wanted`` what is done with."""
    old, new = trees.read(before), trees.read(after)
    for name in {name for name, _ in old.items() ^ new.items()} & wanted.keys():
        inner = wanted[name]
        if isinstance(inner, str):
            if done(inner, old.get(name), new.get(name)):
                del wanted[name]
            continue
        _take(inner, trees, _folder(old.get(name)), _folder(new.get(name)), done)
        if not inner:
            del wanted[name]


def _folder(entry: Entry | None) -> bytes | None:
    return entry[1] if entry and entry[0] == FOLDER else None
