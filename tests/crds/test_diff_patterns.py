"""Patterns compared: what is called included is, and a witness is one. Python's own engine judges."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gati_gitops.check.values import python_pattern
from gati_gitops.preview.crds.patterns import included
from gati_gitops.spec import common


def takes(pattern: str, text: str) -> bool:
    found = python_pattern(pattern)
    assert found is not None, pattern
    return found.search(text) is not None


_LETTERS = st.sampled_from("ab01-.")
_ATOMS = st.one_of(
    _LETTERS.map(re.escape),
    st.sampled_from([".", "[ab]", "[^a]", "[a-b0-1]", r"\d", r"\w", "[-.]", "[[:alpha:]]"]).filter(
        lambda atom: "[:" not in atom  # Python has no such classes
    ),
)


def _wrapped(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{1,}"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
        inner.map(lambda text: f"(^{text}|b)"),
        inner.map(lambda text: f"({text}$|0)"),
    )


PATTERNS = st.tuples(
    st.sampled_from(["", "^"]), st.recursive(_ATOMS, _wrapped, max_leaves=6), st.sampled_from(["", "$"])
).map("".join)  # fmt: skip
TEXTS = st.text("ab01-.\n", max_size=6)


@settings(max_examples=300, deadline=None)
@given(PATTERNS, PATTERNS, st.lists(TEXTS, max_size=20))
@example("^a$", "a", ["a"])
@example("a", "^a$", ["ba"])
def test_the_answer_is_true(old, new, texts):
    answer = included(old, new)
    if answer.witness is not None:
        assert takes(old, answer.witness) and not takes(new, answer.witness)
    elif answer.included:
        for text in texts:
            assert not takes(old, text) or takes(new, text), text


@settings(max_examples=100, deadline=None)
@given(PATTERNS, PATTERNS, st.integers(0, 3), st.integers(0, 3))
def test_lengths_are_kept(old, new, shortest, more):
    longest = shortest + more
    answer = included(old, new, shortest, longest)
    if answer.witness is not None:
        assert shortest <= len(answer.witness) <= longest
        assert takes(old, answer.witness) and not takes(new, answer.witness)
    elif answer.included:
        witness = included(old, new).witness
        assert witness is None or not shortest <= len(witness) <= longest


@settings(max_examples=100, deadline=None)
@given(PATTERNS, PATTERNS)
def test_what_is_taken_by_itself_or_by_one_of_two(one, two):
    assert included(one, one).included
    assert included(one, f"(?:{one})|(?:{two})").included
    assert included(one, "").included


@pytest.mark.parametrize(
    "old, new, witness",
    [
        (common.DNS_LABEL, common.DNS_SUBDOMAIN, None),
        (common.DNS_SUBDOMAIN, common.DNS_LABEL, "a.a"),
        (common.DNS_SUBDOMAIN, common.HOSTNAME, None),
        (common.QUANTITY, common.QUANTITY, None),
        (common.IMAGE, common.IMAGE, None),
        (common.LABEL_KEY, common.LABEL_KEY, None),
        ("^([0-9]+(h|m|s|ms))+$", common.DURATION, None),
        (r"^\d{3}$", r"^[0-9]{2,4}$", None),
        (r"\Aa\z", "^a$", None),
        ("^[[:alnum:]]+$", "^[a-zA-Z0-9]+$", None),
        ("^[^[:digit:]]$", "^[a-z]$", "A"),
        ("", "^.*$", "\n"),
        ("^(?P<name>a)(?<other>b)$", "ab", None),
        (r"^\x41\x{42}$", "^AB$", None),
        ("^a{2$", "^a{2$", None),
        ("^[]a]+$", r"^[\]a]+$", None),
    ],
)
def test_patterns_by_name(old, new, witness):
    answer = included(old, new)
    assert (answer.unknown, answer.witness) == ("", witness)


@pytest.mark.parametrize(
    "pattern, why",
    [
        ("(?i)a", "flags"),
        (r"\bword\b", r"\\b"),
        ("a(", "too early|parentheses"),
        ("a)", "parentheses"),
        ("*a", "nothing to repeat"),
        ("[a", "too early"),
        ("[b-a]", "backwards"),
        ("[[:nope:]]", "nope"),
        (r"\p{Greek}", r"\\p"),
        (r"\xzz", "number"),
        ("(?P<a", "name"),
        ("(" * 60 + ")" * 60, "deep"),
        ("(a{1000}){1000}", "large"),
        ("\\", "early"),
    ],
)
def test_what_is_not_understood_is_said(pattern, why):
    assert re.search(why, included(pattern, "a").unknown)
    assert re.search(why, included("a", pattern).unknown)


def test_a_pair_that_is_too_large_ends():
    """The letter twelve from the end: the states of one double with each."""
    old, new = "^[ab]*a[ab]{12}$", "^[ab]*b[ab]{12}$|^[ab]*a[ab]{12}$|^$"
    assert included(old, new).unknown or included(old, new).included
    assert (
        included("(a|b)*a(a|b){16}c", "(a|b)*b(a|b){16}c|x").unknown
        == "they are too large to compare"
    )
