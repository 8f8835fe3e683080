"""What rules look at: one unit on one cluster, before and after, with all that differs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gati_gitops.errors import Place
from gati_gitops.preview.drafts import UnitDraft
from gati_gitops.preview.folders import Differing
from gati_gitops.preview.locate import Field
from gati_gitops.preview.meaning.causes import concerns, contents
from gati_gitops.preview.meaning.templates import template_of
from gati_gitops.preview.model import (
    Action,
    ClusterReview,
    Finding,
    Level,
    ObjectChange,
    Target,
    UnitReview,
    VersionReview,
)
from gati_gitops.preview.side import Side, UnitSide

Object = dict[str, Any]
Settings = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Scene:
    """The whole change."""

    before: Side
    after: Side
    differing: Differing
    settings: tuple[Mapping[str, Settings], Mapping[str, Settings]]
    """What each environment's project.yaml says, before and after."""
    first: bool
    """Without ledgers: as if neither side had ever been published."""
    moved: tuple[Field, ...] = ()
    """Settings of the project that differ."""

    def cause(self, unit: UnitDraft, hint: str = "") -> Place | None:
        """The setting that did something to a unit whose documents are the same on both sides."""
        env, cluster = unit.place[:2]
        found = [path for path in self.moved if concerns(path, env, cluster)]
        if not found or unit.before is None or unit.after is None:
            return None
        if contents(self.before, unit.before.place) != contents(self.after, unit.after.place):
            return None
        path = next((path for path in found if hint in path), found[0])
        return self.after.locate((env, "", "", ""), "", path)


@dataclass(frozen=True, slots=True)
class UnitScene:
    """One unit on one cluster."""

    scene: Scene
    draft: UnitDraft
    review: UnitReview

    @property
    def environment(self) -> str:
        return self.draft.place[0]

    @property
    def cluster(self) -> str:
        return self.draft.place[1]

    @property
    def before(self) -> UnitSide | None:
        return self.draft.before

    @property
    def after(self) -> UnitSide | None:
        return self.draft.after

    @property
    def settings(self) -> Settings:
        """The environment's settings after the change."""
        return self.scene.settings[1].get(self.environment, {})

    def deployment(self, version: str) -> tuple[Object | None, Object | None]:
        """A version's Deployment as it was, or as that of the version it takes over from; and as it
        will be.
        """
        was, now = self.draft.pods
        old = self.draft.versions.get(version) or self.draft.like.get(version, version)
        before, after = was.get(old), now.get(version)
        return before.shown if before else None, after.shown if after else None

    def changes(self, *kinds: str) -> Iterator[tuple[str, ObjectChange]]:
        """Objects of some kinds, with their versions."""
        for version, change in self.review.all_objects():
            if not kinds or change.id.kind in kinds:
                yield version, change

    def version(self, id: str) -> VersionReview | None:
        return next((one for one in self.review.versions if one.id == id), None)

    def target(self, version: str = "", change: ObjectChange | None = None) -> Target:
        return Target(
            self.environment,
            self.cluster,
            self.review.unit,
            version,
            change.id if change is not None else None,
        )

    def finding(
        self,
        code: str,
        level: Level,
        message: str,
        *,
        version: str = "",
        at: tuple[str, ...] = ("spec",),
        setting: str = "",
        change: ObjectChange | None = None,
        field: str = "",
        before: str = "",
        after: str = "",
        remedy: str = "",
    ) -> Finding:
        """A finding at the line of the specs that says it: of the head, or of the base if the head
        no longer says anything. What its specs say on both sides alike was done by the settings:
        by ``setting``, where several differ.
        """
        return Finding(
            code,
            level,
            message,
            (self.target(version, change),),
            self._found(version, at, change, setting),
            field,
            before,
            after,
            remedy,
        )

    def _found(
        self, version: str, at: Field, change: ObjectChange | None, setting: str
    ) -> Place | None:
        """Of the head first; what is no longer there, of the base."""
        scene, draft = self.scene, self.draft
        sides = [(scene.after, draft.after), (scene.before, draft.before)]
        if change is not None and change.action is Action.DELETE:
            sides.reverse()
        for side, unit in sides:
            if unit is None:
                continue
            named = template_of(side, unit, version, change.id) if change is not None else ""
            if named:
                return side.template(named)
            place = scene.cause(draft, setting) or side.locate(unit.place, version, at)
            if place is not None:
                return place
        return None


@dataclass(frozen=True, slots=True)
class ClusterScene:
    """One cluster: its units, and what belongs to none of them."""

    scene: Scene
    review: ClusterReview
    environment: str
    units: tuple[UnitScene, ...] = ()

    def finding(
        self,
        code: str,
        level: Level,
        message: str,
        changes: Iterable[ObjectChange] = (),
    ) -> Finding:
        targets = [
            Target(self.environment, self.review.name, object=change.id) for change in changes
        ] or [Target(self.environment, self.review.name)]
        return Finding(code, level, message, tuple(targets))


@dataclass(slots=True)
class Merged:
    """Findings that say the same of several places, said once."""

    _found: dict[tuple[object, ...], Finding] = field(default_factory=dict)

    def add(self, findings: Iterable[Finding]) -> None:
        for one in findings:
            units = {target.unit for target in one.targets}
            key = (
                one.code, one.level, one.message, one.place, one.field, one.before, one.after,
                one.remedy, *sorted(units),
            )  # fmt: skip
            known = self._found.get(key)
            if known is None:
                self._found[key] = one
            else:
                targets = dict.fromkeys((*known.targets, *one.targets))
                self._found[key] = _with_targets(known, tuple(targets))

    def sorted(self) -> tuple[Finding, ...]:
        """Worst first; of one kind together."""
        levels = list(Level)
        codes: dict[str, int] = {}
        for one in self._found.values():
            rank = levels.index(one.level)
            codes[one.code] = min(codes.get(one.code, rank), rank)
        return tuple(
            sorted(
                self._found.values(),
                key=lambda one: (
                    levels.index(one.level),
                    codes[one.code],
                    one.code,
                    one.targets[0].unit if one.targets else "",
                    one.message,
                ),
            )
        )


def _with_targets(finding: Finding, targets: tuple[Target, ...]) -> Finding:
    from dataclasses import replace

    return replace(finding, targets=targets)
