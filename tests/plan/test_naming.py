"""Names: short, legal, and never one for two."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from gati_gitops.plan.naming import MAX_NAME, UnitId, hashed, shorten, slug

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z")
ids = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=80)
names = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?", fullmatch=True)


@given(ids)
def test_slugs_are_labels(version):
    assert LABEL.match(slug(version))
    assert len(slug(version)) <= 40


@given(ids, ids)
def test_slugs_differ_but_for_dots_and_dashes(one, two):
    if one.replace(".", "-") != two.replace(".", "-"):
        assert slug(one) != slug(two)


@given(names, ids)
def test_names_of_versions_are_labels(name, version):
    found = UnitId("shop", "handler", name).version_name(version)
    assert LABEL.match(found)
    assert len(found) <= MAX_NAME
    assert found.startswith("handler-"[: len(found)]), "a Service's name starts with a letter"


@given(names, names)
def test_long_names_stay_apart(one, two):
    if one != two:
        a, b = (UnitId("shop", "handler", "x" * 30 + name) for name in (one, two))
        assert a.object_name != b.object_name


def test_what_fits_is_left_alone():
    assert shorten("a" * MAX_NAME) == "a" * MAX_NAME
    assert shorten("a" * (MAX_NAME + 1)) == hashed("a" * (MAX_NAME + 1), "a" * (MAX_NAME + 1))
    assert UnitId("shop", "handler", "users").version_name("v1.2.0") == "handler-users-v1-2-0"
    assert str(UnitId("shop", "module", "db")) == "shop/module-db"
