"""Paths into objects: as people write them, as objects have them, and as rules describe them.

A pattern is a path with holes: ``$name`` is any key, ``[]`` any element, ``[name=$n]`` an element
with what its ``name`` says, ``[name=x]`` the element called so (``x*``: whose name begins so),
``[name=$n@x*]`` both, ``**`` everything below. What the holes were filled with is handed to the
rule.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gati_gitops.preview.explain.model import Path

Bound = Mapping[str, Any]
_STEP = re.compile(
    r"""\.?(?P<name>[^.\[\]]+)          # name
      | \[(?P<index>\d*)\]              # [0] or []
      | \[(?P<quote>["'])(?P<key>.*?)(?P=quote)\]   # ["a/b"]
      | \[(?P<by>[\w.-]+)=(?P<what>[^\]]*)\]        # [name=x]
    """,
    re.VERBOSE,
)
_PLAIN = re.compile(r"[^.\[\]\"'\s]+")
REST = "**"


class BadField(ValueError):
    """What a person wrote is no path, or leads nowhere."""


def show(path: Sequence[str | int]) -> str:
    """``spec.containers[0].image``; keys that need it stand in quotes."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
    return text


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every field that holds no further one."""
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    else:
        yield path, value


# -- what people write ---------------------------------------------------------------------------


def find(value: Any, text: str) -> list[Path]:
    """The paths that a text means in an object; raises BadField with what may have been meant.

    Takes ``spec.replicas``, ``.spec.rules[0]``, ``$.spec.rules[*]`` and ``env[name=PORT].value``; a
    key with dots needs no quotes where it is the only one that fits.
    """
    text = text.strip().removeprefix("$").removeprefix(".")
    steps = _parsed(text)
    found: list[tuple[Path, Any]] = [((), value)]
    for number, step in enumerate(steps):
        following = [pair for path, item in found for pair in _follow(path, item, step)]
        if not following:
            dotted = _dotted_keys(value, text)
            if dotted:
                return dotted
            raise BadField(_unknown(found, step, steps[:number]))
        found = following
    return [path for path, _ in found]


Step = str | int | tuple[str, str] | None
"""A key, an index, (key, value) of an element, or None for every element."""


def _parsed(text: str) -> list[Step]:
    text = text.replace("[*]", "[]")
    steps: list[Step] = []
    at = 0
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            raise BadField(f"{text!r} is no field; write one such as spec.replicas")
        if found["name"] is not None:
            steps.append(found["name"])
        elif found["key"] is not None:
            steps.append(found["key"])
        elif found["by"] is not None:
            steps.append((found["by"], found["what"]))
        else:
            steps.append(int(found["index"]) if found["index"] else None)
        at = found.end()
    return steps


def _follow(path: Path, value: Any, step: Step) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, Mapping):
        if isinstance(step, int):
            step = str(step)
        if isinstance(step, str) and step in value:
            yield (*path, step), value[step]
    elif isinstance(value, list):
        for index, item in enumerate(value):
            by = isinstance(step, tuple) and str(lookup(item, step[0])) == step[1]
            if step is None or step == index or by:
                yield (*path, index), item


def _dotted_keys(value: Any, text: str) -> list[Path]:
    """Fields whose plain spelling is the text: labels and annotations have dots in their keys."""
    return [path for path, _ in leaves(value) if ".".join(map(str, path)) == text]


def _unknown(found: list[tuple[Path, Any]], step: Step, before: list[Step]) -> str:
    path, value = found[0]
    where = f" in {show(path)}" if path else ""
    named = f"[{'='.join(step)}]" if isinstance(step, tuple) else step
    if isinstance(value, Mapping):
        known = sorted(map(str, value))
        near = difflib.get_close_matches(str(step), known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}?" if near else f"there is {_listed(known)}"
        return f"there is no field {named}{where}; {hint}"
    if isinstance(value, list):
        names = [
            str(item["name"]) for item in value if isinstance(item, Mapping) and "name" in item
        ]
        said = f"; its elements are called {_listed(names)}" if names else ""
        return f"there is no element {named}{where}, which has {len(value)}{said}"
    return f"{show(path)} is a plain value and has no field {named}"


def _listed(names: list[str]) -> str:
    return ", ".join(names[:8]) + (", …" if len(names) > 8 else "") if names else "none"


# -- patterns ------------------------------------------------------------------------------------


def lookup(value: Any, dotted: str) -> Any:
    """``destination.host`` of an element; None where it has none."""
    for name in dotted.split("."):
        value = _child(value, int(name) if name.isdecimal() else name)
    return value


def pattern(text: str) -> tuple[Step, ...]:
    """A rule's pattern as steps."""
    return tuple(_parsed(text))


def fits(steps: Sequence[Step], shape: Sequence[str | None]) -> bool:
    """Whether a pattern may be about paths of a shape, which has None for every index."""
    if len(steps) != len(shape) and (not steps or steps[-1] != REST or len(shape) < len(steps) - 1):
        return False
    for step, key in zip(steps, shape, strict=False):
        if step == REST:
            return True
        named = isinstance(step, str)
        if named != (key is not None):
            return False
        if isinstance(step, str) and not step.startswith("$") and step != key:
            return False
    return True


def match(steps: Sequence[Step], path: Path, value: Any) -> Bound | None:
    """What the holes of a pattern are filled with by a path; None where it does not fit."""
    bound: dict[str, Any] = {}
    if len(steps) != len(path) and (not steps or steps[-1] != REST or len(path) < len(steps) - 1):
        return None
    indexes: list[int] = []
    for step, key in zip(steps, path, strict=False):
        if step == REST:
            break
        value = _child(value, key)
        if isinstance(key, int):
            indexes.append(key)
        if isinstance(step, tuple):
            said = lookup(value, step[0])
            hole, _, wanted = step[1].rpartition("@") if "@" in step[1] else _either(step[1])
            if hole:
                bound[hole[1:]] = said
            if wanted and not _globbed(wanted, said):
                return None
        elif step is None:
            if not isinstance(key, int):
                return None
        elif isinstance(step, str) and step.startswith("$"):
            bound[step[1:]] = key
        elif step != key:
            return None
    bound["indexes"] = tuple(indexes)
    return bound


def _child(value: Any, key: str | int) -> Any:
    if isinstance(value, Mapping):
        return value.get(key)
    inside = isinstance(value, list) and isinstance(key, int) and key < len(value)
    return value[key] if inside else None


def _either(text: str) -> tuple[str, str, str]:
    return (text, "", "") if text.startswith("$") else ("", "", text)


def _globbed(wanted: str, said: Any) -> bool:
    if wanted.endswith("*"):
        return isinstance(said, str) and said.startswith(wanted[:-1])
    return str(said) == wanted
