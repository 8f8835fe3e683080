"""What was agreed with others: versions that break callers, CRDs, the project's own policies."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from typing import TYPE_CHECKING

from gati_gitops.errors import Problem
from gati_gitops.plan.timescape import MAX_HOPS, hops
from gati_gitops.preview.meaning.scene import ClusterScene, Scene, UnitScene
from gati_gitops.preview.meaning.traffic import shares
from gati_gitops.preview.model import Finding, Level, Target
from gati_gitops.preview.words import counted, listed

if TYPE_CHECKING:
    from gati_gitops.preview.crds import CrdChange


_TOLD = frozenset(("cluster-left-behind",))
"""Told as a change of the settings."""


def breaking(unit: UnitScene) -> Iterator[Finding]:
    """A breaking version that takes over from one that it can't be translated from."""
    if unit.before is None or unit.after is None:
        return
    known = {version.id for version in unit.before.plan.versions}
    every = (*unit.before.plan.versions, *unit.after.plan.versions)
    for version in unit.after.plan.versions:
        if not version.breaking or version.id in known:
            continue
        for other in sorted(shares(unit.before)):
            far = hops([t for one in every for t in one.transformers], other, version.id)
            if far is None or far > MAX_HOPS:
                why = "no chain of transformers" if far is None else f"only a chain of {far} hops"
                yield unit.finding(
                    "breaking-version",
                    Level.DANGER,
                    f"version {version.id} is breaking, and {why} leads to it from {other}, which"
                    " serves now: callers of the one can't be answered by the other",
                    version=version.id,
                    at=("spec", "timescape", "breaking"),
                    remedy=f"add a transformer from {other} to {version.id}",
                )


def problems(scene: Scene) -> Iterator[Finding]:
    """Warnings and broken policies that were not there before."""
    known = {_said(problem) for problem in scene.before.problems}
    for problem in scene.after.problems:
        if _said(problem) not in known and problem.code not in _TOLD:
            policy = problem.code.startswith("policy-")
            yield Finding(
                "policy-broken" if policy else "warning",
                Level.DANGER if policy and problem.is_error else Level.WARNING,
                problem.message,
                place=problem.place,
                field=problem.field,
                remedy=problem.remedy,
            )


def _said(problem: Problem) -> tuple[str, str, str]:
    """A problem without its line, which moves."""
    return (problem.code, problem.message, problem.place.file)


def definitions(cluster: ClusterScene) -> Iterator[Finding]:
    """CRDs: what breaks, one by one; what is safe, counted."""
    changes = [c for c in cluster.review.objects if c.id.kind == "CustomResourceDefinition"]
    if not changes:
        return
    from gati_gitops.preview.crds import Level as CrdLevel
    from gati_gitops.preview.crds import compare_crds

    before = [c.before for c in changes if c.before is not None]
    after = [c.after for c in changes if c.after is not None]
    if not before:
        return  # a cluster that is new
    safe: dict[str, list[CrdChange]] = {}
    for change in compare_crds(before, after):
        if change.level is CrdLevel.SAFE:
            safe.setdefault(change.crd, []).append(change)
            continue
        where = " ".join(part for part in (change.version, change.path) if part)
        breaks = change.level is CrdLevel.BREAKING
        yield Finding(
            "crd-breaking" if breaks else "crd-changed",
            Level.DANGER if breaks else Level.WARNING,
            f"{change.crd} {where}: {change.why}",
            (Target(cluster.environment, cluster.review.name),),
            field=change.path,
            before=change.old or "",
            after=change.new or "",
            remedy=change.instead,
        )
    for name, found in safe.items():
        rules = listed(dict.fromkeys(str(change.rule) for change in found))
        message = f"{name}: {counted(len(found), 'change')} that {_harm(found)} ({rules})"
        yield cluster.finding("crd-changed", Level.NOTE, message)


def _harm(found: Sized) -> str:
    return "does no harm" if len(found) == 1 else "do no harm"
