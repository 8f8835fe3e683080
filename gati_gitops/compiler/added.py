"""What templates add, beside what we write: nothing twice, nothing that no engine may apply."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gati_gitops.emit.engines.rights import NAMESPACE_KINDS, UNIT_KINDS
from gati_gitops.emit.objects.meta import Object
from gati_gitops.emit.overlay import overlay_objects
from gati_gitops.emit.release import TEMPLATED
from gati_gitops.errors import Place, Problem
from gati_gitops.ledger.model import Ledger
from gati_gitops.plan.model import Added, UnitPlan
from gati_gitops.plan.naming import UnitId
from gati_gitops.spec.project import GatiProject

Identity = tuple[str, str, str]
Releases = Mapping[tuple[UnitId, str], tuple[Mapping[str, Object], tuple[Added, ...]]]
"""Objects of a release by file, and those that templates made."""


def collisions(live: Iterable[tuple[UnitPlan, Ledger]], releases: Releases) -> Iterator[Problem]:
    """Objects of templates that share group, kind and name with another of their namespace."""
    taken: dict[tuple[str, str, Identity], str] = {}
    asked: list[tuple[tuple[str, str], Added, str]] = []
    for plan, ledger in live:
        where = (plan.cluster, plan.unit.namespace)
        added = list(plan.added)
        ours: list[Object] = []
        for version in plan.versions:
            objects, made = releases.get((plan.unit, version.id), ({}, ()))
            ours += [item for file, item in objects.items() if not file.startswith(TEMPLATED)]
            added += made
        if any(item.identity[:2] in UNIT_KINDS for item in added):
            ours += overlay_objects(plan, ledger)
        for item in ours:
            taken[*where, Added("", item).identity] = f"the compiler's own, of {plan.unit}"
        asked += [(where, item, str(plan.unit)) for item in added]
    for where, mine, unit in asked:
        me = f"{mine.template}, of {unit}"
        other = taken.setdefault((*where, mine.identity), me)
        if other != me:
            yield Problem(
                "template-collision",
                f"{mine.object['kind']} {mine.identity[2]}, which it makes for {unit},"
                f" is there already: {other}",
                Place(mine.template, 1, 1),
                remedy="choose another name",
            )


def unpermitted(
    project: GatiProject, plans: Iterable[UnitPlan], releases: Releases
) -> Iterator[Problem]:
    """Objects of units that Argo CD would leave alone."""
    for plan in plans:
        made = [*plan.added]
        for version in plan.versions:
            made += releases.get((plan.unit, version.id), ({}, ()))[1]
        yield from _unpermitted(project, plan.environment, plan.cluster, made, UNIT_KINDS)


def unpermitted_in_namespace(
    project: GatiProject, env: str, cluster: str, made: Iterable[Added]
) -> Iterator[Problem]:
    """Objects of a namespace that Argo CD would leave alone."""
    return _unpermitted(project, env, cluster, made, NAMESPACE_KINDS)


def _unpermitted(
    project: GatiProject,
    env: str,
    cluster: str,
    made: Iterable[Added],
    known: Iterable[tuple[str, str]],
) -> Iterator[Problem]:
    sync, here = project.spec.sync, project.spec.environments[env].clusters[cluster].sync
    if sync is None or (here is not None and here.engine != "argocd"):
        return
    known = {*known, *((kind.group, kind.kind) for kind in sync.argocd.kinds)}
    for item in made:
        group, kind, _ = item.identity
        if (group, kind) not in known:
            named = f"{{group: {group}, kind: {kind}}}" if group else f"{{kind: {kind}}}"
            yield Problem(
                "template-kind",
                f"Argo CD may not apply a {kind}: its project permits only what it knows of",
                Place(item.template, 1, 1),
                remedy=f"add {named} to spec.sync.argocd.kinds in gati.yaml",
            )
