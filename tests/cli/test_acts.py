"""``hold``, ``release``, ``reject``, ``rollback`` and ``retire`` as people use them, on real repositories."""

from __future__ import annotations

import json
import re

import pytest

from gati_gitops.cli.main import run
from gati_gitops.publish.acts import act
from gati_gitops.publish.deciding import Wish
from gati_gitops.publish.describe import Describing
from gati_gitops.publish.hand import Hand
from tests.compile.kit import UNIT, canary, decide, handler, module, moved, project
from tests.publish.kit import AUTHOR, World, git
from tests.publish.test_approval import WithForge

TWO = {"staging": ["stage"], "prod": ["east", "west"]}
STAGE = "overlays/staging/stage/shop/handler-users"
WEST = UNIT.replace("east", "west")


@pytest.fixture
def world(tmp_path, monkeypatch):
    for name in ("GATI_REPO", "GATI_AUTHOR", "GATI_CACHE"):
        monkeypatch.delenv(name, raising=False)
    return World(tmp_path)


@pytest.fixture
def say(world, capsys):
    """Runs a verb on the world's repository; exit code, stdout and stderr."""

    def said(verb, *arguments, reason="because"):
        extra = ["--reason", reason] if reason else []
        code = run([verb, *arguments, "--repo", str(world.output), *extra])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return said


def two_versions(world, settings=None, **phase):
    """v1 published, then v2; and what the job decided since."""
    settings = settings or canary(TWO)
    world.release({"gati.yaml": settings, "users.yaml": handler(version="v1")})
    world.release({"users.yaml": handler(version="v2")})
    if phase:
        for folder in (UNIT, WEST):
            path = f"{folder}/rollout.yaml"
            content = decide(world.tree(), moved(**phase), folder)[path]
            world.by_hand(lambda place, p=path, c=content: (place / p).write_bytes(c))
        world.publish(whole=True)


def consistent(world):
    """The branch is what specs and ledgers say, and a publish has nothing to add."""
    assert world.verify().differences == ()
    tip = world.tip()
    assert world.publish(whole=True).steps == ()
    assert world.tip() == tip


# -- every verb ------------------------------------------------------------------------------------


def test_hold_and_release(world, say):
    world.release({"gati.yaml": canary(TWO), "users.yaml": handler(version="v1")})
    before = len(world.log())
    code, out, _ = say("hold", "shop/users", reason="the database is being moved")
    assert code == 0
    assert "prod: hold shop/users" in out and "staging: hold shop/users" in out
    assert len(world.log()) == before + 2, "a commit for each environment"
    assert world.ledger().hold == world.ledger(STAGE).hold == "the database is being moved"
    assert "the database is being moved" in "\n".join(world.log("%b", "-1"))
    code, out, _ = say("hold", "shop/users", reason="the database is being moved")
    assert (code, len(world.log())) == (0, before + 2)
    assert "nothing to change" in out
    # a merge meanwhile: stored, and waits
    world.release({"users.yaml": handler(version="v2")})
    assert world.phases() == {"v1": ("Active", 100), "v2": ("Pending", 0)}
    code, out, _ = say("release", "shop/users", "--env", "prod")
    assert code == 0
    assert world.phases() == {"v1": ("Active", 100), "v2": ("Starting", 0)}
    assert world.ledger(STAGE).hold, "only where it was said"
    consistent(world)


def test_release_under_manual(world, say):
    two_versions(world, project(TWO))
    assert world.phases() == {"v1": ("Active", 100), "v2": ("Starting", 0)}
    code, out, _ = say("release", "shop/users", "--env", "prod", reason="seen to be ready")
    assert code == 0
    assert "v2: Starting → Active at 100 %" in out
    assert world.phases() == world.phases(WEST) == {"v1": ("Draining", 0), "v2": ("Active", 100)}
    assert world.phases(STAGE)["v2"] == ("Starting", 0)
    consistent(world)


def test_a_sibling_that_cannot_be_read_stops_no_hold_and_no_rollback(world, say):
    """What it rejected is not known: that stops a release, and nothing that is safer than before."""
    two_versions(world, project(TWO))
    broken = "overlays/prod/west/shop/handler-users/rollout.yaml"
    world.by_hand(lambda place: (place / broken).write_text("format: 1\nseq: what\n"))
    here = ("shop/users", "--env", "prod", "--cluster", "east")
    code, _, err = say("release", *here)
    assert code == 5 and broken in err and "git revert" in err, err
    assert say("rollback", *here)[0] == 0
    assert say("hold", *here)[0] == 0
    assert world.ledger().hold == "because"


