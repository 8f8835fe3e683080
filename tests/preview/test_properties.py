"""What holds for every change of specs, as far as hypothesis can think of changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gati_gitops.errors import SpecsInvalid
from gati_gitops.preview.compare import apply, same
from gati_gitops.preview.model import Action, Review
from gati_gitops.preview.objects import identity
from gati_gitops.preview.writers.github import write_github
from gati_gitops.preview.writers.html import write_html
from gati_gitops.preview.writers.json import write_json
from gati_gitops.preview.writers.markdown import write_markdown
from gati_gitops.preview.writers.sarif import write_sarif
from gati_gitops.preview.writers.text import write_text
from gati_gitops.render import MemoryFiles, render
from tests.compile.kit import compiled, tree_of
from tests.compile.projects import NAMES, projects, units
from tests.preview.planted import Planted
from tests.preview.sides import MASK, both_sides, found, reviewed

WRITERS: dict[str, Callable[[Review], str]] = {
    "text": write_text,
    "markdown": write_markdown,
    "html": write_html,
    "json": write_json,
    "github": write_github,
    "sarif": write_sarif,
}
Files = dict[str, str]
some = settings(max_examples=max(1, settings().max_examples // 2))
"""Each example is compiled several times."""


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


@some
@given(changes())
def test_the_preview_of_specs_to_themselves_is_empty(both: tuple[Files, Files]):
    files = both[0]
    for whole in (False, True):
        first = reviewed(files, dict(files), whole=whole)
        assert first.same
        assert first.findings == () == first.classes
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
    told = reviewed(base, head, before, whole=True)
    got, wanted = applied(told, objects_of(one.files)), objects_of(two.files)
    for cluster in {*got, *wanted}:
        here, there = got.get(cluster, {}), wanted.get(cluster, {})
        assert here.keys() == there.keys()
        for id, item in there.items():
            assert same(here[id], item), id


@some
@given(changes(), st.booleans())
def test_applying_the_reported_changes_gives_the_head(both: tuple[Files, Files], stored: bool):
    base, head = both
    before = tree_of(base) if stored else None
    accepted(head, before)
    check_applying(base, head, before)


# -- the price of what differs -------------------------------------------------------------------


@some
@given(changes(), st.booleans())
def test_compiling_only_what_differs_gives_the_same_review(both: tuple[Files, Files], stored: bool):
    base, head = both
    before = tree_of(base) if stored else None
    accepted(head, before)
    assert reviewed(base, head, before) == reviewed(base, head, before, whole=True)


# -- secrets -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def planted() -> Planted:
    return Planted()


def test_five_hundred_secrets_are_planted(planted: Planted):
    assert len(planted.values) >= 500
    assert len(set(planted.values)) == len(planted.values)
    assert all(not review.same for review in planted.reviews)
    assert all(found(review, "secret-changed") for review in planted.reviews)


@pytest.mark.parametrize("name", WRITERS)
def test_no_planted_secret_appears_in_any_format(planted: Planted, name: str):
    for review in planted.reviews:
        text = WRITERS[name](review)
        assert len(text) > 200
        leaked = [value for value in planted.values if value in text]
        assert not leaked, (len(leaked), leaked[:5])


def test_no_planted_secret_is_in_the_review_itself(planted: Planted):
    for review in planted.reviews:
        text = repr(review)
        assert not [value for value in planted.values if value in text]
