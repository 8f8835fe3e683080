"""What people edited, as it was: plans when they were decided on, release folders when made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gati_gitops.emit.release import unspoilt
from gati_gitops.ledger.model import Ledger
from gati_gitops.ledger.outcome import decision_of
from gati_gitops.repo.commit import Commit, has_our_trailers, read_commit
from gati_gitops.repo.history import Deepen, walk
from gati_gitops.repo.objects import BLOB, Entry, Missing
from gati_gitops.repo.repository import Tip
from gati_gitops.repo.trees import GitSnapshot
from gati_gitops.tree import Changes, Tree


@dataclass(frozen=True, slots=True)
class Edited:
    """A plan that is not the one its ledger was decided on."""

    commit: str
    author: str
    original: bytes | None = None
    """What it was; None if the history does not tell."""

    @property
    def words(self) -> str:
        return f"edited by {self.author} in {self.commit[:12]}: nobody published that"


Plans = Callable[[Mapping[str, Ledger]], Mapping[str, Edited]]
"""Of plans whose ledgers do not fit them, by path, those that people edited."""


def edited_plans(tip: Tip, root: str, deepen: Deepen) -> Plans:
    """Looks into the history of a branch, as far as it must."""

    def look(suspects: Mapping[str, Ledger]) -> dict[str, Edited]:
        found: dict[str, Edited] = {}

        def visit(commit: Commit, path: str, before: Entry | None, _after: Entry | None) -> bool:
            if path not in found:
                if has_our_trailers(commit):
                    return True  # we wrote the plan: it is the ledger that people edited
                found[path] = Edited(commit.id, commit.author.name)
            content = tip.objects.read(before[1], BLOB) if before is not None else None
            ledger = suspects[path]
            if content is None or decision_of(content, ledger) != ledger.key:
                return content is None
            first = found[path]
            found[path] = Edited(first.commit, first.author, content)
            return True

        if suspects:
            walk(tip.objects, tip.commit, suspects, visit, root=root, deepen=deepen)
        return found

    return look


def release_restored(tip: Tip, root: str, deepen: Deepen, folder: str) -> Changes:
    """What makes a release folder what its name says again; nothing if the history lacks it."""
    stands = _files(GitSnapshot(tip.objects, tip.tree, root), folder)
    found: list[Tree] = []

    def visit(commit: Commit, _path: str, _before: Entry | None, _after: Entry | None) -> bool:
        if not found:
            for parent in commit.parents[:1]:
                try:
                    tree = read_commit(tip.objects, parent).tree
                    files = _files(GitSnapshot(tip.objects, tree, root), folder)
                except Missing:
                    return True
                if files and unspoilt(folder, files):
                    found.append(files)
        return bool(found)

    paths = {f"{folder}/kustomization.yaml", *stands}
    walk(tip.objects, tip.commit, paths, visit, root=root, deepen=deepen)
    if not found:
        return {}
    changes: Changes = {path: None for path in stands if path not in found[0]}
    return changes | {p: c for p, c in found[0].items() if stands.get(p) != c}


def _files(snapshot: GitSnapshot, folder: str) -> Tree:
    return {path: snapshot.read(path) or b"" for path in snapshot.paths(folder)}
