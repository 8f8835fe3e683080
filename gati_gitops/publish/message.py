"""The commit message: what a person on call wants to read, and what programs read after it.

Subject and body are rendered from the change set. Text of users (reasons, names, what they wrote in
their own commits) becomes harmless before it is put in: one line, nothing invisible, no secrets.
None of it begins a line of the body, so that no reader finds a trailer, a `---` or a comment in
it. The trailers are a paragraph of their own at the end, each of them one line.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from gati_gitops import __version__
from gati_gitops.ledger.model import Entry
from gati_gitops.publish.changes import ChangeSet, Fate, Step, UnitChange, VersionChange
from gati_gitops.redact import redact
from gati_gitops.repo.commit import CHECKED

if TYPE_CHECKING:
    from jinja2 import Template

SUBJECT = 72
WIDTH = 72
UNITS = 20
"""How many units a message tells of one by one."""
FOLD = 15
"""How much of a list is shown."""
T = TypeVar("T")
MAX_TEXT = 4000
"""Argo CD stops reading at a line of 64 KiB; nobody reads more than this."""

REFERENCE = "Argocd-reference-commit-"
"""How Argo CD's trailers begin."""

# Controls, what is invisible, what turns text around, halves of characters. A fixed list: what
# Python calls printable changes from version to version.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")
_NAME = re.compile(r"[\w\s!#$%&'*+/^`{|}~-]+\Z")
_ATOM = r"[^\s<>@\"(),:;\\\[\].]+"
_EMAIL = re.compile(rf"{_ATOM}(?:\.{_ATOM})*@{_ATOM}(?:\.{_ATOM})*\Z")


@dataclass(frozen=True, slots=True)
class Reference:
    """The specs' commit, as Argo CD and gitops-promoter show it."""

    sha: str
    repo_url: str = ""
    author: str = ""
    email: str = ""
    date: str = ""
    """ISO 8601, with its offset."""
    subject: str = ""
    body: str = ""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a commit comes from, for its trailers."""

    source: str
    commit: str = ""
    decision: str = ""
    evidence: tuple[str, ...] = ()
    reference: Reference | None = None
    """Given where the project wants Argo CD's trailers."""
    checked: bool = False
    """All that the commit is built on was signed by somebody who counts."""


def message(changes: ChangeSet, origin: Origin, *, subject: str = "", reason: str = "") -> str:
    """All of a commit message. ``subject`` stands instead of the one that is made."""
    head = _cut(_with_environment(changes, line(subject)) if subject else subject_of(changes))
    parts = [head, body_of(changes, reason), "\n".join(trailers(origin))]
    return "\n\n".join(part for part in parts if part) + "\n"


# -- text of users -------------------------------------------------------------------------------


def line(text: object, limit: int = MAX_TEXT) -> str:
    """Anything as one line: no controls, nothing invisible, nothing that turns text around."""
    words = redact(" ".join(str(text)[: 4 * limit].split()))
    shown = _HIDDEN.sub(_escaped, words)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(line(text), WIDTH - 2, break_on_hyphens=False)


def _cut(text: str) -> str:
    return text if len(text) <= SUBJECT else text[: SUBJECT - 1].rstrip() + "…"


# -- the subject ---------------------------------------------------------------------------------

_VERBS = {
    Step.WAITS: "queue {unit} {version}",
    Step.STARTS: "start {unit} {version}",
    Step.WEIGHT: "shift {unit} {version} to {weight} %",
    Step.ACTIVE: "activate {unit} {version}",
    Step.REVISED: "revise {unit} {version}",
    Step.DRAINS: "drain {unit} {version}",
    Step.PARKS: "park {unit} {version}",
    Step.REJECTED: "reject {unit} {version}",
    Step.REMOVED: "remove {unit} {version}",
    Step.FORGOTTEN: "forget {unit} {version}",
}
# When one commit does several things to a unit, the first of these names it.
_ORDER = (
    Step.REJECTED, Step.STARTS, Step.ACTIVE, Step.WEIGHT, Step.REVISED, Step.REMOVED, Step.PARKS,
    Step.DRAINS, Step.WAITS, Step.FORGOTTEN,
)  # fmt: skip


