"""What pydantic found, as Problems: where it is, in plain words, and what to do about it."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from gati_gitops.errors import Problem
from gati_gitops.redact import HIDDEN, is_secret, names_secret
from gati_gitops.spec import common
from gati_gitops.spec.fields import NO_LONGER, model_at, names, suggest
from gati_gitops.spec.source import Layer, locate, place_of
from gati_gitops.yamlio.scalars import short
from gati_gitops.yamlio.strict import Path, dotted


@dataclass(frozen=True, slots=True)
class Fault:
    """One of pydantic's findings, taken apart."""

    type: str
    path: Path
    of_key: bool
    value: Any
    context: dict[str, Any]
    message: str

    @property
    def identity(self) -> tuple[str, Path, str]:
        """What makes two findings the same one."""
        return (self.type, self.path, self.message)


def faults(error: ValidationError) -> list[Fault]:
    """All findings of one validation, in a stable order."""
    found = []
    for entry in error.errors(include_url=False):
        path = entry["loc"]
        of_key = bool(path) and path[-1] == "[key]"
        found.append(
            Fault(
                entry["type"],
                path[:-1] if of_key else path,
                of_key,
                entry["input"],
                entry.get("ctx") or {},
                entry["msg"],
            )
        )
    return found


def explain(
    kind: type[BaseModel], found: Iterable[Fault], layers: Sequence[Layer]
) -> list[Problem]:
    """Problems for findings. A missing field that stands there misspelt is told once."""
    found = list(found)
    meant = {suggest(kind, fault.path) for fault in found if fault.type == "extra_forbidden"}
    return [
        _problem(kind, fault, layers)
        for fault in found
        if not (fault.type == "missing" and fault.path in meant)
    ]


def _problem(kind: type[BaseModel], fault: Fault, layers: Sequence[Layer]) -> Problem:
    code, write = _WRITERS.get(fault.type, ("bad-value", _other))
    _, mark, exact = locate(layers, fault.path)
    text = mark.text if mark is not None and exact and mark.plain else None
    message, remedy = write(_Case(kind, fault, text))
    of_key = fault.of_key or fault.type == "extra_forbidden"
    place = place_of(layers, fault.path, of_key=of_key)
    return Problem(code, message, place, dotted(fault.path), remedy)


# ------------------------------------------------------------------------- one writer per finding


@dataclass(frozen=True, slots=True)
class _Case:
    kind: type[BaseModel]
    fault: Fault
    text: str | None
    """The value as it was written, when it is a plain scalar."""

    @property
    def name(self) -> str:
        last = self.fault.path[-1] if self.fault.path else "the document"
        return f"item {last}" if isinstance(last, int) else short(last)

    @property
    def shown(self) -> str:
        """The value for a message: short, and without secrets."""
        value = self.fault.value
        hide = any(isinstance(part, str) and names_secret(part) for part in self.fault.path)
        if hide or (isinstance(value, str) and is_secret(value)):
            return HIDDEN
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str):
            return f'"{short(value)}"'
        return short(self.text if self.text is not None else str(value))


Words = tuple[str, str]


def _missing(case: _Case) -> Words:
    *parents, name = case.fault.path
    under = f" under {dotted(parents)}" if parents else ""
    example = _EXAMPLES.get(str(name), "")
    return f"{name} is missing", f"add {name}{under}" + (f", such as {example}" if example else "")


def _unknown(case: _Case) -> Words:
    path = case.fault.path
    name = str(path[-1])
    message = f"there is no field {case.name} here"
    meant = suggest(case.kind, path)
    if meant is not None:
        return message, f"did you mean {dotted(meant)}?"
    if name in NO_LONGER:
        return message, NO_LONGER[name]
    model = model_at(case.kind, path[:-1])
    known = ", ".join(sorted(field for field, _ in names(model))) if model else ""
    return message, f"remove it; known fields: {known}" if known else "remove it"


def _wanted(noun: str) -> Callable[[_Case], Words]:
    def write(case: _Case) -> Words:
        value = case.fault.value
        if value is None:
            return f"{case.name} is empty", "give it a value, or remove the field"
        message = f"{case.name} must be {noun}; {case.shown} is {_type_of(value)}"
        if isinstance(value, str) and HIDDEN not in case.shown:
            return message, _unquoted(value, noun)
        if isinstance(value, float) and noun == _INT and value == int(value):
            return message, f"write {int(value)}"
        if isinstance(value, dict | list):
            message = f"{case.name} must be {noun}, not {_type_of(value)}"
        elif noun == _TEXT:
            quoted = case.text if case.text is not None and HIDDEN not in case.shown else "…"
            return message, f'quote it: "{short(quoted)}"'
        return message, f"write {noun}"

    return write


def _unquoted(value: str, noun: str) -> str:
    """What to write instead of a string."""
    number = value.strip().rstrip("%").strip()
    if noun == _INT and number.lstrip("-").isdecimal() and len(number) < 20:
        return f"write {number}, without quotes or unit"
    if noun == _BOOL and value.lower() in ("true", "false"):
        return f"write {value.lower()}, without quotes"
    return f"write {noun}"


_TEXT, _INT, _BOOL = "text", "a whole number", "true or false"


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "a list" if isinstance(value, list) else "a mapping"


def _pattern(case: _Case) -> Words:
    rule = _RULES.get(case.fault.context["pattern"], f"text like {case.fault.context['pattern']}")
    subject = "the key" if case.fault.of_key else case.name
    if "\n" in str(case.fault.value):
        return f"{subject} holds a line break", f"write {rule}"
    return f"{case.shown} is not {rule.split(':')[0]}", f"write {rule}"


