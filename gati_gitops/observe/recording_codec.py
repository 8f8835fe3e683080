"""Observations as JSON, small: what is said once is not said again.

Series, their labels, their times and the windows they are of stand in tables beside the looks and
are named by number: pods are scraped as a whole, so a hundred series have the same times. Counters
are written as what they grew by. All else follows from the types, so a field that is added to an
observation is recorded without a word here.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache
from itertools import accumulate, pairwise
from typing import Any, Union, get_args, get_origin, get_type_hints

from gati_gitops.decide.observation import Series, Window

KIND = "is"
_EXACT = 1 << 53


class Tables:
    """What the observations of one line share."""

    def __init__(self) -> None:
        self._numbers: dict[str, dict[Any, int]] = {"labels": {}, "times": {}, "windows": {}}
        self._series: dict[int, int] = {}
        self._kept: list[Series] = []
        self._rows: list[list[Any]] = []

    def series(self, series: Series) -> int:
        # by identity: what a gateway says of itself is one object for a thousand versions
        found = self._series.get(id(series))
        if found is None:
            found = self._series[id(series)] = len(self._rows)
            self._kept.append(series)
            labels = self._number("labels", series.labels)
            times = self._number("times", series.times)
            self._rows.append([labels, times, _values(series.values)])
        return found

    def window(self, window: Window) -> int:
        return self._number("windows", window)

    def data(self) -> dict[str, Any]:
        return {
            "labels": [dict(labels) for labels in self._numbers["labels"]],
            "times": [_times(times) for times in self._numbers["times"]],
            "windows": [[w.at, w.span, w.scrape, w.source] for w in self._numbers["windows"]],
            "series": self._rows,
        }

    def _number(self, table: str, value: Any) -> int:
        return self._numbers[table].setdefault(value, len(self._numbers[table]))


class Shared:
    """Tables, read back."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        labels = [tuple(sorted(row.items())) for row in data["labels"]]
        times = [_times_from(row) for row in data["times"]]
        self.windows = [Window(*row) for row in data["windows"]]
        self.series = [
            Series(labels[label], times[time], _values_from(values, len(times[time])))
            for label, time, values in data["series"]
        ]


def encoded(value: Any, declared: Any, tables: Tables) -> Any:
    """A value as JSON; what it says by default is left out."""
    if isinstance(value, Series):
        return tables.series(value)
    if isinstance(value, Window):
        return tables.window(value)
    if is_dataclass(value):
        cls: type = type(value)
        data = {
            name: encoded(getattr(value, name), hint, tables)
            for name, hint, default in _fields(cls)
            if default is None or getattr(value, name) != default()
        }
        return data if cls is _first(declared) else {KIND: cls.__name__, **data}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        inner = _inner(declared, Mapping)
        return {str(key): encoded(item, inner, tables) for key, item in value.items()}
    if isinstance(value, tuple):
        kinds = _tuple(declared, len(value))
        return [encoded(item, kind, tables) for item, kind in zip(value, kinds, strict=True)]
    if isinstance(value, frozenset):
        return sorted(value)
    return value


def decoded(data: Any, declared: Any, shared: Shared) -> Any:
    """A value of a declared type, from JSON. Raises ValueError, TypeError or LookupError."""
    if _is_union(declared):
        declared = _chosen(data, get_args(declared))
    if declared is Series:
        return shared.series[data]
    if declared is Window:
        return shared.windows[data]
    if isinstance(declared, type) and is_dataclass(declared):
        known = {name: hint for name, hint, _ in _fields(declared)}
        named = {name: item for name, item in data.items() if name != KIND}
        return declared(
            **{name: decoded(item, known[name], shared) for name, item in named.items()}
        )
    origin = get_origin(declared) or declared
    if isinstance(origin, type):
        if issubclass(origin, Enum):
            return origin(data)
        if issubclass(origin, tuple):
            kinds = _tuple(declared, len(data))
            return tuple(
                decoded(item, kind, shared) for item, kind in zip(data, kinds, strict=True)
            )
        if issubclass(origin, frozenset):
            return frozenset(data)
        if issubclass(origin, Mapping):
            inner = get_args(declared)[1]
            return {key: decoded(item, inner, shared) for key, item in data.items()}
        if origin is float and isinstance(data, int):
            return float(data)
        if not isinstance(data, origin):
            raise TypeError(f"{data!r} is no {origin.__name__}")
    return data


# -- types ----------------------------------------------------------------------------------------


@cache
def _fields(cls: type) -> tuple[tuple[str, Any, Callable[[], Any] | None], ...]:
    """Name, type and default of each field."""
    hints = get_type_hints(cls)
    return tuple((item.name, hints[item.name], _default(item)) for item in fields(cls))


def _default(item: Field[Any]) -> Callable[[], Any] | None:
    if item.default is not MISSING:
        value = item.default
        return lambda: value
    return None if item.default_factory is MISSING else item.default_factory


def _is_union(declared: Any) -> bool:
    return get_origin(declared) in (Union, types.UnionType)


def _first(declared: Any) -> Any:
    """The class that a value is of unless it says so."""
    return get_args(declared)[0] if _is_union(declared) else declared


def _inner(declared: Any, kind: type) -> Any:
    choices = get_args(declared) if _is_union(declared) else (declared,)
    for choice in choices:
        origin = get_origin(choice)
        if isinstance(origin, type) and issubclass(origin, kind):
            return get_args(choice)[1]
    raise TypeError(f"{declared} is no {kind.__name__}")


def _tuple(declared: Any, length: int) -> tuple[Any, ...]:
    choices = get_args(declared) if _is_union(declared) else (declared,)
    inner = next(get_args(choice) for choice in choices if get_origin(choice) is tuple)
    return (inner[0],) * length if len(inner) == 2 and inner[1] is ... else inner


def _chosen(data: Any, choices: tuple[Any, ...]) -> Any:
    """Which of several types JSON is of."""
    if data is None:
        return type(None)
    if isinstance(data, dict) and isinstance(data.get(KIND), str):
        return next(choice for choice in choices if getattr(choice, "__name__", "") == data[KIND])
    if isinstance(data, list):
        return next(choice for choice in choices if get_origin(choice) in (tuple, frozenset))
    return next(choice for choice in choices if choice is not type(None))


# -- numbers --------------------------------------------------------------------------------------


def _times(times: tuple[float, ...]) -> list[int] | dict[str, list[float]]:
    """In milliseconds, each after the one before; as they are where that would not be exact."""
    stamps = [round(time * 1000) for time in times]
    if any(stamp / 1000 != time for stamp, time in zip(stamps, times, strict=True)):
        return {"as": list(times)}
    return [later - sooner for sooner, later in pairwise([0, *stamps])]


def _times_from(row: list[int] | dict[str, list[float]]) -> tuple[float, ...]:
    if isinstance(row, dict):
        return tuple(row["as"])
    return tuple(stamp / 1000 for stamp in accumulate(row))


def _values(values: tuple[float, ...]) -> list[int] | dict[str, list[float]]:
    """What they grew by, without the end that did not change."""
    if not all(value.is_integer() and abs(value) < _EXACT for value in map(float, values)):
        return {"as": list(values)}
    steps = [later - sooner for sooner, later in pairwise([0, *map(int, values)])]
    while len(steps) > 1 and steps[-1] == 0:
        steps.pop()
    return steps


def _values_from(row: list[int] | dict[str, list[float]], length: int) -> tuple[float, ...]:
    if isinstance(row, dict):
        return tuple(row["as"])
    found = list(map(float, accumulate(row)))
    return (*found, *found[-1:] * (length - len(found)))
