"""One look: units as they are, and what is not known said of exactly those that it is about."""

import copy

import pytest

from gati_gitops.decide.observation import EngineState, Gap, LiveRoute, Missing
from tests.compile.kit import handler
from tests.observe.kube_api import KubeApi, status
from tests.observe.world import DB, NOW, USERS, World, files, look, pod, seen

V1, V2 = "handler-users-v1", "handler-users-v2"


@pytest.fixture
def api():
    server = KubeApi()
    yield server
    server.end()


@pytest.fixture
def world():
    return World()


def test_a_healthy_unit(world, api, tmp_path):
    live = seen(look(world, api, tmp_path))
    assert live.at == NOW
    assert set(live.workloads) == {V1, V2}
    one = live.workloads[V1]
    assert (one.desired, one.ready, one.settled, one.stalled) == (2, 2, True, "")
    assert (one.endpoints, one.ready_endpoints, len(one.pods)) == (2, 2, 2)
    assert one.image == "ghcr.io/acme/users:v1"
    assert all(p.ready and not p.terminating and p.restarts == 0 for p in one.pods)
    assert one.pods[0].created == one.pods[0].restarted > 0
    assert isinstance(live.route, LiveRoute)
    assert live.route.weights == {V1: 90, V2: 10}
    assert live.route.pins == {"v1", "v2"}
    assert live.route.current and not live.route.why and not live.route.break_glass
    assert live.references == {V1: (), V2: ()}
    assert live.frozen == ""
    assert live.engine.state is EngineState.SYNCED and live.engine.revision == "c0ffee"


def test_a_module_has_its_one_service_for_a_route(world, api, tmp_path):
    live = seen(look(world, api, tmp_path), DB)
    assert isinstance(live.route, LiveRoute)
    assert list(live.route.weights.values()) == [100]
    assert live.references == dict.fromkeys(live.workloads, ())
    world.find("Service", "module-db")["spec"]["selector"] = {"app": "mine"}
    odd = seen(look(world, api, tmp_path), DB).route
    assert isinstance(odd, Missing) and odd.gap is Gap.AMBIGUOUS


def test_what_is_not_there_is_not_there(world, api, tmp_path):
    world.objects = [
        item
        for item in world.objects
        if V2 not in item["metadata"]["name"] and item["kind"] != "HTTPRoute"
    ]
    live = seen(look(world, api, tmp_path))
    assert set(live.workloads) == {V1}
    assert live.route is None


def test_pages_do_not_matter(world, api, tmp_path):
    assert look(world, api, tmp_path, page=1) == look(world, api, tmp_path, page=500)


def test_requests_do_not_grow_with_units(api, tmp_path):
    counts = []
    for number in (1, 12):
        more = [handler(f"unit{n}", namespace=f"ns{n}") for n in range(number)]
        api.requests.clear()
        found = look(World(files("gateway-api", *more)), api, tmp_path)
        assert len(found) == number + 2
        counts.append(sorted(api.lists()))
        assert len(api.requests) < 50  # what the cluster serves is asked for, too
    assert counts[0] == counts[1]


