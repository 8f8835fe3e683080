"""``unit.yaml`` and ``rollout.yaml``: plan and ledger as plain data and back.

Both carry a format number. A file that a person broke, or that a newer compiler wrote, is refused
with its name: going on without it would forget decisions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gati_gitops.errors import Place, Refused
from gati_gitops.ledger.model import FORMAT as LEDGER_FORMAT
from gati_gitops.ledger.model import WEIGHTED, Entry, Ledger, Phase
from gati_gitops.plan.model import FORMAT as PLAN_FORMAT
from gati_gitops.plan.model import Added, PlannedVersion, Route, Scaling, Scraped, UnitPlan
from gati_gitops.plan.naming import UnitId
from gati_gitops.plan.reach import (
    Call,
    call_data,
    fence_data,
    fence_from,
    outbound,
    outbound_data,
)
from gati_gitops.tree import header, ledger_header
from gati_gitops.yamlio.emit import dump

Data = dict[str, Any]


def _without_empty(data: Data) -> Data:
    return {k: v for k, v in data.items() if v or v is False or (v == 0 and type(v) is int)}


# -- the plan ------------------------------------------------------------------------------------


def plan_data(plan: UnitPlan) -> Data:
    """A plan as it is stored."""
    return _without_empty(
        {
            "format": PLAN_FORMAT,
            "namespace": plan.unit.namespace,
            "kind": plan.unit.kind,
            "name": plan.unit.name,
            "environment": plan.environment,
            "cluster": plan.cluster,
            "project": plan.project,
            "source": plan.source,
            "target": plan.target,
            "labels": plan.labels,
            "route": _route_data(plan.route) if plan.route else None,
            "metrics": _scraped_data(plan.scraped) if plan.scraped else None,
            "network": fence_data(plan.fence) if plan.fence else None,
            "added": [{"template": i.template, "object": i.object} for i in plan.added],
            "versions": [_version_data(version) for version in plan.versions],
            "next": plan_data(plan.next) if plan.next is not None else None,
        }
    )


def dump_plan(plan: UnitPlan) -> bytes:
    """``unit.yaml``."""
    return dump(plan_data(plan), header(plan.files))


def _route_data(route: Route) -> Data:
    return _without_empty(
        {
            "path": route.path,
            "hosts": list(route.hosts),
            "provider": route.provider,
            "gateway": route.gateway,
            "gatewayNamespace": route.gateway_namespace,
            "section": route.section,
            "namespace": route.namespace,
            "gateways": list(route.gateways),
            "entryPoints": list(route.entry_points),
            "ingressClass": route.ingress_class,
            "tlsSecret": route.tls_secret,
            "beside": list(route.beside),
        }
    )


def _scraped_data(scraped: Scraped) -> Data:
    return _without_empty(
        {
            "kind": scraped.kind,
            "path": scraped.path,
            "port": scraped.port,
            "portName": scraped.port_name,
            "interval": scraped.interval,
            "labels": scraped.labels,
        }
    )


def _version_data(version: PlannedVersion) -> Data:
    return _without_empty(
        {
            "id": version.id,
            "name": version.name,
            "digest": version.digest,
            "variant": version.variant,
            "release": version.release,
            "image": version.image,
            "port": version.port,
            "weight": version.weight,
            "breaking": version.breaking or None,
            "transformers": list(version.transformers),
            "scaling": _scaling_data(version.scaling),
            "images": list(version.images),
            "patches": list(version.patches),
            "extras": list(version.extras),
            "calls": [call_data(call) for call in version.calls],
            "egress": [outbound_data(rule) for rule in version.egress],
            "open": version.open or None,
            "specs": list(version.files),
            "gone": version.gone or None,
        }
    )


def _scaling_data(scaling: Scaling) -> Data:
    if not scaling.owned:
        return {"type": scaling.type, "replicas": scaling.replicas}
    data = _without_empty(
        {
            "type": scaling.type,
            "replicas": scaling.replicas,
            "min": scaling.min,
            "max": scaling.max,
            "metrics": list(scaling.metrics),
            "behavior": scaling.behavior,
        }
    )
    if scaling.type == "keda":
        data |= {"polling": scaling.polling, "cooldown": scaling.cooldown}
    return data


def plan_from(data: Any, file: str) -> UnitPlan:
    """A stored plan, or a refusal that names the file."""
    _check_format(data, PLAN_FORMAT, file)
    try:
        route = data.get("route")
        return UnitPlan(
            unit=UnitId(data["namespace"], data["kind"], data["name"]),
            environment=data["environment"],
            cluster=data["cluster"],
            project=data["project"],
            source=data["source"],
            target=data["target"],
            route=_route_from(route) if route else None,
            versions=tuple(_version_from(version) for version in data.get("versions", ())),
            labels=dict(data.get("labels", {})),
            scraped=_scraped_from(data["metrics"]) if "metrics" in data else None,
            fence=fence_from(data["network"]) if "network" in data else None,
            added=tuple(Added(i["template"], i["object"]) for i in data.get("added", ())),
            next=plan_from(data["next"], file) if "next" in data else None,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _broken(file, error) from error


def _route_from(data: Mapping[str, Any]) -> Route:
    return Route(
        data["path"],
        tuple(data.get("hosts", ())),
        data["provider"],
        data["gateway"],
        data["gatewayNamespace"],
        data.get("section", ""),
        data.get("namespace", ""),
        tuple(data.get("gateways", ())),
        tuple(data.get("entryPoints", ())),
        data.get("ingressClass", ""),
        data.get("tlsSecret", ""),
        tuple(data.get("beside", ())),
    )


def _scraped_from(data: Mapping[str, Any]) -> Scraped:
    return Scraped(
        data["kind"],
        data["path"],
        data["port"],
        data.get("portName", ""),
        data["interval"],
        dict(data.get("labels", {})),
    )


def _version_from(data: Mapping[str, Any]) -> PlannedVersion:
    return PlannedVersion(
        id=data["id"],
        name=data["name"],
        digest=data["digest"],
        release=data["release"],
        image=data["image"],
        port=data["port"],
        weight=data.get("weight"),
        breaking=data.get("breaking", False),
        scaling=_scaling_from(data["scaling"]),
        files=tuple(data.get("specs", ())),
        transformers=tuple(data.get("transformers", ())),
        patches=tuple(data.get("patches", ())),
        images=tuple(data.get("images", ())),
        extras=tuple(data.get("extras", ())),
        variant=data.get("variant", ""),
        calls=tuple(Call(**call) for call in data.get("calls", ())),
        egress=tuple(outbound(rule) for rule in data.get("egress", ())),
        open=data.get("open", False),
        gone=data.get("gone", False) is True,
    )


def _scaling_from(data: Mapping[str, Any]) -> Scaling:
    values = dict(data)
    values["metrics"] = tuple(values.get("metrics", ()))
    return Scaling(**values)


# -- the ledger ----------------------------------------------------------------------------------


def ledger_data(ledger: Ledger) -> Data:
    """A ledger as it is stored. ``seq`` and key share a line, so that two changes conflict."""
    return _without_empty(
        {
            "format": LEDGER_FORMAT,
            "seq": f"{ledger.seq} {ledger.key}",
            "target": ledger.target,
            "hold": ledger.hold,
            "retiring": ledger.retiring or None,
            "versions": [_entry_data(entry) for entry in ledger.entries],
        }
    )


def dump_ledger(ledger: Ledger, files: Iterable[str]) -> bytes:
    """``rollout.yaml``."""
    return dump(ledger_data(ledger), ledger_header(files))


def _entry_data(entry: Entry) -> Data:
    return _without_empty(
        {
            "id": entry.id,
            "phase": entry.phase.value,
            "weight": entry.weight,
            "digest": entry.digest,
            "previous": entry.previous,
            "image": entry.image,
            "rejected": entry.rejected or None,
            "revoked": list(entry.revoked),
            "paused": entry.paused or None,
            "handedOver": entry.handed_over or None,
            "floor": entry.floor or None,
            "proved": entry.proved or None,
            "overtaken": entry.overtaken or None,
        }
    )


def ledger_from(data: Any, file: str) -> Ledger:
    """A stored ledger, or a refusal that names the file."""
    _check_format(data, LEDGER_FORMAT, file)
    try:
        seq, _, key = str(data["seq"]).partition(" ")
        if not (seq.isascii() and seq.isdigit()):
            raise ValueError(f"seq {seq!r} is no number")
        if not isinstance(data.get("versions", []), list):
            raise TypeError("versions is no list")
        ledger = Ledger(
            seq=int(seq),
            key=key,
            target=_text(data, "target", ""),
            hold=_hold(data),
            retiring=data.get("retiring", False) is True,
            entries=tuple(_entry_from(entry) for entry in data.get("versions", ())),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _broken(file, error) from error
    why = _impossible(ledger)
    if why:
        raise _broken(file, why)
    return ledger


def _impossible(ledger: Ledger) -> str:
    """What no decision of ours gives; a person's edit may."""
    entries = ledger.entries
    total = sum(entry.weight for entry in entries)
    if total != (100 if any(e.phase in WEIGHTED for e in entries) else 0):
        return f"the weights sum to {total}, not to 100"
    if sum(e.phase is Phase.ACTIVE for e in entries) > 1:
        return "two versions are Active"
    deployed = [entry.id for entry in entries if entry.phase is not Phase.PENDING]
    twice = sorted({name for name in deployed if deployed.count(name) > 1})
    return f"version {twice[0]} stands there twice" if twice else ""


