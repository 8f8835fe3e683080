"""The report: what a change of the specs changes, as frozen data that every writer reads.

    Review
      findings                what it means, worst first: each with severity, sentence and spec line
      classes                 the same change in many places, said once
      environments > clusters > units > versions > objects > fields
      totals, radius          sums

Nothing in it is secret: values that may be are replaced by keyed fingerprints (``mask.py``) before
anything is compared, so a writer may print all of it. Text comes from users, though: a writer
escapes it for its own format.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from gati_gitops.errors import Place

FORMAT = 1
"""Version of the report's data; the JSON form and its schema carry it."""


class Level(StrEnum):
    """How much a finding matters to who approves."""

    DANGER = "danger"
    """Breaks callers, loses something, opens something, or cannot be undone by a revert."""
    WARNING = "warning"
    """Worth a look: pods restart, traffic moves, objects go."""
    NOTE = "note"
    """What will happen; nothing to worry about."""


class Action(StrEnum):
    """What happens to one object."""

    CREATE = "create"
    DELETE = "delete"
    """Pruned by the engine that syncs the cluster."""
    CHANGE = "change"
    """Updated in place."""
    RECREATE = "recreate"
    """Deleted and made again: a field changed that the API server lets nobody change."""
    RENAME = "rename"
    """The same object under another name or in another place: one goes, one comes."""


class Op(StrEnum):
    """What happens to one field."""

    ADD = "add"
    REMOVE = "remove"
    REPLACE = "replace"
    ORDER = "order"
    """The same elements of a list in another order; before and after are lists of their keys."""


# -- where ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, order=True)
class ObjectId:
    """What makes an object the same object; the version of its API does not."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else self.kinded

    @property
    def kinded(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """One place that something is said of; what does not apply is empty."""

    environment: str = ""
    cluster: str = ""
    unit: str = ""
    """``namespace/name``, or ``namespace/module-name``."""
    version: str = ""
    object: ObjectId | None = None


@dataclass(frozen=True, slots=True)
class Keyed:
    """A step into a list by what its elements are merged by: ``[name=app]``.

    A key that the element does not have is None.
    """

    keys: tuple[tuple[str, Any], ...]

    def __str__(self) -> str:
        said = (f"{name}={value}" for name, value in self.keys if value is not None)
        return "[" + ",".join(said) + "]"


Step = str | int | Keyed
Path = tuple[Step, ...]


def show_path(path: Path) -> str:
    """``spec.template.spec.containers[name=app].image``"""
    shown = ""
    for step in path:
        if isinstance(step, Keyed):
            shown += str(step)
        elif isinstance(step, int):
            shown += f"[{step}]"
        elif "." in step or "[" in step:
            shown += f'["{step}"]'
        else:
            shown += f".{step}" if shown else step
    return shown


# -- what differs --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field of an object. ``before`` and ``after`` are plain JSON values."""

    path: Path
    op: Op
    before: Any = None
    after: Any = None
    change_class: str = ""
    """The id of the class that says it once for all; empty where it stands alone."""
    index: int | None = None
    """Where in its list an element stands that was added."""

    @property
    def shown(self) -> str:
        return show_path(self.path)


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """One object that differs."""

    id: ObjectId
    action: Action
    fields: tuple[FieldChange, ...] = ()
    """What differs; for what is created, from what ``like`` names, if anything."""
    noise: tuple[FieldChange, ...] = ()
    """Differs too, but tells nobody anything: provenance, digests of what is shown elsewhere."""
    was: ObjectId | None = None
    """What it was before, where it was renamed or moved."""
    before: dict[str, Any] | None = field(default=None, repr=False)
    """The whole object, masked; None if it was not there."""
    after: dict[str, Any] | None = field(default=None, repr=False)
    folder: str = ""
    """The folder of the output whose build gives it (of the head, or of the base if it goes)."""
    change_class: str = ""
    """Of an object that is created, deleted or renamed without more: the class that says it."""
    like: ObjectId | None = None
    """Of an object of a new version: the same object of the version that serves until then."""


@dataclass(frozen=True, slots=True)
class State:
    """A version on one side."""

    phase: str = ""
    weight: int | None = None
    image: str = ""
    digest: str = ""
    """Of its spec."""
    release: str = ""
    scaler: str = ""
    """none, hpa, keda …; empty where nothing is left of it. What waits will have this."""
    min: int = 0
    max: int = 0
    waiting: str = ""
    """Digest of a revision of it that is not rolled out yet."""


@dataclass(frozen=True, slots=True)
class VersionReview:
    """One version of a unit on a cluster."""

    id: str
    before: State | None
    after: State | None
    objects: tuple[ObjectChange, ...] = ()
    restarts: bool = False
    """Its running pods are replaced."""
    was: str = ""
    """The version whose objects these were, where they are the same under another id."""
    like: str = ""
    """The version that serves until then: objects of a new one are shown beside its objects."""


