"""Choosing resources: by regular expressions on id and name, by label and annotation selectors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final

from gati_gitops.render.errors import Broken, Unsupported
from gati_gitops.render.resource import Id, ResMap, Resource, split_api_version

_LITERAL: Final = re.compile(r"[A-Za-z0-9_-]*\Z")
# What Python reads otherwise than Go's RE2, or RE2 not at all.
_RE2_ONLY: Final = re.compile(r"\[\[:|\\[pPzQEC]|\(\?U|\(\?[a-zA-Z]*U")
_PYTHON_ONLY: Final = re.compile(r"\(\?(?:=|!|<=|<!|\(|>|#|P=)|\\[1-9Z]|[*+?}]\+")

Match = Callable[[str], Any]


@lru_cache(maxsize=4096)
def go_regex(pattern: str, *, whole: bool) -> Match:
    """A test of a string by one of Go's regular expressions."""
    if whole and _LITERAL.match(pattern):
        return pattern.__eq__
    if _PYTHON_ONLY.search(pattern):
        raise Broken(f"invalid regular expression: {pattern}")
    if _RE2_ONLY.search(pattern):
        raise Unsupported(f"a regular expression that only Go understands: {pattern}")
    try:
        compiled = re.compile(rf"^(?:{pattern})$" if whole else pattern, re.ASCII)
    except re.error as error:
        raise Broken(f"invalid regular expression: {pattern}: {error}") from error
    # In Python `$` also matches before a newline at the end; in Go it does not.
    return lambda text: "\n" not in text[-1:] and compiled.search(text)


class Selector:
    """The `target` of a patch, the `select` and `reject` of a replacement."""

    def __init__(self, fields: dict[str, str]) -> None:
        self.fields = fields
        self._tests = {
            part: go_regex(fields[part], whole=True)
            for part in ("group", "version", "kind", "name", "namespace")
            if fields.get(part)
        }
        self.labels = label_selector(fields.get("labelSelector", ""))
        self.annotations = label_selector(fields.get("annotationSelector", ""))

    @property
    def has_id(self) -> bool:
        return bool(self._tests)

    @property
    def has_marks(self) -> bool:
        return bool(self.fields.get("labelSelector") or self.fields.get("annotationSelector"))

    def test(self, part: str, *values: str) -> bool:
        test = self._tests.get(part)
        return test is None or any(test(value) for value in values)

    def fits_kind(self, api_version: str, kind: str) -> bool:
        group, version = split_api_version(api_version)
        return (
            self.test("group", group) and self.test("version", version) and self.test("kind", kind)
        )

    def fits_id(self, id_: Id) -> bool:
        return (
            self.fits_kind(id_.api_version, id_.kind)
            and self.test("name", id_.name)
            and self.test("namespace", id_.namespace)
        )

    def fits_marks(self, resource: Resource) -> bool:
        return (self.labels is None or self.labels(resource.texts("labels"))) and (
            self.annotations is None or self.annotations(resource.texts("annotations"))
        )

    def choose(self, resources: ResMap) -> list[Resource]:
        chosen = []
        for resource in resources:
            current = resource.id(resources.schema)
            original = resource.original_id(resources.schema)
            if (
                self.test("namespace", original.namespace, current.namespace)
                and self.test("name", original.name, current.name)
                and self.fits_kind(current.api_version, current.kind)
                and self.fits_marks(resource)
            ):
                chosen.append(resource)
        return chosen


# -------------------------------------------------------------------------------- label selectors

_TOKEN: Final = re.compile(r"\s*(?:(==|!=|=|!|\(|\)|,|>|<)|([^\s=!(),<>]+))")
_NAME: Final = re.compile(r"(?:[A-Za-z0-9][A-Za-z0-9_.-]{0,61})?[A-Za-z0-9]\Z")
_PREFIX: Final = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?\Z")

Marks = dict[str, str]
Test = Callable[[Marks], bool]


@lru_cache(maxsize=1024)
def label_selector(text: str) -> Test | None:
    """A test of labels by a selector such as `app=x,tier in (a,b),!old`."""
    if not text.strip():
        return None
    tokens = _tokens(text)
    tests: list[Test] = []
    while True:
        tests.append(_requirement(tokens, text))
        following = tokens.pop(0)
        if not following:
            return lambda marks: all(test(marks) for test in tests)
        if following != ",":
            raise _unreadable(text)


def _tokens(text: str) -> list[str]:
    tokens = []
    at = 0
    while at < len(text.rstrip()):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _unreadable(text)
        tokens.append(match[1] or match[2])
        at = match.end()
    return [*tokens, "", ""]


def _requirement(tokens: list[str], text: str) -> Test:
    absent = tokens[0] == "!"
    if absent:
        tokens.pop(0)
    key = tokens.pop(0)
    prefix, slash, name = key.rpartition("/")
    if not _NAME.match(name) or (slash and not _PREFIX.match(prefix)):
        raise _unreadable(text)
    if tokens[0] in ("", ","):
        return (lambda marks: key not in marks) if absent else (lambda marks: key in marks)
    operator = tokens.pop(0)
    if absent or operator not in ("=", "==", "!=", "in", "notin", ">", "<"):
        raise _unreadable(text)
    if operator in ("in", "notin"):
        values = _values(tokens, text)
    else:
        values = {"" if tokens[0] in ("", ",") else tokens.pop(0)}
    if any(value and not _NAME.match(value) for value in values):
        raise _unreadable(text)
    if operator in (">", "<"):
        return _comparison(key, operator, values.pop(), text)
    if operator in ("!=", "notin"):
        return lambda marks: marks.get(key) not in values or key not in marks
    return lambda marks: key in marks and marks[key] in values


def _values(tokens: list[str], text: str) -> set[str]:
    if tokens.pop(0) != "(":
        raise _unreadable(text)
    values = {""} if tokens[0] == ")" else set[str]()
    expecting = True
    while (word := tokens.pop(0)) != ")":
        if word == ",":
            if expecting:
                values.add("")
            expecting = True
        elif word in ("", "(") or not expecting:
            raise _unreadable(text)
        else:
            values.add(word)
            expecting = False
    if expecting:
        values.add("")
    return values


def _comparison(key: str, operator: str, value: str, text: str) -> Test:
    try:
        limit = int(value)
    except ValueError as error:
        raise _unreadable(text) from error

    def test(marks: Marks) -> bool:
        try:
            number = int(marks[key])
        except (KeyError, ValueError):
            return False
        return number > limit if operator == ">" else number < limit

    return test


def _unreadable(text: str) -> Broken:
    return Broken(f"unable to parse the selector {text!r}")


def find_one(found: Iterable[Resource], what: str) -> Resource:
    matches = [*found]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise Broken(f"multiple matches for {what}")
    raise Broken(
        f"no resource matches the strategic merge patch for {what}",
        remedy="name an object that the resources hold, or give the patch a target",
    )
