"""The stories that must come out right, each on a real repository.

Where a story needs the job's observations, what the job decides on them is given; the commit that
follows is made as the job makes it, from the stored plan. After each story the branch is verified,
and publishing once more changes nothing.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import yaml

from gati_gitops.errors import Refused
from gati_gitops.repo.commit import Draft
from gati_gitops.repo.writer import write
from tests.compile.kit import canary, handler, project, weights
from tests.publish.kit import AUTHOR, World, git
from tests.publish.test_approval import WithForge

UNIT = "overlays/prod/east/shop/handler-users"
STAGE = "overlays/staging/stage/shop/handler-users"
DEV = "overlays/dev/dev-1/shop/handler-users"
CARTS = "overlays/prod/east/shop/handler-carts"


def at_rest(world: World) -> None:
    """The branch is what specs and ledgers say, and nobody has anything to add."""
    assert world.verify().differences == ()
    swept = [step.message.partition("\n")[0] for step, _ in world.publish().steps]
    assert swept in ([], ["output: remove release folders that nobody names"])
    tip = world.tip()
    world.publish(whole=True)
    assert world.tip() == tip
    git(world.output, "fsck", "--strict")


def first(settings: str | None = None, **spec: object) -> dict[str, str]:
    return {"gati.yaml": settings or canary(), "users.yaml": handler(**spec)}


def test_version_and_image_edited_with_promotion_and_approval(tmp_path):
    world = WithForge(tmp_path)
    try:
        prod = {"clusters": {"east": {}}, "modes": {"rollout": "pull-request"}}
        environments = {
            "dev": {"clusters": {"dev-1": {}}, "rollout": {"strategy": "direct"}},
            "staging": ["stage"],
            "prod": prod,
        }
        settings = canary(environments, promotion={"prod": {"after": "staging", "dwell": "24h"}})
        world.release(first(settings))
        world.job(UNIT, v1=("Active", 100))
        world.release({"users.yaml": handler(version="v2")})
        assert world.phases(DEV) == {"v1": ("Active", 100), "v2": ("Starting", 0)}
        assert world.phases(STAGE) == {"v1": ("Active", 100), "v2": ("Starting", 0)}
        assert world.phases(UNIT) == {"v1": ("Active", 100), "v2": ("Pending", 0)}
        assert weights(world.tree(), STAGE) == {"handler-users-v1": 100, "handler-users-v2": 0}
        assert not world.server.pulls, "entering Pending needs no approval"
        for phase in (("Canary", 10), ("Canary", 50)):
            world.job(STAGE, v1=("Active", 100 - phase[1]), v2=phase)
            at_rest(world)
        world.job(STAGE, v1=("Draining", 0), v2=("Active", 100))
        at_rest(world)
        assert world.phases(UNIT) == {"v1": ("Active", 100), "v2": ("Pending", 0)}
    finally:
        world.server.close()


def test_the_same_under_manual_without_a_job(world):
    world.release(first(project()))
    world.release({"users.yaml": handler(version="v2", weight=100)})
    assert world.phases() == {"v1": ("Active", 100), "v2": ("Starting", 0)}
    assert weights(world.tree()) == {"handler-users-v1": 100, "handler-users-v2": 0}
    at_rest(world)  # publishing again moves nothing
    world.act("release", reason="seen ready")
    assert world.phases() == {"v1": ("Draining", 0), "v2": ("Active", 100)}
    assert weights(world.tree()) == {"handler-users-v1": 0, "handler-users-v2": 100}
    at_rest(world)


def test_merge_while_a_canary_is_at_50(world):
    world.release(first())
    world.release({"users.yaml": handler(version="v2")})
    world.job(v1=("Active", 50), v2=("Canary", 50))
    before = world.ledger()
    world.release({"carts.yaml": handler("carts"), "users.yaml": handler(version="v2", replicas=3)})
    assert world.phases() == {"v1": ("Active", 50), "v2": ("Canary", 50)}
    assert weights(world.tree()) == {"handler-users-v1": 50, "handler-users-v2": 50}
    assert world.ledger().seq >= before.seq
    at_rest(world)


def test_two_releases_before_the_first_finished(world):
    world.release(first())
    world.release({"users.yaml": handler(version="v2")})
    world.job(v1=("Active", 90), v2=("Canary", 10))
    world.release({"users.yaml": handler(version="v3")})
    assert world.phases() == {"v1": ("Active", 90), "v2": ("Canary", 10), "v3": ("Pending", 0)}
    world.release({"users.yaml": handler(version="v4")})
    assert world.phases() == {"v1": ("Active", 90), "v2": ("Canary", 10), "v4": ("Pending", 0)}
    at_rest(world)
    world.job(v1=("Draining", 0), v2=("Active", 100))
    world.publish()
    assert world.phases()["v4"] == ("Starting", 0)
    at_rest(world)


def test_an_env_var_changed_on_the_active_version(world):
    settings = canary(
        {"staging": ["stage"], "prod": ["east"]}, promotion={"prod": {"after": "staging"}}
    )
    world.release(first(settings))
    world.job(UNIT, v1=("Active", 100))
    old = world.ledger(STAGE).entries[0].digest
    world.release({"users.yaml": handler(env={"A": "1"})})
    entry = world.ledger(STAGE).entries[0]
    assert entry.phase == "Active"
    assert (entry.previous, entry.digest != old) == (old, True)
    assert set(world.phases(UNIT).values()) == {("Active", 100), ("Pending", 0)}
    at_rest(world)
    # one commit back
    world.act("rollback", environments=("staging",), reason="it does not start")
    assert world.ledger(STAGE).live("v1").digest == old
    assert world.verify().differences == ()


def test_rollback_by_hand_then_the_next_merge(world):
    world.release(first())
    world.release({"users.yaml": handler(version="v2")})
    world.job(v1=("Active", 90), v2=("Canary", 10))
    done = world.act("rollback", environments=("prod",), reason="errors at 10 %")
    assert len(done.steps) == 1
    assert "errors at 10 %" in done.steps[0][0].message
    assert world.phases() == {"v1": ("Active", 100), "v2": ("Rejected", 0)}
    at_rest(world)
    world.release({"carts.yaml": handler("carts")})
    assert world.phases() == {"v1": ("Active", 100), "v2": ("Rejected", 0)}
    world.release({"users.yaml": handler(version="v3")})
    assert world.phases()["v3"] == ("Starting", 0)
    assert world.phases()["v2"] == ("Rejected", 0)
    at_rest(world)


def test_a_person_reverts_a_canary_step(world):
    world.release(first())
    world.release({"users.yaml": handler(version="v2")})
    world.job(v1=("Active", 90), v2=("Canary", 10))
    world.job(v1=("Active", 50), v2=("Canary", 50))
    highest = world.ledger().seq
    world.revert()
    world.publish()
    assert world.phases() == {"v1": ("Active", 90), "v2": ("Canary", 10)}
    ledger = world.ledger()
    assert ledger.seq > highest
    assert "reverted by Ada" in ledger.hold
    at_rest(world)
    # the same when the next writer is another person's decision
    world.act("release", reason="looked at it")
    assert world.ledger().hold == ""
    assert world.phases() == {"v1": ("Active", 90), "v2": ("Canary", 10)}
    at_rest(world)


def test_reverting_a_rollback_undoes_nothing_else(world):
    world.release({**first(), "carts.yaml": handler("carts")})
    world.release({"users.yaml": handler(version="v2")})
    world.job(v1=("Active", 90), v2=("Canary", 10))
    back = world.act("rollback", environments=("prod",)).steps[0][1]
    world.release({"carts.yaml": handler("carts", version="v2")})
    world.revert(back)
    world.publish()
    assert world.phases() == {"v1": ("Active", 90), "v2": ("Canary", 10)}
    assert world.ledger().hold
    assert world.phases(CARTS)["v2"] == ("Starting", 0)
    assert not world.ledger(CARTS).hold
    at_rest(world)


def test_a_unit_deleted_from_the_specs(world):
    world.release({**first(), "carts.yaml": handler("carts")})
    world.release({"users.yaml": None})
    assert world.ledger().retiring
    assert world.phases() == {"v1": ("Active", 100)}
    assert weights(world.tree()) == {"handler-users-v1": 100}
    at_rest(world)
    world.job(v1=("Parked", 0))
    at_rest(world)
    world.act("retire", environments=("prod",), reason="nobody calls")
    assert not [path for path in world.tree() if path.startswith(UNIT)]
    world.publish(whole=True)
    assert not [path for path in world.tree() if path.startswith("base/shop/handler-users")]
    at_rest(world)


def test_mass_deletion_is_refused(world):
    world.release({"gati.yaml": canary(), **{f"u{n}.yaml": handler(f"u{n}") for n in range(12)}})
    tip = world.tip()
    world.merge({f"u{n}.yaml": None for n in range(8)})
    with pytest.raises(Refused) as refused:
        world.publish()
    assert "--allow-removals 8" in refused.value.remedy
    assert world.tip() == tip


def test_a_second_source_publishes(world, tmp_path):
    world.release(first(canary(source="shop")))
    before = world.tree()
    other = World(tmp_path, name="other")
    settings = canary(name="bank", source="bank")
    other.release({"gati.yaml": settings, "pay.yaml": handler("pay", namespace="bank")})
    after = world.tree()
    mine = {
        path: c for path, c in before.items() if "/handler-users/" in path or "sources/shop" in path
    }
    assert {path: after[path] for path in mine} == mine
    assert "overlays/prod/east/bank/handler-pay/unit.yaml" in after
    # it claims a unit of the first
    tip = world.tip()
    other.merge({"users.yaml": handler()})
    with pytest.raises(Refused) as refused:
        other.publish()
    assert "shop" in refused.value.message
    assert "bank" in refused.value.message
    assert world.tip() == tip
    # a spec of its own that vanishes retires only its own
    other.merge(
        {"users.yaml": None, "pay.yaml": None, "more.yaml": handler("more", namespace="bank")}
    )
    other.publish()
    assert world.ledger("overlays/prod/east/bank/handler-pay").retiring
    assert not world.ledger().retiring
    assert other.verify().differences == ()
    assert world.verify().differences == ()


def test_a_cluster_is_added_to_prod(world):
    world.release(first())
    world.release({"users.yaml": handler(version="v2")})
    world.job(v1=("Active", 90), v2=("Canary", 10))
    world.act("rollback", environments=("prod",))
    world.release({"gati.yaml": canary({"prod": ["east", "west"]})})
    west = UNIT.replace("east", "west")
    assert world.phases(west) == {"v1": ("Active", 100), "v2": ("Rejected", 0)}
    at_rest(world)


def test_the_compiler_is_upgraded(world, monkeypatch):
    world.release(first())
    world.release({"users.yaml": handler(version="v2")})
    world.job(v1=("Active", 90), v2=("Canary", 10))
    world.act("reject", version="v2", environments=("prod",))
    phases = world.phases()
    with monkeypatch.context() as newer:
        for module in (
            "compiler.compile", "compiler.write", "publish.incremental", "publish.prepare",
            "publish.message",
        ):  # fmt: skip
            newer.setattr(f"gati_gitops.{module}.__version__", "99.0.0")
        with pytest.raises(Refused, match=r"99\.0\.0"):
            world.publish()
        done = world.publish(upgrade=True)
        assert len(done.steps) == 1, "a commit of its own"
    assert world.phases() == phases, "nothing un-rejected"
    # the old one can't publish any more, but it can still decide
    with pytest.raises(Refused, match=r"99\.0\.0"):
        world.publish()
    world.act("hold")
    world.act("release")
    assert world.phases() == phases


def test_reconcile_and_publish_race(world):
    """The job's commit lands between what publish read and its push; both are there once."""
    world.release(first())
    world.release({"users.yaml": handler(version="v2")})
    world.merge({"carts.yaml": handler("carts")})
    raced = []

    from gati_gitops.publish import run as running

    original = running.prepared_on

    def overtaken(request, repository, tip):
        found = original(request, repository, tip)
        if not raced:
            raced.append(world.job(v1=("Active", 90), v2=("Canary", 10)))
        return found

    running.prepared_on = overtaken
    try:
        done = world.publish()
    finally:
        running.prepared_on = original
    assert done.attempts == 2
    assert world.phases() == {"v1": ("Active", 90), "v2": ("Canary", 10)}
    assert f"{CARTS}/unit.yaml" in world.tree()
    assert world.log("%s").count("prod: add shop/carts v1") == 1
    assert world.log("%s").count("prod: a step") == 1
    at_rest(world)


