"""Changing a file that people also write in: new values, their comments and order kept.

ruamel.yaml is slow and only for this: a ledger with comments in it that must change.
"""

from __future__ import annotations

import io
import re
from typing import Any

# Comments other than the generated first line.
_COMMENT = re.compile(rb"(?m)^(?!\A#)[^\n\"']*#|\"[^\n\"]*\"\s+#")


def edited(old: bytes, new: bytes) -> bytes:
    """``new`` with the comments of ``old``. Without comments there is nothing to keep."""
    if not _COMMENT.search(old):
        return new
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = 10**6
    try:
        before, after = yaml.load(old), yaml.load(new)
    except YAMLError:
        return new
    _lay_over(before, after)
    text = io.BytesIO()
    yaml.dump(before, text)
    return text.getvalue()


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
            old[key][:] = _items(old[key], value)
        elif old[key] != value:
            old[key] = value


def _items(old: Any, new: Any) -> list[Any]:
    """List items matched by id; a matched one keeps its own comments."""
    known = {item["id"]: item for item in old if isinstance(item, dict) and "id" in item}
    found = []
    for item in new:
        match = known.get(item["id"]) if isinstance(item, dict) and "id" in item else None
        same = match is not None and match.get("digest") == item.get("digest")
        if match is not None and (same or len(new) == len(old)):
            _lay_over(match, item)
            found.append(match)
        else:
            found.append(item)
    return found
