"""What a rule says of one place of two schemas, before it is known whose schemas they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gati_gitops.preview.crds.model import At, Level, Rule, spelled

RATCHETED = (
    "stored objects may keep such a value while nobody changes it (Kubernetes 1.30 and newer), but"
    " none can be made anew, not even from Git in a new cluster"
)
NEVER_RATCHETED = (
    "every later update of such an object is refused as well, whatever it changes: the API server"
    " never ratchets this"
)


@dataclass(frozen=True, slots=True)
class Found:
    """A change at one place."""

    at: At
    rule: Rule
    level: Level
    old: str | None
    new: str | None
    why: str
    instead: str = ""
    gone: bool = False


def said(node: Any, word: str) -> str | None:
    """What a schema says under a word, as text."""
    return spelled(node[word]) if word in node else None


def breaking(
    at: At, rule: Rule, old: str | None, new: str | None, why: str, instead: str = ""
) -> Found:
    return Found(at, rule, Level.BREAKING, old, new, why, instead)


def risky(
    at: At, rule: Rule, old: str | None, new: str | None, why: str, instead: str = ""
) -> Found:
    return Found(at, rule, Level.RISKY, old, new, why, instead)


def safe(at: At, rule: Rule, old: str | None, new: str | None, why: str) -> Found:
    return Found(at, rule, Level.SAFE, old, new, why)
