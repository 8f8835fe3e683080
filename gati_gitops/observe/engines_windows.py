"""Argo CD's sync windows: times in which nothing, or only then something, is synced.

Argo CD writes nowhere that a window keeps it from syncing, so its rules are followed here: an open
deny window wins; where there are allow windows one of them must be open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from fnmatch import fnmatchcase
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

Object = Mapping[str, Any]

_LIMITS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_NAMED = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(h|m|s|ms)")
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def closed_by(windows: Iterable[Object], application: Object, now: float) -> str:
    """The window that keeps an Application from syncing by itself, in words; empty if none does."""
    allows: list[str] = []
    is_open = False
    for window in windows:
        if not _concerns(window, application):
            continue
        words = f"{window.get('schedule')} for {window.get('duration')}"
        try:
            active = _is_open(window, now)
        except (KeyError, TypeError, ValueError, ZoneInfoNotFoundError):
            return f"the sync window {words} can't be understood"
        if window.get("kind") == "deny" and active:
            return f"a sync window denies it: {words}"
        if window.get("kind") == "allow":
            allows.append(words)
            is_open = is_open or active
    return f"no sync window is open: {', '.join(allows)}" if allows and not is_open else ""


def _concerns(window: Object, application: Object) -> bool:
    spec = application["spec"]
    goes = spec.get("destination") or {}
    asked = {
        "applications": [application["metadata"]["name"]],
        "namespaces": [goes.get("namespace", "")],
        "clusters": [goes.get("server", ""), goes.get("name", "")],
    }
    found = [
        any(value and fnmatchcase(value, glob) for value in values for glob in window[field])
        for field, values in asked.items()
        if window.get(field)
    ]
    return bool(found) and (all(found) if window.get("andOperator") else any(found))


def _is_open(window: Object, now: float) -> bool:
    """Whether it began less than its duration ago."""
    zone: tzinfo = ZoneInfo(window["timeZone"]) if window.get("timeZone") else UTC
    lasts = timedelta(seconds=_seconds(str(window["duration"])))
    minutes, hours, days, months, weekdays = _fields(str(window["schedule"]))
    until = datetime.fromtimestamp(now, zone)
    since = until - lasts
    either = len(days) < 31 and len(weekdays) < 7
    day = until.date()
    while day >= since.date():
        of_month, of_week = day.day in days, (day.weekday() + 1) % 7 in weekdays
        fits = (of_month or of_week) if either else (of_month and of_week)
        if day.month in months and fits:
            for hour in hours:
                for minute in minutes:
                    begins = datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone)
                    if since.timestamp() < begins.timestamp() < now:
                        return True
        day -= timedelta(days=1)
    return False


def _fields(schedule: str) -> list[frozenset[int]]:
    parts = _NAMED.get(schedule.strip().lower(), schedule).split()
    if len(parts) != len(_LIMITS):
        raise ValueError(schedule)
    return [_field(part.lower(), *limits) for part, limits in zip(parts, _LIMITS, strict=True)]


def _field(text: str, low: int, high: int) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        span, slash, step = part.partition("/")
        first, dash, last = span.partition("-")
        if first in ("*", "?"):
            start, end = low, high
        else:
            start = _value(first)
            end = _value(last) if dash else high if slash else start
        if start < low or end > high or start > end or (slash and int(step) < 1):
            raise ValueError(text)
        found.update(range(start, end + 1, int(step) if slash else 1))
    return frozenset(found)


def _value(text: str) -> int:
    if text in _MONTHS:
        return _MONTHS.index(text) + 1
    return _DAYS.index(text) if text in _DAYS else int(text)


def _seconds(text: str) -> float:
    if not text or _DURATION.sub("", text):
        raise ValueError(text)
    return sum(float(number) * _UNITS[unit] for number, unit in _DURATION.findall(text))
