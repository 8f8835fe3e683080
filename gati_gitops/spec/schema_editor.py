"""JSON Schemas for editors: completion, hover text and red lines while a spec is being written.

Draft 7, which is what yaml-language-server knows best, so a spec needs one comment:
``# yaml-language-server: $schema=gati.schema.json``. A file may hold documents of several kinds;
the combined schema looks at ``kind`` first. Files under ``environments/`` hold partial documents:
in their schema nothing but the identity is required, and null deletes.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel

from gati_gitops.spec.kinds import GatiHandler, GatiModule, GatiVersion
from gati_gitops.spec.project import GatiProject
from gati_gitops.spec.schema import Node, ordered, rewrite, schema_of

_DRAFT = "http://json-schema.org/draft-07/schema#"
_UNITS: tuple[type[BaseModel], ...] = (GatiHandler, GatiModule, GatiVersion)
COMBINED = "gati.schema.json"
ENVIRONMENT = "gati.environment.schema.json"


def json_schemas() -> dict[str, dict[str, Any]]:
    """File name to JSON Schema: one per kind, all kinds together, and the partial documents."""
    models: tuple[type[BaseModel], ...] = (*_UNITS, GatiProject)
    documents = {model.__name__: _document(model) for model in models}
    partial = {model.__name__: _partial(documents[model.__name__]) for model in _UNITS}
    each = {
        f"{kind.lower()}.schema.json": {"$schema": _DRAFT, "title": kind, **document}
        for kind, document in documents.items()
    }
    return {
        **each,
        COMBINED: _switch("Gati specs", documents),
        ENVIRONMENT: _switch("Gati specs of one environment", partial),
    }


def json_schema_files() -> dict[str, bytes]:
    """The same as files."""
    return {
        name: (json.dumps(schema, indent=2, ensure_ascii=False) + "\n").encode()
        for name, schema in json_schemas().items()
    }


def _document(model: type[BaseModel]) -> Node:
    tree = rewrite(schema_of(model), _draft7)
    # The models can do without, a file cannot: it is how a document is recognised.
    return ordered({**tree, "required": ["apiVersion", "kind", "metadata", "spec"]})


def _switch(title: str, documents: dict[str, Node]) -> Node:
    return {
        "$schema": _DRAFT,
        "title": title,
        "type": "object",
        "required": ["apiVersion", "kind"],
        "properties": {"kind": {"type": "string", "enum": list(documents)}},
        "allOf": [
            {
                "if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]},
                "then": {"$ref": f"#/definitions/{kind}"},
            }
            for kind in documents
        ],
        "definitions": documents,
    }


def _draft7(node: Node) -> Node:
    new = {key: value for key, value in node.items() if not key.startswith("x-kubernetes-")}
    return _or_null(new) if new.pop("nullable", False) else new


def _or_null(node: Node) -> Node:
    new = dict(node)
    if isinstance(node.get("type"), str):
        new["type"] = [node["type"], "null"]
        if "enum" in node:
            new["enum"] = [*node["enum"], None]
    return new


def _partial(document: Node) -> Node:
    def loosen(node: Node) -> Node:
        return _or_null({k: v for k, v in node.items() if k not in ("required", "default")})

    identity = {"apiVersion", "kind", "metadata"}
    properties = {
        name: child if name in identity else rewrite(child, loosen)
        for name, child in document["properties"].items()
    }
    return {**document, "required": sorted(identity), "properties": properties}
