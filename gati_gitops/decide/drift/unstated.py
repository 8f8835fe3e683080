"""What somebody wrote into an object that Git does not state there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gati_gitops.decide.drift.owners import Fields, Written, has_keys, keys_of
from gati_gitops.decide.drift.values import says_nothing
from gati_gitops.preview.model import Keyed, Op, Path

ABSENT: Any = object()
"""In place of a value that is not there; None may be one."""
METADATA = ("labels", "annotations")


def beyond(
    fields: Fields, git: Any, live: Any, path: Path, *, deep: bool
) -> Iterator[tuple[Path, Op, Any, Any]]:
    """What one manager wrote and Git does not state.

    ``deep``: also what it added within a value that is written as a whole, such as a list without
    keys; there nobody else can have added it.
    """
    if not fields:
        if deep and isinstance(git, (dict, list)):
            yield from _inside(path, git, live)
        return
    for key, below in fields.items():
        if key == ".":
            continue
        here, in_git, in_live = _step(key, git, live)
        if in_live is ABSENT or here is None or (in_git == in_live and in_git is not ABSENT):
            continue
        # a map of labels is nobody's as a whole, whoever began it
        whole = not below or ("." in below and here not in METADATA)
        if in_git is ABSENT and (whole or not isinstance(in_live, dict)):
            if not says_nothing((*path, here), in_live):
                yield (*path, here), Op.ADD, None, in_live
        else:
            inside = {} if in_git is ABSENT else in_git
            yield from beyond(below, inside, in_live, (*path, here), deep=deep)


def _step(key: str, git: Any, live: Any) -> tuple[Any, Any, Any]:
    """Where a key of managed fields leads to, in the path, in Git's value and in the live one."""
    if key.startswith("f:"):
        name = key[2:]
        return name, _get(git, name), _get(live, name)
    if key.startswith("k:") and isinstance(live, list):
        keys = keys_of(key)
        found = next((e for e in live if isinstance(e, dict) and has_keys(e, keys)), ABSENT)
        said = [e for e in git if isinstance(e, dict)] if isinstance(git, list) else []
        ours = next((e for e in said if _is_like(e, keys)), ABSENT)
        return Keyed(tuple(keys.items())), ours, found
    if key.startswith("v:") and isinstance(live, list):
        value = next((e for e in live if f"v:{_json(e)}" == key), ABSENT)
        known = isinstance(git, list) and value in git
        return value, value if known else ABSENT, value
    return None, ABSENT, ABSENT


def _is_like(element: Mapping[str, Any], keys: Mapping[str, Any]) -> bool:
    """Whether an element of Git may be the one: it may leave keys out that have a default."""
    said = [name for name in keys if name in element]
    return bool(said) and all(element[name] == keys[name] for name in said)


def _inside(path: Path, git: Any, live: Any) -> Iterator[tuple[Path, Op, Any, Any]]:
    """What is added somewhere in a value."""
    if isinstance(git, dict) and isinstance(live, dict):
        for name, value in live.items():
            if name in git:
                yield from _inside((*path, name), git[name], value)
            elif not says_nothing((*path, name), value):
                yield (*path, name), Op.ADD, None, value
    elif isinstance(git, list) and isinstance(live, list):
        one, two = by_key(git, ("name",)), by_key(live, ("name",))
        if one is not None and two is not None:
            for key in one.keys() & two.keys():
                yield from _inside((*path, Keyed((("name", key[0]),))), one[key], two[key])
        elif len(git) == len(live):
            for index, pair in enumerate(zip(git, live, strict=True)):
                yield from _inside((*path, index), *pair)


def follow(written: Written, live: Any, path: Path) -> Written:
    """The writers of an object, followed down a path of it."""
    for step in path:
        if isinstance(step, Keyed):
            keys = dict(step.keys)
            elements = live if isinstance(live, list) else []
            live = next((e for e in elements if isinstance(e, dict) and has_keys(e, keys)), None)
            written = written.down("", live)
        elif isinstance(step, int):
            live = live[step] if isinstance(live, list) and step < len(live) else None
            written = written.down("", live)
        else:
            live = _get(live, step) if isinstance(live, dict) else None
            written = written.down(step)
    return written


def by_key(elements: list[Any], names: Sequence[str]) -> dict[tuple[Any, ...], Any] | None:
    """Elements by their keys; None where one has none, or two have the same."""
    found: dict[tuple[Any, ...], Any] = {}
    for element in elements:
        if not names or not isinstance(element, dict):
            return None
        key = tuple(element.get(name) for name in names)
        if all(value is None for value in key) or any(isinstance(v, (dict, list)) for v in key):
            return None
        found[key] = element
    return found if len(found) == len(elements) else None


def _get(value: Any, name: str) -> Any:
    return value.get(name, ABSENT) if isinstance(value, dict) else ABSENT


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
