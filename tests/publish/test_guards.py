"""Guards: each refusal, what lifts it, and that nothing else does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gati_gitops.errors import Refused
from gati_gitops.plan.naming import UnitId
from gati_gitops.publish.changes import (
    ChangeSet,
    Fate,
    FolderChange,
    Objects,
    UnitChange,
    change_set,
)
from gati_gitops.publish.guards import Allowed, Input, guard
from gati_gitops.publish.objects import ObjectId
from gati_gitops.spec.publishing import DeletionBudget
from gati_gitops.tree import MemorySnapshot
from tests.compile.kit import canary, compiled, handler, tree_of


def going(
    units: int,
    stood: int,
    objects: int = 0,
    *,
    env: str = "prod",
    clusters: tuple[str, ...] = ("east",),
    fate: Fate = Fate.RETIRES,
) -> ChangeSet:
    """So many units of an environment go, with so many objects each and cluster."""
    made = [
        UnitChange(
            UnitId("shop", "handler", f"u{number}"),
            cluster,
            fate,
            objects=Objects(removed=tuple(removed(number, n) for n in range(objects))),
            counted=True,
        )
        for number in range(units)
        for cluster in clusters
    ]
    return ChangeSet(env, tuple(made), stood=stood)


def removed(unit: int, number: int) -> ObjectId:
    return ObjectId("", "Service", "shop", f"u{unit}-{number}")


def losing(*keys: ObjectId, clusters: tuple[str, ...] = ("east",)) -> ChangeSet:
    lost = Objects(removed=keys)
    return ChangeSet("prod", folders=tuple(FolderChange(name, "shop", lost) for name in clusters))


def refused(*sets: ChangeSet, budget: DeletionBudget | None = None, **allowed: Any) -> Refused:
    with pytest.raises(Refused) as found:
        guard(sets, {"prod": budget or DeletionBudget()}, Allowed(**allowed))
    assert found.value.exit_code == 5
    return found.value


def passes(*sets: ChangeSet, budget: DeletionBudget | None = None, **allowed: Any) -> None:
    guard(sets, {"prod": budget or DeletionBudget()}, Allowed(**allowed))


# -- units and objects -----------------------------------------------------------------------------


def test_units_beyond_the_budget_are_refused_with_the_number_that_lifts_it() -> None:
    passes(going(5, 1000))
    error = refused(going(6, 1000))
    assert error.message.startswith(
        "6 units of prod would go, and its budget is 5: shop/u0, shop/u1"
    )
    assert error.message.endswith("and 1 more")
    assert error.remedy == "if that is meant: --allow-removals 6"
    refused(going(6, 1000), removals=5)
    passes(going(6, 1000), removals=6)


@pytest.mark.parametrize("fate", [Fate.RETIRES, Fate.GONE])
def test_units_that_retire_and_units_that_go_count_alike(fate: Fate) -> None:
    refused(going(6, 1000, fate=fate))


def test_what_was_retiring_before_is_paid_for() -> None:
    unit = UnitChange(UnitId("shop", "handler", "u"), "east", Fate.GONE, counted=False)
    passes(ChangeSet("prod", (unit,) * 9, stood=9))


def test_a_unit_counts_once_however_many_clusters_it_leaves() -> None:
    passes(going(5, 1000, clusters=("east", "west", "north")))


def test_a_share_of_the_environment_is_refused_but_two_units_never_are() -> None:
    passes(going(1, 1))
    passes(going(2, 2))
    error = refused(going(3, 14))
    assert error.message.startswith("3 of the 14 units of prod would go, and its budget is 20 %")
    passes(going(3, 15))
    passes(going(3, 14), removals=3)
    passes(going(3, 14), budget=DeletionBudget(percent=25))
    refused(going(3, 100), budget=DeletionBudget(percent=0))


def test_objects_beyond_the_budget_are_refused() -> None:
    passes(going(1, 10, 100))
    error = refused(going(1, 10, 101))
    assert error.message == "101 objects of prod would go, and its budget is 100"
    assert error.remedy == "if that is meant: --allow-removals 101"
    passes(going(1, 10, 101), removals=101)


def test_objects_count_on_every_cluster() -> None:
    refused(going(1, 10, 51, clusters=("east", "west")))


def test_a_budget_of_nothing_lets_nothing_go() -> None:
    refused(going(1, 1000), budget=DeletionBudget(units=0))
    refused(losing(removed(0, 0)), budget=DeletionBudget(objects=0))


def test_all_that_is_wrong_is_said_at_once_with_one_line_that_lifts_it() -> None:
    namespace = ObjectId("", "Namespace", "", "two")
    error = refused(
        going(7, 1000, 30),
        going(9, 1000, env="staging"),
        losing(namespace, ObjectId("", "Secret", "shop", "tls")),
    )
    assert len(error.details) == 5
    assert error.remedy == (
        "if that is meant: --allow-removals 210 --delete Namespace/two --delete Secret/shop/tls"
    )
    passes(
        going(7, 1000, 30),
        going(9, 1000, env="staging"),
        losing(namespace, ObjectId("", "Secret", "shop", "tls")),
        removals=210,
        deletes=frozenset(("Namespace/two", "Secret/shop/tls")),
    )


def test_each_environment_has_its_own_budget() -> None:
    sets = [going(4, 1000), going(4, 1000, env="dev")]
    guard(sets, {"prod": DeletionBudget(), "dev": DeletionBudget()})
    with pytest.raises(Refused, match="units of dev"):
        guard(sets, {"prod": DeletionBudget(), "dev": DeletionBudget(units=3)})


# -- what goes only by name ------------------------------------------------------------------------

KINDS = [
    (ObjectId("", "Namespace", "", "shop"), "Namespace/shop"),
    (ObjectId("", "PersistentVolumeClaim", "shop", "data"), "PersistentVolumeClaim/shop/data"),
    (ObjectId("", "Secret", "shop", "tls"), "Secret/shop/tls"),
    (
        ObjectId("apiextensions.k8s.io", "CustomResourceDefinition", "", "gatihandlers.gati.dev"),
        "CustomResourceDefinition/gatihandlers.gati.dev",
    ),
]


@pytest.mark.parametrize(("key", "flag"), KINDS, ids=[flag for _, flag in KINDS])
def test_some_kinds_go_only_when_they_are_named(key: ObjectId, flag: str) -> None:
    error = refused(losing(key, clusters=("east", "west")), removals=10_000)
    assert str(key) in error.message
    assert "east, west" in error.message
    assert error.remedy == f"if that is meant: --delete {flag}"
    passes(losing(key), deletes=frozenset((flag,)))
    passes(losing(key), deletes=frozenset((f"{key.kind}/{key.name}",)))
    refused(losing(key), deletes=frozenset((f"{key.kind}/other", key.kind, key.name)))


def test_a_name_without_its_namespace_counts_only_where_there_is_no_doubt() -> None:
    one, two = ObjectId("", "Secret", "one", "tls"), ObjectId("", "Secret", "two", "tls")
    refused(losing(one, two), deletes=frozenset(("Secret/tls",)))
    error = refused(losing(one, two), deletes=frozenset(("Secret/one/tls",)))
    assert error.remedy == "if that is meant: --delete Secret/two/tls"
    passes(losing(one, two), deletes=frozenset(("Secret/one/tls", "Secret/two/tls")))


def test_a_kind_of_another_group_is_its_own() -> None:
    passes(losing(ObjectId("example.org", "Secret", "shop", "tls")))


# -- specs that hold nothing -----------------------------------------------------------------------


@pytest.mark.parametrize("allowed", [Allowed(), Allowed(10_000)])
def test_no_unit_at_all_is_never_a_wish(allowed: Allowed) -> None:
    with pytest.raises(Refused, match=r"the specs hold no unit at all$") as found:
        guard([], {}, allowed, Input("shop", 0, 0))
    assert "SPECS" in found.value.remedy
    with pytest.raises(Refused, match="the output has 1 unit of the source shop"):
        guard([], {}, allowed, Input("shop", 0, 1))
    guard([], {}, allowed, Input("shop", 1, 7))


# -- with real compiles ----------------------------------------------------------------------------


def judged(files: Mapping[str, str], before: Mapping[str, bytes]) -> None:
    made = compiled(files, before)
    outcomes = [placed.outcome for placed in made.units]
    guard([change_set("prod", MemorySnapshot(before), made.changes, outcomes)], {})


def test_the_last_unit_of_a_namespace_does_not_take_it_away_unasked() -> None:
    project = canary({"prod": {"clusters": {"east": {}}, "onDelete": "immediate"}})
    files = {"gati.yaml": project, "a": handler(), "b": handler("x", namespace="two")}
    before = tree_of(files)
    del files["b"]
    with pytest.raises(Refused, match="Namespace two would go from east") as found:
        judged(files, before)
    assert found.value.remedy == "if that is meant: --delete Namespace/two"


def test_half_of_the_specs_gone_is_refused_and_a_few_are_not() -> None:
    names = [f"u{number}" for number in range(20)]
    files = {"gati.yaml": canary(), **{name: handler(name) for name in names}}
    before = tree_of(files)
    few = {name: text for name, text in files.items() if name not in names[:4]}
    judged(few, before)
    half = {name: text for name, text in files.items() if name not in names[:10]}
    with pytest.raises(Refused, match="10 units of prod would go"):
        judged(half, before)
