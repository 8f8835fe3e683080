"""The life of our pull requests, on a real repository and a server that holds to GitHub's contract."""

import signal
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pygit2
import pytest

from gati_gitops.errors import Outside, Refused
from gati_gitops.forge.choose import forge_for
from gati_gitops.forge.model import ForgeError
from gati_gitops.forge.text import marked
from gati_gitops.publish.hand import Hand
from gati_gitops.publish.pulls import Pull, Wanted, offer, worst
from gati_gitops.repo.address import parse
from gati_gitops.repo.commit import Signature
from gati_gitops.repo.repository import open_repository
from gati_gitops.repo.retry import Retry
from gati_gitops.spec.publishing import PullRequests
from tests.forge.worlds import LIMITS, Pauses
from tests.publish.kit import git
from tests.servers.github import TOKEN, GitHubServer

ROOT = Path(__file__).parents[2]
BOT = Signature("Robot", "robot@example.com")
SETTINGS = PullRequests(labels=["gitops"], reviewers=["ana"])
MESSAGE = "Publish shop to prod\n\nOne unit changes.\n\nGati-Source: shop\nGati-Compiler: 1.0.0\n"
ROUTE = "overlays/prod/eu/shop/handler-cart/route.yaml"
OTHER = "overlays/prod/eu/bank/handler-pay/route.yaml"
RECORD = "overlays/prod/sources/shop/all.yaml"
PROD = "gati/shop/prod"


class World:
    """A bare repository, a forge over it, and a publisher."""

    def __init__(self, folder):
        self.bare = folder / "deploy.git"
        git(folder, "init", "-q", "--bare", "-b", "main", "deploy.git")
        self.person = folder / "person"
        git(folder, "clone", "-q", str(self.bare), "person")
        self.commit({ROUTE: "90/10", OTHER: "100", RECORD: "commit 1", "README.md": "hello"})
        self.server = GitHubServer(self.branches)
        self.now = self.server.time.timestamp()
        self.pauses = Pauses()

    def branches(self):
        refs = pygit2.Repository(str(self.bare)).references
        found = {ref.shorthand: str(ref.target) for ref in refs.objects}
        return {name: commit for name, commit in found.items() if name != "HEAD"}

    def commit(self, files, branch="main", message="By hand", push=True):
        """A person's commit."""
        git(self.person, "fetch", "-q", "--prune")
        if git(self.person, "branch", "-r", "--list", f"origin/{branch}"):
            git(self.person, "checkout", "-q", "-B", branch, f"origin/{branch}")
        for path, text in files.items():
            file = self.person / path
            if text is None:
                file.unlink()
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        git(self.person, "add", "-A")
        git(self.person, "commit", "-q", "-m", message)
        if push:
            git(self.person, "push", "-q", "origin", f"HEAD:{branch}")

    def merge(self, branch):
        git(self.person, "fetch", "-q", "--prune")
        git(self.person, "checkout", "-q", "-B", "main", "origin/main")
        git(self.person, "merge", "-q", "--no-ff", "-m", f"Merge {branch}", f"origin/{branch}")
        git(self.person, "push", "-q", "origin", "main")

    def file(self, branch, path):
        return git(self.bare, "show", f"{branch}:{path}")

    def offer(self, *wanted, **more):
        self.now = max(self.now, self.server.time.timestamp()) + 60
        self.server.time = datetime.fromtimestamp(self.now, UTC)
        more = {"pause": self.pauses, "clock": lambda: self.now, **more}
        return offered(self.bare, self.server.url, wanted, **more)


def offered(
    bare, url, wanted, settings=SETTINGS, environments=None, author=BOT, clock=time.time, pause=None
):
    """One run against a bare repository and the forge at an address."""
    environ = {
        "GATI_FORGE": "github",
        "GATI_FORGE_URL": url,
        "GATI_FORGE_REPOSITORY": "acme/output",
        "GATI_FORGE_TOKEN": TOKEN,
    }
    pause = Pauses() if pause is None else pause
    hand = Hand(author, retry=Retry(attempts=3, sleep=lambda _: None), clock=clock)
    with open_repository(parse(str(bare)), branch="main") as repository:
        return offer(
            repository,
            lambda: forge_for(str(bare), environ, limits=LIMITS, pause=pause),
            repository.tip(),
            wanted,
            settings,
            hand,
            source="shop",
            environments=environments,
        )


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path)
    yield world
    world.server.close()


