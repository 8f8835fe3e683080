"""Sync roots: the folders of a cluster that an engine syncs, each on its own.

The units of a namespace are one root while they are few; kustomize grows with the square of a
root's size, so a larger namespace is synced per unit. Namespaces and CRDs are roots of their own:
what removes a unit must never be able to remove them. So is the job: a unit that can't be built
must not stop what would roll it back.

A root that has lost all of its units stays, empty, for the sake of pruning: deleting an Application
or Kustomization deletes nothing on the cluster, so what syncs the last objects of a namespace away
must still be there when they leave Git.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gati_gitops.plan.job import job_folder
from gati_gitops.plan.naming import HASH, short_hash

MAX_UNITS = 50
MAX_NAME = 63
"""Both engines write the name into a label of every object."""

CRDS = "crds.yaml"
_FILE = re.compile(
    r"(?P<namespace>[a-z0-9-]+)\.(?P<unit>units|(?:handler|module)-[a-z0-9-]+)\.yaml"
)
_JOB = "reconciler"
_JOB_FILE = re.compile(rf"(?P<namespace>[a-z0-9-]+)\.{_JOB}\.yaml")


@dataclass(frozen=True, slots=True)
class Root:
    """A folder that is synced on its own."""

    file: str
    """Where its object stands, in ``clusters/<cluster>/``."""
    name: str
    folder: str
    """Relative to the output's root."""
    base: str = ""
    """The folder that holds every release folder it builds on."""
    namespace: str = ""
    unit: str = ""
    job: bool = False
    """Holds what watches the cluster."""
    holds_namespace: bool = False
    """Whether the Namespace itself is one of its objects."""
    empty: bool = False
    """Kept only so that what it synced is pruned."""

    @property
    def guarded(self) -> bool:
        """Namespaces and CRDs: nothing of them goes unasked."""
        return not self.base


def identity(*parts: str) -> str:
    """A name out of names; none of them has a dot, so two identities never share one."""
    name = ".".join(parts)
    if len(name) <= MAX_NAME:
        return name
    return f"{name[: MAX_NAME - HASH - 1].rstrip('-.')}-{short_hash(name)}"


def sync_roots(
    env: str,
    cluster: str,
    units: Iterable[tuple[str, str]],
    wide: Mapping[str, bool],
    before: Iterable[str],
    jobs: Iterable[str] = (),
) -> list[Root]:
    """The roots of a cluster.

    ``wide`` has the namespaces with objects of their own, and whether the Namespace is one of
    them; ``before`` names the files that stood in ``clusters/<cluster>``; ``jobs`` has the
    namespaces with a job.
    """
    before = list(before)
    by_namespace: dict[str, list[str]] = {}
    for namespace, unit in sorted(units):
        by_namespace.setdefault(namespace, []).append(unit)
    here = f"overlays/{env}/{cluster}"
    roots = [Root(CRDS, identity(env, f"{cluster}-crds"), f"{here}/_crds")]
    for namespace, ours in wide.items():
        name = identity(env, cluster, namespace, "namespace")
        folder = f"{here}/{namespace}/_namespace"
        file = f"{namespace}.namespace.yaml"
        roots.append(Root(file, name, folder, namespace=namespace, holds_namespace=ours))
    for namespace, folders in by_namespace.items():
        each = folders if len(folders) > MAX_UNITS else [""]
        roots += [_of_units(env, cluster, namespace, unit) for unit in each]
    roots += [
        _of_units(env, cluster, namespace, unit, empty=True)
        for namespace, unit in _left(by_namespace, before)
    ]
    now = sorted(jobs)
    roots += [_of_job(env, cluster, namespace) for namespace in now]
    were = [found["namespace"] for file in before if (found := _JOB_FILE.fullmatch(file))]
    roots += [_of_job(env, cluster, name, empty=True) for name in were if name not in now]
    return sorted(roots, key=lambda root: root.file)


def _of_job(env: str, cluster: str, namespace: str, *, empty: bool = False) -> Root:
    return Root(
        file=f"{namespace}.{_JOB}.yaml",
        name=identity(env, cluster, namespace, _JOB),
        folder=job_folder(env, cluster, namespace),
        base=f"base/{namespace}/{_JOB}",
        namespace=namespace,
        job=True,
        empty=empty,
    )


def _of_units(env: str, cluster: str, namespace: str, unit: str, *, empty: bool = False) -> Root:
    parts = [namespace, unit] if unit else [namespace]
    return Root(
        file=f"{namespace}.{unit or 'units'}.yaml",
        name=identity(env, cluster, *parts),
        folder="/".join(["overlays", env, cluster, *parts]),
        base="/".join(["base", *parts]),
        namespace=namespace,
        unit=unit,
        empty=empty,
    )


def _left(now: Mapping[str, list[str]], before: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Roots that were synced and that nothing is left of; not those that another one took over."""
    for file in sorted(before):
        found = _FILE.fullmatch(file)
        if found is None:
            continue
        namespace, unit = found["namespace"], found["unit"]
        if unit == "units" and namespace not in now:
            yield namespace, ""
        elif unit != "units" and unit not in now.get(namespace, ()):
            yield namespace, unit
