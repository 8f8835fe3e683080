"""Our tables against the sources of the kustomize that the tests run: field specs, kinds, merge keys."""

import json
import re
from importlib import resources
from pathlib import Path

import yaml

from bench.kubernetes_schema import derive
from gati_gitops.render import config
from gati_gitops.render.fieldspec import FieldSpec
from gati_gitops.render.resource import Gvk
from tests.render import krusty
from tests.tools import missing


def api() -> Path:
    folder = krusty.sources()
    if folder is None:
        missing("kustomize's sources in the Go module cache")
    return folder.parent


def built_in() -> dict[str, list]:
    """kustomize's default field specs, out of its Go constants."""
    texts = {}
    folder = api() / "internal/konfig/builtinpluginconsts"
    for file in folder.glob("*.go"):
        texts.update(re.findall(r"(\w+) = `([^`]*)`", file.read_text()))
    labels, claims = texts["metadataLabelsFieldSpecs"], texts["volumeClaimTemplatesMetadataLabels"]
    result = {}
    for name, text in texts.items():
        if not name.endswith("FieldSpecs") or text is labels:
            continue
        extra = {"commonLabelFieldSpecs": labels + claims, "templateLabelFieldSpecs": labels}
        extra["volumeClaimTemplateLabelFieldSpecs"] = claims
        result.update(yaml.safe_load(text + extra.get(name, "")))
    return result


def gvk(entry: dict) -> Gvk:
    return Gvk(entry.get("group", ""), entry.get("version", ""), entry.get("kind", ""))


def specs(entries: list) -> set[FieldSpec]:
    return {FieldSpec(e["path"], gvk(e), e.get("create", False)) for e in entries}


def test_field_specs():
    theirs, ours = built_in(), config.default()
    for name, field in config._NAMES.items():
        assert set(getattr(ours, field)) == specs(theirs.get(name, [])), name
    expected = {gvk(entry): specs(entry["fieldSpecs"]) for entry in theirs["nameReference"]}
    assert {target: set(fields) for target, fields in ours.name_references} == expected


def test_schema_is_in_step():
    kyaml = max(api().parent.glob("kyaml@*"))
    stored = resources.files("gati_gitops.render").joinpath("data/kubernetes.json").read_text()
    assert json.loads(stored) == json.loads(json.dumps(derive(kyaml)))
