"""What people changed beside units, by who wrote each file last.

Settings, records, terms of the job, CRDs: nothing else on the branch tells what they should be. So
the history does, from the tip backwards. What a commit of others made of a file is an edit once
there is a commit of ours before it; what we wrote later ourselves is settled. As far as the last
commit of ours the history is fetched; beyond that it is looked at as far as it is there.

A pull request of ours may be merged in any way. Our trailers tell, or those of the other parent of
a merge. A squash may lose them: then a record tells, which names the very trees of that commit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from gati_gitops.errors import Refused
from gati_gitops.repo.commit import Commit, has_our_trailers, read_commit
from gati_gitops.repo.history import LIMIT, Deepen
from gati_gitops.repo.objects import BLOB, FOLDER, Entry, Missing, Objects, decoded
from gati_gitops.repo.repository import Tip
from gati_gitops.repo.trees import Difference, GitSnapshot, folder_of
from gati_gitops.yamlio.goyaml_read import GoYamlError, decode, read_config

BEYOND = 200
"""How many commits before the last one of ours are looked at, where they are there."""
_TOPS = frozenset((b"clusters", b"crds", b"overlays"))
_UNIT = re.compile(r"overlays(?:/[^/]+){3}/(?:handler|module)-[^/]+\Z")
"""Folders of units are judged by plan and ledger."""
_RECORD = re.compile(r"overlays/[^/]+/sources/[^/]+/(?!_)[^/]+\.yaml\Z")
_SIDE = 50
"""How far the other side of a merge is followed."""


@dataclass(frozen=True, slots=True)
class Touched:
    """A file that a person changed, added or took away."""

    original: Entry | None
    """What it was when we had written last; None: it was not there."""
    commit: str
    author: str

    @property
    def words(self) -> str:
        return f"by {self.author} in {self.commit[:12]}"


@dataclass(frozen=True, slots=True)
class Edits:
    """What people changed beside units."""

    touched: Mapping[str, Touched] = field(default_factory=dict)
    unknown: str = ""
    """Why the history does not tell."""


def edits(tip: Tip, root: str, deepen: Deepen) -> Edits:
    """Look back as far as one must, and as far as one can for nothing."""
    return _Walk(tip.objects, root, deepen).run(tip.commit)


@dataclass(slots=True)
class _Walk:
    objects: Objects
    root: str
    deepen: Deepen
    pending: dict[str, Touched] = field(default_factory=dict)
    """What was changed since the next commit of ours, which is yet to be found."""
    confirmed: dict[str, Touched] = field(default_factory=dict)
    settled: set[str] = field(default_factory=set)
    sure: bool = False
    """Whether a commit of ours was found."""

    def run(self, tip: str) -> Edits:
        commit = read_commit(self.objects, tip)
        snapshot = GitSnapshot(self.objects, commit.tree, self.root)
        beyond = BEYOND
        for _ in range(LIMIT):
            if has_our_trailers(commit):
                self._confirm(self.pending)
            parents = self._parents(commit)
            if parents is None or (self.sure and not beyond):
                break
            self._step(commit, parents)
            beyond -= self.sure
            if not parents:
                break
            commit = parents[0]
        if not self.sure and commit.parents:
            return Edits(unknown=f"the history that is here ends at {commit.id[:12]}")
        found = {p: t for p, t in self.confirmed.items() if snapshot.entry(p) != t.original}
        return Edits(found)

    def _step(self, commit: Commit, parents: list[Commit]) -> None:
        changes = list(self._changes(parents[0] if parents else None, commit))
        if has_our_trailers(commit) or self._is_copy(commit, changes):
            self._confirm(self.pending)
            self.settled |= {path for path, _, _ in changes}
            return
        for path, before, after in changes:
            if path in self.settled:
                continue
            if self._is_from_ours(parents[1:], path, after):
                self._confirm([path])
                self.settled.add(path)
                continue
            last = self.pending.get(path, Touched(before, commit.id, commit.author.name))
            self.pending[path] = replace(last, original=before)

    def _confirm(self, paths: Iterable[str]) -> None:
        """What stands at a commit of ours is what it should be."""
        self.sure = True
        known = (path for path in paths if path in self.pending and path not in self.settled)
        self.confirmed |= {path: self.pending[path] for path in known}

    def _parents(self, commit: Commit) -> list[Commit] | None:
        """None: they are not here, and need not be fetched or can't be."""
        try:
            return [read_commit(self.objects, parent) for parent in commit.parents]
        except Missing:
            if self.sure or not self.deepen(commit.id):
                return None
        try:
            return [read_commit(self.objects, parent) for parent in commit.parents]
        except Missing:
            return None

    # -- whose a change is -------------------------------------------------------------------------

    def _is_copy(self, commit: Commit, changes: Iterable[Difference]) -> bool:
        """Whether a record came with it that names its trees: a publish, whatever it is called."""
        snapshot = GitSnapshot(self.objects, commit.tree, self.root)
        for path, before, after in changes:
            if _RECORD.match(path):
                trees = self._trees(after)
                fits = all(snapshot.id(name) == id for name, id in trees.items())
                if trees and fits and trees != self._trees(before):
                    return True
        return False

    def _trees(self, entry: Entry | None) -> dict[str, str]:
        try:
            said = read_config(decode(self.objects.read(entry[1], BLOB))) if entry else None
        except (GoYamlError, Refused, Missing):
            return {}
        trees = said.get("trees") if isinstance(said, dict) else None
        return trees if isinstance(trees, dict) else {}

    def _is_from_ours(self, others: Iterable[Commit], path: str, after: Entry | None) -> bool:
        """Whether another parent brought it, from a commit of ours."""
        return any(self._side(other, path) == (True, after) for other in others)

    def _side(self, commit: Commit, path: str) -> tuple[bool, Entry | None]:
        for _ in range(_SIDE):
            if has_our_trailers(commit):
                return True, GitSnapshot(self.objects, commit.tree, self.root).entry(path)
            try:
                commit = read_commit(self.objects, commit.parents[0])
            except (IndexError, Missing):
                break
        return False, None

    # -- trees -------------------------------------------------------------------------------------

    def _changes(self, parent: Commit | None, commit: Commit) -> Iterator[Difference]:
        """How two commits differ beside units. Reads only the folders in which they do."""
        trees = [
            folder_of(self.objects, c.tree, self.root) if c else None for c in (parent, commit)
        ]
        waiting = [("", trees[0], trees[1])]
        while waiting:
            where, was, now = waiting.pop()
            old, new = (self.objects.tree(id) if id else {} for id in (was, now))
            for name in {name for name, _ in old.items() ^ new.items()}:
                if not where and name not in _TOPS:
                    continue
                path = where + decoded(name)
                sides = old.get(name), new.get(name)
                folders = [s[1] if s and s[0] == FOLDER else None for s in sides]
                files = [s if s and s[0] != FOLDER else None for s in sides]
                if any(folders) and not _UNIT.match(path):
                    waiting.append((f"{path}/", folders[0], folders[1]))
                if any(files):
                    yield path, files[0], files[1]