def want(weights="50/50", record="commit 2", group="", path=ROUTE, **more):
    changes = {path: weights.encode(), RECORD: record.encode()}
    if group:
        changes[RECORD.replace("all", group)] = changes.pop(RECORD)
    title, body = f"Publish {weights}", f"Weights become {weights}."
    return Wanted("prod", group, changes, MESSAGE, title, body, **more)


# ------------------------------------------------------------------------------ offering


def test_opened_then_left_alone(world):
    (pull,) = world.offer(want())
    assert (pull.outcome, pull.branch, pull.number, pull.error) == ("opened", PROD, 1, None)
    assert world.branches()[PROD] == pull.commit
    assert world.file(PROD, ROUTE) == "50/50"
    assert git(world.bare, "rev-parse", f"{PROD}^").strip() == world.branches()["main"]
    shown = world.server.pull(1)
    assert shown["title"] == "Publish 50/50"
    assert shown["body"].endswith("Weights become 50/50.")
    assert [label["name"] for label in shown["labels"]] == ["gitops"]
    assert [user["login"] for user in shown["requested_reviewers"]] == ["ana"]

    before = len([s for s in world.server.seen if s.method != "GET"])
    (again,) = world.offer(want())
    assert (again.outcome, again.commit) == ("unchanged", pull.commit)
    assert len([s for s in world.server.seen if s.method != "GET"]) == before, "nothing is written"


def test_nothing_wanted_and_nothing_there_asks_nobody(world):
    assert world.offer() == ()
    assert world.server.seen == []


def test_commits_elsewhere_leave_the_branch_and_its_approvals(world):
    (pull,) = world.offer(want())
    world.commit({"README.md": "hello again", "overlays/dev/x.yaml": "dev"})
    (again,) = world.offer(want(record="commit 3"))
    assert (again.outcome, again.commit) == ("unchanged", pull.commit)


def test_updated_in_place_when_something_else_is_wanted(world):
    (pull,) = world.offer(want())
    (again,) = world.offer(want("20/80"))
    assert (again.outcome, again.number) == ("updated", 1)
    assert again.commit != pull.commit
    assert world.file(PROD, ROUTE) == "20/80"
    assert git(world.bare, "rev-list", "--count", f"main..{PROD}").strip() == "1"
    assert world.server.pull(1)["title"] == "Publish 20/80"


def test_rebuilt_when_its_paths_move_on_the_target(world):
    (pull,) = world.offer(want())
    world.commit({ROUTE: "85/15"})
    (again,) = world.offer(want())
    assert again.outcome == "updated" and ROUTE in again.why
    assert again.commit != pull.commit
    assert git(world.bare, "rev-parse", f"{PROD}^").strip() == world.branches()["main"]


def test_rebuilt_when_a_folder_that_it_names_goes(world):
    world.commit({"base/shop/handler-cart/v1-aaaaaaaa/d.yaml": "v1"})
    wanted = want(folders=("base/shop/handler-cart/v1-aaaaaaaa",))
    (pull,) = world.offer(wanted)
    world.commit({"base/shop/handler-cart/v1-aaaaaaaa/d.yaml": None})
    (again,) = world.offer(wanted)
    assert again.outcome == "updated" and again.commit != pull.commit


def test_rebuilt_when_the_target_was_reset(world):
    """Otherwise the merge would bring back what an operator took away."""
    old = world.branches()["main"]
    world.commit({"bad.yaml": "bad"})
    world.offer(want())
    git(world.bare, "update-ref", "refs/heads/main", old)
    (again,) = world.offer(want())
    assert again.outcome == "updated" and "reset" in again.why
    assert git(world.bare, "rev-list", "--count", f"main..{PROD}").strip() == "1"


def test_groups_have_pull_requests_of_their_own(world):
    pulls = world.offer(want(group="shop"), want("99/1", group="bank", path=OTHER))
    assert [p.branch for p in pulls] == [f"{PROD}/shop", f"{PROD}/bank"]
    assert [p.outcome for p in pulls] == ["opened", "opened"]
    pulls = world.offer(want(group="shop"), want("98/2", group="bank", path=OTHER))
    assert [p.outcome for p in pulls] == ["unchanged", "updated"]


