"""The same on a real API server and its controllers: what we rely on is so."""

import time
from collections.abc import Callable, Sequence

import pytest
import yaml

from gati_gitops.decide.observation import Engine, EngineState, Gap, LiveRoute, Missing
from gati_gitops.emit.engines.target import Target
from gati_gitops.ledger.handover import HOLDER
from gati_gitops.observe.cluster import Cluster
from gati_gitops.observe.cluster_handover import hand_over
from gati_gitops.observe.engines import Engines
from gati_gitops.observe.kube import Access, Kube, KubeConflict, KubeError, KubeUnserved
from gati_gitops.observe.live_revisions import _same
from gati_gitops.observe.live_workloads import deployment
from gati_gitops.observe.references import KINDS
from gati_gitops.observe.wanted import Wanted
from gati_gitops.spec.sync import ClusterSync, Sync
from tests.compile.kit import handler, version
from tests.docs.blocks import ROOT, blocks
from tests.observe.world import REPOSITORY, World, files

HELD = {"apiVersion": "v1", "kind": "ConfigMap"}


@pytest.fixture
def opened():
    """Clients that are closed again."""
    found: list[Kube] = []

    def client(kubeconfig, **options) -> Kube:
        found.append(Kube(Access(str(kubeconfig)), **options))
        return found[-1]

    yield client
    for kube in found:
        kube.close()


@pytest.fixture
def kube(control_plane, opened):
    return opened(control_plane.kubeconfig)


def until(what: Callable[[], object], seconds: float = 120, why: Sequence[object] = ()) -> object:
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, f"it did not come about: {why}"
        time.sleep(0.1)
    return found


def config_map(namespace: str, name: str, **data: str) -> dict:
    return {**HELD, "metadata": {"name": name, "namespace": namespace}, "data": data}


