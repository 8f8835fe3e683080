"""Publish: compile on top of the branch, commit, offer the rest, and say what came of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gati_gitops.errors import Problem
from gati_gitops.forge.model import Forge
from gati_gitops.publish.branches import PREFIX, environment_of
from gati_gitops.publish.hand import Hand
from gati_gitops.publish.model import Offer, Prepared, Request, Step
from gati_gitops.publish.prepare import prepare
from gati_gitops.publish.promoter import NEXT, NOTES, next_branch, propose_next
from gati_gitops.publish.pulls import Pull, Wanted, offer
from gati_gitops.publish.reverts import Undone
from gati_gitops.repo.commit import Draft
from gati_gitops.repo.history import lowered
from gati_gitops.repo.repository import Repository, Tip
from gati_gitops.repo.trees import GitSnapshot

Describe = Callable[[GitSnapshot, Offer], str]
"""The text of a pull request: what it would change on a tip."""


@dataclass(frozen=True, slots=True)
class Published:
    """What a publish did, or would do."""

    steps: tuple[tuple[Step, str], ...]
    """Commits with their ids; without an id where nothing was written."""
    prepared: Prepared
    attempts: int = 1
    pulls: tuple[Pull, ...] = ()

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return self.prepared.warnings


def publish(
    request: Request,
    repository: Repository,
    hand: Hand,
    forge: Callable[[], Forge],
    describe: Describe,
    *,
    dry_run: bool = False,
) -> Published:
    """Bring the repository to what the specs say, or offer it where that needs an approval."""
    last: list[Prepared] = []
    hydrator = request.project.spec.commits.hydrator

    def propose(tip: Tip) -> Sequence[Draft]:
        last[:] = [prepared_on(request, repository, tip)]
        if last[0].offers and not dry_run and not hydrator:
            forge()  # who can't open a pull request should hear it before anything is written
        return [step.draft(request.root) for step in last[0].steps]

    if dry_run:
        propose(repository.tip())
        return Published(tuple((step, "") for step in last[0].steps), last[0])
    written = hand.write(repository, propose, NOTES if hydrator else None)
    prepared = last[0]
    steps = tuple(zip(prepared.steps, written.commits, strict=True))
    pulls: tuple[Pull, ...] = ()
    if prepared.offering:
        base = repository.tip()
        if base.commit != written.tip:  # somebody was here since; what waits is theirs to meet
            prepared = prepared_on(request, repository, base)
        if hydrator:
            pulls = propose_next(request, repository, hand, prepared, base)
        else:
            pulls = _offered(request, repository, hand, forge, describe, prepared, base)
    return Published(steps, prepared, written.attempts, pulls)


def _offered(
    request: Request,
    repository: Repository,
    hand: Hand,
    forge: Callable[[], Forge],
    describe: Describe,
    prepared: Prepared,
    base: Tip,
) -> tuple[Pull, ...]:
    before = base.snapshot(request.root)
    wanted = [
        Wanted(
            item.environment,
            item.group,
            item.step.changes,
            item.step.message,
            item.step.message.partition("\n")[0],
            describe(before, item),
            item.folders,
        )
        for item in prepared.offers
    ]
    return offer(
        repository,
        forge,
        base,
        wanted,
        request.project.spec.pull_requests,
        hand,
        source=request.source,
        environments=prepared.offering,
        root=request.root,
    )


def prepared_on(request: Request, repository: Repository, tip: Tip) -> Prepared:
    """What a publish comes to on a tip, with what people undid since our last commit."""

    def branches() -> list[GitSnapshot]:
        names = [*repository.branches(PREFIX), *repository.seen(f"{tip.branch}{NEXT}/")]
        return [repository.tip_of(name).snapshot(request.root) for name in names]

    if request.trust is not None:
        request.trust(repository, tip)
    standing = _standing(request, repository, tip)
    prepared = prepare(request, tip, undone_on(repository, tip, request.root), branches)
    offering = [env for env in request.environments if env in {*prepared.offering, *standing}]
    return replace(prepared, offering=tuple(offering))


def _standing(request: Request, repository: Repository, tip: Tip) -> set[str]:
    """Environments with something on offer: where none is made any more, it must not stay so."""
    if request.project.spec.commits.hydrator:
        heads = repository.seen(f"{tip.branch}{NEXT}/")
        named = {env: next_branch(tip.branch, env, request.root) for env in request.environments}
        return {env for env, name in named.items() if name in heads}
    heads = repository.seen(f"{PREFIX}{request.source}/")
    return {environment_of(name, request.source) for name in heads}


def undone_on(repository: Repository, tip: Tip, root: str) -> dict[str, Undone]:
    """Ledgers that people took back since our last commit."""
    if not tip.commit:
        return {}
    found = lowered(tip.objects, tip.commit, root=root, deepen=repository.deepen)
    return {
        path: Undone(item.highest, item.commit, item.author.name) for path, item in found.items()
    }
