"""What is drift and what is not, field by field: a table, and every field of every kind we write."""

import copy

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gati_gitops.decide.drift.fields import field_drift
from gati_gitops.preview.model import Op
from tests.drift.kit import applied, compiled, get, leaves, objects, put, taken_over, written

PROVIDERS = ("gateway-api", "istio", "traefik")


def shop_objects():
    return [item for provider in PROVIDERS for item in objects(compiled(provider))]


@pytest.fixture(scope="module")
def items():
    return shop_objects()


def pick(kind, version=""):
    return copy.deepcopy(
        next(
            i
            for i in objects(compiled())
            if i["kind"] == kind and i["metadata"]["name"].endswith(version)
        )
    )


def paths(found):
    return [drift.shown for drift in found]


@pytest.mark.parametrize("engine", ["argocd", "flux"])
def test_what_was_just_applied_has_not_drifted(items, engine):
    for item in items:
        assert field_drift(item, applied(item, engine), engine) == ()


def test_without_managed_fields_only_what_git_states_counts(items):
    for item in items:
        live = applied(item)
        del live["metadata"]["managedFields"]
        live.setdefault("spec", {})["somethingOfTheServers"] = {"a": 1}
        live["status"] = {"replicas": 4}
        assert field_drift(item, live, "argocd") == ()


class TestEveryField:
    """Whatever Git states and the cluster has otherwise is found, and told with its path."""

    @given(st.data())
    def test_a_value_that_somebody_changed_is_found(self, data):
        items = shop_objects()
        item = data.draw(st.sampled_from(items))
        body = {k: v for k, v in item.items() if k not in ("apiVersion", "kind")}
        identity = (("metadata", "name"), ("metadata", "namespace"))
        spots = [path for path in leaves(body) if path not in identity]
        path = data.draw(st.sampled_from(spots))
        live = applied(copy.deepcopy(item))
        taken_over(live, path)
        put(live, path, changed(get(live, path)))
        assert field_drift(item, live, "argocd"), path

    @given(st.data())
    def test_a_field_that_somebody_took_away_is_found(self, data):
        item = data.draw(st.sampled_from(shop_objects()))
        live = applied(copy.deepcopy(item))
        assume("spec" in item)
        holders = [path for path in containers(item["spec"]) if get(item["spec"], path)]
        path = data.draw(st.sampled_from(holders))
        holder = get(live["spec"], path)
        key = data.draw(st.sampled_from(sorted(holder))) if isinstance(holder, dict) else 0
        gone = holder[key]
        assume(gone not in (None, [], {}) or str(key).endswith("elector") or key == "emptyDir")
        del holder[key]
        assert field_drift(item, live, "argocd"), (path, key)

    @given(st.data())
    def test_what_controllers_add_is_theirs(self, data):
        item = data.draw(st.sampled_from(shop_objects()))
        live = applied(copy.deepcopy(item))
        spots = [("spec",), *((("spec", *p)) for p in mappings(item.get("spec", {})))]
        assume("spec" in live)
        path = data.draw(st.sampled_from(spots))
        new = data.draw(st.sampled_from([1, "x", {"a": {"b": 1}}, ["x"], True]))
        get(live, path)["addedByAController"] = new
        live["metadata"].setdefault("annotations", {})["mesh.example/injected"] = "yes"
        owned = {"metadata": {"annotations": {"mesh.example/injected": "yes"}}}
        written(live, owned, "istio-operator")
        live["status"] = {"whatever": [1]}
        assert field_drift(item, live, "argocd") == ()


