"""What a pass writes: which commits, what is in them, and what it never does.

Decisions are given here; the commits are real, on real repositories.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import yaml

from gati_gitops.decide.clocks import UnitClock
from gati_gitops.decide.verdict import Decision, Fact, Finding, Move, Verdict
from gati_gitops.publish.run import undone_on
from gati_gitops.reconcile import judging
from gati_gitops.reconcile.evidence import NOTES, Judged
from gati_gitops.reconcile.fence import Fence, LostFence
from gati_gitops.reconcile.places import Narrowing, scene_on
from tests.compile.kit import canary, handler, project, weights
from tests.publish.kit import git
from tests.publish.test_stories import at_rest
from tests.reconcile.town import Town

USERS, CARTS = ("shop", "handler-users"), ("shop", "handler-carts")
FENCE = "overlays/prod/job.yaml"


def decided(verdict: str, id: str = "v2", env="prod", cluster="east", key=USERS, **more) -> Judged:
    move = Move(Verdict(verdict), id, more.pop("digest", ""), **more)
    fact = Fact("requests", "412", ">= 300", ok=True, source="prometheus")
    finding = Finding(id, Verdict(verdict), "all is well", (fact,))
    decision = Decision(Verdict(verdict), f"{id} did well", (finding,), move=move)
    return Judged((env, cluster, key), decision, UnitClock())


class Deciding(Town):
    """A town whose job decides what the test says."""

    def decide(self, *ones: Judged, fence: Fence | None = None, **options):
        with self.open() as repository:
            judged = [self._with_digest(repository, one) for one in ones]
            original = judging.Judging.all
            judging.Judging.all = lambda *_: tuple(judged)
            try:
                return self.look(fence=fence or self.fence, **options)
            finally:
                judging.Judging.all = original

    def _with_digest(self, repository, one: Judged) -> Judged:
        tip = repository.tip()
        scene = scene_on(tip, Narrowing(), lambda root: undone_on(repository, tip, root))
        stored = scene.units[one.where[:2]].get(one.where[2])
        move = one.decision.move
        if stored is None or move is None or move.digest or stored.ledger is None:
            return replace(one, stored=stored)
        found = [e.digest for e in stored.ledger.entries if e.id == move.version]
        made = replace(move, digest=found[0]) if found else move
        return replace(one, stored=stored, decision=replace(one.decision, move=made))


@pytest.fixture
def world(tmp_path):
    town = Deciding(tmp_path)
    yield town
    town.close()


def two_versions(world, settings=None, units=("users",), **spec):
    world.release(
        {"gati.yaml": settings or canary(), **{f"{u}.yaml": handler(u, **spec) for u in units}}
    )
    world.release({f"{u}.yaml": handler(u, version="v2", **spec) for u in units})


def evidence(world, commit="main"):
    return json.loads(git(world.output, "notes", f"--ref={NOTES}", "show", commit))


# -- one commit ------------------------------------------------------------------------------------


def test_a_step_is_one_commit_with_its_evidence(world):
    two_versions(world)
    before = world.tip()
    done = world.decide(decided("advance", weight=10))
    assert world.log("%s")[0] == "prod: shift shop/users v2 to 10 %"
    assert git(world.output, "rev-parse", "main^").strip() == before
    assert [commit for *_, commit in done.steps] == [world.tip()]
    assert weights(world.tree()) == {"handler-users-v1": 90, "handler-users-v2": 10}
    body = "\n".join(world.log("%b", "-1"))
    assert "v2 did well" in body
    assert "Gati-Evidence: shift shop/users v2 to 10 % on east: v2 did well" in body
    (told,) = evidence(world)["decisions"]
    assert (told["unit"], told["verdict"], told["seq"]) == ("shop/users", "advance", 2)
    assert told["versions"][0]["facts"] == [
        {"name": "requests", "value": "412", "wanted": ">= 300", "ok": True, "source": "prometheus"}
    ]
    at_rest(world)


def test_the_fence_comes_with_the_first_decision_and_never_alone(world):
    two_versions(world)
    assert FENCE not in world.tree()
    tip = world.tip()
    world.decide()
    assert world.tip() == tip, "nothing decided, nothing written"
    world.decide(decided("advance", weight=10))
    said = yaml.safe_load(world.tree()[FENCE])
    term = {"owner": "town", "term": 1, "holder": "first"}
    assert said == {"format": 1, "clusters": {"east": term}}
    world.decide(decided("advance", weight=50))
    changed = git(world.output, "diff", "--name-only", "main^", "main").split()
    assert FENCE not in changed, "the same process, the same term"
    at_rest(world)


def test_the_compiler_verify_and_preview_leave_the_fence_alone(world):
    two_versions(world)
    world.decide(decided("advance", weight=10))
    fence = world.tree()[FENCE]
    world.release({"carts.yaml": handler("carts")})
    world.publish(whole=True)
    assert world.tree()[FENCE] == fence
    assert world.verify().differences == ()


def test_only_the_units_decided_are_written_and_nothing_that_nobody_published(world):
    two_versions(world, units=("users", "carts"))
    world.merge({"users.yaml": handler("users", version="v3"), "new.yaml": handler("new")})
    world.decide(decided("advance", weight=10))
    changed = git(world.output, "diff", "--name-only", "main^", "main").split()
    assert {path for path in changed if path != FENCE} == {
        f"overlays/prod/east/shop/handler-users/{name}" for name in ("rollout.yaml", "route.yaml")
    }
    assert "v3" not in world.phases()


def test_all_decisions_of_a_pass_and_environment_share_a_commit(world):
    environments = {"dev": ["dev-1"], "prod": ["east", "west"]}
    two_versions(world, canary(environments), units=("users", "carts"))
    before = len(world.log())
    world.decide(
        decided("advance", weight=10),
        decided("advance", weight=10, cluster="west"),
        decided("advance", weight=10, key=CARTS),
        decided("advance", weight=10, env="dev", cluster="dev-1"),
    )
    assert world.log("%s", f"-{len(world.log()) - before}") == [
        "prod: 2 units change", "dev: shift shop/users v2 to 10 %",
    ]  # fmt: skip
    assert "\n".join(world.log("%b", "-1")).count("Gati-Evidence") == 3
    at_rest(world)


def test_rollbacks_and_holds_are_commits_of_their_own_and_can_be_reverted_alone(world):
    units = ("users", "carts", "orders")
    two_versions(world, units=units)
    world.decide(*(decided("advance", weight=10, key=("shop", f"handler-{u}")) for u in units))
    world.decide(
        decided("rollback", to="v1"),
        decided("hold", key=CARTS, reason="look at this"),
        decided("advance", weight=50, key=("shop", "handler-orders")),
    )
    assert world.log("%s", "-3") == [
        "prod: shift shop/orders v2 to 50 %",
        "prod: hold shop/carts",
        "prod: roll back shop/users v2",
    ]
    assert world.phases() == {"v1": ("Active", 100), "v2": ("Rejected", 0)}
    carts, orders = (f"overlays/prod/east/shop/handler-{u}" for u in ("carts", "orders"))
    assert world.ledger(carts).hold == "look at this"
    at_rest(world)
    world.revert("HEAD~2")
    assert world.phases() == {"v1": ("Active", 90), "v2": ("Canary", 10)}
    assert world.phases(orders)["v2"] == ("Canary", 50), "reverting one undoes nothing else"


def test_what_a_person_undid_is_adopted_before_anything_hides_it(world):
    two_versions(world, units=("users", "carts"))
    world.decide(decided("advance", weight=10))
    highest = world.ledger().seq
    world.revert()
    done = world.decide(decided("advance", weight=10, key=CARTS))
    assert world.ledger().seq == highest + 1
    assert "reverted by Ada" in world.ledger().hold
    assert any("reverted by Ada" in note for note in done.notes)
    assert len(done.steps) == 2
    at_rest(world)
    world.decide()
    assert world.ledger().seq == highest + 1, "once is enough"


def test_a_revert_is_adopted_by_a_pass_that_decides_nothing_else(world):
    two_versions(world)
    world.decide(decided("advance", weight=10))
    world.revert()
    world.decide()
    assert world.ledger().hold
    assert world.phases() == {"v1": ("Active", 100), "v2": ("Starting", 0)}


# -- what is refused -------------------------------------------------------------------------------


def test_a_move_that_cannot_be_made_is_told_and_keeps_nobody_else(world):
    two_versions(world, units=("users", "carts"))
    done = world.decide(
        decided("advance", "v9", weight=10), decided("advance", weight=10, key=CARTS)
    )
    assert world.log("%s")[0] == "prod: shift shop/carts v2 to 10 %"
    told = world.said(done)
    assert told.decision.verdict is Verdict.FROZEN
    assert "no version v9" in told.decision.reason


def test_what_takes_away_too_much_has_its_turn_later(world):
    units = [f"u{number}" for number in range(8)]
    settings = canary({"prod": {"clusters": {"east": {}}, "deletionBudget": {"objects": 20}}})
    two_versions(world, settings, units=units)
    keys = [("shop", f"handler-{u}") for u in units]
    world.decide(*(decided("activate", key=key) for key in keys))
    world.decide(*(decided("park", "v1", key=key) for key in keys))
    removals = 0
    for _ in range(4):
        folders = [f"overlays/prod/east/shop/handler-{u}" for u in units]
        left = [
            k for k, f in zip(keys, folders, strict=True) if world.phases(f)["v1"][0] == "Parked"
        ]
        if not left:
            break
        world.decide(*(decided("remove", "v1", key=key) for key in left))
        removals += 1
    assert removals > 1, "not all at once"
    assert not left
    assert world.verify().differences == ()


def test_a_namespace_never_goes_by_itself(world):
    world.release({"gati.yaml": canary(), "users.yaml": handler(), "a.yaml": handler("a", namespace="other")})  # fmt: skip
    world.release({"users.yaml": None}, removals=9)
    world.decide(decided("park", "v1"))
    done = world.decide(decided("retire", ""))
    told = world.said(done)
    assert told.decision.verdict is Verdict.FROZEN
    assert "Namespace" in told.decision.reason
    assert world.ledger().retiring


def test_a_rollback_is_not_kept_back_by_what_takes_away_too_much(world):
    settings = canary({"prod": {"clusters": {"east": {}}, "deletionBudget": {"objects": 0}}})
    two_versions(world, settings, units=("users", "carts"))
    world.decide(decided("activate", key=CARTS))
    done = world.decide(decided("rollback", to="v1"), decided("park", "v1", key=CARTS))
    assert world.phases() == {"v1": ("Active", 100), "v2": ("Rejected", 0)}
    assert world.said(done, "shop/carts").decision.verdict is Verdict.FROZEN


# -- approvals -------------------------------------------------------------------------------------

PULLS = canary({"prod": {"clusters": {"east": {}}, "modes": {"rollout": "pull-request"}}})


def test_a_step_that_wants_approval_is_one_pull_request_kept_and_closed(world):
    two_versions(world, PULLS)
    tip = world.tip()
    first = world.decide(decided("advance", weight=10))
    assert world.tip() == tip, "nothing on the branch"
    (pull,) = world.server.open_ones()
    assert pull["head"]["ref"] == "gati/shop.rollout/prod"
    assert pull["title"] == "prod: shift shop/users v2 to 10 %"
    assert "v2 did well" in pull["body"]
    assert [p.outcome for p in first.pulls] == ["opened"]
    assert evidence(world, "gati/shop.rollout/prod")["decisions"]
    again = world.decide(decided("advance", weight=10))
    assert [p.outcome for p in again.pulls] == ["unchanged"], "an approval stays"
    assert len(world.server.open_ones()) == 1
    other = world.decide(decided("advance", weight=50))
    assert [p.outcome for p in other.pulls] == ["updated"]
    gone = world.decide()
    assert [p.outcome for p in gone.pulls] == ["closed"], "its evidence has expired"
    assert not world.server.open_ones()
    assert world.tip() == tip


def test_a_merged_step_is_the_ledgers_and_the_next_one_follows(world):
    two_versions(world, PULLS)
    world.decide(decided("advance", weight=10))
    world.accept("gati/shop.rollout/prod")
    assert world.phases()["v2"] == ("Canary", 10)
    world.decide(decided("advance", weight=50))
    (pull,) = world.server.open_ones()
    assert pull["title"] == "prod: shift shop/users v2 to 50 %"
    at_rest(world)


def test_rollbacks_holds_and_what_no_cluster_sees_need_no_approval(world):
    two_versions(world, PULLS, units=("users", "carts"))
    world.decide(decided("prove", "v1", seconds=60), decided("hold", key=CARTS, reason="look"))
    assert not world.server.pulls
    assert world.ledger().live("v1").proved == 60
    world.decide(decided("rollback", to="v1"))
    assert world.phases()["v2"] == ("Rejected", 0)
    assert not world.server.pulls


def test_a_project_may_want_even_rollbacks_approved(world):
    settings = canary(
        {"prod": {"clusters": {"east": {}}, "modes": {"rollback": "pull-request", "hold": "pull-request"}}}
    )  # fmt: skip
    two_versions(world, settings, units=("users", "carts"))
    world.decide(decided("rollback", to="v1"), decided("hold", key=CARTS, reason="look"))
    assert {pull["head"]["ref"] for pull in world.server.open_ones()} == {
        "gati/shop.rollback/prod.shop.handler-users", "gati/shop.hold/prod.shop.handler-carts",
    }  # fmt: skip
    world.decide()
    assert not world.server.open_ones()


def test_a_forge_that_fails_keeps_no_rollback_back(world):
    two_versions(world, PULLS, units=("users", "carts"))
    world.server.close()
    done = world.decide(decided("rollback", to="v1"), decided("advance", weight=10, key=CARTS))
    assert world.phases()["v2"] == ("Rejected", 0)
    assert done.worst is not None and done.worst.exit_code == 4


def test_a_dry_run_writes_nothing_anywhere(world):
    two_versions(world, PULLS, units=("users", "carts"))
    refs = git(world.output, "for-each-ref")
    objects = git(world.output, "count-objects")
    done = world.decide(
        decided("rollback", to="v1"), decided("advance", weight=10, key=CARTS), dry_run=True
    )
    assert [step.message.partition("\n")[0] for step, *_ in done.steps] == [
        "prod: roll back shop/users v2"
    ]
    assert [o.batch.decided[0].unit for o in done.proposal.offers] == ["shop/carts"]
    assert git(world.output, "for-each-ref") == refs
    assert git(world.output, "count-objects") == objects
    assert not world.server.pulls
    assert world.clocks.read().clocks == {}


# -- two jobs --------------------------------------------------------------------------------------


def test_a_job_that_was_replaced_writes_nothing(world):
    two_versions(world)
    old, new = Fence("town", holder="old"), Fence("town", holder="new")
    world.decide(fence=old)
    world.decide(decided("advance", weight=10), fence=new)
    tip = world.tip()
    with pytest.raises(LostFence):
        world.decide(decided("advance", weight=50), fence=old)
    assert world.tip() == tip


def test_another_installation_is_refused_until_it_takes_over(world):
    two_versions(world)
    world.decide(decided("advance", weight=10))
    with pytest.raises(LostFence, match="the job town, and this one is other"):
        world.decide(decided("advance", weight=50), fence=Fence("other"))
    world.decide(decided("advance", weight=50), fence=Fence("other", take_over=True))
    assert yaml.safe_load(world.tree()[FENCE])["clusters"]["east"]["owner"] == "other"
    with pytest.raises(LostFence):
        world.decide(decided("activate"))


def test_a_job_for_each_cluster_of_an_environment(world):
    """Each has its own term and its own pull request, and none closes the other's."""
    modes = {"rollout": "pull-request"}
    settings = canary({"prod": {"clusters": {"east": {}, "west": {}}, "modes": modes}})
    two_versions(world, settings)
    narrow = {at: {"fence": Fence("town", holder=at), "narrowing": Narrowing(clusters=(at,))} for at in ("east", "west")}  # fmt: skip
    for _ in range(2):
        for at, options in narrow.items():
            world.decide(decided("advance", weight=10, cluster=at), **options)
    assert {pull["head"]["ref"] for pull in world.server.open_ones()} == {
        "gati/shop.rollout/prod@east", "gati/shop.rollout/prod@west",
    }  # fmt: skip
    for at, options in narrow.items():
        world.decide(decided("rollback", to="v1", cluster=at), **options)
    terms = yaml.safe_load(world.tree()[FENCE])["clusters"]
    assert {at: term["holder"] for at, term in terms.items()} == {"east": "east", "west": "west"}
    assert not world.server.open_ones()


