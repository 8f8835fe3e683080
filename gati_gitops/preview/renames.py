"""Units and versions that are known under another name now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from gati_gitops.ledger.model import DEPLOYED, Phase
from gati_gitops.preview.side import UnitSide

ENOUGH = 4
"""What speaks for two units being one must weigh this much."""


def renamed_units(
    gone: Iterable[UnitSide], came: Iterable[UnitSide]
) -> list[tuple[UnitSide, UnitSide]]:
    """Units of one cluster that went and came; only where nothing else is as likely."""
    likely = _likely(gone, came)
    taken: set[int] = set()
    found: list[tuple[UnitSide, UnitSide]] = []
    for rating in sorted({pair[0] for pair in likely}, reverse=True):
        here = [
            (one, two)
            for likeness, one, two in likely
            if likeness == rating and not {id(one), id(two)} & taken
        ]
        rivals = Counter(id(unit) for pair in here for unit in pair)
        sure = [pair for pair in here if all(rivals[id(unit)] == 1 for unit in pair)]
        found += sure
        taken |= {id(unit) for pair in sure for unit in pair}
    return found


def _likely(
    gone: Iterable[UnitSide], came: Iterable[UnitSide]
) -> list[tuple[int, UnitSide, UnitSide]]:
    """Pairs that share something, and enough of it."""
    known: dict[tuple[str, str], list[UnitSide]] = {}
    for one in gone:
        for trait in _traits(one):
            known.setdefault(trait, []).append(one)
    found = []
    for two in came:
        near = {id(one): one for trait in _traits(two) for one in known.get(trait, ())}
        rated = ((_likeness(one, two), one, two) for one in near.values())
        found += [pair for pair in rated if pair[0] >= ENOUGH]
    return found


def _traits(side: UnitSide) -> set[tuple[str, str]]:
    found = {("name", side.plan.unit.name)}
    if side.plan.route is not None:
        found.add(("path", side.plan.route.path))
    found |= {("image", name) for name in _repositories(side)}
    return found


def _likeness(one: UnitSide, two: UnitSide) -> int:
    if one.plan.unit.kind != two.plan.unit.kind:
        return 0
    here, there = one.plan.route, two.plan.route
    weights = (
        (one.plan.unit.name == two.plan.unit.name, 3),
        (here is not None and there is not None and here.path == there.path, 3),
        (bool(_repositories(one) & _repositories(two)), 2),
        (bool(set(one.plan.files) & set(two.plan.files)), 2),
        (one.plan.target == two.plan.target, 1),
    )
    return sum(weight for holds, weight in weights if holds)


def _repositories(side: UnitSide) -> set[str]:
    names = (version.image.partition("@")[0] for version in side.plan.versions)
    return {name.rpartition(":")[0] or name for name in names if name}


def deployed(side: UnitSide | None) -> set[str]:
    """The ids of versions that have objects."""
    if side is None:
        return set()
    return {entry.id for entry in side.ledger.entries if entry.phase in DEPLOYED}


def _known(side: UnitSide) -> set[str]:
    """The ids of versions that run, or wait to."""
    return {entry.id for entry in side.ledger.entries if entry.phase is not Phase.REMOVED}


def renamed_versions(before: UnitSide, after: UnitSide) -> dict[str, str]:
    """New version ids and the ones whose objects they have taken over."""
    gone = sorted(_known(before) - _known(after))
    came = sorted(_known(after) - _known(before))
    found: dict[str, str] = {}
    was, now = before.plan.target, after.plan.target
    if was in gone and now in came:
        found[now] = was
        gone.remove(was)
        came.remove(now)
    if len(gone) == len(came):
        found |= dict(zip(came, gone, strict=True))
    return found


def serving(side: UnitSide | None) -> str:
    """The version that most requests go to; empty where there is none."""
    entries = side.ledger.entries if side is not None else ()
    live = [entry for entry in entries if entry.phase in (Phase.ACTIVE, Phase.CANARY)]
    return max(live, key=lambda e: (e.weight, e.phase is Phase.ACTIVE)).id if live else ""
