"""ConfigMaps and Secrets from literals, files and env files, and the hash that ends their names."""

from __future__ import annotations

import base64
import codecs
import hashlib
import json
import posixpath
from collections.abc import Iterator
from typing import Any, Final

from gati_gitops.render.errors import Broken, Unsupported
from gati_gitops.render.fieldspec import put_text
from gati_gitops.render.load import Loader
from gati_gitops.render.resource import ResMap, Resource
from gati_gitops.yamlio.goyaml_scalars import Quoted, is_null, new_string, plain, text_of

_LINE: Final = 70
_LONGEST_LINE: Final = 65536
_VOWELS: Final = str.maketrans("013ae", "ghkmt")


def generate(
    loader: Loader, kind: str, entry: dict[str, Any], common: dict[str, Any], file: str
) -> Resource:
    """The resource that one entry of a generator makes."""
    options = _merged_options(entry.get("options"), common)
    name = entry.get("name", "")
    if not name:
        raise Broken("a generated object must have a name", file=file, field=_field(kind))
    metadata: dict[str, Any] = {"name": new_string(name)}
    if entry.get("namespace"):
        metadata["namespace"] = new_string(entry["namespace"])
    obj: dict[str, Any] = {"apiVersion": "v1", "kind": kind, "metadata": metadata}
    if kind == "Secret":
        obj["type"] = new_string(entry.get("type") or "Opaque")
        obj["data"] = {}
    values: dict[str, bytes] = {}
    for key, value in _pairs(loader, entry, file):
        if key in values:
            raise Broken(f"{name} illegally repeats the key `{key}`", file=file, field=_field(kind))
        values[key] = value
    put_data(obj, values)
    for field in ("labels", "annotations"):
        for key, text in sorted(options.get(field, {}).items()):
            put_text(metadata.setdefault(field, {}), key, text)
    if options.get("immutable"):
        obj["immutable"] = True
    resource = Resource(obj, file)
    resource.needs_hash = not options.get("disableNameSuffixHash")
    resource.behavior = entry.get("behavior", "")
    return resource


def _field(kind: str) -> str:
    return "secretGenerator" if kind == "Secret" else "configMapGenerator"


def _merged_options(own: dict[str, Any] | None, common: dict[str, Any]) -> dict[str, Any]:
    merged = dict(own or {})
    for field in ("labels", "annotations"):
        merged[field] = {**common.get(field, {}), **merged.get(field, {})}
    for field in ("disableNameSuffixHash", "immutable"):
        merged[field] = bool(common.get(field) or merged.get(field))
    return merged


def put_data(obj: dict[str, Any], values: dict[str, bytes]) -> None:
    for key in sorted(values):
        value = values[key]
        if obj["kind"] == "Secret":
            put_value(obj, "data", key, _base64(value))
            continue
        try:
            put_value(obj, "data", key, value.decode())
        except UnicodeDecodeError:
            put_value(obj, "binaryData", key, _base64(value))


def put_value(obj: dict[str, Any], field: str, key: str, text: str) -> None:
    mapping = obj.setdefault(field, {})
    put_text(mapping, key, text)
    if "\n" in text:
        mapping[key] = Quoted(text)


def _base64(value: bytes) -> str:
    text = base64.b64encode(value).decode()
    if len(text) // _LINE == 0:
        return text
    return "".join(text[at : at + _LINE] + "\n" for at in range(0, len(text), _LINE))


def _pairs(loader: Loader, entry: dict[str, Any], file: str) -> Iterator[tuple[str, bytes]]:
    for name in entry.get("envs", ()):
        yield from _env_file(loader.read(name), loader.path(name))
    for literal in entry.get("literals", ()):
        key, equals, value = literal.partition("=")
        if not equals or not key:
            raise Broken(f"invalid literal source {literal}, expected key=value", file=file)
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        yield key, value.encode()
    for source in entry.get("files", ()):
        key, equals, path = source.partition("=")
        if not equals:
            key, path = posixpath.basename(source.rstrip("/")), source
        if not key or not path or "=" in path:
            raise Broken(f"source {source!r} must be a path or key=path", file=file)
        yield key, loader.read(path)


def _env_file(data: bytes, file: str) -> Iterator[tuple[str, bytes]]:
    for number, raw in enumerate(data.removesuffix(b"\n").split(b"\n")):
        if len(raw) >= _LONGEST_LINE:
            raise Unsupported("a line of 64 KiB or more", file=file, line=number + 1)
        line = raw.removesuffix(b"\r")
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            raise Broken("the line is not UTF-8", file=file, line=number + 1) from error
        if number == 0:
            text = line.removeprefix(codecs.BOM_UTF8).decode()
        text = text.lstrip()
        if not text or text[0] == "#":
            continue
        key, _, value = text.partition("=")
        if key:
            yield key, value.encode()


