"""What a pass decides, as commits: what is urgent by itself, and the rest of an environment in one.

Each is compiled from the stored plans, on top of the ones before it, so nothing gets in that nobody
published, and reverting one undoes nothing else. A move that cannot be made is told and left out;
it never keeps the others from being made. What would take away more than a commit may is cut down.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from gati_gitops.compiler.stored import Recompiled, Where, recompile, stored_policy
from gati_gitops.decide.moves import moved
from gati_gitops.decide.verdict import Verdict
from gati_gitops.errors import GatiError, Refused
from gati_gitops.ledger.fold import Outcome
from gati_gitops.output import Output
from gati_gitops.publish.changes import ChangeSet, change_set
from gati_gitops.publish.deciding import known
from gati_gitops.publish.guards import guard
from gati_gitops.publish.message import Origin, message
from gati_gitops.publish.model import Offer, Step, decision_key
from gati_gitops.reconcile.evidence import Judged, deed, evidence_lines, evidence_note
from gati_gitops.reconcile.fence import Fence, fence_file, fence_path, read_terms
from gati_gitops.reconcile.places import Scene
from gati_gitops.repo.trees import GitSnapshot, write_tree
from gati_gitops.spec.publishing import DeletionBudget
from gati_gitops.tree import Changes

Mode = Literal["rollout", "rollback", "hold"]
"""Which of an environment's modes says whether a decision needs an approval."""

BACK = frozenset((Verdict.ROLLBACK, Verdict.RETURN, Verdict.REVIVE, Verdict.ABSORB))
"""Ways back: they do not wait for the rest."""
TAKING = (Verdict.RETIRE, Verdict.REMOVE, Verdict.PARK)
"""What takes something away, the most first."""
_STATE = ("/unit.yaml", "/rollout.yaml")
"""What no cluster sees."""


def mode_of(verdict: Verdict) -> Mode:
    return "hold" if verdict is Verdict.HOLD else "rollback" if verdict in BACK else "rollout"


@dataclass(frozen=True, slots=True)
class Batch:
    """Decisions that share a commit."""

    environment: str
    mode: Mode
    decided: tuple[Judged, ...]

    @property
    def wheres(self) -> tuple[Where, ...]:
        return tuple(one.where for one in self.decided)


@dataclass(frozen=True, slots=True)
class Offered:
    """Decisions that somebody has to approve."""

    offer: Offer
    batch: Batch


@dataclass(frozen=True, slots=True)
class Proposal:
    """All that a pass comes to on one tip."""

    steps: tuple[tuple[Step, Batch | None], ...] = ()
    """Without a batch: what people undid, under a number above all before."""
    offers: tuple[Offered, ...] = ()
    refused: tuple[tuple[Where, GatiError], ...] = ()
    """Moves that could not be made, and why."""


def batches(decided: Iterable[Judged]) -> Iterator[Batch]:
    """What shares a commit: a unit's way back or hold by itself, all else of an environment."""
    grouped: dict[tuple[str, int, tuple[str, str]], list[Judged]] = {}
    order: tuple[Mode, ...] = ("rollback", "hold", "rollout")
    for one in decided:
        if one.decision.move is None:
            continue
        env, _, key = one.where
        mode = mode_of(one.decision.move.verdict)
        alone = key if mode != "rollout" else ("", "")
        grouped.setdefault((env, order.index(mode), alone), []).append(one)
    for (env, rank, _), found in sorted(grouped.items(), key=lambda item: item[0]):
        ones = tuple(sorted(found, key=lambda one: one.where))
        yield Batch(env, order[rank], ones)


def propose(
    scene: Scene, decided: Iterable[Judged], fence: Fence | None, *, checked: bool = False
) -> Proposal:
    """The commits of a pass on a tip. Raises LostFence if the job has been replaced.

    Without a fence nothing of it is going to be written. ``checked``: all that it is built on was
    signed by somebody who counts.
    """
    making = _Making(scene, fence, checked)
    making.adopt()
    for batch in batches(decided):
        making.make(batch)
    return Proposal(tuple(making.steps), tuple(making.offers), tuple(making.refused))