class TestWorkloads:
    def test_a_change_that_its_controller_has_not_seen(self, world, api, tmp_path):
        world.find("Deployment", V2)["metadata"]["generation"] = 2
        assert not seen(look(world, api, tmp_path)).workloads[V2].settled

    @pytest.mark.parametrize(
        "told", [{"updatedReplicas": 1}, {"replicas": 3}, {"updatedReplicas": 3, "replicas": 3}]
    )
    def test_pods_of_two_revisions(self, world, api, tmp_path, told):
        world.find("Deployment", V2)["status"] |= told
        assert not seen(look(world, api, tmp_path)).workloads[V2].settled

    def test_no_progress(self, world, api, tmp_path):
        world.find("Deployment", V2)["status"]["conditions"] = [
            {
                "type": "Progressing",
                "status": "False",
                "reason": "ProgressDeadlineExceeded",
                "message": "has timed out",
            }
        ]
        found = seen(look(world, api, tmp_path)).workloads[V2]
        assert found.stalled == "ProgressDeadlineExceeded: has timed out"

    def test_an_old_complaint_of_another_generation_is_none(self, world, api, tmp_path):
        item = world.find("Deployment", V2)
        item["status"]["conditions"] = [
            {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}
        ]
        item["metadata"]["generation"] = 2
        assert not seen(look(world, api, tmp_path)).workloads[V2].stalled

    def test_what_the_server_leaves_out_is_nothing(self, world, api, tmp_path):
        item = world.find("Deployment", V2)
        item["spec"]["replicas"] = 0
        item["status"] = {"observedGeneration": 1}
        found = seen(look(world, api, tmp_path)).workloads[V2]
        assert (found.desired, found.ready, found.settled) == (0, 0, True)

    def test_a_deployment_without_a_status_is_not_settled(self, world, api, tmp_path):
        del world.find("Deployment", V2)["status"]
        assert not seen(look(world, api, tmp_path)).workloads[V2].settled

    @pytest.mark.parametrize(
        "state, waiting",
        [
            ({"waiting": {"reason": "CrashLoopBackOff"}}, "CrashLoopBackOff"),
            ({"waiting": {"reason": "ImagePullBackOff"}}, "ImagePullBackOff"),
            ({"waiting": {"reason": "ContainerCreating"}}, ""),
            ({"terminated": {"exitCode": 1}}, ""),
        ],
    )
    def test_why_a_container_does_not_run(self, world, api, tmp_path, state, waiting):
        world.pods(V2)[0]["status"]["containerStatuses"][0]["state"] = state
        assert seen(look(world, api, tmp_path)).workloads[V2].pods[0].waiting == waiting

    def test_an_init_container_may_be_the_one_that_waits(self, world, api, tmp_path):
        world.pods(V2)[0]["status"]["initContainerStatuses"] = [
            {"name": "init", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
        ]
        assert seen(look(world, api, tmp_path)).workloads[V2].pods[0].waiting == "CrashLoopBackOff"

    def test_a_pod_that_no_node_takes(self, world, api, tmp_path):
        world.pods(V2)[0]["status"] = {
            "phase": "Pending",
            "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}],
        }
        found = seen(look(world, api, tmp_path)).workloads[V2].pods[0]
        assert (found.ready, found.waiting) == (False, "Unschedulable")

    def test_when_it_last_began(self, world, api, tmp_path):
        one = world.pods(V2)[0]["status"]["containerStatuses"][0]
        one |= {"restartCount": 3, "state": {"running": {"startedAt": "2026-11-02T00:00:00Z"}}}
        found = seen(look(world, api, tmp_path)).workloads[V2].pods[0]
        assert found.restarts == 3
        assert found.restarted == found.created + 86400
        one["state"] = {"waiting": {"reason": "CrashLoopBackOff"}}
        one["lastState"] = {"terminated": {"finishedAt": "2026-11-03T00:00:00Z"}}
        found = seen(look(world, api, tmp_path)).workloads[V2].pods[0]
        assert found.restarted == found.created + 2 * 86400

    def test_a_container_beside_ours_that_begins_again_counts_nothing(self, world, api, tmp_path):
        ours = world.pods(V2)[0]["status"]["containerStatuses"]
        ours.append({"name": "istio-proxy", "ready": True, "restartCount": 1,
                     "state": {"running": {"startedAt": "2026-11-02T00:00:00Z"}}})  # fmt: skip
        found = seen(look(world, api, tmp_path)).workloads[V2].pods[0]
        assert found.restarted == found.created + 86400
        assert not found.counts_since
        ours[0] |= {"restartCount": 1, "state": {"running": {"startedAt": "2026-11-03T00:00:00Z"}}}
        found = seen(look(world, api, tmp_path)).workloads[V2].pods[0]
        assert found.counts_since == found.created + 2 * 86400

    def test_pods_that_ended_for_good_are_none(self, world, api, tmp_path):
        world.pods(V2)[0]["status"] = {"phase": "Failed", "reason": "Evicted"}
        assert len(seen(look(world, api, tmp_path)).workloads[V2].pods) == 1

    def test_pods_of_another_deployment_with_its_labels_count(self, world, api, tmp_path):
        labels = world.pods(V2)[0]["metadata"]["labels"]
        world.add(pod("copy-of-v2", "shop", labels))
        assert len(seen(look(world, api, tmp_path)).workloads[V2].pods) == 3

    def test_units_of_the_same_name_elsewhere_do_not_mix(self, api, tmp_path):
        world = World(
            files("gateway-api", handler(namespace="other", handlerPath="/other", weight=100))
        )
        found = look(world, api, tmp_path)
        assert len(seen(found, ("other", "handler-users")).workloads[V1].pods) == 2
        assert len(seen(found).workloads[V1].pods) == 2


class TestEndpoints:
    def test_each_pod_counts_once_whatever_its_addresses(self, world, api, tmp_path):
        (one,) = world.slices(V1)
        other = copy.deepcopy(one)
        other["metadata"]["name"] = "six"
        for number, endpoint in enumerate(other["endpoints"]):
            endpoint["addresses"] = [f"fd00::{number}"]
        world.objects.append(other)
        found = seen(look(world, api, tmp_path)).workloads[V1]
        assert (found.endpoints, found.ready_endpoints) == (2, 2)

    @pytest.mark.parametrize(
        "conditions, counts",
        [
            ({"ready": False, "serving": True, "terminating": True}, (2, 1)),
            ({"ready": False, "serving": False, "terminating": True}, (2, 1)),
            ({"ready": False, "serving": False, "terminating": False}, (1, 1)),
            ({"ready": False}, (1, 1)),
            ({}, (2, 2)),
        ],
    )
    def test_what_counts(self, world, api, tmp_path, conditions, counts):
        (one,) = world.slices(V1)
        one["endpoints"][0]["conditions"] = conditions
        found = seen(look(world, api, tmp_path)).workloads[V1]
        assert (found.endpoints, found.ready_endpoints) == counts

    def test_a_slice_without_endpoints(self, world, api, tmp_path):
        (one,) = world.slices(V1)
        one["endpoints"] = None
        assert seen(look(world, api, tmp_path)).workloads[V1].endpoints == 0


class TestPeople:
    @pytest.mark.parametrize("kind, name", [("Deployment", V1), ("HTTPRoute", "handler-users")])
    def test_a_hold_on_a_live_object(self, world, api, tmp_path, kind, name):
        world.find(kind, name)["metadata"]["annotations"] = {"gati.dev/hold": "incident\n 42"}
        assert seen(look(world, api, tmp_path)).frozen == f"{kind} shop/{name}: incident 42"

    def test_a_hold_that_is_no_hold(self, world, api, tmp_path):
        world.find("Deployment", V1)["metadata"]["annotations"] = {"gati.dev/hold": "false"}
        assert seen(look(world, api, tmp_path)).frozen == ""

    def test_a_hold_without_a_reason(self, world, api, tmp_path):
        world.find("Deployment", V1)["metadata"]["annotations"] = {"gati.dev/hold": ""}
        assert "no reason given" in seen(look(world, api, tmp_path)).frozen

    def test_a_paused_deployment(self, world, api, tmp_path):
        world.find("Deployment", V1)["spec"]["paused"] = True
        assert seen(look(world, api, tmp_path)).frozen == f"Deployment shop/{V1} is paused"

    def test_broken_glass(self, world, api, tmp_path):
        world.find("HTTPRoute", "handler-users")["metadata"]["annotations"] = {
            "gati.dev/break-glass": "git is down"
        }
        assert seen(look(world, api, tmp_path)).route.break_glass == "git is down"


class TestOwners:
    def owned(self, world, *entries) -> None:
        fields = {"f:spec": {"f:replicas": {}}}
        world.find("Deployment", V1)["metadata"]["managedFields"] = [
            {"fieldsV1": fields, "operation": operation, "manager": manager, "time": time, **more}
            for manager, operation, time, more in entries
        ]

    @pytest.mark.parametrize(
        "entries, owner",
        [
            ([("argocd-controller", "Apply", "1", {})], ""),
            ([("argocd-controller", "Update", "1", {})], ""),
            ([("gati-gitops-handover", "Apply", "1", {})], "gati-gitops-handover"),
            (
                [
                    ("argocd-controller", "Apply", "1", {}),
                    ("kube-controller-manager", "Update", "2", {"subresource": "scale"}),
                ],
                "kube-controller-manager",
            ),
            ([("kubectl", "Update", "1", {"subresource": "scale"})], "kubectl"),
        ],
    )
    def test_who_holds_the_number_of_pods(self, world, api, tmp_path, entries, owner):
        self.owned(world, *entries)
        assert seen(look(world, api, tmp_path)).workloads[V1].replicas_owner == owner

    @pytest.mark.parametrize(
        "entries, owner",
        [
            ([("kubectl", "Apply", "1", {})], ""),
            ([("kubectl-client-side-apply", "Update", "1", {})], ""),
            (
                [("kubectl", "Apply", "2", {}), ("gati-gitops-handover", "Apply", "1", {})],
                "gati-gitops-handover",
            ),
            ([("kubectl", "Update", "1", {"subresource": "scale"})], "kubectl"),
        ],
    )
    def test_where_people_apply_by_hand(self, api, tmp_path, entries, owner):
        world = World(files(sync=False))
        self.owned(world, *entries)
        assert seen(look(world, api, tmp_path)).workloads[V1].replicas_owner == owner


class TestRights:
    def test_a_namespace_that_may_not_be_read_is_unknown_and_the_others_are_not(
        self, api, tmp_path
    ):
        world = World(files("gateway-api", handler("secret", namespace="vault", weight=100)))
        api.rule = lambda r: (
            status(403, "pods is forbidden")
            if r.path in ("/api/v1/pods", "/api/v1/namespaces/vault/pods")
            else None
        )
        found = look(world, api, tmp_path)
        unknown = found["vault", "handler-secret"]
        assert isinstance(unknown, Missing) and unknown.gap is Gap.ERROR
        assert "list pods in the namespace vault: 403" in unknown.why
        assert '"resources": ["pods"], "verbs": ["list"]' in unknown.why
        assert len(seen(found).workloads[V1].pods) == 2

    def test_routes_of_own_namespaces_alone_leave_references_unknown(self, world, api, tmp_path):
        api.rule = lambda r: (
            status(403, "httproutes is forbidden") if r.path.endswith("/v1/httproutes") else None
        )
        live = seen(look(world, api, tmp_path))
        assert live.route.weights == {V1: 90, V2: 10}
        assert isinstance(live.references, Missing)
        assert "httproutes.gateway.networking.k8s.io in all namespaces: 403" in live.references.why

    def test_events_are_no_condition(self, world, api, tmp_path):
        world.find("Deployment", V2)["status"]["readyReplicas"] = 0
        api.rule = lambda r: status(403, "no") if r.path.endswith("/events") else None
        assert seen(look(world, api, tmp_path)).workloads[V2].warnings == ()


class TestWarnings:
    def event(self, kind: str, name: str, words: str, at: str) -> dict:
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{name}-{at}", "namespace": "shop"},
            "involvedObject": {"kind": kind, "namespace": "shop", "name": name},
            "type": "Warning",
            "reason": "Unhealthy",
            "message": words,
            "lastTimestamp": at,
        }

    def test_the_last_of_a_version_that_lacks_pods(self, world, api, tmp_path):
        world.find("Deployment", V2)["status"]["readyReplicas"] = 0
        probe = "Readiness probe failed: 500"
        world.objects += [
            self.event("Pod", f"{V2}-5d4f-0", probe, "2026-11-05T00:00:01Z"),
            self.event("Pod", f"{V2}-5d4f-1", probe, "2026-11-05T00:00:02Z"),
            self.event("ReplicaSet", f"{V2}-5d4f", "quota", "2026-11-05T00:00:03Z"),
            self.event("Pod", f"{V1}-5d4f-0", "not asked for", "2026-11-05T00:00:04Z"),
        ]
        live = seen(look(world, api, tmp_path))
        assert live.workloads[V2].warnings == ("Unhealthy: quota", f"Unhealthy: {probe}")
        assert live.workloads[V1].warnings == ()
        asked = [r for r in api.requests if r.path == "/api/v1/events"]
        assert [r.query["fieldSelector"] for r in asked] == ["type=Warning"]

    def test_nobody_asks_while_all_are_ready(self, world, api, tmp_path):
        look(world, api, tmp_path)
        assert not [r for r in api.requests if r.path.endswith("/events")]

    def test_a_controller_that_can_make_no_pods(self, world, api, tmp_path):
        world.find("Deployment", V2)["status"]["conditions"].append(
            {
                "type": "ReplicaFailure",
                "status": "True",
                "reason": "FailedCreate",
                "message": "quota",
            }
        )
        found = seen(look(world, api, tmp_path)).workloads[V2]
        assert found.warnings == ("FailedCreate: quota",)
        assert found.stalled == ""


def test_nothing_wanted_asks_nothing(api, tmp_path):
    world = World()
    world.units = {}
    assert look(world, api, tmp_path) == {}
    assert not api.requests


def test_no_engine_is_said(api, tmp_path):
    world = World(files(sync=False))
    engine = seen(look(world, api, tmp_path), USERS).engine
    assert isinstance(engine, Missing) and engine.gap is Gap.UNSUPPORTED