@dataclass(frozen=True, slots=True)
class UnitReview:
    """One unit on one cluster."""

    unit: str
    kind: str
    """handler or module."""
    namespace: str
    name: str
    action: Action
    """CREATE: new here; DELETE: nothing is left; RENAME: see ``was``; else CHANGE."""
    versions: tuple[VersionReview, ...] = ()
    objects: tuple[ObjectChange, ...] = ()
    """Of the unit as a whole: its route, its Service, what templates add."""
    rollout: tuple[str, ...] = ()
    """What happens after the merge, a sentence each, in order."""
    files: tuple[str, ...] = ()
    """The spec files it comes from."""
    was: str = ""
    retiring: bool = False
    held: str = ""

    def all_objects(self) -> Iterator[tuple[str, ObjectChange]]:
        """Every object with its version; "" for those of the unit as a whole."""
        yield from (("", change) for change in self.objects)
        yield from ((v.id, change) for v in self.versions for change in v.objects)


@dataclass(frozen=True, slots=True)
class ClusterReview:
    """One cluster of an environment."""

    name: str
    units: tuple[UnitReview, ...] = ()
    objects: tuple[ObjectChange, ...] = ()
    """Of no unit: namespaces, CRDs, what engines sync the cluster by."""


@dataclass(frozen=True, slots=True)
class EnvironmentReview:
    name: str
    clusters: tuple[ClusterReview, ...] = ()
    totals: Totals | None = None


# -- sums ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Amount:
    """What pods ask for. CPU in thousandths of a core, memory in bytes."""

    pods: int = 0
    cpu_requests: int = 0
    memory_requests: int = 0
    cpu_limits: int = 0
    memory_limits: int = 0
    cost: float | None = None
    """Of the requests, for a month; None without prices."""


@dataclass(frozen=True, slots=True)
class Totals:
    """An environment's sum: with the fewest pods that may run, and with the most."""

    least_before: Amount
    least_after: Amount
    most_before: Amount
    most_after: Amount
    whole: bool = False
    """Whether this is the sum of the whole environment, or only of the units that differ."""


@dataclass(frozen=True, slots=True)
class Radius:
    """How much is touched."""

    environments: int = 0
    clusters: int = 0
    units: int = 0
    """Different units; one on two clusters counts once."""
    created: int = 0
    changed: int = 0
    recreated: int = 0
    renamed: int = 0
    deleted: int = 0

    @property
    def objects(self) -> int:
        return self.created + self.changed + self.recreated + self.renamed + self.deleted


# -- what is said once ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Outlier:
    """A place where the same fields changed, but otherwise."""

    target: Target
    fields: tuple[FieldChange, ...]


@dataclass(frozen=True, slots=True)
class ChangeClass:
    """One change in many places. What each unit calls its own stands as ``{unit}`` and the like."""

    id: str
    title: str
    """One sentence, e.g. ``Deployment: image registry/app:1 → registry/app:2``."""
    kind: str
    """Of the objects; empty where there are several."""
    action: Action
    fields: tuple[FieldChange, ...]
    """The change, with what differs from unit to unit abstracted."""
    targets: tuple[Target, ...]
    """Environment, cluster, unit and version: every place it is in."""
    units: int
    """Different units among them."""
    outliers: tuple[Outlier, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that the change means. A danger is a finding of level DANGER."""

    code: str
    """See ``preview/codes.py`` for what each means, and for a title where there are many."""
    level: Level
    message: str
    """One sentence, without a full stop."""
    targets: tuple[Target, ...] = ()
    """Where: the places of one unit, mostly; all of them where it is about no unit."""
    place: Place | None = None
    """The line of the specs that caused it."""
    field: str = ""
    """The field of the object it is about, as ``show_path`` writes it."""
    before: str = ""
    after: str = ""
    remedy: str = ""


# -- the whole -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Compared:
    """One of the two sides."""

    name: str
    """What the user called it: a folder or a revision."""
    commit: str = ""
    project: str = ""


@dataclass(frozen=True, slots=True)
class Review:
    """All of it."""

    base: Compared
    head: Compared
    ledger: str = ""
    """Which output's ledgers both sides were compiled with; empty: as a first publish."""
    notes: tuple[str, ...] = ()
    """What a reader must know about the review itself, a sentence each."""
    findings: tuple[Finding, ...] = ()
    classes: tuple[ChangeClass, ...] = ()
    environments: tuple[EnvironmentReview, ...] = ()
    objects: tuple[ObjectChange, ...] = ()
    """Of no environment."""
    radius: Radius = field(default_factory=Radius)

    @property
    def same(self) -> bool:
        """Whether nothing that anybody applies, and nothing that was decided, would change."""
        return not self.environments and not self.objects

    @property
    def dangers(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.level is Level.DANGER)

    def units(self) -> Iterator[tuple[str, str, UnitReview]]:
        """Every unit with its environment and cluster."""
        for environment in self.environments:
            for cluster in environment.clusters:
                for unit in cluster.units:
                    yield environment.name, cluster.name, unit
