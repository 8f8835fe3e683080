"""The parts of an evidence profile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from gati_gitops.decide.observation import Missing
from gati_gitops.observe.prometheus_query import NAMED, exactly, like, literal
from gati_gitops.observe.wanted import Deployed

Read = Callable[[Mapping[str, str]], str]
Names = Callable[[Deployed], frozenset[str]]
# What Prometheus calls labels of its own; a program's label of that name becomes exported_….
_CLASHING = frozenset(("container", "endpoint", "instance", "job", "namespace", "pod", "service"))


@dataclass(frozen=True, slots=True)
class Counts:
    """One metric of a gateway that counts by backend."""

    metric: str
    label: str
    """The label by which it is asked for."""
    names: Names
    """What a version is called there."""
    read: Read
    """Whose a series is, by one of these names."""
    code: str = ""
    """The label with the status code; a gauge has none."""
    ours: str = ".+"
    """An expression that the label matches for all versions of ours."""
    where: tuple[tuple[str, str], ...] = ()
    asked: Names | None = None
    """Expressions that the label matches for one version, where that is not its names."""

    def matchers(self, wanted: Iterable[tuple[Deployed, frozenset[str]]]) -> list[list[str]]:
        """Selectors for versions and their names, one for each way the label may be spelled."""
        expressions: set[str] = set()
        for deployed, names in wanted:
            expressions |= self.asked(deployed) if self.asked else set(map(literal, names))
            if len(expressions) > NAMED:
                expressions = {self.ours}
                break
        spelled = [self.label, *([f"exported_{self.label}"] if self.label in _CLASHING else [])]
        fixed = exactly(dict(self.where))
        return [[*fixed, like(name, "|".join(sorted(expressions)))] for name in spelled]


@dataclass(frozen=True, slots=True)
class Profile:
    """What one kind of gateway counts."""

    name: str
    requests: Counts
    active: Counts | Missing
    leaving: Counts | None = None
    """Counts requests for versions that have no pods, where ``requests`` does not."""
    hint: str = ""
    """What to do when ``leaving`` shows nothing."""
    unseen: str = ""
    """Why calls for a version that is parked are not counted at all; empty: they are."""


def service_name(pattern: str, deployed: Deployed) -> str:
    """A pattern with the namespace, Service and port of a version filled in."""
    plan, version = deployed.stored.plan, deployed.version
    return pattern.format(
        namespace=plan.unit.namespace, service=version.name, port=str(version.port)
    )


def named(*patterns: str) -> Names:
    return lambda deployed: frozenset(service_name(pattern, deployed) for pattern in patterns)


def label(name: str) -> Read:
    """Reads a label that the scrape may have renamed."""
    return lambda labels: labels.get(f"exported_{name}") or labels.get(name, "")
