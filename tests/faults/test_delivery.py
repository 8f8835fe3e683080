"""Faults between Git and the cluster, as they are seen: each by its number in the list of faults.

What is decided on them is in test_delivery_decisions.py; here is what the look at a cluster makes of them,
and that nothing which could not be seen is ever taken for nothing.
"""

import pytest

from gati_gitops.decide.around import Around
from gati_gitops.decide.clocks import UnitClock
from gati_gitops.decide.decide import decide
from gati_gitops.decide.observation import EngineState, Gap, LiveRoute, Missing, Observation
from gati_gitops.decide.rules import rules_from
from gati_gitops.decide.verdict import Decision, Verdict
from gati_gitops.errors import Refused
from gati_gitops.observe.cluster import Cluster
from gati_gitops.observe.wanted import Wanted
from gati_gitops.publish.changes import change_set
from gati_gitops.publish.guards import PROTECTED, Input, guard
from gati_gitops.render import MemoryFiles, render
from gati_gitops.spec.publishing import DeletionBudget
from gati_gitops.tree import MemorySnapshot
from tests.compile.kit import canary, compiled, handler, objects, tree_of
from tests.observe.kube_api import Harm, KubeApi, Reply, once, status
from tests.observe.world import NOW, USERS, World, engines, files, look, seen

V1, V2 = "handler-users-v1", "handler-users-v2"
UNMEASURED = Missing(Gap.NO_DATA, "nothing is measured here")


@pytest.fixture
def api():
    server = KubeApi()
    yield server
    server.end()


@pytest.fixture
def world():
    return World()


def decided(world: World, live) -> Decision:
    """What comes of a look, with no metrics at all."""
    rules = rules_from(world.output.settings("prod"), "prod")
    found = Observation(live, UNMEASURED)
    return decide(rules, world.units[USERS], found, UnitClock(), NOW, Around())[0]


def never_acts(world: World, found) -> None:
    """Whatever is missing, all of it or one unit, nothing is decided."""
    missing = found if isinstance(found, Missing) else found[USERS]
    assert isinstance(missing, Missing) and missing.gap is Gap.ERROR, missing
    decision = decided(world, missing)
    assert decision.move is None and decision.verdict is Verdict.ERROR
    assert missing.why.partition(";")[0] in decision.reason


def differs_from_the_ledger(decision: Decision) -> None:
    """The route is told as it is, and nothing moves."""
    assert decision.move is None and decision.verdict is Verdict.WAIT
    assert "the cluster does not show it yet" in decision.reason
    (route,) = [fact for fact in decision.facts if fact.name == "route"]
    assert route.ok is False and "the ledger handler-users-v1 90" in route.value


# -- K1: the API does not answer as it should ------------------------------------------------------


@pytest.mark.parametrize(
    "harm",
    [
        status(401, "Unauthorized"),
        status(429, "too many requests"),
        status(500, "etcdserver: request timed out"),
        status(503, "apiserver is shutting down"),
        Reply(200, "<html>log in</html>"),
        Reply(200, {"kind": "PodList"}),
        Harm.CUT,
        Harm.HALF,
        Harm.STALL,
    ],
    ids=lambda harm: str(getattr(harm, "status", harm)),
)
@pytest.mark.parametrize("plural", ["pods", "deployments", "endpointslices"])
def test_K01_an_api_that_fails_is_no_empty_cluster(world, api, tmp_path, harm, plural):
    api.rule = lambda r: harm if r.path.endswith(f"/{plural}") else None
    api.objects = world.objects
    kube = api.kube(tmp_path, read=0.3)
    found = Cluster(kube, clock=lambda: NOW).look(Wanted("east", world.units))
    kube.close()
    assert isinstance(found, Missing)
    never_acts(world, found)


def test_K01_a_failure_that_passes_is_not_seen(world, api, tmp_path):
    busy = Reply(429, {"message": "busy"}, {"Retry-After": "2"})
    api.rule = once(busy, lambda r: r.path.endswith("/pods"))
    assert len(seen(look(world, api, tmp_path)).workloads[V1].pods) == 2
    assert api.waits == [2.0]


