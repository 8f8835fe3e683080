"""``drift``: what clusters run, and what the repository holds, against what was decided."""

from __future__ import annotations

import json
import os
import sys
from contextlib import ExitStack
from functools import cache as once
from typing import TYPE_CHECKING, Any, Literal

import click

from gati_gitops.cli.clusters import accesses, cluster_options
from gati_gitops.cli.common import wants_colour
from gati_gitops.cli.deciding import hand_of, root_option
from gati_gitops.cli.repository import author_option, opened, repository_options
from gati_gitops.report.clean import safe

if TYPE_CHECKING:
    from collections.abc import Callable

    from gati_gitops.decide.drift.model import Report
    from gati_gitops.output import Output
    from gati_gitops.reconcile.drift.fix import Fixed
    from gati_gitops.reconcile.drift.run import Seen, Sight
    from gati_gitops.repo.repository import Repository


@click.command(
    "drift",
    epilog="""\b
Examples:
  gati-gitops drift --repo deploy.git --env prod --cluster eu-1
  gati-gitops drift --repo deploy.git --context eu-1=prod-eu --context us-1=prod-us
  gati-gitops drift --repo deploy.git --unit shop/cart --cluster eu-1 --format json
  gati-gitops drift --repo deploy.git --git-only
  gati-gitops drift --repo deploy.git --cluster eu-1 --fix

\b
Exit codes: 0 no drift, 1 something drifted, 2 no such unit, environment or cluster,
4 Git failed or a cluster could not be seen, 5 refused.""",
)
@repository_options
@root_option
@click.option("--env", multiple=True, metavar="NAME", help="Only there; may be repeated.")
@click.option("--cluster", multiple=True, metavar="NAME", help="Only there; may be repeated.")
@click.option("--unit", multiple=True, metavar="UNIT", help="Only this one; may be repeated.")
@cluster_options
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
    git_only: bool,
    replay: str | None,
    record: str | None,
    fix: str | None,
    dry_run: bool,
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
    import time

    from gati_gitops.decide.drift.model import Report
    from gati_gitops.output import Output
    from gati_gitops.preview.mask import Mask
    from gati_gitops.publish.places import find_root, places
    from gati_gitops.reconcile.drift.run import see

    if (replay or git_only) and (record or (replay and git_only)):
        raise click.UsageError("--git-only, --replay and --record exclude one another")
    if replay and fix:
        raise click.UsageError("--fix acts on what is there now, and a recording is not")
    if dry_run and not fix:
        raise click.UsageError("--dry-run belongs to --fix")
    key = os.environ.get("GATI_FINGERPRINT_KEY", "").encode() or secrets.token_bytes(32)
    with ExitStack() as stack:
        repository = stack.enter_context(opened(repo, branch, cache))
        tip = repository.tip()
        where = find_root(tip, root)
        before = tip.snapshot(where)
        found = places(before)
        chosen = sorted(found.chosen(env, cluster))
        keys = [found.find(name) for name in dict.fromkeys(unit)] or None
        here = [at for at in chosen if keys is None or any(at in found.units[k] for k in keys)]
        compiled = Output(before)
        sights = _sights(stack, compiled, here, kubeconfig, contexts, git_only, replay, record)
        seen = [see(before, *at, sights(at), Mask(key), _of(keys, found.units, at)) for at in here]
        report = Report(repository.branch, tip.commit, tuple(one.drift for one in seen))
        _write(report, format, output)
        if fix:
            fixed = _fixed(repository, seen, fix, author, where, dry_run=dry_run)
            _say(fixed, dry_run=dry_run)
            if not dry_run:
                _again(compiled, seen, fix, kubeconfig, contexts, time.time())
            from gati_gitops.publish.pulls import worst

            if (error := worst(fixed.pulls)) is not None:
                raise error
    return report.exit_code


def _of(keys: Any, units: Any, at: tuple[str, str]) -> Any:
    return None if keys is None else [key for key in keys if at in units[key]]


def _sights(
    stack: ExitStack,
    output: Output,
    here: list[tuple[str, str]],
    kubeconfig: str | None,
    contexts: tuple[str, ...],
    git_only: bool,
    replay: str | None,
    record: str | None,
) -> Callable[[tuple[str, str]], Sight]:
    """Through what each cluster is seen."""
    import time

    from gati_gitops.reconcile.drift.recording import Recorder, read_recording
    from gati_gitops.reconcile.drift.run import Sight
    from gati_gitops.reconcile.drift.sights import Sights, hubs

    if git_only:
        return lambda _: Sight()
    if replay:
        recorded = read_recording(replay)
        return lambda at: recorded(at[1])
    reached = accesses((name for _, name in here), kubeconfig, contexts, hubs(output, here))
    sights = stack.enter_context(Sights(output, reached))
    recorder = stack.enter_context(Recorder(record)) if record else None

    def sight(at: tuple[str, str]) -> Sight:
        found = sights.of(at, time.time())
        return recorder.sight(at[1], found) if recorder is not None else found

    return sight


# -- following up --------------------------------------------------------------------------------


def _fixed(
    repository: Repository,
    seen: list[Seen],
    asked: str,
    author: str | None,
    root: str,
    *,
    dry_run: bool,
) -> Fixed:
    from gati_gitops.forge.choose import forge_for
    from gati_gitops.publish.describe import Describing
    from gati_gitops.reconcile.drift.fix import fix

    return fix(
        seen,
        repository,
        hand_of(repository, author, root or "."),
        once(lambda: forge_for(repository.address.url, os.environ)),
        Describing(repository.branch),
        root=root,
        asked=_direction(asked),
        dry_run=dry_run,
    )


def _direction(asked: str) -> Literal["revert", "adopt"] | None:
    """What the option says; None: as the policies of environments do."""
    return None if asked == "policy" else "revert" if asked == "revert" else "adopt"


def _again(
    output: Output,
    seen: list[Seen],
    asked: str,
    kubeconfig: str | None,
    contexts: tuple[str, ...],
    now: float,
) -> None:
    from gati_gitops.reconcile.drift.again import apply_again
    from gati_gitops.reconcile.drift.fix import to_apply_again
    from gati_gitops.reconcile.drift.sights import Sights, hubs

    wanted = to_apply_again(seen, _direction(asked))
    here = list(wanted)
    if not here:
        return
    reached = accesses((name for _, name in here), kubeconfig, contexts, hubs(output, here))
    with Sights(output, reached) as sights:
        for at, keys in wanted.items():
            engines = sights.engines(at)
            if engines is not None:
                for line in apply_again(engines, keys, now):
                    click.echo(safe(line), err=True)


# -- saying --------------------------------------------------------------------------------------


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

        Path(output).write_text(text, encoding="utf-8")
    click.echo(f"{summary(report)}, at {report.commit[:12]} of {report.branch}", err=True)


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
