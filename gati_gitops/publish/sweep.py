"""Release folders that nobody names any more.

A folder goes in a commit of its own, later than the one that let it go: neither the tip that was
read, nor what is about to be committed, nor any open branch of ours may name it. So a pull request
can wait for days, and the way back is there as long as anything may take it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from gati_gitops.emit.job import BASE
from gati_gitops.output import UnitKey
from gati_gitops.plan.job import FOLDER
from gati_gitops.repo.trees import GitSnapshot
from gati_gitops.tree import Changes

_IN_KUSTOMIZATION = re.compile(rb"base/([a-z0-9-]+/[a-z0-9-]+/[a-z0-9-]+)")
_IN_PLAN = re.compile(rb"^ +release: \"?([a-z0-9-]+)", re.MULTILINE)


def sweep(
    tip: GitSnapshot,
    after: GitSnapshot,
    branches: Callable[[], Sequence[GitSnapshot]],
    named: Iterable[str] = (),
    units: Iterable[UnitKey] | None = None,
) -> Changes:
    """The files of folders that can go. ``named`` are folders known to be in use.

    ``units`` are those to look at; None: all of them.
    """
    loose = set(_folders(tip, units)) - set(named)
    for snapshot in (tip, after):
        loose -= set(_names(snapshot, loose))
    if loose:
        for snapshot in branches():
            loose -= set(_names(snapshot, loose))
    return {path: None for folder in loose for path in tip.paths(folder)}


def _folders(tip: GitSnapshot, units: Iterable[UnitKey] | None) -> Iterator[str]:
    """Release folders of some units, or of all."""
    if units is None:
        units = [(name, unit) for name in tip.folder("base") for unit in tip.folder(f"base/{name}")]
    for name, unit in units:
        for release in tip.folder(f"base/{name}/{unit}"):
            yield f"base/{name}/{unit}/{release}"


def _names(snapshot: GitSnapshot, folders: Iterable[str]) -> Iterator[str]:
    """What the overlays of these folders' units name; nobody else names them."""
    units = sorted({"/".join(folder.split("/")[1:3]) for folder in folders})
    if not units:
        return
    clusters = [
        f"overlays/{env}/{cluster}"
        for env in snapshot.folder("overlays")
        for cluster in snapshot.folder(f"overlays/{env}")
    ]
    for unit in units:
        for cluster in clusters:
            built = snapshot.read(f"{cluster}/{_home(unit)}/kustomization.yaml") or b""
            planned = snapshot.read(f"{cluster}/{unit}/unit.yaml") or b""
            yield from (f"base/{name.decode()}" for name in _IN_KUSTOMIZATION.findall(built))
            yield from (f"base/{unit}/{name.decode()}" for name in _IN_PLAN.findall(planned))


def _home(unit: str) -> str:
    """Where a cluster names release folders of ``namespace/unit``, or of its job."""
    namespace, _, name = unit.partition("/")
    return f"{namespace}/{FOLDER if name == BASE else name}"
