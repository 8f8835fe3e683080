"""What belongs to a cluster and follows from no plan, and what of units is gone altogether.

Units are judged by plan and ledger, and what stands around them by the units that there are. The
rest is taken as it is by everybody: settings, records, terms of the job, CRDs, the job itself, what
an engine is told. What people did to that is told by the history, and so is what was in a folder
that a kustomization names and nobody finds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from gati_gitops.compiler.lost import CRDS, lost_folders, lost_units, named
from gati_gitops.decide.drift.files import FOREIGN, folder_of
from gati_gitops.decide.drift.model import FileDrift, What
from gati_gitops.emit.engines.target import RECORD
from gati_gitops.emit.job.monitoring import DASHBOARD
from gati_gitops.emit.release import TEMPLATED
from gati_gitops.errors import Refused
from gati_gitops.output import Output, UnitKey
from gati_gitops.plan.job import FOLDER as JOB
from gati_gitops.reconcile.drift.history import History
from gati_gitops.reconcile.drift.past import Touched
from gati_gitops.repo.trees import GitSnapshot
from gati_gitops.tree import Changes, Overlay, is_ours

_OF_OTHERS = re.compile(r"clusters/[^/]+/flux-system/|overlays/[^/]+/hydrator\.metadata\Z")
_SERVES = "; the unit still serves"


@dataclass(slots=True)
class Beside:
    """What of a place is not as it was left, and what it was."""

    files: dict[str, FileDrift] = field(default_factory=dict)
    restored: Changes = field(default_factory=dict)
    """What brings it back."""
    lost: dict[UnitKey, dict[str, FileDrift]] = field(default_factory=dict)
    """Units whose plans are gone."""
    beyond: list[str] = field(default_factory=list)
    """What is gone, and is not in the history."""
    unknown: str = ""
    """Why the history does not tell what was edited."""


def beside(
    before: GitSnapshot,
    history: History | None,
    env: str,
    cluster: str,
    keys: Iterable[UnitKey] | None = None,
) -> Beside:
    """Look beside the units of a cluster; after lost ones only, if some are named."""
    looking = _Looking(before, history, env, cluster, Beside())
    if keys is None:
        looking.edited()
        looking.kustomizations()
    looking.units(None if keys is None else set(keys))
    if keys is None:
        looking.folders()
    return looking.found


@dataclass(slots=True)
class _Looking:
    before: GitSnapshot
    history: History | None
    env: str
    cluster: str
    found: Beside

    @property
    def root(self) -> str:
        return f"overlays/{self.env}/{self.cluster}"

    @property
    def output(self) -> Output:
        """The branch with what was brought back so far."""
        return Output(Overlay(self.before, self.found.restored))

    # -- what people changed -----------------------------------------------------------------------

    def edited(self) -> None:
        if self.history is None:
            return
        found = self.history.edits
        self.found.unknown = found.unknown
        mine = {p: t for p, t in found.touched.items() if self._is_here(p)}
        # the record of an engine first: it says whether the rest of its folder follows from it
        for path, touched in sorted(mine.items(), key=lambda item: not item[0].endswith(RECORD)):
            if not self._follows(path):
                self._touched(path, touched, self.history)

    def _touched(self, path: str, touched: Touched, history: History) -> None:
        entry, found = self.before.entry(path), self.found
        if touched.original is None:
            ours = self._is_ours(path)
            found.restored |= {path: None} if ours else {}
            why = f"added {touched.words}" if ours else f"{FOREIGN}: added {touched.words}"
            found.files[path] = FileDrift(path, What.EXTRA, why)
            return
        found.restored[path] = history.content(touched.original)
        what = What.MISSING if entry is None else What.CHANGED
        deed = "deleted" if entry is None else "edited"
        found.files[path] = FileDrift(path, what, f"{deed} {touched.words}")

    def _is_ours(self, path: str) -> bool:
        try:
            return is_ours(self.before.read(path) or b"")
        except Refused:  # a link, or something else that is no plain file
            return False

    def _is_here(self, path: str) -> bool:
        """Whether a file is this cluster's, its environment's, or everybody's."""
        top, *parts = path.split("/")
        if _OF_OTHERS.match(path):
            return False
        if top == "crds":
            return True
        if top == "clusters":
            return parts[0] == self.cluster
        if parts[0] != self.env:
            return False
        if len(parts) == 2 or parts[1] in ("sources", self.cluster):
            return True
        return not self.before.id(f"overlays/{self.env}/{parts[1]}")  # a cluster that is gone

    def _follows(self, path: str) -> bool:
        """Whether a file follows from others: then it is judged by them."""
        if path.startswith("clusters/"):
            record = f"clusters/{self.cluster}/{RECORD}"
            return path != record and self.output.read(record) is not None
        if not path.startswith(f"{self.root}/"):
            return False
        parts = path.removeprefix(f"{self.root}/").split("/")
        if parts[-1] == "kustomization.yaml" and len(parts) < 3 and parts[0] != CRDS:
            return True
        if len(parts) < 3 or not parts[1].startswith("_"):
            return False
        if parts[1] == JOB:  # who takes it out of the kustomization, too, has decided that
            line = f"{parts[0]}/{JOB}"
            return line not in named(self.output, f"{self.root}/kustomization.yaml")
        stands = bool(self.before.id(f"{self.root}/{parts[0]}"))
        return not (stands and parts[2].startswith((TEMPLATED, DASHBOARD)))

    # -- what is gone ------------------------------------------------------------------------------

    def kustomizations(self) -> None:
        """Without them nobody knows which units there should be."""
        top = f"{self.root}/kustomization.yaml"
        self._back([top] if self.output.read(top) is None else ())
        names = [name for name in named(self.output, top) if "/" not in name]
        below = [f"{self.root}/{name}/kustomization.yaml" for name in names if name[:1] != "_"]
        self._back(path for path in below if self.output.read(path) is None)

    def _back(self, paths: Iterable[str]) -> None:
        wanted = set(paths)
        gone = self.history.deleted(wanted) if self.history is not None else {}
        for path in sorted(wanted & gone.keys()):
            self.found.restored[path] = gone[path].before.read(path)
            self.found.files[path] = FileDrift(path, What.MISSING, gone[path].words)

    def units(self, keys: set[UnitKey] | None) -> None:
        """Units whose plan is gone: their folders as they were before."""
        lost = [
            key
            for key in lost_units(self.output, self.env, self.cluster)
            if keys is None or key in keys
        ]
        folders = {key: folder_of((self.env, self.cluster, key)) for key in lost}
        plans = {key: f"{folder}/unit.yaml" for key, folder in folders.items()}
        gone = self.history.deleted(plans.values()) if self.history is not None else {}
        for key, plan in plans.items():
            then = gone.get(plan)
            why = f"{then.words if then else 'its plan is gone'}{_SERVES}"
            files = {plan: FileDrift(plan, What.MISSING, why)}
            if then is None:
                self.found.beyond.append(plan)
            for path in then.before.paths(folders[key]) if then else ():
                if self.before.entry(path) is None:
                    self.found.restored[path] = then.before.read(path) if then else None
                    files.setdefault(path, FileDrift(path, What.MISSING))
            self.found.lost[key] = files

    def folders(self) -> None:
        """Namespaces, the job and CRDs that are named, and that the history does not have."""
        for folder in lost_folders(self.output, self.env, self.cluster):
            self.found.beyond.append(folder)
            self.found.files[folder] = FileDrift(folder, What.MISSING, "a kustomization names it")
