"""One pass: look, judge, write, remember.

All of it is asked for again when another writer was faster: on the new tip everything is judged
anew, with what was seen as long as that is fresh. What is judged of one unit never hangs on whether
another could be judged or written. A pass that decides nothing writes nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from gati_gitops.compiler.stored import Where
from gati_gitops.decide.rules import Rules
from gati_gitops.decide.verdict import Verdict
from gati_gitops.errors import GatiError, Refused
from gati_gitops.forge.model import Forge
from gati_gitops.observe.recording import Recorder
from gati_gitops.publish.hand import Hand
from gati_gitops.publish.model import Step
from gati_gitops.publish.pulls import Pull, worst
from gati_gitops.publish.run import Describe, undone_on
from gati_gitops.reconcile.announce import Announcer, Commit, Pass
from gati_gitops.reconcile.clocks_store import ClockStore, Remembered
from gati_gitops.reconcile.commit import Batch, Proposal, propose
from gati_gitops.reconcile.evidence import NOTES, Judged
from gati_gitops.reconcile.fence import Fence, LostFence, fence_path, read_terms
from gati_gitops.reconcile.handing import Hold, take_hold
from gati_gitops.reconcile.judging import Judging
from gati_gitops.reconcile.looking import Failure, Looked, Open, look
from gati_gitops.reconcile.offers import Offering, scopes_of
from gati_gitops.reconcile.places import Narrowing, Scene, scene_on
from gati_gitops.repo.commit import Draft, read_commit
from gati_gitops.repo.repository import Repository, Tip
from gati_gitops.repo.steps import step
from gati_gitops.repo.writer import Written


@dataclass(frozen=True, slots=True)
class Job:
    """All that a pass works with; what it is given decides whether it is a real one."""

    repository: Repository
    hand: Hand
    """Its clock is the job's clock."""
    open_eyes: Open
    clocks: ClockStore
    fence: Fence
    forge: Callable[[], Forge]
    describe: Describe
    narrowing: Narrowing = field(default_factory=Narrowing)
    announce: Announcer = field(default_factory=Announcer)
    recorder: Recorder | None = None
    leads: Callable[[], bool] = lambda: True
    """Whether this process may act; asked again right before a push."""
    trust: Callable[[Repository, Tip], None] | None = None
    """Refuses a tip that was not signed by somebody who counts."""
    tell: Callable[[Scene, Sequence[Where], str], Sequence[str]] | None = None
    """Tells the engines that there is something to sync; notes about what failed."""
    hold: Hold | None = None
    """Takes hold of a number of pods that Git is to let go of."""


@dataclass(frozen=True, slots=True)
class Passed:
    """What came of a pass."""

    branch: str
    tip: str
    """The commit that was judged on."""
    judged: tuple[Judged, ...]
    steps: tuple[tuple[Step, Batch | None, str], ...] = ()
    """Commits with their ids; without an id where nothing was written."""
    proposal: Proposal = field(default_factory=Proposal)
    pulls: tuple[Pull, ...] = ()
    notes: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    error: GatiError | None = None
    """Why what was decided could not be written."""
    refused: GatiError | None = None
    """Why an environment could not be judged; the others were."""
    attempts: int = 0
    at: float = 0.0
    """When it was judged, by the job's clock."""

    @property
    def worst(self) -> GatiError | None:
        """What the run should end with, if not well."""
        return self.error or worst(self.pulls) or self.refused


def run_pass(job: Job, number: int = 1, *, dry_run: bool = False) -> Passed:
    """Look at everything once, and do what follows. Raises LostFence, or what Git says.

    With ``dry_run`` nothing is written anywhere, clocks included.
    """
    this = Pass(number, job.hand.clock())
    job.announce.started(this)
    passing = _Passing(job, dry_run)
    waiting = 0
    collects = gc.isenabled()
    gc.disable()  # what a pass makes lives until its end: collecting finds nothing, and takes long
    try:
        with job.announce.span("pass", number=str(number)):
            passed = passing.run()
        waiting = len(passed.proposal.offers)
        return passed
    except GatiError as error:
        job.announce.failed("git", error.message)
        raise
    finally:
        if collects:
            gc.enable()
        job.announce.ended(this, job.hand.clock(), waiting)


