"""Replacements: a value of one resource, or a fixed one, copied into fields of others.

Copying into a scalar changes its text and keeps its type: "8080" copied over a string is a
string, copied over a number is a number, and "http" over a number is an error.
"""

from __future__ import annotations

import copy
import json
from typing import Any

from gati_gitops.render.decode import decode
from gati_gitops.render.errors import Broken, RenderError, Unsupported
from gati_gitops.render.generators import go_json
from gati_gitops.render.kustomization import REPLACEMENT
from gati_gitops.render.load import Loader
from gati_gitops.render.paths import CREATED, Place, is_scalar, lookup, matches, split_dotted
from gati_gitops.render.resource import Id, ResMap, Resource, split_api_version
from gati_gitops.render.selectors import Selector
from gati_gitops.yamlio.goyaml_read import GoYamlError, read_resources
from gati_gitops.yamlio.goyaml_scalars import (
    Bare,
    Cell,
    Odd,
    Quoted,
    is_null,
    is_quoted,
    plain,
    resolve,
    text_of,
)

_NAME = "metadata.name"
Fields = dict[str, Any]


def load_replacements(loader: Loader, entries: list[Fields], file: str) -> list[Fields]:
    """Replacements in place, and those in files of their own."""
    result: list[Fields] = []
    for entry in entries:
        path = entry.get("path", "")
        if not path:
            result.append(entry)
            continue
        if "source" in entry or entry.get("targets"):
            raise Broken("cannot specify both path and inline replacement", file=file)
        document = loader.config(path)
        if not isinstance(document, (list, dict)):
            raise Broken("a file of replacements is a mapping or a list", file=loader.path(path))
        found = document if isinstance(document, list) else [document]
        result += decode(found, [REPLACEMENT], loader.path(path), strict=False)
    return result


def apply_replacements(resources: ResMap, replacements: list[Fields]) -> None:
    for replacement in replacements:
        has_value = "sourceValue" in replacement
        if not (has_value or "source" in replacement) or "targets" not in replacement:
            raise Broken("replacements must specify a source and at least one target")
        if has_value and "source" in replacement:
            raise Broken("value and resource selectors are mutually exclusive")
        value = (
            resolve(replacement["sourceValue"])
            if has_value
            else _source(resources, replacement["source"])
        )
        text = replacement["sourceValue"] if has_value else _text(value)
        for target in replacement["targets"]:
            _copy_to(resources, value, text, target)
        resources.changed()


def _text(value: Any) -> str:
    return text_of(value) if is_scalar(value) else ""


def _ids(resource: Resource) -> list[Id]:
    current = Id(resource.api_version, resource.kind, resource.name, resource.namespace)
    return [current, *resource.previous_ids()]


def _source(resources: ResMap, source: Fields) -> Any:
    found = [r for r in resources if any(_selected(id_, source) for id_ in _ids(r))]
    path = source.get("fieldPath") or _NAME
    if len(found) != 1:
        what = "multiple matches for" if found else "nothing selected by"
        raise Broken(f"{what} the source of a replacement: {source}", field="replacements")
    parts = split_dotted(path)
    if parts in (["metadata"], ["metadata", "annotations"]):
        raise Unsupported("all annotations as the source of a replacement")
    place = lookup(found[0].obj, parts)
    value = None if place is None else place[0][place[1]]
    value = value.value if isinstance(value, Cell) else value
    if is_null(value) or value in ({}, []):
        raise Broken(f"fieldPath `{path}` is missing for replacement source", field="replacements")
    options = source.get("options", {})
    if not options.get("delimiter"):
        return value
    if not is_scalar(value):
        raise Broken("delimiter option can only be used with scalar nodes")
    pieces = text_of(value).split(options["delimiter"])
    index = options.get("index", 0)
    if not 0 <= index < len(pieces):
        raise Broken(f"options.index {index} is out of bounds for value {text_of(value)}")
    return retyped(value, pieces[index])


def _selected(id_: Id, source: Fields) -> bool:
    group, version = split_api_version(id_.api_version)
    return (
        source.get("name", "") in ("", id_.name)
        and (
            "namespace" not in source
            or (source["namespace"] or "default") == (id_.namespace or "default")
        )
        and source.get("group", "") in ("", group)
        and source.get("version", "") in ("", version)
        and source.get("kind", "") in ("", id_.kind)
    )


