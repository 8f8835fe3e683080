"""Compiling without specs: what a decision about some units changes in the output.

A unit's overlay is a function of its stored plan and ledger. So whoever decides something, a person
or the job, writes just those units again, and what stands around them when one goes: the same bytes
that a compile of the unchanged specs would write. Release folders stay; they go by a commit of
their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gati_gitops.compiler.job import kept
from gati_gitops.compiler.lost import refuse_lost
from gati_gitops.emit.engines import FLUX_SYSTEM, sync_files
from gati_gitops.emit.engines.target import RECORD, recorded_target
from gati_gitops.emit.layout import (
    NO_OWNER,
    WHOLE,
    ahead_path,
    cluster_files,
    group_of,
    namespaces_of,
    record_path,
)
from gati_gitops.emit.overlay import manifests
from gati_gitops.emit.release import TEMPLATED
from gati_gitops.ledger.fold import Outcome, Policy, folded
from gati_gitops.ledger.model import Ledger
from gati_gitops.ledger.store import dump_ledger, dump_plan
from gati_gitops.ledger.stored import Stored, recovered
from gati_gitops.output import Output, UnitKey
from gati_gitops.plan.doors import Doors
from gati_gitops.plan.model import Route, UnitPlan
from gati_gitops.plan.naming import slug
from gati_gitops.spec.monitoring import Monitoring
from gati_gitops.spec.publishing import PullRequests
from gati_gitops.tree import Changes, Tree, is_ours

Where = tuple[str, str, UnitKey]
"""Environment, cluster and unit."""


@dataclass(frozen=True, slots=True)
class Recompiled:
    """What decisions come to."""

    changes: Changes
    outcomes: Mapping[Where, Outcome]
    """Those that were asked for, and neighbours whose route depends on them."""


def stored_policy(output: Output, env: str) -> Policy:
    """What an environment's owner said about changes when it last published."""
    settings = output.settings(env)
    rollout = settings.get("rollout") or {}
    return Policy(
        rollout.get("strategy", "manual"),
        bool(settings.get("promotion")),
        settings.get("revisions", "roll"),
        settings.get("onDelete", "drain"),
    )


def recompile(output: Output, outcomes: Mapping[Where, Outcome]) -> Recompiled:
    """The files of these units after what was decided, and of all that depends on them."""
    changed = {w: o for w, o in outcomes.items() if _differs(output, w, o)}
    for env, cluster in sorted({where[:2] for where in changed}):
        changed |= _neighbours(output, env, cluster, changed)
    changes: Changes = {}
    for where, outcome in sorted(changed.items()):
        changes |= unit_changes(output, where, outcome)
    gone = {where for where, outcome in changed.items() if outcome.plan is None}
    for env, cluster in sorted({where[:2] for where in gone}):
        changes |= around(output, env, cluster, {key for *at, key in gone if at == [env, cluster]})
    for env in sorted({where[0] for where in gone}):
        changes |= _records(output, env, {(c, key) for e, c, key in gone if e == env})
    return Recompiled(changes, changed)


def _differs(output: Output, where: Where, outcome: Outcome) -> bool:
    stored = output.unit(*where)
    return stored is not None and (outcome.plan, outcome.ledger) != (stored.plan, stored.ledger)


# -- units ---------------------------------------------------------------------------------------


def unit_changes(output: Output, where: Where, outcome: Outcome) -> Changes:
    """The folder of one unit; what has not changed is left out, and so is what is not ours."""
    env, cluster, key = where
    folder = "/".join(("overlays", env, cluster, *key))
    stood = output.files(folder)
    own = f"{folder}/rollout.yaml"  # with or without our first line: people write in ledgers
    changes: Changes = {path: None for path, c in stood.items() if is_ours(c) or path == own}
    plan, ledger = outcome.plan, outcome.ledger
    if plan is not None:
        files = manifests(plan, ledger)
        files["unit.yaml"] = outcome.unit_yaml or dump_plan(plan)
        files["rollout.yaml"] = output.with_comments(own, dump_ledger(ledger, plan.files))
        changes |= {f"{folder}/{name}": content for name, content in files.items()}
    return _new(stood, changes)


def _neighbours(
    output: Output, env: str, cluster: str, changed: Mapping[Where, Outcome]
) -> dict[Where, Outcome]:
    """Units whose route has to make room for those that serve by now, or need not any more."""
    here = {key: outcome for (e, c, key), outcome in changed.items() if (e, c) == (env, cluster)}
    if all(_served(output.unit(env, cluster, key)) == _serves(o) for key, o in here.items()):
        return {}
    policy = stored_policy(output, env)
    stored = output.units(env, cluster)
    after = {
        key: (here[key].plan, here[key].ledger) if key in here else (s.plan, _ledger(s))
        for key, s in stored.items()
    }
    doors = Doors(route for plan, ledger in after.values() if (route := _door(plan, ledger)))
    found: dict[Where, Outcome] = {}
    for key, (plan, ledger) in after.items():
        wanted = plan.wanted if plan is not None else None
        if wanted is None or wanted.route is None:
            continue
        beside = doors.beside(wanted.route)
        if beside != wanted.route.beside:
            route = replace(wanted.route, beside=beside)
            outcome = folded(policy, replace(wanted, route=route), stored[key], ledger)
            notes = here[key].notes if key in here else ()
            found[env, cluster, key] = replace(outcome, notes=notes)
    return found


