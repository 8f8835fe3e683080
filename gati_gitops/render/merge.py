"""Strategic merge, as kustomize does it.

A patch is walked together with the object it changes. What the patch does not mention stays, null
removes, `$patch` deletes or replaces, a list is replaced unless the schema says that it merges by
keys. The object and the patch are both changed in place; who needs a patch twice copies it first.

kustomize walks every field of the object, mentioned or not, and tidies up on the way: a key
without any value goes, entries of a merging list that have the same key become one. `_alone` does
that tidying, and for an ordinary object it finds out quickly that there is nothing to do.
"""

from __future__ import annotations

from typing import Any, Final

from gati_gitops.render.errors import Broken
from gati_gitops.render.merge_lists import (
    elements_by_key,
    list_directive,
    merge_slowly,
)
from gati_gitops.render.openapi import Schema, Type
from gati_gitops.yamlio.goyaml_scalars import (
    BLANK,
    Null,
    Quoted,
    is_null,
    reads_as_string,
    written_over,
)

MISSING: Final = object()
_OPAQUE: Final[Type] = {}
_DIRECTIVE: Final = "$patch"


def strategic_merge(
    target: dict[str, Any], patch: dict[str, Any], schema: Schema, *, careful: bool
) -> Any:
    """The merged object, or None when the patch deletes it.

    `careful` when a key of the target has no value: then all of it must be walked.
    """
    if patch.get(_DIRECTIVE) == "replace":
        return target  # kustomize makes the replacement and then keeps the object it had
    merged = Merge(schema, careful=careful).walk(target, patch, None)
    return None if merged is MISSING else merged


def contains_blank(value: Any) -> bool:
    """Whether some key has no value at all; a patch elsewhere in the object removes such a key."""
    for item in value.values() if type(value) is dict else value:
        kind = type(item)
        if item is BLANK or ((kind is dict or kind is list) and contains_blank(item)):
            return True
    return False


