"""``drift``: what clusters run, and what the repository holds, against what was decided."""

from __future__ import annotations

import json
import os
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from gati_gitops.cli.clusters import accesses, cluster_options, only_of, prometheus_of
from gati_gitops.cli.common import wants_colour
from gati_gitops.cli.deciding import root_option
from gati_gitops.cli.repository import author_option, opened, repository_options
from gati_gitops.errors import Outside

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gati_gitops.decide.drift.model import Report
    from gati_gitops.output import Output, UnitKey
    from gati_gitops.reconcile.drift.run import Sight
    from gati_gitops.reconcile.drift.sights import Place


@click.command(
    "drift",
    epilog="""\b
Examples:
  gati-gitops drift --repo deploy.git --env prod --cluster eu-1
  gati-gitops drift --repo deploy.git --context eu-1=prod-eu --context us-1=prod-us
  gati-gitops drift --repo deploy.git --unit shop/cart --cluster eu-1 --format json
  gati-gitops drift --repo deploy.git --git-only
  gati-gitops drift --repo deploy.git --cluster eu-1 --fix
  gati-gitops drift --repo deploy.git --cluster eu-1 --fix --unattended

\b
Exit codes: 0 no drift, 1 something drifted, 2 no such unit, environment, cluster or recording,
4 Git failed or a cluster could not be seen, 5 refused. With --unattended drift is no 1, and
an engine that could not be asked to apply Git again is a 4.""",
)
@repository_options
@root_option
@click.option("--env", multiple=True, metavar="NAME", help="Only there; may be repeated.")
@click.option("--cluster", multiple=True, metavar="NAME", help="Only there; may be repeated.")
@click.option("--unit", multiple=True, metavar="UNIT", help="Only this one; may be repeated.")
@cluster_options
@click.option(
    "--prometheus",
    multiple=True,
    metavar="CLUSTER=URL",
    help="Where a cluster's metrics are, seen from here; may be repeated.",
)
@click.option("--no-traffic", is_flag=True, help="Ask no metrics how traffic is split.")
@click.option("--git-only", is_flag=True, help="Only files of the repository; ask no cluster.")
@click.option("--replay", metavar="FILE", help="Look at a recording instead of clusters.")
@click.option("--record", metavar="FILE", help="Write down what is seen, for --replay.")
@click.option(
    "--fix",
    is_flag=False,
    flag_value="policy",
    type=click.Choice(("policy", "revert", "adopt")),
    metavar="[revert|adopt]",
    help="Follow up: as each environment's policy says, or as said here.",
)
@click.option("--dry-run", is_flag=True, help="With --fix: say what would be done; write nothing.")
@click.option(
    "--unattended",
    is_flag=True,
    help="With --fix, for schedules: drift is no failure; what could not be seen or done is.",
)
@author_option
@click.option(
    "--format", type=click.Choice(("text", "json", "html")), default="text", show_default=True
)
@click.option("--output", metavar="FILE", default="-", help="Where the report goes; - by default.")
def command(
    repo: str,
    branch: str | None,
    cache: str | None,
    root: str | None,
    env: tuple[str, ...],
    cluster: tuple[str, ...],
    unit: tuple[str, ...],
    kubeconfig: str | None,
    contexts: tuple[str, ...],
    prometheus: tuple[str, ...],
    no_traffic: bool,
    git_only: bool,
    replay: str | None,
    record: str | None,
    fix: str | None,
    dry_run: bool,
    unattended: bool,
    author: str | None,
    format: str,
    output: str,
) -> int:
    """Hold what clusters run against what Git says, field by field.

    What others own is not drift: defaults, scalers, meshes, admission. Files of the output that
    were edited by hand are found, too, and engines that stand still. What could not be seen is
    said, and is never taken for no drift.
    """
    import secrets

    from gati_gitops.decide.drift.model import Report
    from gati_gitops.output import Output
    from gati_gitops.preview.mask import Mask
    from gati_gitops.publish.places import find_root, places
    from gati_gitops.reconcile.drift.history import edited_plans
    from gati_gitops.reconcile.drift.run import see

    if (replay or git_only) and (record or (replay and git_only)):
        raise click.UsageError("--git-only, --replay and --record exclude one another")
    if replay and fix:
        raise click.UsageError("--fix acts on what is there now, and a recording is not")
    if dry_run and not fix:
        raise click.UsageError("--dry-run belongs to --fix")
    if unattended and not fix:
        raise click.UsageError("--unattended belongs to --fix")
    key = os.environ.get("GATI_FINGERPRINT_KEY", "").encode() or secrets.token_bytes(32)
    with ExitStack() as stack:
        repository = stack.enter_context(opened(repo, branch, cache))
        tip = repository.tip()
        where = find_root(tip, root)
        before = tip.snapshot(where)
        plans = edited_plans(tip, where, repository.deepen)
        lost = [] if unit else plans.lost_clusters()
        found = places(before).with_lost(lost)
        chosen = sorted(found.chosen(env, cluster))
        keys = [found.find(name) for name in dict.fromkeys(unit)] or None
        here = [at for at in chosen if keys is None or any(at in found.units[k] for k in keys)]
        compiled = Output(before)
        measured = _Measured(prometheus_of(prometheus), not no_traffic)
        only_of(measured.prometheus, (name for _, name in here))
        reached = _Reached(kubeconfig, contexts, git_only, replay, record)
        sights = _sights(stack, compiled, here, reached, measured)
        seen = [
            see(
                before,
                *at,
                _through(sights, at, lost),
                Mask(key),
                _of(keys, found.units, at),
                plans,
            )
            for at in here
        ]
        report = Report(repository.branch, tip.commit, tuple(one.drift for one in seen))
        _write(report, format, output)
        asked = True
        if fix:
            from gati_gitops.cli.drift_fix import again, follow_up

            follow_up(repository, seen, fix, author, where, dry_run=dry_run)
            if not dry_run:
                asked = again(compiled, seen, fix, kubeconfig, contexts)
    if unattended:
        return 5 if report.beyond_repair else 4 if report.unseen or not asked else 0
    return report.exit_code