class TestKube:
    def test_pages(self, control_plane, opened):
        control_plane.namespace("paged")
        kube = opened(control_plane.kubeconfig, page=2)
        for number in range(7):
            kube.create(config_map("paged", f"c{number}"))
        found = [item["metadata"]["name"] for item in kube.list("v1", "ConfigMap", "paged")]
        assert [name for name in found if name.startswith("c")] == [f"c{n}" for n in range(7)]
        everywhere = kube.list("v1", "ConfigMap")
        assert len(everywhere) > 7
        assert all(item["kind"] == "ConfigMap" for item in everywhere)

    def test_rights_that_lack(self, control_plane, opened):
        control_plane.namespace("walled")
        account = control_plane.account("reader", rules=[])
        kube = opened(account.kubeconfig)
        with pytest.raises(KubeError) as caught:
            kube.list("apps/v1", "Deployment")
        assert caught.value.status == 403
        assert caught.value.remedy == (
            "add this rule to a ClusterRole that is bound to whom the job runs as:"
            ' {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["list"]}'
        )
        with pytest.raises(KubeError, match=r"patch deployments\.apps walled/x: 403"):
            kube.patch("apps/v1", "Deployment", "x", "walled", {})

    def test_the_rule_that_is_asked_for_is_the_one_that_lacks(self, control_plane, opened):
        import json

        kube = opened(control_plane.account("asker", rules=[]).kubeconfig)
        with pytest.raises(KubeError) as caught:
            kube.list("discovery.k8s.io/v1", "EndpointSlice")
        rule = json.loads(caught.value.remedy.partition(": ")[2])
        kube = opened(control_plane.account("asker", rules=[rule]).kubeconfig)
        assert until(lambda: _may(kube, "discovery.k8s.io/v1", "EndpointSlice"))

    def test_wrong_credentials(self, control_plane, opened):
        kube = opened(control_plane.config("nobody", "not-the-token"))
        with pytest.raises(KubeError, match="401 Unauthorized"):
            kube.list("v1", "Pod")

    def test_kinds_that_are_not_installed(self, kube):
        with pytest.raises(KubeUnserved, match=r"no kind Widget of example\.com/v1"):
            kube.list("example.com/v1", "Widget")
        with pytest.raises(KubeUnserved, match="no kind Widget of v1"):
            kube.get("v1", "Widget", "x", "default")
        assert kube.served("example.com", "Widget") is None

    def test_another_version_is_told(self, kube):
        with pytest.raises(KubeUnserved) as caught:
            kube.list("apps/v1beta1", "Deployment")
        assert "the cluster has it as apps/v1" in caught.value.remedy

    def test_writing(self, control_plane, kube):
        control_plane.namespace("written")
        made = kube.create(config_map("written", "one", a="1"))
        with pytest.raises(KubeConflict, match="already exists"):
            kube.create(config_map("written", "one"))
        kube.replace({**made, "data": {"a": "2"}})
        with pytest.raises(KubeConflict, match="modified"):
            kube.replace({**made, "data": {"a": "3"}})
        kube.patch("v1", "ConfigMap", "one", "written", {"data": {"b": "1"}})
        assert kube.get("v1", "ConfigMap", "one", "written")["data"] == {"a": "2", "b": "1"}
        with pytest.raises(KubeConflict):
            kube.delete("v1", "ConfigMap", "one", "written", uid="another")
        assert kube.delete("v1", "ConfigMap", "one", "written", uid=made["metadata"]["uid"])
        assert kube.get("v1", "ConfigMap", "one", "written") is None
        assert not kube.delete("v1", "ConfigMap", "one", "written")

    def test_a_dry_run_writes_nothing(self, control_plane, kube):
        control_plane.namespace("dry")
        kube.create(config_map("dry", "one"), dry_run=True)
        kube.apply(config_map("dry", "two"), dry_run=True)
        assert kube.get("v1", "ConfigMap", "one", "dry") is None
        assert kube.get("v1", "ConfigMap", "two", "dry") is None

    def test_a_field_that_nobody_knows_is_refused(self, control_plane, kube):
        control_plane.namespace("strict")
        with pytest.raises(KubeError, match='unknown field "dta"') as caught:
            kube.create({**config_map("strict", "one"), "dta": {}})
        assert caught.value.status == 400

    def test_apply_owns_fields(self, control_plane, kube):
        control_plane.namespace("owned")
        kube.apply(config_map("owned", "one", a="1"), manager="first")
        with pytest.raises(KubeConflict, match='conflict with "first"'):
            kube.apply(config_map("owned", "one", a="2"), manager="second")
        kube.apply(config_map("owned", "one", a="2"), manager="second", force=True)
        assert kube.get("v1", "ConfigMap", "one", "owned")["data"] == {"a": "2"}

    def test_status(self, control_plane, kube):
        control_plane.namespace("status")
        kube.create(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "one", "namespace": "status"},
                "spec": {"containers": [{"name": "a", "image": "b"}]},
            }
        )
        kube.patch_status("v1", "Pod", "one", "status", {"message": "hello"})
        assert kube.get("v1", "Pod", "one", "status")["status"]["message"] == "hello"


def _may(kube: Kube, api_version: str, kind: str) -> bool:
    try:
        kube.list(api_version, kind)
    except KubeError as error:
        if error.status != 403:
            raise
        return False
    return True


