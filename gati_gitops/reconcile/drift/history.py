"""What people edited, as it was: plans when they were decided on, release folders when made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from gati_gitops.compiler.lost import lost_folders, lost_units
from gati_gitops.emit.release import unspoilt
from gati_gitops.ledger.model import Ledger
from gati_gitops.ledger.outcome import decision_of
from gati_gitops.output import Output
from gati_gitops.reconcile.drift.past import Edits, edits
from gati_gitops.repo.commit import Commit, has_our_trailers, read_commit
from gati_gitops.repo.history import Deepen, Visit, walk
from gati_gitops.repo.objects import BLOB, FOLDER, Entry, Missing
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


@dataclass(frozen=True, slots=True)
class Deleted:
    """What stood on the branch before a file was deleted."""

    commit: str
    author: str
    before: GitSnapshot

    @property
    def words(self) -> str:
        return f"deleted by {self.author} in {self.commit[:12]}"


class History:
    """The history of a branch, looked into as far as it must be."""

    def __init__(self, tip: Tip, root: str, deepen: Deepen) -> None:
        self._tip, self._root, self._deepen = tip, root, deepen

    @cached_property
    def edits(self) -> Edits:
        """What people changed beside units."""
        return edits(self._tip, self._root, self._deepen)

    def content(self, entry: Entry) -> bytes:
        """A file as it was."""
        return self._tip.objects.read(entry[1], BLOB)

    def plans(self, suspects: Mapping[str, Ledger]) -> dict[str, Edited]:
        """Of plans whose ledgers do not fit them, by path, those that people edited."""
        found: dict[str, Edited] = {}

        def visit(commit: Commit, path: str, before: Entry | None, _after: Entry | None) -> bool:
            if path not in found:
                if has_our_trailers(commit):
                    return True  # we wrote the plan: it is the ledger that people edited
                found[path] = Edited(commit.id, commit.author.name)
            content = self.content(before) if before is not None else None
            ledger = suspects[path]
            if content is None or decision_of(content, ledger) != ledger.key:
                return content is None
            first = found[path]
            found[path] = Edited(first.commit, first.author, content)
            return True

        if suspects:
            self._walk(suspects, visit)
        return found

    def deleted(self, paths: Iterable[str]) -> dict[str, Deleted]:
        """Who deleted files that are not there, and the branch before that."""
        found: dict[str, Deleted] = {}

        def visit(commit: Commit, path: str, before: Entry | None, after: Entry | None) -> bool:
            if before is not None and after is None and path not in found:
                tree = read_commit(self._tip.objects, commit.parents[0]).tree
                snapshot = GitSnapshot(self._tip.objects, tree, self._root)
                found[path] = Deleted(commit.id, commit.author.name, snapshot)
            return path in found

        wanted = set(paths)
        if wanted:
            self._walk(wanted, visit)
        return found

    def lost_clusters(self) -> list[tuple[str, str]]:
        """Clusters of environments in which people deleted all of them, with units in them.

        One whose units have retired is anybody's to clear away, and one that another environment
        has by now goes by another name.
        """
        here = GitSnapshot(self._tip.objects, self._tip.tree, self._root)
        living = {env: set(_clusters(here, env)) for env in here.folder("overlays")}
        others: set[str] = set().union(*living.values())
        tops = {
            path: (parts[1], parts[2])
            for path, touched in self.edits.touched.items()
            if len(parts := path.split("/")) == 4
            and (parts[0], parts[3]) == ("overlays", "kustomization.yaml")
            and touched.original is not None
            and not living.get(parts[1])
            and parts[2] not in others
        }
        return [
            (env, cluster)
            for path, gone in sorted(self.deleted(tops).items())
            for env, cluster in [tops[path]]
            if _has_units(Output(gone.before), env, cluster)
        ]

    def release(self, folder: str) -> Changes:
        """What makes a release folder what its name says again; nothing if it never was there."""
        tip = self._tip
        stands = _files(GitSnapshot(tip.objects, tip.tree, self._root), folder)
        found: list[Tree] = []

        def visit(commit: Commit, _path: str, _before: Entry | None, _after: Entry | None) -> bool:
            if not found:
                for parent in commit.parents[:1]:
                    try:
                        tree = read_commit(tip.objects, parent).tree
                        files = _files(GitSnapshot(tip.objects, tree, self._root), folder)
                    except Missing:
                        return True
                    if files and unspoilt(folder, files):
                        found.append(files)
            return bool(found)

        self._walk({f"{folder}/kustomization.yaml", *stands}, visit)
        if not found:
            return {}
        changes: Changes = {path: None for path in stands if path not in found[0]}
        return changes | {p: c for p, c in found[0].items() if stands.get(p) != c}

    def _walk(self, paths: Iterable[str], visit: Visit) -> None:
        tip = self._tip
        walk(tip.objects, tip.commit, paths, visit, root=self._root, deepen=self._deepen)


def edited_plans(tip: Tip, root: str, deepen: Deepen) -> History:
    """The history of a branch, by which a look tells what people edited."""
    return History(tip, root, deepen)


def _clusters(snapshot: GitSnapshot, env: str) -> Iterator[str]:
    for name, (mode, _) in snapshot.folder(f"overlays/{env}").items():
        if mode == FOLDER and name != "sources":
            yield name


def _has_units(output: Output, env: str, cluster: str) -> bool:
    """Whether units stood there, or were named and had been deleted already."""
    if output.keys(env, cluster) or lost_units(output, env, cluster):
        return True
    return any(lost_folders(output, env, cluster))


def _files(snapshot: GitSnapshot, folder: str) -> Tree:
    return {path: snapshot.read(path) or b"" for path in snapshot.paths(folder)}
