"""Live routes of all providers: read back what we write, and refuse to guess at what we do not."""

import copy

import pytest
from hypothesis import given

from gati_gitops.decide.observation import Gap, LiveRoute, Missing
from gati_gitops.emit.routes import routes
from gati_gitops.ledger.model import Phase
from gati_gitops.observe.live_routes import live_route, own_routes
from tests.routes import world as units
from tests.routes.world import Unit, split

PROVIDERS = ("gateway-api", "istio", "traefik", "ingress-nginx")
UNIT = Unit("/users", (("v1", Phase.ACTIVE, 90), ("v2", Phase.CANARY, 10)))
V1, V2 = UNIT.backend("v1"), UNIT.backend("v2")


def written(unit: Unit, provider: str, **settings):
    plan = units._plan(unit, provider, settings)
    found = routes(plan, units._ledger(unit))
    for item in found:
        item["metadata"]["generation"] = 7
        if item["kind"] == "HTTPRoute":
            accept(item)
    return plan, copy.deepcopy(found)


def accept(item, **changes) -> None:
    conditions = [
        {"type": name, "status": "True", "reason": name, "observedGeneration": 7, **changes}
        for name in ("Accepted", "ResolvedRefs")
    ]
    refs = item["spec"]["parentRefs"]
    item["status"] = {"parents": [{"parentRef": ref, "conditions": conditions} for ref in refs]}


def read(plan, found):
    index = {
        (item["kind"], item["metadata"]["namespace"], item["metadata"]["name"]): item
        for item in found
    }
    return live_route(plan, own_routes(plan, index))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_we_write_is_read_back(provider):
    plan, found = written(UNIT, provider)
    live = read(plan, found)
    assert isinstance(live, LiveRoute)
    assert live.weights == {V1: 90, V2: 10}
    assert live.current
    assert live.pins == ({"v2"} if provider == "ingress-nginx" else {"v1", "v2"})
    assert ("does not tell" in live.why) is (provider != "gateway-api")


@pytest.mark.parametrize("provider", PROVIDERS[:3])
@given(entries=units.entries())
def test_any_ledger_is_read_back(provider, entries):
    unit = Unit("/users", entries)
    plan, found = written(unit, provider)
    live = read(plan, found)
    assert isinstance(live, LiveRoute)
    known = {name: weight for name, weight in live.weights.items() if weight}
    assert units.ratio(known) == units.ratio(split(unit))
    deployed = {id for id, phase, _ in entries if phase not in (Phase.PENDING, Phase.REMOVED)}
    assert live.pins == deployed


@pytest.mark.parametrize("provider", ["gateway-api", "istio"])
def test_routes_that_live_elsewhere_are_found_by_name(provider):
    plan, found = written(UNIT, provider, namespace="edge")
    other, others = written(
        Unit("/users", (("v1", Phase.ACTIVE, 100),), namespace="other"), provider, namespace="edge"
    )
    live = read(plan, found + others)
    assert isinstance(live, LiveRoute) and live.weights == {V1: 90, V2: 10}
    assert read(other, found + others).weights[UNIT.backend("v1")] == 100


def test_many_pins_are_several_routes():
    entries = [("v0", Phase.ACTIVE, 100), *((f"v{n}", Phase.DRAINING, 0) for n in range(1, 40))]
    plan, found = written(Unit("/users", tuple(entries)), "gateway-api")
    assert sum(item["kind"] == "HTTPRoute" for item in found) == 3
    assert len(read(plan, found).pins) == 40
    # one that its gateway has not taken is enough
    found[-1]["status"] = {}
    assert not read(plan, found).current


def test_a_tombstone_is_no_pin():
    unit = Unit("/users", (("v1", Phase.ACTIVE, 100), ("v0", Phase.REMOVED, 0)))
    for provider in PROVIDERS[:3]:
        plan, found = written(unit, provider)
        assert read(plan, found).pins == {"v1"}


def test_there_may_be_none():
    plan, _ = written(UNIT, "gateway-api")
    assert read(plan, []) is None


