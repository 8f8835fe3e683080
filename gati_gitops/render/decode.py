"""Typed reading of YAML structures, by Go's rules for JSON.

A schema is `str`, `bool` or `int`, a list with the schema of an element, a table of named fields,
or the table {ANY: schema} for a mapping with free keys. Field names match without regard to case,
null means "not given", an unknown field or another type is an error.
"""

from __future__ import annotations

from typing import Any, Final

from gati_gitops.render.errors import Broken

ANY: Final = "*"
_NAMES: Final[dict[Any, str]] = {str: "a string", bool: "true or false", int: "an integer"}


def decode(value: Any, schema: Any, file: str, path: str = "", *, strict: bool = True) -> Any:
    """The value with the field names of the schema; without `strict` unknown fields are dropped
    and plain scalars are taken for strings where strings are wanted.
    """
    if isinstance(schema, list):
        if not isinstance(value, list):
            raise _wrong(value, "a list", file, path)
        if schema[0] is str and all(type(item) is str for item in value):
            return value
        items = [
            decode(v, schema[0], file, f"{path}[{i}]", strict=strict) for i, v in enumerate(value)
        ]
        zero: Any = {str: "", bool: False, int: 0}.get(_hashable(schema[0]))
        return [zero if item is None else item for item in items]
    if isinstance(schema, dict):
        return _struct(value, schema, file, path, strict)
    if value is None:
        return None
    if schema is int and type(value) is float and value.is_integer():
        return int(value)
    if type(value) is schema:
        return value
    if schema is str and not strict and isinstance(value, (int, float)):
        return str(value).lower() if isinstance(value, bool) else str(value)
    raise _wrong(value, _NAMES[schema], file, path)


def _hashable(schema: Any) -> Any:
    return schema if isinstance(schema, type) else None


def _struct(value: Any, schema: dict[str, Any], file: str, path: str, strict: bool) -> Any:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _wrong(value, "a mapping", file, path)
    if ANY in schema:
        return {
            key: ""
            if item is None
            else decode(item, schema[ANY], file, f"{path}.{key}", strict=strict)
            for key, item in value.items()
        }
    result = {}
    for key, item in value.items():
        name = key if key in schema else _fold(key, schema)
        if name is None:
            if strict:
                raise Broken(f'unknown field "{key}"', file=file, field=path.lstrip("."))
            continue
        if item is not None:
            result[name] = decode(item, schema[name], file, f"{path}.{name}", strict=strict)
    return result


def _fold(key: str, schema: dict[str, Any]) -> str | None:
    folded = key.casefold()
    return next((name for name in schema if name.casefold() == folded), None)


def _wrong(value: Any, wanted: str, file: str, path: str) -> Broken:
    kinds = {dict: "a mapping", list: "a list", bool: "a boolean", str: "a string"}
    got = "nothing" if value is None else kinds.get(type(value), "a number")
    remedy = "quote it" if wanted == "a string" and got in ("a number", "a boolean") else ""
    return Broken(
        f"expected {wanted}, found {got}", file=file, field=path.lstrip("."), remedy=remedy
    )