def _hold(data: Mapping[str, Any]) -> str:
    """People write ``hold:`` alone or ``hold: true`` as well as a reason."""
    value = data.get("hold", False)
    if value is False or value == "":
        return ""
    return "held by hand" if value is None or value is True else str(value)


def _text(data: Mapping[str, Any], name: str, default: str | None = None) -> str:
    value = data[name] if default is None else data.get(name, default)
    if not isinstance(value, str):
        raise TypeError(f"{name} {value!r} is no text; put it in quotes")
    return value


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError(f"{value!r} is no list of digests")
    return value


def _entry_from(data: Any) -> Entry:
    if not isinstance(data, dict):
        raise TypeError(f"{data!r} is no version")
    weight = data.get("weight", 0)
    if type(weight) is not int or not 0 <= weight <= 100:
        raise ValueError(f"weight {weight!r} is no number from 0 to 100")
    if data["phase"] not in list(Phase):
        raise ValueError(f"there is no phase {data['phase']!r}; it is one of {', '.join(Phase)}")
    phase = Phase(data["phase"])
    if weight and phase not in WEIGHTED:
        raise ValueError(f"weight {weight} on a version that is {phase}")
    return Entry(
        id=_text(data, "id"),
        digest=_text(data, "digest", "" if phase is Phase.REMOVED else None),
        phase=phase,
        weight=weight,
        previous=_text(data, "previous", ""),
        image=_text(data, "image", ""),
        rejected=data.get("rejected", False) is True,
        revoked=tuple(_texts(data.get("revoked", []))),
        paused=data.get("paused", False) is True,
        handed_over=data.get("handedOver", False) is True,
        floor=_count(data, "floor"),
        proved=_count(data, "proved"),
        overtaken=_count(data, "overtaken"),
    )


def _count(data: Mapping[str, Any], name: str) -> int:
    value = data.get(name, 0)
    if type(value) is not int or not 0 <= value < 2**31:
        raise ValueError(f"{name} {value!r} is no number from 0")
    return value


# -- refusals ------------------------------------------------------------------------------------


def _check_format(data: Any, known: int, file: str) -> None:
    if not isinstance(data, Mapping):
        raise _broken(file, "it is not a mapping")
    if data.get("format") != known:
        raise Refused(
            f"{file} has format {data.get('format')!r}; this compiler knows {known}",
            remedy="use the compiler version that wrote it, or a newer one",
            place=Place(file),
        )


def _broken(file: str, why: object) -> Refused:
    detail = f"{why} is missing" if isinstance(why, KeyError) else why
    return Refused(
        f"{file} can't be read: {detail}",
        remedy="correct it, or restore it from Git; it holds decisions that must not be forgotten",
        place=Place(file),
    )
