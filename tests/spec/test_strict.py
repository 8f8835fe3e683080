"""The strict reader: what each plain scalar means, its limits, and that nothing makes it fall over."""

from datetime import date, datetime

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from gati_gitops.errors import Problem, SpecsInvalid
from gati_gitops.spec.load import load
from gati_gitops.yamlio.scalars import Disputed, plain
from gati_gitops.yamlio.strict import MAX_DOCUMENTS, dotted, marks, read
from gati_gitops.yamlio.text import MAX_BYTES
from tests.spec.samples import HANDLER

AGREED = {
    "": None, "~": None, "null": None, "NULL": None,
    "true": True, "True": True, "FALSE": False,
    "0": 0, "-7": -7, "+7": 7, "3000": 3000, "0x1F": 31,
    "9223372036854775807": 2**63 - 1, "-9223372036854775808": -(2**63),
    "1.5": 1.5, "-1.5": -1.5, "1.": 1.0, "1.5e+3": 1500.0, ".5": 0.5,
    "v1.0.0": "v1.0.0", "1.2.3": "1.2.3", "100m": "100m", "128Mi": "128Mi", "node:20": "node:20",
    "tRue": "tRue", "nope": "nope", "3000:80": "3000:80", "-": "-", "--": "--", "-a": "-a",
    "1a": "1a", "0xZZ": "0xZZ", "a b": "a b", "2024-01-01-x": "2024-01-01-x", "24h": "24h",
    "sha256:0123": "sha256:0123", "/api": "/api", "...": "...", "e3": "e3", "1e": "1e",
}  # fmt: skip
DISPUTED = (
    "yes", "No", "ON", "off", "y", "N", "yEs", "0123", "-012", "08", "0o14", "0b11", "1_000", "-0x1F",
    "0x_1", "22:22", "-1:30", "190:20:30.15", "2024-01-31", "2024-1-1", "2024-01-31T10:00:00Z",
    "2024-01-31 10:00:00 +1", "1e3", "1E5", "1.5e3", "1_0.5", "-.5", "=", "<<",
)  # fmt: skip
TOO_BIG = ("9223372036854775808", "-9223372036854775809", "1" * 5000, "0x" + "f" * 17, ".inf",
           "-.INF", ".nan", ".NaN", "1.0e+400")  # fmt: skip


