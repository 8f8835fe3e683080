"""Two schemas walked together: fields, types, defaults, and what is dropped.

``old`` says what objects may look like today, ``new`` what the API server will take and keep of
them. Whatever is not understood is reported as risky; nothing is passed over in silence but words
that only people read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gati_gitops.preview.crds.found import (
    NEVER_RATCHETED,
    RATCHETED,
    Found,
    breaking,
    risky,
    safe,
    said,
)
from gati_gitops.preview.crds.logic import CEL, logic_changes
from gati_gitops.preview.crds.model import At, Level, Node, Rule, mapping, sequence, spelled
from gati_gitops.preview.crds.shapes import (
    EMBEDDED,
    HEAD,
    INT_OR_STRING,
    PRESERVE,
    defaults_below,
    field,
    items,
    required,
    takes,
    types,
    unlisted,
)
from gati_gitops.preview.crds.values import value_changes

MAX_DEPTH = 100
_LIST_TYPE = "x-kubernetes-list-type"
_LIST_KEYS = "x-kubernetes-list-map-keys"
_MAP_TYPE = "x-kubernetes-map-type"
_WORDS_ONLY = {"description", "title", "example", "externalDocs", "$schema", "id"}
_COMPARED = {
    "type", "properties", "additionalProperties", "items", "required", "nullable", "default",
    "enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength",
    "minItems", "maxItems", "minProperties", "maxProperties", "multipleOf", "uniqueItems",
    "pattern", "format", "allOf", "anyOf", "oneOf", "not", CEL, PRESERVE, INT_OR_STRING, EMBEDDED,
    _LIST_TYPE, _LIST_KEYS, _MAP_TYPE,
}  # fmt: skip


def compare_schemas(old: Node, new: Node, at: At = ()) -> Iterator[Found]:
    """Every change between two schemas, in the order of the old one."""
    if old == new:
        return
    if len(at) > 2 * MAX_DEPTH:
        yield risky(at, Rule.OTHER, None, None, "it is nested too deeply to be compared")
        return
    before, after = types(old), types(new)
    if before != after:
        change = _type(old, new, at)
        yield change
        if after is None:
            yield from _lost_defaults(old, new, at)
        if after is None or change.level is Level.BREAKING:
            return
    yield from _nullable(old, new, at)
    yield from _default(old, new, at)
    yield from value_changes(old, new, at)
    if takes(before, "object") and takes(after, "object"):
        yield from _object(old, new, at)
    if takes(before, "array") and takes(after, "array"):
        yield from _list(old, new, at)
    yield from logic_changes(old, new, at)
    for word in sorted((old.keys() | new.keys()) - _COMPARED - _WORDS_ONLY):
        if old.get(word) != new.get(word):
            shown = (said(old, word), said(new, word))
            why = f"what {word} does is not known here"
            yield risky((*at, word), Rule.OTHER, *shown, why)


# ------------------------------------------------------------------------------------ single nodes


def _type(old: Node, new: Node, at: At) -> Found:
    before, after = types(old), types(new)
    shown = (_typed(before), _typed(after))
    if before is None:
        return breaking(
            at, Rule.TYPE, *shown,
            f"anything was taken and kept here; what is no {shown[1]} is refused now",
            "describe the field without a type, or check it in a new version",
        )  # fmt: skip
    if all(takes(after, kind) for kind in before):
        return risky(
            at, Rule.TYPE, *shown,
            f"all that was taken is taken, but programs that read {shown[0]} will meet more",
            "update whoever reads the field before anybody writes the other type",
        )  # fmt: skip
    return breaking(
        at, Rule.TYPE, *shown,
        f"a value of type {shown[0]} is refused now, and a new one by older programs",
        "add a field of another name beside it, and keep this one until nobody sets it",
    )  # fmt: skip


def _typed(kinds: frozenset[str] | None) -> str:
    return "anything" if kinds is None else " or ".join(sorted(kinds))


def _nullable(old: Node, new: Node, at: At) -> Iterator[Found]:
    before, after = old.get("nullable") is True, new.get("nullable") is True
    if before == after or types(new) is None:
        return
    shown = (spelled(before), spelled(after))
    if after:
        yield risky(
            at, Rule.NULLABLE, *shown, "programs that read the field will meet null",
            "update whoever reads the field before anybody writes null",
        )  # fmt: skip
    else:
        yield breaking(
            at, Rule.NULLABLE, *shown,
            f"null is refused now, or replaced by the default; {RATCHETED}",
            "keep it nullable",
        )  # fmt: skip


def _default(old: Node, new: Node, at: At) -> Iterator[Found]:
    shown = (said(old, "default"), said(new, "default"))
    if "default" in old and "default" in new:
        if old["default"] != new["default"]:
            yield breaking(
                at, Rule.DEFAULT_CHANGED, *shown,
                "objects that do not set the field mean something else from one moment to the"
                " next: stored ones are defaulted when they are read",
                "leave the default, or change it in a new version",
            )  # fmt: skip
    elif "default" in old:
        yield _default_removed(old["default"], at)
    elif "default" in new:
        yield risky(
            at, Rule.DEFAULT_ADDED, *shown,
            "objects that do not set the field get a value that nobody wrote, stored ones too",
            "choose the default that controllers assumed so far",
        )  # fmt: skip


def _default_removed(value: Any, at: At) -> Found:
    return breaking(
        at, Rule.DEFAULT_REMOVED, spelled(value), None,
        "objects that do not set the field have no value any more, and are refused where it is"
        " required",
        "leave the default",
    )  # fmt: skip


def _lost_defaults(old: Node, new: Node, at: At) -> Iterator[Found]:
    """Defaults of fields that are described no longer; the node's own may have stayed."""
    for place, value in defaults_below(old, at):
        if place != at or new.get("default", ...) != value:
            yield replace(_default_removed(value, place), gone=True)


