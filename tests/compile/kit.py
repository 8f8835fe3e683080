"""What the tests of the compiler share: projects as text, compiling, and looking into the result."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from gati_gitops.compiler import Compilation, Narrowed, compile_specs
from gati_gitops.ledger.model import Ledger, Phase
from gati_gitops.ledger.store import ledger_data, ledger_from
from gati_gitops.spec.load import load
from gati_gitops.tree import MemorySnapshot, Tree
from gati_gitops.yamlio.emit import dump
from tests.tools import kustomize_build

Files = Mapping[str, str]


def compiled(
    files: Files, before: Mapping[str, bytes] | None = None, *, env: str = "", **options: Any
) -> Compilation:
    """Compile ``files`` on top of ``before``, all of it or one environment."""
    specs = load((name, text.encode()) for name, text in files.items())
    narrowed = Narrowed(environments=frozenset([env])) if env else None
    return compile_specs(specs, MemorySnapshot(before), narrowed=narrowed, **options)


def after(before: Mapping[str, bytes], compilation: Compilation) -> Tree:
    """The tree that stands there when the changes have been written."""
    tree = dict(before)
    for path, content in compilation.changes.items():
        if content is None:
            tree.pop(path)
        else:
            tree[path] = content
    return tree


def tree_of(files: Files, before: Mapping[str, bytes] | None = None, **options: Any) -> Tree:
    """The tree after a compile."""
    return after(before or {}, compiled(files, before, **options))


def document(kind: str, name: str, spec: Mapping[str, Any], namespace: str = "shop") -> str:
    head = {"apiVersion": "gati.dev/v1alpha1", "kind": kind}
    data = {**head, "metadata": {"name": name, "namespace": namespace}, "spec": dict(spec)}
    return json.dumps(data, ensure_ascii=False, indent=1)  # YAML, too, and never an anchor


def handler(name: str = "users", version: str = "v1", **spec: Any) -> str:
    """A GatiHandler; what is given stands beside or above the defaults."""
    weight = spec.pop("weight", None)
    data = {
        "handlerPath": f"/{name}",
        "version": version,
        "replicas": 2,
        "image": f"ghcr.io/acme/{name}:{version}",
        "port": 3000,
        **spec,
    }
    if weight is not None:
        data["timescape"] = {"routingWeight": weight}
    return document("GatiHandler", name, data, data.pop("namespace", "shop"))


def version(handler_name: str, version_id: str, weight: int, **spec: Any) -> str:
    """A GatiVersion."""
    slug = re.sub(r"[^a-z0-9]+", "-", version_id.lower())
    data = {
        "versionId": version_id,
        "breaking": False,
        "routingWeight": weight,
        "handler": handler_name,
        **spec,
    }
    return document("GatiVersion", f"{handler_name}-{slug}", data)


def module(name: str = "db", **spec: Any) -> str:
    """A GatiModule."""
    data = {
        "moduleName": name,
        "moduleType": "node",
        "runtime": "node:20",
        "replicas": 1,
        "image": f"ghcr.io/acme/{name}:1.0.0",
        "port": 50051,
        **spec,
    }
    return document("GatiModule", name, data)


def project(
    environments: Mapping[str, Any] | None = None, *, name: str = "shop", **spec: Any
) -> str:
    """gati.yaml; an environment is the list of its clusters or all of its settings."""
    given = environments or {"prod": ["east"]}
    data = {
        env: {"clusters": {cluster: {} for cluster in value}} if isinstance(value, list) else value
        for env, value in given.items()
    }
    head = {"apiVersion": "gati.dev/v1alpha1", "kind": "GatiProject", "metadata": {"name": name}}
    return yaml.safe_dump({**head, "spec": {"environments": data, **spec}}, sort_keys=False)


def canary(environments: Mapping[str, Any] | None = None, **spec: Any) -> str:
    return project(environments, rollout={"strategy": "canary"}, **spec)


# -- looking ---------------------------------------------------------------------------------------

UNIT = "overlays/prod/east/shop/handler-users"


def ledger(tree: Mapping[str, bytes], folder: str = UNIT) -> Ledger:
    path = f"{folder}/rollout.yaml"
    return ledger_from(yaml.safe_load(tree[path]), path)


def phases(tree: Mapping[str, bytes], folder: str = UNIT) -> dict[str, tuple[str, int]]:
    """Version id to phase and weight; a second entry of an id is marked with ``'``."""
    found: dict[str, tuple[str, int]] = {}
    for entry in ledger(tree, folder).entries:
        name = entry.id if entry.id not in found else f"{entry.id}'"
        found[name] = (entry.phase.value, entry.weight)
    return found


