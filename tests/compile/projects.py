"""Projects as hypothesis makes them: valid specs, with everything that an environment may change."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from tests.compile.kit import document

NAMES = ("users", "orders", "users-api", "a" * 63, "x-" + "long-name-" * 5 + "z", "cart", "v1")
IDS = (
    "v1", "v2", "v1.0.0", "v1.0.1", "1", "10", "1.2.3+build.7", "1.2.3-rc.1", "RC1", "latest",
    "tsv:1732186200-users-001", "tsv:1732186200-users-002", "v" + "9" * 80, "2024-01-01", "~", "a_b",
)  # fmt: skip
texts = st.one_of(
    st.sampled_from(
        ["", "yes", "1e3", "0x1F", "null", "a: b", "- a", "#x", "two\nlines\n", "$(B)", "${HOME}",
         "{{ x }}", "ü 😀", '"', "'", "\\", " lead", "trail ", "tsv:1", "12:30:45", "~", "|", "$patch"]
    ),
    st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs"]), max_size=12),
)  # fmt: skip
some = st.integers(1, 5)


def maybe(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


probe_fields = {
    "type": st.sampled_from(["http", "tcp", "grpc", "none"]),
    "path": st.sampled_from(["/health", "/ready?x=1"]),
    "port": st.sampled_from([3000, 9090]),
    "initialDelaySeconds": st.integers(0, 3),
    "periodSeconds": some,
    "timeoutSeconds": some,
    "failureThreshold": some,
}
probes = maybe(
    **probe_fields,
    startup=maybe(**probe_fields),
    readiness=maybe(**probe_fields),
    liveness=maybe(**probe_fields),
)
sources = st.sampled_from(
    [
        {"emptyDir": {}},
        {"emptyDir": {"sizeLimit": "1Gi", "medium": "Memory"}},
        {"configMap": "conf"},
        {"secret": "tls"},
        {"claim": "data"},
        {"files": {"a.txt": "1\n", "b": "two\nlines"}},
        {"files": {"a.txt": "2\n"}},
    ]
)
volumes = st.lists(
    st.tuples(st.sampled_from("abc"), sources, st.sampled_from([{}, {"readOnly": True}])),
    unique_by=lambda item: item[0],
    max_size=3,
).map(lambda items: [{"name": f"vol-{n}", "mountPath": f"/mnt/{n}", **s, **r} for n, s, r in items])
# Each whole, so that one laid over another still fits.
memory_metric = [{"type": "memory", "utilization": 70}]
prometheus = [{"type": "prometheus", "query": "q", "target": "1"}]
autoscaling = st.sampled_from(
    [
        {"type": "none"},
        {"type": "hpa", "min": 2, "max": 9, "metrics": memory_metric},
        {"type": "hpa", "min": 1, "max": 4, "metrics": [], "pollingIntervalSeconds": 7},
        {"type": "hpa", "min": 1, "max": 4, "metrics": [], "behavior": {"scaleDown": {}}},
        {"type": "keda", "min": 1, "max": 4, "metrics": prometheus, "warmFloor": 3},
        {"type": "keda", "min": 1, "max": 4, "metrics": prometheus, "cooldownSeconds": 0},
    ]
)
cpu, more_cpu = st.sampled_from(["50m", "100m"]), st.sampled_from(["1", "2"])
memory, more_memory = st.sampled_from(["64Mi", "128Mi"]), st.sampled_from(["1Gi", "2Gi"])
workloads = maybe(
    env=st.dictionaries(st.sampled_from(["A", "B", "C", "PORT", "NODE_ENV"]), texts, max_size=4),
    envRefs=maybe(
        R=st.sampled_from([{"secret": "s", "key": "k"}, {"secret": "t", "key": "l", "optional": True}]),
        S=st.sampled_from([{"field": "status.podIP"}, {"field": "metadata.name"}]),
    ),
    envFrom=st.lists(
        st.sampled_from([{"secret": "s"}, {"configMap": "c", "prefix": "P_"}]), max_size=2
    ),
    resources=maybe(
        requests=maybe(cpu=cpu, memory=memory), limits=maybe(cpu=more_cpu, memory=more_memory)
    ),
    probes=probes,
    volumes=volumes,
    placement=maybe(
        nodeSelector=st.dictionaries(st.sampled_from(["disk", "zone"]), st.just("x"), max_size=2),
        tolerations=st.lists(st.just({"key": "spot", "operator": "Exists"}), max_size=1),
        priorityClass=st.just("high"),
        runtimeClass=st.just("gvisor"),
    ),
    serviceAccount=maybe(
        name=st.just("own"), token=st.booleans(), annotations=st.just({"example.com/role": "r"})
    ),
    drain=maybe(delaySeconds=st.integers(0, 2), requestSeconds=some),
    security=maybe(
        runAsUser=st.just(2000), readOnlyRoot=st.booleans(), writablePaths=st.just(["/var/x"])
    ),
    command=st.just(["/bin/a"]),
    args=st.lists(texts, max_size=2),
    imagePullSecrets=st.lists(st.sampled_from(["r1", "r2"]), unique=True, max_size=2),
    imagePullPolicy=st.sampled_from(["Always", "Never"]),
    autoscaling=autoscaling,
    hosts=st.lists(st.sampled_from(["a.example.com", "*.example.com"]), unique=True, max_size=2),
)  # fmt: skip


@st.composite
def partial_specs(draw: st.DrawFn) -> dict[str, Any]:
    """What an environment lays over a spec; null takes away."""
    spec = draw(workloads)
    for name in draw(
        st.lists(st.sampled_from(["env", "probes", "volumes", "resources"]), max_size=2)
    ):
        spec[name] = None
    spec.update(draw(maybe(replicas=st.integers(1, 4), port=st.sampled_from([80, 8080]))))
    return spec


@st.composite
def units(draw: st.DrawFn, name: str, strategy: str) -> tuple[dict[str, str], dict[str, str]]:
    """Files of one unit, and its partial documents by environment."""
    if draw(st.integers(0, 5)) == 0:
        spec = {
            "moduleName": name,
            "moduleType": draw(st.sampled_from(["node", "wasm", "oci"])),
            "runtime": "r:1",
            "replicas": draw(st.integers(1, 3)),
            "image": draw(st.sampled_from(["reg:5000/m:1.4", "ghcr.io/acme/m@sha256:" + "a" * 64])),
            "port": 50051,
            **draw(workloads),
        }
        kind, files = "GatiModule", {f"{name}.yaml": document("GatiModule", name, spec)}
    else:
        ids = draw(st.lists(st.sampled_from(IDS), unique=True, min_size=1, max_size=3))
        cuts = sorted(draw(st.lists(st.integers(1, 99), unique=True, max_size=2, min_size=2)))
        weights = {
            1: [100],
            2: [cuts[0], 100 - cuts[0]],
            3: [cuts[0], cuts[1] - cuts[0], 100 - cuts[1]],
        }
        shares = weights[len(ids)]
        if strategy != "manual" and shares.count(max(shares)) > 1:
            shares = [100, *[0] * (len(ids) - 1)]
        spec = {
            "handlerPath": f"/{name}",
            "version": ids[0],
            "replicas": draw(st.integers(1, 3)),
            "image": f"ghcr.io/acme/x:{len(ids[0])}",
            "port": 3000,
            "timescape": {"routingWeight": shares[0]},
            **draw(workloads),
        }
        kind, files = "GatiHandler", {f"{name}.yaml": document("GatiHandler", name, spec)}
        for number, version_id in enumerate(ids[1:], 1):
            data = {
                "versionId": version_id,
                "handler": name,
                "breaking": shares[number] == 0 and draw(st.booleans()),
                "routingWeight": shares[number],
                "image": f"ghcr.io/acme/x:{number}",
                **draw(workloads),
            }
            data.pop("hosts", None)
            files[f"{name}-{number}.yaml"] = document(
                "GatiVersion", f"{name}-{number}"[-60:].lstrip("-"), data
            )
    partials = {}
    for env in draw(st.lists(st.sampled_from(["staging", "prod"]), unique=True)):
        text = document(kind, name, draw(partial_specs()))
        partials[f"environments/{env}/{name}.yaml"] = text
    return files, partials


@st.composite
def projects(draw: st.DrawFn) -> dict[str, str]:
    """A whole folder of specs."""
    strategy = draw(st.sampled_from(["manual", "canary"]))
    environments = {
        "staging": {"clusters": {"stage": {}}},
        "prod": {
            "clusters": {"east": {}, "west": {"role": "standby"}},
            "registries": draw(st.sampled_from([{}, {"ghcr.io/acme": "mirror:5000/x"}])),
        },
    }
    spec: dict[str, Any] = {"environments": environments, "rollout": {"strategy": strategy}}
    if draw(st.booleans()):
        spec["promotion"] = {"prod": {"after": "staging"}}
    head = {"apiVersion": "gati.dev/v1alpha1", "kind": "GatiProject", "metadata": {"name": "p"}}
    files = {"gati.yaml": json.dumps({**head, "spec": spec})}
    for name in draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=1, max_size=3)):
        own, partials = draw(units(name, strategy))
        files |= own | partials
    return files
