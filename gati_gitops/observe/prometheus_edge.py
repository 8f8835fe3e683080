"""What gateways counted, sorted to the versions it is of.

A gateway makes a series with the first request, so a version that none has come for has no series:
that is shown as none beside the proof that the gateway was looked at. Where it shows nothing of any
version, nothing is proved, and it is said to be missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from gati_gitops.decide.observation import EdgeSeries, Gap, Labels, Missing, Series
from gati_gitops.ledger.model import Phase
from gati_gitops.observe.profiles import profile_of
from gati_gitops.observe.profiles_model import Counts, Profile
from gati_gitops.observe.prometheus_answer import Gapped, Raw
from gati_gitops.observe.prometheus_query import exactly, one_of
from gati_gitops.observe.prometheus_series import TARGET, Overlap, finite, one, own_labels
from gati_gitops.observe.wanted import SCRAPE, Deployed
from gati_gitops.spec.metrics import Evidence

Ask = Callable[[str, Sequence[str]], list[Raw]]
"""Samples of a metric by matchers."""
_LEAVING = frozenset((Phase.DRAINING, Phase.PARKED, Phase.REJECTED))
_JOBS = 50


@dataclass(frozen=True, slots=True)
class Counted:
    """Series of one metric, by the name that the gateway has for a backend."""

    series: Mapping[str, list[Raw]]
    shared: frozenset[str]
    """Names that several versions have."""


class Edges:
    """Everything that gateways say, by version."""

    def __init__(
        self, wanted: Iterable[Deployed], evidence: Evidence, ask: Ask, replica: str, source: str
    ) -> None:
        self._ask = ask
        self._evidence = evidence
        self._replica = replica
        self._source = source
        self._drop = TARGET | {replica} if replica else TARGET
        by_profile: dict[str, tuple[Profile, list[Deployed]]] = {}
        for deployed in wanted:
            profile = profile_of(deployed, evidence)
            if isinstance(profile, Profile):
                by_profile.setdefault(profile.name, (profile, []))[1].append(deployed)
        self._gateways = {
            name: self._gateway(profile, versions)
            for name, (profile, versions) in by_profile.items()
        }

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
            return gap.missing(self._source)

    def _gateway(self, profile: Profile, versions: list[Deployed]) -> _Gateway | Missing:
        try:
            requests = self._counted(profile.requests, versions)
            leaving: Counted | None = None
            if profile.leaving is not None:
                parting = [item for item in versions if item.entry.phase in _LEAVING]
                leaving = self._counted(profile.leaving, parting) if parting else None
            active: Counted | Missing = (
                self._counted(profile.active, versions)
                if isinstance(profile.active, Counts)
                else profile.active
            )
            if not requests.series:
                raise Gapped(
                    Gap.NO_DATA,
                    f"{profile.name} shows no {profile.requests.metric} of any of our versions",
                )
            return _Gateway(
                profile, requests, leaving, active, self._up(requests), self._drop, self._replica
            )
        except Gapped as gap:
            return gap.missing(self._source)

    def _counted(self, counts: Counts, versions: list[Deployed]) -> Counted:
        owners: dict[str, Deployed] = {}
        shared: set[str] = set()
        for deployed in versions:
            for name in counts.names(deployed):
                if name in owners:
                    shared.add(name)
                owners[name] = deployed
        found: dict[str, list[Raw]] = {}
        also = exactly(self._evidence.gateway_labels)
        for matchers in counts.matchers(versions):
            for raw in self._ask(counts.metric, [*also, *matchers]):
                name = counts.read(raw.labels)
                if name in owners:
                    found.setdefault(name, []).append(raw)
        return Counted(found, frozenset(shared))

    def _up(self, requests: Counted) -> tuple[Series, ...]:
        """Whether all pods of the gateway were scraped, those without requests included."""
        places = {_job(raw) for group in requests.series.values() for raw in group}
        jobs = {job for job, _ in places}
        if "" in jobs or len(jobs) > _JOBS:
            raise Gapped(Gap.AMBIGUOUS, "it can't be told which pods are the gateway's")
        by_pod: dict[str, list[Raw]] = {}
        for raw in self._ask("up", [one_of("job", jobs)]):
            if _job(raw) in places:
                by_pod.setdefault(_target(raw), []).append(raw)
        if not by_pod:
            raise Gapped(Gap.NO_DATA, "whether the gateway's own pods are scraped is not known")
        try:
            return tuple(
                one(by_pod[pod], (("pod", pod),), self._replica, SCRAPE) for pod in sorted(by_pod)
            )
        except Overlap:
            raise Gapped(Gap.AMBIGUOUS, "the gateway is scraped more than once") from None


@dataclass(frozen=True, slots=True)
class _Gateway:
    """The answers about one kind of gateway."""

    profile: Profile
    requests: Counted
    leaving: Counted | None
    active: Counted | Missing
    up: tuple[Series, ...]
    drop: frozenset[str]
    replica: str

    def of(self, deployed: Deployed) -> EdgeSeries:
        profile = self.profile
        requests = self._series(profile.requests, self.requests, deployed)
        if profile.leaving is not None and deployed.entry.phase in _LEAVING:
            assert self.leaving is not None
            if deployed.entry.phase is Phase.PARKED and not self.leaving.series:
                raise Gapped(Gap.NO_DATA, profile.hint)
            requests += self._series(profile.leaving, self.leaving, deployed)
        return EdgeSeries(requests, self._active(deployed), self.up)

    def _active(self, deployed: Deployed) -> tuple[Series, ...] | Missing:
        counts = self.profile.active
        if isinstance(self.active, Missing) or isinstance(counts, Missing):
            return self.active if isinstance(self.active, Missing) else Missing(Gap.NO_DATA, "")
        found = self._series(counts, self.active, deployed)
        return found or Missing(
            Gap.NO_DATA, f"{self.profile.name} shows no {counts.metric} of this version"
        )

    def _series(self, counts: Counts, counted: Counted, deployed: Deployed) -> tuple[Series, ...]:
        by_labels: dict[Labels, list[Raw]] = {}
        for name in sorted(counts.names(deployed)):
            if name in counted.shared:
                raise Gapped(Gap.AMBIGUOUS, f"the gateway calls several versions {name}")
            for raw in counted.series.get(name, ()):
                if not finite(raw):
                    raise Gapped(
                        Gap.NOT_A_NUMBER, f"{counts.metric} has samples that are no number"
                    )
                by_labels.setdefault(self._labels(raw, counts), []).append(raw)
        try:
            return tuple(
                one(parts, labels, self.replica, SCRAPE)
                for labels, parts in sorted(by_labels.items())
            )
        except Overlap:
            raise Gapped(
                Gap.AMBIGUOUS,
                f"{counts.metric} is there more than once; if a pair of servers scrapes, name the"
                " label that tells them apart in metrics.replicaLabel",
            ) from None

    def _labels(self, raw: Raw, counts: Counts) -> Labels:
        own = dict(own_labels(raw, self.drop))
        if counts.code:
            own["code"] = own.pop(counts.code, "") or ""
        own["pod"] = _target(raw)
        return tuple(sorted(own.items()))


def _job(raw: Raw) -> tuple[str, str]:
    return (raw.labels.get("job", ""), raw.labels.get("namespace", ""))


def _target(raw: Raw) -> str:
    """The gateway's pod; without one, its address."""
    return raw.labels.get("pod") or raw.labels.get("instance", "")
