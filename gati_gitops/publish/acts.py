"""What a person decides about a unit, as commits: one per environment, with the reason in it.

A lost race decides again on the new tip, and the same decision twice is one commit. Where the
project wants an approval, the decision is offered as a pull request of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gati_gitops.forge.model import Forge
from gati_gitops.output import Output
from gati_gitops.publish.deciding import Decided, Deciding, Wish, known
from gati_gitops.publish.hand import Hand
from gati_gitops.publish.message import line
from gati_gitops.publish.model import Offer, Step
from gati_gitops.publish.pulls import Pull, Wanted, offer
from gati_gitops.publish.run import Describe, undone_on
from gati_gitops.repo.commit import Draft
from gati_gitops.repo.repository import Repository, Tip
from gati_gitops.spec.publishing import PullRequests

REASON = 500
"""As long as a reason may be, in signs."""


@dataclass(frozen=True, slots=True)
class Acted:
    """What was done, or would be."""

    steps: tuple[tuple[Step, str], ...]
    """Commits with their ids; without an id where nothing was written."""
    decided: Decided
    attempts: int = 1
    pulls: tuple[Pull, ...] = ()


def act(
    wish: Wish,
    repository: Repository,
    hand: Hand,
    forge: Callable[[], Forge],
    describe: Describe,
    *,
    dry_run: bool = False,
) -> Acted:
    """Decide, and commit. Raises Misnamed or Refused; nothing was written then."""
    # it is put into a ledger: one line, and no secret that slipped into it
    deciding = Deciding(replace(wish, reason=line(wish.reason, REASON)))
    last: list[Decided] = []

    def propose(tip: Tip) -> Sequence[Draft]:
        last[:] = [deciding.on(tip, lambda root: undone_on(repository, tip, root))]
        if last[0].offers and not dry_run:
            forge()  # who can't open a pull request should hear it before anything is written
        return [step.draft(last[0].root) for step in last[0].steps]

    if dry_run:
        propose(repository.tip())
        return Acted(tuple((step, "") for step in last[0].steps), last[0])
    written = hand.write(repository, propose)
    decided = last[0]
    steps = tuple(zip(decided.steps, written.commits, strict=True))
    pulls: list[Pull] = []
    if decided.offers:
        base = repository.tip()
        if base.commit != written.tip:  # somebody was here since; what waits is theirs to meet
            decided = deciding.on(base, lambda root: undone_on(repository, base, root))
        for item in decided.offers:
            wanted = _wanted(deciding.wish, decided, item, describe, base)
            pulls += _offered(wanted, decided, item, repository, forge, base, hand)
    return Acted(steps, decided, written.attempts, tuple(pulls))


def _wanted(wish: Wish, decided: Decided, item: Offer, describe: Describe, base: Tip) -> Wanted:
    """The pull request of a decision."""
    step = item.step
    return Wanted(
        # stands where the environment does: a branch for each decision, and none closes another
        "-".join((item.environment, wish.verb, *decided.unit)),
        "",
        step.changes,
        step.message,
        step.message.partition("\n")[0],
        f"{wish.reason}\n\n{describe(base.snapshot(decided.root), item)}",
    )


def _offered(
    wanted: Wanted,
    decided: Decided,
    item: Offer,
    repository: Repository,
    forge: Callable[[], Forge],
    base: Tip,
    hand: Hand,
) -> tuple[Pull, ...]:
    output = Output(base.snapshot(decided.root))
    said = known(output, item.environment, "pullRequests", PullRequests)
    return offer(
        repository,
        forge,
        base,
        [wanted],
        PullRequests.model_validate(said),
        hand,
        # no source is called so: what a publish offers and closes is another matter
        source=f"{decided.source}.decisions",
        environments=(wanted.environment,),
        root=decided.root,
    )