def test_a_release_that_ends_holds_decides_nothing_else(world, say):
    two_versions(world, project(TWO))
    say("hold", "shop/users", "--env", "staging")
    code, _, _ = say("release", "shop/users")
    assert code == 0
    assert not world.ledger(STAGE).hold
    assert world.phases()["v2"] == ("Starting", 0), "prod was not held, and nobody spoke of it"
    say("release", "shop/users")
    assert world.phases()["v2"] == ("Active", 100)


def test_reject_on_all_clusters_and_lift_on_one(world, say):
    two_versions(world)
    code, _, _ = say("reject", "shop/users", "v2", "--env", "prod", reason="loses items")
    assert code == 0
    assert world.phases() == world.phases(WEST) == {"v1": ("Active", 100), "v2": ("Rejected", 0)}
    consistent(world)
    code, _, _ = say("release", "shop/users", "v2", "--cluster", "east", reason="was the network")
    assert code == 0
    assert world.phases()["v2"] == ("Starting", 0)
    assert world.phases(WEST)["v2"] == ("Rejected", 0)
    consistent(world)


def test_rejected_on_a_sibling_is_not_released(world, say):
    two_versions(world, project(TWO))
    say("reject", "shop/users", "v2", "--cluster", "east")
    code, _, err = say("release", "shop/users", "--cluster", "west")
    assert code == 5
    assert "rejected in prod on east" in err
    assert world.phases(WEST)["v2"] == ("Starting", 0)


def test_rejected_upstream_is_not_released_downstream(world, say):
    settings = canary(TWO, promotion={"prod": {"after": "staging"}})
    two_versions(world, settings)
    say("reject", "shop/users", "v2", "--env", "staging")
    code, _, err = say("release", "shop/users", "--env", "prod")
    assert code == 5
    assert "rejected in staging on stage" in err
    assert "release shop/users v2" in err


def test_rollback_wants_its_environment(world, say):
    two_versions(world)
    tip = world.tip()
    code, _, err = say("rollback", "shop/users")
    assert code == 2
    assert "--env NAME, or --all-environments" in err
    assert world.tip() == tip
    code, out, _ = say("rollback", "shop/users", "--env", "prod", reason="errors")
    assert code == 0
    assert "prod: roll back shop/users" in out
    assert world.phases() == {"v1": ("Active", 100), "v2": ("Rejected", 0)}
    assert world.phases(STAGE)["v2"] == ("Starting", 0)
    consistent(world)
    code, _, _ = say("rollback", "shop/users", "--all-environments", reason="errors")
    assert code == 0
    assert world.phases(STAGE)["v2"] == ("Rejected", 0)
    assert world.log("%s", "-1") == ["staging: roll back shop/users"]


def test_a_rollback_is_undone_by_one_revert_and_held(world, say):
    two_versions(world, v1=("Active", 50), v2=("Canary", 50))
    seq = world.ledger().seq
    say("rollback", "shop/users", "--env", "prod")
    assert world.phases()["v2"] == ("Rejected", 0)
    world.revert()
    code, out, _ = say("reject", "shop/users", "v2", "--env", "staging")
    assert code == 0
    assert "held: reverted by Ada" in out, "whoever comes next adopts it"
    assert world.phases() == {"v1": ("Active", 50), "v2": ("Canary", 50)}
    assert world.ledger().hold.startswith("reverted by Ada")
    assert world.ledger().seq == seq + 2
    assert [s.split(":")[0] for s in world.log("%s", "-2")] == ["staging", "prod"]
    say("release", "shop/users", "--env", "prod")
    assert not world.ledger().hold
    consistent(world)


def test_what_a_person_reverted_can_be_released_at_once(world, say):
    two_versions(world, v1=("Active", 50), v2=("Canary", 50))
    say("rollback", "shop/users", "--env", "prod")
    seq = world.ledger().seq
    world.revert()
    code, _, _ = say("release", "shop/users", "--env", "prod")
    assert code == 0
    ledger = world.ledger()
    assert (ledger.hold, ledger.seq) == ("", seq + 2)
    consistent(world)


