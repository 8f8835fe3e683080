"""Windows in which nothing but the way back is taken.

A window is in somebody's time zone: every week, or once in the calendar. An hour that a clock is
set back to lives twice, and is frozen both times; one that it skips lasts until it has gone by.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from gati_gitops.spec.rollout import DAYS, Freeze

_WEEK = timedelta(days=7)
_MOMENT = "%Y-%m-%d %H:%M"


def frozen(windows: Iterable[Freeze], now: float) -> str:
    """Why nothing may move now, in words; empty if it may."""
    for window in windows:
        if (until := _until(window, now)) is not None:
            end = f"{until:%Y-%m-%d %H:%M} {window.zone}"
            return f"{window.reason} (frozen until {end})"
    return ""


def _until(window: Freeze, now: float) -> datetime | None:
    """When a window ends that ``now`` is in."""
    zone = ZoneInfo(window.zone)
    here = datetime.fromtimestamp(now, zone)
    if window.since[0].isdigit():
        spans = [(_parsed(window.since), _parsed(window.until))]
    else:
        spans = list(_weekly(window, here.replace(tzinfo=None)))
    for start, end in spans:
        if _instant(start, zone, last=False) <= now < _instant(end, zone, last=True):
            return end
    return None


def _weekly(window: Freeze, here: datetime) -> Iterable[tuple[datetime, datetime]]:
    """The times of a weekly window that may hold a moment, by the clock on the wall."""
    start, length = _of_week(window.since), _of_week(window.until) - _of_week(window.since)
    if length <= timedelta():
        length += _WEEK
    monday = datetime.combine(here.date() - timedelta(days=here.weekday()), datetime.min.time())
    for week in (-1, 0, 1):
        begin = monday + week * _WEEK + start
        yield begin, begin + length


def _of_week(moment: str) -> timedelta:
    day, _, clock = moment.partition(" ")
    hours, _, minutes = clock.partition(":")
    return timedelta(days=DAYS.index(day), hours=int(hours), minutes=int(minutes))


def _parsed(moment: str) -> datetime:
    return datetime.strptime(moment, _MOMENT)  # noqa: DTZ007 - its zone stands beside it


def _instant(wall: datetime, zone: ZoneInfo, *, last: bool) -> float:
    """When a clock on the wall shows this: the first time, or the last.

    A time that is skipped counts as if the clock had not been set, which is never too early an end.
    """
    both = (wall.replace(tzinfo=zone, fold=fold).astimezone(UTC).timestamp() for fold in (0, 1))
    return max(both) if last else min(both)
