"""Series of pods, sorted to the versions they are of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gati_gitops.decide.observation import Gap, Labels, Missing, PodSeries, Series
from gati_gitops.observe.prometheus_answer import Raw
from gati_gitops.observe.prometheus_series import TARGET, Overlap, finite, interval, one, own_labels
from gati_gitops.observe.wanted import Deployed, scrape_of
from gati_gitops.plan.naming import slug

Place = tuple[str, str, str]
"""Namespace, unit and version, as the labels have them."""


@dataclass(slots=True)
class _Pod:
    up: list[Raw] = field(default_factory=list)
    requests: dict[Labels, list[Raw]] = field(default_factory=dict)
    faster: dict[Labels, list[Raw]] = field(default_factory=dict)
    in_flight: list[Raw] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Answers:
    """What was asked of pods."""

    up: Iterable[Raw]
    requests: Iterable[Raw]
    faster: Iterable[Raw]
    in_flight: Iterable[Raw]


@dataclass(frozen=True, slots=True)
class Found:
    """What there is of one version."""

    pods: Mapping[str, PodSeries]
    scrape: float
    """Seconds between two scrapes, as samples show them or as it was planned."""


def place_of(deployed: Deployed) -> Place:
    unit = deployed.stored.plan.unit
    return (unit.namespace, unit.object_name, slug(deployed.version.id))


class Pods:
    """Everything that pods say, by version."""

    def __init__(
        self,
        wanted: Iterable[Deployed],
        answers: Answers,
        replica: str,
        ignored: Iterable[str] = (),
    ) -> None:
        self._replica = replica
        self._drop = TARGET | {replica} if replica else TARGET
        self._ignored = frozenset(ignored)
        self._pods: dict[Place, dict[str, _Pod]] = {place_of(item): {} for item in wanted}
        self._bad: dict[Place, Missing] = {}
        self._strays: set[tuple[str, str]] = set()
        self._sort(answers)

    def of(self, deployed: Deployed) -> Found | Missing | None:
        """What there is of a version; None if there is nothing."""
        place = place_of(deployed)
        if place in self._bad:
            return self._bad[place]
        pods = self._pods[place]
        planned = scrape_of(deployed.stored)
        if not pods:
            return None
        try:
            found = {name: self._made(name, pod, planned) for name, pod in sorted(pods.items())}
        except Overlap as overlap:
            return Missing(Gap.AMBIGUOUS, f"{overlap}; if a pair of servers scrapes, name the"
                           " label that tells them apart in metrics.replicaLabel")  # fmt: skip
        seen = interval(pod.up for pod in found.values() if pod.up is not None)
        if seen > 1.5 * planned and deployed.stored.plan.scraped is not None:
            return Missing(
                Gap.PARTIAL, f"its samples are {seen:g} s apart, and every {planned:g} s is planned"
            )
        return Found(found, seen if seen and not planned / 1.5 < seen < planned * 1.5 else planned)

    def unlabelled(self, deployed: Deployed) -> bool:
        """Whether there are series of the unit that do not say of which version they are."""
        namespace, unit, _ = place_of(deployed)
        return (namespace, unit) in self._strays

    # -- sorting ----------------------------------------------------------------------------------

    def _sort(self, answers: Answers) -> None:
        for raw in answers.up:
            if (pod := self._pod(raw)) is not None:
                pod.up.append(raw)
        for raw in answers.requests:
            if raw.labels.get("route") not in self._ignored and (pod := self._pod(raw)) is not None:
                pod.requests.setdefault(own_labels(raw, self._drop), []).append(raw)
        for raw in answers.faster:
            if raw.labels.get("route") not in self._ignored and (pod := self._pod(raw)) is not None:
                pod.faster.setdefault(own_labels(raw, self._drop), []).append(raw)
        for raw in answers.in_flight:
            if (pod := self._pod(raw)) is not None:
                pod.in_flight.append(raw)

    def _pod(self, raw: Raw) -> _Pod | None:
        labels = raw.labels
        namespace, unit = labels.get("namespace", ""), labels.get("gati_unit", "")
        place = (namespace, unit, labels.get("gati_version", ""))
        pods = self._pods.get(place)
        if pods is None:
            if not place[2]:
                self._strays.add((namespace, unit))
            return None
        name = labels.get("pod", "")
        if not name:
            self._bad[place] = Missing(
                Gap.PARTIAL, f"there is a series of {_name(raw)} that names no pod"
            )
            return None
        if not finite(raw):
            self._bad[place] = Missing(
                Gap.NOT_A_NUMBER, f"{_name(raw)} of pod {name} has samples that are no number"
            )
            return None
        found = pods.get(name)
        if found is None:
            found = pods[name] = _Pod()
        return found

    def _made(self, name: str, pod: _Pod, scrape: float) -> PodSeries:
        return PodSeries(
            self._single(pod.up, scrape, f"pod {name} is scraped more than once at a time"),
            self._all(pod.requests, scrape, name),
            self._all(pod.faster, scrape, name),
            self._single(pod.in_flight, scrape, f"pod {name} has several gauges in flight"),
        )

    def _single(self, parts: list[Raw], scrape: float, otherwise: str) -> Series | None:
        if not parts:
            return None
        try:
            return one(parts, (), self._replica, scrape)
        except Overlap:
            raise Overlap(otherwise) from None

    def _all(
        self, series: Mapping[Labels, list[Raw]], scrape: float, name: str
    ) -> tuple[Series, ...]:
        try:
            return tuple(one(series[key], key, self._replica, scrape) for key in sorted(series))
        except Overlap:
            raise Overlap(f"pod {name} has several series with the same labels") from None


def _name(raw: Raw) -> str:
    return raw.labels.get("__name__", "a metric")
