"""Projects with a job, what they compile to, and the job's own rights on a real API server."""

from __future__ import annotations

from typing import Any

import yaml

from gati_gitops.render import MemoryFiles, render
from gati_gitops.tree import Tree
from tests.compile.kit import compiled, handler

NAME = "gati-reconciler-shop"
PROJECT: dict[str, Any] = {
    "sync": {"repository": "https://git.example.com/acme/deploy.git"},
    "environments": {"prod": {"clusters": {"eu": {}}}},
    "job": {"image": "registry.example.com/gati-gitops:1.2.3", "secrets": {"git": "deploy-key"}},
}


def project(**spec: Any) -> str:
    head = {"apiVersion": "gati.dev/v1alpha1", "kind": "GatiProject", "metadata": {"name": "shop"}}
    return yaml.safe_dump({**head, "spec": {**PROJECT, **spec}})


def job(**settings: Any) -> dict[str, Any]:
    return {**PROJECT["job"], **settings}


def tree(before: Tree | None = None, **spec: Any) -> Tree:
    return compiled({"gati.yaml": project(**spec), "u.yaml": handler()}, before).tree


def built(found: Tree, folder: str = "overlays/prod/eu/gati-system/_reconciler") -> dict[str, Any]:
    """The objects of a folder by kind; of a kind that is there twice, with its namespace."""
    objects: dict[str, Any] = {}
    for item in render(MemoryFiles(found), folder).objects():
        kind = item["kind"]
        key = kind if kind not in objects else f"{kind} {item['metadata']['namespace']}"
        objects[key] = item
    return objects


def pod(objects: dict[str, Any]) -> dict[str, Any]:
    if "Deployment" in objects:
        return objects["Deployment"]["spec"]["template"]["spec"]
    return objects["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]


def container(objects: dict[str, Any]) -> dict[str, Any]:
    (found,) = pod(objects)["containers"]
    return found
