"""Environments that want an approval: pull requests instead of commits, and what need not wait."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime

import pytest

from gati_gitops.cli.main import run
from gati_gitops.forge.choose import forge_for
from tests.compile.kit import canary, decide, handler, moved
from tests.forge import worlds
from tests.forge.worlds import LIMITS, Pauses
from tests.publish.kit import World, git
from tests.servers.gitea import BOT
from tests.servers.github import TOKEN, GitHubServer

PROD = {"clusters": {"east": {}}, "modes": {"publish": "pull-request"}}
TWO = {"dev": ["dev-1"], "prod": PROD}
STAGED = {"staging": ["stage"], "prod": PROD}
DEV, EAST = "overlays/dev/dev-1/shop", "overlays/prod/east/shop"
BRANCH = "gati/shop/prod"


class WithForge(World):
    """A world whose output repository is on a forge that holds to GitHub's contract."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.server = GitHubServer(self.branches)

    def branches(self) -> dict[str, str]:
        listed = git(self.output, "for-each-ref", "--format=%(refname:short) %(objectname)")
        return dict(line.split() for line in listed.splitlines())

    def forge(self):
        self.server.time = datetime.fromtimestamp(self.clock, UTC)
        environ = {
            "GATI_FORGE": "github",
            "GATI_FORGE_URL": self.server.url,
            "GATI_FORGE_REPOSITORY": "acme/output",
            "GATI_FORGE_TOKEN": TOKEN,
        }
        return forge_for(str(self.output), environ, limits=LIMITS, pause=Pauses())

    def accept(self, branch: str = BRANCH) -> None:
        """A person merges, by a merge commit."""
        place = self.root / "hand"
        if not place.exists():
            git(self.root, "clone", "-q", str(self.output), "hand")
        git(place, "fetch", "-q", "--prune", "origin")
        git(place, "checkout", "-q", "-B", "main", "origin/main")
        git(place, "merge", "-q", "--no-ff", "-m", f"Merge {branch}", f"origin/{branch}")
        git(place, "push", "-q", "origin", "main")
        for pull in self.server.open_ones():
            if pull["head"]["ref"] == branch:
                self.server.merge_by_hand(pull["number"])
        git(place, "push", "-q", "origin", f":{branch}")


@pytest.fixture
def world(tmp_path):
    world = WithForge(tmp_path)
    yield world
    world.server.close()


def rendered(tree, env):
    return {
        path: content
        for path, content in tree.items()
        if path.startswith((f"overlays/{env}/", "base/")) and not path.endswith("rollout.yaml")
    }


def test_prod_waits_for_its_approval_and_dev_does_not(world):
    world.merge({"gati.yaml": canary(TWO), "users.yaml": handler()})
    done = world.publish()
    assert [step.environment for step, _ in done.steps] == ["dev"]
    assert [(pull.branch, pull.outcome) for pull in done.pulls] == [(BRANCH, "opened")]
    assert f"{DEV}/handler-users/unit.yaml" in world.tree()
    assert f"{EAST}/handler-users/unit.yaml" not in world.tree()
    assert f"{EAST}/handler-users/unit.yaml" in world.tree(BRANCH)
    pull = world.server.pull(done.pulls[0].number)
    assert pull["title"] == "prod: add shop/users v1"
    assert "shop/users" in pull["body"]
    # one commit on the tip
    assert git(world.output, "rev-parse", f"{BRANCH}~1").strip() == world.tip()
    world.accept()
    assert world.verify().differences == ()
    assert world.publish().steps == ()


def test_an_open_pull_request_follows_the_specs_in_place(world):
    world.release({"gati.yaml": canary(TWO), "users.yaml": handler()})
    world.accept()
    first = world.release({"users.yaml": handler(version="v2")}).pulls[0]
    second = world.release({"users.yaml": handler(version="v3")}).pulls[0]
    assert (first.outcome, second.outcome) == ("opened", "updated")
    assert first.number == second.number
    assert b"v3" in world.tree(BRANCH)[f"{EAST}/handler-users/rollout.yaml"]
    third = world.release({"users.yaml": handler(version="v1")}).pulls[0]
    assert third.outcome == "closed"
    assert world.server.pull(first.number)["state"] == "closed"