# ----------------------------------------------------------------------------------------- objects


def _object(old: Node, new: Node, at: At) -> Iterator[Found]:
    listed, listed_now = mapping(old.get("properties")), mapping(new.get("properties"))
    for name in dict.fromkeys((*listed, *listed_now)):
        place = (*at, "properties", name)
        before, after = field(old, name), field(new, name)
        if before is None and after is not None:
            yield _field_added(name, after, place)
        elif before is not None and after is None:
            yield _field_removed(name, before, listed, listed_now, place)
        elif before is not None and after is not None:
            for found in compare_schemas(before, after, place):
                yield found if name in listed_now else replace(found, gone=True)
    yield from _required(old, new, at)
    yield from _unlisted(old, new, at)
    yield from _embedded(old, new, at)
    before_, after_ = old.get(_MAP_TYPE, "granular"), new.get(_MAP_TYPE, "granular")
    if before_ != after_:
        yield risky(
            at, Rule.MAP_TYPE, str(before_), str(after_),
            "server-side apply owns the fields together where it owned each, or the other way"
            " round: the next apply of several owners may take away what another one set",
            "leave it as it is",
        )  # fmt: skip


def _field_added(name: str, node: Node, at: At) -> Found:
    shown = _typed(types(node))
    if "default" in node:
        return risky(
            at, Rule.FIELD_ADDED, None, f"{shown} = {spelled(node['default'])}",
            "stored objects get its default, which nobody wrote",
            "choose the default that controllers assumed so far, or none",
        )  # fmt: skip
    return safe(at, Rule.FIELD_ADDED, None, shown, "objects need not set it")


def _field_removed(name: str, node: Node, listed: Node, listed_now: Node, at: At) -> Found:
    renamed = [
        other
        for other, schema in listed_now.items()
        if other not in listed and _without_words(schema) == _without_words(node)
    ]
    hint = f"; if it was renamed to {renamed[0]}, nobody copies the value" if renamed else ""
    found = breaking(
        at, Rule.FIELD_REMOVED, _typed(types(node)), None,
        f"what objects hold there is dropped when they are next written, without a word{hint}",
        "keep the field, say in its description that it is deprecated, and leave it out of a new"
        " version only",
    )  # fmt: skip
    return replace(found, gone=True)


