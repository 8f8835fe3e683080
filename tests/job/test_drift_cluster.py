"""The compiled drift CronJob on a real API server: its account sees all, and may do only what follows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gati_gitops.cli.clusters import accesses
from gati_gitops.cli.main import run
from gati_gitops.observe.kube import Access, Kube
from gati_gitops.render import MemoryFiles, render
from tests.compile.kit import handler, ledger
from tests.drift import kit as drifting
from tests.e2e.processes import until
from tests.job.kit import job
from tests.job.test_cluster import refused
from tests.job.watcher import unique
from tests.publish.kit import World

RBAC = "rbac.authorization.k8s.io/v1"
WAYS = {
    "gateway-api": {"provider": "gateway-api"},
    "istio": {"provider": "istio", "istio": {"gateways": ["istio-system/shared"]}},
    "traefik": {"provider": "traefik"},
    "ingress-nginx": {"provider": "ingress-nginx"},
}
CLUSTERS = {"argocd": "eu", "flux": "us"}
"""As the kit of drift has it."""
ENGINE = {
    "argocd": ("argoproj.io/v1alpha1", "Application", "argocd"),
    "flux": ("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "flux-system"),
}
KEDA = {
    "type": "keda",
    "min": 1,
    "max": 5,
    "metrics": [{"type": "prometheus", "query": "sum(rate(x[1m]))", "target": "100"}],
}


@dataclass
class Answering:
    """A shop that is published and applied, and what answers drift in it."""

    plane: Any
    world: World
    name: str
    """Of the project, and of the namespace of its units."""
    home: str
    """The job's namespace."""
    arguments: list[str]
    kube: Kube
    """By the account that the CronJob runs as."""
    capsys: Any

    @property
    def account(self) -> str:
        return account_of(self.name)

    def run(self, *options: str) -> tuple[int, dict[str, Any], str]:
        """As the pod does: its exit code, its report, and what else it says."""
        there = {"--repo": str(self.world.output)}
        given = [
            f"{a}={there.get(a, v)}" if equals else a
            for a, equals, v in (x.partition("=") for x in self.arguments)
        ]
        self.capsys.readouterr()
        code = run([*given, "--format", "json", *options])
        said = self.capsys.readouterr()
        return code, json.loads(said.out), said.err

    def kubectl(self, *words: str) -> None:
        self.plane.kubectl("--namespace", self.name, *words)


def account_of(project: str) -> str:
    return f"gati-reconciler-{project}"


@pytest.fixture(scope="module")
def plane(kinds: Any) -> Any:
    """Every kind that any unit may have."""
    kinds.install_crds()
    return kinds


