"""What was seen: values that say how much they cover, how old they are and where they come from.

Nothing here is a bare number. What could not be seen is a Missing, with the kind of gap it is, so
that whoever decides has to say what a gap means; none of them ever means zero. Samples are raw, as
they were scraped: rates, sums and quantiles are made where they are judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

Labels = tuple[tuple[str, str], ...]
"""Names and values, sorted."""


class Gap(StrEnum):
    """Why something is not known."""

    NO_DATA = "no data"
    """Asked for, and nothing came."""
    NOT_A_NUMBER = "not a number"
    """NaN or an infinity."""
    STALE = "stale"
    """What came is older than it may be."""
    PARTIAL = "partial"
    """Not all of it came: the answer has warnings, was cut off, or lacks pods that exist."""
    AMBIGUOUS = "ambiguous"
    """Several answers where one is expected."""
    ERROR = "error"
    """It could not be asked."""
    UNSUPPORTED = "unsupported"
    """Nothing here measures it."""


@dataclass(frozen=True, slots=True)
class Missing:
    """Something that is not known, and why."""

    gap: Gap
    why: str
    source: str = ""

    def __str__(self) -> str:
        return f"{self.gap}: {self.why}" + (f" ({self.source})" if self.source else "")


# -- metrics -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Series:
    """Samples of one series, oldest first, as they were scraped."""

    labels: Labels
    times: tuple[float, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """The time that samples are of, by the clock of who keeps them."""

    at: float
    """When it was asked: nothing in it is younger."""
    span: float
    scrape: float
    """Seconds between two scrapes."""
    source: str = ""

    @property
    def start(self) -> float:
        return self.at - self.span


@dataclass(frozen=True, slots=True)
class PodSeries:
    """What one pod says of itself."""

    up: Series | None = None
    """Whether scrapes of it succeeded."""
    requests: tuple[Series, ...] = ()
    """Counters, with at least the label ``status_code``; probes and scrapes are left out."""
    faster: tuple[Series, ...] = ()
    """Counters of requests within a bound, with the label ``le``; and ``+Inf``, all of them."""
    in_flight: Series | None = None


@dataclass(frozen=True, slots=True)
class EdgeSeries:
    """What the gateway says of one version."""

    requests: tuple[Series, ...]
    """Counters with the label ``code``, one for each gateway pod and code."""
    active: tuple[Series, ...] | Missing
    """Requests that are open; not every gateway counts them by version."""
    up: tuple[Series, ...]
    """Whether scrapes of the gateway's pods succeeded."""
    scrape: float = 0.0
    """Seconds between two scrapes of the gateway; 0: as often as pods are."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A request that the job sent itself, to one version by name."""

    at: float
    status: int
    """0: nobody answered."""
    seconds: float


@dataclass(frozen=True, slots=True)
class Telemetry:
    """What metrics say of one version."""

    window: Window
    pods: Mapping[str, PodSeries] = field(default_factory=dict)
    """By name of pod."""
    edge: EdgeSeries | Missing = field(
        default_factory=lambda: Missing(Gap.UNSUPPORTED, "the gateway counts nothing by version")
    )
    sent: tuple[Sent, ...] = ()
    """Requests that the job sent itself, where that is configured; told as such."""
    gauged: bool = False
    """A gauge of requests in progress is asked for, so every pod must have it."""


# -- the cluster ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod, as the API server has it."""

    name: str
    ready: bool = False
    terminating: bool = False
    restarts: int = 0
    created: float = 0.0
    restarted: float = 0.0
    """When a container of it last began; 0 if that is not known."""
    waiting: str = ""
    """Why a container does not run: CrashLoopBackOff, ImagePullBackOff and the like."""
    counts_since: float = 0.0
    """When the container that counts requests began again; 0 if it never did."""


@dataclass(frozen=True, slots=True)
class Workload:
    """The Deployment of one version, with its pods."""

    desired: int
    """Of its spec: what the scaler or Git asks for."""
    ready: int
    settled: bool
    """The controller has seen the last change, and all pods are of the last revision."""
    stalled: str = ""
    """Why it makes no progress, as its own conditions say."""
    pods: tuple[Pod, ...] = ()
    endpoints: int = 0
    """Addresses in its EndpointSlices, ready, serving or terminating."""
    ready_endpoints: int = 0
    release: str = ""
    """Digest of the release folder that it was applied from, if it says so."""
    image: str = ""
    replicas_owner: str = ""
    """Who holds the number of pods, other than the sync engine; empty if nobody does."""
    warnings: tuple[str, ...] = ()
    """What its controllers complain of, for people to read; nothing hangs on it."""


@dataclass(frozen=True, slots=True)
class LiveRoute:
    """The route of a unit, as the cluster has it."""

    weights: Mapping[str, int]
    """By name of Service, of requests that name no version."""
    current: bool
    """Its controller has accepted and programmed what stands there."""
    why: str = ""
    """What is not as it should be."""
    pins: frozenset[str] = frozenset()
    """Version ids that have a rule of their own."""
    break_glass: str = ""
    """Why a person moved the traffic by hand while Git was down: an annotation on it."""
    edition: str = ""
    """Another one with every change of what it says, and back: by this a look tells what happened
    since the last one; empty: the cluster does not count that."""


class EngineState(StrEnum):
    SYNCED = "synced"
    BEHIND = "behind"
    """It works, and has not got to the last commit."""
    SUSPENDED = "suspended"
    """A person has stopped it, or a window has."""
    STUCK = "stuck"
    """It fails."""


@dataclass(frozen=True, slots=True)
class Engine:
    """The sync engine's word on the root that a unit is in."""

    state: EngineState
    why: str = ""
    revision: str = ""
    """The commit that it has applied."""


@dataclass(frozen=True, slots=True)
class Live:
    """One unit on one cluster, in one consistent look."""

    at: float
    workloads: Mapping[str, Workload]
    """By name of version object. What is not there does not exist: the list was complete."""
    route: LiveRoute | Missing | None
    """None: there is none, and the list was complete."""
    references: Mapping[str, tuple[str, ...]] | Missing
    """By name of version object: who else names its Service, as ``Kind namespace/name``."""
    engine: Engine | Missing
    frozen: str = ""
    """Why a person wants nothing to move: an annotation on a live object."""


# -- both ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Observation:
    """All that was seen of one unit on one cluster."""

    live: Live | Missing
    telemetry: Mapping[str, Telemetry | Missing] | Missing
    """By name of version object."""
