"""Breaking versions and the transformers that let them share traffic."""

from __future__ import annotations

import pytest

from gati_gitops.errors import Problem, SpecsInvalid
from gati_gitops.plan.check import check
from gati_gitops.plan.timescape import module_name
from gati_gitops.spec.load import load
from tests.compile.kit import compiled, document, handler

IMAGE = {"image": "shop/users:1"}


def problems(*documents: str, strategy: str = "manual") -> list[Problem]:
    project = (
        "apiVersion: gati.dev/v1alpha1\nkind: GatiProject\nmetadata: {name: shop}\n"
        f"spec: {{rollout: {{strategy: {strategy}}},"
        " environments: {prod: {clusters: {eu: {}}}}}\n"
    )
    files = {"gati.yaml": project, "specs.yaml": "\n---\n".join(documents)}
    specs = load((name, text.encode()) for name, text in files.items())
    codes = ("breaking-without-chain", "transformer-unknown", "transformers-branch")
    return [problem for problem in check(specs) if problem.code in codes]


def version(id: str, weight: int, *transformers: str, breaking: bool = False) -> str:
    spec = {
        "handler": "users",
        "versionId": id,
        "breaking": breaking,
        "routingWeight": weight,
        "transformers": list(transformers),
        **IMAGE,
    }
    return document("GatiVersion", f"users-{id.replace(':', '-')}", spec)


def test_a_breaking_version_needs_a_chain_before_it_shares_traffic() -> None:
    found = problems(handler(weight=90), version("v2", 10, breaking=True))
    assert [problem.code for problem in found] == ["breaking-without-chain"]
    assert found[0].is_error
    assert "transformer-v1-to-v2" in found[0].remedy
    assert found[0].field == "spec.breaking"


def test_a_chain_lets_it_share_traffic() -> None:
    assert problems(handler(weight=90), version("v2", 10, "v1-to-v2", breaking=True)) == []


@pytest.mark.parametrize(
    "name", ["transformer-v1-to-v2", "v1-to-v2", "src/transformers/transformer-v1-to-v2.ts"]
)
def test_a_transformer_is_known_by_the_frameworks_name_for_it(name: str) -> None:
    assert problems(handler(weight=90), version("v2", 10, name, breaking=True)) == []
    assert module_name(name) == "transformer-v1-to-v2"


def test_tsv_ids_are_written_without_their_prefix() -> None:
    ids = ("tsv:1732186200-users-001", "tsv:1732186300-users-002")
    chain = "transformer-1732186200-users-001-to-1732186300-users-002"
    first = handler(version=ids[0], image="shop/users:1", weight=90)
    assert problems(first, version(ids[1], 10, chain, breaking=True)) == []


def test_a_breaking_version_alone_breaks_nobody() -> None:
    assert problems(handler(timescape={"breaking": True, "routingWeight": 100})) == []


def test_a_breaking_version_without_weight_may_stand_beside_others() -> None:
    assert problems(handler(weight=100), version("v2", 0, breaking=True)) == []


def test_under_canary_the_missing_chain_is_told_before_the_rollout_needs_it() -> None:
    found = problems(handler(weight=100), version("v2", 0, breaking=True), strategy="canary")
    assert [(problem.code, problem.is_error) for problem in found] == [
        ("breaking-without-chain", False)
    ]


def test_a_chain_may_have_ten_hops_and_no_more() -> None:
    def chain(hops: int) -> list[Problem]:
        steps = [f"v{n}-to-v{n + 1}" for n in range(1, hops + 1)]
        return problems(handler(weight=90), version(f"v{hops + 1}", 10, *steps, breaking=True))

    assert chain(10) == []
    assert [problem.code for problem in chain(11)] == ["breaking-without-chain"]


def test_a_chain_is_linear() -> None:
    found = problems(
        handler(weight=80), version("v2", 10, "v1-to-v2"), version("v3", 10, "v1-to-v3")
    )
    assert [problem.code for problem in found] == ["transformers-branch"]


def test_a_transformer_between_unknown_versions_is_told() -> None:
    found = problems(handler(weight=90), version("v2", 10, "whatever"))
    assert [(p.code, p.is_error) for p in found] == [("transformer-unknown", False)]


def test_the_chain_reaches_the_runtime() -> None:
    files = {"specs.yaml": "\n---\n".join([handler(weight=90), version("v2", 10, "v1-to-v2")])}
    tree = compiled(files).tree
    texts = {p: t.decode() for p, t in tree.items() if p.endswith("/deployment.yaml")}
    assert [p for p, t in texts.items() if "transformer-v1-to-v2" in t] == [
        p for p in texts if "/v2-" in p
    ]


def test_transformers_are_part_of_the_digest() -> None:
    def digest(*transformers: str) -> str:
        files = {"s.yaml": "\n---\n".join([handler(weight=90), version("v2", 10, *transformers)])}
        plans = [placed.outcome.plan for placed in compiled(files).units]
        return next(v.digest for plan in plans if plan for v in plan.versions if v.id == "v2")

    assert digest() != digest("v1-to-v2")


KEDA = {
    "type": "keda",
    "min": 2,
    "max": 9,
    "metrics": [{"type": "prometheus", "query": "sum(edge_requests)", "target": "10"}],
}


@pytest.mark.parametrize(
    ("tier", "scaler", "floor"),
    [
        ("hot", None, 3),
        ("warm", None, 1),
        ("cold", None, 0),
        ("hot", KEDA, 2),
        ("warm", KEDA, 1),
        ("cold", KEDA, 0),
        ("cold", {**KEDA, "warmFloor": 1}, 1),
    ],
)
def test_a_tier_sets_the_floor(tier: str, scaler: dict[str, object] | None, floor: int) -> None:
    spec = {"timescape": {"tier": tier}, "replicas": 3}
    if scaler:
        spec["autoscaling"] = scaler
    # weight 0 beside an Active version, so that no weight needs the pods
    other = version("v0", 100)
    spec["timescape"]["routingWeight"] = 0  # type: ignore[index]
    files = {"specs.yaml": "\n---\n".join([handler(**spec), other])}
    plan = compiled(files).units[0].outcome.plan
    assert plan is not None
    found = next(v.scaling for v in plan.versions if v.id == "v1")
    assert found.floor == floor


@pytest.mark.parametrize(
    ("metrics", "wakes"),
    [
        ([{"type": "cpu", "utilization": 70}], False),
        ([{"type": "prometheus", "query": "rate(gati_http_requests_total[1m])", "target": "5"}], False),
        ([{"type": "prometheus", "query": "rate(traefik_service_requests_total[1m])", "target": "5"}], True),
        ([{"type": "cron", "timezone": "UTC", "start": "0 8 * * *", "end": "0 18 * * *", "replicas": 2}], True),
    ],
)  # fmt: skip
def test_scale_to_zero_needs_something_that_wakes_it(
    metrics: list[dict[str, object]], wakes: bool
) -> None:
    scaler = {"type": "keda", "min": 0, "max": 4, "metrics": metrics}
    files = {"specs.yaml": handler(autoscaling=scaler, weight=0) + "\n---\n" + version("v0", 100)}
    if wakes:
        compiled(files)
        return
    with pytest.raises(SpecsInvalid) as caught:
        compiled(files)
    assert any("wake" in problem.message for problem in caught.value.problems)
