"""``publish``: the specs compiled on top of a branch, and committed there."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache as once
from typing import TYPE_CHECKING, Any

import click

from gati_gitops.cli.common import environment_option, load_specs, narrowed, session, specs_argument
from gati_gitops.cli.repository import (
    author_of,
    author_option,
    opened,
    removal_options,
    repository_options,
)
from gati_gitops.report import FORMATS

if TYPE_CHECKING:
    from gati_gitops.publish.message import Reference
    from gati_gitops.publish.model import Request, Step
    from gati_gitops.publish.pulls import Pull
    from gati_gitops.publish.run import Published
    from gati_gitops.repo.repository import Repository, Tip
    from gati_gitops.repo.sign import AnySigner
    from gati_gitops.repo.specs import SpecsRepository
    from gati_gitops.spec.load import Specs

SETTINGS = "gati.yaml"


@click.command(
    "publish",
    epilog="""\b
Examples:
  gati-gitops publish specs --repo https://git.example.com/shop/deploy.git
  gati-gitops publish specs --repo git@git.example.com:shop/deploy.git --env staging
  gati-gitops publish specs --repo ../deploy.git --dry-run

\b
Credentials come from the environment: GATI_GIT_TOKEN or GATI_GIT_TOKEN_FILE (https),
GATI_SSH_KEY or an agent (ssh), GATI_FORGE_TOKEN (pull requests), GATI_SIGNING_KEY.