def test_K01_a_403_in_one_namespace_is_not_no_pods_there(api, tmp_path):
    world = World(files("gateway-api", handler("other", namespace="open", weight=100)))
    closed = ("/api/v1/pods", "/api/v1/namespaces/shop/pods")
    api.rule = lambda r: status(403, "pods is forbidden") if r.path in closed else None
    found = look(world, api, tmp_path)
    never_acts(world, found)
    assert "list pods in the namespace shop: 403" in found[USERS].why
    assert len(seen(found, ("open", "handler-other")).workloads["handler-other-v1"].pods) == 2


def test_K01_a_namespace_that_fails_otherwise_stops_the_look(world, api, tmp_path):
    def rule(request):
        if request.path == "/api/v1/pods":
            return status(403, "pods is forbidden")
        return status(500, "boom") if request.path.endswith("/pods") else None

    api.rule = rule
    found = look(world, api, tmp_path)
    assert isinstance(found, Missing)  # the next namespace would not fare better
    never_acts(world, found)


# -- K2: lists that end too early ------------------------------------------------------------------


def test_K02_a_list_that_is_cut_off_is_read_to_its_end(world, api, tmp_path):
    assert seen(look(world, api, tmp_path, page=1)) == seen(look(world, api, tmp_path))


def test_K02_a_state_that_is_gone_is_read_again_whole(world, api, tmp_path):
    gone = status(410, "The provided continue parameter is too old", "Expired")
    api.rule = once(gone, lambda r: r.path.endswith("/pods") and "continue" in r.query, times=2)
    assert seen(look(world, api, tmp_path, page=1)) == seen(look(world, api, tmp_path))


def test_K02_half_a_list_is_none(world, api, tmp_path):
    def rule(request):
        late = request.path.endswith("/pods") and "continue" in request.query
        return status(500, "boom") if late else None

    api.rule = rule
    never_acts(world, look(world, api, tmp_path, page=1))


# -- K3: stale reads -------------------------------------------------------------------------------


def test_K03_nothing_is_read_from_a_cache_that_may_lag(world, api, tmp_path):
    look(world, api, tmp_path, page=1)
    assert api.lists()
    for request in api.requests:
        assert "resourceVersion" not in request.query
        assert "resourceVersionMatch" not in request.query
        assert "watch" not in request.query


def test_K03_a_look_is_as_old_as_its_first_request(world, api, tmp_path):
    api.objects = world.objects
    times = iter((NOW, NOW + 60))
    kube = api.kube(tmp_path)
    found = Cluster(kube, clock=lambda: next(times)).look(Wanted("east", world.units))
    kube.close()
    assert seen(found).at == NOW


# -- K4: kinds that are not installed --------------------------------------------------------------


@pytest.mark.parametrize(
    "provider, kind",
    [
        ("gateway-api", "HTTPRoute"),
        ("istio", "VirtualService"),
        ("traefik", "IngressRoute"),
        ("traefik", "TraefikService"),
    ],
)
def test_K04_a_route_of_an_unknown_kind_is_no_missing_route(api, tmp_path, provider, kind):
    world = World(files(provider))
    for version, name in list(api.served):
        if name == kind:
            del api.served[version, name]
    live = seen(look(world, api, tmp_path))
    assert isinstance(live.route, Missing) and live.route.gap is Gap.ERROR
    assert f"no kind {kind}" in live.route.why and "install the CRD" in live.route.why
    assert isinstance(live.references, Missing)
    assert decided(world, live).move is None


def test_K04_a_kind_in_another_version_is_told(world, api, tmp_path):
    del api.served["gateway.networking.k8s.io/v1", "HTTPRoute"]
    api.served["gateway.networking.k8s.io/v1beta1", "HTTPRoute"] = "httproutes"
    live = seen(look(world, api, tmp_path))
    assert isinstance(live.route, Missing)
    assert "the cluster has it as gateway.networking.k8s.io/v1beta1" in live.route.why


# -- K5, K6: what was committed, what was synced, what is there ------------------------------------


