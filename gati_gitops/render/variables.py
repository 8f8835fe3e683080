"""The old `vars`: $(NAME) in certain fields becomes the value of a field of some resource."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from gati_gitops.render.errors import Broken
from gati_gitops.render.fieldspec import FieldSpec, visit
from gati_gitops.render.paths import lookup, split_dotted
from gati_gitops.render.resource import Id, ResMap, Resource, effective_namespace
from gati_gitops.yamlio.goyaml_scalars import (
    Bare,
    Cell,
    Odd,
    go_float,
    is_null,
    plain,
    resolve,
    text_of,
)

_SLICE: Final = re.compile(r"(.*)\[([0-9]+)\]\Z")
Variables = dict[str, dict[str, Any]]


def normalized(var: dict[str, Any]) -> dict[str, Any]:
    """A var with its defaults."""
    ref = var.get("objref", {})
    api_version = ref.get("apiVersion", "")
    if api_version:
        parts = api_version.split("/")
        if len(parts) == 2:
            ref = {**ref, "group": parts[0], "version": parts[1]}
        elif len(parts) == 1:
            ref = {**ref, "version": parts[0]}
    path = var.get("fieldref", {}).get("fieldPath") or "metadata.name"
    return {"name": var.get("name", ""), "objref": ref, "path": path}


def add_variables(
    resources: ResMap, known: Variables, added: list[dict[str, Any]], file: str
) -> None:
    """Take up the vars of one kustomization, and mark the resources that they look at."""
    for var in map(normalized, added):
        matched = [r for r in resources if r.obj and _is_object(resources, r, var["objref"])]
        if len(matched) > 1:
            raise Broken(
                f"found {len(matched)} matches for var {var['name']} (unable to disambiguate)",
                file=file,
                field="vars",
            )
        if matched:
            matched[0].variables.append(var["name"])
        merge_variable(known, var, file)


def merge_variable(known: Variables, var: dict[str, Any], file: str) -> None:
    if var["name"] in known:
        raise Broken(f"var '{var['name']}' already encountered", file=file, field="vars")
    known[var["name"]] = var


def _is_object(resources: ResMap, resource: Resource, ref: dict[str, str]) -> bool:
    group, version = ref.get("group", ""), ref.get("version", "")
    api_version = f"{group}/{version}" if group else version
    kind, name, namespace = ref.get("kind", ""), ref.get("name", ""), ref.get("namespace", "")
    schema = resources.schema
    wanted = Id(api_version, kind, name, namespace or "default")
    if namespace:
        wanted = wanted._replace(namespace=effective_namespace(schema, "", "", namespace))
    for id_ in (*resource.previous_ids(), resource.id(schema)):
        if id_[:3] == wanted[:3] and (not namespace or id_.namespace == wanted.namespace):
            return True
    return False


def resolve_variables(resources: ResMap, known: Variables, specs: list[FieldSpec]) -> None:
    values = {name: _value_of(resources, known[name]) for name in sorted(known)}
    if not values:
        return

    def mapping(name: str) -> Any:
        return values.get(name, f"$({name})")

    for resource in resources:
        for spec in specs:
            visit(resource, spec, lambda parent, key: _expand_field(parent, key, mapping), None)


def _value_of(resources: ResMap, var: dict[str, Any]) -> Any:
    for resource in resources:
        if var["name"] in resource.variables:
            parts: list[str] = []
            for part in split_dotted(var["path"]):
                match = _SLICE.match(part)
                parts += [p for p in match.groups() if p] if match else [part]
            place = lookup(resource.obj, parts)
            if place is None:
                raise Broken(
                    f"field specified in var '{var['name']}' not found in corresponding resource",
                    field="vars",
                )
            return _typed(place[0][place[1]])
    raise Broken(
        f"var '{var['name']}' cannot be mapped to a field in the set of known resources",
        field="vars",
    )


def _typed(value: Any) -> Any:
    value = value.value if isinstance(value, Cell) else value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Odd):
        if value.kind == "int":
            try:
                return int(value.text)
            except ValueError as error:
                raise Broken(f"the value {value.text} of a var is no plain number") from error
        return value.value if value.kind in ("float", "bool") else value.text
    if isinstance(value, (dict, list)):
        return plain(value)
    return text_of(value) if is_null(value) else value


def _expand_field(parent: Any, key: Any, mapping: Callable[[str], Any]) -> None:
    value = parent[key]
    if isinstance(value, dict):
        for name, item in value.items():
            if isinstance(_unshared(item), str):
                _put(value, name, expand(_unshared(item), mapping))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if not isinstance(_unshared(item), str):
                raise Broken("invalid value type expect a string", field="vars")
            value[index] = _styled(expand(item, mapping))
    elif isinstance(_unshared(value), str):
        _put(parent, key, expand(_unshared(value), mapping))


def _unshared(value: Any) -> Any:
    return value.value if isinstance(value, Cell) else value


def _put(parent: Any, key: Any, value: Any) -> None:
    old = parent[key]
    if isinstance(old, Cell):
        old.value = _styled(value)
    else:
        parent[key] = _styled(value)


def _styled(value: Any) -> Any:
    if isinstance(value, str):
        return str(value) if isinstance(resolve(value), str) else Bare(value)
    return Odd(_float(value), "float", value) if isinstance(value, float) else value


def _float(value: float) -> str:
    return go_float(value)


def expand(text: str, mapping: Callable[[str], Any]) -> Any:
    """$(NAME) becomes the value, $$ becomes $, anything else stays."""
    result: list[str] = []
    at = 0
    while at < len(text):
        if text[at] != "$" or at + 1 >= len(text):
            result.append(text[at])
            at += 1
            continue
        following = text[at + 1]
        end = text.find(")", at + 2) if following == "(" else -1
        if end >= 0:
            name = text[at + 2 : end]
            value = mapping(name)
            if isinstance(value, (dict, list)) or value is None:
                value = f"$({name})"
            if text == f"$({name})":
                return value
            result.append(_spelled(value))
            at = end + 1
        else:
            result.append("$" if following == "$" else f"${following}")
            at += 2
    return "".join(result)


def _spelled(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return go_float(value) if isinstance(value, float) else str(value)
