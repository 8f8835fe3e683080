"""JSON 6902 patches, with the leniencies of the library that kustomize uses.

`replace` also sets a key that was not there, indexes may be negative, `-` appends. A patched
object goes through JSON and back, in which all numbers are floats: a million comes back as 1e+06,
and only the last step of a build writes it as a whole number again.
"""

from __future__ import annotations

import copy
import json
import re
from typing import Any, Final

from gati_gitops.render.errors import Broken
from gati_gitops.yamlio.goyaml_scalars import Odd, Quoted, go_float, new_string, plain

_INDEX: Final = re.compile(r"[-+]?[0-9]+\Z")
_MISSING: Final = object()
Operation = dict[str, Any]


def apply(operations: list[Operation], obj: dict[str, Any]) -> dict[str, Any]:
    """The patched object."""
    holder = {"": plain(obj)}
    for operation in operations:
        _STEPS.get(str(operation.get("op")), _unknown)(operation, holder)
    result = holder[""]
    if not isinstance(result, dict):
        raise Broken("the patched resource is no longer an object")
    return {key: _through_json(value) for key, value in result.items()}


def _through_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _through_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_through_json(item) for item in value]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, (int, float)):
        if value == int(value) and abs(value) < 1_000_000:
            return int(value)
        number = float(value)
        return Odd(go_float(number), "float", number)
    return Quoted(value) if "\n" in value else new_string(value)


def _unknown(operation: Operation, holder: dict[str, Any]) -> None:
    raise Broken(f"Unexpected kind: {operation.get('op')}", field="op")


def _add(operation: Operation, holder: dict[str, Any]) -> None:
    container, key = _locate(holder, operation, "path")
    _insert(container, key, copy.deepcopy(operation.get("value")), operation)


def _remove(operation: Operation, holder: dict[str, Any]) -> None:
    container, key = _locate(holder, operation, "path")
    _delete(container, key, operation)


def _replace(operation: Operation, holder: dict[str, Any]) -> None:
    value = copy.deepcopy(operation.get("value"))
    if operation.get("path") == "":
        if not isinstance(value, dict):
            raise Broken("replace operation value must be an object", field="path")
        holder[""] = value
        return
    container, key = _locate(holder, operation, "path")
    if isinstance(container, list):
        container[_index(container, key, operation)] = value
    else:
        container[key] = value


def _move(operation: Operation, holder: dict[str, Any]) -> None:
    container, key = _locate(holder, operation, "from")
    value = _get(container, key, operation)
    _delete(container, key, operation)
    container, key = _locate(holder, operation, "path")
    _insert(container, key, None if value is _MISSING else value, operation)


def _copy(operation: Operation, holder: dict[str, Any]) -> None:
    container, key = _locate(holder, operation, "from")
    value = _get(container, key, operation)
    container, key = _locate(holder, operation, "path")
    _insert(container, key, None if value is _MISSING else copy.deepcopy(value), operation)


def _test(operation: Operation, holder: dict[str, Any]) -> None:
    expected = operation.get("value")
    if operation.get("path") == "":
        actual = holder[""]
    else:
        container, key = _locate(holder, operation, "path")
        actual = _get(container, key, operation)
        actual = None if actual is _MISSING else actual
    if json.dumps(actual, sort_keys=True) != json.dumps(expected, sort_keys=True):
        raise _failed(operation, "testing value failed")


_STEPS: Final = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


def _locate(holder: dict[str, Any], operation: Operation, field: str) -> tuple[Any, str]:
    path = operation.get(field)
    if not isinstance(path, str):
        raise Broken(f"operation has no {field}", field=field)
    parts = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")]
    if len(parts) < 2:
        raise _failed(operation, f"doc is missing {field}")
    node: Any = holder[""]
    for part in parts[1:-1]:
        node = _step(node, part)
        if not isinstance(node, (dict, list)):
            raise _failed(operation, f"doc is missing {field}")
    return node, parts[-1]


def _step(node: Any, part: str) -> Any:
    if isinstance(node, dict):
        return node.get(part)
    if not _INDEX.match(part) or not -len(node) <= int(part) < len(node):
        return None
    return node[int(part)]


def _get(container: Any, key: str, operation: Operation) -> Any:
    if isinstance(container, dict):
        return container.get(key, _MISSING)
    return container[_index(container, key, operation)]


def _insert(container: Any, key: str, value: Any, operation: Operation) -> None:
    if isinstance(container, dict):
        container[key] = value
    elif key == "-":
        container.append(value)
    else:
        room = [*container, None]
        container.insert(_index(room, key, operation), value)


def _delete(container: Any, key: str, operation: Operation) -> None:
    if isinstance(container, list):
        del container[_index(container, key, operation)]
    elif key in container:
        del container[key]
    else:
        raise _failed(operation, "unable to remove nonexistent key")


def _index(container: list[Any], key: str, operation: Operation) -> int:
    if not _INDEX.match(key) or not -len(container) <= int(key) < len(container):
        raise _failed(operation, "unable to access invalid index")
    return int(key) % len(container)


def _failed(operation: Operation, why: str) -> Broken:
    return Broken(f"{operation.get('op')} operation does not apply: {why}: {operation.get('path')}")
