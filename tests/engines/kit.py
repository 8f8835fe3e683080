"""Projects with engines, and looking into ``clusters/``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.compile.kit import handler, module, objects, project

REPOSITORY = "https://git.example.com/acme/deploy.git"
HOME = "clusters/east"


def settings(here: Mapping[str, Any] | None = None, **sync: Any) -> str:
    """gati.yaml with one cluster, east of prod."""
    cluster = {"sync": dict(here)} if here is not None else {}
    repository = {"repository": REPOSITORY, **sync}
    return project({"prod": {"clusters": {"east": cluster}}}, sync=repository)


def specs(engine: str = "argocd", **sync: Any) -> dict[str, str]:
    return {
        "gati.yaml": settings({"engine": engine}, **sync),
        "users.yaml": handler(),
        "db.yaml": module(),
    }


def many(count: int, engine: str = "argocd", *, without: int = -1) -> dict[str, str]:
    """A namespace of that many units."""
    units = "\n---\n".join(handler(f"u{n:02}") for n in range(count) if n != without)
    return {"gati.yaml": settings({"engine": engine}), "units.yaml": units}


def found(tree: Mapping[str, bytes], kind: str, home: str = HOME) -> dict[str, dict[str, Any]]:
    """Objects of a kind in the cluster's folder, by name."""
    items = [
        item
        for path in tree
        if path.startswith(f"{home}/") and "/flux-system/" not in path
        for item in objects(tree, path)
        if item.get("kind") == kind and "metadata" in item
    ]
    return {item["metadata"]["name"]: item for item in items}
