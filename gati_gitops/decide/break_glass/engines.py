"""Stopping exactly the Application or Kustomization that a unit is in, and starting it again."""

from __future__ import annotations

from typing import Any

from gati_gitops.decide.break_glass.model import Command, Kubectl
from gati_gitops.emit.engines.argocd import automated
from gati_gitops.emit.engines.roots import Root, sync_roots
from gati_gitops.emit.engines.target import Target
from gati_gitops.output import UnitKey

APPLICATION = "applications.argoproj.io"
KUSTOMIZATION = "kustomizations.kustomize.toolkit.fluxcd.io"
SKIP = "argocd.argoproj.io/skip-reconcile"


def root_of(target: Target, units: list[UnitKey], key: UnitKey) -> Root:
    """The folder that a unit is synced with: its own, or that of its namespace."""
    roots = sync_roots(target.env, target.cluster, units, {}, ())
    mine = [root for root in roots if root.namespace == key[0] and not root.guarded]
    return next((root for root in mine if root.unit == key[1]), mine[0])


def namespace_of(target: Target) -> str:
    """Where the engine's objects are."""
    flux = target.here.engine == "flux"
    return target.sync.flux.namespace if flux else target.sync.argocd.namespace


def stop(target: Target, root: Root, kubectl: Kubectl) -> tuple[Command, ...]:
    """Commands after which the engine leaves the root alone."""
    change: dict[str, Any]
    if target.here.engine == "flux":
        change = {"spec": {"suspend": True}}
        return (kubectl.patch(KUSTOMIZATION, root.name, change, "Flux stops applying the folder"),)
    change = {
        # one that manages Applications would bring the policy back, but not take a note away
        "metadata": {"annotations": {SKIP: "true"}},
        "spec": {"syncPolicy": {"automated": None}},
    }
    why = "Argo CD stops syncing and healing the folder"
    return (kubectl.patch(APPLICATION, root.name, change, why),)


def stopped(target: Target, root: Root, kubectl: Kubectl) -> Command:
    """What shows that it has stopped."""
    if target.here.engine == "flux":
        path = "{.spec.suspend}"
        return kubectl("get", KUSTOMIZATION, root.name, f"--output=jsonpath={path}", why="true")
    path = "{.spec.syncPolicy.automated}"
    why = "nothing: there is no automatic sync"
    return kubectl("get", APPLICATION, root.name, f"--output=jsonpath={path}", why=why)


def resume(target: Target, root: Root, kubectl: Kubectl) -> tuple[Command, ...]:
    """Commands after which all is as Git has it."""
    change: dict[str, Any]
    if target.here.engine == "flux":
        change = {"spec": {"suspend": None}}
        return (kubectl.patch(KUSTOMIZATION, root.name, change, "Flux goes on"),)
    change = {
        "metadata": {"annotations": {SKIP: None}},
        "spec": {"syncPolicy": {"automated": automated(root)}},
    }
    return (kubectl.patch(APPLICATION, root.name, change, "Argo CD goes on"),)
