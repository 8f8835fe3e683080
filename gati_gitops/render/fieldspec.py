"""Field specs: "in objects of this kind, the field at this path".

Most of what a kustomization does is a value and a list of field specs. A path crosses lists
without saying so, `name[]` insists on a list, and a backslash keeps a slash from splitting a
name. `create` makes what is missing on the way; without it a missing field is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from gati_gitops.render.errors import Broken
from gati_gitops.render.resource import Gvk, Resource, split_api_version
from gati_gitops.yamlio.goyaml_scalars import BLANK, is_null, new_string, resolve, written_over

# Called with the mapping and the key of each field that was found or made.
Setter = Callable[[dict[str, Any], str], None]


class FieldSpec(NamedTuple):
    path: str
    gvk: Gvk = Gvk()
    create: bool = False

    def fits(self, resource: Resource) -> bool:
        if self.gvk == _ANY:
            return True
        group, version = split_api_version(resource.api_version)
        return self.gvk.selects(group, version, resource.kind)


_ANY = Gvk()


@lru_cache(maxsize=4096)
def split_path(path: str, delimiter: str = "/") -> tuple[str, ...]:
    parts = path.split(delimiter)
    if len(parts) > 1 and not parts[0]:
        parts = parts[1:]
    result = [parts[0]]
    for part in parts[1:]:
        if result[-1].endswith("\\"):
            result[-1] = result[-1][:-1] + delimiter + part
        else:
            result.append(part)
    return tuple(result)


def visit(
    resource: Resource,
    spec: FieldSpec,
    setter: Setter,
    make: type[dict[str, Any] | str] | None,
) -> None:
    """Call the setter for every field of the resource that the spec means.

    `make` is what a missing last field becomes before it is set: a mapping, a scalar, or nothing.
    """
    if spec.fits(resource):
        walk(resource.obj, split_path(spec.path), 0, setter, make if spec.create else None, spec)


def walk(
    node: Any, parts: tuple[str, ...], at: int, setter: Setter, make: type | None, spec: FieldSpec
) -> None:
    if type(node) is dict:
        part = parts[at]
        name = part.removesuffix("[]")
        is_list = name is not part and name != part
        last = at == len(parts) - 1
        if not name:
            raise Broken("cannot set or create an empty field name", field=spec.path)
        if name not in node:
            if make is None or is_list:
                return
            check_key(name)
            node[name] = {} if not last or make is dict else BLANK
        elif is_null(node[name]) and (is_list or make is not None):
            node[name] = [] if is_list else {} if not last or make is dict else BLANK
        if last:
            setter(node, name)
        else:
            walk(node[name], parts, at + 1, setter, make, spec)
    elif type(node) is list:
        for item in node:
            walk(item, parts, at, setter, make, spec)
    elif not is_null(node):
        raise Broken("expected a list or a mapping on the way to this field", field=spec.path)


def check_key(name: str) -> None:
    """A key is written without a tag, so it must read as a string."""
    if not isinstance(resolve(name), str):
        raise Broken(f"the key {name} would be read as something other than a string")


def put_text(mapping: Any, key: str, text: str) -> None:
    """Set a string in a mapping of labels or annotations."""
    if not isinstance(mapping, dict):
        raise Broken("expected a mapping", field=key)
    if key in mapping:
        mapping[key] = written_over(mapping[key], text)
    else:
        check_key(key)
        mapping[key] = new_string(text)


def merge_specs(base: list[FieldSpec], more: Iterable[FieldSpec]) -> list[FieldSpec]:
    """Add specs that are not there yet; the same field with another `create` is a conflict."""
    result = [*base]
    for spec in more:
        for have in result:
            if have.path == spec.path and spec.gvk.selects(*have.gvk):
                if have.create != spec.create:
                    raise Broken("conflicting fieldspecs", field=spec.path)
                break
        else:
            result.append(spec)
    return result
