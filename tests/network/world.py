"""A compiled project as a network: its policies, and a pod of each unit."""

from __future__ import annotations

from collections.abc import Mapping

from tests.compile.kit import Files, objects, tree_of
from tests.network.evaluator import Network, Peer, Policy

CLUSTER = "overlays/prod/east"
STRANGER = Peer("10.9.0.1", "elsewhere", {"app": "stranger"})
GATEWAY = Peer("10.9.0.2", "gati-system", {"app": "envoy"})
PROMETHEUS = Peer("10.9.0.3", "monitoring", {"app": "prometheus"})
DNS = Peer("10.9.0.4", "kube-system", {"k8s-app": "kube-dns"})
INTERNET = Peer("93.184.216.34")
METADATA = Peer("169.254.169.254")
OFFICE = Peer("192.168.7.7")


def policies(tree: Mapping[str, bytes], cluster: str = CLUSTER) -> tuple[Policy, ...]:
    files = [p for p in tree if p.startswith(f"{cluster}/") and p.endswith("/network.yaml")]
    return tuple(item for path in sorted(files) for item in objects(tree, path))


def pods(tree: Mapping[str, bytes]) -> dict[str, Peer]:
    """A pod of each version, by the name of its Deployment in its namespace."""
    found = {}
    for number, path in enumerate(sorted(p for p in tree if p.endswith("/deployment.yaml"))):
        (item,) = objects(tree, path)
        meta = item["metadata"]
        labels = item["spec"]["template"]["metadata"]["labels"]
        address = f"10.1.{number // 250}.{number % 250 + 1}"
        found[f"{meta['namespace']}/{meta['name']}"] = Peer(address, meta["namespace"], labels)
    return found


def world(
    files: Files, before: Mapping[str, bytes] | None = None, *, addresses_mean_pods: bool = False
) -> tuple[Network, dict[str, Peer]]:
    tree = tree_of(files, before)
    return Network(policies(tree), addresses_mean_pods), pods(tree)