@pytest.mark.parametrize("text, value", AGREED.items(), ids=repr)
def test_where_readers_agree(text: str, value: object) -> None:
    found = plain(text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("text", DISPUTED)
def test_where_readers_differ(text: str) -> None:
    with pytest.raises(Disputed) as caught:
        plain(text)
    assert caught.value.code == "yaml-ambiguous"
    assert text in caught.value.message


@pytest.mark.parametrize("text", TOO_BIG, ids=lambda text: text[:20])
def test_numbers_that_do_not_fit(text: str) -> None:
    with pytest.raises(Disputed) as caught:
        plain(text)
    assert caught.value.code == "yaml-number"
    assert len(caught.value.message) < 120


@given(st.text("0123456789.-+_:eExobTZ ~=<>ynouftrals", max_size=12))
@example("0:0")
@example("-0_")
@example("1-1-1")
@example("685_230.15")
def test_what_is_text_to_us_is_text_to_a_reader_of_yaml_1_1(text: str) -> None:
    try:
        ours = plain(text)
    except Disputed:
        return
    theirs = _yaml_1_1(text)
    if isinstance(ours, str):
        assert not isinstance(theirs, bool | int | float | date | datetime | type(None))
    else:
        assert theirs == ours


def _yaml_1_1(text: str) -> object:
    """What PyYAML makes of a plain scalar, without its other ideas about syntax."""
    loader = yaml.SafeLoader("")
    tag = loader.resolve(yaml.ScalarNode, text, (True, False))
    return loader.construct_object(yaml.ScalarNode(tag, text))


class TestLimits:
    def test_size(self) -> None:
        full = HANDLER.encode() + b"#" * (MAX_BYTES - len(HANDLER))
        assert read(full, "a.yaml").problems == ()
        (problem,) = read(full + b"#", "a.yaml").problems
        assert (problem.code, problem.place.line) == ("file-too-large", 0)
        assert "1024 KiB" in problem.message

    @pytest.mark.parametrize(
        "text",
        ["[" * 5000, "{a: " * 5000, "- " * 5000, "[" * (MAX_BYTES - 1), "? " * 5000, "{? " * 9999],
        ids=lambda text: f"{len(text)} of {text[:3]}",
    )
    def test_depth(self, text: str) -> None:
        (problem,) = read(text.encode(), "a.yaml").problems
        assert problem.code == "yaml-too-deep"

    def test_depth_of_block_mappings(self) -> None:
        text = "".join("  " * n + "a:\n" for n in range(300))
        assert read(text.encode(), "a.yaml").problems[0].code == "yaml-too-deep"

    def test_sixty_four_levels_are_fine(self) -> None:
        assert read(b"[" * 64 + b"]" * 64, "a.yaml").problems == ()

    def test_documents(self) -> None:
        assert read(b"---\n" * MAX_DOCUMENTS, "a.yaml").problems == ()
        reading = read(b"---\n" * (MAX_DOCUMENTS + 1), "a.yaml")
        assert reading.problems[0].code == "yaml-too-many-documents"
        assert len(reading.documents) == MAX_DOCUMENTS

    def test_problems(self) -> None:
        reading = read(b"".join(b"- no\n" for _ in range(5000)), "a.yaml")
        assert len(reading.problems) < 200


class TestMarks:
    def test_every_node(self) -> None:
        found = marks(b"a: 1\nb:\n  - x: '2'\n    z: {w: 3}\n", 0)
        places = {dotted(path): (mark.key, mark.value) for path, mark in found.items()}
        assert places == {
            "": ((1, 1), (1, 1)),
            "a": ((1, 1), (1, 4)),
            "b": ((2, 1), (3, 3)),
            "b[0]": ((3, 5), (3, 5)),
            "b[0].x": ((3, 5), (3, 8)),
            "b[0].z": ((4, 5), (4, 8)),
            "b[0].z.w": ((4, 9), (4, 12)),
        }
        assert found[("b", 0, "x")].text == "2"
        assert not found[("b", 0, "x")].plain

    def test_of_the_document_that_was_asked_for(self) -> None:
        assert marks(b"a: 1\n---\nb: 2\n", 1)[("b",)].value == (3, 4)

    def test_of_the_first_of_two_keys(self) -> None:
        assert marks(b"a: 1\na: {b: 2}\n", 0) == marks(b"a: 1\n", 0)

    def test_of_what_cannot_be_read_on(self) -> None:
        assert marks(b"a: 1\nb: [", 0)[("a",)].value == (1, 4)
        assert marks(b"\xff\xfe", 0) == {}


@pytest.mark.parametrize(
    "path, text",
    [
        (("spec", "metrics", 0, "target"), "spec.metrics[0].target"),
        (("metadata", "labels", "gati.dev/x"), 'metadata.labels["gati.dev/x"]'),
        ((), ""),
    ],
)
def test_dotted(path: tuple[str | int, ...], text: str) -> None:
    assert dotted(path) == text


FRAGMENTS = st.sampled_from(
    [*HANDLER.splitlines(keepends=True), "---\n", "...\n", "&a ", "*a", "<<: *a\n", "!!python/x ",
     "%TAG ! x\n", "\t", "  ", "- ", "? ", ": ", "{", "}", "[", "]", ",", "|\n", ">-\n", "'", '"',
     "\\", "#", "\n", "\r\n", "\r", "\x00", "\ufeff", "\u2028", "\x85", "no", "1.10", "0123", "~",
     "kind: GatiHandler\n", "spec: {env: {A: ", "status: 1\n", "metadata: []\n", "é", "😀", "1e999",
     "environments: {prod: {clusters: {a: {}}}}\n", "kind: GatiProject\n"]
)  # fmt: skip


@given(st.lists(FRAGMENTS, max_size=25).map("".join))
def test_any_text_loads_or_is_explained(text: str) -> None:
    survives("a.yaml", text.encode())
    survives("environments/prod/a.yaml", text.encode())


@given(st.binary(max_size=200))
def test_any_bytes_load_or_are_explained(content: bytes) -> None:
    survives("a.yaml", content)


@given(st.data())
def test_a_damaged_spec_loads_or_is_explained(data: st.DataObject) -> None:
    text = HANDLER + "  env: {A: 'x', B: \"y\"}\n  args:\n    - |\n      one\n    - >-\n      two\n"
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        size = data.draw(st.integers(0, 12))
        text = text[:at] + data.draw(FRAGMENTS) + text[at + size :]
    survives("a.yaml", text.encode())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.sampled_from(["name", "env", "port", "min", "metrics", "x", "files", "type"])
                      | st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(
    st.sampled_from(["GatiHandler", "GatiModule", "GatiVersion", "GatiProject"]),
    st.fixed_dictionaries({"metadata": JSON, "spec": JSON}),
)
def test_any_values_load_or_are_explained(kind: str, body: dict[str, object]) -> None:
    document = {"apiVersion": "gati.dev/v1alpha1", "kind": kind, **body}
    survives("a.yaml", yaml.safe_dump(document, allow_unicode=True).encode(errors="replace"))


def survives(file: str, content: bytes) -> None:
    """Loading gives specs or problems with places and remedies, and nothing else."""
    for problem in problems(file, content):
        assert problem.message
        assert problem.remedy
        assert problem.place.file in (file, ".")
        assert "\n" not in problem.message


def problems(file: str, content: bytes) -> tuple[Problem, ...]:
    try:
        return load([(file, content)]).warnings
    except SpecsInvalid as error:
        return error.problems
