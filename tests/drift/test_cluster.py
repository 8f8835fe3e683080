"""Against a real API server: what engines applied is no drift, what people did to it is."""

import json

import pytest

from gati_gitops.cli.main import run
from tests.drift.kit import READY, content, named, published, sync
from tests.e2e.processes import until
from tests.tools import missing

NAMESPACE = "drifting"
ENGINE = {"eu": ("application", "argocd"), "us": ("kustomization", "flux-system")}
CONTROLLERS = ("kube-controller-manager", "kube-apiserver")


@pytest.fixture(scope="module")
def cluster(control_plane):
    control_plane.install_crds(
        "gateway.networking.k8s.io_HTTPRoute",
        "gateway.networking.k8s.io_ReferenceGrant",
        "argoproj.io_App*t",
        "argoproj.io_Application",
        "kustomize.toolkit.fluxcd.io_Kustomization",
        "source.toolkit.fluxcd.io_GitRepository",
    )
    return control_plane


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return published(tmp_path_factory.mktemp("drift"), NAMESPACE)


@pytest.fixture(scope="module", params=["eu", "us"], ids=["argocd", "flux"])
def shop(request, cluster, world):
    """The shop as an engine has applied it; its objects."""
    content(cluster, world.tree(), request.param)
    return request.param, sync(cluster, world.tree(), request.param)


@pytest.fixture
def restored(cluster, shop):
    """The cluster as Git says, before and after."""
    yield shop[1]
    for item in shop[1]:
        metadata = item["metadata"]
        at = (item["apiVersion"], item["kind"], metadata.get("namespace", ""), metadata["name"])
        found = cluster.api.find(*at)
        engine = "argocd-controller" if shop[0] == "eu" else "kustomize-controller"
        writers = {e["manager"] for e in found["metadata"]["managedFields"]} if found else set()
        if metadata.get("namespace") and writers - {engine, *CONTROLLERS}:
            cluster.api.delete(*at)
        cluster.api.apply(item, manager=engine)


@pytest.fixture
def look(cluster, world, shop, capsys):
    """Run `drift` and give its exit code and what it says of each object."""

    def looked(*options, code=None):
        arguments = ["drift", "--repo", str(world.output), "--cluster", shop[0], "--format", "json"]
        ended = run([*arguments, "--kubeconfig", str(cluster.kubeconfig), *options])
        said = capsys.readouterr()
        assert said.out, said.err
        data = json.loads(said.out)
        assert code is None or ended == code, said.out
        return data

    return looked


def objects(data):
    return {
        f"{item['kind']} {item['name']}": item
        for place in data["places"]
        for item in (*place["objects"], *(i for unit in place["units"] for i in unit["objects"]))
    }


def fields(data, name):
    return {field["path"]: field for field in objects(data)[name]["fields"]}


def test_what_the_engine_applied_is_no_drift(look):
    data = look(code=0)
    assert objects(data) == {} and data["complete"] and not data["drifted"]
    assert data["places"][0]["looked"] == 3


