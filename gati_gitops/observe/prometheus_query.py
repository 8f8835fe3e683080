"""PromQL, written so that no value can become part of the language.

Samples are asked for raw, by range selectors in instant queries: no rate, no increase, no default
for what is missing. Matchers are exact; an expression stands there only as a list of literal names,
or as a shape that this program itself wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

NAMED = 200
"""Up to so many names are listed; beyond that a selector takes all there are."""
# RE2 takes an escape before any sign of ASCII that is no letter or digit, and before no other.
_SPECIAL = re.compile(r"([^A-Za-z0-9_\x80-\U0010ffff-])")
_METRIC = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
# Of the runtime's own histogram.
_BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0)


def samples(metric: str, matchers: Iterable[str], window: float) -> str:
    """All samples of a metric in the last ``window`` seconds."""
    return f"{selector(metric, matchers)}[{round(window * 1000)}ms]"


def selector(metric: str, matchers: Iterable[str]) -> str:
    if not _METRIC.fullmatch(metric):
        raise ValueError(f"{metric!r} is no name of a metric")
    return f"{metric}{{{','.join(matchers)}}}"


def exactly(labels: Mapping[str, str]) -> list[str]:
    """Matchers of label values."""
    return [f"{_label(name)}={quoted(value)}" for name, value in sorted(labels.items())]


def present(name: str) -> str:
    return f'{_label(name)}!=""'


def one_of(name: str, values: Iterable[str]) -> str:
    """A matcher of a few literal values."""
    listed = sorted(set(values))
    if len(listed) == 1:
        return f"{_label(name)}={quoted(listed[0])}"
    return like(name, "|".join(literal(value) for value in listed))


def like(name: str, expression: str) -> str:
    """A matcher by an expression of our own."""
    return f"{_label(name)}=~{quoted(expression)}"


def literal(text: str) -> str:
    """A text as an expression that matches it and nothing else."""
    return _SPECIAL.sub(r"\\\1", text)


def quoted(text: str) -> str:
    """A text as a PromQL string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    if "\x00" in escaped:
        raise ValueError("a label can't hold a NUL")
    return f'"{escaped}"'


def bounds(objectives: Iterable[float]) -> list[str]:
    """What ``le`` may say of these bounds, of the next ones that the runtime has, and of all."""
    found = {"+Inf"}
    for objective in objectives:
        at_least = next((bucket for bucket in _BUCKETS if bucket >= objective), objective)
        for bound in (objective, at_least):
            found |= {f"{bound:g}", str(float(bound))}  # Prometheus 3 writes 1 as 1.0
    return sorted(found)


def _label(name: str) -> str:
    if not _LABEL.fullmatch(name):
        raise ValueError(f"{name!r} is no name of a label")
    return name
