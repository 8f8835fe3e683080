"""Who wrote a field: managedFields, as API servers keep them.

Every object says which manager wrote which of its fields. An entry of a sync engine's own apply is
what Git said when it last synced. What admission adds to that request is an entry of the same
manager, but an update: it is not the engine's. A person is known by the program he uses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

Fields = Mapping[str, Any]
"""A set of fields in the form FieldsV1: ``f:name``, ``k:{"name":"app"}``, ``v:"value"``, ``.``"""

BREAK_GLASS_MANAGER = "gati-break-glass"
"""Whose name our own commands for emergencies bear; Flux undoes what is kubectl's."""

# Programs in the hands of people. What is not in here is taken for a controller.
_PEOPLE = re.compile(
    r"(?:kubectl|oc|k9s|lens|freelens|openlens|node-fetch|headlamp|dashboard|rancher|octant|aptakube"
    rf"|Mozilla|curl|{BREAK_GLASS_MANAGER})(?:[-/._].*)?\Z",
    re.IGNORECASE,
)
ARGOCD, FLUX = "argocd-controller", "kustomize-controller"
_ENGINES = {"argocd": ARGOCD, "flux": FLUX}


@dataclass(frozen=True, slots=True)
class Who:
    """One manager of fields, and when it last wrote one."""

    manager: str
    operation: str = "Update"
    time: str = ""
    subresource: str = ""

    @property
    def is_person(self) -> bool:
        return _PEOPLE.match(self.manager) is not None

    def __str__(self) -> str:
        when = f" at {self.time}" if self.time else ""
        return f"{self.manager}{when}"


@dataclass(frozen=True, slots=True)
class Entry:
    """What one manager wrote."""

    who: Who
    fields: Fields = field(repr=False)


def entries(item: Mapping[str, Any]) -> tuple[Entry, ...]:
    """The managers of an object; none where the server keeps no record or it was taken off."""
    found = []
    for said in (item.get("metadata") or {}).get("managedFields") or ():
        fields = said.get("fieldsV1") if isinstance(said, dict) else None
        if isinstance(fields, dict):
            who = Who(
                str(said.get("manager", "")),
                str(said.get("operation", "Update")),
                str(said.get("time", "")),
                str(said.get("subresource") or ""),
            )
            found.append(Entry(who, fields))
    return tuple(found)


def is_engine(who: Who, engine: str) -> bool:
    """Whether an entry is what Git said when it was applied last.

    Without an engine somebody applies by hand: all applies are Git's then.
    """
    if who.subresource or who.operation != "Apply":
        return who.manager == "kubectl-client-side-apply" and not engine
    return who.manager == _ENGINES[engine] if engine in _ENGINES else True


class Written:
    """The entries of an object, followed down to one of its fields."""

    __slots__ = ("_at",)

    def __init__(self, at: Iterable[tuple[Who, Fields | None]]) -> None:
        self._at = tuple(at)

    @classmethod
    def of(cls, item: Mapping[str, Any]) -> Written:
        return cls((entry.who, entry.fields) for entry in entries(item))

    def down(self, step: str, element: Any = None) -> Written:
        """One field deeper; ``step`` is a name, or empty for an element of a list."""
        found: list[tuple[Who, Fields | None]] = []
        for who, fields in self._at:
            if fields is None or not fields:  # it wrote all of what is below
                found.append((who, None))
            elif step:
                if f"f:{step}" in fields:
                    found.append((who, fields[f"f:{step}"]))
            elif (below := element_fields(fields, element)) is not None:
                found.append((who, below))
        return Written(found)

    @property
    def has_keys(self) -> bool:
        """Whether what was come to is a list into which several may put their own elements."""
        return any(key.startswith("k:") for _, fields in self._at for key in fields or ())

    @property
    def who(self) -> tuple[Who, ...]:
        """Who wrote the field that was come to, or something in it; the last first."""
        return tuple(sorted((who for who, _ in self._at), key=lambda w: w.time, reverse=True))


def element_fields(fields: Fields, element: Any) -> Fields | None:
    """What of an element of a list was written; None if nothing."""
    for key, below in fields.items():
        if key.startswith("k:"):
            if isinstance(element, dict) and has_keys(element, keys_of(key)):
                return dict(below) if below else {}
        elif key.startswith("v:") and _value(key) == element:
            return {}
    return None


def has_keys(element: Mapping[str, Any], keys: Mapping[str, Any]) -> bool:
    return all(element.get(name) == value for name, value in keys.items())


@lru_cache(maxsize=4096)
def keys_of(key: str) -> Mapping[str, Any]:
    """The keys of ``k:{"name":"app"}``."""
    found = json.loads(key[2:])
    return found if isinstance(found, dict) else {}


def _value(key: str) -> Any:
    try:
        return json.loads(key[2:])
    except ValueError:
        return None
