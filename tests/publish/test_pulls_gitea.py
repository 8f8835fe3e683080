"""Pull requests on a real Gitea, pushed over http with a token: the whole life once."""

import contextlib
import time

import pytest

from gati_gitops.forge.choose import forge_for
from gati_gitops.publish.hand import Hand
from gati_gitops.publish.pulls import Wanted, offer
from gati_gitops.repo.address import parse
from gati_gitops.repo.commit import Signature
from gati_gitops.repo.credentials import credentials
from gati_gitops.repo.repository import open_repository
from gati_gitops.spec.publishing import PullRequests
from tests.forge.worlds import LIMITS
from tests.servers.gitea import BOT

ROUTE = "overlays/prod/eu/shop/handler-cart/route.yaml"
MESSAGE = "Publish shop to prod\n\nOne unit changes.\n\nGati-Source: shop\nGati-Compiler: 1.0.0\n"
SETTINGS = PullRequests(labels=["gitops"], reviewers=["ana"])
PROD = "gati/shop/prod"


class World:
    def __init__(self, server):
        self.server = server
        self.name = server.repository()
        self.server.commit(self.name, "main", ROUTE, "90/10")
        self.url = f"{server.url}/{self.name}.git"
        token = server.tokens[BOT]
        self.environ = {"GATI_FORGE": "gitea", "GATI_GIT_TOKEN": token, "GATI_GIT_USERNAME": BOT}

    @contextlib.contextmanager
    def repository(self):
        address = parse(self.url)
        found = credentials(address, self.environ)
        with open_repository(address, branch="main", credentials=found) as repository:
            yield repository

    def offer(self, *weights, settings=SETTINGS, clock=time.time):
        wanted = [
            Wanted("prod", "", {ROUTE: w.encode()}, MESSAGE, f"Publish {w}", f"It becomes {w}.")
            for w in weights
        ]
        with self.repository() as repository:
            return offer(
                repository,
                lambda: forge_for(self.url, self.environ, limits=LIMITS),
                repository.tip(),
                wanted,
                settings,
                Hand(Signature("Robot", "robot@example.com"), clock=clock),
                source="shop",
            )


@pytest.fixture
def world(gitea_server):
    return World(gitea_server)


def test_opened_kept_updated_merged(world):
    (pull,) = world.offer("50/50")
    assert (pull.outcome, pull.notes, pull.error) == ("opened", (), None)
    shown = world.server.pull(world.name, pull.number)
    assert [label["name"] for label in shown["labels"]] == ["gitops"]
    assert [user["login"] for user in shown["requested_reviewers"]] == ["ana"]
    assert shown["head"]["sha"] == pull.commit

    review = {"event": "APPROVED", "body": "Fine.", "commit_id": pull.commit}
    path = f"/repos/{world.name}/pulls/{pull.number}"
    world.server.api("POST", f"{path}/reviews", review, "ana")
    world.server.commit(world.name, "main", "README-2.md", "elsewhere", "ben")
    (again,) = world.offer("50/50")
    assert (again.outcome, again.commit) == ("unchanged", pull.commit)
    reviews = world.server.api("GET", f"{path}/reviews", None)
    assert [(r["state"], r["stale"]) for r in reviews] == [("APPROVED", False)]

    (again,) = world.offer("20/80")
    assert (again.outcome, again.number) == ("updated", pull.number)
    shown = world.server.settled(world.name, pull.number)
    assert (shown["title"], shown["head"]["sha"]) == ("Publish 20/80", again.commit)

    merge = {"Do": "merge", "head_commit_id": again.commit}
    world.server.api("POST", f"{path}/merge", merge, "ben")
    (gone,) = world.offer()
    assert gone.outcome == "closed" and "on main now" in gone.why
    assert set(world.server.branches(world.name)) == {"main"}
    assert world.offer() == ()


def test_the_button_that_updates_the_branch_and_a_persons_commit(world):
    (pull,) = world.offer("50/50")
    world.server.commit(world.name, "main", "README-2.md", "elsewhere", "ben")
    world.server.settled(world.name, pull.number)
    path = f"/repos/{world.name}/pulls/{pull.number}"
    world.server.api("POST", f"{path}/update?style=merge", None, "ben")
    (again,) = world.offer("50/50")
    assert again.outcome == "unchanged" and again.commit != pull.commit
    (again,) = world.offer("20/80")
    assert (again.outcome, again.number) == ("updated", pull.number)

    world.server.commit(world.name, PROD, "note.txt", "mine", "ben")
    (kept,) = world.offer("30/70")
    assert kept.outcome == "kept"
    assert world.server.branches(world.name)[PROD] == kept.commit != again.commit


def test_declined_by_a_person_and_expired_by_us(world):
    (pull,) = world.offer("50/50")
    path = f"/repos/{world.name}/pulls/{pull.number}"
    world.server.api("PATCH", path, {"state": "closed"}, "ben")
    (again,) = world.offer("50/50")
    assert again.outcome == "declined"
    world.server.api("PATCH", path, {"state": "open"}, "ben")
    (again,) = world.offer("50/50")
    assert again.outcome == "unchanged"
    (again,) = world.offer("50/50", clock=lambda: time.time() + 15 * 86_400)
    assert again.outcome == "expired"
    assert set(world.server.branches(world.name)) == {"main"}
    (again,) = world.offer("50/50")
    assert again.outcome == "declined"
    (again,) = world.offer("20/80")
    assert again.outcome == "opened" and again.number != pull.number


def test_merged_by_the_forge_once_the_check_passes(world):
    rule = {"rule_name": "main", "enable_status_check": True, "status_check_contexts": ["verify"],
            "enable_push": True}  # fmt: skip
    world.server.api("POST", f"/repos/{world.name}/branch_protections", rule)
    settings = SETTINGS.model_copy(update={"auto_merge": True})
    (pull,) = world.offer("50/50", settings=settings)
    assert (pull.outcome, pull.notes) == ("opened", ())
    assert not world.server.pull(world.name, pull.number)["merged"]
    forge = forge_for(world.url, world.environ, limits=LIMITS)
    forge.set_check(pull.commit, "verify", "success", "It is what the specs say.")
    for _ in range(100):
        if world.server.pull(world.name, pull.number)["merged"]:
            break
        time.sleep(0.1)
    assert world.server.pull(world.name, pull.number)["merged"]
    (gone,) = world.offer(settings=settings)
    assert gone.outcome == "closed"