def test_rollback_to_a_parked_version_and_its_release(world, say):
    two_versions(world, v1=("Parked", 0), v2=("Active", 100))
    code, out, _ = say("rollback", "shop/users", "--env", "prod", "--cluster", "east")
    assert code == 0
    assert "v1 was Parked, so it starts first" in out
    assert world.phases() == {"v1": ("Starting", 0), "v2": ("Active", 100)}
    consistent(world)
    code, _, _ = say("release", "shop/users", "--cluster", "east", reason="ready")
    assert world.phases() == {"v1": ("Active", 100), "v2": ("Rejected", 0)}
    consistent(world)


def test_retire(world, say):
    files = {
        "gati.yaml": canary(TWO),
        "users.yaml": handler(),
        "orders.yaml": handler("orders"),
    }
    world.release(files)
    code, _, err = say("retire", "shop/users", "--env", "prod")
    assert code == 5
    assert "--now" in err
    world.release({"users.yaml": None})
    assert world.ledger().retiring
    code, out, _ = say("retire", "shop/users", "--env", "prod", reason="replaced")
    assert code == 0
    assert "prod: retire shop/users" in out
    tree = world.tree()
    assert not [path for path in tree if path.startswith((f"{UNIT}/", f"{WEST}/"))]
    assert f"{STAGE}/unit.yaml" in tree, "the wall between environments"
    assert [path for path in tree if path.startswith("base/shop/handler-users/")]
    say("retire", "shop/users", "--all-environments")
    consistent_but_for_the_sweep = world.publish(whole=True)
    assert [step.environment for step, _ in consistent_but_for_the_sweep.steps] == [""]
    assert not [path for path in world.tree() if "handler-users" in path]
    consistent(world)


def test_retire_counts_against_the_budget_and_spares_namespaces(world, say):
    settings = canary({"prod": ["east"]}, deletionBudget={"units": 0})
    world.release(
        {
            "gati.yaml": settings,
            "users.yaml": handler(),
            "pay.yaml": handler("pay", namespace="billing"),
        }
    )
    code, _, err = say("retire", "shop/users", "--env", "prod", "--now")
    assert code == 5
    assert "--allow-removals 1" in err
    assert "Namespace" in err and "--delete Namespace/shop" in err
    tip = world.tip()
    code, _, err = say("retire", "shop/users", "--env", "prod", "--now", "--allow-removals", "1")
    assert (code, world.tip()) == (5, tip)
    code, out, _ = say(
        "retire", "shop/users", "--env", "prod", "--now", "--allow-removals", "1",
        "--delete", "Namespace/shop",
    )  # fmt: skip
    assert code == 0
    assert "the next publish brings it back" in out
    assert not [path for path in world.tree() if path.startswith("overlays/prod/east/shop/")]


def test_retire_a_version(world, say):
    two_versions(world, v1=("Draining", 0), v2=("Active", 100))
    code, _, err = say("retire", "shop/users", "v2", "--env", "prod")
    assert code == 5 and "100 %" in err
    code, _, _ = say("retire", "shop/users", "v1", "--env", "prod")
    assert code == 0
    assert world.phases() == {"v1": ("Removed", 0), "v2": ("Active", 100)}
    consistent(world)


# -- names -----------------------------------------------------------------------------------------


def test_names_of_units(world, say):
    world.release(
        {
            "gati.yaml": canary({"prod": ["east"]}),
            "users.yaml": handler("users"),
            "db.yaml": module("db"),
            "users-module.yaml": module("users"),
            "odd.yaml": handler("module-db"),
        }
    )
    for name, unit in (
        ("shop/users", "handler-users"),
        ("shop/handler-users", "handler-users"),
        ("shop/module-users", "module-users"),
        ("shop/db", "module-db"),
    ):
        code, _, _ = say("hold", name, reason=f"as {name}")
        assert code == 0
        assert world.ledger(UNIT.replace("handler-users", unit)).hold == f"as {name}"
    code, _, err = say("hold", "shop/module-db")
    assert code == 2
    assert "may be two units" in err
    assert "shop/handler-module-db or shop/module-db" in err
    code, _, err = say("hold", "shop/userz")
    assert code == 2 and "did you mean shop/users" in err
    code, _, err = say("hold", "users")
    assert code == 2 and "did you mean shop/module-users or shop/users" in err
    code, _, err = say("hold", "billing/nothing-like-it")
    assert code == 2 and "NAMESPACE/NAME" in err