def test_hold_then_a_merge_with_a_new_version(world):
    world.release(first())
    world.act("hold", reason="release freeze")
    held = {path: c for path, c in world.tree().items() if path.startswith(UNIT)}
    world.release({"users.yaml": handler(version="v2", env={"A": "1"})})
    after = {path: c for path, c in world.tree().items() if path.startswith(UNIT)}
    state = {f"{UNIT}/unit.yaml", f"{UNIT}/rollout.yaml"}
    assert {p: c for p, c in after.items() if p not in state} == {
        p: c for p, c in held.items() if p not in state
    }
    assert world.phases() == {"v1": ("Active", 100), "v2": ("Pending", 0)}
    at_rest(world)
    world.act("release", reason="freeze is over")
    assert world.phases() == {"v1": ("Active", 100), "v2": ("Starting", 0)}
    at_rest(world)


def test_a_rejected_id_its_fix_and_the_old_id_with_a_changed_env(world):
    world.release(first())
    world.release({"users.yaml": handler(version="v2")})
    world.act("reject", version="v2", reason="leaks memory")
    world.release({"users.yaml": handler(version="v3")})
    assert world.phases()["v3"] == ("Starting", 0)
    world.job(v1=("Draining", 0), v3=("Active", 100))
    world.release({"users.yaml": handler(version="v2", env={"FIX": "1"})})
    assert world.phases()["v2"] == ("Starting", 0), "startable again, as the target"
    assert world.phases()["v3"] == ("Active", 100)
    at_rest(world)