@pytest.fixture
def inside(plane: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pod of the cluster: the folder of its account, which must be all that leads to the API server."""
    folder = tmp_path / "account"
    folder.mkdir()
    host, _, port = plane.server.removeprefix("https://").partition(":")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
    monkeypatch.setenv("KUBECONFIG", "/nowhere")

    def here(*asked: Any) -> dict[str, Access]:
        found = accesses(*asked)
        assert all(access.in_cluster for access in found.values())
        return {k: replace(access, service_account=str(folder)) for k, access in found.items()}

    for module in ("drift", "drift_fix"):
        monkeypatch.setattr(f"gati_gitops.cli.{module}.accesses", here)
    return folder


@pytest.fixture
def start(plane: Any, inside: Path, tmp_path: Path, capsys: Any) -> Iterator[Any]:
    opened: list[Kube] = []

    def started(policy: str, engine: str = "argocd", provider: str = "gateway-api") -> Answering:
        name, home, watched = unique("shop"), unique("watch"), unique("prom")
        for namespace in (watched, "argocd", "flux-system"):
            plane.namespace(namespace)
        here = CLUSTERS[engine]
        routing = {**WAYS[provider], "hosts": ["shop.example"]}
        files = drifting.shop(name)
        data = json.loads(files["gati.yaml"])
        cluster = {here: {"sync": {"engine": engine}}}
        data["spec"] |= {
            "environments": {"prod": {"clusters": cluster, "drift": policy, "routing": routing}},
            "job": job(namespace=home, replicas=2),
            "monitoring": {"namespace": watched},
        }
        world = World(tmp_path)
        scaled = handler("events", namespace=name, autoscaling=KEDA)
        world.release({**files, "gati.yaml": json.dumps(data), "events.yaml": scaled})
        found = world.tree()
        place = f"overlays/prod/{here}/{home}/_reconciler"
        items = render(MemoryFiles(found), place).objects()
        (item,) = (i for i in items if i["metadata"]["name"] == f"gati-drift-{name}")
        (box,) = item["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
        drifting.content(plane, found, here)
        drifting.sync(plane, found, here)
        path = f"/api/v1/namespaces/{home}/serviceaccounts/{account_of(name)}/token"
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        token = plane.api.request("POST", path, body)["status"]["token"]
        files = {"token": token, "ca.crt": plane.authority.read_text(), "namespace": home}
        for file, text in files.items():
            (inside / file).write_text(text)
        kube = Kube(Access(in_cluster=True, service_account=str(inside)))
        opened.append(kube)
        until("the rights are known", lambda: not refused(kube, "list", *ENGINE[engine]), within=30)
        until(
            "the rights are known",
            lambda: not refused(kube, "list", RBAC, "ClusterRole"),
            within=30,
        )
        return Answering(plane, world, name, home, box["args"], kube, capsys)

    yield started
    for kube in opened:
        kube.close()


@pytest.mark.parametrize(
    ("engine", "provider"),
    [
        ("argocd", "gateway-api"),
        ("flux", "istio"),
        ("argocd", "traefik"),
        ("flux", "ingress-nginx"),
    ],
)
def test_it_sees_everything_and_what_was_applied_is_no_drift(start, engine, provider):
    """The job's own objects included, and with every kind installed that units may have."""
    shop = start("revert", engine, provider)
    code, data, said = shop.run()
    assert (code, data["drifted"], data["complete"]) == (0, False, True), (data, said)
    assert data["places"][0]["looked"] == 4


@pytest.mark.parametrize("engine", ["argocd", "flux"])
def test_what_a_person_did_is_reverted_and_the_run_went_well(start, engine):
    shop = start("revert", engine)
    shop.kubectl("set", "image", "deployment/handler-cart-v2", "handler=evil:1")
    # what bears our labels no more is only found by its name
    shop.kubectl("label", "service", "handler-cart-v2", "app.kubernetes.io/managed-by-")
    code, data, said = shop.run()
    assert (code, data["drifted"], data["complete"]) == (0, True, True), said
    (unit,) = (u for u in data["places"][0]["units"] if u["objects"])
    assert {item["kind"] for item in unit["objects"]} == {"Deployment", "Service"}
    name = f"prod.{CLUSTERS[engine]}.{shop.name}"
    assert f"{name} was asked to apply Git again" in said
    note = {"argocd": "argocd.argoproj.io/refresh", "flux": "reconcile.fluxcd.io/requestedAt"}
    root = shop.plane.api.get(*ENGINE[engine], name)
    assert note[engine] in root["metadata"]["annotations"]


def test_a_hand_edit_in_the_repository_is_reverted(start):
    shop = start("revert")
    path = f"overlays/prod/eu/{shop.name}/handler-cart/route.yaml"
    before = shop.world.tree()

    def edit(root: Path) -> None:
        file = root / path
        file.write_text(file.read_text().replace("weight: 90", "weight: 50"))

    shop.world.by_hand(edit)
    assert shop.world.tree() != before
    code, _, said = shop.run()
    assert code == 0 and "prod: revert what was changed by hand" in said
    assert shop.world.tree() == before


def test_what_a_person_did_is_adopted_and_the_engine_may_not_be_told(start):
    shop = start("adopt")
    shop.kubectl("scale", "deployment/handler-cart-v1", "--replicas=6")
    code, _, said = shop.run()
    assert code == 0 and "prod: adopt what was changed by hand" in said
    held = ledger(shop.world.tree(), f"overlays/prod/eu/{shop.name}/handler-cart").hold
    assert "pods of v1 2 → 6, by kubectl" in held


def test_an_engine_that_could_not_be_asked_is_a_failure(start):
    shop = start("adopt")  # whose account may not ask
    shop.kubectl("set", "image", "deployment/handler-cart-v2", "handler=evil:1")
    code, data, said = shop.run("--fix=revert")
    assert code == 4 and data["complete"]
    assert "was not asked to apply Git again" in said and "patch" in said


def test_it_may_change_nothing(start):
    shop = start("revert")
    name, home = shop.name, shop.home
    assert shop.kube.get("v1", "Service", "handler-cart-v2", name), "or the account is none"
    change = {"metadata": {"labels": {"a": "b"}}}
    denied = [
        ("list", "v1", "Secret", home),
        ("get", "v1", "Secret", "deploy-key", home),
        ("patch", "v1", "Service", "handler-cart-v2", name, change),
        ("patch", "v1", "ConfigMap", "x", name, change),
        ("patch", "gateway.networking.k8s.io/v1", "HTTPRoute", "handler-cart", name, change),
        ("patch", RBAC, "ClusterRole", shop.account, "", change),
        ("patch", "v1", "Namespace", name, "", change),
        ("patch", "argoproj.io/v1alpha1", "AppProject", "x", "argocd", change),
        ("patch", "argoproj.io/v1alpha1", "Application", "x", name, change),
        ("delete", "argoproj.io/v1alpha1", "Application", f"prod.eu.{name}", "argocd"),
        ("delete", "apps/v1", "Deployment", "handler-cart-v2", name),
        ("patch", "batch/v1", "CronJob", f"gati-drift-{name}", home, change),
    ]
    assert [what for what in denied if not refused(shop.kube, *what)] == []


@pytest.mark.slow
def test_each_right_to_read_is_one_that_a_look_needs(start):
    """Without any one of them something is not seen, and the run says that it failed."""
    shop = start("revert")
    role = shop.plane.api.get(RBAC, "ClusterRole", "", shop.account)
    rules = role["rules"]
    twice = [(g, r) for rule in rules if "list" in rule["verbs"] for g in rule["apiGroups"]
             for r in rule["resources"]]  # fmt: skip
    alone = [at for at in twice if twice.count(at) == 1]
    mine = [rule for rule in rules if rule["verbs"] == ["get", "list"]]
    tried = 0
    for rule in mine:
        (group,) = rule["apiGroups"]
        for resource in rule["resources"]:
            if (group, resource) not in alone:
                continue  # the job reads it as well
            less = [r for r in rule["resources"] if r != resource]
            cut = [{**rule, "resources": less}] if less else []
            put(shop.plane, role, [*(r for r in rules if r != rule), *cut])
            until(f"{resource} is refused", partial(unseen, shop, resource), within=30)
            tried += 1
    assert tried > 12
    put(shop.plane, role, rules)
    until("all is seen again", lambda: shop.run("--dry-run")[0] == 0, within=30)


def unseen(shop: Answering, resource: str) -> bool:
    code, data, _ = shop.run("--dry-run")
    return code == 4 and resource in json.dumps(data["places"][0]["unseen"])


def put(plane: Any, role: dict[str, Any], rules: list[dict[str, Any]]) -> None:
    plane.api.patch(RBAC, "ClusterRole", "", role["metadata"]["name"], {"rules": rules})
