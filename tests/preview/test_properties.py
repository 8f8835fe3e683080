"""What holds for every change of specs, as far as hypothesis can think of changes."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from gati_gitops.errors import SpecsInvalid
from gati_gitops.preview.compare import apply, same
from gati_gitops.preview.model import Action, Review
from gati_gitops.preview.objects import identity
from gati_gitops.render import MemoryFiles, render
from tests.compile.kit import compiled, tree_of
from tests.compile.projects import NAMES, projects, units
from tests.preview.sides import MASK, both_sides, reviewed

LEFT_OUT = ("name-collision", "metric-without-request")
Files = dict[str, str]


def accepted(files: Files, before: Any = None) -> None:
    """Leave out the few projects in which names collide or a scaler has nothing to go by."""
    try:
        compiled(files, before)
    except SpecsInvalid:
        assume(False)


def strategy_of(files: Files) -> str:
    return str(json.loads(files["gati.yaml"])["spec"]["rollout"]["strategy"])


def unit_of(path: str) -> str:
    """The unit that a file of a random project belongs to."""
    stem = path.rpartition("/")[2].removesuffix(".yaml")
    return next((name for name in sorted(NAMES, key=len, reverse=True) if stem == name), stem[:-2])


@st.composite
def changes(draw: st.DrawFn) -> tuple[Files, Files]:
    """Two folders of specs with the same settings: units come, go, and change."""
    base = draw(projects())
    head = {"gati.yaml": base["gati.yaml"]}
    there = sorted({unit_of(path) for path in base if path != "gati.yaml"})
    for name in there:
        fate = draw(st.sampled_from(["stays", "stays", "changes", "goes"]))
        if fate == "stays":
            head |= {path: text for path, text in base.items() if unit_of(path) == name}
        elif fate == "changes":
            own, partials = draw(units(name, strategy_of(base)))
            head |= own | partials
    more = [name for name in NAMES if name not in there]
    if draw(st.booleans()) or len(head) == 1:
        own, partials = draw(units(draw(st.sampled_from(more)), strategy_of(base)))
        head |= own | partials
    accepted(base)
    accepted(head)
    return base, head


@given(changes())
def test_the_preview_of_specs_to_themselves_is_empty(both: tuple[Files, Files]):
    files = both[0]
    for whole in (False, True):
        found = reviewed(files, dict(files), whole=whole)
        assert found.same
        assert found.findings == () == found.classes
        on_output = reviewed(files, dict(files), tree_of(files), whole=whole)
        assert on_output.same
        assert on_output.findings == ()


# -- applying what was reported ------------------------------------------------------------------


def objects_of(files: Any) -> dict[str, dict[Any, dict[str, Any]]]:
    """By cluster: every object of every unit, masked."""
    found: dict[str, dict[Any, dict[str, Any]]] = {}
    for path in files:
        parts = path.split("/")
        if len(parts) == 6 and parts[0] == "overlays" and parts[5] == "unit.yaml":
            here = found.setdefault(f"{parts[1]}/{parts[2]}", {})
            for item in render(MemoryFiles(files), path.rpartition("/")[0]).objects():
                masked = MASK.object(item)
                here[identity(masked)] = masked
    return found


def applied(review: Review, before: dict[str, dict[Any, Any]]) -> dict[str, dict[Any, Any]]:
    """What the base's objects become, going by the report alone."""
    after = {cluster: dict(objects) for cluster, objects in before.items()}
    for env, cluster, unit in review.units():
        here = after.setdefault(f"{env}/{cluster}", {})
        for _, change in unit.all_objects():
            fields = (*change.fields, *change.noise)
            if change.action is Action.CREATE:
                here[change.id] = change.after
            elif change.action is Action.DELETE:
                del here[change.id]
            elif change.action is Action.RENAME:
                here[change.id] = apply(fields, here.pop(change.was))
            else:
                here[change.id] = apply(fields, here[change.id])
    return after


def check_applying(base: Files, head: Files, before: Any) -> None:
    one, two = both_sides(base, head, before, whole=True)
    found = reviewed(base, head, before, whole=True)
    got, wanted = applied(found, objects_of(one.files)), objects_of(two.files)
    for cluster in {*got, *wanted}:
        here, there = got.get(cluster, {}), wanted.get(cluster, {})
        assert here.keys() == there.keys()
        for id, item in there.items():
            assert same(here[id], item), id


@given(changes())
def test_applying_the_reported_changes_to_the_base_gives_the_head(both: tuple[Files, Files]):
    check_applying(*both, None)


@given(changes())
def test_applying_also_holds_on_an_output_with_ledgers(both: tuple[Files, Files]):
    base, head = both
    before = tree_of(base)
    accepted(head, before)
    check_applying(base, head, before)


# -- the price of what differs -------------------------------------------------------------------


@given(changes(), st.booleans())
def test_compiling_only_what_differs_gives_the_same_review(both: tuple[Files, Files], stored: bool):
    base, head = both
    before = tree_of(base) if stored else None
    accepted(head, before)
    assert reviewed(base, head, before) == reviewed(base, head, before, whole=True)