def subject_of(changes: ChangeSet) -> str:
    """One line of at most 72 characters."""
    by_unit: dict[str, list[UnitChange]] = {}
    for change in changes.units:
        by_unit.setdefault(str(change.unit), []).append(change)
    if not by_unit:
        return _cut(_with_environment(changes, _around(changes)))
    if len(by_unit) == 1:
        (name, (first, *_)), *_ = by_unit.items()
        return _cut(_with_environment(changes, _deed(line(name), first)))
    fates = [_fate(unit) for unit in by_unit.values()]
    words = {
        Fate.CHANGES: ("changes", "change"),
        Fate.NEW: ("is new", "are new"),
        Fate.RETIRES: ("retires", "retire"),
        Fate.GONE: ("goes", "go"),
    }
    parts = [
        f"{number} {'unit ' if number == 1 else 'units '}{one if number == 1 else many}"
        for fate, (one, many) in words.items()
        if (number := fates.count(fate))
    ]
    # the word once is enough
    text = ", ".join([parts[0], *(re.sub(" units?", "", part) for part in parts[1:])])
    return _cut(_with_environment(changes, text))


def _with_environment(changes: ChangeSet, text: str) -> str:
    name = changes.environment
    return f"{name if _PLAIN.match(name) else 'output'}: {text}"


def _fate(unit: Sequence[UnitChange]) -> Fate:
    """The strongest of what happens to a unit on its clusters."""
    fates = {change.fate for change in unit}
    return next(fate for fate in (Fate.GONE, Fate.RETIRES, Fate.CHANGES, Fate.NEW) if fate in fates)


def _deed(name: str, change: UnitChange) -> str:
    """What happens to the one unit of a commit."""
    if change.fate is Fate.GONE:
        return f"remove {name}"
    if change.fate is Fate.RETIRES:
        return f"retire {name}"
    if change.newly_held:
        return f"hold {name}"
    top = min(change.versions, key=lambda v: _ORDER.index(v.step), default=None)
    if change.fate is Fate.NEW:
        return f"add {name} {line(top.id)}" if top and len(change.versions) == 1 else f"add {name}"
    if change.released and top is None:
        return f"release {name}"
    if top is None:
        return f"update {name}"
    weight = top.after.weight if top.after else 0
    return _VERBS[top.step].format(unit=name, version=line(top.id), weight=weight)


def _around(changes: ChangeSet) -> str:
    """What to call a commit that moves no unit."""
    if any(folder.namespace == "" for folder in changes.folders):
        return "update CRDs"
    names = sorted({folder.namespace for folder in changes.folders})
    if names:
        return f"update {'namespace' if len(names) == 1 else 'namespaces'} {', '.join(names)}"
    paths = [*changes.files.added, *changes.files.changed, *changes.files.removed]
    if any(path.endswith("/project.yaml") for path in paths):
        return "update settings"
    if changes.files.removed and all(path.startswith("base/") for path in paths):
        return "remove release folders that nobody names"
    return "update generated files"


# -- the body ------------------------------------------------------------------------------------


def body_of(changes: ChangeSet, reason: str = "") -> str:
    """What happens, unit by unit and object by object; long lists are folded."""
    units = list(_units(changes))
    rest = [unit["name"] for unit in units[UNITS:]]
    objects = {
        "-": list(changes.objects(lambda o: o.removed).items()),
        "+": list(changes.objects(lambda o: o.added).items()),
        "~": list(changes.objects(lambda o: o.changed).items()),
    }
    paths = changes.files
    files = {"-": paths.removed, "+": paths.added, "~": paths.changed}
    return (
        _template("body.txt.j2")
        .render(
            reason=_wrapped(reason),
            units=units[:UNITS],
            more_units={"count": len(rest), "lines": _folded(rest)} if rest else None,
            objects=_tally(objects, lambda item: f"{item[0]} ({', '.join(sorted(item[1]))})"),
            files=_tally(files, str) if not units and not any(objects.values()) else None,
            held=_folded(
                [f"{held.unit} on {held.cluster}: {line(held.reason)}" for held in changes.held]
            ),
        )
        .strip("\n")
    )


def _tally(marked: Mapping[str, Sequence[T]], shown: Callable[[T], str]) -> dict[str, Any] | None:
    """How many go, come and change, and the first of each."""
    if not any(marked.values()):
        return None
    words = {"+": "added", "~": "changed", "-": "removed"}
    lines = [f"{mark} {text}" for mark, items in marked.items() for text in _folded(items, shown)]
    counts = ", ".join(f"{len(marked[mark])} {word}" for mark, word in words.items())
    return {"counts": counts, "lines": lines}


