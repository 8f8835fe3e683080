"""Changing a file that people also write in: new values, their comments and order kept.

ruamel.yaml is slow and only for this: a ledger with comments in it that must change.
"""

from __future__ import annotations

import io
from typing import Any


def edited(old: bytes, new: bytes) -> bytes:
    """``new`` with the comments of ``old``. Without comments there is nothing to keep."""
    if b"#" not in old.partition(b"\n")[2]:  # the first line is ours
        return new
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = 10**6
    try:
        before, after = yaml.load(old), yaml.load(new)
        if not isinstance(before, dict) or not isinstance(after, dict):
            return new
        _lay_over(before, after)
        text = io.BytesIO()
        yaml.dump(before, text)
        # comments are worth less than what the file says
        return text.getvalue() if yaml.load(text.getvalue()) == yaml.load(new) else new
    except YAMLError:
        return new


def _lay_over(old: Any, new: Any) -> None:
    """Make ``old`` say what ``new`` says, touching only what differs."""
    for key in [key for key in old if key not in new]:
        del old[key]
    for number, (key, value) in enumerate(new.items()):
        if key not in old:
            old.insert(number, key, value)
        elif isinstance(value, dict) and isinstance(old[key], dict):
            _lay_over(old[key], value)
        elif isinstance(value, list) and isinstance(old[key], list):
            _items(old[key], value)
        elif old[key] != value:
            old[key] = value


def _items(old: Any, new: Any) -> None:
    """List items matched by id; a matched one keeps its comments, a revision its version's."""
    left = [item for item in old if isinstance(item, dict) and "id" in item]
    found: dict[int, Any] = {}
    for keys in (("id", "digest"), ("id",)):
        for number, item in enumerate(new):
            same = [o for o in left if isinstance(item, dict) and _agree(o, item, keys)]
            if same and number not in found:
                found[number] = same[0]
                left = [o for o in left if o is not same[0]]
    for number, item in found.items():
        _lay_over(item, new[number])
    old[:] = [found.get(number, item) for number, item in enumerate(new)]


def _agree(one: Any, two: Any, keys: tuple[str, ...]) -> bool:
    return all(one.get(key) == two.get(key) for key in keys)
