"""The words that all writers share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gati_gitops.decide.drift.fields import FieldDrift
from gati_gitops.decide.drift.model import (
    FileDrift,
    ObjectDrift,
    PlaceDrift,
    Report,
    Split,
    UnitDrift,
    What,
)
from gati_gitops.decide.drift.owners import Who
from gati_gitops.decide.observation import Engine, EngineState, Missing
from gati_gitops.preview.model import Op
from gati_gitops.preview.words import counted, short


def difference(field: FieldDrift) -> str:
    """``Git 100, live 3``"""
    if field.op is Op.ADD:
        said = "left over" if field.left_over else "not in Git"
        return f"{said}, live {short(field.live)}"
    if field.op is Op.REMOVE:
        return f"Git {short(field.git)}, not there"
    if field.op is Op.ORDER:
        return f"in another order: Git {short(field.git)}, live {short(field.live)}"
    return f"Git {short(field.git)}, live {short(field.live)}"


def writers(who: Sequence[Who]) -> str:
    """Who wrote what is live, the last one first; what only the engine wrote needs no name."""
    return ", ".join(str(one) for one in who[:2])


def object_state(item: ObjectDrift) -> str:
    """What is to be said of an object beside its fields."""
    if item.what is What.CHANGED:
        return ""
    said = {What.MISSING: "is missing", What.EXTRA: "is not in Git"}[item.what]
    return f"{said}: {item.why}" if item.why else said


def engine_state(engine: Engine | Missing | None) -> str:
    """How the engine fares, if that is worth a word."""
    if engine is None:
        return ""
    if isinstance(engine, Missing):
        return f"not known: {engine}"
    if engine.state is EngineState.SYNCED:
        return ""
    return f"{engine.state}: {engine.why}" if engine.why else str(engine.state)


def split_words(split: Split | Missing | None) -> Iterator[str]:
    """The traffic, version by version; only where it is not as declared."""
    if not isinstance(split, Split) or not split.drifted:
        return
    total = sum(share.requests for share in split.shares)
    for share in split.shares:
        seen = 100 * share.requests / total
        bounds = f"{100 * share.low:.1f} to {100 * share.high:.1f}"
        yield (
            f"{share.version} has {share.declared} %, and got {seen:.1f} % ({bounds}) of"
            f" {total:,} requests in {split.seconds:.0f} s"
        )


def unit_notes(unit: UnitDrift) -> Iterator[str]:
    """What people should know before they do anything about it."""
    if unit.broken_glass:
        yield f"traffic moved by hand: {unit.broken_glass}; the next pass takes that over"
    if unit.held:
        yield f"held, so it is only told: {unit.held}"


def summary(report: Report) -> str:
    """One sentence about all of it."""
    looked = sum(len(place.units) for place in report.places)
    drifted = sum(1 for _ in report.units())
    objects = sum(len(o) for o in _objects(report.places))
    files = len({file.path for place in report.places for file in _files(place)})
    unseen = len(report.unseen)
    said = [f"{drifted} of {counted(looked, 'unit')} drifted"]
    said += [counted(objects, "object")] if objects else []
    said += [counted(files, "file")] if files else []
    said += [f"{unseen} could not be seen"] if unseen else []
    refused = {place.environment for place in report.places if place.refused}
    said += [f"the settings of {', '.join(sorted(refused))} can't be read"] if refused else []
    if not report.drifted and not unseen and not refused:
        return f"no drift in {counted(looked, 'unit')}"
    return ", ".join(said)


def _objects(places: Sequence[PlaceDrift]) -> Iterator[tuple[ObjectDrift, ...]]:
    for place in places:
        yield place.objects
        yield from (unit.objects for unit in place.units)


def _files(place: PlaceDrift) -> Iterator[FileDrift]:
    yield from place.files
    for unit in place.units:
        yield from unit.files
