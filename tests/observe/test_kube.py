"""The client of the Kubernetes API on bad days: refusals, cut lines, lists that expire."""

import threading
import time

import pytest

from gati_gitops.observe.kube import (
    Kube,
    KubeConflict,
    KubeError,
    KubeUnanswered,
    KubeUnserved,
    Patience,
    Timeouts,
)
from gati_gitops.observe.kube_http import Http
from tests.observe.kube_api import Harm, KubeApi, Reply, once, status


def config_map(number: int, namespace: str = "shop") -> dict:
    head = {"name": f"c{number}", "namespace": namespace, "labels": {"of": "test"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": head}


@pytest.fixture
def api():
    server = KubeApi(config_map(n) for n in range(7))
    yield server
    server.end()


@pytest.fixture
def kube(api, tmp_path):
    client = api.kube(tmp_path, page=2)
    yield client
    client.close()


def names(items) -> list[str]:
    return [item["metadata"]["name"] for item in items]


def is_list(request) -> bool:
    return request.is_list


ALL = [f"c{n}" for n in range(7)]


class TestLists:
    def test_all_pages_are_read(self, api, kube):
        assert names(kube.list("v1", "ConfigMap")) == ALL
        assert len(api.lists()) == 4
        assert [r.query.get("limit") for r in api.requests if r.is_list] == ["2"] * 4

    def test_no_list_asks_for_an_old_state(self, api, kube):
        kube.list("v1", "ConfigMap", labels="of=test")
        assert all("resourceVersion" not in request.query for request in api.requests)

    def test_items_say_what_they_are(self, kube):
        assert {(i["apiVersion"], i["kind"]) for i in kube.list("v1", "ConfigMap")} == {
            ("v1", "ConfigMap")
        }

    def test_only_what_is_picked_is_kept(self, kube):
        assert kube.picked("v1", "ConfigMap", lambda item: item["metadata"]["name"]) == ALL

    def test_namespace_and_labels_are_asked_for(self, api, kube):
        api.objects += [config_map(9, "other")]
        assert names(kube.list("v1", "ConfigMap", "other", labels="of=test")) == ["c9"]
        assert kube.list("v1", "ConfigMap", labels="of=else") == []

    def test_a_state_that_expires_between_pages_is_read_again_whole(self, api, kube):
        def rule(request):
            if request.is_list and request.query.get("continue") and len(api.lists()) == 3:
                api.objects = [config_map(n) for n in range(3, 7)]
                return status(410, "too old", "Expired")
            return None

        api.rule = rule
        # nothing of the first state is in it
        assert names(kube.list("v1", "ConfigMap")) == ["c3", "c4", "c5", "c6"]

    def test_a_state_that_always_expires_is_read_in_one_piece(self, api, kube):
        api.rule = lambda r: (
            status(410, "too old", "Expired") if r.is_list and "continue" in r.query else None
        )
        assert names(kube.list("v1", "ConfigMap")) == ALL
        assert "limit" not in [r for r in api.requests if r.is_list][-1].query

    def test_the_inconsistent_token_that_comes_with_an_expiry_is_not_used(self, api, kube):
        bait = status(410, "too old", "Expired")
        bait.body["metadata"] = {"continue": "bait"}
        api.rule = once(bait, lambda r: "continue" in r.query)
        assert names(kube.list("v1", "ConfigMap")) == ALL
        assert all(r.query.get("continue") != "bait" for r in api.requests)

    def test_a_failure_on_the_last_page_is_no_shorter_list(self, api, kube):
        api.rule = lambda r: (
            status(500, "etcd is gone") if r.is_list and len(api.lists()) > 3 else None
        )
        with pytest.raises(KubeError, match="would not list configmaps in all namespaces: 500"):
            kube.list("v1", "ConfigMap")

    def test_an_answer_that_is_cut_is_no_shorter_list(self, api, kube):
        api.rule = lambda r: Harm.HALF if r.is_list and "continue" in r.query else None
        with pytest.raises(KubeError, match="could not list configmaps"):
            kube.list("v1", "ConfigMap")

    def test_an_answer_that_is_no_list_is_an_error(self, api, kube):
        api.rule = lambda r: Reply(200, {"kind": "Status"}) if r.is_list else None
        with pytest.raises(KubeError, match="it sent no list"):
            kube.list("v1", "ConfigMap")

    def test_a_page_that_comes_twice_is_an_error(self, api, kube):
        page = {"kind": "ConfigMapList", "metadata": {"continue": "x"}, "items": []}
        api.rule = lambda r: Reply(200, page) if r.is_list else None
        with pytest.raises(KubeError, match="the same page twice"):
            kube.list("v1", "ConfigMap")

    def test_a_login_page_is_an_error(self, api, kube):
        api.rule = lambda r: Reply(200, "<html>please log in</html>") if r.is_list else None
        with pytest.raises(KubeError, match="text/html instead of JSON") as caught:
            kube.list("v1", "ConfigMap")
        assert "login page" in caught.value.remedy

    def test_threads_share_a_client(self, api, kube):
        found = []
        threads = [
            threading.Thread(target=lambda: found.append(names(kube.list("v1", "ConfigMap"))))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [ALL] * 8


class TestKinds:
    def test_a_kind_that_is_not_installed_is_named(self, api, kube):
        del api.served["gateway.networking.k8s.io/v1", "HTTPRoute"]
        with pytest.raises(KubeUnserved, match="no kind HTTPRoute of gateway") as caught:
            kube.list("gateway.networking.k8s.io/v1", "HTTPRoute")
        assert "install the CRD" in caught.value.remedy

    def test_another_version_of_it_is_told(self, api, kube):
        with pytest.raises(KubeUnserved) as caught:
            kube.list("networking.istio.io/v1beta1", "VirtualService")
        assert "networking.istio.io/v1" in caught.value.remedy

    def test_what_is_uninstalled_later_is_no_empty_list(self, api, kube):
        assert kube.list("traefik.io/v1alpha1", "IngressRoute") == []
        del api.served["traefik.io/v1alpha1", "IngressRoute"]
        for _ in range(2):
            with pytest.raises(KubeUnserved, match="IngressRoute"):
                kube.list("traefik.io/v1alpha1", "IngressRoute")
        with pytest.raises(KubeUnserved, match="IngressRoute"):
            kube.get("traefik.io/v1alpha1", "IngressRoute", "one", "shop")

    def test_what_is_uninstalled_later_is_no_missing_object(self, api, kube):
        assert kube.get("traefik.io/v1alpha1", "IngressRoute", "one", "shop") is None
        del api.served["traefik.io/v1alpha1", "IngressRoute"]
        with pytest.raises(KubeUnserved, match="IngressRoute"):
            kube.get("traefik.io/v1alpha1", "IngressRoute", "one", "shop")

    def test_what_is_there_is_asked_for_once(self, api, kube):
        for _ in range(3):
            kube.list("v1", "ConfigMap")
        assert sum(request.path == "/api/v1" for request in api.requests) == 1

    def test_what_is_there_in_any_version_is_asked_for_once(self, api, kube):
        for _ in range(3):
            assert kube.served("traefik.io", "IngressRoute") is not None
        assert sum("traefik.io" in request.path for request in api.requests) == 2

    def test_what_is_installed_later_is_found(self, api, kube):
        del api.served["traefik.io/v1alpha1", "IngressRoute"]
        assert kube.served("traefik.io", "IngressRoute") is None
        api.served["traefik.io/v1alpha1", "IngressRoute"] = "ingressroutes"
        found = kube.served("traefik.io", "IngressRoute")
        assert found is not None and found.api_version == "traefik.io/v1alpha1"

    def test_discovery_that_fails_is_no_missing_kind(self, api, kube):
        api.rule = lambda r: status(503, "no") if r.path == "/apis/traefik.io" else None
        with pytest.raises(KubeError, match="503"):
            kube.served("traefik.io", "IngressRoute")


class TestRefusals:
    @pytest.mark.parametrize(
        "code, words, remedy",
        [
            (401, "Unauthorized", "renew the kubeconfig or the token"),
            (403, "configmaps is forbidden", '"resources": ["configmaps"], "verbs": ["list"]'),
            (429, "slow down", "the next pass asks again"),
            (500, "boom", "the next pass asks again"),
            (503, "no leader", "the next pass asks again"),
        ],
    )
    def test_each_says_what_would_help(self, api, kube, code, words, remedy):
        kube.list("v1", "ConfigMap")  # what is there is known
        api.rule = lambda _: status(code, words)
        with pytest.raises(KubeError) as caught:
            kube.list("v1", "ConfigMap", "shop")
        assert caught.value.status == code
        assert f"list configmaps in the namespace shop: {code} {words}" in caught.value.message
        assert remedy in caught.value.remedy

    def test_the_rule_that_lacks_is_for_the_namespace(self, api, kube):
        api.rule = lambda r: status(403, "no") if "/namespaces/shop/" in r.path else None
        with pytest.raises(KubeError) as caught:
            kube.get("v1", "ConfigMap", "c1", "shop")
        assert caught.value.remedy.startswith("add this rule to a Role in the namespace shop")
        assert '"resourceNames": ["c1"]' in caught.value.remedy

    def test_none_is_only_what_does_not_exist(self, api, kube):
        assert kube.get("v1", "ConfigMap", "nobody", "shop") is None
        api.rule = lambda r: status(403, "no") if r.path.endswith("nobody") else None
        with pytest.raises(KubeError, match="403"):
            kube.get("v1", "ConfigMap", "nobody", "shop")

    def test_what_the_server_says_is_cleaned(self, api, kube):
        api.rule = lambda _: status(403, "no \x1b[31m ghp_" + "a" * 36)
        with pytest.raises(KubeError) as caught:
            kube.list("v1", "ConfigMap")
        assert "\x1b" not in caught.value.message and "ghp_" not in caught.value.message

    def test_the_token_is_in_no_message(self, api, kube):
        api.rule = lambda _: Harm.CUT
        with pytest.raises(KubeError) as caught:
            kube.list("v1", "ConfigMap")
        assert api.token not in f"{caught.value} {caught.value.remedy} {caught.value!r}"


class TestPatience:
    @pytest.mark.parametrize("harm", [Harm.CUT, Harm.HALF, status(500, "x"), status(503, "x")])
    def test_a_read_is_repeated(self, api, kube, harm):
        api.rule = once(harm, is_list)
        assert names(kube.list("v1", "ConfigMap")) == ALL

    def test_too_many_requests_are_waited_for(self, api, kube):
        busy = Reply(429, {"kind": "Status", "message": "busy"}, {"Retry-After": "7"})
        api.rule = once(busy, is_list)
        assert names(kube.list("v1", "ConfigMap")) == ALL
        assert api.waits == [7.0]

    def test_a_server_that_asks_for_too_much_patience_is_an_error(self, api, kube):
        api.rule = lambda _: Reply(429, {"message": "busy"}, {"Retry-After": "3600"})
        with pytest.raises(KubeError, match="429"):
            kube.list("v1", "ConfigMap")
        assert api.waits == []

    def test_waits_grow(self, api, kube):
        api.rule = lambda _: status(503, "no leader")
        with pytest.raises(KubeError, match="503"):
            kube.list("v1", "ConfigMap")
        assert len(api.waits) == 2
        assert 0.5 <= api.waits[0] <= 1 <= api.waits[1] <= 2

    def test_a_create_that_may_have_been_done_is_not_repeated(self, api, kube):
        api.rule = once(Harm.LATE_CUT, lambda r: r.method == "POST")
        with pytest.raises(KubeUnanswered, match="whether it was done is not known"):
            kube.create(config_map(99))
        assert sum(r.method == "POST" for r in api.requests) == 1
        assert kube.get("v1", "ConfigMap", "c99", "shop") is not None

    def test_a_create_that_was_refused_for_haste_is_repeated(self, api, kube):
        api.rule = once(Reply(429, {}, {"Retry-After": "0"}), lambda r: r.method == "POST")
        kube.create(config_map(99))
        assert sum(r.method == "POST" for r in api.requests) == 2

    def test_an_apply_is_repeated(self, api, kube):
        api.rule = once(Harm.LATE_CUT, lambda r: r.method == "PATCH")
        kube.apply({**config_map(1), "data": {"a": "b"}})
        assert sum(r.method == "PATCH" for r in api.requests) == 2

    def test_a_stall_ends(self, api, tmp_path):
        api.rule = lambda _: Harm.STALL
        kube = api.kube(tmp_path, read=0.2)
        began = time.monotonic()
        with pytest.raises(KubeError, match="could not get"):
            kube.list("v1", "ConfigMap")
        assert time.monotonic() - began < 8
        kube.close()

    def test_time_that_was_spent_counts(self, api, tmp_path):
        api.rule = lambda _: Harm.STALL
        http = Http(
            api.access(tmp_path),
            timeouts=Timeouts(connect=2, read=0.4, answer=5),
            patience=Patience(attempts=50, seconds=3),
            pause=api.waits.append,
        )
        with pytest.raises(KubeError):
            Kube(http=http).list("v1", "ConfigMap")
        assert len(api.requests) < 5
        http.close()

    def test_a_drip_ends(self, api, tmp_path):
        kube = api.kube(tmp_path, answer=0.3)
        api.rule = lambda r: Harm.DRIP if r.is_list else None
        began = time.monotonic()
        with pytest.raises(KubeError, match="does not end"):
            kube.list("v1", "ConfigMap")
        assert time.monotonic() - began < 8
        kube.close()

    def test_nobody_there_is_an_error(self, api, tmp_path):
        kube = api.kube(tmp_path)
        api.end()
        with pytest.raises(KubeError, match="could not get API resources") as caught:
            kube.list("v1", "ConfigMap")
        assert "can it be reached" in caught.value.remedy
        kube.close()


class TestWriting:
    def test_what_exists_is_a_conflict(self, kube):
        with pytest.raises(KubeConflict, match="already exists"):
            kube.create(config_map(1))

    def test_writes_are_strict_and_named(self, api, kube):
        kube.apply({**config_map(1), "data": {}}, manager="somebody", force=True, dry_run=True)
        sent = api.requests[-1]
        assert sent.headers["content-type"] == "application/apply-patch+yaml"
        assert sent.query == {
            "fieldManager": "somebody", "force": "true", "fieldValidation": "Strict", "dryRun": "All",
        }  # fmt: skip

    def test_status_is_a_part(self, api, kube):
        kube.patch_status("v1", "ConfigMap", "c1", "shop", {"phase": "Fine"})
        assert api.requests[-1].path == "/api/v1/namespaces/shop/configmaps/c1/status"
        assert api.requests[-1].body == {"status": {"phase": "Fine"}}

    def test_delete_says_whether_there_was_something(self, kube):
        assert kube.delete("v1", "ConfigMap", "c1", "shop") is True
        assert kube.delete("v1", "ConfigMap", "c1", "shop") is False

    def test_names_are_quoted(self, api, kube):
        kube.get("v1", "ConfigMap", "../../x?y", "shop")
        assert api.requests[-1].raw == "/api/v1/namespaces/shop/configmaps/..%2F..%2Fx%3Fy"

    def test_a_client_that_asks_nothing_needs_no_access(self, tmp_path):
        Kube().close()
