"""What an environment changes in a version, as strategic-merge patches.

The objects of the release folder and the objects that the environment wants are both built whole;
the patch is their difference. So a rendered overlay equals what a direct build would give, which a
property test holds. Lists that Kubernetes merges by key are replaced outright, because merging
would reorder them and could not delete.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Object = dict[str, Any]

# Lists of maps that a strategic merge combines by key; only these know ``$patch: replace``.
_KEYED_LISTS = frozenset(
    ("env", "imagePullSecrets", "ports", "topologySpreadConstraints", "volumeMounts", "volumes")
)
# Maps whose leftovers would be dangerous: a limit that the environment dropped must not survive.
_WHOLE_MAPS = frozenset(("resources",))


def patches(
    base: Sequence[Object], wanted: Sequence[Object], foreign: Sequence[Object] = ()
) -> tuple[tuple[Object, ...], tuple[Object, ...]]:
    """Patches that turn ``base`` into ``wanted``, and the objects that only ``wanted`` has.

    ``foreign`` are those of ``base`` that we did not build, of kinds that we may not know.
    """
    unknown = {_identity(item) for item in foreign}
    found: list[Object] = []
    new: list[Object] = []
    before = {_identity(item): item for item in base}
    for item in wanted:
        old = before.pop(_identity(item), None)
        if old is None:
            new.append(item)
        elif old != item and _identity(item) in unknown:
            found.append(_whole(old, item))
        elif old != item:
            found.append(_head(item) | _merged_head(_map_difference(old, item), item))
    found += [{**_head(item), "$patch": "delete"} for item in before.values()]
    return tuple(found), tuple(new)


def _whole(old: Mapping[str, Any], new: Mapping[str, Any]) -> Object:
    """Every part that differs, replaced: how the lists of an unknown kind merge, nobody knows."""
    found = _head(new)
    for key in ("labels", "annotations"):
        before, after = old["metadata"].get(key), new["metadata"].get(key)
        if before != after:
            found["metadata"][key] = after and {"$patch": "replace", **after}
    for key in dict.fromkeys((*new, *old)):
        if key not in found and old.get(key) != new.get(key):
            value = new.get(key)
            found[key] = {"$patch": "replace", **value} if isinstance(value, dict) else value
    return found


def _identity(item: Mapping[str, Any]) -> tuple[str, str, str]:
    return (item["apiVersion"], item["kind"], item["metadata"]["name"])


def _head(item: Mapping[str, Any]) -> Object:
    metadata = {"name": item["metadata"]["name"], "namespace": item["metadata"]["namespace"]}
    return {"apiVersion": item["apiVersion"], "kind": item["kind"], "metadata": metadata}


def _merged_head(difference: Object, item: Mapping[str, Any]) -> Object:
    if "metadata" in difference:
        difference["metadata"] = _head(item)["metadata"] | difference["metadata"]
    return difference


def _map_difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> Object:
    found: Object = {}
    for key, value in new.items():
        if key not in old:
            found[key] = value
        elif old[key] != value:
            found[key] = _difference(key, old[key], value)
    for key in old:
        if key not in new:
            found[key] = None
    return found


def _difference(key: str, old: Any, new: Any) -> Any:
    if isinstance(old, dict) and isinstance(new, dict):
        if key in _WHOLE_MAPS:
            return {"$patch": "replace", **new}
        return _map_difference(old, new)
    if key == "containers":  # always one, and its name never changes
        return [{"name": new[0]["name"], **_map_difference(old[0], new[0])}]
    if key in _KEYED_LISTS:
        return [{"$patch": "replace"}, *new]
    return new


def apply_replicas(patch: Object | None, head: Object, replicas: int) -> Object:
    """A patch that also says how many pods there are."""
    found = dict(patch) if patch is not None else dict(head)
    found["spec"] = {"replicas": replicas, **found.get("spec", {})}
    return found
