"""Offers for gitops-promoter: instead of a pull request of ours, a branch that it takes over.

What needs an approval is pushed to ``<branch>-next``, a commit per environment on the tip. The
promoter compares it with the branch, asks its gates and opens the pull requests itself.
"""

from __future__ import annotations

from gati_gitops.publish.prepare import Prepared, Request
from gati_gitops.publish.pulls import Hand, Pull
from gati_gitops.repo.repository import Repository, Tip
from gati_gitops.repo.trees import write_tree
from gati_gitops.repo.writer import push_branch

NEXT = "-next"
"""How the promoter finds the branch; it can't be set."""
NOTES = "refs/notes/hydrator.metadata"


def propose_next(
    request: Request, repository: Repository, hand: Hand, prepared: Prepared, base: Tip
) -> tuple[Pull, ...]:
    """Make the branch hold what is offered; none is pushed while it does."""
    branch = f"{base.branch}{NEXT}"
    stands = repository.branches(branch).get(branch, "")
    if not prepared.offers and not stands:
        return ()
    tree, drafts = base.tree, []
    for offer in prepared.offers:
        tree = write_tree(base.objects, tree, offer.step.changes, request.root)
        drafts.append(offer.step.draft(request.root))
    if stands and repository.tip_of(branch).tree == tree:
        return (Pull(branch, "unchanged", commit=stands),)
    commit = push_branch(
        repository,
        branch,
        drafts,
        base=base,
        expected_old=stands,
        author=hand.author,
        signer=hand.signer,
        clock=hand.clock,
    )
    return (Pull(branch, "updated" if stands else "opened", commit=commit),)