class TestHandOver:
    """The number of pods goes from Git to nobody in particular, and stays."""

    @pytest.fixture
    def synced(self, control_plane, kube):
        control_plane.namespace("handed")
        world = World(files())
        (item,) = [
            one
            for one in world.objects
            if one["kind"] == "Deployment" and one["metadata"]["name"] == "handler-users-v1"
        ]
        clean = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {
                "name": "users",
                "namespace": "handed",
                "labels": item["metadata"]["labels"],
            },
            "spec": {**item["spec"], "replicas": 3},
        }
        kube.delete("apps/v1", "Deployment", "users", "handed")
        kube.apply(clean, manager="argocd-controller", force=True)
        return clean

    def live(self, kube) -> dict:
        return kube.get("apps/v1", "Deployment", "users", "handed")

    def without_replicas(self, item: dict) -> dict:
        spec = {key: value for key, value in item["spec"].items() if key != "replicas"}
        return {**item, "spec": spec}

    def test_without_it_pods_are_lost(self, kube, synced):
        kube.apply(self.without_replicas(synced), manager="argocd-controller", force=True)
        assert self.live(kube)["spec"]["replicas"] == 1

    def test_with_it_they_stay(self, kube, synced):
        assert deployment(self.live(kube), "argocd").owner == ""
        assert hand_over(kube, "handed", "users") == 3
        assert deployment(self.live(kube), "argocd").owner == HOLDER
        kube.apply(self.without_replicas(synced), manager="argocd-controller", force=True)
        assert self.live(kube)["spec"]["replicas"] == 3

    def test_a_scaler_takes_it_from_there(self, kube, synced):
        hand_over(kube, "handed", "users")
        kube.apply(self.without_replicas(synced), manager="argocd-controller", force=True)
        kube.patch(
            "apps/v1", "Deployment", "users", "handed", {"spec": {"replicas": 7}},
            part="scale", manager="kube-controller-manager",
        )  # fmt: skip
        kube.apply(self.without_replicas(synced), manager="argocd-controller", force=True)
        live = self.live(kube)
        assert live["spec"]["replicas"] == 7
        assert deployment(live, "argocd").owner == "kube-controller-manager"

    def test_twice_is_once(self, kube, synced):
        assert hand_over(kube, "handed", "users") == hand_over(kube, "handed", "users") == 3

    def test_what_is_not_there_is_told(self, kube, synced):
        with pytest.raises(KubeError, match="no Deployment handed/nobody to hand over"):
            hand_over(kube, "handed", "nobody")
        assert kube.get("apps/v1", "Deployment", "nobody", "handed") is None


NAMESPACE = "looked-at"
KEY = (NAMESPACE, "handler-users")
V1, V2 = "handler-users-v1", "handler-users-v2"


@pytest.fixture(scope="module")
def world(control_plane):
    def there(text: str) -> str:
        return text.replace('"shop"', f'"{NAMESPACE}"')

    specs = {
        "gati.yaml": files(sync=False)["gati.yaml"],
        "users.yaml": there(handler(weight=90)),
        "v2.yaml": there(version("users", "v2", 10, image="ghcr.io/acme/users:v2")),
    }
    control_plane.install_crds("gateway.networking.k8s.io_*")
    control_plane.namespace(NAMESPACE)
    world = World(specs)
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "looked-at-node"}}
    control_plane.api.apply(node)  # without its node a pod is no endpoint
    for item in world._synced():
        control_plane.api.apply(item, manager="argocd-controller")
    yield world
    control_plane.api.delete("v1", "Node", "", "looked-at-node")


