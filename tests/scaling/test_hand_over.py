"""A live Deployment is handed to its first scaler in two steps, and never drops to one pod."""

from __future__ import annotations

from typing import Any

import yaml

from gati_gitops.tree import Tree
from tests.compile.kit import compiled, handler, tree_of

UNIT = "overlays/default/in-cluster/shop/handler-users"
HPA = {"type": "hpa", "min": 2, "max": 9}


def specs(**spec: Any) -> dict[str, str]:
    return {"users.yaml": handler(**{"replicas": 3, **spec})}


def replicas(tree: Tree) -> int | None:
    """The count that Git names for the Deployment."""
    kustomization = yaml.safe_load(tree[f"{UNIT}/kustomization.yaml"])
    found = [yaml.safe_load(patch["patch"]) for patch in kustomization.get("patches", ())]
    counts = [p["spec"]["replicas"] for p in found if "replicas" in p.get("spec", {})]
    return counts[0] if counts else None


def has_scaler(tree: Tree) -> bool:
    return b"HorizontalPodAutoscaler" in tree.get(f"{UNIT}/scaling.yaml", b"")


def handed_over(tree: Tree) -> Tree:
    """What a person or the job writes once another manager holds the live count."""
    ledger = yaml.safe_load(tree[f"{UNIT}/rollout.yaml"])
    ledger["versions"][0]["handedOver"] = True
    line = tree[f"{UNIT}/rollout.yaml"].split(b"\n", 1)[0]
    text = line + b"\n" + yaml.safe_dump(ledger, sort_keys=False).encode()
    return {**tree, f"{UNIT}/rollout.yaml": text}


def test_a_new_unit_needs_no_hand_over() -> None:
    tree = tree_of(specs(autoscaling=HPA))
    assert (replicas(tree), has_scaler(tree)) == (None, True)


def test_a_live_deployment_keeps_its_count_and_the_scaler_waits() -> None:
    before = tree_of(specs())
    found = compiled(specs(autoscaling=HPA), before)
    tree = tree_of(specs(autoscaling=HPA), before)
    assert (replicas(tree), has_scaler(tree)) == (3, False)
    assert any("scaler waits" in note for placed in found.units for note in placed.outcome.notes)
    assert compiled(specs(autoscaling=HPA), tree).changes == {}


def test_once_handed_over_the_scaler_comes_and_the_count_goes_together() -> None:
    waiting = tree_of(specs(autoscaling=HPA), tree_of(specs()))
    tree = tree_of(specs(autoscaling=HPA), handed_over(waiting))
    assert (replicas(tree), has_scaler(tree)) == (None, True)
    settled = tree_of(specs(autoscaling=HPA), tree)
    assert (replicas(settled), has_scaler(settled)) == (None, True)
    assert compiled(specs(autoscaling=HPA), settled).changes == {}
    assert b"handedOver" not in settled[f"{UNIT}/rollout.yaml"]


def test_a_single_pod_has_nothing_to_lose() -> None:
    tree = tree_of(specs(autoscaling=HPA), tree_of(specs(replicas=1)))
    assert (replicas(tree), has_scaler(tree)) == (None, True)


def test_back_to_a_fixed_count_is_one_step() -> None:
    tree = tree_of(specs(), tree_of(specs(autoscaling=HPA)))
    assert (replicas(tree), has_scaler(tree)) == (3, False)


def test_another_scaler_takes_over_at_once() -> None:
    keda = {**HPA, "type": "keda", "metrics": [{"type": "cpu", "utilization": 70}]}
    tree = tree_of(specs(autoscaling=keda), tree_of(specs(autoscaling=HPA)))
    assert replicas(tree) is None
    assert b"ScaledObject" in tree[f"{UNIT}/scaling.yaml"]