class TestHandEdits:
    """What a person made of a route is either one split or nothing that is acted on."""

    def odd(self, plan, found, words: str) -> None:
        live = read(plan, found)
        assert isinstance(live, Missing) and live.gap is Gap.AMBIGUOUS
        assert words in live.why

    def rules(self, found):
        return found[0]["spec"]["rules"]

    def test_other_weights_are_told_as_they_are(self):
        plan, found = written(UNIT, "gateway-api")
        self.rules(found)[-1]["backendRefs"][0]["weight"] = 40
        assert read(plan, found).weights == {V1: 40, V2: 10}

    def test_a_second_split(self):
        plan, found = written(UNIT, "gateway-api")
        self.rules(found).append(copy.deepcopy(self.rules(found)[-1]))
        self.odd(plan, found, "more than one split")

    def test_a_service_twice(self):
        plan, found = written(UNIT, "gateway-api")
        self.rules(found)[-1]["backendRefs"] *= 2
        self.odd(plan, found, "stands there twice")

    def test_a_service_of_another_namespace(self):
        for provider in ("gateway-api", "istio", "traefik"):
            plan, found = written(UNIT, provider)
            if provider == "gateway-api":
                self.rules(found)[-1]["backendRefs"][0]["namespace"] = "evil"
            elif provider == "istio":
                split = found[0]["spec"]["http"][-1]
                split["route"][0]["destination"]["host"] = f"{V1}.evil.svc.cluster.local"
            else:
                found[1]["spec"]["weighted"]["services"][0]["namespace"] = "evil"
            self.odd(plan, found, "another namespace's")

    def test_something_that_is_no_service(self):
        plan, found = written(UNIT, "gateway-api")
        self.rules(found)[-1]["backendRefs"][0]["kind"] = "ServiceImport"
        self.odd(plan, found, "is no Service")

    def test_a_weight_that_is_left_out(self):
        plan, found = written(UNIT, "istio")
        del found[0]["spec"]["http"][-1]["route"][0]["weight"]
        self.odd(plan, found, "not as it was written")

    def test_another_total(self):
        plan, found = written(UNIT, "ingress-nginx")
        notes = found[1]["metadata"]["annotations"]
        notes["nginx.ingress.kubernetes.io/canary-weight-total"] = "1000"
        self.odd(plan, found, "not of 100")

    def test_rules_that_lost_their_names(self):
        plan, found = written(UNIT, "gateway-api")
        for rule in self.rules(found):
            del rule["name"]  # as an older CRD does
        self.odd(plan, found, "that takes Gateway API v1.4 or newer")

    def test_a_spec_of_another_shape(self):
        plan, found = written(UNIT, "gateway-api")
        found[0]["spec"]["rules"] = [{"name": "split", "backendRefs": "x"}]
        self.odd(plan, found, "can't be read")

    def test_a_pin_that_leads_nowhere(self):
        plan, found = written(UNIT, "gateway-api")
        (pin,) = [rule for rule in self.rules(found) if rule["name"] == "pin-v2"]
        del pin["backendRefs"]
        assert read(plan, found).pins == {"v1"}

    def test_broken_glass_is_read_on_any_of_them(self):
        plan, found = written(UNIT, "traefik")
        found[1]["metadata"]["annotations"] = {"gati.dev/break-glass": ""}
        assert read(plan, found).break_glass == "no reason given"

    def test_every_change_is_another_edition(self):
        plan, found = written(UNIT, "traefik")
        for item in found:
            del item["metadata"]["generation"]
        assert read(plan, found).edition == ""
        for number, item in enumerate(found):
            item["metadata"] |= {"uid": f"{number}-abc", "generation": 1}
        first = read(plan, found).edition
        found[1]["metadata"]["generation"] = 2
        second = read(plan, found).edition
        found[1]["metadata"] |= {"uid": "made-anew", "generation": 1}
        assert len({first, second, read(plan, found).edition, ""}) == 4


class TestTaken:
    """Whether the gateway has taken what stands there."""

    def trouble(self, change) -> str:
        plan, found = written(UNIT, "gateway-api")
        change(found[0])
        live = read(plan, found)
        assert isinstance(live, LiveRoute) and not live.current
        assert live.weights == {V1: 90, V2: 10}
        return live.why

    def test_nobody_has(self):
        why = self.trouble(lambda item: item.pop("status"))
        assert why == "HTTPRoute shop/handler-users: Gateway gati-system/gati has not taken it"

    def test_only_an_older_one(self):
        why = self.trouble(lambda item: accept(item, observedGeneration=6))
        assert why.endswith("has not looked at its last change")

    def test_it_does_not_say_which(self):
        def change(item):
            accept(item)
            for condition in item["status"]["parents"][0]["conditions"]:
                del condition["observedGeneration"]

        assert self.trouble(change).endswith("has not looked at its last change")

    def test_it_was_refused(self):
        def change(item):
            item["status"]["parents"][0]["conditions"][1] |= {
                "status": "False", "reason": "BackendNotFound", "message": "no such\nService",
            }  # fmt: skip

        assert self.trouble(change).endswith(
            "says ResolvedRefs False, BackendNotFound: no such Service"
        )

    def test_another_gateway_has(self):
        def change(item):
            item["status"]["parents"][0]["parentRef"] = {"name": "gati", "namespace": "other"}

        assert self.trouble(change).endswith("has not taken it")

    def test_a_part_of_it_was_refused(self):
        def change(item):
            item["status"]["parents"][0]["conditions"].append(
                {"type": "PartiallyInvalid", "status": "True", "message": "rule 2"}
            )

        assert self.trouble(change).endswith("takes only a part of it: rule 2")

    def test_it_is_on_its_way_out(self):
        def change(item):
            item["metadata"]["deletionTimestamp"] = "2026-11-01T00:00:00Z"

        assert self.trouble(change).endswith("is being deleted")

    def test_a_person_took_the_gateway_away(self):
        def change(item):
            item["spec"]["parentRefs"] = []

        assert self.trouble(change).endswith("names no Gateway")

    def test_istio_where_it_writes_a_status(self):
        plan, found = written(UNIT, "istio")
        found[0]["status"] = {"observedGeneration": "6"}
        assert "has not looked" in read(plan, found).why and not read(plan, found).current
        found[0]["status"] = {
            "observedGeneration": "7",
            "validationMessages": [{"level": "ERROR", "type": {"code": "IST0101"}}],
        }
        assert "IST0101" in read(plan, found).why and not read(plan, found).current
