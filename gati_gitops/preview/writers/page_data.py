"""A review as the page's program reads it: said once, in few bytes.

Whole objects are most of the bytes and few are looked at, so they are packed apart: each once,
compressed in chunks that the page opens when it shows one of them.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from gati_gitops.preview.codes import CODES
from gati_gitops.preview.model import (
    ChangeClass,
    EnvironmentReview,
    FieldChange,
    Keyed,
    Level,
    ObjectChange,
    Path,
    Review,
    State,
    Step,
    Target,
    UnitReview,
    VersionReview,
    show_path,
)
from gati_gitops.preview.writers import words
from gati_gitops.preview.writers.gather import Said, alike, by_code, numbers, strays
from gati_gitops.preview.writers.readable import readable
from gati_gitops.redact import redact

Json = dict[str, Any]
_CHUNK = 64 * 1024


class Bodies:
    """Whole objects, each once; what refers to one has its number."""

    def __init__(self, origins: Callable[[ObjectChange], Mapping[str, str]] | None = None) -> None:
        self._origins = origins
        self.tells = origins is not None
        self._numbers: dict[str, int] = {}

    def add(self, change: ObjectChange) -> Json:
        """Numbers of both sides of an object, and of where its fields came from."""
        found = {"b": change.before, "a": change.after}
        if self._origins and change.after is not None:
            found["o"] = dict(self._origins(change))
        return {key: self._number(value) for key, value in found.items() if value}

    def _number(self, value: Any) -> int:
        text = json.dumps(clean(value), separators=(",", ":"))
        return self._numbers.setdefault(text, len(self._numbers))

    def chunks(self) -> list[Json]:
        """Packed: the number of the first object in each chunk, and the chunk."""
        packed: list[Json] = []
        texts: list[str] = []
        first = 0
        for number, text in enumerate(self._numbers):
            texts.append(text)
            if sum(map(len, texts)) >= _CHUNK:
                packed.append(_chunk(first, texts))
                texts, first = [], number + 1
        return [*packed, _chunk(first, texts)] if texts else packed


def clean(value: Any) -> Any:
    """The value with nothing in its texts that looks like a secret, whoever let it through."""
    if isinstance(value, str):
        return _clean_text(value)
    if isinstance(value, dict):
        return {clean(key): clean(item) for key, item in value.items()}
    return [clean(item) for item in value] if isinstance(value, list | tuple) else value


@lru_cache(maxsize=65536)  # objects are alike, and so are their texts
def _clean_text(text: str) -> str:
    return "\n".join(map(redact, text.split("\n"))) if "\n" in text else redact(text)


def _chunk(first: int, texts: list[str]) -> Json:
    data = zlib.compress(f"[{','.join(texts)}]".encode(), 9)
    return {"first": first, "data": b64encode(data).decode()}


def page_data(review: Review, bodies: Bodies) -> Json:
    """Everything but the objects themselves."""
    review = readable(review)
    known = words.known_places(review)
    base, head = words.compared(review)
    return {
        "same": review.same,
        "base": base,
        "head": head,
        "project": review.head.project or review.base.project,
        "ledgers": words.ledgers(review),
        "reach": words.reach(review.radius),
        "effect": words.effect(review.radius),
        "notes": list(review.notes),
        "levels": numbers(review),
        "findings": [
            _group(level, code, told) for level in Level for code, told in by_code(review, level)
        ],
        "classes": [_class(change, known) for change in review.classes],
        "environments": [_environment(review, one, bodies) for one in review.environments],
        "objects": [_object(change, bodies) for change in review.objects],
    }


# -- findings and classes ------------------------------------------------------------------------


def _group(level: Level, code: str, told: Iterable[Said]) -> Json:
    meaning = CODES.get(code)
    return {
        "code": code,
        "level": level,
        "title": meaning.title if meaning else code,
        "why": meaning.why if meaning else "",
        "told": [_said(one) for one in told],
    }


def _said(one: Said) -> Json:
    finding = one.finding
    found = {
        "about": one.about,
        "message": one.message,
        "where": one.where,
        "targets": _targets(one.targets),
        "place": str(one.place or ""),
        "field": finding.field,
        "before": finding.before,
        "after": finding.after,
        "remedy": one.remedy,
        "own": _own(one),
    }
    return {key: value for key, value in found.items() if value}


def _own(one: Said) -> dict[str, list[list[str]]]:
    """What is said of each unit, where that is more than what is said of all."""
    found: dict[str, list[list[str]]] = {}
    for unit, message, place in one.own:
        if message != one.message or place != one.place:
            found.setdefault(unit, []).append([message, str(place or "")])
    return found


def _targets(targets: Iterable[Target]) -> list[list[str]]:
    """Environment, cluster and unit, each place once."""
    found = dict.fromkeys((one.environment, one.cluster, one.unit) for one in targets)
    return [list(place) for place in found]


def _class(change: ChangeClass, known: words.Known) -> Json:
    return {
        "id": change.id,
        "title": change.title,
        "sign": words.SIGNS[change.action],
        "reach": words.class_reach(change, known),
        "fields": [_field(field) for field in change.fields],
        "targets": _targets(change.targets),
        "outliers": [
            {
                "targets": _targets(targets),
                "fields": [_field(field) for field in fields],
            }
            for targets, fields in strays(change)
        ],
    }


# -- environments --------------------------------------------------------------------------------


def _environment(review: Review, environment: EnvironmentReview, bodies: Bodies) -> Json:
    totals = environment.totals
    return {
        "name": environment.name,
        "named": len(environment.clusters) > 1,
        "totals": totals
        and {
            "whole": totals.whole,
            "least": words.measures(totals.least_before, totals.least_after),
            "most": words.measures(totals.most_before, totals.most_after),
        },
        "groups": [
            {
                "clusters": list(group.clusters),
                "units": [_unit(unit, bodies) for unit in group.units],
                "objects": [_object(change, bodies) for change in group.objects],
            }
            for group in alike(environment, whole=True)
        ],
    }


def _unit(unit: UnitReview, bodies: Bodies) -> Json:
    return {
        "unit": unit.unit,
        "kind": unit.kind,
        "sign": words.SIGNS[unit.action],
        "line": words.unit_line(unit),
        "plain": words.is_plain(unit),
        "classes": words.unit_classes(unit),
        "rollout": list(unit.rollout),
        "held": unit.held,
        "files": list(unit.files),
        "versions": [_version(version, bodies) for version in unit.versions],
        "objects": [_object(change, bodies) for change in unit.objects],
    }


def _version(version: VersionReview, bodies: Bodies) -> Json:
    return {
        "id": version.id,
        "was": version.was,
        "line": words.version_line(version),
        "restarts": version.restarts,
        "before": _state(version.before),
        "after": _state(version.after),
        "objects": [_object(change, bodies) for change in version.objects],
    }


def _state(state: State | None) -> Json | None:
    if state is None:
        return None
    return {
        "phase": state.phase,
        "weight": state.weight,
        "image": state.image,
        "scaler": state.scaler,
        "min": state.min,
        "max": state.max,
    }


def _object(change: ObjectChange, bodies: Bodies) -> Json:
    found = {
        "kind": change.id.kind,
        "namespace": change.id.namespace,
        "name": change.id.name,
        "sign": words.SIGNS[change.action],
        "word": words.ACTIONS[change.action],
        "was": words.likeness(change),
        "class": change.change_class,
        "folder": change.folder,
        "fields": [_field(field, change.after, bodies) for field in change.fields],
        "noise": [_field(field) for field in change.noise],
        **bodies.add(change),
    }
    return {key: value for key, value in found.items() if value not in ("", [])}


def _field(field: FieldChange, body: Any = None, bodies: Bodies | None = None) -> list[Any]:
    """Path, lines with signs, class, and the path by which the field's origin is known.

    The lines are the class's own where there is one.
    """
    rows = [] if field.change_class else words.rows_of(field)
    found = [field.shown, [sign + redact(text) for sign, text in rows], field.change_class]
    if bodies and bodies.tells and any(isinstance(step, Keyed) for step in field.path):
        return [*found, show_path(_exact(field.path, body))]
    return found if field.change_class else found[:2]


def _fits(step: Keyed, item: Any) -> bool:
    return isinstance(item, dict) and all(item.get(key) == value for key, value in step.keys)


def _exact(path: Path, body: Any) -> Path:
    """The path with numbers instead of keys, as far as it leads somewhere."""
    exact: list[Step] = []
    for step in path:
        at: Step = step
        if isinstance(step, Keyed) and isinstance(body, list):
            at = next((number for number, item in enumerate(body) if _fits(step, item)), step)
        try:
            body = body[at]
        except (KeyError, IndexError, TypeError):
            return tuple(exact)
        exact.append(at)
    return tuple(exact)