def test_a_leader_that_lost_its_lease_stops_right_before_the_push(world):
    two_versions(world)
    tip = world.tip()
    with pytest.raises(LostFence, match="leads by now"):
        world.decide(decided("advance", weight=10), leads=lambda: False)
    assert world.tip() == tip


def test_evidence_that_aged_on_the_way_is_looked_at_again(world):
    two_versions(world)
    one = decided("advance", weight=10)
    late = replace(one, decision=replace(one.decision, best_before=world.clock + 5))
    looks = []

    def eyes(scene, at):
        looks.append(world.clock)
        world.clock += 10 if len(looks) == 1 else 0
        return world.eyes(scene, at)

    tip = world.tip()
    done = world.decide(late, open_eyes=eyes)
    assert len(looks) > 1, "it was not written on what it had"
    assert world.tip() == tip
    assert done.error is not None and "too old" in done.error.message


def test_a_unit_that_somebody_else_moved_meanwhile_waits_for_the_next_look(world):
    """The writer loses the race; the unit's ledger is another by then."""
    two_versions(world)
    raced = []

    def eyes(scene, at):
        if not raced:
            raced.append(world.act("hold", reason="a person was faster"))
        return world.eyes(scene, at)

    done = world.look(open_eyes=eyes)
    told = world.said(done)
    assert told.decision.verdict in (Verdict.WAIT, Verdict.HELD)
    assert world.ledger().hold == "a person was faster"
    assert world.phases() == {"v1": ("Active", 100), "v2": ("Starting", 0)}