class TestPeople:
    """Every kind of edit is found, and who did it."""

    def test_an_image(self, cluster, restored, look):
        kubectl(cluster, "set", "image", "deployment/handler-cart-v2", "handler=evil:1")
        data = look(code=1)
        found = fields(data, "Deployment handler-cart-v2")
        field = found["spec.template.spec.containers[name=handler].image"]
        assert (field["git"], field["live"]) == ("ghcr.io/acme/cart:v2", "evil:1")
        assert field["who"][0]["manager"] == "kubectl-set"
        assert len(found) == 1 and len(objects(data)) == 1

    def test_a_variable(self, cluster, restored, look):
        kubectl(cluster, "set", "env", "deployment/handler-cart-v2", "LOG=debug", "NEW=1")
        path = "spec.template.spec.containers[name=handler].env"
        found = fields(look(code=1), "Deployment handler-cart-v2")
        assert found.keys() == {f"{path}[name=LOG].value", f"{path}[name=NEW]"}

    def test_the_number_of_pods(self, cluster, restored, look):
        kubectl(cluster, "scale", "deployment/handler-cart-v2", "--replicas=5")
        found = fields(look(code=1), "Deployment handler-cart-v2")
        assert (found["spec.replicas"]["git"], found["spec.replicas"]["live"]) == (2, 5)

    def test_a_route(self, cluster, restored, look):
        route = named(restored, "HTTPRoute", "handler-cart")
        last = len(route["spec"]["rules"]) - 1
        patch = [{"op": "replace", "path": f"/spec/rules/{last}/backendRefs/0/weight", "value": 7}]
        kubectl(
            cluster, "patch", "httproute", "handler-cart", "--type=json", "-p", json.dumps(patch)
        )
        (field,) = fields(look(code=1), "HTTPRoute handler-cart").values()
        assert field["path"].endswith("].weight") and field["live"] == 7

    def test_a_label_of_ours(self, cluster, restored, look):
        """Whoever takes our label off an object hides it from lists, not from us."""
        label = "app.kubernetes.io/managed-by-"
        kubectl(cluster, "label", "service", "handler-cart-v2", label)
        found = fields(look(code=1), "Service handler-cart-v2")
        assert found.keys() == {'metadata.labels["app.kubernetes.io/managed-by"]'}

    def test_a_config_map(self, cluster, restored, look):
        maps = [i["metadata"]["name"] for i in restored if i["kind"] == "ConfigMap"]
        kubectl(cluster, "patch", "configmap", maps[0], "-p", '{"data":{"conf.a.ini":"x=2\\n"}}')
        assert fields(look(code=1), f"ConfigMap {maps[0]}").keys() == {'data["conf.a.ini"]'}

    def test_a_network_policy(self, cluster, restored, look):
        patch = '{"spec":{"ingress":[{}]}}'
        kubectl(cluster, "patch", "networkpolicy", "handler-cart", "--type=merge", "-p", patch)
        assert "NetworkPolicy handler-cart" in objects(look(code=1))

    def test_a_scaler(self, cluster, restored, look):
        patch = '{"spec":{"maxReplicas":50}}'
        kubectl(cluster, "patch", "hpa", "handler-users-v1", "-p", patch)
        found = fields(look(code=1), "HorizontalPodAutoscaler handler-users-v1")
        assert found["spec.maxReplicas"]["live"] == 50

    def test_an_object_that_is_gone(self, cluster, restored, look):
        kubectl(cluster, "delete", "service", "handler-cart-v1")
        assert objects(look(code=1))["Service handler-cart-v1"]["what"] == "missing"

    def test_an_object_that_git_does_not_have(self, cluster, restored, look):
        service = named(restored, "Service", "handler-cart-v1")
        labels = {**service["metadata"]["labels"], "gati.dev/version": "v0"}
        copy = {
            **service,
            "metadata": {"name": "handler-cart-v0", "namespace": NAMESPACE, "labels": labels},
        }
        cluster.api.apply(copy, manager="argocd-controller")
        try:
            found = objects(look(code=1))["Service handler-cart-v0"]
            assert found["what"] == "extra" and found["why"] == "the ledger does not know v0"
        finally:
            cluster.api.delete("v1", "Service", NAMESPACE, "handler-cart-v0")


class TestOthers:
    """What servers, scalers, meshes and admission do is theirs."""

    def test_a_scaler_moves_pods(self, cluster, restored, look):
        scaled = {"spec": {"replicas": 4}}
        cluster.api.patch(
            "apps/v1", "Deployment", NAMESPACE, "handler-users-v1", scaled, sub="scale"
        )
        assert objects(look(code=0)) == {}

    def test_a_mesh_injects(self, cluster, restored, look):
        cluster.api.apply(
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "handler-cart-v2", "namespace": NAMESPACE},
                "spec": {
                    "template": {
                        "metadata": {"annotations": {"sidecar.istio.io/status": "injected"}},
                        "spec": {"containers": [{"name": "istio-proxy", "image": "istio:1"}]},
                    }
                },
            },
            manager="istio-injector",
        )
        assert objects(look(code=0)) == {}

    def test_controllers_write_status_and_annotations(self, cluster, restored, look):
        found = cluster.api.get("apps/v1", "Deployment", NAMESPACE, "handler-cart-v2")
        assert "deployment.kubernetes.io/revision" in found["metadata"].get("annotations", {})
        assert found.get("status")
        assert objects(look(code=0)) == {}

    def test_a_restart(self, cluster, restored, look):
        kubectl(cluster, "rollout", "restart", "deployment/handler-cart-v2")
        assert objects(look(code=0)) == {}