class TestLook:
    """A compiled project, applied to a real server, and looked at."""

    def look(self, kube, world):
        found = Cluster(kube).look(Wanted("east", world.units))
        assert not isinstance(found, Missing), found
        return found[KEY]

    def run_pods(self, control_plane, deployment: str) -> None:
        """What a kubelet does: pods get a node, an address and are ready."""
        api = control_plane.api
        pods = [
            pod
            for pod in api.items("v1", "Pod", NAMESPACE)
            if pod["metadata"]["name"].startswith(f"{deployment}-")
        ]
        assert pods
        for number, pod in enumerate(pods, 1):
            name = pod["metadata"]["name"]
            if not pod["spec"].get("nodeName"):
                api.request(
                    "POST",
                    f"/api/v1/namespaces/{NAMESPACE}/pods/{name}/binding",
                    {
                        "apiVersion": "v1",
                        "kind": "Binding",
                        "metadata": {"name": name},
                        "target": {"apiVersion": "v1", "kind": "Node", "name": "looked-at-node"},
                    },
                )
            status = {
                "phase": "Running",
                "podIP": f"10.244.7.{number}",
                "podIPs": [{"ip": f"10.244.7.{number}"}],
                "conditions": [{"type": "Ready", "status": "True"}],
                "containerStatuses": [
                    {
                        "name": "handler",
                        "image": "x",
                        "imageID": "x",
                        "ready": True,
                        "restartCount": 0,
                        "state": {"running": {"startedAt": "2026-11-01T00:00:00Z"}},
                    }
                ],
            }
            api.patch("v1", "Pod", NAMESPACE, name, {"status": status}, sub="status")

    def test_from_nothing_to_ready(self, control_plane, kube, world):
        until(lambda: len(self.look(kube, world).workloads[V1].pods) == 2)
        before = self.look(kube, world)
        assert not before.workloads[V1].ready
        assert before.workloads[V1].ready_endpoints == 0
        assert isinstance(before.route, LiveRoute)
        assert before.route.weights == {V1: 90, V2: 10}
        assert before.route.pins == {"v1", "v2"}
        assert not before.route.current and "has not taken it" in before.route.why
        assert before.references == {V1: (), V2: ()}
        self.run_pods(control_plane, V1)
        until(lambda: self.look(kube, world).workloads[V1].ready_endpoints == 2)
        until(lambda: self.look(kube, world).workloads[V1].ready == 2)
        after = self.look(kube, world).workloads[V1]
        assert after.settled and all(pod.ready for pod in after.pods)
        assert self.look(kube, world).workloads[V2].ready_endpoints == 0

    def test_what_kubernetes_complains_of(self, control_plane, kube, world):
        """Of a version that lacks pods; v2 has none that is ready."""
        about = {"kind": "Deployment", "namespace": NAMESPACE, "name": V2}
        for type, words in (("Warning", "no luck"), ("Normal", "all is well")):
            kube.create(
                {
                    "apiVersion": "v1",
                    "kind": "Event",
                    "metadata": {"name": f"{V2}.{type.lower()}", "namespace": NAMESPACE},
                    "involvedObject": about,
                    "type": type,
                    "reason": "Trying",
                    "message": words,
                    "lastTimestamp": "2026-11-01T00:00:00Z",
                }
            )
        assert "Trying: no luck" in self.look(kube, world).workloads[V2].warnings
        assert "Trying: all is well" not in self.look(kube, world).workloads[V2].warnings

    def test_what_was_applied_is_the_revision_that_git_has(self, kube, world):
        items = [one for one in world._synced() if one["kind"] == "Deployment"]
        assert len(items) == 2
        for item in items:
            live = kube.get("apps/v1", "Deployment", item["metadata"]["name"], NAMESPACE)
            assert _same(item, live, "argocd")
            item["spec"]["template"]["spec"]["containers"][0]["env"][0]["value"] += "x"
            assert not _same(item, live, "argocd")

    def test_a_gateway_takes_it(self, control_plane, kube, world):
        item = control_plane.api.get(
            "gateway.networking.k8s.io/v1", "HTTPRoute", NAMESPACE, "handler-users"
        )
        generation = item["metadata"]["generation"]

        def accept(seen: int) -> None:
            conditions = [
                {
                    "type": name,
                    "status": "True",
                    "reason": name,
                    "message": "",
                    "observedGeneration": seen,
                    "lastTransitionTime": "2026-11-01T00:00:00Z",
                }
                for name in ("Accepted", "ResolvedRefs")
            ]
            parent = {
                "parentRef": item["spec"]["parentRefs"][0],
                "controllerName": "example.com/gateway",
                "conditions": conditions,
            }
            kube.patch_status(
                "gateway.networking.k8s.io/v1", "HTTPRoute", "handler-users", NAMESPACE,
                {"parents": [parent]},
            )  # fmt: skip

        accept(generation)
        assert self.look(kube, world).route.current
        accept(generation - 1)
        assert not self.look(kube, world).route.current

    def test_others_that_name_it(self, control_plane, kube, world):
        control_plane.namespace("elsewhere")
        backend = {"name": V1, "namespace": NAMESPACE, "port": 3000}
        control_plane.api.apply(
            {
                "apiVersion": "gateway.networking.k8s.io/v1",
                "kind": "HTTPRoute",
                "metadata": {"name": "theirs", "namespace": "elsewhere"},
                "spec": {"rules": [{"backendRefs": [backend]}]},
            }
        )
        control_plane.api.apply(
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "alias", "namespace": "elsewhere"},
                "spec": {
                    "type": "ExternalName",
                    "externalName": f"{V2}.{NAMESPACE}.svc.cluster.local",
                },
            }
        )
        assert self.look(kube, world).references == {
            V1: ("HTTPRoute elsewhere/theirs",),
            V2: ("Service elsewhere/alias",),
        }

    def test_with_the_rights_that_the_documents_ask_for(self, control_plane, opened, world):
        """The roles of docs/cluster-access.md are enough, the engine's objects included."""
        # all that the look knows, or nobody sees that a right for one of them is missing
        known = {f"{group}_{kind}" for group, kind in KINDS if group != "networking.k8s.io"}
        control_plane.install_crds("argoproj.io_App*", *known)
        control_plane.namespace("argocd")
        application = {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Application",
            "metadata": {
                "name": f"prod.east.{NAMESPACE}",
                "namespace": "argocd",
                "labels": {"gati.dev/cluster": "east", "gati.dev/environment": "prod"},
            },
            "spec": {
                "project": "prod.east.units",
                "source": {
                    "repoURL": REPOSITORY,
                    "targetRevision": "main",
                    "path": f"overlays/prod/east/{NAMESPACE}",
                },
                "destination": {"server": "https://kubernetes.default.svc"},
                "syncPolicy": {"automated": {"prune": True}},
            },
            "status": {"sync": {"status": "Synced", "revision": "c0ffee"}},
        }
        control_plane.api.apply(application)
        roles = [
            item
            for block in blocks(ROOT / "docs/cluster-access.md")
            if block.language == "yaml" and "rbac.authorization.k8s.io" in block.body
            for item in yaml.safe_load_all(block.body)
        ]
        assert [role["kind"] for role in roles] == ["ClusterRole", "Role"]
        account = control_plane.account("watcher", rules=roles[0]["rules"])
        subject = {"kind": "ServiceAccount", "name": "watcher", "namespace": "default"}
        head = {"name": roles[1]["metadata"]["name"], "namespace": "argocd"}
        control_plane.api.apply(roles[1])
        control_plane.api.apply(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "RoleBinding",
                "metadata": head,
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "Role",
                    "name": head["name"],
                },
                "subjects": [subject],
            }
        )
        kube = opened(account.kubeconfig)
        engines = Engines(_target(), world.units, kube)

        lacks: list[object] = []  # Rights take a moment until they hold.

        def complete() -> bool:
            found = Cluster(kube, engines).look(Wanted("east", world.units))
            parts = (
                (found,)
                if isinstance(found, Missing)
                else (found[KEY].references, found[KEY].engine)
            )
            lacks[:] = [part for part in parts if isinstance(part, Missing)]
            return not lacks

        until(complete, why=lacks)
        live = Cluster(kube, engines).look(Wanted("east", world.units))[KEY]
        assert live.route.weights == {V1: 90, V2: 10}
        assert live.engine == Engine(EngineState.SYNCED, "", "c0ffee")

    def test_with_the_rights_of_one_namespace(self, control_plane, opened, world):
        """A Role in its own namespace is enough to see, and not to say that nobody else names it."""
        account = control_plane.account("local", rules=[], namespace=NAMESPACE)
        control_plane.kubectl("apply", "-f", "-", stdin=_ROLE.format(namespace=NAMESPACE))
        kube = opened(account.kubeconfig)
        until(lambda: not isinstance(self.look(kube, world), Missing))
        live = self.look(kube, world)
        assert live.workloads[V1].desired == 2
        assert live.route.weights == {V1: 90, V2: 10}
        assert isinstance(live.references, Missing) and live.references.gap is Gap.ERROR


def _target() -> Target:
    sync = Sync.model_validate({"repository": REPOSITORY})
    return Target("shop", "prod", "east", ".", sync, ClusterSync())


_ROLE = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: local, namespace: {namespace}}}
rules: [{{apiGroups: ["*"], resources: ["*"], verbs: [list]}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: local, namespace: {namespace}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: local}}
subjects: [{{kind: ServiceAccount, name: local, namespace: {namespace}}}]
"""
