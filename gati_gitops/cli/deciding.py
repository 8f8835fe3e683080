"""What ``hold``, ``release``, ``reject``, ``rollback`` and ``retire`` share: options and words."""

from __future__ import annotations

import json
import os
import textwrap
from functools import cache as once
from typing import TYPE_CHECKING, Any

import click

from gati_gitops.cli.repository import author_of, author_option, opened, repository_options
from gati_gitops.report.clean import safe

if TYPE_CHECKING:
    from collections.abc import Callable

    from gati_gitops.publish.acts import Acted
    from gati_gitops.publish.deciding import Verb
    from gati_gitops.publish.hand import Hand
    from gati_gitops.publish.model import Step
    from gati_gitops.repo.repository import Repository

EXIT_CODES = """\b
Exit codes: 0 committed or nothing to do, 2 no such unit, version or environment, 4 Git failed,
5 refused: the message says why, and what would be possible."""


root_option = click.option(
    "--root",
    metavar="DIR",
    help="The output's folder in the repository; default: the one that is found.",
)


def decision(
    verb: str, examples: str, formats: tuple[str, ...] = ("text", "json")
) -> Callable[[Callable[..., Any]], click.Command]:
    """A command about one unit, with the options that all of them have."""

    def decorate(function: Callable[..., Any]) -> click.Command:
        for option in (
            click.option("--format", type=click.Choice(formats), default="text", show_default=True),
            click.option("--dry-run", is_flag=True, help="Say what would be done; write nothing."),
            author_option,
            root_option,
            click.option(
                "--cluster",
                multiple=True,
                metavar="NAME",
                help="Only this cluster; may be repeated.",
            ),
            click.option(
                "--env", multiple=True, metavar="NAME", help="This environment; may be repeated."
            ),
            click.option(
                "--reason", required=True, metavar="TEXT", help="Why; it stands in the commit."
            ),
        ):
            function = option(function)
        function = repository_options(function)
        function = click.argument("unit", metavar="UNIT")(function)
        epilog = f"\b\nExamples:\n{textwrap.indent(textwrap.dedent(examples).strip(), '  ')}"
        return click.command(verb, epilog=f"{epilog}\n\n{EXIT_CODES}")(function)

    return decorate


all_environments = click.option(
    "--all-environments", is_flag=True, help="In every environment that has the unit."
)


def decide(
    verb: Verb,
    options: dict[str, Any],
    *,
    version: str | None = None,
    everywhere: bool = True,
    **more: Any,
) -> None:
    """Do what a person wants, and say what came of it."""
    from gati_gitops.forge.choose import forge_for
    from gati_gitops.publish.acts import act
    from gati_gitops.publish.deciding import Wish
    from gati_gitops.publish.describe import Describing
    from gati_gitops.publish.pulls import worst

    reason = options["reason"].strip()
    if not reason:
        raise click.UsageError("--reason is empty; say why, for whoever reads the history")
    if not everywhere and not options["env"]:
        raise click.UsageError(f"{verb} wants --env NAME, or --all-environments")
    wish = Wish(
        verb,
        options["unit"],
        reason,
        version or "",
        options["env"],
        options["cluster"],
        root=options["root"],
        **more,
    )
    dry_run: bool = options["dry_run"]
    with opened(options["repo"], options["branch"], options["cache"]) as repository:
        hand = hand_of(repository, options["author"], options["root"])
        forge = once(lambda: forge_for(repository.address.url, os.environ))
        describe = Describing(repository.branch)
        done = act(wish, repository, hand, forge, describe, dry_run=dry_run)
        where = f"{repository.address}, branch {repository.branch}"
    say(done, where, dry_run=dry_run, format=options["format"])
    if (error := worst(done.pulls)) is not None:
        raise error


def hand_of(repository: Repository, author: str | None, root: str | None) -> Hand:
    """Who commits: the person that the command names, else as the output's owner has set."""
    from gati_gitops.output import Output
    from gati_gitops.publish.deciding import known
    from gati_gitops.publish.hand import Hand
    from gati_gitops.publish.places import find_root
    from gati_gitops.repo.commit import Signature
    from gati_gitops.repo.sign import signer
    from gati_gitops.spec.publishing import Author, Commits

    named = author_of(author)
    if named is None:
        tip = repository.tip()
        output = tip.snapshot(find_root(tip, root))
        said = [known(Output(output), env, "commits", Commits) for env in output.folder("overlays")]
        default = next((Commits.model_validate(one).author for one in said if one), Author())
        named = Signature(default.name, default.email)
    return Hand(named, signer(os.environ))


def say(done: Acted, where: str, *, dry_run: bool, format: str) -> None:
    """Print what was decided, for people or for programs."""
    from gati_gitops.publish.message import body_of

    if format == "json":
        click.echo(json.dumps(_data(done, dry_run=dry_run), indent=2, ensure_ascii=False))
        return
    decided = done.decided
    for note in decided.notes:
        click.echo(safe(note))
    for step, commit in done.steps:
        click.echo(f"{commit[:12] or 'would commit'}  {step.message.partition(chr(10))[0]}")
        click.echo(textwrap.indent(body_of(step.changed), "  "))
    for item in decided.offers if dry_run else ():
        click.echo(f"would offer  {item.step.message.partition(chr(10))[0]}")
        click.echo(textwrap.indent(body_of(item.step.changed), "  "))
    for pull in done.pulls:
        why = f": {pull.why}" if pull.why else ""
        click.echo(safe(f"{pull.outcome}  {pull.url or pull.branch}{why}"))
    if not done.steps and not decided.offers:
        click.echo(f"{decided.name}: nothing to change in {where}")
    if done.steps:
        number = len(done.steps)
        click.echo(f"{number} commit{'s' * (number != 1)} {'for' if dry_run else 'on'} {where}")


def _data(done: Acted, *, dry_run: bool) -> dict[str, Any]:
    decided = done.decided
    return {
        "format": 1,
        "unit": decided.name,
        "written": bool(done.steps or done.pulls) and not dry_run,
        "commits": [_step(step, commit) for step, commit in done.steps],
        "offers": [_step(item.step, "") for item in decided.offers],
        "pullRequests": [
            {"branch": p.branch, "outcome": p.outcome, "url": p.url, "why": p.why}
            for p in done.pulls
        ],
        "notes": list(decided.notes),
        "attempts": done.attempts,
    }


def _step(step: Step, commit: str) -> dict[str, Any]:
    files = step.changed.files
    return {
        "commit": commit,
        "environment": step.environment,
        "message": step.message,
        "added": list(files.added),
        "changed": list(files.changed),
        "removed": list(files.removed),
    }