def test_another_grouping_replaces_the_branches(world):
    """Git has no branch gati/shop/prod/bank beside gati/shop/prod: the old one goes first."""
    world.offer(want())
    pulls = world.offer(want(group="shop"))
    assert [(p.branch, p.outcome) for p in pulls] == [(PROD, "closed"), (f"{PROD}/shop", "opened")]
    pulls = world.offer(want())
    assert [(p.branch, p.outcome) for p in pulls] == [(f"{PROD}/shop", "closed"), (PROD, "opened")]


# ------------------------------------------------------------------------------ taking back


def test_merged_ones_leave_no_branch(world):
    world.offer(want())
    world.merge(PROD)
    world.server.merge_by_hand(1)
    (pull,) = world.offer()
    assert (pull.branch, pull.outcome) == (PROD, "closed")
    assert "on main now" in pull.why
    assert set(world.branches()) == {"main"}
    (pull,) = world.offer(want("20/80", record="commit 3"))
    assert (pull.outcome, pull.number) == ("opened", 2)


def test_superseded_ones_are_closed_with_a_sentence(world):
    world.offer(want())
    (pull,) = world.offer()
    assert pull.outcome == "closed"
    assert world.server.pull(1)["state"] == "closed"
    assert "superseded" in world.server.comments[1][0]["body"]
    assert set(world.branches()) == {"main"}


def test_what_was_superseded_is_offered_again_when_wanted_again(world):
    world.offer(want())
    world.offer()
    (pull,) = world.offer(want())
    assert (pull.outcome, pull.number) == ("opened", 2)


def test_what_a_person_closed_is_not_offered_again_until_it_changes(world):
    world.offer(want())
    world.server.close_by_hand(1)
    (pull,) = world.offer(want(record="commit 7"))
    assert (pull.outcome, pull.error) == ("declined", None)
    assert "reopen" in pull.why
    git(world.bare, "branch", "-D", PROD)
    (pull,) = world.offer(want())
    assert pull.outcome == "declined"
    assert PROD not in world.branches()
    (pull,) = world.offer(want("20/80"))
    assert (pull.outcome, pull.number) == ("opened", 2)


def test_what_nobody_took_is_closed_and_stays_closed(world):
    world.offer(want())
    world.now += 15 * 86_400
    (pull,) = world.offer(want())
    assert pull.outcome == "expired"
    assert "Nobody took this for 14d" in world.server.comments[1][0]["body"]
    assert set(world.branches()) == {"main"}
    (pull,) = world.offer(want())
    assert pull.outcome == "declined"
    (pull,) = world.offer(want("20/80"))
    assert pull.outcome == "opened"


def test_talk_and_updates_keep_it_alive(world):
    world.offer(want())
    world.now += 13 * 86_400
    world.offer(want("20/80"))
    world.now += 13 * 86_400
    (pull,) = world.offer(want("20/80"))
    assert pull.outcome == "unchanged"
    world.server.say(1, "We will look at it tomorrow.", "ana")
    world.now += 13 * 86_400
    (pull,) = world.offer(want("20/80"))
    assert pull.outcome == "unchanged"


def test_other_environments_and_sources_are_left_alone(world):
    world.offer(want(), replace(want(path="overlays/staging/x.yaml"), environment="staging"))
    git(world.bare, "branch", "gati/shop/prod-eu", "main")
    git(world.bare, "branch", "gati/shopping/prod", "main")
    pulls = world.offer(environments=["staging"])
    assert [(p.branch, p.outcome) for p in pulls] == [("gati/shop/staging", "closed")]
    assert set(world.branches()) == {"main", PROD, "gati/shop/prod-eu", "gati/shopping/prod"}


# ------------------------------------------------------------------------------ people


