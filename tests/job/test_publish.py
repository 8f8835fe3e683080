"""The job in a real repository: it goes with its environment, leaves nothing behind, and is verified."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from gati_gitops.errors import Refused
from gati_gitops.publish.guards import Allowed
from gati_gitops.render import MemoryFiles, render
from tests.compile.kit import handler
from tests.job.kit import NAME, job, project
from tests.publish.kit import World, git

TWO = {
    "dev": {"clusters": {"dev-1": {}}},
    "prod": {"clusters": {"eu": {}, "us": {}}, "job": {"replicas": 2}},
}
OTHER = "registry.example.com/gati-gitops:1.3.0"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def specs(**spec: Any) -> dict[str, str | None]:
    return {"gati.yaml": project(environments=TWO, **spec), "u.yaml": handler()}


def folders(world: World) -> set[str]:
    return {path.split("/")[3] for path in world.tree() if path.startswith("base/gati-system/")}


def touched(world: World, revision: str) -> list[str]:
    return git(world.output, "show", "--format=", "--name-only", revision).split()


def test_each_environment_brings_what_it_names(world):
    done = world.release(specs())
    assert [step.environment for step, _ in done.steps] == ["dev", "prod"]
    prod = next(commit for step, commit in done.steps if step.environment == "prod")
    assert "overlays/prod/eu/gati-system/_reconciler/kustomization.yaml" in touched(world, prod)
    assert not [path for path in touched(world, prod) if "/dev" in path]
    assert world.verify().differences == ()
    again = world.publish()
    assert not again.steps, "publishing again changes nothing"


def test_another_image_for_prod_alone_is_prod_s_own_commit(world):
    world.release(specs())
    before = folders(world)
    later = {**TWO, "prod": {**TWO["prod"], "job": {"replicas": 2, "image": OTHER}}}
    done = world.release({"gati.yaml": project(environments=later)})
    (step,) = [step for step, _ in done.steps if step.environment]
    assert step.environment == "prod"
    assert len(folders(world) - before) == 1
    assert world.verify().differences == ()


def test_a_folder_that_nobody_names_goes_by_a_later_commit(world):
    world.release(specs())
    (old,) = folders(world)
    world.release({"gati.yaml": project(environments=TWO, job=job(image=OTHER))})
    assert old in folders(world), "an open branch may still name it"
    world.release({"u.yaml": handler(replicas=3)}, whole=True)
    assert old not in folders(world)
    assert len(folders(world)) == 1
    assert world.verify().differences == ()


def test_the_messages_tell_of_it(world):
    world.release(specs())
    world.release({"gati.yaml": project(environments=TWO, job=job(image=OTHER))})
    text = git(world.output, "log", "-2", "--format=%B")
    assert f"Deployment gati-system/{NAME}" in text


def test_when_the_section_goes_the_root_stays_for_pruning(world):
    world.release(specs())
    spec = yaml.safe_load(project(environments=TWO))
    del spec["spec"]["job"]
    settings = {"environments": {e: {"clusters": s["clusters"]} for e, s in TWO.items()}}
    spec["spec"] |= settings
    world.release({"gati.yaml": yaml.safe_dump(spec)}, removals=100)
    tree = world.tree()
    folder = "overlays/prod/eu/gati-system/_reconciler"
    left = [path for path in tree if path.startswith(folder)]
    assert left == [f"{folder}/kustomization.yaml"]
    assert list(render(MemoryFiles(tree), folder).objects()) == []
    assert "clusters/eu/gati-system.reconciler.yaml" in tree
    assert world.verify().differences == ()
    assert world.publish().steps == (), "it is not written again and again"


HOME = "overlays/prod/eu/gati-system/_reconciler"


def test_a_hand_edit_is_found_and_mended(world):
    world.release(specs())

    def edit(clone: Path) -> None:
        rights = clone / HOME / "rights.yaml"
        rights.write_text(rights.read_text().replace("- list", '- "*"', 1))

    world.by_hand(edit)
    (found,) = world.verify().differences
    assert (found.path, found.what) == (f"{HOME}/rights.yaml", "changed")
    world.publish(whole=True)
    assert b'"*"' not in world.tree()[f"{HOME}/rights.yaml"]


def test_a_foreign_file_is_refused(world):
    world.release(specs())
    world.by_hand(lambda clone: (clone / HOME / "more.yaml").write_text("kind: Secret\n") and None)
    (found,) = world.verify().differences
    assert (found.path, found.what) == (f"{HOME}/more.yaml", "foreign")
    with pytest.raises(Refused, match="did not make"):
        world.publish(whole=True)


def test_a_release_folder_that_was_edited_is_found_and_refused(world):
    world.release(specs())

    def edit(clone: Path) -> None:
        (base,) = (clone / "base/gati-system/reconciler").iterdir()
        file = base / "deployment.yaml"
        file.write_text(file.read_text().replace("65532", "0"))

    world.by_hand(edit, "Let it be root")
    assert {d.what for d in world.verify().differences} == {"changed"}
    world.publish(whole=True)
    assert not [c for p, c in world.tree().items() if "reconciler" in p and b"runAsUser: 0" in c]


def test_release_folders_of_one_environment_do_not_ride_with_another(world):
    """Else prod could not build while dev's change waits for an approval."""
    apart = {**TWO, "prod": {**TWO["prod"], "job": {"image": OTHER}}}
    done = world.release({"gati.yaml": project(environments=apart), "u.yaml": handler()})
    commits = {step.environment: commit for step, commit in done.steps}
    bases = {
        env: {path.split("/")[3] for path in touched(world, commit) if "base/gati-system" in path}
        for env, commit in commits.items()
    }
    assert [name.rpartition("-")[0] for name in bases["dev"]] == ["1-2-3"]
    assert [name.rpartition("-")[0] for name in bases["prod"]] == ["1-3-0"]


