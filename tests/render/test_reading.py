"""The fast reader against the general one: where it answers, it answers the same."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gati_gitops.yamlio.goyaml_fast import config_row, read_block_style
from gati_gitops.yamlio.goyaml_read import (
    GoYamlError,
    _Builder,
    _read_slowly,
    read_config,
    read_resources,
)
from gati_gitops.yamlio.goyaml_scalars import BLANK, Bare, Null, Odd, Quoted, is_quoted, resolve
from tests.render import krusty
from tests.render.strategies import KEYS, SCALARS, dump_document, resource
from tests.tools import missing

ROOT = Path(__file__).resolve().parents[2]


def same(one: Any, two: Any) -> bool:
    """Equal in value and in how it is spelled."""
    if isinstance(one, dict) and isinstance(two, dict):
        return [*one] == [*two] and all(same(one[key], two[key]) for key in one)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, str) and isinstance(two, str):
        return str(one) == str(two) and is_quoted(one) == is_quoted(two)
    if isinstance(one, Null) or isinstance(two, Null):
        return isinstance(one, Null) and isinstance(two, Null) and one.text == two.text
    return type(one) is type(two) and (one == two or str(one) == str(two) == "nan")


def check(text: str) -> bool:
    """Whether the fast reader took the text; what it read must be right."""
    fast = read_block_style(text)
    if fast is None:
        return False
    assert same(list(fast), list(_read_slowly(text))), text
    config = read_block_style(text, config_row)
    if config is not None and len(config) == 1:
        assert same(config[0], _Builder(text, 0, config=True).document()), text
    return True


def test_files_of_this_repository():
    files = [p for part in ("base", "overlays", "crds") for p in (ROOT / part).rglob("*.yaml")]
    files += (ROOT / "tests/render/corpus").rglob("*.yaml")
    taken = 0
    for file in files:
        text = file.read_bytes().decode().replace("\r\n", "\n")
        try:
            taken += check(text)
        except GoYamlError:
            pytest.fail(f"{file}: taken by the fast reader, refused by the general one")
    assert taken > len(files) / 2


def test_files_of_kustomizes_tests():
    folder = krusty.sources()
    if folder is None:
        missing("kustomize's sources in the Go module cache")
    texts = {text for case in krusty.cases(folder) for text in case.files.values()}
    assert sum(map(check, texts)) > 100


@given(resource)
def test_random_objects(obj):
    check(dump_document(obj))


LINES = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "  ", "    ", " ", "      "]),
    st.sampled_from(["", "", "", "- ", "- - ", "-"]),
    st.sampled_from(["", *(f"{key}: " for key in KEYS), "a:", "b:", "c:", "# ", "---"]),
    st.sampled_from(
        ["", *SCALARS, "|", "|-", "{}", "[]", "[a]", "&x 1", "*x", "!t 1", "x: y", "x #y", "> "]
    ),
)


@settings(max_examples=500)
@given(st.lists(LINES, max_size=7))
def test_random_lines(lines):
    text = "\n".join(lines) + "\n"
    fast = read_block_style(text)
    if fast is None:
        return
    try:
        slow = _read_slowly(text)
    except GoYamlError as error:
        pytest.fail(f"{text!r} is taken by the fast reader, refused by the general one: {error}")
    assert same(list(fast), list(slow)), text


@pytest.mark.parametrize(
    "text, value",
    [
        ("1", 1), ("-1", -1), ("0x1F", Odd("0x1F", "int", 31)), ("0777", Odd("0777", "int", 511)),
        ("1_000", Odd("1_000", "int", 1000)), ("09", Odd("09", "float", 9.0)), ("1.50", Odd("1.50", "float", 1.5)),
        ("true", True), ("TRUE", Odd("TRUE", "bool", True)), ("yes", "yes"), ("null", None), ("", BLANK),
        ("12:30:45", "12:30:45"), ("2020-01-02", Odd("2020-01-02", "timestamp", "2020-01-02T00:00:00Z")),
        ("18446744073709551615", 18446744073709551615), ("18446744073709551616", Odd("18446744073709551616", "float", 18446744073709551616.0)),
    ],
)  # fmt: skip
def test_what_a_plain_scalar_is(text, value):
    assert resolve(text) == value


def test_two_libraries_disagree_about_yes():
    assert read_config("a: yes\n") == {"a": True}
    assert read_resources("a: yes\n")[0] == {"a": "yes"}


def test_strings_know_how_they_were_written():
    document = read_resources('a: "x"\nb: x\nc: "5"\n')[0]
    assert type(document["a"]) is Quoted
    assert type(document["b"]) is str
    assert is_quoted(document["c"])
    assert not is_quoted(Bare("5"))


@pytest.mark.parametrize(
    "text",
    ["a: 1\na: 2\n", "a: !x 1\n", "1: {2: 3}\n", "a: *nowhere\n", "a: b: c\n", "a: [1\n", "a: {b: }\n", "\ta: 1\n"],
)  # fmt: skip
def test_what_is_refused(text):
    with pytest.raises(GoYamlError):
        read_resources(text)
