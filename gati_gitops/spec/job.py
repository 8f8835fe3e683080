"""The job that watches rollouts, as something that runs in a cluster: the job part of gati.yaml.

It runs in every cluster, for that cluster alone: it needs the cluster's own API server, its metrics
and the repository, and nothing of any other place. Secrets are named here and mounted as files;
no value of one ever stands in gati.yaml or in the output.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from gati_gitops.spec.common import (
    DnsLabel,
    DnsSubdomain,
    EnvName,
    Image,
    LabelKey,
    LabelValue,
    Model,
    Port,
    seconds,
)
from gati_gitops.spec.network import Cidr, Egress
from gati_gitops.spec.rollout import Span, Zone
from gati_gitops.spec.sync import Interval, Repository
from gati_gitops.spec.workload import Resources

SECRETS = "/var/run/secrets/gati-gitops"
"""Where the job finds the Secrets that are named, a folder for each."""

_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_FIELDS: tuple[tuple[str, int, int, tuple[str, ...]], ...] = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day of the month", 1, 31, ()),
    ("month", 1, 12, _MONTHS),
    ("day of the week", 0, 6, _DAYS),
)
_ITEM = re.compile(r"(?:\*|(?P<first>\w+)(?:-(?P<last>\w+))?)(?:/(?P<step>[1-9][0-9]?))?")


def _schedule(value: str) -> str:
    """As the CronJob controller reads it: five fields, and nothing else."""
    fields = value.split(" ")
    if len(fields) != 5:
        raise ValueError(
            f"a schedule has five fields, and this has {len(fields)};"
            " write one such as */2 * * * * (every two minutes)"
        )
    for text, (name, low, high, names) in zip(fields, _FIELDS, strict=True):
        for item in text.split(","):
            if not _fits(item, low, high, names):
                raise ValueError(
                    f"{text} is no {name}; write *, numbers from {low} to {high},"
                    " ranges such as 1-5, or steps such as */2"
                )
    return value


def _fits(item: str, low: int, high: int, names: tuple[str, ...]) -> bool:
    found = _ITEM.fullmatch(item)
    if found is None:
        return False
    ends = [_number(end, low, names) for end in (found["first"], found["last"]) if end is not None]
    return all(low <= end <= high for end in ends) and ends == sorted(ends)


def _number(text: str, low: int, names: tuple[str, ...]) -> int:
    if text.upper() in names:
        return names.index(text.upper()) + low
    return int(text) if text.isdecimal() and len(text) < 3 else -1


def _deadline(value: str) -> str:
    if not 30 <= seconds(value) <= 3600:
        raise ValueError("a pass may take from 30s to 1h; write a time between, such as 10m")
    return value


Schedule = Annotated[str, StringConstraints(max_length=100), AfterValidator(_schedule)]
Deadline = Annotated[Span, AfterValidator(_deadline)]


class JobSecrets(Model):
    """Secrets in the job's namespace; their keys are files to it, and nobody else reads them."""

    git: DnsSubdomain | None = Field(
        None,
        description="password, and username where it matters, for https; identity and known_hosts"
        " for ssh: the Secret that Flux reads fits",
    )
    metrics: DnsSubdomain | None = Field(
        None, description=f"what a cluster's metrics name below {SECRETS}/metrics"
    )
    forge: DnsSubdomain | None = Field(
        None, description="token, where pull requests are opened and git has another one"
    )
    signing: DnsSubdomain | None = Field(None, description="key, for signed commits")
    nudge: DnsSubdomain | None = Field(
        None, description="secret, by which sync.nudgeUrl knows who calls"
    )
    engine: DnsSubdomain | None = Field(
        None, description="kubeconfig with a context called as the cluster's sync.hub"
    )


class ApiServer(Model):
    """Where the cluster's API server is, as a NetworkPolicy can say it."""

    cidrs: list[Cidr] = Field(
        default_factory=list, max_length=16, description="default: any address"
    )
    ports: list[Port] = Field(default_factory=lambda: [443, 6443], min_length=1, max_length=8)


class Job(Model):
    """What is deployed to watch rollouts; an environment or cluster may say parts of it anew."""

    enabled: bool = Field(True, description="false: not here")
    mode: Literal["cronjob", "deployment"] = "deployment"
    image: Image | None = Field(None, description="with gati-gitops in it; needed somewhere")
    repository: Repository | None = Field(
        None, description="where it writes; default: sync.repository"
    )
    namespace: DnsLabel = "gati-system"
    schedule: Schedule = Field("*/2 * * * *", description="of a cronjob")
    drift_schedule: Schedule = Field(
        "*/10 * * * *", description="when drift is answered, where the environment wants that"
    )
    time_zone: Zone = Field("Etc/UTC", description="of the schedules")
    interval: Interval = Field("60s", description="between the passes of a deployment")
    deadline: Deadline = Field("10m", description="what takes longer is taken for stuck")
    replicas: Annotated[int, Field(ge=1, le=2)] = Field(
        1, description="of a deployment; with 2 one leads and the other waits"
    )
    resources: Resources | None = Field(None, description="default: enough for 1,000 units")
    secrets: JobSecrets = Field(default_factory=JobSecrets)
    events: bool = Field(True, description="Events on the objects that are decided about")
    status: bool = Field(True, description="the status of Gati objects that are in the cluster")
    env: dict[EnvName, str] = Field(
        default_factory=dict, max_length=64, description="such as OTEL_EXPORTER_OTLP_ENDPOINT"
    )
    labels: dict[LabelKey, LabelValue] = Field(default_factory=dict, max_length=16)
    service_account_annotations: dict[LabelKey, str] = Field(
        default_factory=dict, max_length=16, description="such as a cloud's role"
    )
    image_pull_secrets: list[DnsSubdomain] = Field(default_factory=list, max_length=8)
    runbooks: Annotated[str, StringConstraints(pattern=r"^[!-~]+$", max_length=1024)] = Field(
        "docs/runbooks.md", description="where its alerts send people; yours, if you keep a copy"
    )
    api_server: ApiServer = Field(default_factory=ApiServer)
    egress: list[Egress] = Field(
        default_factory=list,
        max_length=16,
        description="what else it may call; default: where repository and metrics are",
    )