def test_a_second_source_is_told_of_a_job_that_was_spoilt(world, tmp_path):
    world.release(specs())
    second = World(tmp_path, name="second")
    other = yaml.safe_load(project(environments={e: {"clusters": s["clusters"]} for e, s in TWO.items()}))  # fmt: skip
    other["spec"]["source"] = "second"
    second.release({"gati.yaml": yaml.safe_dump(other), "c.yaml": handler("carts")})

    def edit(clone: Path) -> None:
        (base,) = (clone / "base/gati-system/reconciler").iterdir()
        file = base / "deployment.yaml"
        file.write_text(file.read_text().replace("65532", "0"))

    world.by_hand(edit)
    found = second.verify().differences
    assert [(d.path.split("/")[2], d.what) for d in found] == [("reconciler", "changed")]


def test_a_second_source_leaves_the_job_of_the_owner_alone(world, tmp_path):
    world.release(specs())
    before = {path: content for path, content in world.tree().items() if "reconciler" in path}
    second = World(tmp_path, name="second")
    other = yaml.safe_load(project(environments={e: {"clusters": s["clusters"]} for e, s in TWO.items()}))  # fmt: skip
    other["spec"]["source"] = "second"
    other["spec"]["job"]["image"] = OTHER
    second.release({"gati.yaml": yaml.safe_dump(other), "c.yaml": handler("carts", namespace="gati-system")})  # fmt: skip
    tree = second.tree()
    assert {path: content for path, content in tree.items() if "reconciler" in path} == before
    cluster = yaml.safe_load(tree["overlays/prod/eu/kustomization.yaml"])
    assert "gati-system/_reconciler" in cluster["resources"]
    assert world.verify().differences == second.verify().differences == ()
    # what people decide leaves it alone, too, though it writes the cluster's folders again
    allowed = Allowed(0, frozenset(("Namespace/gati-system",)))
    second.act("retire", "gati-system/carts", environments=("prod",), now=True, allowed=allowed)
    assert not [path for path in world.tree() if "overlays/prod/eu/gati-system/handler" in path]
    assert world.verify().differences == ()
    after = {path: content for path, content in world.tree().items() if "reconciler" in path}
    assert after == before


def test_a_unit_in_the_job_s_own_namespace_comes_and_goes(world):
    files = specs(job=job(namespace="watchers"))
    files["w.yaml"] = handler("carts", namespace="watchers")
    world.release(files)
    path = "overlays/prod/eu/watchers/_namespace/namespace.yaml"
    assert path in world.tree()
    world.act("retire", "watchers/carts", environments=("prod",), now=True)
    tree = world.tree()
    assert "overlays/prod/eu/watchers/handler-carts/unit.yaml" not in tree
    assert path in tree, "the job is still there"
    assert "overlays/prod/eu/watchers/_reconciler/rights.yaml" in tree
    cluster = yaml.safe_load(tree["overlays/prod/eu/kustomization.yaml"])
    assert "watchers/_reconciler" in cluster["resources"]
    assert "clusters/eu/watchers.reconciler.yaml" in tree
