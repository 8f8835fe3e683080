"""Dotted field paths, as replacements and vars use them.

`spec.containers.[name=app].image`, `data.[key.with.dots]`, `spec.rules.0.host`,
`spec.rules.*.host`. A place is the container and the key or index under which a value stands, so
that it can be set.
"""

from __future__ import annotations

import re
from typing import Any, Final

from gati_gitops.render.errors import Broken, Unsupported
from gati_gitops.render.fieldspec import split_path
from gati_gitops.render.selectors import go_regex
from gati_gitops.yamlio.goyaml_scalars import Cell, is_null, is_quoted, resolve, text_of

Place = tuple[Any, Any]
_INDEX: Final = re.compile(r"\+?[0-9]+\Z")


class _Created:
    """A scalar that a path has made and nobody has set yet."""


CREATED: Final = _Created()


def split_dotted(path: str) -> list[str]:
    result = []
    parts = iter(split_path(path, "."))
    for part in parts:
        joined = part
        if part.startswith("[") and not part.endswith("]"):
            for more in parts:
                joined += "." + more
                if more.endswith("]"):
                    break
            joined = joined if "=" in joined else joined.strip("[]")
        result.append(joined)
    return result


def is_list_key(part: str) -> bool:
    return part.startswith("[") and part.endswith("]")


def _split_list_key(part: str) -> tuple[str, str]:
    name, equals, value = part[1:-1].partition("=")
    if not equals:
        raise Broken(f"list path element must contain fieldName=fieldValue: {part}")
    return name, value


def is_scalar(value: Any) -> bool:
    return not isinstance(value, (dict, list))


# ------------------------------------------------------------------------------------- looking up


def lookup(obj: Any, parts: list[str]) -> Place | None:
    """The one place that a path without patterns leads to."""
    place: Place = ([obj], 0)
    for part in filter(None, map(str.strip, parts)):
        value = place[0][place[1]]
        if _INDEX.match(part) or part == "-":
            found = _by_index(value, part)
        elif part == "*":
            raise Broken("wildcard is not supported here")
        elif is_list_key(part):
            found = _by_key(value, *_split_list_key(part))
        else:
            found = _by_name(value, part)
        if found is None:
            return None
        place = found
    return place


def _by_name(value: Any, name: str) -> Place | None:
    if is_null(value):
        return None
    if not isinstance(value, dict):
        raise Broken(f"expected a mapping with the field {name}")
    return (value, name) if name in value else None


def _by_index(value: Any, part: str) -> Place | None:
    if is_null(value):
        if part == "-":
            raise Broken("a list has no last entry")
        return None
    if not isinstance(value, list):
        raise Broken(f"expected a list for the index {part}")
    index = len(value) - 1 if part == "-" else int(part)
    if part == "-" and not value:
        raise Broken("a list has no last entry")
    return (value, index) if index < len(value) else None


def _by_key(value: Any, name: str, wanted: str) -> Place | None:
    if is_null(value):
        return None
    if not isinstance(value, list):
        raise Broken(f"expected a list of entries with {name}={wanted}")
    for index, entry in enumerate(value):
        if not name:
            if is_scalar(entry) and text_of(entry) == wanted:
                return (value, index)
        elif isinstance(entry, dict) and name in entry and _text(entry[name]) == wanted:
            return (value, index)
    return None


def _text(value: Any) -> str:
    return text_of(value) if is_scalar(value) else ""


# --------------------------------------------------------------------------------------- matching


def matches(place: Place, parts: list[str], make: Any) -> list[Place]:
    """All places that a path with patterns leads to; `make` creates what is missing on the way.

    `make` is the value that the last field will get, or None to create nothing.
    """
    if not parts:
        return [place]
    value = place[0][place[1]]
    part, rest = parts[0], parts[1:]
    if _INDEX.match(part):
        return _match_index(value, int(part), rest, make)
    if is_list_key(part):
        return _match_entries(value, part, rest, make)
    if part == "*":
        if is_null(value):
            return []
        if not isinstance(value, list):
            raise Broken("a wildcard needs a list")
        return [p for i in range(len(value)) for p in matches((value, i), rest, make)]
    return _match_field(value, part, rest, make)


def _match_field(value: Any, name: str, rest: list[str], make: Any) -> list[Place]:
    if value is CREATED or (not is_null(value) and not isinstance(value, dict)):
        raise Broken(f"expected a mapping with the field {name}")
    if is_null(value) or name not in value:
        if make is None:
            return []
        if is_null(value):
            raise Unsupported(f"creating {name} under a null field")
        if not isinstance(resolve(name), str):
            raise Broken(f"the key {name} would be read as something other than a string")
        value[name] = _made(rest, make)
    below = value[name]
    if rest and is_scalar(below):
        if is_null(below):
            return []
        raise Unsupported(f"a path into the text of the field {name}")
    return matches((value, name), rest, make)


def _made(rest: list[str], make: Any) -> Any:
    following = rest[0] if rest else ""
    if is_list_key(following) or _INDEX.match(following):
        return []
    if following:
        return {}
    return {} if isinstance(make, dict) else [] if isinstance(make, list) else CREATED


def _match_index(value: Any, index: int, rest: list[str], make: Any) -> list[Place]:
    if is_null(value):
        value = []
    if not isinstance(value, list):
        raise Broken(f"expected a list for the index {index}")
    if len(value) == index and make is not None:
        value.append(_made(rest, make))
    if len(value) <= index:
        raise Broken(f"index {index} specified but only {len(value)} elements found")
    return matches((value, index), rest, make)


def _match_entries(value: Any, part: str, rest: list[str], make: Any) -> list[Place]:
    name, pattern = _split_list_key(part)
    if is_null(value):
        if make is not None:
            raise Unsupported(f"creating {part} under a null field")
        return []
    if not isinstance(value, list):
        raise Broken(f"expected a list of entries with {part[1:-1]}")
    found = _fitting(value, name, pattern, rest, make)
    if not found and make is not None:
        value.append({name: resolve(pattern)} if name else resolve(pattern))
        found = _fitting(value, name, pattern, rest, make)
    return found


def _fitting(value: list[Any], name: str, pattern: str, rest: list[str], make: Any) -> list[Place]:
    test = go_regex(pattern, whole=False)
    found: list[Place] = []
    for index, entry in enumerate(value):
        subject = entry
        if name:
            if not isinstance(entry, dict) or name not in entry:
                continue
            subject = entry[name]
        if not is_scalar(subject):
            raise Unsupported("matching an entry by a field that is not a scalar")
        if is_quoted(subject) and re.search(r"[$^]", pattern):
            raise Unsupported("an anchored pattern for text in quotes")
        if test(text_of(subject)):
            found += matches((value, index), rest if name else [], make)
    return found


def unshared(value: Any) -> Any:
    return value.value if isinstance(value, Cell) else value
