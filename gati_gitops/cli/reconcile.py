"""``reconcile``: one pass of the job, or pass after pass."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from functools import cache as once
from typing import TYPE_CHECKING, Any

import click

from gati_gitops.cli.clusters import cluster_options
from gati_gitops.cli.deciding import hand_of, root_option
from gati_gitops.cli.reconciling import Asked, Teller, options, sources_of
from gati_gitops.cli.repository import author_option, opened, repository_options
from gati_gitops.cli.running import (
    begun,
    ending_in_a_line,
    running_of,
    running_options,
    stopped,
    watched,
)

if TYPE_CHECKING:
    from gati_gitops.publish.hand import Hand
    from gati_gitops.reconcile.run import Job
    from gati_gitops.reconcile.running import Running
    from gati_gitops.reconcile.sources import Sources
    from gati_gitops.repo.repository import Repository


@click.command(
    "reconcile",
    epilog="""\b
Examples:
  gati-gitops reconcile --repo deploy.git --cluster eu-1 --dry-run
  gati-gitops reconcile --repo deploy.git --cluster eu-1 --explain shop/cart
  gati-gitops reconcile --repo deploy.git --context eu-1=prod-eu --clocks clocks.json
  gati-gitops reconcile --repo deploy.git --cluster eu-1 --clocks clocks.json --watch
  gati-gitops reconcile --repo deploy.git --replay looks.jsonl --dry-run

\b
Exit codes: 0 done, 2 no such unit, environment, cluster or recording, 4 Git failed, or a cluster
or its metrics could not be seen, 5 refused: another job writes here.""",
)
@repository_options
@root_option
@click.option("--env", multiple=True, metavar="NAME", help="Only there; may be repeated.")
@click.option("--cluster", multiple=True, metavar="NAME", help="Only there; may be repeated.")
@click.option("--unit", multiple=True, metavar="UNIT", help="Only this one; may be repeated.")
@cluster_options
@options
@running_options
@author_option
def command(**given: Any) -> int:
    """Observe clusters and metrics, decide for every unit, and commit what follows.

    Nothing is decided on what could not be seen. Each decision is a commit with its evidence, made
    from what was published; a pass that decides nothing writes nothing.
    """
    asked = Asked.of(given)
    teller = Teller(asked.format, dry_run=asked.dry_run, explain=asked.explain, quiet=asked.quiet)
    with ExitStack() as stack:
        repository = stack.enter_context(opened(given["repo"], given["branch"], given["cache"]))
        running = stack.enter_context(running_of(given, asked))

        def begin() -> tuple[Hand, Sources]:
            hand = hand_of(repository, given["author"], given["root"])
            return hand, sources_of(repository, asked, given)

        if asked.replay:
            from gati_gitops.cli.reconciling import refuse_server
            from gati_gitops.observe.recording import cut_off
            from gati_gitops.reconcile.replay import replay

            refuse_server(repository, dry_run=asked.dry_run)
            job = _job(repository, asked, running, begin(), stack)
            passes = replay(job, asked.replay, dry_run=asked.dry_run)
            return teller.replayed(passes, cut_off(asked.replay))
        teller.silent = running.logs is not None
        with ending_in_a_line(running):
            if asked.watch:
                stop = stopped(stack)
                found = begun(begin, asked, teller, running, stop)
                if found is None:
                    return 0
                job = _job(repository, asked, running, found, stack)
                return watched(job, asked, teller, running, stop)
            from gati_gitops.reconcile.run import run_pass

            job = _job(repository, asked, running, begin(), stack)
            return teller.told(run_pass(job, dry_run=asked.dry_run))


def _job(
    repository: Repository,
    asked: Asked,
    running: Running,
    made_of: tuple[Hand, Sources],
    stack: ExitStack,
) -> Job:
    """The job that the options describe, with what is around its passes."""
    from gati_gitops.cli.reconciling import clocks_of, fence_of, progress, recorder_of
    from gati_gitops.forge.choose import forge_for
    from gati_gitops.publish.describe import Describing
    from gati_gitops.reconcile.run import Job

    hand, sources = made_of
    stack.enter_context(sources)
    running.reach(sources.judged)
    shown = progress(sys.stderr)
    return Job(
        repository,
        asked.hand(hand),
        sources.eyes,
        clocks_of(asked, sources),
        fence_of(asked),
        once(lambda: forge_for(repository.address.url, os.environ)),
        Describing(repository.branch),
        narrowing=asked.narrowing,
        announce=running.announcer(*([shown] if shown is not None else [])),
        recorder=recorder_of(asked, hand),
        leads=running.leads,
        trust=asked.trust(),
        tell=None if asked.dry_run else sources.tell,
        hold=None if asked.dry_run or asked.replay else sources.hold,
    )
