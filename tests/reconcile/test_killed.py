"""SIGKILL at every named step of a pass, then a clean run: the same tree, and each decision once.

And the other ways in which a job is cut off: told to stop, frozen past its lease, or two at once.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys

import pytest
import yaml

from gati_gitops.cli import reconcile as verb
from gati_gitops.cli.main import run
from gati_gitops.reconcile import run as reconciling
from gati_gitops.reconcile.clocks_store import FileClocks
from gati_gitops.reconcile.fence import Fence, LostFence
from gati_gitops.repo.steps import EVENT
from tests.compile.kit import handler, project
from tests.disk.world import in_child
from tests.publish.kit import git
from tests.publish.test_stories import at_rest
from tests.reconcile.town import QUICK, Town

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Forks beside threads.

STEPS = [
    "after-read", "before-look", "after-look", "before-commits", "before-objects",
    "after-objects", "before-swap", "before-lock", "after-unlock", "after-swap", "before-clocks",
    "after-clocks",
]  # fmt: skip
"""All that a pass goes through that commits to a repository on this machine."""
FENCE = "overlays/prod/job.yaml"


def about_to_step(town: Town) -> None:
    """Three units of which the next pass decides something: a step, a rollback, and nothing."""
    units = ("users", "carts", "orders")
    town.clocks = FileClocks(town.root / "clocks.json")
    town.release({"gati.yaml": project(rollout=QUICK), **{f"{u}.yaml": handler(u) for u in units}})
    town.wait(120)
    town.release({f"{u}.yaml": handler(u, version="v2") for u in ("users", "carts")})
    town.site().behaves("v2", unit="handler-carts", ready=False, waiting="CrashLoopBackOff")
    town.wait(15)
    town.look()
    town.wait(45)


def outcome(town: Town) -> tuple[object, ...]:
    """What a pass leaves, but for who wrote it."""
    tree = town.tree()
    fence = yaml.safe_load(tree.pop(FENCE))
    for term in fence["clusters"].values():
        term.pop("holder"), term.pop("term")
    return tree, fence, sorted(town.log("%s"))


@pytest.fixture
def town(tmp_path):
    town = Town(tmp_path)
    about_to_step(town)
    yield town
    town.close()


def undisturbed(town: Town, tmp_path) -> tuple[object, ...]:
    """The same on a copy, without anybody in the way."""
    twin = tmp_path / "twin.git"
    shutil.copytree(town.output, twin)
    clocks = (town.root / "clocks.json").read_bytes()
    real, town.output = town.output, twin
    town.look(fence=Fence("town"))
    found = outcome(town)
    town.output = real
    (town.root / "clocks.json").write_bytes(clocks)
    return found


def test_these_are_the_steps_of_a_pass(town, tmp_path):
    log = tmp_path / "steps"

    def work():
        def note(event, args):
            if event == EVENT:
                print(args[0], file=out, flush=True)

        sys.addaudithook(note)
        town.look()

    with log.open("w") as out:
        assert in_child(work) == 0
    assert list(dict.fromkeys(log.read_text().split())) == STEPS


@pytest.mark.parametrize("at", STEPS)
def test_killed_at(town, tmp_path, at):
    expected = undisturbed(town, tmp_path)
    subjects = expected[2]
    assert "prod: shift shop/users v2 to 10 %" in subjects
    assert "prod: roll back shop/carts v2" in subjects

    def work():
        def kill(event, args):
            if event == EVENT and args[0] == at:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(kill)
        town.look()

    assert in_child(work) == -signal.SIGKILL
    half = set(town.log("%s"))
    both = {"prod: shift shop/users v2 to 10 %", "prod: roll back shop/carts v2"}
    assert half & both in (set(), both), "all of a pass, or nothing of it"
    town.look(fence=Fence("town"))
    assert outcome(town) == expected
    git(town.output, "fsck", "--strict")
    tip = town.tip()
    town.wait(15)
    town.look(fence=Fence("town"))
    assert town.tip() == tip, "nothing is decided twice"
    town.site().behaves("v2", unit="handler-carts", ready=True, waiting="")
    at_rest(town)


@pytest.mark.parametrize(
    "at",
    ["after-read", "before-look", "before-commits", "before-swap", "after-swap", "before-clocks"],
)
def test_told_to_stop_at(town, tmp_path, at):
    """SIGTERM inside of a pass of ``--watch``: the pass is finished, and no other begins."""
    expected = undisturbed(town, tmp_path)
    before = (town.root / "clocks.json").read_bytes()
    begun = tmp_path / "begun"

    def work():
        def told(event, args):
            if event == EVENT and args[0] == "after-read":
                print("pass", file=out, flush=True)
            if event == EVENT and args[0] == at:
                os.kill(os.getpid(), signal.SIGTERM)

        verb.sources_of = lambda *_: None
        verb._job = lambda repository, *_: town.job_of(repository, fence=Fence("town"))
        sys.addaudithook(told)
        signal.alarm(120)  # who does not hear would wait for the next pass
        watch = ["reconcile", "--repo", str(town.output), "--watch", "--interval", "1h"]
        assert run(watch) == 0

    with begun.open("w") as out:
        assert in_child(work) == 0
    assert outcome(town) == expected
    assert (town.root / "clocks.json").read_bytes() != before, "what was seen counts, too"
    assert begun.read_text().split() == ["pass"]
    git(town.output, "fsck", "--strict")
    tip = town.tip()
    town.wait(15)
    town.look(fence=Fence("town"))
    assert town.tip() == tip, "nothing is decided twice"


def test_a_job_that_was_frozen_past_its_lease_is_refused(town):
    """It stops between its look and its push; another one works meanwhile; then it goes on."""
    frozen = Fence("town", holder="frozen")
    other = []

    def asleep(*arguments, **options):
        found = original(*arguments, **options)
        reconciling.propose = original
        if not other:
            other.append(town.look(fence=Fence("town", holder="awake")))
        return found

    original = reconciling.propose
    reconciling.propose = asleep
    try:
        with pytest.raises(LostFence):
            town.look(fence=frozen)
    finally:
        reconciling.propose = original
    assert len(other[0].steps) == 2
    log = town.log("%s")
    assert log.count("prod: shift shop/users v2 to 10 %") == 1
    assert log.count("prod: roll back shop/carts v2") == 1
    assert yaml.safe_load(town.tree()[FENCE])["clusters"]["east"]["holder"] == "awake"


def test_two_jobs_at_once_lose_and_double_nothing(tmp_path):
    """Two processes of one job, each in its own process, pass after pass on one repository."""
    town = Town(tmp_path)
    try:
        names = [f"u{number}" for number in range(6)]
        town.release({"gati.yaml": project(rollout=QUICK), **{f"{n}.yaml": handler(n) for n in names}})  # fmt: skip
        town.wait(120)
        town.release({f"{n}.yaml": handler(n, version="v2") for n in names})
        town.wait(60)
        begin = town.tip()
        pids = []
        for number in range(4):
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    town.fence = Fence("town", holder=str(number))
                    town.look()
                    code = 0
                except LostFence:
                    code = 5
                finally:
                    os._exit(code)
            pids.append(pid)
        codes = sorted(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids)
        assert codes[0] == 0 and set(codes) <= {0, 5}
        log = git(town.output, "log", "--format=%s", f"{begin}..main").splitlines()
        assert log == ["prod: 6 units change"]
        for name in names:
            folder = f"overlays/prod/east/shop/handler-{name}"
            assert town.phases(folder) == {"v1": ("Active", 90), "v2": ("Canary", 10)}
        git(town.output, "fsck", "--strict")
        at_rest(town)
    finally:
        town.close()
