"""Who answers requests: weights, pins, paths and hosts."""

from __future__ import annotations

from collections.abc import Iterator

from gati_gitops.ledger.model import DEPLOYED, Phase
from gati_gitops.plan.model import Route
from gati_gitops.preview.locate import WEIGHT
from gati_gitops.preview.meaning.scene import UnitScene
from gati_gitops.preview.model import Finding, Level
from gati_gitops.preview.side import UnitSide
from gati_gitops.preview.words import listed


def weights(unit: UnitScene) -> Iterator[Finding]:
    """Weights before and after, of units that are there before and after."""
    if unit.before is None or unit.after is None or unit.after.plan.route is None:
        return
    before, after = shares(unit.before), shares(unit.after)
    if unit.scene.first:  # what replaces another version takes over its traffic step by step
        now = {was: version for version, was in unit.draft.versions.items()}
        before = {now.get(version, version): weight for version, weight in before.items()}
    moved = [v for v in sorted(before | after) if before.get(v, 0) != after.get(v, 0)]
    if not moved:
        return
    yield unit.finding(
        "traffic-moves",
        Level.WARNING,
        "traffic moves: " + ", ".join(f"{v} {before.get(v, 0)} → {after.get(v, 0)}" for v in moved),
        version=max(moved, key=lambda version: after.get(version, 0)),
        at=WEIGHT,
        before=_shown(before),
        after=_shown(after),
    )


def shares(side: UnitSide) -> dict[str, int]:
    """The weight of every version that has one."""
    return {entry.id: entry.weight for entry in side.ledger.entries if entry.weight}


def _shown(found: dict[str, int]) -> str:
    return ", ".join(f"{version} {weight}" for version, weight in sorted(found.items())) or "none"


def pins(unit: UnitScene) -> Iterator[Finding]:
    """Versions that clients may name, and that no longer answer."""
    if unit.before is None or unit.before.plan.route is None or unit.scene.first:
        return
    lost = sorted(_answering(unit.before) - _answering(unit.after))
    if lost:
        yield unit.finding(
            "pins-break",
            Level.DANGER,
            f"requests that name version {listed(lost)} are no longer answered",
            version=lost[0],
        )


def _answering(side: UnitSide | None) -> set[str]:
    if side is None or side.plan.route is None:
        return set()
    serving = DEPLOYED - {Phase.PARKED}
    return {entry.id for entry in side.ledger.entries if entry.phase in serving}


def routes(unit: UnitScene) -> Iterator[Finding]:
    before = unit.before.plan.route if unit.before is not None else None
    after = unit.after.plan.route if unit.after is not None else None
    live = (_answering(unit.before), _answering(unit.after))
    if after is not None and live[1] and (before is None or not live[0]):
        yield unit.finding(
            "route-added",
            Level.NOTE,
            f"{unit.review.unit} answers on {after.path}{_hosts(after)}",
            at=("spec", "handlerPath"),
            after=after.path,
        )
    elif unit.after is None and unit.scene.first:
        return  # where it was published it serves until nobody calls
    elif before is not None and live[0] and (after is None or not live[1]):
        yield unit.finding(
            "route-removed",
            Level.DANGER,
            f"{unit.review.unit} no longer answers on {before.path}{_hosts(before)}",
            at=("spec", "handlerPath"),
            before=before.path,
        )
    elif before is not None and after is not None:
        yield from _differences(unit, before, after)


def _differences(unit: UnitScene, before: Route, after: Route) -> Iterator[Finding]:
    if before.path != after.path:
        yield unit.finding(
            "path-changed",
            Level.DANGER,
            f"{unit.review.unit} answers on {after.path} instead of {before.path}",
            at=("spec", "handlerPath"),
            before=before.path,
            after=after.path,
        )
    came = [host for host in after.hosts or ("*",) if host not in (before.hosts or ("*",))]
    lost = [host for host in before.hosts or ("*",) if host not in (after.hosts or ("*",))]
    for code, level, verb, hosts in (
        ("host-added", Level.WARNING, "answers for", came),
        ("host-removed", Level.DANGER, "no longer answers for", lost),
    ):
        if hosts:
            named = listed("every host" if host == "*" else host for host in hosts)
            yield unit.finding(
                code,
                level,
                f"{unit.review.unit} {verb} {named}",
                at=("spec", "hosts"),
                setting="hosts",
                before=", ".join(before.hosts),
                after=", ".join(after.hosts),
            )
    was, now = _door(before), _door(after)
    if was != now:
        yield unit.finding(
            "gateway-changed",
            Level.DANGER,
            f"{unit.review.unit} is reached through {now} instead of {was}",
            setting="routing",
            before=was,
            after=now,
        )


def _hosts(route: Route) -> str:
    return f" for {listed(route.hosts)}" if route.hosts else " for every host"


def _door(route: Route) -> str:
    if route.provider == "gateway-api":
        section = f" ({route.section})" if route.section else ""
        return f"the Gateway {route.gateway_namespace}/{route.gateway}{section}"
    if route.provider == "istio":
        return f"Istio's {listed(route.gateways)}"
    if route.provider == "traefik":
        return f"Traefik's {listed(route.entry_points) or 'entry points'}"
    return f"{route.provider} ({route.ingress_class})"