def decide(
    tree: Mapping[str, bytes],
    change: Callable[[Ledger], Ledger],
    folder: str = UNIT,
) -> Tree:
    """The tree after a decision of the job or of a person: the ledger changes, nothing else."""
    path = f"{folder}/rollout.yaml"
    first = tree[path].split(b"\n", 1)[0] + b"\n"
    return {**tree, path: first + dump(ledger_data(change(ledger(tree, folder))))}


def moved(**phase_of: tuple[str, int]) -> Callable[[Ledger], Ledger]:
    """Gives versions other phases and weights, as the job does: ``moved(v1=("Active", 50))``."""
    from dataclasses import replace

    def change(ledger: Ledger) -> Ledger:
        entries = [
            replace(e, phase=Phase(phase_of[e.id][0]), weight=phase_of[e.id][1])
            if e.id in phase_of
            else e
            for e in ledger.entries
        ]
        return replace(ledger.with_entries(entries), seq=ledger.seq + 1)

    return change


def objects(tree: Mapping[str, bytes], path: str) -> list[dict[str, Any]]:
    return [item for item in yaml.safe_load_all(tree[path]) if item]


def weights(tree: Mapping[str, bytes], folder: str = UNIT) -> dict[str, int]:
    """What the split rule of the route says."""
    path = f"{folder}/route.yaml"
    if path not in tree:
        return {}
    rules = [rule for route in objects(tree, path) for rule in route["spec"]["rules"]]
    split = [rule for rule in rules if rule["name"] == "split"]
    assert len(split) <= 1
    return {b["name"]: b["weight"] for rule in split for b in rule["backendRefs"]}


def manifests(tree: Mapping[str, bytes], folder: str = UNIT) -> Tree:
    """What the cluster would see of a unit: its folder without plan and ledger."""
    return {
        path: content
        for path, content in tree.items()
        if path.startswith(f"{folder}/") and not path.endswith(("/unit.yaml", "/rollout.yaml"))
    }


def below(tree: Mapping[str, bytes], *folders: str) -> Tree:
    prefixes = tuple(f"{folder}/" for folder in folders)
    return {path: content for path, content in tree.items() if path.startswith(prefixes)}


def kustomizations(tree: Mapping[str, bytes]) -> list[str]:
    """Every folder that can be built."""
    return sorted(p.rpartition("/")[0] for p in tree if p.endswith("/kustomization.yaml"))


def dangling(tree: Mapping[str, bytes]) -> list[str]:
    """Resources that a kustomization names and that are not there."""
    folders = set(kustomizations(tree))
    found = []
    for folder in folders:
        for resource in objects(tree, f"{folder}/kustomization.yaml")[0].get("resources") or []:
            parts: list[str] = folder.split("/")
            for part in resource.split("/"):
                parts = parts[:-1] if part == ".." else [*parts, part]
            target = "/".join(parts)
            if target not in tree and target not in folders:
                found.append(f"{folder} -> {target}")
    return found


def settled(files, tree) -> None:
    """Nothing is left for a compile of these specs to do."""
    again = compiled(files, tree, sweep=False)
    assert again.changes == {}, sorted(again.changes)
    assert dangling(tree) == []


def write(tree: Mapping[str, bytes], root: Path) -> None:
    for path, content in tree.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)


def kustomize(root: Path, folder: str) -> list[dict[str, Any]]:
    """What the real kustomize makes of a folder."""
    run = subprocess.run([*kustomize_build(), str(root / folder)], capture_output=True, check=False)
    assert run.returncode == 0, f"{folder}: {run.stderr.decode()}"
    assert not run.stderr, f"{folder}: {run.stderr.decode()}"
    return [item for item in yaml.safe_load_all(run.stdout) if item]


def by_identity(items: Iterable[dict[str, Any]]) -> dict[tuple[str, str, str], dict[str, Any]]:
    found = {}
    for item in items:
        meta = item["metadata"]
        key = (item["kind"], meta.get("namespace", ""), meta["name"])
        assert key not in found
        found[key] = item
    return found
