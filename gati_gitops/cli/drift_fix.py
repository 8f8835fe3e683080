"""``drift --fix``: what is done about drift, and what is said of that."""

from __future__ import annotations

import os
from functools import cache as once
from typing import TYPE_CHECKING, Literal

import click

from gati_gitops.cli.clusters import accesses
from gati_gitops.cli.deciding import hand_of
from gati_gitops.report.clean import safe

if TYPE_CHECKING:
    from gati_gitops.output import Output
    from gati_gitops.reconcile.drift.fix import Fixed
    from gati_gitops.reconcile.drift.run import Seen
    from gati_gitops.repo.repository import Repository


def follow_up(
    repository: Repository,
    seen: list[Seen],
    asked: str,
    author: str | None,
    root: str,
    *,
    dry_run: bool,
) -> None:
    """Do what policy or option say, and tell what came of it."""
    from gati_gitops.forge.choose import forge_for
    from gati_gitops.publish.describe import Describing
    from gati_gitops.publish.pulls import worst
    from gati_gitops.reconcile.drift.fix import fix

    fixed = fix(
        seen,
        repository,
        hand_of(repository, author, root or "."),
        once(lambda: forge_for(repository.address.url, os.environ)),
        Describing(repository.branch),
        root=root,
        asked=_direction(asked),
        dry_run=dry_run,
    )
    _say(fixed, dry_run=dry_run)
    if (error := worst(fixed.pulls)) is not None:
        raise error


def _direction(asked: str) -> Literal["revert", "adopt"] | None:
    """What the option says; None: as the policies of environments do."""
    return None if asked == "policy" else "revert" if asked == "revert" else "adopt"


def again(
    output: Output,
    seen: list[Seen],
    asked: str,
    kubeconfig: str | None,
    contexts: tuple[str, ...],
) -> bool:
    """Ask engines to apply Git again, where what was decided is to come back.

    Whether nothing of that failed.
    """
    import time

    from gati_gitops.reconcile.drift.again import apply_again
    from gati_gitops.reconcile.drift.fix import to_apply_again
    from gati_gitops.reconcile.drift.sights import Sights, hubs

    wanted = to_apply_again(seen, _direction(asked))
    here = list(wanted)
    if not here:
        return True
    reached = accesses((name for _, name in here), kubeconfig, contexts, hubs(output, here))
    well = True
    with Sights(output, reached) as sights:
        for at, keys in wanted.items():
            engines = sights.engines(at)
            if engines is not None:
                for asked_one in apply_again(engines, keys, time.time()):
                    click.echo(safe(asked_one.words), err=True)
                    well = well and not asked_one.failed
    return well


def _say(fixed: Fixed, *, dry_run: bool) -> None:
    for note in fixed.notes:
        click.echo(safe(note), err=True)
    for step, commit in fixed.steps:
        head = step.message.partition("\n")[0]
        click.echo(f"{commit[:12] or 'would commit'}  {head}", err=True)
    for item in fixed.offers if dry_run else ():
        click.echo(f"would offer  {item.step.message.partition(chr(10))[0]}", err=True)
    for pull in fixed.pulls:
        why = f": {pull.why}" if pull.why else ""
        click.echo(safe(f"{pull.outcome}  {pull.url or pull.branch}{why}"), err=True)