def _through(sights: Callable[[Place], Sight], at: Place, lost: list[Place]) -> Sight:
    """One that is gone has no settings to look by: its files alone are judged."""
    from gati_gitops.reconcile.drift.run import Sight

    return Sight() if at in lost else sights(at)


def _of(
    keys: list[UnitKey] | None, units: Mapping[UnitKey, frozenset[Place]], at: Place
) -> list[UnitKey] | None:
    """Of the units that are wanted, those that a place has."""
    return None if keys is None else [key for key in keys if at in units[key]]


@dataclass(frozen=True, slots=True)
class _Reached:
    """By what clusters are seen."""

    kubeconfig: str | None
    contexts: tuple[str, ...]
    git_only: bool
    replay: str | None
    record: str | None


@dataclass(frozen=True, slots=True)
class _Measured:
    """Where traffic is counted."""

    prometheus: dict[str, str]
    wanted: bool


def _sights(
    stack: ExitStack,
    output: Output,
    here: list[Place],
    by: _Reached,
    measured: _Measured,
) -> Callable[[Place], Sight]:
    """Through what each cluster is seen."""
    import time

    from gati_gitops.reconcile.drift.recording import Recorder, read_recording
    from gati_gitops.reconcile.drift.run import Sight
    from gati_gitops.reconcile.drift.sights import Sights, hubs

    if by.git_only:
        return lambda _: Sight()
    if by.replay:
        recorded = read_recording(by.replay)
        return lambda at: recorded(at[1])
    names = (name for _, name in here)
    reached = accesses(names, by.kubeconfig, by.contexts, hubs(output, here))
    sights = stack.enter_context(
        Sights(output, reached, measured.prometheus, traffic=measured.wanted)
    )
    recorder = stack.enter_context(Recorder(by.record)) if by.record else None

    def sight(at: Place) -> Sight:
        found = sights.of(at, time.time())
        return recorder.sight(at[1], found) if recorder is not None else found

    return sight


def _write(report: Report, format: str, output: str) -> None:
    from gati_gitops.reconcile.drift.told import summary

    if format == "json":
        from gati_gitops.reconcile.drift.data import report_data

        text = json.dumps(report_data(report), indent=2, ensure_ascii=False) + "\n"
    elif format == "html":
        from gati_gitops.reconcile.drift.page import write_page

        text = write_page(report)
    else:
        from gati_gitops.reconcile.drift.text import report_lines

        colour = output == "-" and wants_colour(sys.stdout)
        text = "".join(f"{line}\n" for line in report_lines(report, colour=colour))
    if output == "-":
        click.echo(text, nl=False, color=wants_colour(sys.stdout))
    else:
        from pathlib import Path

        try:
            Path(output).write_text(text, encoding="utf-8")
        except OSError as error:
            raise Outside(
                f"cannot write {output}: {error.strerror}",
                remedy="give --output a file in a folder that is there and can be written",
            ) from None
    click.echo(f"{summary(report)}, at {report.commit[:12]} of {report.branch}", err=True)
