"""People: they publish, hold, reject, roll back, revert, and edit what is live."""

from __future__ import annotations

from dataclasses import replace

from gati_gitops.errors import Refused
from gati_gitops.ledger import acts
from gati_gitops.ledger.fold import fold
from gati_gitops.ledger.stored import Stored
from tests.simulator.stories import IDS, NAMES, wanted

ACTS = (
    (0.22, "hold"), (0.08, "reject"), (0.10, "roll_back"), (0.10, "revert"), (0.16, "edit"),
    (0.12, "annotate"), (0.06, "break_glass"), (0.10, "publish"), (0.06, "revise"),
)  # fmt: skip


def drawn_act(dice):
    """What a person does."""
    return dice.drawn(ACTS)


def drawn_patience(dice):
    """Seconds until what was done is undone."""
    return dice.between(20, 180)


class Person:
    """Does one thing at some time, and sometimes undoes it."""

    def __init__(self, site, horizon, scaling):
        self.site = site
        self.scaling = scaling
        self.kept = site.world.story.kept
        dice = site.world.dice
        self.act = drawn_act(dice)
        self.lasts = drawn_patience(dice)
        if horizon:
            soon = 60.0 if dice.chance(0.3) else horizon * 0.5
            site.world.at(dice.between(5, soon), self.go)

    def go(self):
        if self.site.stored is not None:
            getattr(self, self.act)()

    def written(self, act, *arguments, what):
        """A decision of a person, through the ledger's own code."""
        site = self.site
        stored = site.stored
        if stored is None:
            return
        try:
            outcome = act(site.policy, stored, *arguments)
        except Refused as refused:
            site.world.say(f"a person may not {what}: {refused}")
            return
        if outcome.objections or outcome.plan is None:
            return
        if outcome.ledger.seq != stored.ledger.seq:
            site.world.say(f"COMMIT a person: {what}")
            self.leave(Stored(outcome.plan, outcome.ledger))

    def leave(self, stored):
        """What a person gives weight to is not the job's doing."""
        site = self.site
        for entry in stored.ledger.entries:
            old = site.stored.ledger.live(entry.id)
            if entry.weight > (old.weight if old is not None else 0):
                site.raised_by_job.discard(IDS.index(entry.id))
                site.raised_by_person.add(IDS.index(entry.id))
        site.commit(stored)

    # -- decisions

    def hold(self):
        self.written(acts.hold, "incident", what="hold")
        if self.site.world.dice.chance(0.85):
            self.site.world.later(self.lasts, self.release)

    def release(self):
        if self.site.stored is not None and self.site.stored.ledger.hold:
            self.written(acts.release, what="release")

    def reject(self):
        self.written(acts.reject, self.site.stored.ledger.target, what="reject the target")

    def roll_back(self):
        self.written(acts.rollback, what="roll back")

    def revert(self):
        """``git revert`` of the last change: what was there before, numbered on, and held."""
        site = self.site
        before = site.stored_before
        if before is None or before.ledger.retiring != site.stored.ledger.retiring:
            return
        ledger = replace(
            before.ledger, seq=site.stored.ledger.seq + 1, key="reverted", hold="reverted"
        )
        site.world.say("COMMIT a person: revert")
        self.leave(Stored(before.plan, ledger))
        site.world.later(self.lasts, self.release)

    def publish(self):
        """The next version, in the middle of whatever happens."""
        site = self.site
        known = {entry.id for entry in site.stored.ledger.entries}
        new = next((id for id in site.world.ids if id > max(known)), None)
        if new is not None and not site.stored.ledger.retiring:
            plan = wanted(new, "a", self.scaling, site.stored.plan.cluster, self.kept)
            self.written(lambda policy, stored: fold(policy, plan, stored), what=f"publish {new}")

    def revise(self):
        """The same version with other pods."""
        site = self.site
        if site.stored.ledger.retiring:
            return
        target = site.stored.plan.target
        plan = wanted(target, "b", self.scaling, site.stored.plan.cluster, self.kept)
        self.site.world.disturbed(site, IDS.index(target))
        self.written(lambda policy, stored: fold(policy, plan, stored), what=f"revise {target}")

    # -- on the cluster itself

    def edit(self):
        """Weights of the live route; the engine puts them right some time later."""
        site = self.site
        names = [NAMES[index] for index, have in site.deployments.items() if have.serving]
        if not names or site.stored.ledger.retiring:
            return
        first = site.world.dice.pick(names)
        weights = (
            dict.fromkeys(names, 0)
            | {first: 50, names[0]: 50}
            | ({first: 100} if first == names[0] else {})
        )
        site.edit_route(weights)
        site.world.later(self.lasts, site.engine.sync, None)

    def annotate(self):
        site = self.site
        site.annotated = "do not touch, says Ada"
        site.world.say("a person freezes the live object")
        site.world.later(self.lasts, self.unannotate)

    def unannotate(self):
        self.site.annotated = ""

    def break_glass(self):
        """Git is down: the engine is suspended, and the traffic moved by hand."""
        site, world = self.site, self.site.world
        serving = [index for index, have in site.deployments.items() if have.serving]
        if not serving or site.stored.ledger.retiring:
            return
        site.engine.suspend(0.0, self.lasts)
        best = world.dice.pick(serving)
        weights = dict.fromkeys(site.live_weights, 0)
        site.edit_route(weights | {NAMES[best]: 100})
        site.break_glass = "incident"
        site.raised_by_job.discard(best)
        world.later(self.lasts + 60, self.release)


def released(site):
    """Whoever is on call has looked, and lets a unit go on that is held."""
    Person(site, 0, None).release()
