"""Offers for gitops-promoter: instead of pull requests of ours, branches that it takes over.

What needs an approval is pushed to ``<branch>-next/<path of the environment>``, as its contract for
hydrators has it where environments share a branch (`activePath`). The promoter compares it with the
branch, asks its gates and opens the pull requests itself. A note on the branch's commit names the
commit of the specs, also where a new one changes nothing.
"""

from __future__ import annotations

from gati_gitops.publish.branches import is_record
from gati_gitops.publish.hand import Hand
from gati_gitops.publish.hydrator import FILE, hydrator_note
from gati_gitops.publish.model import Offer, Prepared, Request
from gati_gitops.publish.pulls import Pull
from gati_gitops.repo.repository import Repository, Tip
from gati_gitops.repo.trees import differences, write_tree
from gati_gitops.repo.writer import write_notes

NEXT = "-next"
"""How the promoter finds the branch; it can't be set."""
NOTES = "refs/notes/hydrator.metadata"


def next_branch(branch: str, environment: str, root: str = "") -> str:
    """The branch that proposes what an environment should become."""
    return "/".join(filter(None, (f"{branch}{NEXT}", root, "overlays", environment)))


def propose_next(
    request: Request, repository: Repository, hand: Hand, prepared: Prepared, base: Tip
) -> tuple[Pull, ...]:
    """Make each environment's branch hold what is offered there; none is pushed while it does."""
    heads = repository.branches(f"{base.branch}{NEXT}/")
    pulls: list[Pull] = []
    for env in prepared.offering:
        branch = next_branch(base.branch, env, request.root)
        offers = [offer for offer in prepared.offers if offer.environment == env]
        stands = heads.get(branch, "")
        if offers or stands:
            pulls.append(_proposed(request, repository, hand, offers, base, branch, stands))
    reference = request.reference
    if reference is not None:
        notes = {pull.commit: hydrator_note(reference) for pull in pulls}
        write_notes(
            repository, NOTES, notes, author=hand.author, retry=hand.retry, clock=hand.clock
        )
    return tuple(pulls)


def _proposed(
    request: Request,
    repository: Repository,
    hand: Hand,
    offers: list[Offer],
    base: Tip,
    branch: str,
    stands: str,
) -> Pull:
    tree = base.tree
    for offer in offers:
        tree = write_tree(base.objects, tree, offer.step.changes, request.root)
    if stands and not _differs(base, repository.tip_of(branch).tree, tree, request.root):
        return Pull(branch, "unchanged", commit=stands)
    drafts = [offer.step.draft(request.root) for offer in offers]
    commit = hand.push(repository, branch, drafts, base, stands)
    return Pull(branch, "updated" if stands else "opened", commit=commit)


def _differs(base: Tip, stands: str, wanted: str, root: str) -> bool:
    """Whether a branch holds something else than which commit of the specs it is of."""
    start = f"{root}/" if root else ""
    trees = (bytes.fromhex(tree) for tree in (stands, wanted))
    paths = (path.removeprefix(start) for path, _, _ in differences(base.objects, *trees))
    return not all(is_record(path) or path.endswith(f"/{FILE}") for path in paths)
