"""Reading what was compiled before: stored plans, ledgers, records and release folders."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from typing import Any

from gati_gitops.emit.overlay import overlay_path
from gati_gitops.emit.release import release_path
from gati_gitops.emit.routes.stored import split_weights, tombstones
from gati_gitops.errors import Place, Refused
from gati_gitops.ledger.store import ledger_from, plan_from
from gati_gitops.ledger.stored import Seen, Stored
from gati_gitops.tree import Snapshot, Tree
from gati_gitops.yamlio.goyaml_read import GoYamlError, decode, read_config, read_resources

UnitKey = tuple[str, str]
"""Namespace and folder of a unit on a cluster."""

_RELEASE = re.compile(rb"base/([a-z0-9-]+/[a-z0-9-]+/[a-z0-9-]+)")


class Output:
    """A snapshot seen as the compiled output that it is. Reads each file at most once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.units = cache(self._read_units)
        self._stored = cache(self._read_stored)

    @cached_property
    def _paths(self) -> list[str]:
        return list(self._snapshot.paths("overlays"))

    @cached_property
    def _units(self) -> dict[tuple[str, str], dict[UnitKey, str]]:
        found: dict[tuple[str, str], dict[UnitKey, str]] = {}
        for path in self._paths:
            parts = path.split("/")
            if len(parts) == 6 and parts[5] == "unit.yaml":
                env, cluster, namespace, folder = parts[1:5]
                found.setdefault((env, cluster), {})[namespace, folder] = path
        return found

    def _read_units(self, env: str, cluster: str) -> Mapping[UnitKey, Stored]:
        """What is stored of every unit on a cluster."""
        found = self._units.get((env, cluster), {})
        return {key: self._stored(path) for key, path in sorted(found.items())}

    def keys(self, env: str, cluster: str) -> list[UnitKey]:
        """The units of a cluster, by name alone."""
        return sorted(self._units.get((env, cluster), {}))

    def unit(self, env: str, cluster: str, key: UnitKey) -> Stored | None:
        """What is stored of one unit; nothing else is looked at."""
        path = "/".join(("overlays", env, cluster, *key, "unit.yaml"))
        return self._stored(path) if self._snapshot.read(path) is not None else None

    def clusters(self) -> list[tuple[str, str]]:
        """Environment and cluster of all that holds units."""
        return sorted(self._units)

    def _read_stored(self, path: str) -> Stored:
        folder = path.rpartition("/")[0]
        plan = plan_from(self._yaml(path), path)
        if f"{overlay_path(plan)}/unit.yaml" != path:
            raise Refused(
                f"{path} is the plan of another unit, {plan.unit} on {plan.cluster}",
                remedy="restore it from Git; folders here are not to be copied or renamed",
                place=Place(path),
            )
        ledger_path = f"{folder}/rollout.yaml"
        if self._snapshot.read(ledger_path) is None:
            return Stored(plan, None, self._seen(folder))
        return Stored(plan, ledger_from(self._yaml(ledger_path), ledger_path))

    def _seen(self, folder: str) -> Seen:
        """What manifests tell where the ledger is gone."""
        path = f"{folder}/route.yaml"
        try:
            routes = read_resources(decode(self._snapshot.read(path) or b""))
        except GoYamlError as error:
            raise _unreadable(path, error) from error
        named = _RELEASE.findall(self._snapshot.read(f"{folder}/kustomization.yaml") or b"")
        releases = frozenset(name.decode().rpartition("/")[2] for name in named)
        return Seen(split_weights(routes), releases, tombstones(routes))

    def _yaml(self, path: str) -> Any:
        try:
            return read_config(decode(self._snapshot.read(path) or b""))
        except GoYamlError as error:
            raise _unreadable(path, error) from error

    def names(self) -> dict[tuple[str, str], str]:
        """What the unit of a path is called: it keeps its name when handlers come and go."""
        return {
            (stored.plan.unit.namespace, stored.plan.route.path): stored.plan.unit.name
            for env, cluster in sorted(self._units)
            for stored in self.units(env, cluster).values()
            if stored.plan.route is not None
        }

    def paths(self, folder: str) -> list[str]:
        """All files below a folder."""
        return list(self._snapshot.paths(folder))

    def files(self, folder: str) -> Tree:
        """A folder as it is."""
        found: Tree = {}
        for path in self._snapshot.paths(folder):
            content = self._snapshot.read(path)
            if content is not None:
                found[path] = content
        return found

    def read(self, path: str) -> bytes | None:
        """One file as it is."""
        return self._snapshot.read(path)

    def settings(self, env: str) -> Mapping[str, Any]:
        """What an environment's owner has set, and who that is; nothing before the first unit.

        Raises Refused where units stand without it: defaults are not what anybody has set.
        """
        path, found = _settings(env), self.set_before(env)
        if not found and any(name == env for name, _ in self._units):
            raise Refused(
                f"{path} is {'not there' if self._snapshot.read(path) is None else 'empty'},"
                f" and {env} has units",
                remedy="bring it back with drift --fix revert, or restore it from Git; it holds"
                " what was set for the environment",
                place=Place(path),
            )
        return found

    def set_before(self, env: str) -> Mapping[str, Any]:
        """The same for who is about to write it: what was lost comes back from the specs."""
        return self.record(_settings(env))

    def compilers(self, env: str, source: str) -> set[str]:
        """The compiler versions that wrote a source's part of an environment."""
        prefix = f"overlays/{env}/sources/{source}/"
        records = [self.record(path) for path in self._paths if path.startswith(prefix)]
        return {str(record["compiler"]) for record in records if "compiler" in record}

    def record(self, path: str) -> Mapping[str, Any]:
        """A file that remembers something; empty if it is not there."""
        if self._snapshot.read(path) is None:
            return {}
        data = self._yaml(path)
        return data if isinstance(data, dict) else {}

    def named_elsewhere(self, scope: Iterable[str], source: str) -> set[str]:
        """Release folders that overlays outside of ``scope``, or of other sources, name."""
        ours = tuple(f"{folder}/" for folder in scope)
        found: set[str] = set()
        for path in self._paths:
            if path.endswith("/kustomization.yaml") and not path.startswith(ours):
                for name in _RELEASE.findall(self._snapshot.read(path) or b""):
                    found.add("base/" + name.decode())
        for env, cluster in self._units:
            outside = f"overlays/{env}/{cluster}/" not in ours
            for stored in self.units(env, cluster).values():
                if outside or stored.plan.source != source:
                    found |= self._releases(stored)
        return found

    @staticmethod
    def _releases(stored: Stored) -> set[str]:
        return {release_path(stored.plan.unit, name) for name in stored.plan.releases}

    def with_comments(self, path: str, content: bytes) -> bytes:
        """A ledger's new content with what people wrote into it; their bytes if it is not new."""
        old = self._snapshot.read(path)
        if old is None or old == content:
            return content
        if ledger_from(self._yaml(path), path) == ledger_from(read_config(decode(content)), path):
            return old
        from gati_gitops.yamlio.edit import edited

        return edited(old, content)


def _unreadable(path: str, error: GoYamlError) -> Refused:
    return Refused(
        f"{path} can't be read: {error}",
        remedy="restore it from Git; it holds decisions that must not be forgotten",
        place=Place(path),
    )


def _settings(env: str) -> str:
    return f"overlays/{env}/project.yaml"
