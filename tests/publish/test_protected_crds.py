"""A breaking change of CRDs in a protected environment waits for an approval; no other does."""

from __future__ import annotations

import pytest
import yaml

from gati_gitops.compiler import write
from gati_gitops.spec.crds import shipped_crd_files
from tests.compile.kit import canary, handler
from tests.publish.test_approval import WithForge

ENVIRONMENTS = {"dev": ["dev-1"], "prod": {"clusters": {"east": {}}, "protected": True}}
HANDLERS = "gatihandlers.gati.dev.yaml"


@pytest.fixture
def world(tmp_path):
    world = WithForge(tmp_path)
    yield world
    world.server.close()


def newer(monkeypatch, **fields):
    """A compiler whose CRD of handlers says something else of spec."""
    for module in (
        "compiler.compile", "compiler.write", "publish.incremental", "publish.prepare",
        "publish.message",
    ):  # fmt: skip
        monkeypatch.setattr(f"gati_gitops.{module}.__version__", "99.0.0")
    files = dict(shipped_crd_files())
    crd = yaml.safe_load(files[HANDLERS])
    spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["required"] = [*spec["required"], *fields.pop("required", ())]
    spec["properties"].update(fields)
    files[HANDLERS] = yaml.safe_dump(crd).encode()
    monkeypatch.setattr(write, "_crds", lambda: files)


def test_a_breaking_change_of_crds_waits_where_an_environment_is_protected(world, monkeypatch):
    world.release({"gati.yaml": canary(ENVIRONMENTS), "users.yaml": handler()})
    newer(monkeypatch, required=("resources",))
    done = world.publish(upgrade=True)
    assert [step.environment for step, _ in done.steps] == ["dev"]
    (pull,) = done.pulls
    assert pull.outcome == "opened"
    assert any("prod" in note and "gatihandlers.gati.dev" in note for note in done.prepared.notes)
    east = f"overlays/prod/east/_crds/{HANDLERS}"
    assert world.tree()[east] == shipped_crd_files()[HANDLERS]
    again = world.publish(upgrade=True)
    assert again.steps == () and [one.outcome for one in again.pulls] == ["unchanged"]
    world.accept()
    assert b"resources" in world.tree()[east]
    assert world.publish().steps == ()


def test_a_safe_change_of_crds_does_not_wait(world, monkeypatch):
    world.release({"gati.yaml": canary(ENVIRONMENTS), "users.yaml": handler()})
    newer(monkeypatch, nickname={"type": "string"})
    done = world.publish(upgrade=True)
    assert [step.environment for step, _ in done.steps] == ["dev", "prod"]
    assert done.pulls == ()


def test_other_changes_of_a_protected_environment_do_not_wait(world):
    world.release({"gati.yaml": canary(ENVIRONMENTS), "users.yaml": handler()})
    done = world.release({"users.yaml": handler(version="v2")})
    assert [step.environment for step, _ in done.steps] == ["dev", "prod"]
