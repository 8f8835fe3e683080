"""What gateways counted, sorted to the versions it is of.

A gateway makes a series with the first request, so a version that none has come for has no series.
That is taken for none where the gateway is seen to count: for a version that comes, where it counts
anything at all; for one that goes, only where it counts for another version of the same unit, so
that the names are known to be right. Otherwise nothing is proved, and it is missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from gati_gitops.decide.observation import EdgeSeries, Gap, Labels, Missing, Series
from gati_gitops.ledger.model import Phase
from gati_gitops.observe.profiles import profile_of
from gati_gitops.observe.profiles_model import Counts, Profile
from gati_gitops.observe.prometheus_answer import Gapped, Raw
from gati_gitops.observe.prometheus_query import exactly, one_of
from gati_gitops.observe.prometheus_series import (
    TARGET,
    Overlap,
    before,
    finite,
    interval,
    one,
    own_labels,
)
from gati_gitops.observe.wanted import SCRAPE, Deployed
from gati_gitops.output import UnitKey
from gati_gitops.spec.metrics import Evidence

LEAVING = frozenset((Phase.DRAINING, Phase.PARKED, Phase.REJECTED))
_JOBS = 50
_SETTLES = 10.0
"""Seconds a scrape may take: what it found is there at its end, with the time of its beginning."""


class Asked(Protocol):
    """Who can be asked for series."""

    @property
    def at(self) -> float: ...
    def samples(self, metric: str, matchers: Sequence[str]) -> list[Raw]: ...
    def places(self, metric: str, matchers: Sequence[str]) -> set[tuple[str, str]]: ...


@dataclass(frozen=True, slots=True)
class _Counted:
    """Series of one metric, by the name that the gateway has for a backend."""

    series: Mapping[str, list[Raw]]
    names: Mapping[tuple[UnitKey, str], frozenset[str]]
    """Of each version."""
    shared: frozenset[str]
    """Names that several versions have."""

    def of(self, deployed: Deployed) -> frozenset[str]:
        return self.names[deployed.key, deployed.version.name]


class Edges:
    """Everything that gateways say, by version."""

    def __init__(
        self, wanted: Iterable[Deployed], evidence: Evidence, asked: Asked, replica: str, name: str
    ) -> None:
        self._asked = asked
        self._evidence = evidence
        self._replica = replica
        self._name = name
        by_profile: dict[str, tuple[Profile, list[Deployed]]] = {}
        for deployed in wanted:
            profile = profile_of(deployed, evidence)
            if isinstance(profile, Profile):
                by_profile.setdefault(profile.name, (profile, []))[1].append(deployed)
        self._gateways = {
            name: self._gateway(profile, versions)
            for name, (profile, versions) in by_profile.items()
        }

    @property
    def scrape(self) -> float:
        """Seconds between two scrapes of the gateway that is read most rarely; 0: not known."""
        known = (found for found in self._gateways.values() if isinstance(found, _Gateway))
        return max((gateway.scrape for gateway in known), default=0.0)

    def of(self, deployed: Deployed) -> EdgeSeries | Missing:
        """What the gateway says of a version."""
        profile = profile_of(deployed, self._evidence)
        if isinstance(profile, Missing):
            return profile
        gateway = self._gateways[profile.name]
        if isinstance(gateway, Missing):
            return gateway
        try:
            return gateway.of(deployed)
        except Gapped as gap:
            return gap.missing(self._name)

    def _gateway(self, profile: Profile, versions: list[Deployed]) -> _Gateway | Missing:
        parting = [item for item in versions if item.entry.phase in LEAVING]
        try:
            requests = self._counted(profile.requests, versions)
            leaving, blind = None, False
            if profile.leaving is not None and parting:
                leaving = self._counted(profile.leaving, parting)
                blind = not (leaving.series or self._places(profile.leaving))
            active: _Counted | Missing = (
                self._counted(profile.active, versions)
                if isinstance(profile.active, Counts)
                else profile.active
            )
            seen = frozenset(
                item.key
                for item in versions
                if any(name in requests.series for name in requests.of(item))
            )
            up, scrape = self._up(profile, requests)
        except Gapped as gap:
            return gap.missing(self._name)
        drop = TARGET | {self._replica} if self._replica else TARGET
        return _Gateway(
            profile, requests, leaving, blind, active, up, scrape, seen, drop, self._replica
        )

    def _counted(self, counts: Counts, versions: list[Deployed]) -> _Counted:
        named = [(deployed, counts.names(deployed)) for deployed in versions]
        times = Counter(name for _, names in named for name in names)
        found: dict[str, list[Raw]] = {}
        also = exactly(self._evidence.gateway_labels)
        for matchers in counts.matchers(named):
            for raw in self._asked.samples(counts.metric, [*also, *matchers]):
                name = counts.read(raw.labels)
                if name in times:
                    found.setdefault(name, []).append(raw)
        return _Counted(
            found,
            {(item.key, item.version.name): names for item, names in named},
            frozenset(name for name in times if times[name] > 1),
        )

    def _places(self, counts: Counts) -> set[tuple[str, str]]:
        """Who shows a metric at all, whomever it is about."""
        fixed = {**dict(counts.where), **self._evidence.gateway_labels}
        return self._asked.places(counts.metric, exactly(fixed))

    def _up(self, profile: Profile, requests: _Counted) -> tuple[tuple[Series, ...], float]:
        """Whether all pods of the gateway were scraped, those without requests too; how often."""
        places = {_job(raw) for group in requests.series.values() for raw in group}
        if not places:
            places = self._places(profile.requests)
            if not places:
                metric = profile.requests.metric
                raise Gapped(Gap.NO_DATA, f"nobody shows {metric}, so that nothing is counted")
        jobs = {job for job, _ in places}
        if "" in jobs or len(jobs) > _JOBS:
            raise Gapped(Gap.AMBIGUOUS, "it can't be told which pods are the gateway's")
        by_pod: dict[str, list[Raw]] = {}
        for raw in self._asked.samples("up", [one_of("job", jobs)]):
            if _job(raw) in places:
                by_pod.setdefault(_target(raw), []).append(raw)
        if not by_pod:
            raise Gapped(Gap.NO_DATA, "whether the gateway's own pods are scraped is not known")
        seen = interval(raw for parts in by_pod.values() for raw in parts)
        try:
            found = [
                one(by_pod[pod], (("pod", pod),), self._replica, seen or SCRAPE)
                for pod in sorted(by_pod)
            ]
        except Overlap:
            raise Gapped(Gap.AMBIGUOUS, "the gateway is scraped more than once at a time") from None
        # counters were asked for before: of a scrape that ended since they have nothing yet
        until = self._asked.at - min(_SETTLES, (seen or SCRAPE) / 2)
        settled = [before(up, until) for up in found]
        return tuple(up for up in settled if up.times) or tuple(found), seen


@dataclass(frozen=True, slots=True)
class _Gateway:
    """The answers about one kind of gateway."""

    profile: Profile
    requests: _Counted
    leaving: _Counted | None
    blind: bool
    """Nobody counts calls for versions without pods."""
    active: _Counted | Missing
    up: tuple[Series, ...]
    scrape: float
    seen: frozenset[UnitKey]
    """Units of which it has counted something."""
    drop: frozenset[str]
    replica: str

    def of(self, deployed: Deployed) -> EdgeSeries:
        profile, phase = self.profile, deployed.entry.phase
        if phase is Phase.PARKED and profile.unseen:
            raise Gapped(Gap.UNSUPPORTED, profile.unseen)
        if phase in LEAVING and deployed.key not in self.seen:
            raise Gapped(
                Gap.NO_DATA,
                f"{profile.name} shows no {profile.requests.metric} of any version of the unit, so"
                " that its silence proves nothing",
            )
        requests = self._series(profile.requests, self.requests, deployed)
        if profile.leaving is not None and phase in LEAVING:
            assert self.leaving is not None
            if phase is Phase.PARKED and self.blind:
                raise Gapped(Gap.NO_DATA, profile.hint)
            requests += self._series(profile.leaving, self.leaving, deployed)
        return EdgeSeries(requests, self._active(deployed), self.up, self.scrape)

    def _active(self, deployed: Deployed) -> tuple[Series, ...] | Missing:
        counts = self.profile.active
        if isinstance(counts, Missing):
            return counts
        assert isinstance(self.active, _Counted)
        found = self._series(counts, self.active, deployed)
        return found or Missing(
            Gap.NO_DATA, f"{self.profile.name} shows no {counts.metric} of this version"
        )

    def _series(self, counts: Counts, counted: _Counted, deployed: Deployed) -> tuple[Series, ...]:
        found = []
        for name in sorted(counted.of(deployed)):
            if name in counted.shared:
                raise Gapped(Gap.AMBIGUOUS, f"the gateway calls several versions {name}")
            by_labels: dict[Labels, list[Raw]] = {}
            for raw in counted.series.get(name, ()):
                if not finite(raw):
                    raise Gapped(
                        Gap.NOT_A_NUMBER, f"{counts.metric} has samples that are no number"
                    )
                by_labels.setdefault(self._labels(raw, counts, name), []).append(raw)
            try:
                for labels, parts in sorted(by_labels.items()):
                    found.append(one(parts, labels, self.replica, self.scrape or SCRAPE))
            except Overlap:
                raise Gapped(
                    Gap.AMBIGUOUS,
                    f"{counts.metric} is there more than once; if a pair of servers scrapes, name"
                    " the label that tells them apart in metrics.replicaLabel",
                ) from None
        return tuple(found)

    def _labels(self, raw: Raw, counts: Counts, name: str) -> Labels:
        own = dict(own_labels(raw, self.drop | {counts.label, f"exported_{counts.label}"}))
        if counts.code:
            own["code"] = own.pop(counts.code, "")
        return tuple(
            sorted({**own, "backend": name, "metric": counts.metric, "pod": _target(raw)}.items())
        )


def _job(raw: Raw) -> tuple[str, str]:
    return (raw.labels.get("job", ""), raw.labels.get("namespace", ""))


def _target(raw: Raw) -> str:
    """The gateway's pod; without one, its address."""
    return raw.labels.get("pod") or raw.labels.get("instance", "")