@pytest.mark.parametrize(
    "kind, name, change",
    [
        ("Application", "prod.east.shop", {"syncPolicy": {}}),
        ("Application", "prod.east.shop", {"syncPolicy": {"automated": {"enabled": False}}}),
        (
            "AppProject",
            "prod.east.units",
            {"syncWindows": [{"kind": "deny", "schedule": "* * * * *", "duration": "1h", "namespaces": ["*"]}]},
        ),
    ],
)  # fmt: skip
def test_K05_an_engine_that_is_stopped_is_seen(world, api, tmp_path, kind, name, change):
    world.find(kind, name)["spec"] |= change
    live = seen(look(world, api, tmp_path))
    assert live.engine.state is EngineState.SUSPENDED and live.engine.why


def test_K05_a_suspended_kustomization_is_seen(api, tmp_path):
    world = World(files(cluster={"sync": {"engine": "flux"}}))
    world.find("Kustomization", "prod.east.shop")["spec"]["suspend"] = True
    assert seen(look(world, api, tmp_path)).engine.state is EngineState.SUSPENDED


def test_K06_synced_is_not_believed(world, api, tmp_path):
    """The engine says Synced; the live route has other weights, and those are what is told."""
    backends = world.find("HTTPRoute", "handler-users")["spec"]["rules"][-1]["backendRefs"]
    backends[0]["weight"], backends[1]["weight"] = 100, 0
    live = seen(look(world, api, tmp_path))
    assert live.engine.state is EngineState.SYNCED
    assert live.route.weights == {V1: 100, V2: 0}
    differs_from_the_ledger(decided(world, live))


def test_K06_a_route_that_its_gateway_has_not_taken_is_not_shown(world, api, tmp_path):
    world.find("HTTPRoute", "handler-users")["metadata"]["generation"] = 2
    route = seen(look(world, api, tmp_path)).route
    assert not route.current and "has not looked at its last change" in route.why


# -- K7: self-heal against scalers -----------------------------------------------------------------


@pytest.mark.parametrize("engine", ["argocd", "flux"])
def test_K07_git_names_no_number_that_a_scaler_owns(engine):
    scaled = handler(autoscaling={"type": "hpa", "min": 2, "max": 9})
    specs = {**files(cluster={"sync": {"engine": engine}}), "users.yaml": scaled}
    del specs["v2.yaml"]
    tree = tree_of(specs)
    built = render(MemoryFiles(tree), "overlays/prod/east/shop/handler-users").objects()
    (deployment,) = [item for item in built if item["kind"] == "Deployment"]
    assert "replicas" not in deployment["spec"]
    assert [item["spec"]["minReplicas"] for item in built if "Autoscaler" in item["kind"]] == [2]


def test_K07_whoever_holds_the_number_is_known(world, api, tmp_path):
    world.find("Deployment", V1)["metadata"]["managedFields"] = [
        {
            "manager": "kube-controller-manager",
            "operation": "Update",
            "subresource": "scale",
            "fieldsV1": {"f:spec": {"f:replicas": {}}},
        }
    ]
    assert (
        seen(look(world, api, tmp_path)).workloads[V1].replicas_owner == "kube-controller-manager"
    )


# -- K8: people ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind, name", [("Deployment", V2), ("HTTPRoute", "handler-users")])
def test_K08_a_hold_on_a_live_object_stops_the_unit(world, api, tmp_path, kind, name):
    world.find(kind, name)["metadata"]["annotations"] = {"gati.dev/hold": "incident 42"}
    live = seen(look(world, api, tmp_path))
    assert "incident 42" in live.frozen
    decision = decided(world, live)
    assert decision.verdict is Verdict.HELD and "incident 42" in decision.reason


def test_K08_a_paused_deployment_stops_the_unit(world, api, tmp_path):
    world.find("Deployment", V2)["spec"]["paused"] = True
    assert decided(world, seen(look(world, api, tmp_path))).verdict is Verdict.HELD


def test_K08_a_route_that_a_person_made_something_else_of_is_not_guessed_at(world, api, tmp_path):
    rules = world.find("HTTPRoute", "handler-users")["spec"]["rules"]
    rules.append({**rules[-1]})
    live = seen(look(world, api, tmp_path))
    assert isinstance(live.route, Missing) and live.route.gap is Gap.AMBIGUOUS
    assert decided(world, live).move is None


