"""Golden previews: changes of every kind, in few words and as JSON.

Run with --update-golden to write them anew; read the difference before you commit it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gati_gitops.errors import SpecsInvalid
from gati_gitops.output import Output
from gati_gitops.preview.codes import CODES
from gati_gitops.preview.meaning.totals import Prices
from gati_gitops.preview.model import ObjectChange, Review
from gati_gitops.preview.part import Part
from gati_gitops.preview.words import change_words
from gati_gitops.preview.writers.json import review_data, review_schema
from gati_gitops.tree import MemorySnapshot
from tests.compile.kit import canary, handler, tree_of
from tests.preview.cases import CASES, Case
from tests.preview.sides import found, reviewed

GOLDEN = Path(__file__).with_name("golden") / "changes"
SCHEMA = jsonschema.Draft202012Validator(review_schema())


def review_of(case: Case, *, whole: bool = False) -> Review:
    options = dict(case.options)
    if "prices" in options:
        options["prices"] = Prices(*options["prices"])
    return reviewed(case.base, case.head, case.ledger(), whole=whole, **options)


def lines(review: Review) -> Iterator[str]:
    """A review in few words."""
    yield "same" if review.same else "differs"
    for finding in review.findings:
        yield f"{finding.level} {finding.code}: {finding.message}"
        where = dict.fromkeys(f"{t.environment}/{t.cluster}".rstrip("/") for t in finding.targets)
        yield f"    {', '.join(where)} {finding.place or ''}".rstrip()
    for alike in review.classes:
        yield f"class × {len(alike.targets)} ({alike.units} units): {alike.title}"
        yield from (f"    outlier {one.target.unit} {one.target.cluster}" for one in alike.outliers)
    for environment in review.environments:
        for cluster in environment.clusters:
            yield f"{environment.name}/{cluster.name}"
            for change in cluster.objects:
                yield from shown(change, "")
            for unit in cluster.units:
                was = f" was {unit.was}" if unit.was else ""
                yield f"  {unit.action} {unit.unit}{was}"
                for version in unit.versions:
                    yield f"    {version.id}: {state(version.before)} → {state(version.after)}"
                for name, change in unit.all_objects():
                    yield from shown(change, name)


def state(of: Any) -> str:
    if of is None:
        return "none"
    weight = f" {of.weight}" if of.weight is not None else ""
    return f"{of.phase}{weight} {of.min}-{of.max}{' waits' * bool(of.waiting)}"


def shown(change: ObjectChange, version: str) -> Iterator[str]:
    was = f" was {change.was.name}" if change.was else ""
    like = f" like {change.like.name}" if change.like else ""
    noise = f" noise {len(change.noise)}" if change.noise else ""
    yield f"    {change.action} {change.id}{was}{like}{noise}"
    yield from (f"      {change_words(one)}" for one in change.fields)


def data(review: Review) -> Any:
    """As JSON, without whole objects (the compiler's golden trees show these) and other bulk."""

    def lean(value: Any) -> Any:
        if isinstance(value, dict):
            whole = ("before", "after", "noise") if "action" in value and "id" in value else ()
            return {k: lean(v) for k, v in value.items() if k not in (*whole, "steps")}
        return [lean(item) for item in value] if isinstance(value, list) else value

    return lean(review_data(review))


@pytest.mark.parametrize("name", CASES)
def test_a_preview_of_every_kind_of_change(name: str, update_golden: bool):
    review = review_of(CASES[name])
    SCHEMA.validate(review_data(review))
    words = "\n".join(lines(review)) + "\n"
    text = json.dumps(data(review), indent=1, ensure_ascii=False) + "\n"
    for path, content in ((GOLDEN / f"{name}.txt", words), (GOLDEN / f"{name}.json", text)):
        if update_golden:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        assert path.read_text() == content


def test_no_golden_preview_is_left_over():
    known = {f"{name}.{kind}" for name in CASES for kind in ("txt", "json")}
    assert {path.name for path in GOLDEN.iterdir()} == known


@pytest.mark.parametrize("name", CASES)
def test_what_differs_alone_gives_what_the_whole_gives(name: str):
    case = CASES[name]
    assert review_of(case) == review_of(case, whole=True)


def test_every_finding_has_a_known_code_and_a_place():
    for name, case in CASES.items():
        for finding in review_of(case).findings:
            assert finding.code in CODES, name
            assert not finding.message.endswith("."), finding.message
            units = [target.unit for target in finding.targets if target.unit]
            assert finding.place is not None or not units, (name, finding)


def test_nearly_every_code_is_shown():
    """What no case shows is shown by tests of its own."""
    seen = {finding.code for case in CASES.values() for finding in review_of(case).findings}
    assert CODES.keys() - seen <= ELSEWHERE


ELSEWHERE = {
    "crd-breaking",
    "crd-changed",
    "disruption-budget",
    "ingress-opened",
    "namespace-removed",
    "pins-break",
    "rbac",
    "secret-changed",
    "warning",
}


# -- what is around the units that differ --------------------------------------------------------

AT_ONCE = {"prod": {"clusters": {"east": {}}, "onDelete": "immediate"}}
WATCHED = {"monitoring": {"dashboard": True}}


def of_source(name: str, units: dict[str, str], **settings: Any) -> dict[str, str]:
    return {"gati.yaml": canary(AT_ONCE, name=name, **settings), **units}


def around(base: dict[str, str], head: dict[str, str], before: Any) -> Review:
    """A review that is the same whether all or only what differs was compiled."""
    part, whole = reviewed(base, head, before), reviewed(base, head, before, whole=True)
    assert part == whole
    return part


def test_a_namespace_stays_while_another_source_has_units_in_it():
    theirs = of_source("theirs", {"pay.yaml": handler("pay")})
    ours = of_source("ours", {"users.yaml": handler(), "far.yaml": handler("far", namespace="far")})
    less = {name: text for name, text in ours.items() if name != "users.yaml"}
    shared = tree_of(ours, tree_of(theirs))
    assert not found(around(ours, less, shared), "namespace-removed")
    assert found(around(ours, less, tree_of(ours)), "namespace-removed")


def test_what_speaks_of_all_namespaces_speaks_of_those_that_are_the_same():
    base = of_source("ours", {"users.yaml": handler()}, **WATCHED)
    head = {**base, "far.yaml": handler("far", namespace="far")}
    review = around(base, head, tree_of(base))
    names = {c.id.kind for e in review.environments for cl in e.clusters for c in cl.objects}
    assert "Namespace" in names


def test_a_path_that_another_source_has_is_refused_by_both():
    theirs = of_source("theirs", {"pay.yaml": handler("pay", namespace="money")})
    ours = of_source("ours", {"users.yaml": handler()})
    taken = {**ours, "mine.yaml": handler("mine", handlerPath="/pay")}
    before = tree_of(ours, tree_of(theirs))
    for whole in (False, True):
        with pytest.raises(SpecsInvalid) as caught:
            reviewed(ours, taken, before, whole=whole)
        assert "path-taken" in {problem.code for problem in caught.value.problems}


def test_a_unit_that_retires_beside_a_new_one_is_left_alone():
    settings = canary({"prod": ["east"]})
    base = {"gati.yaml": settings, "users.yaml": handler(), "old.yaml": handler("old")}
    gone = {name: text for name, text in base.items() if name != "old.yaml"}
    before = tree_of(gone, tree_of(base))
    new = handler("new", handlerPath="/old", namespace="elsewhere")
    review = around(gone, {**gone, "new.yaml": new}, before)
    assert {unit.name for _, _, unit in review.units()} == {"new"}
    assert [finding.code for finding in review.findings if "older" in finding.message] == [
        "warning"
    ]


def test_a_handler_that_takes_over_a_path_keeps_the_units_name():
    settings = canary({"prod": ["east"]})
    base = {"gati.yaml": settings, "users.yaml": handler()}
    head = {"gati.yaml": settings, "people.yaml": handler("people", "v2", handlerPath="/users")}
    review = around(base, head, tree_of(base))
    assert {unit.name for _, _, unit in review.units()} == {"users"}


def test_names_read_from_routes_alone_are_those_of_the_stored_plans():
    for case in CASES.values():
        tree = case.ledger()
        if tree is None:
            continue
        clusters = Output(MemorySnapshot(tree)).clusters()
        seen = Part(MemorySnapshot(tree), clusters, {"shop", "accounts", "fulfilment"})
        assert seen.names() == Output(MemorySnapshot(tree)).names()