def test_first_publish_with_90_10_under_canary(world):
    other = {
        "apiVersion": "gati.dev/v1alpha1",
        "kind": "GatiVersion",
        "metadata": {"name": "users-v2", "namespace": "shop"},
        "spec": {
            "versionId": "v2", "breaking": False, "routingWeight": 10, "handler": "users",
            "image": "ghcr.io/acme/users:v2",
        },
    }  # fmt: skip
    world.release({**first(weight=90), "v2.yaml": json.dumps(other)})
    assert world.phases() == {"v1": ("Active", 90), "v2": ("Canary", 10)}
    assert weights(world.tree()) == {"handler-users-v1": 90, "handler-users-v2": 10}
    at_rest(world)


def test_devs_commits_while_the_pull_request_of_prod_is_open_for_a_week(tmp_path):
    world = WithForge(tmp_path)
    try:
        prod = {"clusters": {"east": {}}, "modes": {"publish": "pull-request"}}
        world.release(
            {**first(canary({"dev": ["dev-1"], "prod": prod})), "carts.yaml": handler("carts")}
        )
        world.accept()
        world.release({"users.yaml": handler(version="v2")})
        folders = {f"{UNIT}/kustomization.yaml", f"{CARTS}/kustomization.yaml"}
        before = built(world, folders)
        for day in range(7):
            world.clock += 24 * 3600
            world.release({"carts.yaml": handler("carts", env={"DAY": str(day)})})
            assert built(world, folders) == before
        world.accept()
        assert world.phases()["v2"] == ("Starting", 0)
        assert world.verify().differences == ()
    finally:
        world.server.close()


