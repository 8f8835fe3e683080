"""The emitter: what goes in comes out of every reader, and a string is a string to all of them."""

from __future__ import annotations

import math

import pytest
import ryaml
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from gati_gitops.ledger.model import Entry, Ledger, Phase
from gati_gitops.ledger.store import dump_ledger, ledger_from
from gati_gitops.yamlio.edit import edited
from gati_gitops.yamlio.emit import dump, dump_all, scalar
from gati_gitops.yamlio.goyaml_read import decode, read_config, read_resources

# Surrogates and the two noncharacters are in no UTF-8 text that we read or write.
characters = st.characters(exclude_categories=("Cs",), exclude_characters="\ufffe\uffff")
tricky = st.sampled_from(
    [
        "", " ", "~", "null", "Null", "y", "n", "Y", "N", "yes", "no", "on", "Off", "true", "FALSE",
        "1", "-1", "+1", "1.0", "1.", ".5", "1e3", "1E5", "1e+3", "0o14", "014", "08", "0x1F",
        "0b1", "1_000", "12:30", "12:30:45", "190:20:30", "2024-01-01", "2024-01-01T00:00:00Z",
        ".inf", "-.inf", ".nan", ".NaN", "=", "<<", "-", "--", "---", "...", "- a", "? a", ": a",
        "a: b", "a:b", "a:", ":a", "a #b", "a#b", "#a", "@a", "`a", "%a", "&a", "*a", "!a", "!!str",
        "|", ">", "|-", "[", "]", "{", "}", ",", "a,b", "'", '"', "'a'", '"a"', "\\", "a\\n", "\t",
        "a\tb", "a ", " a", "a\n", "a\n\n", "\na", "a\n b", " a\nb", "a \nb", "a\r\nb", "a\rb",
        "\x85", "a\u2028b", "\ufeff", "a\x00b", "a\x07b", "\x7f", "\u200b", "\u202e", "\xa0", "ä",
        "😀", "😀\n", "😀\xa0", "100m", "128Mi", "1Gi", "5d", "1E", "5e", "1e5m", "v1.0.0", "/health",
        "//", "http://x:80/a?b=c&d", "tsv:1732186200-users-001", "1.2.3+build", "$(A)", "${A}",
        "{{ a }}", "a\n---\nb", "#!/bin/sh\necho a\n", "key: |\n  text\n", "\n", "\n\n", "\t\n",
    ]
)  # fmt: skip
texts = st.one_of(tricky, st.text(characters, max_size=30), st.text("ab \n#:-\t", max_size=12))
# Readers limit a simple key to 1024 characters; Kubernetes limits ours to fewer.
keys = st.one_of(tricky, st.text(characters, max_size=20))
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(keys, inner, max_size=4)),
    max_leaves=12,
)


class _PlainLoader(yaml.SafeLoader):
    """YAML 1.1 as PyYAML reads it."""


def exact(value):
    """Equal and of equal types, all the way down."""
    if isinstance(value, dict):
        return ("map", tuple((exact(k), exact(v)) for k, v in value.items()))
    if isinstance(value, (list, tuple)):
        return ("list", tuple(map(exact, value)))
    return (type(value).__name__, value)


@given(values)
@settings(max_examples=300)
@example({"a": 1e22, "b": -1e-7, "c": 1.0, "d": 5e-324})
@example(["😀\xa0", "a\n\u2028", "tail\n\n\n", {"😀\n": 1}])
def test_yaml_1_1_reads_what_went_in(value):
    assert exact(yaml.load(dump(value), _PlainLoader)) == exact(value)


@given(values)
@settings(max_examples=150)
def test_yaml_1_2_reads_what_went_in(value):
    reader = YAML(typ="safe", pure=True)
    assert exact(reader.load(dump(value))) == exact(value)


@given(values)
@settings(max_examples=300)
def test_a_rust_reader_reads_what_went_in(value):
    assert exact(ryaml.loads(dump(value).decode())) == exact(value)


@given(st.dictionaries(keys, values, min_size=1, max_size=4))
@settings(max_examples=300)
def test_kustomizes_readers_read_what_went_in(value):
    assert exact(read_config(decode(dump(value)))) == exact(value)


@given(texts)
@settings(max_examples=500)
def test_strings_stay_strings_to_everybody(text):
    spelt = scalar(text) or None
    if spelt is None:
        return
    assert "\n" not in spelt
    for reader in (
        lambda source: yaml.load(source, _PlainLoader)["k"],
        lambda source: YAML(typ="safe", pure=True).load(source)["k"],
        lambda source: read_config(source)["k"],
        lambda source: read_resources(source)[0]["k"],
    ):
        found = reader(f"k: {spelt}\n")
        assert isinstance(found, str) and found == text


@given(st.lists(st.dictionaries(keys, values, min_size=1, max_size=3), min_size=1, max_size=4))
def test_documents_stay_apart(documents):
    found = list(yaml.load_all(dump_all(documents, "Generated"), _PlainLoader))
    assert exact(found) == exact(documents)


