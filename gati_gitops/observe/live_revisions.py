"""Which revision of a version runs, where two share one name.

A version of another id has a name of its own, so that it is there shows that it was synced. A new
revision takes the place of the old one, and the engine may call an Application synced that has not
heard of the commit yet. So the pods that Git wants are held against those that the cluster makes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gati_gitops.decide.drift.fields import field_drift
from gati_gitops.errors import GatiError
from gati_gitops.ledger.model import DEPLOYED
from gati_gitops.ledger.stored import Stored
from gati_gitops.output import UnitKey
from gati_gitops.render import RenderError

Object = dict[str, Any]
Built = Callable[[UnitKey], Mapping[str, Object]]
"""The Deployments of a unit by name, as Git builds them. May raise GatiError or RenderError."""

OTHER = "another revision"


def revised(stored: Stored) -> dict[str, tuple[str, str]]:
    """By name of Deployment: the release folders of the new revision and of the one before."""
    found: dict[str, tuple[str, str]] = {}
    for entry in stored.ledger.entries if stored.ledger is not None else ():
        version = stored.plan.version(*entry.key)
        if entry.previous and entry.phase in DEPLOYED and version is not None:
            before = stored.plan.version(entry.id, entry.previous)
            found[version.name] = (version.release, before.release if before else OTHER)
    return found


def releases(
    key: UnitKey, stored: Stored, live: Mapping[str, Object], built: Built, engine: str
) -> dict[str, str]:
    """By name of Deployment: the release folder that its pods are made from.

    ``live`` are the Deployments that the cluster has; what is not in there is not the new one.
    """
    wanted = revised(stored)
    if not wanted:
        return {}
    try:
        git = built(key)
    except (GatiError, RenderError):
        git = {}
    return {
        name: new if _same(git.get(name), live.get(name), engine) else old
        for name, (new, old) in wanted.items()
    }


def _same(git: Object | None, live: Object | None, engine: str) -> bool:
    """Whether a Deployment makes the pods that Git wants; how many is another question."""
    if git is None or live is None:
        return False
    return not field_drift(_pods(git), _pods(live), engine)


def _pods(item: Object) -> Object:
    head = item["metadata"]
    kept = {key: head[key] for key in ("name", "namespace", "managedFields") if key in head}
    spec = {"template": item["spec"]["template"]}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": kept, "spec": spec}