def changed(value):
    """Something else of the same type, that means something else."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return f"{value}-other" if value else "other"


def containers(value, path=()):
    if isinstance(value, (dict, list)):
        yield path
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in entries:
            yield from containers(inner, (*path, key))


def mappings(value, path=()):
    """Paths of mappings, not below a list: what is in a list of ours is compared as a whole."""
    if isinstance(value, dict):
        if path:
            yield path
        for key, inner in value.items():
            yield from mappings(inner, (*path, key))


class TestQuantities:
    @pytest.mark.parametrize(
        "git,live,same",
        [
            ("100m", "0.1", True),
            ("1", "1000m", True),
            ("1Gi", "1024Mi", True),
            ("1Gi", "1G", False),
            ("128Mi", "134217728", True),
            ("1", 1, True),
        ],
    )
    def test_amounts_are_compared_by_value(self, git, live, same):
        item = pick("Deployment", "cart-v2")
        there = applied(item)
        for side, value in ((item, git), (there, live)):
            side["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["memory"] = (
                value
            )
        assert (field_drift(item, there, "argocd") == ()) is same

    def test_a_variable_that_looks_like_an_amount_is_a_text(self):
        item = pick("Deployment", "cart-v2")
        item["spec"]["template"]["spec"]["containers"][0]["env"][0]["value"] = "1"
        live = applied(item)
        live["spec"]["template"]["spec"]["containers"][0]["env"][0]["value"] = "1.0"
        assert len(field_drift(item, live, "argocd")) == 1

    @pytest.mark.parametrize("git,live,same", [("60s", "1m0s", True), ("1m", "61s", False)])
    def test_durations_are_compared_by_value(self, git, live, same):
        item = {
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "PodMonitor",
            "metadata": {"name": "a", "namespace": "b"},
            "spec": {"podMetricsEndpoints": [{"port": "http", "interval": git}]},
        }
        there = copy.deepcopy(item)
        there["spec"]["podMetricsEndpoints"][0]["interval"] = live
        assert (field_drift(item, there, "argocd") == ()) is same


class TestReplicas:
    def scaled_to(self, number, manager, subresource="scale"):
        item = pick("Deployment", "cart-v2")
        live = applied(item)
        live["spec"]["replicas"] = number
        del live["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:replicas"]
        return item, written(live, {"spec": {"replicas": number}}, manager, subresource=subresource)

    def test_a_person_who_scales_is_found(self):
        found = field_drift(*self.scaled_to(7, "kubectl"), "argocd")
        assert [(d.shown, d.git, d.live, d.who[0].manager) for d in found] == [
            ("spec.replicas", 2, 7, "kubectl")
        ]

    def test_an_autoscaler_is_not(self):
        assert field_drift(*self.scaled_to(7, "kube-controller-manager"), "argocd") == ()
        assert field_drift(*self.scaled_to(0, "keda"), "argocd") == ()

    def test_where_git_has_a_scaler_nobody_is(self):
        assert field_drift(*self.scaled_to(7, "kubectl"), "argocd", scaled=True) == ()

    def test_a_controller_that_writes_the_whole_object_is(self):
        item, live = self.scaled_to(7, "some-operator", subresource="")
        assert paths(field_drift(item, live, "argocd")) == ["spec.replicas"]


class TestAdded:
    """What Git does not state is judged by who wrote it."""

    def with_env(self, manager, operation="Update"):
        item = pick("Deployment", "cart-v2")
        live = applied(item)
        new = {"name": "DEBUG", "value": "1"}
        live["spec"]["template"]["spec"]["containers"][0]["env"].append(new)
        owned = {
            "spec": {"template": {"spec": {"containers": [{"name": "handler", "env": [new]}]}}}
        }
        return item, written(live, owned, manager, operation)

    @pytest.mark.parametrize(
        "manager", ["kubectl-edit", "kubectl", "k9s", "node-fetch", "OpenLens"]
    )
    def test_by_a_person_it_is_drift(self, manager):
        (found,) = field_drift(*self.with_env(manager), "argocd")
        assert found.op is Op.ADD and not found.left_over
        assert found.shown == "spec.template.spec.containers[name=handler].env[name=DEBUG]"
        assert found.live == {"name": "DEBUG", "value": "1"}

    @pytest.mark.parametrize(
        "manager,operation",
        [
            ("istiod", "Update"),
            ("vault-injector", "Apply"),
            ("kubectlish", "Update"),
            ("argocd-controller", "Update"),  # what admission adds to the engine's own request
        ],
    )
    def test_by_anything_else_it_is_theirs(self, manager, operation):
        assert field_drift(*self.with_env(manager, operation), "argocd") == ()

    def test_by_the_engine_it_is_left_over(self):
        item, live = self.with_env("argocd-controller", "Apply")
        (found,) = field_drift(item, live, "argocd")
        assert found.left_over
        # under another engine the same manager is anybody
        assert field_drift(item, live, "flux") == ()

    def test_a_second_container_of_a_mesh_is_theirs(self):
        item = pick("Deployment", "cart-v2")
        live = applied(item)
        pod = live["spec"]["template"]["spec"]
        pod["containers"].insert(0, {"name": "istio-proxy", "image": "istio"})
        pod["initContainers"] = [{"name": "istio-init", "image": "istio"}]
        pod["volumes"].append({"name": "istio-envoy", "emptyDir": {}})
        live["spec"]["template"]["metadata"]["annotations"]["sidecar.istio.io/status"] = "{}"
        owned = {"spec": {"template": {"spec": {"containers": [pod["containers"][0]]}}}}
        written(live, owned, "istio-sidecar-injector")
        assert field_drift(item, live, "argocd") == ()

    def test_a_restart_is_no_drift(self):
        item = pick("Deployment", "cart-v2")
        live = applied(item)
        note = {"kubectl.kubernetes.io/restartedAt": "2026-05-04T10:11:12Z"}
        live["spec"]["template"]["metadata"]["annotations"] |= note
        owned = {"spec": {"template": {"metadata": {"annotations": note}}}}
        assert field_drift(item, written(live, owned, "kubectl-rollout"), "argocd") == ()

    def test_argo_cds_label_of_its_own_is_its_own(self):
        item = pick("Deployment", "cart-v2")
        live = applied(item)
        live["metadata"]["labels"]["app.kubernetes.io/instance"] = "prod.eu.shop"
        assert field_drift(item, live, "argocd") == ()
        live = applied(item, "flux")
        live["metadata"]["labels"]["app.kubernetes.io/instance"] = "prod.eu.shop"
        assert len(field_drift(item, live, "flux")) == 1


class TestLists:
    def test_a_rule_that_a_person_added_to_a_route_is_found(self):
        item = pick("HTTPRoute", "cart")
        live = applied(item)
        live["spec"]["rules"].append({"name": "mine", "backendRefs": [{"name": "evil", "port": 1}]})
        assert paths(field_drift(item, live, "argocd")) == ["spec.rules[name=mine]"]

    def test_so_is_what_was_put_into_one(self):
        item = pick("HTTPRoute", "cart")
        live = applied(item)
        live["spec"]["rules"][-1]["timeouts"] = {"request": "5s"}
        assert field_drift(item, live, "argocd") == ()  # nobody but the engine was there: a default
        written(live, {"spec": {"rules": live["spec"]["rules"]}}, "kubectl-edit")
        assert paths(field_drift(item, live, "argocd")) == ["spec.rules[name=split].timeouts"]

    def test_rules_in_another_order_are_found(self):
        item = pick("HTTPRoute", "cart")
        live = applied(item)
        live["spec"]["rules"].reverse()
        (found,) = field_drift(item, live, "argocd")
        assert found.op is Op.ORDER

    def test_containers_in_another_order_are_not(self):
        item = pick("Deployment", "cart-v2")
        item["spec"]["template"]["spec"]["containers"].append({"name": "b", "image": "b"})
        live = applied(item)
        live["spec"]["template"]["spec"]["containers"].reverse()
        assert field_drift(item, live, "argocd") == ()

    def test_an_argument_more_is_found(self):
        item = pick("Deployment", "cart-v2")
        item["spec"]["template"]["spec"]["containers"][0]["args"] = ["--a"]
        live = applied(item)
        live["spec"]["template"]["spec"]["containers"][0]["args"].append("--b")
        assert paths(field_drift(item, live, "argocd")) == [
            "spec.template.spec.containers[name=handler].args[1]"
        ]


class TestNothing:
    @pytest.mark.parametrize("value", [None, [], {}, {"a": []}, {"a": {"b": None}}])
    def test_what_servers_drop_says_nothing(self, value):
        item = pick("Service", "cart-v2")
        live = applied(item)
        item["spec"]["externalIPs"] = value
        assert field_drift(item, live, "argocd") == ()

    def test_an_empty_selector_says_everything(self):
        item = pick("NetworkPolicy", "cart")
        live = applied(item)
        item["spec"]["podSelector"] = {}
        live["spec"].pop("podSelector")
        assert paths(field_drift(item, live, "argocd")) == ["spec.podSelector"]

    def test_string_data_of_secrets_is_what_the_server_makes_of_it(self):
        item = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "a", "namespace": "b"},
            "stringData": {"k": "value"},
        }
        live = copy.deepcopy(item)
        del live["stringData"]
        live["data"] = {"k": "dmFsdWU="}
        assert field_drift(item, live, "argocd") == ()
        live["data"] = {"k": "b3RoZXI="}
        assert paths(field_drift(item, live, "argocd")) == ["data.k"]