class TestEngines:
    @pytest.fixture(autouse=True)
    def settled(self, cluster, world, shop):
        yield
        kind, where = ENGINE[shop[0]]
        cluster.kubectl("delete", kind, "--all", f"--namespace={where}")
        content(cluster, world.tree(), shop[0])

    def engine(self, data):
        return {unit["unit"]: unit["engine"] for unit in data["places"][0]["units"]}

    def test_a_suspended_one_is_told(self, cluster, shop, look):
        if shop[0] == "eu":
            at = ("application", f"prod.eu.{NAMESPACE}", "--namespace=argocd")
            patch = '{"spec":{"syncPolicy":{"automated":null}}}'
        else:
            at = ("kustomization", f"prod.us.{NAMESPACE}", "--namespace=flux-system")
            patch = '{"spec":{"suspend":true}}'
        cluster.kubectl("patch", *at, "--type=merge", "-p", patch)
        data = look("--unit", f"{NAMESPACE}/cart", code=1)
        assert self.engine(data)[f"{NAMESPACE}/cart"]["state"] == "suspended"

    @pytest.mark.parametrize("shop", ["eu"], ids=["argocd"], indirect=True)  # Flux has no such word
    def test_one_that_says_itself_that_something_differs(self, cluster, shop, look):
        status = {"status": {"sync": {"status": "OutOfSync"}}}
        at = ("argoproj.io/v1alpha1", "Application", "argocd", f"prod.eu.{NAMESPACE}")
        cluster.api.patch(*at, status)
        assert {e["why"] for e in self.engine(look(code=1)).values()} == {"OutOfSync"}

    def test_one_that_fails(self, cluster, shop, look):
        if shop[0] == "eu":
            at = ("argoproj.io/v1alpha1", "Application", "argocd", f"prod.eu.{NAMESPACE}")
            broken = {"type": "ComparisonError", "message": "no such path"}
            cluster.api.patch(*at, {"status": {"conditions": [broken]}})
        else:
            at = ("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "flux-system")
            failed = {
                **READY,
                "status": "False",
                "reason": "BuildFailed",
                "message": "no such path",
            }
            status = {"status": {"conditions": [failed]}}
            cluster.api.patch(*at, f"prod.us.{NAMESPACE}", status, sub="status")
        states = self.engine(look(code=1)).values()
        assert {e["state"] for e in states} == {"stuck"}
        assert all("no such path" in e["why"] for e in states)

    def test_one_that_is_not_there_is_not_content(self, cluster, shop, look):
        kind, where = ENGINE[shop[0]]
        cluster.kubectl("delete", kind, f"prod.{shop[0]}.{NAMESPACE}", f"--namespace={where}")
        data = look(code=4)
        assert "has no" in data["places"][0]["unseen"][0]["why"]


class TestAdmission:
    """What admission does to the engine's own requests, on a server that has some."""

    @pytest.fixture(autouse=True)
    def mutating(self, cluster, shop):
        """A policy that adds a label to every Deployment that is applied."""
        version = admission_version(cluster)
        if version is None:
            how = "Kubernetes 1.34 has them; KUBEBUILDER_ASSETS may name an older one"
            missing("mutating policies", how, "GATI_REQUIRE_ENGINES")
        name = f"drift-{shop[0]}"
        meta = {"name": name}
        cluster.api.apply({**policy(), "apiVersion": version, "metadata": meta})
        binding = {"kind": "MutatingAdmissionPolicyBinding", "spec": {"policyName": name}}
        cluster.api.apply({**binding, "apiVersion": version, "metadata": meta})
        yield
        for kind in ("MutatingAdmissionPolicyBinding", "MutatingAdmissionPolicy"):
            cluster.api.delete(version, kind, "", name)

    def test_what_it_adds_is_its_own(self, cluster, shop, restored, look):
        engine = "argocd-controller" if shop[0] == "eu" else "kustomize-controller"
        item = named(restored, "Deployment", "handler-cart-v2")

        def added():
            cluster.api.delete("apps/v1", "Deployment", NAMESPACE, "handler-cart-v2")
            found = cluster.api.apply(item, manager=engine)
            return "added-by-policy" in found["metadata"].get("labels", {})

        until("the policy is in force", added, within=30, every=0.5)
        assert objects(look(code=0)) == {}


def admission_version(cluster):
    found = cluster.kubectl(
        "api-resources", "--api-group=admissionregistration.k8s.io", "-o", "wide"
    )
    lines = [line.split() for line in found.splitlines() if "MutatingAdmissionPolicy " in line]
    return next((word for line in lines for word in line if "/v1" in word), None)


def policy():
    """Adds a label to Deployments as they come in."""
    rule = {
        "apiGroups": ["apps"],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["deployments"],
    }
    labels = 'Object{metadata: Object.metadata{labels: {"added-by-policy": "yes"}}}'
    return {
        "kind": "MutatingAdmissionPolicy",
        "spec": {
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "matchConstraints": {"resourceRules": [rule]},
            "mutations": [
                {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": labels}}
            ],
        },
    }


@pytest.mark.parametrize("provider", ["istio", "traefik", "ingress-nginx"])
def test_what_was_applied_is_no_drift_whatever_the_gateway(cluster, tmp_path, capsys, provider):
    cluster.install_crds(
        "networking.istio.io_VirtualService", "traefik.io_*Route", "traefik.io_T*Service"
    )
    routing = {"provider": provider, "hosts": ["shop.example"]}
    if provider == "istio":
        routing["istio"] = {"gateways": ["istio-system/shared"]}
    name = f"drift-{provider.replace('-', '')}"
    world = published(tmp_path, name, routing=routing)
    content(cluster, world.tree())
    sync(cluster, world.tree())
    arguments = ["drift", "--repo", str(world.output), "--cluster", "eu"]
    assert run([*arguments, "--kubeconfig", str(cluster.kubeconfig)]) == 0, capsys.readouterr()


@pytest.mark.parametrize("few", [20, 0], ids=["by name", "by list"])
def test_where_nothing_was_ever_applied_all_of_it_is_missing(
    cluster, tmp_path, capsys, monkeypatch, few
):
    monkeypatch.setattr("gati_gitops.reconcile.drift.look.FEW", few)
    world = published(tmp_path, "drift-nothing")
    content(cluster, world.tree())
    arguments = ["drift", "--repo", str(world.output), "--cluster", "eu", "--format", "json"]
    assert run([*arguments, "--kubeconfig", str(cluster.kubeconfig)]) == 1
    found = objects(json.loads(capsys.readouterr().out))
    assert {item["what"] for item in found.values()} == {"missing"}
    assert {"Deployment handler-cart-v1", "HTTPRoute handler-cart"} <= found.keys()


class TestUnseen:
    """What may not be looked at is never taken for no drift."""

    def test_a_cluster_that_may_not_be_read(self, cluster, shop, look, capsys):
        account = cluster.account("nobody")
        data = look("--kubeconfig", str(account.kubeconfig), code=4)
        assert not data["drifted"] and not data["complete"]
        assert "403" in data["places"][0]["unseen"][0]["why"]

    def test_a_part_that_may_not_be_read(self, cluster, shop, look):
        everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]}
        but = [
            {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list"]},
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]},
        ]
        assert look("--kubeconfig", str(cluster.account("some", but).kubeconfig), code=4)
        assert look("--kubeconfig", str(cluster.account("all", [everything]).kubeconfig), code=0)

    def test_a_server_that_is_not_there(self, world, capsys, tmp_path):
        config = tmp_path / "config"
        config.write_text(nowhere())
        arguments = ["drift", "--repo", str(world.output), "--cluster", "eu"]
        assert run([*arguments, "--kubeconfig", str(config)]) == 4
        said = capsys.readouterr()
        assert "not seen" in said.out

    def test_metrics_that_can_t_be_asked(self, cluster, tmp_path, capsys):
        metrics = {"url": "http://127.0.0.1:9"}
        clusters = {"eu": {"sync": {}, "metrics": metrics}}
        world = published(tmp_path, "drift-unmeasured", clusters=clusters)
        content(cluster, world.tree())
        sync(cluster, world.tree())
        arguments = ["drift", "--repo", str(world.output), "--kubeconfig", str(cluster.kubeconfig)]
        assert run(arguments) == 4
        assert "not seen" in capsys.readouterr().out
        assert run([*arguments, "--no-traffic"]) == 0


class TestRecording:
    def test_a_recording_says_the_same_again(self, cluster, restored, look, tmp_path):
        kubectl(cluster, "set", "image", "deployment/handler-cart-v2", "handler=evil:1")
        recording = tmp_path / "seen.jsonl"
        first = look("--record", str(recording), code=1)
        again = look("--replay", str(recording), code=1)
        assert again == first
        assert recording.stat().st_mode & 0o077 == 0

    def test_another_file_is_none(self, look, world, tmp_path, capsys):
        other = tmp_path / "other.jsonl"
        other.write_text('{"kind": "something else"}\n')
        assert (
            run(["drift", "--repo", str(world.output), "--cluster", "eu", "--replay", str(other)])
            == 2
        )


def kubectl(cluster, *arguments):
    return cluster.kubectl("--namespace", NAMESPACE, *arguments)


def nowhere() -> str:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "x",
            "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
            "clusters": [{"name": "x", "cluster": {"server": "http://127.0.0.1:9"}}],
            "users": [{"name": "x", "user": {}}],
        }
    )