# -- K9: others that name a version ----------------------------------------------------------------


def test_K09_routes_and_services_of_any_namespace_are_listed(world, api, tmp_path):
    backend = {"name": V1, "namespace": "shop", "port": 80}
    world.objects += [
        {
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "HTTPRoute",
            "metadata": {"name": "partner", "namespace": "far"},
            "spec": {"rules": [{"backendRefs": [backend]}]},
        },
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "Ingress",
            "metadata": {"name": "old", "namespace": "shop"},
            "spec": {"defaultBackend": {"service": {"name": V1}}},
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "alias", "namespace": "far"},
            "spec": {"type": "ExternalName", "externalName": f"{V1}.shop.svc.cluster.local"},
        },
    ]
    live = seen(look(world, api, tmp_path))
    assert live.references == {
        V1: ("HTTPRoute far/partner", "Ingress shop/old", "Service far/alias"),
        V2: (),
    }


@pytest.mark.parametrize("plural", ["httproutes", "services", "ingresses", "virtualservices"])
def test_K09_what_could_not_be_listed_is_not_nobody(world, api, tmp_path, plural):
    api.rule = lambda r: status(403, "forbidden") if r.path.endswith(f"/{plural}") else None
    live = seen(look(world, api, tmp_path))
    assert isinstance(live.references, Missing)
    assert f"list {plural}" in live.references.why


def test_K09_a_kind_that_was_installed_just_now_is_listed(world, api, tmp_path):
    kind = ("networking.istio.io/v1", "VirtualService")
    plural = api.served.pop(kind)
    api.objects = world.objects
    kube = api.kube(tmp_path)
    cluster = Cluster(kube, clock=lambda: NOW)
    wanted = Wanted("east", world.units)
    assert seen(cluster.look(wanted)).references == {V1: (), V2: ()}
    api.served[kind] = plural
    target = {"destination": {"host": f"{V1}.shop.svc.cluster.local"}}
    api.objects.append(
        {
            "apiVersion": kind[0],
            "kind": kind[1],
            "metadata": {"name": "mesh", "namespace": "far"},
            "spec": {"http": [{"route": [target]}]},
        }
    )
    assert seen(cluster.look(wanted)).references[V1] == ("VirtualService far/mesh",)
    kube.close()


# -- K11, K12: pods --------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["scaled to nothing", "not ready", "no endpoints"])
def test_K11_a_stable_version_that_could_not_take_the_traffic_is_seen(world, api, tmp_path, fault):
    item = world.find("Deployment", V1)
    (addresses,) = world.slices(V1)
    if fault == "scaled to nothing":
        item["spec"]["replicas"] = 0
        item["status"] = {"observedGeneration": 1}
        world.objects = [one for one in world.objects if one not in world.pods(V1)]
        addresses["endpoints"] = []
    elif fault == "not ready":
        item["status"]["readyReplicas"] = 0
        for one in world.pods(V1):
            one["status"]["conditions"][1]["status"] = "False"
        for endpoint in addresses["endpoints"]:
            endpoint["conditions"] = {"ready": False, "serving": False, "terminating": False}
    else:
        addresses["endpoints"] = None
    found = seen(look(world, api, tmp_path)).workloads[V1]
    assert found.ready_endpoints == 0
    assert found.ready == (2 if fault == "no endpoints" else 0)
    assert decided(world, seen(look(world, api, tmp_path))).move is None


def test_K12_a_pod_that_does_not_end_is_there(world, api, tmp_path):
    for one in world.pods(V2):
        one["metadata"] |= {"deletionTimestamp": "2026-11-01T00:00:00Z", "finalizers": ["x/y"]}
    (addresses,) = world.slices(V2)
    for endpoint in addresses["endpoints"]:
        endpoint["conditions"] = {"ready": False, "serving": True, "terminating": True}
    found = seen(look(world, api, tmp_path)).workloads[V2]
    assert len(found.pods) == 2 and all(pod.terminating for pod in found.pods)
    assert (found.endpoints, found.ready_endpoints) == (2, 0)


