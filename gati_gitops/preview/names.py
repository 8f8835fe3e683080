"""What a unit and a version call their own, taken out of values.

The same change in two units differs in their names. With ``{unit}`` in place of each name it is the
same; and what differs between an object and its renamed self by names alone is no news.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gati_gitops.plan.naming import UnitId, slug
from gati_gitops.preview.model import FieldChange, Keyed, Path

SHORTEST = 3
"""Names shorter than this are replaced only where they are the whole value."""


def number_of(version: str) -> str:
    """``1.2.0`` of ``v1.2.0``, as tags of images have it; else the version itself."""
    number = version.removeprefix("v")
    return number if "." in number and number[0].isdigit() else version


@dataclass(frozen=True, slots=True)
class Names:
    """Texts of one version (or of a unit as a whole) and what stands for them."""

    words: Mapping[str, str]
    _pattern: re.Pattern[str] | None = field(default=None, repr=False, compare=False)

    @staticmethod
    def of(unit: UnitId, version: str = "", others: Mapping[str, str] | None = None) -> Names:
        """Names of a unit and a version; ``others`` are further ids and what stands for them."""
        words = {unit.name: "{unit}", unit.namespace: "{namespace}"}
        words |= {unit.folder: "{object}", unit.object_name: "{object}"}
        for id, shown in {**({version: "{version}"} if version else {}), **(others or {})}.items():
            words |= {id: shown, slug(id): shown, unit.version_name(id): "{object}-" + shown}
            if (number := number_of(id)) not in words:
                words[number] = shown.replace("version", "number")
        long = sorted((word for word in words if len(word) >= SHORTEST), key=len, reverse=True)
        either = "|".join(map(re.escape, long))
        pattern = re.compile(rf"(?<![A-Za-z0-9])(?:{either})(?![A-Za-z0-9])") if long else None
        return Names(words, pattern)

    def text(self, value: str) -> str:
        if value in self.words:
            return self.words[value]
        return self._pattern.sub(self._word, value) if self._pattern is not None else value

    def _word(self, found: re.Match[str]) -> str:
        return self.words[found[0]]

    def value(self, value: Any) -> Any:
        """A value with every name in it replaced, those of fields too."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(key): self.value(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.value(item) for item in value]
        return value

    def path(self, path: Path) -> Path:
        return tuple(
            Keyed(tuple((name, self.value(key)) for name, key in step.keys))
            if isinstance(step, Keyed)
            else self.text(step)
            if isinstance(step, str)
            else step
            for step in path
        )


def abstract(change: FieldChange, before: Names, after: Names) -> FieldChange:
    """A change without names; each side has its own."""
    at = before if change.after is None else after
    was, now = before.value(change.before), after.value(change.after)
    if was == now and isinstance(was, str):  # it is the names that differ
        was = was.replace("{version}", "{previous}").replace("{number}", "{previous number}")
    return FieldChange(at.path(change.path), change.op, was, now, index=change.index)