def _long(case: _Case) -> Words:
    limit, length = case.fault.context["max_length"], len(case.fault.value)
    return (
        f"{case.name} has {length} characters; at most {limit} are possible",
        f"shorten it to {limit} characters",
    )


def _short(case: _Case) -> Words:
    return f"{case.name} is empty", "give it a value, or remove the field"


def _many(case: _Case) -> Words:
    limit = case.fault.context["max_length"]
    return f"{case.name} has more than {limit} entries", f"keep at most {limit}"


def _few(case: _Case) -> Words:
    limit = case.fault.context["min_length"]
    return f"{case.name} needs at least {limit} entr{'y' if limit == 1 else 'ies'}", "add one"


def _low(case: _Case) -> Words:
    bound = case.fault.context["ge"]
    return f"{case.shown} is below {bound}", f"write {bound} or more"


def _high(case: _Case) -> Words:
    bound = case.fault.context["le"]
    return f"{case.shown} is above {bound}", f"write {bound} or less"


def _choice(case: _Case) -> Words:
    expected = str(case.fault.context["expected"]).replace(" or ", ", ").replace("'", "")
    choices = [choice.strip() for choice in expected.split(",")]
    value = str(case.fault.value)
    close = difflib.get_close_matches(value.lower(), [c.lower() for c in choices], n=1)
    meant = next((c for c in choices if close and c.lower() == close[0]), None)
    listed = ", ".join(choice or '""' for choice in choices)
    message = f"{case.shown} is not one of {listed}"
    if len(choices) == 1:
        message = f"{case.shown} must be {listed}"
    return message, f"did you mean {meant}?" if meant else f"write one of {listed}"


def _ours(case: _Case) -> Words:
    """A rule of the models; what follows the semicolon is its remedy."""
    message, _, remedy = str(case.fault.context["error"]).partition("; ")
    return message, remedy or f"correct {dotted(case.fault.path) or 'the document'}"


def _other(case: _Case) -> Words:
    return f"{case.name}: {case.fault.message}", "correct the value"


_WRITERS: dict[str, tuple[str, Callable[[_Case], Words]]] = {
    "missing": ("missing-field", _missing),
    "extra_forbidden": ("unknown-field", _unknown),
    "string_type": ("wrong-type", _wanted(_TEXT)),
    "int_type": ("wrong-type", _wanted(_INT)),
    "bool_type": ("wrong-type", _wanted(_BOOL)),
    "list_type": ("wrong-type", _wanted("a list")),
    "dict_type": ("wrong-type", _wanted("a mapping")),
    "model_type": ("wrong-type", _wanted("a mapping")),
    "string_pattern_mismatch": ("bad-value", _pattern),
    "string_too_long": ("too-long", _long),
    "string_too_short": ("bad-value", _short),
    "too_long": ("too-long", _many),
    "too_short": ("bad-value", _few),
    "greater_than_equal": ("out-of-range", _low),
    "less_than_equal": ("out-of-range", _high),
    "literal_error": ("bad-value", _choice),
    "value_error": ("bad-value", _ours),
}

_RULES = {
    common.DNS_LABEL: "a DNS label: lower-case letters, digits and '-', starting and ending with a "
    "letter or digit, at most 63 characters",
    common.DNS_SUBDOMAIN: "a DNS name: labels of lower-case letters, digits and '-', joined by '.'",
    common.HOSTNAME: "a host name: lower-case labels joined by '.', optionally after '*.'",
    common.LABEL_KEY: "a label key: letters, digits, '-', '_' and '.', at most 63 characters, "
    "optionally after a DNS name and '/'",
    common.LABEL_VALUE: "a label value: letters, digits, '-', '_' and '.', at most 63 characters",
    common.ENV_NAME: "a variable name: letters, digits, '_', '-', '.', no digit first",
    common.QUANTITY: "a quantity: a number with an optional unit, such as 100m, 0.5, 128Mi or 2Gi",
    common.DURATION: "a duration: numbers with units, such as 30s, 15m or 1h30m",
    common.IMAGE: "an image reference: registry/name:tag or registry/name@sha256:…, without spaces",
    r"^[!-~]+$": "a version id: printable ASCII without spaces, such as v1.0.0",
    r"^/[-A-Za-z0-9/._~!$&'()*+,;=:@%]*$": "a path: it starts with '/' and has only URL characters",
    r"^/[^:\x00-\x1f]*$": "an absolute path: it starts with '/' and has no ':'",
    r"^/": "a path: it starts with '/'",
    r"^https?://": "an address: it starts with http:// or https://",
    r"^[-._a-zA-Z0-9]+$": "a key: letters, digits, '-', '_' and '.'",
    r"^([-._a-zA-Z][-._a-zA-Z0-9]*)?$": "a prefix: letters, digits, '_', '-' and '.'",
    r"^(\.|[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*)$": "a folder inside the "
    "repository: names joined by '/', such as deploy/gati",
}

_EXAMPLES = {
    "handlerPath": "handlerPath: /api/users",
    "version": "version: v1.0.0",
    "versionId": "versionId: v1.0.0",
    "replicas": "replicas: 2",
    "image": "image: registry.example.com/users:1.0.0",
    "port": "port: 3000",
    "moduleName": "moduleName: database",
    "moduleType": "moduleType: node",
    "runtime": "runtime: node:20",
    "breaking": "breaking: false",
    "routingWeight": "routingWeight: 100",
    "name": "name: user-handler",
    "mountPath": "mountPath: /data",
    "clusters": "clusters: {eu-1: {}}",
    "environments": "environments: {prod: {clusters: {eu-1: {}}}}",
    "after": "after: staging",
}