def test_K12_pods_outlive_their_deployment(world, api, tmp_path):
    world.objects.remove(world.find("Deployment", V2))
    for one in world.pods(V2):
        one["metadata"]["deletionTimestamp"] = "2026-11-01T00:00:00Z"
    found = seen(look(world, api, tmp_path)).workloads[V2]
    assert (found.desired, found.settled, len(found.pods)) == (0, False, 2)


def test_K12_a_pod_of_a_lost_node_is_there(world, api, tmp_path):
    for one in world.pods(V2):
        one["metadata"]["deletionTimestamp"] = "2026-11-01T00:00:00Z"
        one["status"] |= {"phase": "Running", "reason": "NodeLost"}
        one["status"]["conditions"][1]["status"] = "Unknown"
    found = seen(look(world, api, tmp_path)).workloads[V2]
    assert [(pod.ready, pod.terminating) for pod in found.pods] == [(False, True)] * 2


# -- K14: weights ----------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [(50, 50), (0, 0), (90, 20), (1, 0)])
def test_K14_other_weights_than_committed_are_told_as_they_are(world, api, tmp_path, weights):
    backends = world.find("HTTPRoute", "handler-users")["spec"]["rules"][-1]["backendRefs"]
    for backend, weight in zip(backends, weights, strict=True):
        backend["weight"] = weight
    live = seen(look(world, api, tmp_path))
    assert isinstance(live.route, LiveRoute)
    assert live.route.weights == dict(zip((V1, V2), weights, strict=True))
    differs_from_the_ledger(decided(world, live))


# -- K15, K16: what would vanish -------------------------------------------------------------------


def test_K15_no_unit_at_all_is_never_a_wish():
    with pytest.raises(Refused):
        guard([], {}, specs=Input("shop", wanted=0, stored=12))


def test_K15_more_than_the_budget_does_not_go():
    units = {f"u{n}.yaml": handler(f"u{n}") for n in range(12)}
    before = tree_of({"gati.yaml": canary(), **units})
    left = dict(list(units.items())[:2])
    after = compiled({"gati.yaml": canary(), **left}, before)
    changes = change_set("prod", MemorySnapshot(before), after.changes)
    with pytest.raises(Refused, match="10 units of prod would go") as caught:
        guard([changes], {"prod": DeletionBudget()})
    assert "--allow-removals" in caught.value.remedy


def test_K16_what_takes_other_things_with_it_is_pruned_by_no_engine():
    kinds = {kind for _, kind in PROTECTED}
    assert kinds == {"Namespace", "PersistentVolumeClaim", "Secret", "CustomResourceDefinition"}
    for engine in ("argocd", "flux"):
        specs = files(cluster={"sync": {"engine": engine}})
        tree = tree_of(specs)
        items = [
            item
            for path in tree
            if path.startswith("clusters/east/")
            for item in objects(tree, path)
            if item.get("kind") in ("Application", "Kustomization") and "metadata" in item
        ]
        guarded = 0
        for item in items:
            spec = item["spec"]
            folder = (spec.get("source") or spec)["path"].removeprefix("./")
            built = render(MemoryFiles(tree), folder).objects()
            if not kinds & {one["kind"] for one in built}:
                continue
            guarded += 1
            if engine == "flux":
                assert spec["prune"] is False
            else:
                assert "Prune=confirm" in spec["syncPolicy"]["syncOptions"]
        assert guarded, engine


# -- K18: several clusters -------------------------------------------------------------------------


def test_K18_a_cluster_that_is_out_of_reach_is_unknown_and_the_others_are_not(world, tmp_path):
    lost, there = KubeApi(world.objects), KubeApi(world.objects)
    looks = []
    for name, server in (("lost", lost), ("there", there)):
        (tmp_path / name).mkdir()
        kube = server.kube(tmp_path / name)
        if server is lost:
            lost.end()
        cluster = Cluster(kube, engines(world, kube), clock=lambda: NOW)
        looks.append(cluster.look(Wanted("east", world.units)))
        kube.close()
    there.end()
    assert isinstance(looks[0], Missing) and "could not" in looks[0].why
    never_acts(world, looks[0])
    assert seen(looks[1]).route.weights == {V1: 90, V2: 10}
