"""SIGKILL at every named step, then a clean run: the same tree as without, and the change in it once."""

import ast
import os
import signal
import sys
from pathlib import Path

import pygit2
import pytest

import gati_gitops.repo
from gati_gitops.repo.commit import Draft
from gati_gitops.repo.objects import LOOSE
from gati_gitops.repo.steps import EVENT
from gati_gitops.repo.writer import write
from tests.disk.world import in_child
from tests.repo.gitkit import git, sound
from tests.servers.places import US, Place, hasty

NOTES = "refs/notes/hydrator.metadata"
MANY = {f"base/{number}.yaml": f"{number}\n".encode() for number in range(LOOSE + 10)}

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Forks beside threads.


def named_steps() -> set[str]:
    """All steps that the code names, read from the code."""
    found = set()
    for path in Path(gati_gitops.repo.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "step":
                (name,) = node.args
                assert isinstance(name, ast.Constant), (
                    f"{path.name} has a step without a plain name"
                )
                found.add(name.value)
    return found


def publish(place: Place, cache: Path | None):
    """What each run does: many files, with a note, unless they are there."""

    def propose(tip):
        if tip.commit and tip.snapshot().read("base/0.yaml") is not None:
            return []
        return [Draft(MANY, "Publish\n", note=b"about it")]

    with place.open(cache=cache) as repository:
        return write(
            repository,
            propose,
            author=US,
            note_ref=NOTES,
            retry=hasty(),
            clock=lambda: 1_900_000_000,
        )


# Which steps each road passes, in order and without repetition.
BARE = [
    "after-read", "before-objects", "pack-written", "pack-named", "after-objects", "before-swap",
    "before-lock", "after-unlock", "after-swap",
]  # fmt: skip
WORK_TREE = [
    *BARE[:6],
    "before-branch",
    "before-lock",
    "after-unlock",
    "before-files",
    "after-swap",
]
SERVER = [
    "before-clone", "after-clone", "before-list", "after-list", "before-fetch", "after-fetch",
    "after-read", "before-objects", "pack-written", "pack-named", "after-objects", "before-swap",
    "before-push", "before-pack", "after-answer", "after-push", "after-swap",
]  # fmt: skip
ROADS = {"path": BARE, "work tree": WORK_TREE, "http": SERVER}


def test_every_step_is_on_a_road():
    assert named_steps() == {name for steps in ROADS.values() for name in steps}


@pytest.fixture
def target(request, places, tmp_path):
    road = request.getfixturevalue("through")
    place = places("path" if road == "work tree" else road)
    if road == "work tree":
        git(tmp_path, "clone", "-q", str(place.bare), "work")
        return Place("path", tmp_path / "work", str(tmp_path / "work"))
    return place


@pytest.mark.parametrize("through", ROADS)
def test_these_are_the_steps_of_a_road(target, tmp_path, through):
    log = tmp_path / "steps"

    def work():
        sys.addaudithook(
            lambda event, args: event == EVENT and print(args[0], file=out, flush=True)
        )
        publish(target, tmp_path / "cache")

    with log.open("w") as out:
        assert in_child(work) == 0
    assert list(dict.fromkeys(log.read_text().split())) == ROADS[through]


@pytest.mark.parametrize(
    "through, at", [(road, step) for road, steps in ROADS.items() for step in steps]
)
def test_killed_at(target, tmp_path, through, at):
    def work():
        def kill(event, args):
            if event == EVENT and args[0] == at:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(kill)
        publish(target, tmp_path / "cache")

    assert in_child(work) == -signal.SIGKILL
    half = target.subjects()
    assert half in (["By a person"], ["By a person", "Publish"])
    assert len(target.git("ls-tree", "-r", "main").splitlines()) in (1, 1 + len(MANY))
    publish(target, tmp_path / "cache")
    assert target.subjects() == ["By a person", "Publish"]
    assert target.git("rev-parse", "main^{tree}") == whole_tree(target)
    sound(target.bare)
    if through == "work tree":
        assert target.git("status", "--porcelain") == ""
    assert publish(target, tmp_path / "cache").commits == ()


def whole_tree(target) -> str:
    """The tree as git makes it, with everything of everybody in it."""
    index = {"GIT_INDEX_FILE": str(target.bare / "index-of-a-test")}
    git(target.bare, "read-tree", "main~1", **index)
    ids = {path: pygit2.hash(content) for path, content in MANY.items()}
    listed = "".join(f"100644 {id}\t{path}\n" for path, id in ids.items())
    git(target.bare, "update-index", "--index-info", data=listed.encode(), **index)
    made = git(target.bare, "write-tree", **index)
    (target.bare / "index-of-a-test").unlink()
    return made
