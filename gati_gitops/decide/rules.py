"""The numbers that are judged by, in seconds and shares, as an environment's settings give them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from gati_gitops.errors import Refused
from gati_gitops.spec.common import Model, seconds
from gati_gitops.spec.project import Promotion
from gati_gitops.spec.rollout import Analysis, Decommission, Rollout, Strategy

Settings = TypeVar("Settings", bound=Model)


@dataclass(frozen=True, slots=True)
class Rules:
    """How one environment judges."""

    strategy: Strategy
    steps: tuple[int, ...]
    # -- a version that comes
    interval: float
    step_for: float
    max_step: float
    max_errors: float
    """The share of requests that may fail."""
    latency: float
    """Seconds within which a request should be answered."""
    max_slow: float
    """The share of requests that may take longer."""
    min_requests: int
    max_drop: float
    """By how much more may fail than of the Active version, as a share."""
    max_slow_ratio: float
    failures: int
    failures_in_step: int
    inconclusive_limit: int
    error_limit: int
    progress_deadline: float
    roll_back_without_data: bool
    # -- a version that goes
    automatic: bool
    grace: float
    passes: int
    pass_interval: float
    rollback_for: float
    idle_for: float
    max_drain: float
    park_for: float
    tombstone_for: float
    # -- an environment as a whole
    breaker_units: int
    breaker_share: float
    promoted_after: str = ""
    """The environment that must have proved a version; empty: none."""
    dwell: float = 0.0
    synthetic: int = 0
    """Requests of our own that a version must answer well before it gets any; 0: none are sent."""


def rules_from(settings: Mapping[str, Any], env: str) -> Rules:
    """The rules of an environment, from what its overlay remembers. Raises Refused."""
    rollout = _read(Rollout, settings.get("rollout"), env)
    leaving = _read(Decommission, settings.get("decommission"), env)
    said = settings.get("promotion")
    promotion = _read(Promotion, said, env) if said else None
    analysis = rollout.analysis
    return Rules(
        strategy=rollout.strategy,
        steps=tuple(rollout.steps) if rollout.strategy == "canary" else (100,),
        interval=seconds(analysis.interval),
        step_for=seconds(analysis.step_for),
        max_step=seconds(analysis.max_step),
        max_errors=_share(analysis.success_percent),
        latency=analysis.latency_milliseconds / 1000,
        max_slow=_share(analysis.latency_percent),
        min_requests=_enough(analysis),
        max_drop=round(analysis.max_success_drop / 100, 9),
        max_slow_ratio=analysis.max_latency_ratio,
        failures=analysis.failures,
        failures_in_step=analysis.failures_in_step,
        inconclusive_limit=analysis.inconclusive_limit,
        error_limit=analysis.error_limit,
        progress_deadline=seconds(analysis.progress_deadline),
        roll_back_without_data=analysis.on_no_data == "rollback",
        automatic=leaving.automatic,
        grace=seconds(leaving.grace),
        passes=leaving.passes,
        pass_interval=seconds(leaving.pass_interval),
        rollback_for=seconds(leaving.rollback_for),
        idle_for=seconds(leaving.idle_for),
        max_drain=seconds(leaving.max_drain),
        park_for=seconds(leaving.park_for),
        tombstone_for=seconds(leaving.tombstone_for),
        breaker_units=rollout.breaker.units,
        breaker_share=rollout.breaker.percent / 100,
        promoted_after=promotion.after if promotion else "",
        dwell=seconds(promotion.dwell) if promotion else 0.0,
        synthetic=analysis.synthetic.requests if analysis.synthetic else 0,
    )


def _share(percent: float) -> float:
    """What may go wrong where ``percent`` must go well."""
    return round(1 - percent / 100, 9)


def _enough(analysis: Analysis) -> int:
    """As many requests as show, if all go well, that the share of failures is below the limit."""
    if analysis.min_requests is not None:
        return analysis.min_requests
    strictest = min(_share(analysis.success_percent), _share(analysis.latency_percent))
    return math.ceil(round(3 / strictest, 6))


def _read(model: type[Settings], said: object, env: str) -> Settings:
    try:
        return model.model_validate(said or {}, by_alias=True)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise Refused(
            f"overlays/{env}/project.yaml has settings that this version does not know: {where}",
            remedy="use the version of gati-gitops that published it, or a newer one",
        ) from None