def _copy_to(resources: ResMap, value: Any, text: str, target: Fields) -> None:
    if "select" not in target:
        raise Broken("target must specify resources to select", field="replacements")
    select = Selector(target["select"])
    rejects = [Selector(reject) for reject in target.get("reject", ())]
    for resource in resources:
        if not select.fits_marks(resource):
            continue
        if any(r.has_marks and r.fits_marks(resource) for r in rejects):
            continue
        ids = _ids(resource)
        if any(r.has_id and any(r.fits_id(id_) for id_ in ids) for r in rejects):
            continue
        if any(select.fits_id(id_) for id_ in ids):
            for path in target.get("fieldPaths") or [_NAME]:
                try:
                    _copy_value(resource.obj, value, text, path, target.get("options", {}))
                except RenderError as error:
                    error.at(resource.file)
                    raise


def _copy_value(obj: Any, value: Any, text: str, path: str, options: Fields) -> None:
    parts = split_dotted(path)
    if parts in (["metadata"], ["metadata", "annotations"]):
        raise Unsupported("all annotations as the target of a replacement", field=path)
    if len(parts) > 1 and _set_in_text(obj, parts, value, text, options):
        return
    make = value if options.get("create") else None
    places = matches(([obj], 0), parts, make)
    if not places:
        raise Broken(f"unable to find field {path!r} in replacement target", field="replacements")
    for place in places:
        _set(place, value, text, options)


def _set(place: Place, value: Any, text: str, options: Fields) -> None:
    container, key = place
    old = container[key]
    delimiter = options.get("delimiter")
    if delimiter:
        if not is_scalar(old):
            raise Broken("delimiter option can only be used with scalar nodes")
        pieces = ("" if old is CREATED else text_of(old)).split(delimiter)
        index = options.get("index", 0)
        if index < 0:
            pieces = [text, *pieces]
        elif index >= len(pieces):
            pieces.append(text)
        else:
            pieces[index] = text
        text = delimiter.join(pieces)
    if is_scalar(old):
        if old is CREATED:
            container[key] = resolve(text)
        elif isinstance(old, Cell):
            old.value = retyped(old.value, text)
        else:
            container[key] = retyped(old, text)
    else:
        container[key] = copy.deepcopy(plain_cells(value))


def plain_cells(value: Any) -> Any:
    """The value with shared scalars taken apart."""
    if isinstance(value, dict):
        return {key: plain_cells(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain_cells(item) for item in value]
    return value.value if isinstance(value, Cell) else value


def retyped(old: Any, text: str) -> Any:
    """New text for a scalar, of the same type."""
    if isinstance(old, str):
        if is_quoted(old):
            return Quoted(text)
        return text if isinstance(resolve(text), str) else Bare(text)
    new = resolve(text)
    if _type_of(old) == _type_of(new) or (_type_of(old), _type_of(new)) == ("float", "int"):
        return new
    raise Broken(f"cannot put `{text}` where a {_type_of(old)} stands", field="replacements")


def _type_of(value: Any) -> str:
    if isinstance(value, Odd):
        return value.kind
    if isinstance(value, bool):
        return "bool"
    return "null" if is_null(value) else type(value).__name__


# ----------------------------------------------------------------------- structure inside of text


def _set_in_text(obj: Any, parts: list[str], value: Any, text: str, options: Fields) -> bool:
    """Set a field of JSON that is the text of a scalar, when the path leads into one."""
    for end in range(1, len(parts)):
        try:
            place = lookup(obj, parts[:end])
        except Broken:
            continue
        if place is None:
            continue
        scalar = place[0][place[1]]
        if is_scalar(scalar) and not is_null(scalar):
            return _set_in_scalar(place, parts[end:], value, text, options)
    return False


def _set_in_scalar(place: Place, parts: list[str], value: Any, text: str, options: Fields) -> bool:
    container, key = place
    old = container[key]
    content = text_of(old)
    if not content.lstrip().startswith(("{", "[")):
        raise Unsupported("a replacement inside of text that is not JSON", field=".".join(parts))
    try:
        json.loads(content)
        document = read_resources(f"- {json.dumps(json.loads(content))}\n")[0][0]
    except (ValueError, GoYamlError, IndexError) as error:
        raise Unsupported("a replacement inside of text that is not JSON") from error
    places = matches(([document], 0), parts, value if options.get("create") else None)
    if not places:
        raise Broken(f"unable to find field {'.'.join(parts)} in structured data")
    for inner in places:
        _set(inner, value, text, options)
    indent = 2 if "\n" in content and "  " in content else None
    new = go_json(plain(document), indent)
    if isinstance(old, Cell):
        old.value = retyped(old.value, new)
    else:
        container[key] = retyped(old, new)
    return True