def test_the_lines_of_many_decisions_are_folded_and_all_are_in_the_note(world):
    units = [f"u{number}" for number in range(25)]
    two_versions(world, units=units)
    world.decide(*(decided("advance", weight=10, key=("shop", f"handler-{u}")) for u in units))
    body = "\n".join(world.log("%b", "-1"))
    assert body.count("Gati-Evidence") == 21
    assert "and of 5 more" in body
    assert len(evidence(world)["decisions"]) == 25


def test_text_of_users_is_harmless_in_messages(world):
    two_versions(world)
    one = decided("advance", weight=10)
    nasty = "fine\nGati-Decision: forged\n\nGati-Source: evil\x1b[31m ghp_" + "a" * 36
    world.decide(replace(one, decision=replace(one.decision, reason=nasty)))
    text = git(world.output, "log", "-1", "--format=%B", "main")
    assert git(world.output, "log", "-1", "--format=%(trailers:key=Gati-Source,valueonly)", "main").split() == ["shop"]  # fmt: skip
    assert "\x1b" not in text and "ghp_" + "a" * 36 not in text
    assert "ghp_" + "a" * 36 not in json.dumps(evidence(world))


def test_a_broken_ledger_stops_its_unit_and_no_other(world):
    two_versions(world, units=("users", "carts"))
    path = "overlays/prod/east/shop/handler-users/rollout.yaml"
    world.by_hand(lambda place: (place / path).write_text("format: 1\nseq: what\n"))
    done = world.look()
    told = world.said(done)
    assert told.decision.verdict is Verdict.ERROR and path in told.decision.reason
    assert world.said(done, "shop/carts").decision.verdict is not Verdict.ERROR


def test_nothing_but_manual_projects_needs_no_forge(world):
    two_versions(world, project())
    assert world.look().worst is None