def _without_words(node: Any) -> Any:
    return {word: value for word, value in mapping(node).items() if word not in _WORDS_ONLY}


def _required(old: Node, new: Node, at: At) -> Iterator[Found]:
    before, after = required(old), required(new)
    for name in after:
        if name in before:
            continue
        place = (*at, "properties", name)
        if "default" in mapping(mapping(new.get("properties")).get(name)):
            why = "its default is filled in before that is checked"
            yield safe(place, Rule.REQUIRED_ADDED, "optional", "required", why)
        else:
            yield breaking(
                place, Rule.REQUIRED_ADDED, "optional", "required",
                f"objects without it are refused now; {NEVER_RATCHETED}",
                "leave it optional, or give it a default",
            )  # fmt: skip
    for name in before:
        if name not in after and field(new, name) is not None:
            why = "objects may leave it out; programs that count on it should look first"
            place = (*at, "properties", name)
            yield safe(place, Rule.REQUIRED_REMOVED, "required", "optional", why)


def _unlisted(old: Node, new: Node, at: At) -> Iterator[Found]:
    before, after = unlisted(old), unlisted(new)
    place = (*at, "additionalProperties")
    if before is not None and after is not None:
        yield from compare_schemas(before, after, place)
    elif before is not None:
        yield breaking(
            at, Rule.UNKNOWN_FIELDS, "kept", "dropped",
            "fields that the schema does not list were kept; now they are dropped when an object is"
            " next written: their data is lost",
            f"keep {PRESERVE} or additionalProperties, and list known fields beside it",
        )  # fmt: skip
    elif after is not None:
        yield safe(
            at, Rule.UNKNOWN_FIELDS, "dropped", "kept", "fields that are not listed are kept now"
        )


def _embedded(old: Node, new: Node, at: At) -> Iterator[Found]:
    before, after = old.get(EMBEDDED) is True, new.get(EMBEDDED) is True
    if before == after:
        return
    shown = (spelled(before), spelled(after))
    if after:
        yield breaking(
            at, Rule.EMBEDDED, *shown,
            "an object without apiVersion, kind and valid metadata is refused here now",
            "describe the fields themselves",
        )  # fmt: skip
    elif all(field(new, name) is not None for name in HEAD):
        yield safe(at, Rule.EMBEDDED, *shown, "its head is kept, and checked no longer")
    else:
        yield breaking(
            at, Rule.EMBEDDED, *shown,
            "apiVersion, kind and metadata were kept without being listed, and are dropped now",
            "list them as properties",
        )  # fmt: skip


# ------------------------------------------------------------------------------------------- lists


def _list(old: Node, new: Node, at: At) -> Iterator[Found]:
    yield from compare_schemas(items(old), items(new), (*at, "items"))
    before, after = _merging(old), _merging(new)
    if before == after:
        return
    if after == "atomic":
        why = (
            "server-side apply merged the list entry by entry; now the last applier replaces all of"
            " it, and the entries of others are gone"
        )
    elif before == "atomic":
        why = (
            f"a list with the same entry twice is refused now; {NEVER_RATCHETED}; server-side apply"
            " merges where it replaced"
        )
    else:
        why = (
            "entries are told apart by something else: lists may be refused, and server-side apply"
            f" merges other entries; {NEVER_RATCHETED}"
        )
    instead = "leave it, or change it in a new version"
    yield breaking(at, Rule.LIST_TYPE, before, after, why, instead)


def _merging(node: Node) -> str:
    """How entries are told apart: ``map by name, port``."""
    kind = str(node.get(_LIST_TYPE) or "atomic")
    keys = ", ".join(sorted(map(str, sequence(node.get(_LIST_KEYS)))))
    return f"{kind} by {keys}" if keys else kind