def test_dev_moves_on_while_the_pull_request_of_prod_waits(world):
    world.release(
        {"gati.yaml": canary(TWO), "users.yaml": handler(), "carts.yaml": handler("carts")}
    )
    world.accept()
    world.release({"users.yaml": handler(version="v2")})
    before, head = rendered(world.tree(), "prod"), world.tip(BRANCH)
    for number in range(3):
        world.release({"carts.yaml": handler("carts", env={"A": str(number)})})
        after = rendered(world.tree(), "prod")
        assert {p: after[p] for p in before if p.startswith("overlays/")} == {
            p: c for p, c in before.items() if p.startswith("overlays/")
        }
        assert {p: c for p, c in after.items() if p in before} == before
    # the pull request holds all of it by now, still as one commit
    assert world.tip(BRANCH) != head
    world.accept()
    assert world.verify().differences == ()


def test_an_approval_survives_commits_elsewhere(world):
    world.release({"gati.yaml": canary(TWO), "users.yaml": handler()})
    world.accept()
    world.release({"users.yaml": handler(version="v2")})
    head = world.tip(BRANCH)
    world.by_hand(lambda place: (place / "README.md").write_text("hello"))
    pull = world.publish().pulls[0]
    assert (pull.outcome, pull.why) == ("unchanged", "")
    assert world.tip(BRANCH) == head


def test_what_waits_for_promotion_needs_no_approval(world):
    settings = canary(STAGED, promotion={"prod": {"after": "staging"}})
    world.release({"gati.yaml": settings, "users.yaml": handler(), "carts.yaml": handler("carts")})
    world.accept()
    done = world.release({"users.yaml": handler(version="v2")})
    assert [step.environment for step, _ in done.steps] == ["staging", "prod"]
    assert not done.pulls
    assert world.phases(f"{EAST}/handler-users")["v2"] == ("Pending", 0)
    assert world.verify().differences == ()


def test_what_waits_is_stored_beside_a_pull_request_that_waits(world):
    settings = canary(STAGED, promotion={"prod": {"after": "staging"}})
    world.release({"gati.yaml": settings, "users.yaml": handler(), "carts.yaml": handler("carts")})
    world.accept()
    cart, path = f"{EAST}/handler-carts", f"{EAST}/handler-carts/rollout.yaml"
    active = decide(world.tree(), moved(v1=("Active", 100)), cart)[path]
    world.by_hand(lambda place: (place / path).write_bytes(active))
    world.publish()
    world.accept()
    labelled = handler("carts", hosts=["carts.example"])
    done = world.release({"users.yaml": handler(version="v2"), "carts.yaml": labelled})
    assert [step.environment for step, _ in done.steps] == ["staging", "prod"]
    assert [pull.outcome for pull in done.pulls] == ["opened"]
    assert world.phases(f"{EAST}/handler-users")["v2"] == ("Pending", 0)
    assert world.verify().differences == ()
    again = world.publish()
    assert (again.steps, [pull.outcome for pull in again.pulls]) == ((), ["unchanged"])
    world.accept()
    assert world.verify().differences == ()
    last = world.publish()
    assert [pull.outcome for pull in last.pulls] == []


@pytest.mark.parametrize("by", ["namespace", "owner"])
def test_pull_requests_by_group_build_alone(world, by):
    settings = canary(TWO, pullRequests={"groupBy": by})
    world.release({"gati.yaml": settings, "users.yaml": handler()})
    branches = [b for b in world.branches() if b.startswith("gati/")]
    for branch in branches:
        world.accept(branch)
    world.publish()
    done = world.release(
        {
            "pay.yaml": handler("pay", namespace="bank"),
            "users.yaml": handler(version="v2"),
        }
    )
    outcomes = {pull.branch: pull.outcome for pull in done.pulls}
    if by == "owner":
        assert outcomes == {f"{BRANCH}/unowned": "opened"}
        return
    assert outcomes == {f"{BRANCH}/bank": "opened", f"{BRANCH}/shop": "opened"}
    bank = world.tree(f"{BRANCH}/bank")
    assert "overlays/prod/east/bank/handler-pay/unit.yaml" in bank
    assert b"v2" not in bank[f"{EAST}/handler-users/rollout.yaml"]
    shop = world.tree(f"{BRANCH}/shop")
    assert b"bank" not in shop["overlays/prod/east/kustomization.yaml"]
    world.accept(f"{BRANCH}/shop")
    world.publish()
    world.accept(f"{BRANCH}/bank")
    assert world.verify().differences == ()


def test_without_a_forge_nothing_is_written(tmp_path):
    world = World(tmp_path)
    world.merge({"gati.yaml": canary(TWO), "users.yaml": handler()})
    with pytest.raises(AssertionError, match="no pull request"):
        world.publish()
    assert git(world.output, "for-each-ref") == ""