class Merge:
    """One merge; `careful` walks all of the object."""

    def __init__(self, schema: Schema, *, careful: bool) -> None:
        self.schema = schema
        self.careful = careful

    def walk(self, old: Any, new: Any, type_: Any) -> Any:
        """What becomes of one field; MISSING when it goes."""
        kind = type(old)
        subject = new if old is MISSING or old is None or kind is Null else old
        kind = type(subject)
        if subject is MISSING or subject is None or kind is Null:
            # Only a null that was spelled out survives, and only when the patch is silent.
            return old if old is not BLANK and new is MISSING else MISSING
        if kind is dict:
            _expect(new, dict)
            return self._mapping(old, new, type_)
        if kind is list:
            _expect(new, list)
            if type(type_) is tuple:
                return self._merging_list(old, new, type_)
            result = old if new is MISSING else new
        else:
            _expect(new, None)
            result = old if new is MISSING else new
        return MISSING if result is None or type(result) is Null else result

    # ----------------------------------------------------------------------------------- mappings

    def _mapping(self, old: Any, new: Any, type_: Any) -> Any:
        fields = self._fields(old, new, type_)
        if old is MISSING or is_null(old):
            if _directive(new, lenient=True) == "delete":
                return MISSING
            return self._with_itself(new, fields)
        if old is new:
            return MISSING if _directive(new) == "delete" else self._with_itself(new, fields)
        if new is MISSING:
            self._alone(old, fields)
            return old
        if is_null(new):
            return MISSING
        directive = _directive(new)
        if directive == "delete":
            return MISSING
        if directive == "replace":
            return self._with_itself(new, fields)
        self._alone(old, fields, but=new)
        for key, value in new.items():
            child = None if fields is None else fields.get(key) or fields.get("*", _OPAQUE)
            put(old, key, self.walk(old.get(key, MISSING), value, child))
        return old

    def _fields(self, old: Any, new: Any, type_: Any) -> Type | None:
        if type_ is not None:
            return type_ if type(type_) is dict else None
        for value in (old, new):
            if type(value) is dict:
                api_version, kind = value.get("apiVersion"), value.get("kind")
                if isinstance(kind, str) and isinstance(api_version, str):
                    found = self.schema.type_of(api_version, kind)
                    if found is not None:
                        return found
        return None

    def _with_itself(self, new: dict[str, Any], fields: Type | None) -> dict[str, Any]:
        for key, value in [*new.items()]:
            child = None if fields is None else fields.get(key) or fields.get("*", _OPAQUE)
            put(new, key, self.walk(value, value, child))
        return new

    def _alone(self, old: dict[str, Any], fields: Type | None, but: Any = ()) -> None:
        if fields is None or self.careful:
            keys = [key for key in old if key not in but]
        elif not fields:
            return
        else:
            keys = [*old] if "*" in fields else [key for key in fields if key in old]
            keys = [key for key in keys if key not in but]
        for key in keys:
            value = old[key]
            if value is BLANK:
                del old[key]
            elif type(value) is dict or type(value) is list:
                child = None if fields is None else fields.get(key) or fields.get("*", _OPAQUE)
                put(old, key, self.walk(value, MISSING, child))

    # -------------------------------------------------------------------------------------- lists

    def _merging_list(self, old: Any, new: Any, type_: tuple[Type, tuple[str, ...]]) -> Any:
        if old is MISSING or is_null(old):
            result = new
        elif new is MISSING:
            result = old
        elif is_null(new):
            return MISSING
        else:
            directive = list_directive(new)
            if directive == "delete":
                return MISSING
            result = new if directive == "replace" else old
        element, keys = type_
        if new is MISSING and len(keys) == 1 and self._tidy(result, element, keys[0]):
            return result
        present = self._present(keys, result, new)
        if present:
            merged = self._by_key(result, new, element, present)
            if merged is not None:
                return merged
        return merge_slowly(self, result, new, element, keys)

    def _tidy(self, entries: list[Any], element: Type, key: str) -> bool:
        """Whether nothing is to be put right in a list that the patch leaves alone."""
        seen = set()
        for entry in entries:
            name = entry.get(key) if type(entry) is dict else None
            if type(name) is not str or not name:
                return False
            seen.add(name)
        if len(seen) != len(entries):
            return False
        if element or self.careful:
            for entry in entries:
                self._alone(entry, element)
        return True

    def _present(self, keys: tuple[str, ...], old: list[Any], new: Any) -> tuple[str, ...]:
        """The merge keys in use, or nothing when the entries are not all alike."""
        present: tuple[str, ...] | None = None
        for entries in (old,) if new is MISSING else (old, new):
            for entry in entries:
                if type(entry) is not dict:
                    return ()
                have = tuple(key for key in keys if key in entry)
                if present is None:
                    present = have
                elif have != present:
                    return ()
        return present or ()

    def _by_key(
        self, old: list[Any], new: Any, element: Type, keys: tuple[str, ...]
    ) -> list[Any] | None:
        """The ordinary case: every entry has its keys, no two entries have the same."""
        before = elements_by_key(old, keys)
        if before is None:
            return None
        if new is MISSING:
            for entry in old:
                self._alone(entry, element)
            return old
        after = before if new is old else elements_by_key(new, keys)
        if after is None or any(entry.get(_DIRECTIVE) == "replace" for entry in new):
            return None
        kept: dict[Any, Any] = {}
        for name, entry in after.items():
            value = self.walk(before.get(name, MISSING), entry, element)
            if value is not MISSING and value:
                kept[name] = value
        for name, entry in before.items():
            if name not in after:
                self._alone(entry, element)
        if len(keys) > 1:
            first = [value for name, value in kept.items() if name not in before]
            return first + [
                kept[name] if name in after else entry
                for name, entry in before.items()
                if name not in after or name in kept
            ]
        return [*kept.values(), *(entry for name, entry in before.items() if name not in after)]


def put(mapping: dict[str, Any], key: str, value: Any) -> None:
    """Set or remove a field, in the style of what stood there."""
    if value is MISSING:
        mapping.pop(key, None)
        return
    old = mapping.get(key, MISSING)
    if old is value:
        return
    kind = type(value)
    if kind is dict or kind is list:
        mapping[key] = value
    elif old is not MISSING:
        mapping[key] = written_over(old, value)
    else:
        mapping[key] = Quoted(value) if kind is str and not reads_as_string(value) else value


def _expect(value: Any, kind: type | None) -> None:
    if value is MISSING or value is None or type(value) is Null:
        return
    actual = type(value)
    if actual is kind or (kind is None and actual is not dict and actual is not list):
        return
    names: dict[Any, str] = {dict: "a mapping", list: "a list"}
    wanted, got = names.get(kind, "a scalar"), names.get(actual, "a scalar")
    raise Broken(f"the patch has {got} where the resource has {wanted}")


def _directive(patch: dict[str, Any], *, lenient: bool = False) -> str:
    value = patch.get(_DIRECTIVE)
    if value is None:
        return ""
    if value in ("delete", "replace", "merge"):
        del patch[_DIRECTIVE]
        return str(value)
    if lenient:
        return ""
    raise Broken(f"unknown patch strategy '{value}'", field=_DIRECTIVE)
