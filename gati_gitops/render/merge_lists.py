"""Merging lists by key when the entries are not all alike.

Entries without the key, several entries with one key, scalars among mappings, keys that only some
entries have: kustomize has an answer for each, and the answers follow from the steps it takes.
Those steps are repeated here one by one. Ordinary lists never come here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from gati_gitops.render.errors import Broken
from gati_gitops.yamlio.goyaml_scalars import is_null, resolve, text_of

if TYPE_CHECKING:
    from gati_gitops.render.merge import Merge

_DIRECTIVE: Final = "$patch"
Values = tuple[str, ...]


def value_of(entry: Any) -> str:
    """The text of a node; collections have none."""
    return "" if isinstance(entry, (dict, list)) else text_of(entry)


def elements_by_key(entries: list[Any], keys: Sequence[str]) -> dict[Any, Any] | None:
    """Entries by the values of their keys, or None when a value is empty or comes twice."""
    found: dict[Any, Any] = {}
    if len(keys) == 1:
        key = keys[0]
        for entry in entries:
            value = entry[key]
            if type(value) is not str:
                value = "" if is_null(value) else value_of(value)
            if not value or value in found:
                return None
            found[value] = entry
        return found
    for entry in entries:
        values = tuple("" if is_null(entry[key]) else value_of(entry[key]) for key in keys)
        if "" in values or values in found:
            return None
        found[values] = entry
    return found


def list_directive(patch: list[Any]) -> str:
    """What a patch says about a list as a whole, in an entry that holds nothing else."""
    for entry in patch:
        if isinstance(entry, dict) and _DIRECTIVE in entry:
            if len(entry) > 1:
                return ""
            value = value_of(entry[_DIRECTIVE])
            if value not in ("delete", "replace", "merge"):
                raise Broken(f"unknown patch strategy '{value}'", field=_DIRECTIVE)
            set_element(patch, None, (_DIRECTIVE,), (value,))
            return value
    return ""


def merge_slowly(merge: Merge, old: list[Any], new: Any, element: Any, keys: Values) -> Any:
    from gati_gitops.render.merge import MISSING

    sources = [old, None if new is MISSING else new]
    values = _element_values(sources, keys)
    if not values and not keys:
        values = _primitive_values(sources)
        keys = ("",)
    if len(keys) > 1:
        values = _merge_values(values)
    added: list[Any] = []
    valid_keys: Values = ()
    for each in values:
        if not each:
            continue
        valid_keys, valid = _validate(values, each, keys)
        found = [_find(source, valid_keys, valid) for source in sources]
        pair = [MISSING if entry is None else entry[0] for entry in found]
        value = merge.walk(pair[0], pair[1], element)
        if value is MISSING or is_null(value) or value == {}:
            set_element(old, None, valid_keys, valid)
            continue
        if isinstance(value, dict):
            for key, text in zip(valid_keys, valid, strict=False):
                if key not in value and text:
                    value[key] = resolve(text)
        set_element(added, (value,), valid_keys, valid)
    return _append(added, old, valid_keys) if values else old


def _element_values(sources: list[Any], keys: Values) -> list[Values]:
    seen: dict[Values, None] = {}
    for source in (sources[1], sources[0]):
        for entry in source or ():
            values = tuple(_key_value(entry, key) for key in keys)
            if values:
                seen.setdefault(values)
    return [*seen]


def _key_value(entry: Any, key: str) -> str:
    value = entry.get(key) if isinstance(entry, dict) else None
    return "" if is_null(value) else value_of(value)


def _primitive_values(sources: list[Any]) -> list[Values]:
    seen: dict[Values, None] = {}
    for source in (sources[1], sources[0]):
        for entry in source or ():
            seen.setdefault((value_of(entry),))
    return [*seen]


def _merge_values(values: list[Values]) -> list[Values]:
    """Keys that agree as far as both have them are the same."""
    values = [*values]
    for i, one in enumerate(values):
        for j in range(len(values)):
            joined = _match(one, values[j])
            if joined is not None:
                values[i] = values[j] = joined
    return values


def _match(one: Values, two: Values) -> Values | None:
    common = False
    joined = []
    for a, b in zip(one, two, strict=True):
        if a == b:
            common = True
        elif a and b:
            return None
        joined.append(a or b)
    return tuple(joined) if common else None


def _validate(all_values: list[Values], values: Values, keys: Values) -> tuple[Values, Values]:
    """The keys that some entry has, and the values for them."""
    used = {keys[i] for each in all_values for i, value in enumerate(each) if value}
    if not used:
        return keys, values
    return (
        tuple(key for key in keys if key in used),
        tuple(v for i, v in enumerate(values) if v or keys[i] in used),
    )


def _find(source: Any, keys: Values, values: Values) -> tuple[Any] | None:
    """The first entry with these values, in a tuple because the entry may be anything."""
    if source is None:
        return None
    keys, values = _validate([values], values, keys)
    if not keys or not keys[0]:
        wanted = values[0] if values else ""
        return next(((entry,) for entry in source if value_of(entry) == wanted), None)
    for entry in source:
        if isinstance(entry, dict) and all(
            key in entry and value_of(entry[key]) == value
            for key, value in zip(keys, values, strict=False)
        ):
            return (entry,)
    return None


def set_element(
    entries: list[Any], element: tuple[Any] | None, keys: Values, values: Values
) -> None:
    """Put the element where entries have these values, or at the end; None removes them."""
    keys = keys or ("",)
    by_mapping = keys[0] != "" and values and values[0] != ""
    kept: list[Any] = []
    matched = False
    for entry in entries:
        if is_null(entry) or entry == {}:
            continue
        if not isinstance(entry, dict) and by_mapping:
            kept.append(entry)
            continue
        if not _has(entry, keys, values):
            if values:
                kept.append(entry)
            continue
        matched = True
        if element is not None:
            kept.append(element[0])
    entries[:] = kept
    if element is not None and not is_null(element[0]) and not matched:
        entries.append(element[0])


def _has(entry: Any, keys: Values, values: Values) -> bool:
    if not values:
        return False
    for key, value in zip(keys, values, strict=False):
        if not key:
            if isinstance(entry, (dict, list)):
                raise Broken("a merging list mixes scalars with mappings")
            if text_of(entry) != value:
                return False
        elif not isinstance(entry, dict):
            raise Broken("a merging list mixes scalars with mappings")
        elif key not in entry or (value and value_of(entry[key]) != value):
            return False
    return True


def _append(added: list[Any], old: list[Any], keys: Values) -> list[Any]:
    for entry in [*old]:
        if not keys or not keys[0]:
            set_element(added, (entry,), ("",), (value_of(entry),))
            continue
        values: list[str] = []
        for key in keys:
            if isinstance(entry, dict) and key in entry:
                values.append(value_of(entry[key]))
            elif isinstance(entry, dict) or is_null(entry):
                added.append(entry)
            else:
                raise Broken("a merging list mixes scalars with mappings")
        if len(keys) > 1:
            set_element(added, None, keys, tuple(values))
        set_element(added, (entry,), keys, tuple(values))
    return added
