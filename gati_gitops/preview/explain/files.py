"""From a path in the output to the scope that its objects are explained in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gati_gitops.emit.job import BASE
from gati_gitops.ledger.store import ledger_from, plan_from
from gati_gitops.plan.model import UnitPlan
from gati_gitops.plan.naming import UNIT_LABEL, UnitId
from gati_gitops.preview.explain.scope import Explainer, Scope
from gati_gitops.tree import Snapshot
from gati_gitops.yamlio.goyaml_read import decode, read_config


def plan_of(output: Snapshot, path: str) -> UnitPlan | None:
    """The stored plan of the unit whose folder a file is in; None where it is in no unit's."""
    parts = path.split("/")
    if parts[0] != "overlays" or len(parts) < 6:
        return None
    file = "/".join([*parts[:5], "unit.yaml"])
    stored = output.read(file)
    return plan_from(read_config(decode(stored)), file) if stored is not None else None


def scope_of(explainer: Explainer, output: Snapshot, path: str) -> Scope:
    """What a file of the output is about."""
    parts = path.split("/")
    plan = plan_of(output, path)
    if plan is not None:
        file = "/".join([*parts[:5], "rollout.yaml"])
        stored = output.read(file)
        ledger = None if stored is None else ledger_from(read_config(decode(stored)), file)
        return explainer.unit(plan, ledger, stored or b"")
    if parts[0] == "base" and len(parts) > 3 and parts[2] == BASE:
        return explainer.job("/".join(parts[:4]))
    if parts[0] == "base" and len(parts) > 3:
        return explainer.base(_unit(parts[1], parts[2]))
    if parts[0] == "overlays" and len(parts) > 2:
        cluster = parts[2] if len(parts) > 3 and parts[2] != "sources" else ""
        return explainer.cluster(parts[1], cluster, parts[3] if len(parts) > 4 else "")
    if parts[0] == "clusters" and len(parts) > 2:
        namespace = parts[2].partition(".")[0]
        return explainer.cluster(explainer.environment_of(parts[1]), parts[1], namespace)
    return explainer.cluster()


def _unit(namespace: str, folder: str) -> UnitId:
    kind, _, name = folder.partition("-")
    return UnitId(namespace, kind, name)


def names_of(output: Snapshot, path: str) -> dict[tuple[str, str], str]:
    """What the unit of a file is called: it may have kept the name of a handler that is gone."""
    plan = plan_of(output, path)
    if plan is None or plan.route is None:
        return {}
    return {(plan.unit.namespace, plan.route.path): plan.unit.name}


def scope_for(explainer: Explainer, output: Snapshot, path: str, made: Mapping[str, Any]) -> Scope:
    """The scope of an object: of a folder that holds several units, that of its own."""
    parts = path.split("/")
    metadata = made.get("metadata") or {}
    unit = (metadata.get("labels") or {}).get(UNIT_LABEL)
    if parts[0] == "overlays" and 3 <= len(parts) <= 5 and unit:
        namespace = parts[3] if len(parts) > 3 else metadata.get("namespace", "")
        return scope_of(explainer, output, "/".join([*parts[:3], namespace, unit, "unit.yaml"]))
    return scope_of(explainer, output, path)