def _served(stored: Stored | None) -> Route | None:
    return _door(stored.plan, _ledger(stored)) if stored is not None else None


def _serves(outcome: Outcome) -> Route | None:
    return _door(outcome.plan, outcome.ledger)


def _door(plan: UnitPlan | None, ledger: Ledger) -> Route | None:
    """The route on which a unit takes requests, if it does."""
    if plan is None or not ledger.serving:
        return None
    route = (plan.wanted or plan).route
    return replace(route, beside=()) if route is not None else None


def _ledger(stored: Stored) -> Ledger:
    return stored.ledger or recovered(stored)


# -- what stands around units ----------------------------------------------------------------------


def around(output: Output, env: str, cluster: str, gone: set[UnitKey]) -> Changes:
    """Kustomizations, namespaces and engine objects of a cluster without units that have gone.

    Raises Refused where a unit is named and lost: it must not fall out of what is synced.
    """
    refuse_lost(output, env, cluster)
    root, home = f"overlays/{env}/{cluster}", f"clusters/{cluster}"
    settings = output.settings(env)
    project, file = str(settings.get("project", "")), str(settings.get("file", ""))
    units = [key for key in output.keys(env, cluster) if key not in gone]
    shared = [p for p in output.paths(root) if _shared(p.removeprefix(f"{root}/").split("/"))]
    stood = {path: output.read(path) or b"" for path in shared}
    watched = settings.get("monitoring")
    monitoring = Monitoring.model_validate(watched) if watched else None
    added = _templated(stood, root, {namespace for namespace, _ in units})
    job = kept(output, env, cluster)
    for name, files in job.shared.items():
        added[name] = {**added.get(name, {}), **files}
    wanted = cluster_files(env, cluster, units, project, file, monitoring, added, job.namespaces)
    wanted |= job.overlay
    engine = output.files(home)
    target = recorded_target(output.record(f"{home}/{RECORD}"), project, env, cluster)
    if target is not None:
        crds = sorted(
            name.removesuffix(".yaml")
            for path in output.paths(f"{root}/_crds")
            if (name := path.rpartition("/")[2]) != "kustomization.yaml"
        )
        wide = namespaces_of(wanted, env, cluster)
        wanted |= sync_files(target, units, crds, wide, engine, file, job.namespaces)
        stood |= {p: c for p, c in engine.items() if not p.startswith(f"{home}/{FLUX_SYSTEM}/")}
    return _new(stood, {**dict.fromkeys(stood), **wanted})


def _shared(parts: list[str]) -> bool:
    """Whether a file below a cluster's folder belongs to none of its units, and to no CRD."""
    if parts[0] == "_crds":
        return False
    return parts[-1] == "kustomization.yaml" if len(parts) < 3 else parts[1].startswith("_")


def _templated(stood: Mapping[str, bytes], root: str, namespaces: set[str]) -> dict[str, Tree]:
    """Files that the owner's templates gave to namespaces."""
    found: dict[str, Tree] = {}
    for path, content in stood.items():
        *folder, name = path.removeprefix(f"{root}/").split("/")
        if name.startswith(TEMPLATED) and folder[0] in namespaces:
            found.setdefault(folder[0], {})[name] = content
    return found


def _records(output: Output, env: str, gone: set[tuple[str, UnitKey]]) -> Changes:
    """Records of sources that have no unit of their group left."""
    left: dict[str, list[UnitPlan]] = {}
    for name, cluster in output.clusters():
        for key, stored in output.units(name, cluster).items() if name == env else ():
            if (cluster, key) not in gone:
                left.setdefault(stored.plan.source, []).append(stored.plan)
    lost = [output.unit(env, *at) for at in gone]
    sources = {stored.plan.source for stored in lost if stored is not None}
    settings = output.settings(env)
    changes: Changes = {}
    for source in sorted(sources):
        groups = {g for plan in left.get(source, ()) for g in _groups(settings, plan)}
        kept = {record_path(env, source, group) for group in groups} | {ahead_path(env, source)}
        stood = output.paths(f"overlays/{env}/sources/{source}")
        changes |= {path: None for path in stood if path not in kept}
    return changes


def _groups(settings: Mapping[str, Any], plan: UnitPlan) -> set[str]:
    """The records that may speak of a unit; how another source groups is not known here."""
    if settings.get("owner") == plan.source:
        said = settings.get("pullRequests") or {}
        known = {name: said[name] for name in ("groupBy", "ownerLabel") if name in said}
        return {group_of(PullRequests.model_validate(known), plan)}
    return {WHOLE, NO_OWNER, plan.unit.namespace, *(slug(value) for value in plan.labels.values())}


def _new(stood: Mapping[str, bytes], changes: Mapping[str, bytes | None]) -> Changes:
    return {path: content for path, content in changes.items() if stood.get(path) != content}
