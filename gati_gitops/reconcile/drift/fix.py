"""What follows from drift, where an environment wants more than to be told.

``revert`` brings back what was decided: files of the repository become what plan and ledger give,
and the engine is asked to apply Git again. ``adopt`` lets Git say what people did, as far as a plan
can. An environment has one of the two, never both. A unit that is held is only told of, and so is
one whose plan or ledger changed since it was looked at: nobody has seen that state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from gati_gitops.compiler.stored import Where, recompile
from gati_gitops.decide.drift.adopt import adopted
from gati_gitops.decide.drift.files import as_decided
from gati_gitops.decide.drift.model import UnitDrift
from gati_gitops.errors import Refused
from gati_gitops.forge.model import Forge
from gati_gitops.ledger.outcome import Outcome
from gati_gitops.ledger.stored import Stored
from gati_gitops.output import Output, UnitKey
from gati_gitops.publish.changes import change_set
from gati_gitops.publish.deciding import known
from gati_gitops.publish.guards import guard
from gati_gitops.publish.hand import Hand
from gati_gitops.publish.message import Origin, message
from gati_gitops.publish.model import Offer, Step, decision_key
from gati_gitops.publish.pulls import Pull, Wanted, offer
from gati_gitops.publish.run import Describe, undone_on
from gati_gitops.reconcile.drift.run import Seen
from gati_gitops.reconcile.places import Narrowing, Scene, scene_on
from gati_gitops.repo.commit import Draft
from gati_gitops.repo.repository import Repository, Tip
from gati_gitops.repo.trees import GitSnapshot, write_tree
from gati_gitops.spec.drift import DriftPolicy
from gati_gitops.spec.publishing import DeletionBudget, PullRequests
from gati_gitops.tree import Changes

MODES = {"revert": "publish", "adopt": "rollout"}
"""Which of an environment's modes says whether a follow-up needs an approval."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """What was done, or would be."""

    steps: tuple[tuple[Step, str], ...] = ()
    """Commits with their ids; without an id where nothing was written."""
    offers: tuple[Offer, ...] = ()
    pulls: tuple[Pull, ...] = ()
    notes: tuple[str, ...] = ()


def fix(
    seen: Sequence[Seen],
    repository: Repository,
    hand: Hand,
    forge: Callable[[], Forge],
    describe: Describe,
    *,
    root: str,
    asked: DriftPolicy | None = None,
    dry_run: bool = False,
) -> Fixed:
    """Follow up on what was seen. ``asked`` stands instead of the policies of environments."""
    last: list[_Following] = []

    def propose(tip: Tip) -> Sequence[Draft]:
        last[:] = [_followed(tip, seen, repository, root, asked)]
        if last[0].offers and not dry_run:
            forge()  # who can't open a pull request should hear it before anything is written
        return [step.draft(root) for step in last[0].steps]

    if dry_run:
        propose(repository.tip())
        made = last[0]
        steps = tuple((step, "") for step in made.steps)
        return Fixed(steps, tuple(made.offers), notes=tuple(made.notes))
    written = hand.write(repository, propose)
    made = last[0]
    steps = tuple(zip(made.steps, written.commits, strict=True))
    pulls: list[Pull] = []
    base = repository.tip()
    if made.offers and base.commit != written.tip:
        made = _followed(base, seen, repository, root, asked)
    for item in made.offers:
        pulls += _offered(item, repository, hand, forge, describe, base, root)
    return Fixed(steps, tuple(made.offers), tuple(pulls), tuple(made.notes))


def _followed(
    tip: Tip, seen: Sequence[Seen], repository: Repository, root: str, asked: DriftPolicy | None
) -> _Following:
    places = {place.drift.environment for place in seen}
    narrowing = Narrowing(tuple(sorted(places)), root=root or ".")
    scene = scene_on(tip, narrowing, lambda at: undone_on(repository, tip, at))
    following = _Following(scene, root)
    following.adopt_reverts()
    for env in sorted(places):
        mine = [place for place in seen if place.drift.environment == env]
        policy = asked or mine[0].drift.policy
        if policy != "report":
            following.environment(env, policy, mine)
    return following


