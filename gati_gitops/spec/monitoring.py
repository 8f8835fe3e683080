"""How units are watched: what Prometheus scrapes, and which objectives the alerts know."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gati_gitops.spec.common import DnsLabel, LabelKey, LabelValue, Model, Port


class Objectives(Model):
    """What a unit promises its callers; alerts fire when it is broken."""

    success_percent: Annotated[float, Field(gt=0, lt=100)] = 99.0
    latency_milliseconds: Annotated[int, Field(ge=1, le=60000)] = 500


class Monitoring(Model):
    """Settings for the Prometheus operator; without this section nothing is written for it."""

    namespace: DnsLabel = Field("monitoring", description="where Prometheus and Grafana run")
    labels: dict[LabelKey, LabelValue] = Field(
        default_factory=dict,
        max_length=16,
        description="labels by which Prometheus selects monitors and rules, such as release",
    )
    kind: Literal["service", "pod"] = Field("service", description="ServiceMonitor or PodMonitor")
    interval_seconds: Annotated[int, Field(ge=5, le=300)] = 15
    objectives: Objectives = Field(default_factory=Objectives)
    rules: bool = True
    dashboard: bool = True


class Metrics(Model):
    """Where a unit shows its own metrics."""

    scrape: bool = True
    path: str = Field("/metrics", pattern=r"^/", max_length=1024)
    port: Port | None = Field(None, description="default: the unit's own port")
