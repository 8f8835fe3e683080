"""Asking an engine to apply Git again, though there is no new commit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from gati_gitops.decide.observation import Engine, EngineState, Missing
from gati_gitops.observe.engines import Engines
from gati_gitops.observe.engines_argocd import API as ARGOCD
from gati_gitops.observe.engines_flux import API as FLUX
from gati_gitops.observe.kube_errors import KubeError
from gati_gitops.output import UnitKey
from gati_gitops.reconcile.nudge import REFRESH, REQUESTED


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of asking for one root."""

    words: str
    failed: bool = False
    """Whether it should have been asked, and could not."""


def apply_again(engines: Engines, keys: Iterable[UnitKey], now: float) -> Iterator[Asked]:
    """Ask for the roots of these units.

    An engine that a person has stopped is left alone. Argo CD heals itself once it has looked
    again; Flux applies what it has.
    """
    kube, target = engines.kube, engines.target
    if isinstance(kube, Missing):
        yield Asked(f"{target.cluster}: the engine was not asked to apply Git again: {kube}")
        return
    wanted = list(keys)
    states = engines.look(wanted, now)
    roots: dict[str, Engine | Missing] = {}
    for key in wanted:
        root = engines.root(key)
        if root is not None:
            roots[root.name] = states if isinstance(states, Missing) else states[key]
    if engines.engine == "flux":
        at = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds")
        kind = (FLUX, "Kustomization", target.sync.flux.namespace, {REQUESTED: at})
    else:
        kind = (ARGOCD, "Application", target.sync.argocd.namespace, {REFRESH: "normal"})
    api_version, what, namespace, annotations = kind
    for name, state in sorted(roots.items()):
        if isinstance(state, Missing):
            yield Asked(f"{what} {name} was not asked to apply Git again: {state}")
        elif state.state is EngineState.SUSPENDED:
            yield Asked(f"{what} {name} was not asked to apply Git again: {state.why}")
        else:
            try:
                change = {"metadata": {"annotations": annotations}}
                kube.patch(api_version, what, name, namespace, change)
                yield Asked(f"{what} {name} was asked to apply Git again")
            except KubeError as error:
                said = f"{what} {name} was not asked to apply Git again: {error.message}"
                yield Asked(f"{said}; {error.remedy}" if error.remedy else said, failed=True)
