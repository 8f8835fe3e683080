"""What follows from drift, where an environment wants more than to be told.

``revert`` brings back what was decided: files of the repository become what plan and ledger give,
and the engine is asked to apply Git again. ``adopt`` lets Git say what people did, as far as a plan
can. An environment has one of the two, never both. A unit that is held is only told of, and so is
one whose plan or ledger changed since it was looked at: nobody has seen that state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gati_gitops.forge.model import Forge
from gati_gitops.output import Output, UnitKey
from gati_gitops.publish.deciding import known
from gati_gitops.publish.hand import Hand
from gati_gitops.publish.model import Offer, Step
from gati_gitops.publish.pulls import Pull, Wanted, offer
from gati_gitops.publish.run import Describe, undone_on
from gati_gitops.reconcile.drift.following import Following
from gati_gitops.reconcile.drift.history import History
from gati_gitops.reconcile.drift.run import Seen
from gati_gitops.reconcile.places import Narrowing, scene_on
from gati_gitops.repo.commit import Draft
from gati_gitops.repo.repository import Repository, Tip
from gati_gitops.spec.drift import DriftPolicy
from gati_gitops.spec.publishing import PullRequests
from gati_gitops.tree import Overlay


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
    last: list[Following] = []

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
) -> Following:
    places = {place.drift.environment for place in seen}
    lost = [(place.drift.environment, place.drift.cluster) for place in seen]
    narrowing = Narrowing(tuple(sorted(places)), root=root or ".")
    scene = scene_on(tip, narrowing, lambda at: undone_on(repository, tip, at), lost)
    following = Following(scene, root, History(tip, root, repository.deepen))
    following.adopt_reverts()
    for env in sorted(places):
        mine = [place for place in seen if place.drift.environment == env]
        policy = asked or mine[0].drift.policy
        if policy != "report":
            following.environment(env, policy, mine)
    return following


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
    output = Output(Overlay(before, step.changes))  # settings may be what it brings back
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