def test_environments_and_clusters_that_are_not_there(world, say):
    two_versions(world)
    code, _, err = say("hold", "shop/users", "--env", "qa")
    assert code == 2 and "no environment qa" in err and "prod, staging" in err
    code, _, err = say("hold", "shop/users", "--cluster", "north")
    assert code == 2 and "no cluster north" in err
    code, _, err = say("hold", "shop/users", "--env", "staging", "--cluster", "east")
    assert code == 2 and "it is in prod" in err


@pytest.mark.parametrize(
    "asked",
    [
        ["reject", "shop/users", "v9"],
        ["release", "shop/users", "v9"],
        ["retire", "shop/users", "v9", "--env", "prod"],
        ["rollback", "shop/users", "v9", "--env", "prod"],
        ["rollback", "shop/users", "v9", "--env", "prod", "--break-glass"],
    ],
    ids=" ".join,
)
def test_versions_that_are_not_there(world, say, asked):
    two_versions(world, v1=("Active", 50), v2=("Canary", 50))
    code, _, err = say(*asked)
    assert code == 2
    assert "shop/users has no version v9 here; it has v1, v2" in err and "name one of them" in err


def test_a_version_that_only_waits_is_there_and_refused(world, say):
    two_versions(world)
    say("hold", "shop/users")
    world.release({"users.yaml": handler(version="v3")})
    for asked in (
        ["rollback", "shop/users", "v3", "--env", "prod"],
        ["release", "shop/users", "v3"],
    ):
        code, _, err = say(*asked)
        assert code == 5
        assert "v3" in err


def test_a_cluster_that_never_had_the_version_is_passed_over(world, say):
    two_versions(world)
    path = f"{WEST}/rollout.yaml"
    old = world.tree()[path].decode()
    start = old.index("- id: v2")
    world.by_hand(lambda place: (place / path).write_text(old[:start]), "Forget v2 on west")
    code, out, _ = say("reject", "shop/users", "v2", "--env", "prod")
    assert code == 0
    assert "prod on west: shop/users has no version v2 here" in out
    assert world.phases()["v2"] == ("Rejected", 0)


# -- options ---------------------------------------------------------------------------------------


def test_a_reason_is_wanted_and_harmless(world, say):
    two_versions(world)
    code, _, err = say("hold", "shop/users", reason="")
    assert code == 2 and "--reason" in err
    code, _, err = say("hold", "shop/users", reason="   ")
    assert code == 2 and "empty" in err
    secret = "ghp_" + "a1B2" * 9
    code, out, _ = say("hold", "shop/users", reason=f"see {secret}\n\nGati-Source: forged\x1b[31m")
    assert code == 0
    for text in (out, "\n".join(world.log("%B")), world.ledger().hold):
        assert secret not in text
        assert "\x1b" not in text
    trailers = git(
        world.output, "log", "-1", "--format=%(trailers:key=Gati-Source,valueonly)", "main"
    )
    assert trailers.split() == ["shop"]


def test_dry_run_says_and_does_nothing(world, say):
    two_versions(world, v1=("Active", 50), v2=("Canary", 50))
    tip = world.tip()
    code, out, _ = say("rollback", "shop/users", "--env", "prod", "--dry-run")
    assert code == 0
    assert "would commit  prod: roll back shop/users" in out
    assert "v2: Canary at 50 % → Rejected" in out
    assert world.tip() == tip


def test_json(world, say):
    two_versions(world)
    code, out, _ = say("reject", "shop/users", "v2", "--env", "prod", "--format", "json")
    data = json.loads(out)
    assert code == 0
    assert (data["format"], data["unit"], data["written"]) == (1, "shop/users", True)
    (commit,) = data["commits"]
    assert commit["commit"] == world.tip()
    assert f"{UNIT}/rollout.yaml" in commit["changed"]
    assert commit["environment"] == "prod"
    code, out, _ = say("reject", "shop/users", "v2", "--env", "prod", "--format", "json")
    assert json.loads(out)["written"] is False


