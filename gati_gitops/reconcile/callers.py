"""Who names a version in Git: whoever does would miss it, however quiet it is."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gati_gitops.ledger.model import DEPLOYED, Phase
from gati_gitops.ledger.stored import Stored, recovered
from gati_gitops.output import Output, UnitKey
from gati_gitops.plan.naming import UnitId

_NAMES = re.compile(rb"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
_LEAVING = (Phase.DRAINING, Phase.REJECTED, Phase.PARKED)

Callers = Mapping[UnitKey, Mapping[str, tuple[str, ...]]]
"""By unit and version id."""


def callers(output: Output, env: str, cluster: str, units: Mapping[UnitKey, Stored]) -> Callers:
    """Units of a cluster that name a version of another one which is on its way out.

    Templates and patches may name its Service; handlers and modules call modules, which goes to
    the module as a whole, so that counts only where all of it goes.
    """
    wanted = dict(_wanted(units))
    modules = {
        stored.plan.unit: key
        for key, stored in units.items()
        if stored.plan.unit.kind == "module" and stored.ledger and stored.ledger.retiring
    }
    found: dict[UnitKey, dict[str, set[str]]] = {}
    if not wanted and not modules:
        return {}
    for key in output.keys(env, cluster):
        path = "/".join(("overlays", env, cluster, *key, "unit.yaml"))
        said = set(_NAMES.findall(output.read(path) or b""))
        for name in said & wanted.keys():
            for target, id in wanted[name]:
                if target != key:
                    found.setdefault(target, {}).setdefault(id, set()).add("/".join(key))
        for target in _called(units.get(key), modules):
            for entry in (units[target].ledger or recovered(units[target])).deployed:
                found.setdefault(target, {}).setdefault(entry.id, set()).add("/".join(key))
    return {
        key: {id: tuple(sorted(names)) for id, names in versions.items()}
        for key, versions in found.items()
    }


def _wanted(units: Mapping[UnitKey, Stored]) -> Mapping[bytes, list[tuple[UnitKey, str]]]:
    """Names of the objects of versions that are on their way out, and whose they are."""
    found: dict[bytes, list[tuple[UnitKey, str]]] = {}
    for key, stored in units.items():
        ledger = stored.ledger or recovered(stored)
        for entry in ledger.entries:
            version = stored.plan.version(*entry.key)
            if version is not None and (entry.phase in _LEAVING or ledger.retiring):
                found.setdefault(version.name.encode(), []).append((key, entry.id))
    return found


def _called(stored: Stored | None, modules: Mapping[UnitId, UnitKey]) -> set[UnitKey]:
    """Modules that retire and that a unit still calls."""
    if stored is None or not modules:
        return set()
    ledger = stored.ledger or recovered(stored)
    live = {entry.key for entry in ledger.entries if entry.phase in DEPLOYED}
    called = (call.unit for v in stored.plan.versions if v.key in live for call in v.calls)
    return {modules[unit] for unit in called if unit in modules} - {stored.plan.unit.key}