\b
Exit codes: 0 committed, offered or nothing to do, 3 the specs are wrong, 4 Git or the forge
failed, 5 refused: the deletion budget, a foreign file, a claimed unit, another compiler.""",
)
@specs_argument
@repository_options
@environment_option
@author_option
@click.option("--dry-run", is_flag=True, help="Say what would be committed; write nothing.")
@click.option("--upgrade", is_flag=True, help="Write over the output of another compiler version.")
@click.option("--discard", is_flag=True, help="Remove files in our folders that we did not make.")
@removal_options
@click.option(
    "--rev",
    metavar="REV",
    help="Publish the specs as this revision of their repository has them, such as HEAD.",
)
@click.option("--allow-dirty", is_flag=True, help="Publish specs that are not committed.")
@click.option("--sign", is_flag=True, help="Refuse to commit without a signature.")
@click.option(
    "--require-signed",
    is_flag=True,
    help="As --sign; and refuse a branch that no key of GATI_ALLOWED_SIGNERS has signed.",
)
@click.option(
    "--format",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="Form of what is printed; github and sarif are reports, as validate gives them.",
)
def command(
    specs: str,
    repo: str,
    branch: str | None,
    cache: str | None,
    env: tuple[str, ...],
    author: str | None,
    dry_run: bool,
    upgrade: bool,
    discard: bool,
    allow_removals: int,
    deletes: tuple[str, ...],
    rev: str | None,
    allow_dirty: bool,
    sign: bool,
    require_signed: bool,
    format: str,
) -> None:
    """Compile SPECS on top of a branch of the output repository, and commit.

    Each environment gets a commit of its own, or a pull request where the project says so. Ledgers
    on the branch are obeyed: a publish never moves a rollout. Nothing to change, no commit.
    """
    from gati_gitops.forge.choose import forge_for
    from gati_gitops.publish.describe import Describing
    from gati_gitops.publish.guards import Allowed
    from gati_gitops.publish.hand import Hand
    from gati_gitops.publish.pulls import worst
    from gati_gitops.publish.run import publish
    from gati_gitops.repo.commit import Signature
    from gati_gitops.repo.sign import signer

    here = session()
    here.format = format
    given = _given(specs, rev, allow_dirty=allow_dirty)
    settings = given.project.spec.commits.author
    own = signer(os.environ, required=sign or require_signed)
    hand = Hand(author_of(author) or Signature(settings.name, settings.email), own)
    request = replace(
        given,
        narrowed=narrowed(given.project, env, ()),
        upgrade=upgrade,
        discard=discard,
        allowed=Allowed(allow_removals, frozenset(deletes)),
        trust=trust_of(own) if own is not None and require_signed else None,
    )
    with opened(repo, branch, cache, fresh=True) as repository:
        forge = once(lambda: forge_for(repository.address.url, os.environ))
        describe = Describing(repository.branch)
        done = publish(request, repository, hand, forge, describe, dry_run=dry_run)
        where = f"{repository.address}, branch {repository.branch}"
    if format == "json":
        here.format = "text"
    here.report(done.warnings)
    _say(done, where, dry_run, format)
    if (error := worst(done.pulls)) is not None:
        raise error


def _given(specs: str, rev: str | None, *, allow_dirty: bool) -> Request:
    """The specs that a publish is about, as they stand in the folder or in a commit."""
    if rev is not None:
        return _of_revision(specs, rev)
    loaded = load_specs(specs)
    repository = committed_in(specs, allow_dirty=allow_dirty)
    return request_of(loaded, repository, repository.commit if repository else "")


def _of_revision(specs: str, rev: str) -> Request:
    """Read from the object database; all specs only when they are asked for."""
    from gati_gitops.repo.specs import specs_repository
    from gati_gitops.spec.load import examine, load

    repository = specs_repository(specs) if specs != "-" else None
    if repository is None:
        raise click.UsageError(f"--rev wants specs in a Git repository, and {specs} is in none")
    commit = repository.resolve(rev)

    @once
    def everything() -> Specs:
        files = repository.files(commit)
        session().sources = dict(files)
        return load(files)

    settings = repository.at(commit).read(SETTINGS)
    if settings is None:
        return request_of(everything(), repository, commit)
    project, problems = examine([(SETTINGS, settings)])
    if project is None or any(problem.is_error for problem in problems):
        return request_of(everything(), repository, commit)
    return replace(request_of(project, repository, commit), load=everything)


def request_of(specs: Specs, repository: SpecsRepository | None, commit: str) -> Request:
    """What is to be published of some specs."""
    from gati_gitops.publish.model import Committed, Request

    return Request(
        specs.project,
        specs.project_doc.file if specs.project_doc else "its defaults",
        lambda: specs,
        reference_of(repository, commit) if repository else None,
        Committed(repository, commit) if repository else None,
    )


def committed_in(specs: str, *, allow_dirty: bool = False) -> SpecsRepository | None:
    """The repository of the specs; None if they are in none, or not as committed."""
    from gati_gitops.errors import Refused
    from gati_gitops.repo.specs import specs_repository

    repository = specs_repository(specs) if specs != "-" else None
    if repository is None or not repository.commit:
        return None
    changed = repository.dirty()
    if changed and not allow_dirty:
        more = f" and {len(changed) - 5} more" if len(changed) > 5 else ""
        raise Refused(
            f"specs that are not committed: {', '.join(changed[:5])}{more}",
            remedy="commit them, so that the record can name the commit; or --allow-dirty",
        )
    return None if changed else repository


def reference_of(repository: SpecsRepository, commit: str) -> Reference:
    """A commit of the specs, as commits of the output tell of it."""
    from gati_gitops.publish.message import Reference

    told = repository.describe(commit)
    name, _, email = told.author.rpartition(" <")
    return Reference(
        commit, repository.url, name, email.rstrip(">"), told.date, told.subject, told.body
    )


def trust_of(own: AnySigner) -> Callable[[Repository, Tip], None]:
    """What refuses a branch that nobody who counts has signed."""
    from gati_gitops.repo.signatures import allowed_signers
    from gati_gitops.repo.trust import require_own, require_signed

    require_own(own, allowed_signers(os.environ), int(time.time()))
    return lambda repository, tip: require_signed(repository, tip, os.environ)


def _say(done: Published, where: str, dry_run: bool, format: str) -> None:
    if format == "json":
        click.echo(json.dumps(_data(done, dry_run), indent=2))
        return
    to_stderr = format != "text"
    for note in done.prepared.notes:
        click.echo(note, err=to_stderr)
    if not done.steps and not done.prepared.offers:
        click.echo(f"nothing to change in {where}", err=to_stderr)
    for step, commit in done.steps:
        head, _, body = step.message.partition("\n\n")
        click.echo(f"{commit[:12] or 'would commit'}  {head}", err=to_stderr)
        if dry_run:
            click.echo(body, err=to_stderr)
    if dry_run:
        for offer in done.prepared.offers:
            head, _, body = offer.step.message.partition("\n\n")
            click.echo(f"would offer   {head}\n{body}", err=to_stderr)
    for pull in done.pulls:
        told = " ".join(part for part in (pull.url or pull.branch, pull.why) if part)
        click.echo(f"{pull.outcome:12}  {told}", err=to_stderr)
        for note in pull.notes:
            click.echo(f"  {note}", err=to_stderr)
    if done.steps:
        number = len(done.steps)
        commits = f"{number} commit{'s' * (number != 1)}"
        click.echo(f"{commits} {'for' if dry_run else 'on'} {where}", err=to_stderr)


def _data(done: Published, dry_run: bool) -> dict[str, Any]:
    return {
        "format": 1,
        "written": bool(done.steps) and not dry_run,
        "commits": [_step(step, commit) for step, commit in done.steps],
        "pullRequests": [_pull(pull) for pull in done.pulls],
        "offers": [_step(offer.step, "") for offer in done.prepared.offers],
        "notes": list(done.prepared.notes),
        "attempts": done.attempts,
    }


def _pull(pull: Pull) -> dict[str, Any]:
    return {
        "branch": pull.branch,
        "outcome": pull.outcome,
        "number": pull.number,
        "url": pull.url,
        "commit": pull.commit,
        "why": pull.why,
        "notes": list(pull.notes),
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