def test_a_rollout_decided_meanwhile_is_in_the_next_pull_request(world):
    world.release({"gati.yaml": canary(TWO), "users.yaml": handler()})
    world.accept()
    world.release({"users.yaml": handler(version="v2")})
    world.accept()
    world.release({"users.yaml": handler(version="v2", env={"A": "1"})})
    head = world.tip(BRANCH)
    path = f"{EAST}/handler-users/rollout.yaml"

    def advance(place):
        tree = decide(
            world.tree(), moved(v1=("Active", 50), v2=("Canary", 50)), f"{EAST}/handler-users"
        )
        (place / path).write_bytes(tree[path])

    world.by_hand(advance)
    world.publish()
    assert world.tip(BRANCH) != head
    assert world.tree(BRANCH)[path].count(b"weight: 50") == 2


def test_publish_on_a_real_forge_from_the_command_line(gitea_server, tmp_path, monkeypatch, capsys):
    gitea = worlds.gitea(gitea_server)
    world = World(tmp_path)
    world.merge({"gati.yaml": canary(TWO), "users.yaml": handler()})
    repository = gitea.server.repository()
    url = f"{gitea.server.url}/{repository}.git"
    monkeypatch.setenv("GATI_GIT_TOKEN", gitea.server.tokens[BOT])
    monkeypatch.setenv("GATI_FORGE", "gitea")
    monkeypatch.setenv("GATI_FORGE_TOKEN", gitea.server.tokens[BOT])
    monkeypatch.setitem(os.environ, "NO_COLOR", "1")
    assert run(["publish", str(world.specs), "--repo", url]) == 0
    told = capsys.readouterr()
    assert "opened" in told.out
    assert gitea.server.tokens[BOT] not in told.out + told.err
    pull = gitea.server.pull(repository, 1)
    assert pull["head"]["ref"] == BRANCH
    assert run(["publish", str(world.specs), "--repo", url]) == 0
    assert "unchanged" in capsys.readouterr().out
    assert run(["verify", str(world.specs), "--repo", url, "--branch", BRANCH]) == 0


NEXT = "main-next/overlays/prod"


def noted(world, branch):
    note = git(world.output, "notes", "--ref=hydrator.metadata", "show", world.tip(branch))
    return json.loads(note)["drySha"]


def test_for_gitops_promoter_the_offer_is_a_branch(tmp_path):
    world = World(tmp_path)
    settings = canary(TWO, commits={"hydrator": True})
    commit = world.merge({"gati.yaml": settings, "users.yaml": handler()})
    done = world.publish()
    assert [(pull.branch, pull.outcome) for pull in done.pulls] == [(NEXT, "opened")]
    told = json.loads(world.tree()["overlays/dev/hydrator.metadata"])
    assert told["drySha"] == commit
    offered = world.tree(NEXT)
    assert json.loads(offered["overlays/prod/hydrator.metadata"])["drySha"] == commit
    for branch in ("main", NEXT):
        assert noted(world, branch) == commit
    head = world.tip(NEXT)
    assert [pull.outcome for pull in world.publish().pulls] == ["unchanged"]
    assert world.tip(NEXT) == head
    git(world.output, "update-ref", "refs/heads/main", head)
    assert world.verify().differences == ()


def test_the_promoter_hears_of_specs_that_change_nothing(tmp_path):
    world = World(tmp_path)
    settings = canary(TWO, commits={"hydrator": True})
    world.release({"gati.yaml": settings, "users.yaml": handler()})
    head = world.tip(NEXT)
    commit = world.merge({"README.md": "Words."})
    assert [pull.outcome for pull in world.publish().pulls] == ["unchanged"]
    assert (world.tip(NEXT), noted(world, NEXT)) == (head, commit)


def test_the_promoters_branch_is_of_one_environment_however_it_is_grouped(tmp_path):
    world = World(tmp_path)
    stage = {"clusters": {"stage": {}}, "modes": {"publish": "pull-request"}}
    settings = canary(
        {"dev": ["dev-1"], "stage": stage, "prod": PROD},
        commits={"hydrator": True},
        pullRequests={"groupBy": "namespace"},
    )
    files = {"users.yaml": handler(), "pay.yaml": handler("pay", namespace="bank")}
    done = world.release({"gati.yaml": settings, **files})
    assert {pull.branch for pull in done.pulls} == {NEXT, "main-next/overlays/stage"}
    offered = world.tree(NEXT)
    units = offered["overlays/prod/east/kustomization.yaml"].decode()
    assert "shop" in units and "bank" in units
    assert not any(path.startswith("overlays/stage/") for path in offered)
    # a publish to one environment leaves the others' branches
    head = world.tip(NEXT)
    done = world.release({"users.yaml": handler(version="v2")}, env="stage")
    assert [pull.branch for pull in done.pulls] == ["main-next/overlays/stage"]
    assert world.tip(NEXT) == head
