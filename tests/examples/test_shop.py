"""The tree at the top of this repository is what examples/shop compiles to, and it tells a story."""

import runpy
import subprocess
from pathlib import Path

import pytest

from gati_gitops.compiler import Compilation, compile_specs
from gati_gitops.disk.snapshot import DiskSnapshot
from gati_gitops.disk.specs import read_specs
from gati_gitops.disk.writer import locked
from gati_gitops.ledger.model import Ledger, Phase
from gati_gitops.plan.check import check
from gati_gitops.spec.load import Specs, load
from gati_gitops.spec.schema_editor import json_schema_files
from gati_gitops.tree import OWNED, MemorySnapshot, Tree
from tests.tools import kustomize_build

ROOT = Path(__file__).parent.parent.parent
SHOP = ROOT / "examples" / "shop"
OUT_OF_STEP = "run `make regen` and commit what changes"


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load(read_specs(str(SHOP)))


@pytest.fixture(scope="module")
def committed() -> Tree:
    disk = DiskSnapshot(ROOT)
    return {path: disk.read(path) or b"" for folder in OWNED for path in disk.paths(folder)}


@pytest.fixture(scope="module")
def compiled(specs: Specs, committed: Tree) -> Compilation:
    return compile_specs(specs, MemorySnapshot(committed))


def ledger(compiled: Compilation, env: str, unit: str, cluster: str = "") -> Ledger:
    return next(
        placed.outcome.ledger
        for placed in compiled.units
        if (plan := placed.outcome.plan) is not None
        and (plan.environment, str(plan.unit)) == (env, unit)
        and cluster in ("", plan.cluster)
    )


def phases(compiled: Compilation, env: str, unit: str) -> dict[str, tuple[Phase, int]]:
    entries = ledger(compiled, env, unit).entries
    return {entry.id: (entry.phase, entry.weight) for entry in entries}


def test_the_committed_tree_is_in_step(compiled):
    assert sorted(compiled.changes) == [], OUT_OF_STEP


def test_ledgers_plans_and_kept_releases_are_enough(specs, committed):
    """Everything else can be lost: it comes back byte for byte."""
    current = {
        path.rpartition("/")[0]
        for path in compile_specs(specs, MemorySnapshot(), upgrade=True).tree
        if path.startswith("base/")
    }
    kept = {
        path: content
        for path, content in committed.items()
        if path.endswith(("/rollout.yaml", "/unit.yaml"))
        or (path.startswith("base/") and path.rpartition("/")[0] not in current)
    }
    assert any(path.startswith("base/") for path in kept), "no release has left the specs"
    assert compile_specs(specs, MemorySnapshot(kept)).tree == committed, OUT_OF_STEP


def test_a_first_compile_is_stable(specs):
    """Under promotion everything waits; compiling again must not change who does."""
    first = compile_specs(specs, MemorySnapshot())
    assert compile_specs(specs, MemorySnapshot(first.tree)).changes == {}


def test_the_editors_schemas_are_in_step():
    for path in sorted((SHOP / ".gati").iterdir()):
        assert path.read_bytes() == json_schema_files()[path.name], OUT_OF_STEP


def test_every_spec_names_a_schema_that_is_there():
    for path in sorted(SHOP.rglob("*.yaml")):
        first = path.read_text().splitlines()[0]
        assert first.startswith("# yaml-language-server: $schema="), path
        schema = path.parent / first.partition("=")[2]
        assert schema.is_file(), f"{path} names {schema}"
        partial = path.is_relative_to(SHOP / "environments")
        assert ("environment" in schema.name) == partial, path


def test_the_specs_have_no_problem(specs):
    assert [*specs.warnings, *check(specs)] == []


def test_it_is_a_believable_shop(specs):
    assert len(specs.handlers) == 12
    assert {doc.model.spec.module_type for doc in specs.modules} == {"node", "wasm", "oci"}
    assert {doc.model.metadata.namespace for doc in specs.handlers} == {"storefront", "fulfilment"}
    assert set(specs.project.spec.environments) == {"dev", "staging", "prod"}


def test_a_canary_is_in_progress_in_staging(compiled):
    found = phases(compiled, "staging", "storefront/checkout")
    assert found == {"v2.3.1": (Phase.ACTIVE, 90), "v2.4.0": (Phase.CANARY, 10)}


def test_prod_runs_what_was_promoted_and_keeps_the_rest_waiting(compiled):
    found = phases(compiled, "prod", "storefront/checkout")
    assert found == {"v2.3.1": (Phase.ACTIVE, 100), "v2.4.0": (Phase.PENDING, 0)}
    assert phases(compiled, "prod", "fulfilment/orders")["v3.0.0"] == (Phase.PENDING, 0)


def test_people_and_rollouts_left_their_marks(compiled, committed):
    assert phases(compiled, "staging", "storefront/reviews")["v1.6.0"] == (Phase.REJECTED, 0)
    assert phases(compiled, "dev", "storefront/checkout")["v2.3.1"] == (Phase.PARKED, 0)
    assert phases(compiled, "prod", "storefront/cart")["v1.11.0"] == (Phase.REMOVED, 0)
    assert ledger(compiled, "prod", "fulfilment/payments", "eu-1").hold
    text = committed["overlays/prod/eu-1/fulfilment/handler-payments/rollout.yaml"].decode()
    assert "\n# asked for by the payments team" in text, "a person's comment was lost"


def test_the_story_can_be_played_again(specs, compiled, tmp_path):
    """`regen.py --anew` comes to the same phases and weights."""
    regen = runpy.run_path(str(ROOT / "scripts/regen.py"))
    with locked(tmp_path) as root:
        regen["play"](SHOP, root)
    again = compile_specs(specs, DiskSnapshot(tmp_path))
    assert standing(again) == standing(compiled)


def standing(compilation: Compilation) -> list[tuple[str, str, list[tuple[str, str, int]], str]]:
    return [
        (
            placed.outcome.plan.cluster,
            str(placed.outcome.plan.unit),
            [(e.id, str(e.phase), e.weight) for e in placed.outcome.ledger.entries],
            placed.outcome.ledger.hold,
        )
        for placed in compilation.units
        if placed.outcome.plan is not None
    ]


@pytest.mark.kustomize
@pytest.mark.slow
def test_kustomize_builds_every_folder():
    command = kustomize_build()
    folders = [
        path.parent
        for folder in OWNED
        for path in sorted((ROOT / folder).rglob("kustomization.yaml"))
    ]
    assert len(folders) > 100
    for folder in folders:
        done = subprocess.run([*command, str(folder)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{folder}: {done.stderr}"
        assert "deprecated" not in done.stderr, folder
