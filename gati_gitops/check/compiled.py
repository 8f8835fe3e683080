"""A JSON Schema as a function.

Only the words that Kubernetes' schemas and CRDs use are known. Compiling once and calling often
makes a check of thousands of objects cheap. A finding's message continues the sentence that its
path begins: ``spec.replicas`` "must be at least 0".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from gati_gitops.check.values import CLASSES, Test, kind_of, spelled, value_tests

Schema = Mapping[str, Any]
UNIQUE_BY = "x-unique-by"
"""Our own word: a list of objects in which these keys together occur once."""
Trail = tuple[Any, ...]
"""The way to a value, innermost first: ``(key, (key, ()))``; made a path only when needed."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a schema refuses."""

    trail: Trail
    code: str
    message: str
    remedy: str = ""

    @property
    def path(self) -> tuple[str | int, ...]:
        keys: list[str | int] = []
        trail = self.trail
        while trail:
            key, trail = trail
            keys.append(key)
        return tuple(reversed(keys))


Check = Callable[[Any, Trail, list[Finding]], None]


class Compiler:
    """Turns schemas that refer to one set of definitions into checks."""

    def __init__(self, definitions: Mapping[str, Schema] | None = None) -> None:
        self._definitions = definitions or {}
        self._known: dict[str, Check] = {}

    def definition(self, name: str) -> Check:
        if name not in self._known:
            # A definition may contain itself: until it is ready, go through the table.
            def later(value: Any, trail: Trail, found: list[Finding]) -> None:
                self._known[name](value, trail, found)

            self._known[name] = later
            self._known[name] = self.compile(self._definitions[name])
        return self._known[name]

    def compile(self, schema: Schema) -> Check:
        checks = list(self._parts(schema))
        if len(checks) == 1:
            return checks[0]

        def every(value: Any, trail: Trail, found: list[Finding]) -> None:
            before = len(found)
            for check in checks:
                check(value, trail, found)
                if len(found) > before:  # A value of the wrong type fails every other test too.
                    return

        return every

    def _parts(self, schema: Schema) -> Iterable[Check]:
        if "$ref" in schema:
            yield self.definition(schema["$ref"].rsplit("/", 1)[-1])
        # Most nodes are one object or one list: that is one function, its type included.
        typed = _type(schema["type"]) if "type" in schema else _anything
        if {"properties", "additionalProperties", "required"} & schema.keys():
            yield self._object(schema, typed)
        elif "items" in schema:
            yield _items(self.compile(schema["items"]), typed)
        elif "type" in schema:
            yield typed
        if tests := value_tests(schema):
            yield _values(tests)
        if UNIQUE_BY in schema:
            yield _keyed(tuple(schema[UNIQUE_BY]))
        yield from self._logic(schema)

    def _object(self, schema: Schema, typed: Check) -> Check:
        properties = {
            name: self.compile(child) for name, child in schema.get("properties", {}).items()
        }
        required = tuple(schema.get("required", ()))
        additional = schema.get("additionalProperties", True)
        other = self.compile(additional) if isinstance(additional, Mapping) else None
        closed = additional is False

        def check(value: Any, trail: Trail, found: list[Finding]) -> None:
            if not isinstance(value, dict):
                typed(value, trail, found)
                return
            for key, item in value.items():
                known = properties.get(key, other)
                if known is not None:
                    known(item, (key, trail), found)
                elif closed:
                    found.append(_unknown(key, trail, properties))
            if required:
                found += [_missing(key, trail) for key in required if key not in value]

        return check

    def _logic(self, schema: Schema) -> Iterable[Check]:
        for part in schema.get("allOf", ()):
            yield self.compile(part)
        for word, fits in (("anyOf", _ANY), ("oneOf", _ONE)):
            parts = schema.get(word, ())
            if parts and all(part.keys() == {"type"} for part in parts):
                yield _type([name for part in parts for name in _names(part["type"])])
            elif parts:
                yield _choice([self.compile(part) for part in parts], fits)
        if "not" in schema:
            yield _choice([self.compile(schema["not"])], _NONE)


def _anything(value: Any, trail: Trail, found: list[Finding]) -> None:
    pass


def _missing(key: str, trail: Trail) -> Finding:
    return Finding((key, trail), "missing-field", "is missing")


def _names(wanted: str | list[str]) -> list[str]:
    return [wanted] if isinstance(wanted, str) else wanted


def _unknown(key: str, trail: Trail, properties: Iterable[str]) -> Finding:
    close = get_close_matches(key, sorted(properties), 1)
    remedy = f"did you mean {close[0]}?" if close else "remove it"
    return Finding((key, trail), "unknown-field", "does not exist", remedy)


def _type(wanted: str | list[str]) -> Check:
    names = tuple(dict.fromkeys(_names(wanted)))
    allowed = frozenset(names) | ({"integer"} if "number" in names else frozenset())
    said = " or ".join(name for name in names if name != "null" or len(names) == 1)
    usual = frozenset(CLASSES[name] for name in allowed)

    def check(value: Any, trail: Trail, found: list[Finding]) -> None:
        if type(value) in usual:
            return
        kind = kind_of(value)
        if kind not in allowed:
            message = f"must be of type {said}, but is {kind}: {spelled(value)}"
            found.append(Finding(trail, "wrong-type", message))

    return check


def _values(tests: list[Test]) -> Check:
    def check(value: Any, trail: Trail, found: list[Finding]) -> None:
        for code, holds, message in tests:
            if not holds(value):
                found.append(Finding(trail, code, f"{message}, but is {spelled(value)}"))

    return check


def _items(item: Check, typed: Check) -> Check:
    def check(value: Any, trail: Trail, found: list[Finding]) -> None:
        if not isinstance(value, list):
            typed(value, trail, found)
            return
        for index, element in enumerate(value):
            item(element, (index, trail), found)

    return check


def _keyed(keys: tuple[str, ...]) -> Check:
    def check(value: Any, trail: Trail, found: list[Finding]) -> None:
        if not isinstance(value, list):
            return
        seen: dict[str, int] = {}
        for index, element in enumerate(value):
            if isinstance(element, dict):
                identity = ", ".join(f"{key} {spelled(element.get(key))}" for key in keys)
                first = seen.setdefault(identity, index)
                if first != index:
                    message = f"has the same {identity} as entry {first}"
                    found.append(Finding((index, trail), "duplicate-entry", message))

    return check


_ANY = ("has none of the allowed forms", lambda count: count > 0)
_ONE = ("must have exactly one of the allowed forms", lambda count: count == 1)
_NONE = ("has a form that is not allowed", lambda count: count == 0)


def _choice(options: list[Check], fits: tuple[str, Callable[[int], bool]]) -> Check:
    message, enough = fits

    def check(value: Any, trail: Trail, found: list[Finding]) -> None:
        failures: list[list[Finding]] = []
        for option in options:
            failed: list[Finding] = []
            option(value, trail, failed)
            if failed:
                failures.append(failed)
        if not enough(len(options) - len(failures)):
            why = "; or ".join(dict.fromkeys(failed[0].message for failed in failures))
            found.append(Finding(trail, "bad-value", f"{message}{': ' * bool(why)}{why}"))

    return check