class _Passing:
    """One pass under way, over as many tips as it takes."""

    def __init__(self, job: Job, dry_run: bool) -> None:
        self._job = job
        self._dry_run = dry_run
        self._remembered = Remembered()
        self._looked: Looked | None = None
        self._scene: Scene | None = None
        self._judged: tuple[Judged, ...] = ()
        self._made: list[Proposal] = []
        self._closed: str | None = None

    def run(self) -> Passed:
        job = self._job
        self._remembered = job.clocks.read()
        if self._dry_run:
            self._propose(job.repository.tip())
            return self._passed((), None, 0)
        error: GatiError | None = None
        written: Written | None = None
        try:
            with job.announce.span("commit"):
                written = job.hand.write(job.repository, self._propose, NOTES, self._still)
        except LostFence:
            raise
        except GatiError as failed:
            if self._scene is None:
                raise
            error = failed
            job.announce.failed("git", failed.message)
        pulls: tuple[Pull, ...] = ()
        if written is not None:
            self._announce(written)
            pulls = self._offered(written)
        step("before-clocks")
        unkept = self._keep()
        step("after-clocks")
        passed = self._passed(pulls, error, written.attempts if written else 0, written)
        notes = (*passed.notes, *self._told_engines(passed), *self._held_pods())
        return replace(passed, failures=(*passed.failures, *unkept), notes=notes)

    # -- on a tip --------------------------------------------------------------------------------

    def _propose(self, tip: Tip) -> Sequence[Draft]:
        self._scene, self._judged, proposal = self._on(tip)
        self._made.append(proposal)
        step("before-commits")
        return [one.draft(self._scene.root) for one, _ in proposal.steps]

    def _on(self, tip: Tip) -> tuple[Scene, tuple[Judged, ...], Proposal]:
        """Judge everything on a tip. Raises LostFence if it is another's by now."""
        job = self._job
        if job.trust is not None:
            job.trust(job.repository, tip)
        scene = scene_on(tip, job.narrowing, lambda root: undone_on(job.repository, tip, root))
        fence = None if self._dry_run else job.fence
        if fence is not None:
            known = (at for at in sorted(scene.chosen) if isinstance(scene.rules[at[0]], Rules))
            for env, cluster in known:
                found = read_terms(scene.output.record(fence_path(env)), env)
                fence.admitted((env, cluster), found.get(cluster))
        step("before-look")
        if self._looked is None or not self._is_fresh():
            with job.announce.span("observe"):
                now = job.hand.clock()
                self._looked = look(scene, job.open_eyes, job.announce, now, job.recorder)
        step("after-look")
        with job.announce.span("decide"):
            judged = self._judging(scene, self._looked).all(scene)
        checked = job.trust is not None
        return scene, judged, propose(scene, judged, fence, checked=checked)

    def _judging(self, scene: Scene, looked: Looked) -> Judging:
        job = self._job
        if self._closed is None and not self._dry_run and _rolls(scene):
            self._closed = job.repository.closed_to_us()
        now = job.hand.clock()
        return Judging(looked, self._remembered.clocks, now, self._closed, job.announce)

    def _still(self) -> bool:
        """Whether what was decided may be written now: by us, and on what is fresh."""
        if not self._job.leads():
            raise LostFence(
                "another process of this job leads by now",
                remedy="nothing was written; the other one goes on",
            )
        return self._is_fresh()

    def _is_fresh(self) -> bool:
        now = self._job.hand.clock()
        return all(
            not one.decision.best_before or now <= one.decision.best_before
            for one in self._judged
            if one.decision.move is not None
        )

    # -- what came of it -------------------------------------------------------------------------

    def _steps(self, written: Written) -> tuple[tuple[Step, Batch | None, str], ...]:
        """Our commits; an answer that was lost may have been to an earlier proposal."""
        if not written.commits:
            return ()
        objects = self._job.repository.tip().objects
        tree = read_commit(objects, written.commits[-1]).tree
        made = next(p for p in reversed(self._made) if p.steps and p.steps[-1][0].tree == tree)
        pairs = zip(made.steps, written.commits, strict=True)
        return tuple((one, batch, commit) for (one, batch), commit in pairs)

    def _announce(self, written: Written) -> None:
        announce = self._job.announce
        for one, batch, commit in self._steps(written):
            subject = one.message.partition("\n")[0]
            wheres = batch.wheres if batch is not None else ()
            retries = written.attempts - 1
            announce.written(Commit(one.environment, commit, subject, wheres, retries))

    def _offered(self, written: Written) -> tuple[Pull, ...]:
        """Pull requests on what is the tip by now; what waits is judged on that."""
        job, scene = self._job, self._scene
        assert scene is not None
        if scene.keys is not None:  # a part of an environment says nothing of the rest
            return ()
        offering = Offering(job.repository, job.hand, job.forge, job.describe)
        scopes = scopes_of(scene)
        if not self._made[-1].offers and not offering.stands(scene.output, scopes):
            return ()
        base = job.repository.tip()
        offers = self._made[-1].offers
        if base.commit not in (scene.tip.commit, written.tip):
            scene, _, proposal = self._on(base)
            offers = proposal.offers
        pulls = offering.offer(base, scene.root, offers, scopes)
        for pull in pulls:
            if pull.error is not None:
                job.announce.failed("forge", pull.error.message)
        return pulls

    def _keep(self) -> tuple[Failure, ...]:
        """Remember what was seen; clocks of units that were not judged go on as they are."""
        assert self._scene is not None
        there = self._scene.found.units
        kept = {
            where: clock
            for where, clock in self._remembered.clocks.items()
            if where[:2] in there.get(where[2], ())
        }
        kept |= {one.where: one.clock for one in self._judged}
        try:
            self._job.clocks.write(kept)
        except GatiError as error:
            self._job.announce.failed("clocks", error.message)
            return (Failure("clocks", error.message),)
        return ()

    def _told_engines(self, passed: Passed) -> tuple[str, ...]:
        wheres = [where for _, batch, _ in passed.steps if batch for where in batch.wheres]
        if self._job.tell is None or not wheres or self._scene is None:
            return ()
        return tuple(self._job.tell(self._scene, wheres, passed.steps[-1][2]))

    def _held_pods(self) -> tuple[str, ...]:
        hold = self._job.hold
        return take_hold(self._judged, hold) if hold is not None and self._job.leads() else ()

    def _passed(
        self,
        pulls: tuple[Pull, ...],
        error: GatiError | None,
        attempts: int,
        written: Written | None = None,
    ) -> Passed:
        scene, looked = self._scene, self._looked
        assert scene is not None
        assert looked is not None
        proposal = self._made[-1]
        judged = _told(self._judged, proposal)
        for one in judged:
            self._job.announce.decided(one.where, one.decision, one.stored, one.seen)
        notes = list(scene.adopted.notes)
        if self._remembered.lost:
            notes.append(f"clocks begin anew: {self._remembered.lost}")
        steps = self._steps(written) if written is not None else ()
        if self._dry_run:
            steps = tuple((one, batch, "") for one, batch in proposal.steps)
        return Passed(
            scene.tip.branch,
            scene.tip.commit,
            judged,
            steps,
            proposal,
            pulls,
            tuple(notes),
            looked.failures,
            error,
            next((one for one in scene.rules.values() if isinstance(one, Refused)), None),
            attempts,
            self._job.hand.clock(),
        )


def _rolls(scene: Scene) -> bool:
    """Whether anything is being rolled out, so that a way back may be needed."""
    return any(
        stored.ledger is not None and stored.ledger.rolling is not None
        for units in scene.units.values()
        for stored in units.values()
    )


def _told(judged: Sequence[Judged], proposal: Proposal) -> tuple[Judged, ...]:
    """What was judged; a move that could not be made says why."""
    refused = dict(proposal.refused)
    found = []
    for one in judged:
        error = refused.get(one.where)
        if error is not None:
            why = f"{one.decision.reason}; not done: {error.message}"
            decision = replace(one.decision, verdict=Verdict.FROZEN, reason=why, move=None)
            one = replace(one, decision=decision)  # noqa: PLW2901
        found.append(one)
    return tuple(found)