def test_a_persons_commits_are_not_overwritten(world):
    world.offer(want())
    world.commit({ROUTE: "60/40"}, PROD)
    mine = world.branches()[PROD]
    (pull,) = world.offer(want("20/80"))
    assert pull.outcome == "kept"
    assert isinstance(pull.error, Refused) and PROD in pull.error.message
    assert world.branches()[PROD] == mine
    # nor taken away
    (pull,) = world.offer()
    assert pull.outcome == "kept"
    assert world.branches()[PROD] == mine
    assert world.server.pull(1)["state"] == "open"


@pytest.mark.parametrize("more", [(), ("--reset-author",)])
def test_nor_is_a_commit_that_a_person_amended(world, more):
    world.offer(want())
    git(world.person, "fetch", "-q")
    git(world.person, "checkout", "-q", "-B", "work", f"origin/{PROD}")
    (world.person / ROUTE).write_text("60/40")
    git(world.person, "commit", "-q", "-a", "--amend", "--no-edit", *more)
    git(world.person, "push", "-q", "-f", "origin", f"HEAD:{PROD}")
    (pull,) = world.offer(want("20/80"))
    assert pull.outcome == "kept"
    assert world.file(PROD, ROUTE) == "60/40"


def test_a_merge_of_the_target_by_the_forges_button_is_no_persons_work(world):
    world.offer(want())
    world.commit({"README.md": "moved on"})
    git(world.person, "fetch", "-q")
    git(world.person, "checkout", "-q", "-B", "work", f"origin/{PROD}")
    git(world.person, "merge", "-q", "-m", "Merge branch 'main'", "origin/main")
    git(world.person, "push", "-q", "origin", f"HEAD:{PROD}")
    merged = world.branches()[PROD]
    (pull,) = world.offer(want())
    assert (pull.outcome, pull.commit) == ("unchanged", merged)
    (pull,) = world.offer(want("20/80"))
    assert (pull.outcome, pull.number) == ("updated", 1)
    assert world.file(PROD, ROUTE) == "20/80"


def test_a_merge_with_something_slipped_in_is(world):
    world.offer(want())
    world.commit({"README.md": "moved on"})
    git(world.person, "fetch", "-q")
    git(world.person, "checkout", "-q", "-B", "work", f"origin/{PROD}")
    git(world.person, "merge", "-q", "--no-commit", "--no-ff", "origin/main")
    (world.person / "extra.yaml").write_text("mine")
    git(world.person, "add", "-A")
    git(world.person, "commit", "-q", "-m", "Merge branch 'main'")
    git(world.person, "push", "-q", "origin", f"HEAD:{PROD}")
    (pull,) = world.offer(want("20/80"))
    assert pull.outcome == "kept"


def test_another_author_of_ours_is_still_us(world):
    world.offer(want())
    (pull,) = world.offer(want("20/80"), author=Signature("Bot", "new@example.com"))
    assert pull.outcome == "updated"


def test_labels_of_people_stay(world):
    world.offer(want())
    world.server.pull(1)["labels"].append({"name": "urgent"})
    world.offer(want("20/80"))
    assert {label["name"] for label in world.server.pull(1)["labels"]} == {"gitops", "urgent"}


def test_a_push_between_reading_and_writing_is_not_lost(world):
    """A person pushes at the worst moment: the branch is swapped only at the value that was seen."""
    world.offer(want())
    done = []

    def hook(event, args):
        if event == "gati_gitops.step" and args == ("before-lock",) and not done:
            done.append(True)
            world.commit({ROUTE: "60/40"}, PROD)

    sys.addaudithook(hook)
    try:
        (pull,) = world.offer(want("20/80"))
    finally:
        done.append(True)
    assert done and pull.outcome == "failed"
    assert isinstance(pull.error, Outside) and "meanwhile" in pull.error.message
    assert world.file(PROD, ROUTE) == "60/40"


# ------------------------------------------------------------------------------ failures


def test_a_forge_that_fails_after_the_push_is_healed_by_the_next_run(world):
    world.server.fail("POST", "/pulls$", times=1, status=500)
    (pull,) = world.offer(want())
    assert pull.outcome == "failed"
    assert isinstance(pull.error, ForgeError) and pull.error.exit_code == 4
    assert "next run" in pull.error.remedy
    pushed = world.branches()[PROD]
    (pull,) = world.offer(want())
    assert (pull.outcome, pull.commit) == ("opened", pushed), "the branch is not built again"


