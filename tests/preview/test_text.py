"""The terminal's form: what matters first, said once, within the width, and nothing else."""

import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gati_gitops.preview.model import Keyed, Level
from gati_gitops.preview.writers.columns import cut, folded, wrapped
from gati_gitops.preview.writers.text import write_text
from tests.preview.samples import many, nothing, shop, spoiled

GOLDEN = Path(__file__).parent / "golden"


def width_of(text):
    """Not the writer's own measure."""
    wide = sum(unicodedata.east_asian_width(sign) in ("W", "F") for sign in text)
    return len(text) + wide - sum(unicodedata.combining(sign) > 0 for sign in text)


_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def test_golden(update_golden):
    found = write_text(shop(3), width=100)
    if update_golden:
        GOLDEN.mkdir(exist_ok=True)
        (GOLDEN / "shop.txt").write_text(found)
    assert found == (GOLDEN / "shop.txt").read_text()


@pytest.mark.parametrize("width", [40, 61, 80, 120, 200])
@pytest.mark.parametrize(
    "spoil",
    [
        str,
        lambda text: text + "長い名前のある項目",
        lambda text: text + "/" + "x" * 300,
        lambda text: text + "\nnext\tline\x1b[31m",
        lambda text: text + "e\u0301" * 60,
    ],
    ids=["plain", "wide", "long", "controls", "combining"],
)
def test_every_line_fits(width, spoil):
    text = write_text(spoiled(shop(4), spoil), width=width)
    assert [line for line in text.split("\n") if width_of(line) > width] == []


def test_colour_only_colours():
    plain, coloured = (write_text(shop(), width=90, colour=colour) for colour in (False, True))
    assert "\x1b" not in plain
    assert _ESCAPE.sub("", coloured) == plain
    assert coloured != plain


def test_users_text_commands_no_terminal():
    text = write_text(spoiled(shop(3), lambda text: text + "\x1b]0;x\x07\u202e\u200b\r"), width=100)
    assert re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e]", text) == []


def test_what_matters_comes_first():
    text = write_text(shop(), width=100)
    parts = [
        "3 dangers",
        "\nDangers",
        "\nWarnings",
        "\nNotes",
        "\nThe same change",
        "\nstaging",
        "\nprod",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_a_class_is_said_once_with_its_numbers_and_outliers():
    text = write_text(shop(57), width=100)
    assert text.count("resources.limits.memory") == 1
    assert "57 units · staging, prod · 1 outlier" in text
    assert "shop/search  otherwise, in prod (eu)" in text
    assert text.count("only C1  57 units") == 2
    assert "and 45 more" in text


def test_what_clusters_share_is_said_once():
    text = write_text(shop(2), width=100)
    assert text.count("~ shop/cart") == 1
    assert text.count("spec.clusterIP\n") == 1
    assert "  eu, us\n    ~ shop/cart" in text


def test_a_class_of_one_unit_is_none():
    text = write_text(shop(1), width=100)
    assert "The same change in many places" not in text
    assert "C1" not in text
    assert "1 object as in staging" in text  # and what prod has in common with it is not repeated


def test_fields_that_change_alike_stand_together():
    text = write_text(shop(1), width=100)
    both = "resources.limits.memory\n          spec.template.spec.containers[name=app].resources.requests.memory\n            - 256Mi\n            + 320Mi"
    assert both in text


def test_alike_findings_are_said_once():
    text = write_text(shop(40), width=100)
    assert text.count("restart: memory changed") == 1
    assert "40 units  pods of each unit 1.0.0 restart" in text


def test_a_danger_names_its_line_and_remedy():
    text = write_text(shop(1), width=100)
    assert "prod · specs/cart.yaml:14:3\n      fix: Give the version a new id" in text


def test_nothing_changes():
    text = write_text(nothing(), width=80)
    assert text == "preview origin/main → HEAD\nNothing changes.\n"


def test_every_danger_is_there_however_many():
    review = many(60)
    text = write_text(review, width=100)
    for finding in review.findings:
        if finding.level is Level.DANGER:
            assert finding.targets[0].unit in text


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=80), st.integers(2, 30))
def test_folding_keeps_every_sign(text, width):
    lines = list(folded(text, width))
    assert "".join(lines) == text
    assert all(width_of(line) <= width for line in lines)


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=80), st.integers(2, 30))
def test_wrapping_loses_only_spaces(text, width):
    lines = list(wrapped(text, width))
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(width_of(line) <= width for line in lines)


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=60), st.integers(1, 30))
def test_cutting_keeps_both_ends(text, width):
    shown = cut(text, width)
    assert width_of(shown) <= width
    assert shown == text or "…" in shown


def test_keys_of_lists_are_shown():
    assert str(Keyed((("name", "app"),))) in write_text(shop(1), width=100)