@dataclass(slots=True)
class _Following:
    """Commits to be, one on top of the other."""

    scene: Scene
    root: str
    last: GitSnapshot = field(init=False)
    tree: str = field(init=False)
    steps: list[Step] = field(default_factory=list)
    offers: list[Offer] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.last, self.tree = self.scene.before, self.scene.tip.tree

    def adopt_reverts(self) -> None:
        """What people undid is written before anything of ours hides that they did."""
        for env, changes in sorted(self.scene.adopted.changes.items()):
            changed = change_set(env, self.last, changes)
            origin = Origin(self._owner(env), decision=decision_key(changes))
            self._put(Step(env, changes, changed, message(changed, origin)))

    def environment(self, env: str, policy: DriftPolicy, seen: Sequence[Seen]) -> None:
        outcomes: list[Outcome] = []
        if policy == "revert":
            changes, reason = self._reverted(seen), "edited by hand in the repository"
        else:
            changes, outcomes, reason = self._adopted(seen)
        if not changes:
            return
        changed = change_set(env, self.last, changes, outcomes)
        said = known(Output(self.last), env, "deletionBudget", DeletionBudget)
        guard([changed], {env: DeletionBudget.model_validate(said)})
        origin = Origin(self._owner(env), decision=decision_key(changes))
        subject = f"{policy} what was changed by hand"
        text = message(changed, origin, subject=subject, reason=reason)
        step = Step(env, changes, changed, text)
        modes = self.scene.output.settings(env).get("modes") or {}
        if modes.get(MODES[policy], "direct") == "direct":
            self._put(step)
        else:
            self.offers.append(Offer(env, "", step))

    # -- back to what was decided ------------------------------------------------------------------

    def _reverted(self, seen: Sequence[Seen]) -> Changes:
        changes: Changes = {}
        for where, unit, _ in _units(seen):
            if not unit.files:
                continue
            stored = self._same(where, unit, None)
            if stored is not None:
                changes |= as_decided(Output(self.last), where)
        return changes

    # -- what people did ---------------------------------------------------------------------------

    def _adopted(self, seen: Sequence[Seen]) -> tuple[Changes, list[Outcome], str]:
        outcomes: dict[Where, Outcome] = {}
        reasons: list[str] = []
        for where, unit, place in _units(seen):
            if not unit.objects:
                continue
            stored = self._same(where, unit, place.git.units.get(where[2]))
            if stored is None:
                continue
            found = adopted(stored, unit, place.routes.get(where[2], ()))
            self.notes += [f"{_name(where, unit)}: {why}" for why in found.left]
            if found.outcome is not None:
                outcomes[where] = found.outcome
                reasons += [f"{unit.unit} on {where[1]}: {word}" for word in found.words]
        made = recompile(Output(self.last), outcomes)
        return made.changes, list(made.outcomes.values()), "; ".join(reasons)

    # -- helpers -----------------------------------------------------------------------------------

    def _same(self, where: Where, unit: UnitDrift, looked: Stored | None) -> Stored | None:
        """A unit that may be moved; None if it is held, or is not what was looked at any more."""
        try:
            stored = self.scene.output.unit(*where)
        except Refused as error:
            self.notes.append(f"{_name(where, unit)}: {error.message}")
            return None
        if stored is None or stored.ledger is None or stored.ledger.hold:
            self.notes.append(f"{_name(where, unit)}: held, so it is only told")
            return None
        if looked is not None and stored != looked:
            self.notes.append(f"{_name(where, unit)}: it changed meanwhile; look again")
            return None
        return stored

    def _put(self, step: Step) -> None:
        self.tree = write_tree(self.scene.tip.objects, self.tree, step.changes, self.root)
        self.last = GitSnapshot(self.scene.tip.objects, self.tree, self.root)
        made = Step(step.environment, step.changes, step.changed, step.message, self.tree)
        self.steps.append(made)

    def _owner(self, env: str) -> str:
        return str(self.scene.output.settings(env).get("owner", ""))


def _units(seen: Sequence[Seen]) -> list[tuple[Where, UnitDrift, Seen]]:
    return [
        ((place.drift.environment, place.drift.cluster, unit.unit.key), unit, place)
        for place in seen
        for unit in place.drift.units
    ]


def _name(where: Where, unit: UnitDrift) -> str:
    return f"{unit.unit} in {where[0]} on {where[1]}"


def _offered(
    item: Offer,
    repository: Repository,
    hand: Hand,
    forge: Callable[[], Forge],
    describe: Describe,
    base: Tip,
    root: str,
) -> tuple[Pull, ...]:
    before = base.snapshot(root)
    step = item.step
    output = Output(before)
    wanted = Wanted(
        # stands where the environment does: no publish closes it
        f"{item.environment}-drift",
        "",
        step.changes,
        step.message,
        step.message.partition("\n")[0],
        describe(before, item),
    )
    settings = PullRequests.model_validate(
        known(output, item.environment, "pullRequests", PullRequests)
    )
    owner = output.settings(item.environment).get("owner", "")
    return offer(
        repository,
        forge,
        base,
        [wanted],
        settings,
        hand,
        source=f"{owner}.decisions",
        environments=(wanted.environment,),
        root=root,
    )


def to_apply_again(
    seen: Sequence[Seen], asked: DriftPolicy | None = None
) -> Mapping[tuple[str, str], tuple[UnitKey, ...]]:
    """Units whose engine should apply Git again, by environment and cluster."""
    found: dict[tuple[str, str], tuple[UnitKey, ...]] = {}
    for place in seen:
        drift = place.drift
        if (asked or drift.policy) != "revert":
            continue
        keys = tuple(
            unit.unit.key
            for unit in drift.units
            if unit.objects and not unit.held and not unit.broken_glass
        )
        if keys:
            found[drift.environment, drift.cluster] = keys
    return found