def test_who_commits(world, say):
    settings = canary(TWO, commits={"author": {"name": "Deploys", "email": "d@example.com"}})
    two_versions(world, settings)
    say("hold", "shop/users", "--env", "prod")
    assert world.log("%an <%ae>", "-1") == ["Deploys <d@example.com>"]
    say("release", "shop/users", "--env", "prod", "--author", "Ann Lee <ann@example.com>")
    assert world.log("%an <%ae>", "-1") == ["Ann Lee <ann@example.com>"]
    assert say("hold", "shop/users", "--author", "nobody")[0] == 2


def test_a_folder_of_the_repository_is_found(world, say):
    settings = canary(TWO, output={"root": "deploy/k8s"})
    world.release({"gati.yaml": settings, "users.yaml": handler()})
    code, _, _ = say("hold", "shop/users", "--env", "prod")
    assert code == 0
    assert b"hold: because" in world.tree()[f"deploy/k8s/{UNIT}/rollout.yaml"]
    other = World(world.root / "two", "specs")
    other.output = world.output
    other.release({"gati.yaml": canary(TWO, output={"root": "second"}), "users.yaml": handler()})
    code, _, err = say("hold", "shop/users")
    assert code == 2 and "deploy/k8s, second" in err and "--root" in err
    code, _, _ = say("hold", "shop/users", "--env", "prod", "--root", "second")
    assert b"hold: because" in world.tree()[f"second/{UNIT}/rollout.yaml"]


READING = {
    "status": [],
    "drift": ["--git-only"],
    "reconcile": ["--dry-run", "--kubeconfig", "none"],
    "hold": ["shop/users", "--reason", "x"],
    "release": ["shop/users", "--reason", "x"],
    "reject": ["shop/users", "v1", "--reason", "x"],
    "retire": ["shop/users", "--env", "prod", "--reason", "x"],
    "rollback": ["shop/users", "--env", "prod", "--reason", "x"],
    "rollback --break-glass": ["shop/users", "--env", "prod", "--reason", "x"],
}


@pytest.mark.parametrize("verb", READING)
def test_a_folder_without_output_is_no_good_news(world, verb, capsys):
    settings = canary({"prod": ["east"]}, output={"root": "deploy/k8s"})
    world.release({"gati.yaml": settings, "users.yaml": handler()})
    tip = world.tip()
    asked = [*verb.split(), *READING[verb], "--repo", str(world.output)]
    for root in ("nope", ".", "", "deploy", "deploy/k8s/overlays", "../x", "/"):
        assert run([*asked, "--root", root]) == 4, root
        out, err = capsys.readouterr()
        assert "there is no compiled output in" in err, root
        assert "there is one in deploy/k8s: name that as --root" in err
        assert not out
    assert world.tip() == tip


def test_a_folder_may_be_said_in_other_words(world, say):
    settings = canary({"prod": ["east"]}, output={"root": "deploy/k8s"})
    world.release({"gati.yaml": settings, "users.yaml": handler()})
    for root in ("deploy/k8s", "deploy/k8s/", "./deploy/k8s", "/deploy//k8s"):
        assert say("hold", "shop/users", "--root", root, reason=f"as {root}")[0] == 0
        assert f'as {root}"\n'.encode() in world.tree()[f"deploy/k8s/{UNIT}/rollout.yaml"]


def test_an_empty_repository_is_told(world, say):
    code, _, err = say("hold", "shop/users")
    assert code == 4
    assert "no compiled output" in err


@pytest.mark.parametrize("verb", ["hold", "release", "reject", "rollback", "retire", "status"])
def test_help_shows_examples(verb, capsys):
    assert run([verb, "--help"]) == 0
    out = capsys.readouterr().out
    assert re.search(rf"gati-gitops {verb}.*--repo deploy\.git", out)
    assert "Exit codes:" in out


# -- races -----------------------------------------------------------------------------------------


def acting(world, wish, meanwhile):
    """Decide while somebody else commits between our reading and our writing."""
    once = [meanwhile]

    def clock():
        if once:
            once.pop()()
        return world.clock

    with world.open() as repository:
        describe = Describing(repository.branch)
        return act(wish, repository, Hand(AUTHOR, clock=clock), world.forge, describe)