def built(world: World, kustomizations: set[str]) -> list[bytes]:
    """What prod's folders build to, on the branch."""
    from gati_gitops.render import MemoryFiles, render

    files = MemoryFiles(world.tree())
    return [render(files, path.rpartition("/")[0]).to_yaml() for path in sorted(kustomizations)]


def test_people_may_write_into_ledgers(world):
    world.release(first())

    def edit(place):
        file = place / UNIT / "rollout.yaml"
        ledger = yaml.safe_load(file.read_text())
        text = file.read_text().replace(
            "format: 1\n", "format: 1\nhold: black friday  # until Monday\n"
        )
        assert "hold" not in ledger
        file.write_text(text)

    world.by_hand(edit)
    world.release({"users.yaml": handler(version="v2")})
    text = world.tree()[f"{UNIT}/rollout.yaml"].decode()
    assert "# until Monday" in text
    assert world.phases() == {"v1": ("Active", 100), "v2": ("Pending", 0)}
    at_rest(world)


def test_the_writer_of_a_story_is_the_one_writer(world):
    """A commit of somebody else between read and push is never overwritten."""
    world.release(first())
    with world.open() as repository:
        seen = []

        def propose(tip):
            seen.append(tip.commit)
            if len(seen) == 1:
                world.by_hand(lambda place: (place / "NOTES.md").write_text("mine"))
            return [Draft({"overlays/prod/x.yaml": b"# Generated by gati-gitops from x\n"}, "x\n")]

        write(repository, propose, author=AUTHOR, clock=lambda: world.clock)
    assert len(seen) == 2
    assert "NOTES.md" in world.tree()


def test_numbers_never_fall(world):
    """Whatever happens to a ledger, its number only rises."""
    world.release(first())
    seen = [world.ledger().seq]
    for change in (
        lambda: world.release({"users.yaml": handler(version="v2")}),
        lambda: world.job(v1=("Active", 90), v2=("Canary", 10)),
        lambda: world.act("hold"),
        lambda: (world.revert(), world.publish()),
        lambda: world.act("release"),
        lambda: world.act("rollback", environments=("prod",)),
        lambda: (world.revert(), world.publish()),
    ):
        change()
        seen.append(world.ledger().seq)
        assert seen == sorted(seen)
        assert replace(world.ledger(), seq=0) is not None