def test_a_pull_request_whose_text_failed_is_healed_too(world):
    world.offer(want())
    world.server.fail("PATCH", "/pulls/1$", times=9, status=502)
    (pull,) = world.offer(want("20/80"))
    assert pull.outcome == "failed"
    assert world.server.pull(1)["title"] == "Publish 50/50"
    world.server.faults.clear()
    (pull,) = world.offer(want("20/80"))
    assert (pull.outcome, world.server.pull(1)["title"]) == ("unchanged", "Publish 20/80")
    assert marked(world.server.pull(1)["body"], "head") == world.branches()[PROD]


def test_one_that_fails_does_not_stop_the_others(world):
    world.server.fail("POST", "/pulls$", times=1, status=422, body={"message": "no"})
    pulls = world.offer(want(group="a"), want(group="b"))
    assert [p.outcome for p in pulls] == ["failed", "opened"]


def test_a_forge_that_cannot_be_asked_stops_before_anything_is_pushed(world):
    world.server.rights = "none"
    (pull,) = world.offer(want())
    assert (pull.branch, pull.outcome, pull.error.exit_code) == (PROD, "failed", 4)
    assert "404" in pull.error.message
    assert set(world.branches()) == {"main"}


def test_failures_come_before_refusals():
    def pull(error):
        return Pull("b", "failed", error=error)

    refused, failed = Refused("no"), ForgeError("broken")
    assert worst([pull(refused), pull(None), pull(failed)]) is failed
    assert worst([pull(refused)]) is refused
    assert worst([]) is None


_KILLED = """
import os, signal, sys
from pathlib import Path
from tests.publish import test_pulls as here

def hook(event, args):
    if event == "gati_gitops.step" and args == (sys.argv[3],):
        os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(hook)
here.offered(Path(sys.argv[1]), sys.argv[2], [here.want()] if sys.argv[4] == "yes" else [])
"""


@pytest.mark.parametrize("at", ["after-branch", "before-delete", "after-unlock"])
def test_killed_at_a_step_then_run_again(world, at):
    """SIGKILL between any two effects; a clean run comes to the same end."""
    wanted = () if at == "before-delete" else (want(),)
    if not wanted:
        world.offer(want())
    arguments = [str(world.bare), world.server.url, at, "yes" if wanted else "no"]
    child = subprocess.run([sys.executable, "-c", _KILLED, *arguments], cwd=ROOT, check=False)
    assert child.returncode == -signal.SIGKILL
    world.offer(*wanted)
    open_ones = [p["head"]["ref"] for p in world.server.open_ones()]
    if wanted:
        assert open_ones == [PROD] and world.file(PROD, ROUTE) == "50/50"
    else:
        assert open_ones == [] and set(world.branches()) == {"main"}
    assert len(world.server.pulls) == 1
    git(world.bare, "fsck", "--strict")


# ------------------------------------------------------------------------------ merging by itself


def test_auto_merge_is_asked_for_once(world):
    world.server.required_checks = ["verify"]
    settings = SETTINGS.model_copy(update={"auto_merge": True})
    (pull,) = world.offer(want(), settings=settings)
    assert pull.notes == ()
    assert world.server.pull(1)["auto_merge"]
    asked = len(world.server.calls("POST", "/graphql"))
    world.offer(want(), settings=settings)
    assert len(world.server.calls("POST", "/graphql")) == asked


def test_auto_merge_that_cannot_be_had_is_a_note(world):
    settings = SETTINGS.model_copy(update={"auto_merge": True})
    (pull,) = world.offer(want(), settings=settings)
    assert (pull.outcome, pull.error) == ("opened", None)
    assert "demands no check" in pull.notes[0]


def test_reviewers_that_cannot_be_had_are_a_note(world):
    settings = SETTINGS.model_copy(update={"reviewers": ["stranger"]})
    (pull,) = world.offer(want(), settings=settings)
    assert (pull.outcome, len(pull.notes)) == ("opened", 1)


def test_a_draft_stays_a_draft(world):
    world.offer(want())
    world.server.pull(1)["draft"] = True
    world.offer(want("20/80"))
    assert world.server.pull(1)["draft"]