def _folded(items: Sequence[T], shown: Callable[[T], str] = str) -> list[str]:
    if len(items) <= FOLD + 1:  # never a line to say that one line was left out
        return [shown(item) for item in items]
    return [*(shown(item) for item in items[:FOLD]), f"… and {len(items) - FOLD} more"]


def _units(changes: ChangeSet) -> Iterator[dict[str, Any]]:
    """Units with what happens to them; clusters where the same happens are told once."""
    told: dict[tuple[Any, ...], list[str]] = {}
    for change in changes.units:
        lines = tuple(_lines(change))
        told.setdefault((change.unit, change.fate, lines), []).append(change.cluster)
    words = {
        Fate.NEW: "new",
        Fate.CHANGES: "changes",
        Fate.RETIRES: "starts to retire; it serves until nobody calls",
        Fate.GONE: "is removed",
    }
    for (unit, fate, lines), clusters in told.items():
        yield {
            "name": str(unit),
            "clusters": ", ".join(sorted(clusters)),
            "fate": words[fate],
            "lines": _folded(lines),
        }


def _lines(change: UnitChange) -> Iterator[str]:
    for version in change.versions:
        yield _version(version)
    if change.traffic and change.fate is not Fate.NEW:
        yield "traffic: " + ", ".join(f"{id} {weight} %" for id, weight in change.traffic)
    if change.newly_held:
        yield f"held: {line(change.hold)}"
    if change.released:
        yield "no longer held"


def _version(change: VersionChange) -> str:
    old, new = change.before, change.after
    if new is None:
        return f"{change.id} goes (was {_state(old)})"
    fresh = old is None or old.digest != new.digest
    image = f" ({change.image})" if change.image and fresh else ""
    if old is None:
        return f"{change.id} enters as {_state(new)}{image}"
    if (old.phase, old.weight) == (new.phase, new.weight):
        what = f"is revised{image}" if fresh else "is judged bad" if new.barred else "is cleared"
        return f"{change.id}, {_state(new)}, {what}"
    return f"{change.id}: {_state(old)} → {_state(new)}" + (f", revised{image}" if fresh else "")


def _state(entry: Entry | None) -> str:
    if entry is None:
        return "unknown"
    return f"{entry.phase} at {entry.weight} %" if entry.weight else str(entry.phase)


@cache
def _template(name: str) -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("gati_gitops.publish", "prose"),
        undefined=StrictUndefined,
        finalize=lambda value: value if isinstance(value, int) else line(value),
        autoescape=False,  # noqa: S701 - plain text; `finalize` sees every value
        keep_trailing_newline=False,
    )
    return environment.get_template(name)


# -- trailers ------------------------------------------------------------------------------------


def trailers(origin: Origin) -> list[str]:
    """The last paragraph: a line each, and none of them a user's."""
    source = f"{origin.source}@{origin.commit}" if origin.commit else origin.source
    found = [("Gati-Source", line(source)), ("Gati-Compiler", __version__)]
    found += [("Gati-Decision", line(origin.decision))]
    found += [("Gati-Evidence", line(item)) for item in origin.evidence]
    found += [(CHECKED, "signatures")] if origin.checked else []
    found += _references(origin.reference) if origin.reference else ()
    return [f"{name}: {value}" for name, value in found if value]


def _references(reference: Reference) -> Iterator[tuple[str, str]]:
    """As Argo CD's source hydrator reads them (util/git/client.go, GetReferences)."""
    yield REFERENCE + "sha", line(reference.sha)
    yield REFERENCE + "repourl", line(reference.repo_url)
    yield REFERENCE + "author", address(reference.author, reference.email)
    yield REFERENCE + "date", line(reference.date)
    yield REFERENCE + "subject", line(reference.subject)
    body = text(reference.body)
    yield REFERENCE + "body", json.dumps(body, ensure_ascii=False) if body else ""


def text(value: str) -> str:
    """Text of several lines, each of them harmless."""
    lines = [line(part) for part in value[: 2 * MAX_TEXT].splitlines()]
    whole = "\n".join(lines).strip("\n")
    return whole if len(whole) <= MAX_TEXT else whole[: MAX_TEXT - 1] + "…"


def address(name: str, email: str) -> str:
    """A name and an address as RFC 5322 wants them; empty if there is no address."""
    name, email = line(name), line(email)
    if not _EMAIL.match(email):
        return ""
    if name and not _NAME.match(name):
        name = '"' + re.sub(r'([\\"])', r"\\\1", name) + '"'
    return f"{name} <{email}>" if name else f"<{email}>"
