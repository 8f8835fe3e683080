"""How versions come and go: the rollout, decommission and metrics parts of gati.yaml.

Every number that the job judges by stands here with its default. It is stored with the environment,
so that a newer job does not judge by other numbers than the ones that were published.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from gati_gitops.spec.address import WebAddress
from gati_gitops.spec.common import Duration, Model, seconds

Strategy = Literal["manual", "canary", "blue-green", "direct"]
Step = Annotated[int, Field(ge=1, le=100)]
Percent = Annotated[float, Field(gt=0, lt=100)]
Count = Annotated[int, Field(ge=1, le=1_000_000_000)]

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_WEEKLY = re.compile(rf"({'|'.join(DAYS)}) ([01][0-9]|2[0-3]):([0-5][0-9])")
_MOMENT = "%Y-%m-%d %H:%M"


def _positive(value: str) -> str:
    if seconds(value) <= 0:
        raise ValueError("the duration is nothing at all; write one such as 30s")
    return value


def _moment(value: str) -> str:
    if _WEEKLY.fullmatch(value):
        return value
    try:
        datetime.strptime(value, _MOMENT)  # noqa: DTZ007 - its zone stands beside it
    except ValueError:
        raise ValueError(
            f"{value!r} is no moment; write one of every week, such as Fri 18:00,"
            " or one of the calendar, such as 2026-12-20 00:00"
        ) from None
    return value


def _zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(
            f"there is no time zone {value!r}; write one such as Europe/Berlin, or UTC"
        ) from None
    return value


Span = Annotated[Duration, AfterValidator(_positive)]
Moment = Annotated[str, StringConstraints(max_length=32), AfterValidator(_moment)]
Zone = Annotated[str, StringConstraints(max_length=64), AfterValidator(_zone)]


class Freeze(Model):
    """A time in which only rollbacks and holds happen."""

    reason: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    since: Moment = Field(alias="from", description="Fri 18:00, or 2026-12-20 00:00")
    until: Moment
    zone: Zone = "UTC"

    @model_validator(mode="after")
    def _is_a_time(self) -> Self:
        weekly = [bool(_WEEKLY.fullmatch(moment)) for moment in (self.since, self.until)]
        if weekly[0] != weekly[1]:
            raise ValueError(
                "one end is of every week and the other of the calendar; write both alike"
            )
        if self.since == self.until or (not weekly[0] and self.since > self.until):
            raise ValueError("it ends before it begins; exchange from and until")
        return self


class Synthetic(Model):
    """Requests that the job sends itself, to a version by its name, while it is rolled out."""

    url: WebAddress = Field(description="of the gateway; the path of each unit follows it")
    requests: Annotated[int, Field(ge=1, le=100)] = Field(10, description="for one check")
    timeout_seconds: Annotated[int, Field(ge=1, le=30)] = 5
    path: (
        Annotated[str, StringConstraints(pattern=r"^/[^\x00-\x20?#]*$", max_length=1024)] | None
    ) = Field(None, description="below the path of each unit; default: that path itself")


class Analysis(Model):
    """What a version must prove before it gets more traffic."""

    interval: Span = Field("60s", description="how often a version is checked")
    step_for: Span = Field("5m", description="the least time that a step is seen to last")
    max_step: Span = Field("2h", description="how long a step waits for enough requests")
    success_percent: Percent = 99.0
    latency_milliseconds: Annotated[int, Field(ge=1, le=600_000)] = 500
    latency_percent: Percent = Field(99.0, description="of requests that must be faster than that")
    min_requests: Count | None = Field(
        None, description="default: as many as prove the success rate, 300 for 99 %"
    )
    max_success_drop: Annotated[float, Field(ge=0, le=100)] = Field(
        0.5, description="percentage points that it may be worse than the Active version"
    )
    max_latency_ratio: Annotated[float, Field(ge=1, le=100)] = Field(
        1.2, description="how many times the Active version's share of slow requests it may have"
    )
    failures: Count = Field(2, description="failed checks in a row that roll a version back")
    failures_in_step: Count = Field(3, description="failed checks of one step that do so")
    inconclusive_limit: Count = Field(
        10, description="checks in a row without an answer that are a hold"
    )
    error_limit: Count = Field(
        4, description="checks in a row that fail to be made and are borne; one more is a hold"
    )
    progress_deadline: Span = Field("10m", description="by when new pods must be ready")
    on_no_data: Literal["hold", "rollback"] = "hold"
    synthetic: Synthetic | None = Field(
        None, description="without it the job sends no requests of its own"
    )


class Breaker(Model):
    """How much may happen at once before it is taken for a fault of what is measured."""

    units: Count = 3
    percent: Annotated[int, Field(ge=1, le=100)] = 20


class Rollout(Model):
    """How a new version gets its traffic."""

    strategy: Strategy = "manual"
    steps: list[Step] = Field(default_factory=lambda: [10, 50, 100], min_length=1, max_length=100)
    analysis: Analysis = Field(default_factory=Analysis)
    freeze: list[Freeze] = Field(default_factory=list, max_length=64)
    breaker: Breaker = Field(default_factory=Breaker)

    @model_validator(mode="after")
    def _steps_rise(self) -> Self:
        if any(a >= b for a, b in zip(self.steps, self.steps[1:], strict=False)):
            raise ValueError(
                f"steps must rise: {self.steps}; write them in order, such as [10, 50, 100]"
            )
        if self.steps[-1] != 100:
            raise ValueError("the last step must be 100; add it")
        return self


class Decommission(Model):
    """When a version that nobody calls may go."""

    automatic: bool = Field(True, description="false: the job only says what could go")
    grace: Span = Field("5m", description="how long nobody may call it")
    passes: Count = Field(3, description="complete looks in a row that must agree")
    pass_interval: Span = Field("30s", description="the least time between those")
    rollback_for: Span = Field("1h", description="how long it stays as the way back")
    idle_for: Span = Field("7d", description="the same as grace, once people have named it")
    max_drain: Span = Field("24h", description="after this a person is asked")
    park_for: Span = Field("24h", description="how long it can be revived by one commit")
    tombstone_for: Span = Field("30d", description="how long its name fails loudly")
