"""Every field of every golden tree, and of the shop, has a rule that says where it comes from."""

from pathlib import Path
from typing import Any

import pytest

from gati_gitops.output import Output
from gati_gitops.preview.explain import Explainer, Kind, leaves, origins, show
from gati_gitops.preview.explain.files import scope_for, scope_of
from gati_gitops.preview.explain.origins import known
from gati_gitops.render import MemoryFiles, render
from gati_gitops.spec.link import link_all
from gati_gitops.spec.load import load
from gati_gitops.tree import OWNED, MemorySnapshot, Tree
from tests.golden.cases import CASES, HERE, before, compile_files, read
from tests.preview.mutate import objects

ROOT = Path(__file__).parents[2]


def unexplained(specs_files: Tree, tree: Tree) -> tuple[list[str], int]:
    """Fields without a rule, and how many fields there are."""
    specs = load(specs_files.items())
    output = MemorySnapshot(tree)
    explainer = Explainer(specs, link_all(specs, Output(output).names()))
    missing, count = [], 0
    for (file, kind, name), made in objects(tree).items():
        scope = scope_of(explainer, output, file)
        for path, _ in leaves(made):
            count += 1
            if not known(scope, made, path, file):
                missing.append(f"{file} {kind} {name} {show(path)}")
        for path, origin in origins(scope, made, file).items():
            assert origin.sentence, path
            if origin.kind in (Kind.SPEC, Kind.LEDGER):
                assert origin.file, f"{file} {path}"
            if origin.kind is Kind.DEFAULT:
                assert origin.field, f"{file} {path}"
    return missing, count


@pytest.mark.parametrize("case", CASES)
def test_every_field_of_a_golden_tree_has_a_rule(case):
    files = read(HERE / case / "specs")
    missing, count = unexplained(files, compile_files(files, before(case)).tree)
    assert missing == [], "add them to gati_gitops/preview/explain/rules"
    assert count > 100


def test_every_field_of_the_shop_has_a_rule():
    folder = ROOT / "examples/shop"
    files = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.suffix in (".yaml", ".j2") and ".gati" not in path.parts
    }
    tree = {
        str(path.relative_to(ROOT)): path.read_bytes()
        for top in OWNED
        for path in (ROOT / top).rglob("*.yaml")
    }
    missing, count = unexplained(files, tree)
    assert missing == []
    assert count > 5000


@pytest.mark.parametrize("case", ["environments", "job", "templates", "rollout", "monitoring"])
def test_rendered_objects_are_explained_as_well(case):
    """As a cluster gets them: with patches, from any folder that can be built."""
    specs_files = read(HERE / case / "specs")
    tree = compile_files(specs_files, before(case)).tree
    specs = load(specs_files.items())
    output = MemorySnapshot(tree)
    explainer = Explainer(specs, link_all(specs, Output(output).names()))
    seen: set[str] = set()
    for path in sorted(tree):
        folder, _, name = path.rpartition("/")
        if name != "kustomization.yaml" or not folder.startswith("overlays/") or "_crds" in folder:
            continue
        for made in render(MemoryFiles(tree), folder).objects():
            if made["kind"] == "CustomResourceDefinition":
                continue
            scope = scope_for(explainer, output, path, made)
            found: dict[str, Any] = origins(scope, made, path)
            for field, origin in found.items():
                assert origin.sentence != "the compiler writes it", (
                    f"{folder} {made['kind']} {field}"
                )
            seen.add(made["kind"])
    assert {"Deployment", "Service", "Namespace"} <= seen