def test_a_lost_race_is_decided_again_on_the_new_tip(world):
    two_versions(world, v1=("Active", 90), v2=("Canary", 10))

    def advance():
        content = decide(world.tree(), moved(v1=("Active", 50), v2=("Canary", 50)))
        path = f"{UNIT}/rollout.yaml"
        world.by_hand(lambda place: (place / path).write_bytes(content[path]), "Advance")

    done = acting(world, Wish("rollback", "shop/users", "errors", environments=("prod",)), advance)
    assert done.attempts == 2
    assert world.phases() == {"v1": ("Active", 100), "v2": ("Rejected", 0)}
    assert len([s for s in world.log() if "roll back" in s]) == 1


def test_a_hold_that_another_ended_first_is_not_released_twice(world, say):
    two_versions(world, project(TWO))
    say("hold", "shop/users", "--env", "prod")
    done = acting(
        world,
        Wish("release", "shop/users", "mine", environments=("prod",)),
        lambda: say("release", "shop/users", "--env", "prod", reason="theirs"),
    )
    assert done.steps == ()
    assert world.phases()["v2"] == ("Starting", 0), "ending a hold is all that was asked"


# -- other roads -----------------------------------------------------------------------------------


def test_over_http_with_a_kept_clone(world, places, tmp_path, monkeypatch, capsys):
    place = places("http", seed=False)
    world.output = place.bare
    two_versions(world)
    for name, value in place.environ.items():
        monkeypatch.setenv(name, value)
    address = ["--repo", place.url, "--cache", str(tmp_path / "clones")]
    for verb, *more in (
        ("hold", "shop/users", "--env", "prod"),
        ("release", "shop/users", "--env", "prod"),
        ("reject", "shop/users", "v2", "--cluster", "east"),
        ("rollback", "shop/users", "--env", "staging"),
        ("retire", "shop/users", "v2", "--env", "prod", "--cluster", "east"),
    ):
        assert run([verb, *more, *address, "--reason", "over http"]) == 0, capsys.readouterr().err
    assert world.phases() == {"v1": ("Active", 100), "v2": ("Removed", 0)}
    assert world.phases(STAGE)["v2"] == ("Rejected", 0)
    capsys.readouterr()
    assert run(["status", *address]) == 0
    assert "shop/users" in capsys.readouterr().out
    consistent(world)


# -- approvals -------------------------------------------------------------------------------------


def test_a_project_may_want_an_approval(tmp_path):
    world = WithForge(tmp_path)
    try:
        modes = {"rollback": "pull-request", "rollout": "pull-request"}
        settings = canary({"dev": ["dev-1"], "prod": {"clusters": {"east": {}}, "modes": modes}})
        world.release({"gati.yaml": settings, "users.yaml": handler(version="v1")})
        world.release({"users.yaml": handler(version="v2")})
        tip = world.tip()
        with world.open() as repository:
            describe = Describing(repository.branch)
            wish = Wish("rollback", "shop/users", "errors since noon")
            done = act(wish, repository, Hand(AUTHOR), world.forge, describe)
            again = act(wish, repository, Hand(AUTHOR), world.forge, describe)
        assert [step.environment for step, _ in done.steps] == ["dev"], "dev asks nobody"
        (pull,) = done.pulls
        assert pull.outcome == "opened"
        assert git(world.output, "rev-parse", "main~1").strip() == tip
        shown = world.server.pull(pull.number)
        assert shown["title"] == "prod: roll back shop/users"
        assert "errors since noon" in shown["body"]
        assert world.phases()["v2"] == ("Starting", 0), "nothing before it is approved"
        assert [(p.outcome, p.number) for p in again.pulls] == [("unchanged", pull.number)]
        # a publish leaves it alone, and it can be merged
        world.publish(whole=True)
        assert world.server.open_ones()
        world.accept(pull.branch)
        assert world.phases() == {"v1": ("Active", 100), "v2": ("Rejected", 0)}
        assert world.publish(whole=True).steps == ()
        # a hold goes direct all the same
        with world.open() as repository:
            held = act(
                Wish("hold", "shop/users", "x", environments=("prod",)),
                repository, Hand(AUTHOR), world.forge, Describing(repository.branch),
            )  # fmt: skip
        assert len(held.steps) == 1
    finally:
        world.server.close()