def test_every_bare_word_survives_a_reader_of_yaml_1_1():
    words = [w for base in ("y", "n", "yes", "no", "on", "off", "true", "false", "null") for w in
             (base, base.upper(), base.capitalize())]  # fmt: skip
    assert yaml.safe_load(dump({w: w for w in words})) == {w: w for w in words}


def test_floats_are_floats_to_everybody():
    for number in (1e22, 1e-7, 1.5, -0.0, 1e16, 123456789.0):
        for load in (yaml.safe_load, YAML(typ="safe", pure=True).load):
            found = load(dump({"a": number}))["a"]
            assert type(found) is float and found == number
    assert math.isinf(yaml.safe_load(dump({"a": math.inf}))["a"])


def test_what_has_no_spelling_is_an_error_and_not_an_empty_list():
    with pytest.raises(TypeError):
        dump({"a": {1, 2}})
    with pytest.raises(TypeError):
        dump({"a": b"bytes"})


def test_the_bytes_do_not_depend_on_what_python_calls_printable():
    # assigned in Unicode 15.0 and 15.1: unknown to Python 3.11, printable to 3.13
    assert dump({"a": "\U0001fae8\U0002ebf0 x"}) == 'a: "\U0001fae8\U0002ebf0 x"\n'.encode()


# -- ledgers with comments -------------------------------------------------------------------------

ids = st.sampled_from(["v1", "v2", "v3", "1.0", "tsv:1-a-1"])
digests = st.text("0123456789abcdef", min_size=16, max_size=16)


@st.composite
def ledgers(draw):
    names = draw(st.lists(ids, unique=True, min_size=1, max_size=4))
    entries = []
    for number, name in enumerate(names):
        phase = draw(st.sampled_from([p for p in Phase if p not in (Phase.ACTIVE, Phase.CANARY)]))
        phase = Phase.ACTIVE if number == 0 else phase
        rejected = phase in (Phase.PARKED, Phase.REMOVED) and draw(st.booleans())
        weight = 100 if number == 0 else 0
        previous, image = draw(st.sampled_from(["", "0" * 16])), draw(st.sampled_from(["", "a:b"]))
        entries.append(Entry(name, draw(digests), phase, weight, previous, image, rejected))
        if draw(st.booleans()):
            entries.append(Entry(name, draw(digests), Phase.PENDING))
    return Ledger(
        draw(st.integers(0, 10**6)),
        draw(st.text("0123456789abcdef", min_size=12, max_size=12)),
        draw(ids),
        draw(st.one_of(st.just(""), texts.filter(lambda t: t.strip()))),
        draw(st.booleans()),
    ).with_entries(entries)


def parsed(content: bytes) -> Ledger:
    return ledger_from(read_config(decode(content)), "rollout.yaml")


@given(ledgers())
def test_a_ledger_is_read_as_it_was_written(ledger):
    assert parsed(dump_ledger(ledger, ["a.yaml"])) == ledger


@given(ledgers(), ledgers(), st.data())
@settings(max_examples=100)
def test_an_edit_says_the_new_and_keeps_the_comments(old, new, data):
    lines = dump_ledger(old, ["a.yaml"]).decode().split("\n")
    at = data.draw(st.integers(1, len(lines) - 1))
    lines.insert(at, "# a person was here")
    text = "\n".join(lines).encode()
    try:
        if parsed(text) != old:
            return  # the line landed inside a block of text
    except ValueError:
        return
    result = edited(text, dump_ledger(new, ["b.yaml"]))
    assert parsed(result) == new
    if old.entries == new.entries and (old.hold == "") == (new.hold == ""):
        assert b"# a person was here" in result


def test_without_comments_the_new_content_is_taken_as_it_is():
    one, two = Ledger(1, "a"), Ledger(2, "b")
    assert edited(dump_ledger(one, ["a"]), dump_ledger(two, ["a"])) == dump_ledger(two, ["a"])


@pytest.mark.parametrize("quote", ["'", '"', ""])
def test_a_comment_after_a_quoted_value_is_seen(quote):
    old = f"# Generated\nhold: {quote}why{quote} # see the incident\nseq: 1 a\n".encode()
    assert b"# see the incident" in edited(old, b"# Generated\nhold: why\nseq: 2 b\n")


def test_two_entries_of_one_version_are_not_mixed_up():
    ledger = Ledger(1, "k", "v2").with_entries(
        [Entry("v2", "a" * 16, Phase.ACTIVE, 100), Entry("v2", "b" * 16, Phase.PENDING)]
    )
    new = Ledger(2, "l", "v2").with_entries(
        [Entry("v2", "a" * 16, Phase.ACTIVE, 100), Entry("v2", "c" * 16, Phase.PENDING)]
    )
    old = dump_ledger(ledger, ["a"]).replace(b"phase: Active", b"phase: Active # proved")
    result = edited(old, dump_ledger(new, ["a"]))
    assert b"&" not in result
    assert parsed(result) == new
    assert b"phase: Active # proved" in result
