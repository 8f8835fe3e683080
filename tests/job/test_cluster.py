"""The compiled job on a real API server: its objects stand as they are written, its rights suffice."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from gati_gitops.decide.observation import Live
from gati_gitops.observe.cluster import Cluster
from gati_gitops.observe.cluster_handover import hand_over
from gati_gitops.observe.engines import Engines
from gati_gitops.observe.kube import Kube, KubeError
from gati_gitops.observe.wanted import Wanted
from gati_gitops.output import Output
from gati_gitops.reconcile.clocks_store import ConfigMapClocks
from gati_gitops.reconcile.drift.sights import target_at
from gati_gitops.reconcile.lease import Lease
from gati_gitops.render import MemoryFiles, render
from gati_gitops.tree import MemorySnapshot
from tests.compile.kit import compiled, handler
from tests.job.kit import NAME, job, project, tree
from tests.job.watcher import Watcher, unique

# What the API server chooses, and nobody could know before.
CHOSEN = {
    "Service": {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"},
}


def added(written: Any, stands: Any, path: str = "") -> Iterator[str]:
    """Fields that nobody wrote."""
    if isinstance(stands, Mapping) and isinstance(written, Mapping):
        for key, value in stands.items():
            if key not in written:
                yield f"{path}.{key}"
            else:
                yield from added(written[key], value, f"{path}.{key}")
    elif isinstance(stands, list) and isinstance(written, list):
        for number, pair in enumerate(zip(written, stands, strict=True)):
            yield from added(*pair, f"{path}[{number}]")
    elif written != stands:
        yield f"{path}: {written!r} became {stands!r}"


@pytest.mark.parametrize("mode", ["deployment", "cronjob"])
def test_no_engine_sees_a_difference(kinds, mode):
    """Whatever the API server would fill in is written out."""
    home = unique("defaults")
    kinds.namespace(home)
    found = tree(job=job(mode=mode, namespace=home, replicas=2), monitoring={})
    for item in render(MemoryFiles(found), f"overlays/prod/eu/{home}/_reconciler").objects():
        if item["metadata"].get("namespace", home) != home:
            continue  # the engine's namespace, which is not there
        stands = kinds.api.apply(json.loads(json.dumps(item)))
        kept = {"apiVersion", "kind", "metadata"}
        for part in item.keys() - kept:
            found_more = added(item[part], stands[part], part)
            # the old name of serviceAccountName, which the API server keeps in step
            more = {name for name in found_more if not name.endswith(".spec.serviceAccount")}
            chosen = {f"{part}.{name}" for name in CHOSEN.get(item["kind"], ())}
            assert more <= chosen, item["kind"]


def test_it_sees_everything_that_it_judges_by(watcher: Watcher):
    files = {"gati.yaml": project(**watcher.spec), "u.yaml": handler(namespace=watcher.units)}
    output = Output(MemorySnapshot(compiled(files).tree))
    target = target_at(output, "prod", "eu")
    assert target is not None
    engines = Engines(target, output.keys("prod", "eu"), watcher.kube)
    wanted = Wanted("eu", dict(output.units("prod", "eu")), 360.0, ())
    seen = Cluster(watcher.kube, engines).look(wanted)
    assert isinstance(seen, Mapping), seen
    for live in seen.values():
        assert isinstance(live, Live), live
        assert isinstance(live.references, Mapping), live.references
        assert "would not" not in str(live.engine), "the engine may not be asked"


def test_it_keeps_its_lease_and_its_clocks(watcher: Watcher):
    lease = Lease(watcher.kube, watcher.home, NAME, "me")
    assert lease.attempt() and lease.attempt()
    lease.release()
    clocks = ConfigMapClocks(watcher.kube, watcher.home, NAME)
    clocks.read()
    clocks.write({})
    clocks.write({})


def test_it_holds_the_number_of_pods_for_a_scaler(watcher: Watcher):
    labels = {"app": "x"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "x", "image": "x"}]},
    }
    spec = {"replicas": 3, "selector": {"matchLabels": labels}, "template": template}
    head = {"name": "x", "namespace": watcher.units}
    item = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": head, "spec": spec}
    watcher.plane.api.apply(item)
    assert hand_over(watcher.kube, watcher.units, "x") == 3


def refused(kube: Kube, verb: str, *what: Any) -> bool:
    try:
        getattr(kube, verb)(*what)
    except KubeError as error:
        return error.status == 403
    return False


def test_it_may_do_nothing_else(watcher: Watcher):
    kube, units, home = watcher.kube, watcher.units, watcher.home
    head = {"name": "x", "namespace": units}
    other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": head}
    watcher.plane.api.apply(other)
    watcher.plane.api.apply({**other, "metadata": {"name": "x", "namespace": home}})
    denied = [
        ("list", "v1", "Secret", home),
        ("get", "v1", "Secret", "deploy-key", home),
        ("list", "v1", "ConfigMap", units),
        ("get", "v1", "ConfigMap", "x", home),
        ("patch", "v1", "ConfigMap", "x", home, {"data": {"a": "b"}}),
        ("delete", "v1", "ConfigMap", NAME, home),
        ("create", other),
        ("delete", "apps/v1", "Deployment", "x", units),
        ("create", {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": head, "spec": {}}),
        ("delete", "v1", "Pod", "x", units),
        ("patch", "gateway.networking.k8s.io/v1", "HTTPRoute", "x", units, {"spec": {}}),
        ("delete", "gateway.networking.k8s.io/v1", "HTTPRoute", "x", units),
        ("patch", "gati.dev/v1alpha1", "GatiHandler", "x", units, {"spec": {}}),
        ("delete", "v1", "Namespace", units),
        ("list", "rbac.authorization.k8s.io/v1", "ClusterRole"),
        ("patch", "argoproj.io/v1alpha1", "Application", "x", units, {"metadata": {}}),
    ]
    allowed = [what for what in denied if not refused(kube, *what)]
    assert allowed == []


def test_no_right_is_there_that_nothing_uses():
    """Each rule is one that something above, or a test of Events and status, needs."""
    rules = [
        (group, resource, verb)
        for item in render(
            MemoryFiles(tree()), "overlays/prod/eu/gati-system/_reconciler"
        ).objects()
        for rule in item.get("rules", ())
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]
    written = {rule for rule in rules if rule[2] not in ("get", "list")}
    assert written == {
        ("", "configmaps", "create"),
        ("", "configmaps", "patch"),
        ("", "configmaps", "update"),
        ("apps", "deployments", "patch"),
        ("coordination.k8s.io", "leases", "create"),
        ("coordination.k8s.io", "leases", "patch"),
        ("coordination.k8s.io", "leases", "update"),
        ("events.k8s.io", "events", "create"),
        ("events.k8s.io", "events", "patch"),
        *(
            (("gati.dev", f"gati{kind}s/status", "patch"))
            for kind in ("handler", "module", "version")
        ),
    }
    assert not [rule for rule in rules if "*" in "".join(rule) or rule[1] == "secrets"]


def test_what_it_does_not_tell_it_may_not_tell():
    silent = tree(job=job(events=False, status=False))
    rules = json.dumps(
        list(render(MemoryFiles(silent), "overlays/prod/eu/gati-system/_reconciler").objects())
    )
    assert "gati.dev" not in rules and "events.k8s.io" not in rules