@dataclass(slots=True)
class _Making:
    """Commits to be, one on top of the other."""

    scene: Scene
    fence: Fence | None
    checked: bool
    last: GitSnapshot = field(init=False)
    tree: str = field(init=False)
    steps: list[tuple[Step, Batch | None]] = field(default_factory=list)
    offers: list[Offered] = field(default_factory=list)
    refused: list[tuple[Where, GatiError]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.last, self.tree = self.scene.before, self.scene.tip.tree

    def adopt(self) -> None:
        """Write what people undid before anything of ours hides that they did."""
        for env, changes in sorted(self.scene.adopted.changes.items()):
            changed = change_set(env, self.last, changes)
            origin = self._origin(env, changes)
            self._put(Step(env, changes, changed, message(changed, origin)), None)

    def make(self, batch: Batch) -> None:
        # what nothing was written over yet was read already
        output = Output(self.last) if self.steps else self.scene.output
        fenced = self._fenced(output, batch)
        made = self._made(output, batch)
        if made is None:
            return
        recompiled, changed, batch = made
        changes = recompiled.changes
        if not self._is_direct(output, batch, changes):
            self.offers.append(self._offered(output, batch, changes, changed))
            return
        changes = changes | fenced
        text = self._told(changed, batch, changes)
        note = evidence_note(batch.decided)
        self._put(Step(batch.environment, changes, changed, text, note=note), batch)

    def _fenced(self, output: Output, batch: Batch) -> Changes:
        """The job's own file, if it says something else than that we write here."""
        if self.fence is None:
            return {}
        env = batch.environment
        path = fence_path(env)
        found = read_terms(output.record(path), env)
        mine = {
            cluster: self.fence.admitted((env, cluster), found.get(cluster))
            for cluster in sorted({cluster for _, cluster, _ in batch.wheres})
        }
        content = fence_file({**found, **mine})
        return {path: content} if output.read(path) != content else {}

    # -- what changes ----------------------------------------------------------------------------

    def _made(self, output: Output, batch: Batch) -> tuple[Recompiled, ChangeSet, Batch] | None:
        """What a batch changes, cut down to what a commit may take away."""
        while batch.decided:
            outcomes, batch = self._outcomes(output, batch)
            env = batch.environment
            try:
                recompiled = recompile(output, outcomes)
                changes = recompiled.changes
                if not changes:
                    return None
                changed = change_set(env, self.last, changes, recompiled.outcomes.values())
                guard([changed], {env: self._budget(output, env)})
            except Refused as error:
                batch = self._fewer(batch, error)
            else:
                return recompiled, changed, batch
        return None

    def _outcomes(self, output: Output, batch: Batch) -> tuple[dict[Where, Outcome], Batch]:
        policy = stored_policy(output, batch.environment)
        outcomes: dict[Where, Outcome] = {}
        for one in batch.decided:
            stored, move = output.unit(*one.where), one.decision.move
            assert stored is not None
            assert move is not None
            try:
                outcomes[one.where] = moved(policy, stored, move)
            except Refused as error:
                self.refused.append((one.where, error))
        made = tuple(one for one in batch.decided if one.where in outcomes)
        return outcomes, Batch(batch.environment, batch.mode, made)

    def _fewer(self, batch: Batch, error: Refused) -> Batch:
        """Half of what takes something away, until it is little enough; the rest has its turn."""
        taking = next(filter(None, ([o for o in batch.decided if _is(o, v)] for v in TAKING)), [])
        taking = taking or list(batch.decided)
        dropped = taking[len(taking) // 2 :]
        self.refused += [(one.where, error) for one in dropped]
        kept = tuple(one for one in batch.decided if one not in dropped)
        return Batch(batch.environment, batch.mode, kept)

    def _is_direct(self, output: Output, batch: Batch, changes: Changes) -> bool:
        """Whether nobody needs to approve it: a rollout that no cluster sees moves nothing."""
        modes = output.settings(batch.environment).get("modes") or {}
        unseen = batch.mode == "rollout" and all(path.endswith(_STATE) for path in changes)
        return unseen or modes.get(batch.mode, "direct") == "direct"

    def _budget(self, output: Output, env: str) -> DeletionBudget:
        return DeletionBudget.model_validate(known(output, env, "deletionBudget", DeletionBudget))

    # -- what is said ----------------------------------------------------------------------------

    def _put(self, step: Step, batch: Batch | None) -> None:
        self.tree = write_tree(self.scene.tip.objects, self.tree, step.changes, self.scene.root)
        self.last = GitSnapshot(self.scene.tip.objects, self.tree, self.scene.root)
        made = Step(
            step.environment, step.changes, step.changed, step.message, self.tree, step.note
        )
        self.steps.append((made, batch))

    def _offered(
        self, output: Output, batch: Batch, changes: Changes, changed: ChangeSet
    ) -> Offered:
        text = self._told(changed, batch, changes)
        step = Step(batch.environment, changes, changed, text, note=evidence_note(batch.decided))
        return Offered(Offer(batch.environment, "", step), batch)

    def _told(self, changed: ChangeSet, batch: Batch, changes: Changes) -> str:
        origin = self._origin(batch.environment, changes, evidence_lines(batch.decided))
        units = {one.where[2] for one in batch.decided}
        moves = {one.decision.move for one in batch.decided}
        first = batch.decided[0]
        subject = ""
        if len(units) == 1 and len(moves) == 1 and first.decision.move is not None:
            subject = deed(first.unit, first.decision.move)
        reasons = {one.decision.reason for one in batch.decided}
        reason = first.decision.reason if len(reasons) == 1 else ""
        return message(changed, origin, subject=subject, reason=reason)

    def _origin(self, env: str, changes: Changes, evidence: tuple[str, ...] = ()) -> Origin:
        try:
            owner = str(self.scene.output.settings(env).get("owner", ""))
        except Refused:  # what people undid is adopted all the same
            owner = ""
        key = decision_key(changes)
        return Origin(owner, decision=key, evidence=evidence, checked=self.checked)


def _is(one: Judged, verdict: Verdict) -> bool:
    return one.decision.move is not None and one.decision.move.verdict is verdict


def units_of(steps: Sequence[tuple[Step, Batch | None]]) -> tuple[Where, ...]:
    """All units that commits decide about."""
    return tuple(where for _, batch in steps if batch is not None for where in batch.wheres)