def absorb(resources: ResMap, new: Resource) -> None:
    """Add a generated resource, or merge it into the one that is there, as its behavior says."""
    name = new.id(resources.schema)
    matches = [
        r
        for r in resources
        if r.obj and (name in r.previous_ids() or name == r.id(resources.schema))
    ]
    if not matches:
        if new.behavior in ("merge", "replace"):
            raise Broken(
                f"{name} does not exist; cannot merge or replace",
                file=new.file,
                remedy="generate it in a base, or remove the behavior",
            )
        resources.append(new)
        return
    if len(matches) > 1:
        raise Broken(f"found multiple objects that could accept merge of {name}", file=new.file)
    old = matches[0]
    if new.behavior not in ("merge", "replace"):
        raise Broken(
            f"{name} exists; behavior must be merge or replace", file=new.file, field="behavior"
        )
    if new.behavior == "merge":
        _merge_data(new, old)
        new.origin = old.origin or new.origin
    _take_identity(new, old)
    resources.items[resources.items.index(old)] = new
    resources.changed()


def _merge_data(new: Resource, old: Resource) -> None:
    before = dict(old.obj)
    if new.kind == "Secret" and new.api_version == "v1" and not is_null(before.get("stringData")):
        before["data"] = {**(before.get("data") or {}), **_encoded(before["stringData"])}
    for field in ("data", "binaryData"):
        texts = {**_texts(before.get(field)), **_texts(new.obj.get(field))}
        new.obj.pop(field, None)
        for key in sorted(texts):
            put_value(new.obj, field, key, texts[key])


def _encoded(string_data: Any) -> dict[str, str]:
    return {key: _base64(text_of(value).encode()) for key, value in string_data.items()}


def _texts(mapping: Any) -> dict[str, str]:
    if not isinstance(mapping, dict):
        return {}
    return {key: "" if is_null(value) else text_of(value) for key, value in mapping.items()}


def _take_identity(new: Resource, old: Resource) -> None:
    metadata = new.obj["metadata"]
    for field in ("labels", "annotations"):
        texts = {**old.texts(field), **new.texts(field)}
        metadata.pop(field, None)
        for key in sorted(texts):
            put_text(metadata.setdefault(field, {}), key, texts[key])
    new.set_name(old.name)
    if old.namespace:
        metadata["namespace"] = new_string(old.namespace)
    else:
        metadata.pop("namespace", None)
    new.previous, new.prefixes, new.suffixes = old.previous, old.prefixes, old.suffixes
    new.needs_hash = new.needs_hash and old.needs_hash
    new.transformations = old.transformations
    new.behavior = old.behavior
    new.variables = [*old.variables]


# ------------------------------------------------------------------------------------------- hash


def add_hashes(resources: ResMap) -> None:
    for resource in resources:
        if resource.needs_hash:
            digest = content_hash(resource)
            resource.remember(resources.schema)
            resource.set_name(f"{resource.name}-{digest}")
            resources.changed()


def content_hash(resource: Resource) -> str:
    obj, kind = resource.obj, resource.kind
    # The name is part of the recipe, but kustomize looks for it where it never is.
    content: dict[str, Any] = {"kind": kind, "name": "", "data": _hashed(obj.get("data"))}
    extra = "binaryData" if kind == "ConfigMap" else "stringData"
    if isinstance(obj.get(extra), dict):
        content[extra] = _hashed(obj[extra])
    if kind == "Secret":
        content["type"] = text_of(obj["type"]) if "type" in obj else ""
    elif kind != "ConfigMap":
        raise Unsupported(f"a hash for the name of a {kind}")
    digest = hashlib.sha256(go_json(content).encode()).hexdigest()
    return digest[:10].translate(_VOWELS)


def _hashed(value: Any) -> Any:
    if isinstance(value, dict):
        return plain(value)
    return "" if value is None else text_of(value)


def go_json(value: Any, indent: int | None = None) -> str:
    """Go's spelling of JSON: sorted keys, and signs of HTML escaped."""
    separators = (",", ": ") if indent else (",", ":")
    text = json.dumps(
        value, sort_keys=True, ensure_ascii=False, separators=separators, indent=indent
    )
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
