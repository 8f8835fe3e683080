"""``verify``: is the branch what the specs and its ledgers compile to."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import click

from gati_gitops.cli.common import environment_option, load_specs, narrowed, session, specs_argument
from gati_gitops.cli.repository import opened, repository_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from gati_gitops.publish.verify import Verified
    from gati_gitops.spec.load import Specs


@click.command(
    "verify",
    epilog="""\b
Examples:
  gati-gitops verify specs --repo https://git.example.com/shop/deploy.git
  gati-gitops verify specs --repo deploy.git --branch gati/shop/prod
  gati-gitops verify specs --repo deploy.git --require-signed --format json

\b
Exit codes: 0 every path is what the specs and ledgers say, 1 some are not, 4 Git failed,
5 refused: another compiler version, an unsigned commit.""",
)
@specs_argument
@repository_options
@environment_option
@click.option(
    "--require-signed",
    is_flag=True,
    help="The commits must be signed by a key of GATI_ALLOWED_SIGNERS.",
)
@click.option("--format", type=click.Choice(("text", "json")), default="text", show_default=True)
def command(
    specs: str,
    repo: str,
    branch: str | None,
    cache: str | None,
    env: tuple[str, ...],
    require_signed: bool,
    format: str,
) -> int:
    """Prove that the branch is exactly what SPECS and its ledgers compile to.

    Each environment is compiled from the commit of the specs that its record names, so newer specs
    that are not published yet make no difference. Every path that differs is named.
    """
    from gati_gitops.publish.verify import verify

    loaded = load_specs(specs)
    root = loaded.project.spec.output.root
    with opened(repo, branch, cache) as repository:
        tip = repository.tip()
        before = tip.snapshot("" if root == "." else root)
        found = verify(loaded, before, _specs_at(specs, loaded), narrowed(loaded.project, env, ()))
        if require_signed:
            from gati_gitops.repo.trust import require_signed as require

            require(repository, tip, os.environ)
        where = f"{repository.address}, branch {repository.branch}"
    _say(found, where, format, "" if root == "." else f"{root}/")
    return 1 if found.differences else 0


def _specs_at(specs: str, loaded: Specs) -> Callable[[str], Specs]:
    """The specs at a commit of their repository, or those that were given."""
    from gati_gitops.errors import Refused
    from gati_gitops.repo.specs import specs_repository
    from gati_gitops.spec.load import load

    repository = specs_repository(specs) if specs != "-" else None

    def at(commit: str) -> Specs:
        if not commit:
            return loaded
        if repository is None:
            raise Refused(
                f"the branch was published from commit {commit[:12]} of the specs' repository",
                remedy="give the specs as a clone of that repository",
            )
        if commit == repository.commit and not repository.dirty():
            return loaded
        files = repository.files(repository.resolve(commit))
        session().sources = dict(files)
        return load(files)

    return at


def _say(found: Verified, where: str, format: str, root: str) -> None:
    if format == "json":
        click.echo(json.dumps(_data(found, root), indent=2))
        return
    for difference in found.differences:
        click.echo(f"{difference.what:8} {root}{difference.path}")
    for env, records in found.records.items():
        commits = sorted({record.commit[:12] or "the given specs" for record in records})
        click.echo(f"{env}: compared with {', '.join(commits)}", err=True)
    number = len(found.differences)
    if number:
        click.echo(f"{number} path{'s' * (number != 1)} in {where} not as compiled", err=True)
    else:
        click.echo(f"{where}: exactly what the specs and ledgers say", err=True)


def _data(found: Verified, root: str) -> dict[str, Any]:
    return {
        "format": 1,
        "same": not found.differences,
        "differences": [
            {"environment": d.environment, "path": f"{root}{d.path}", "what": d.what}
            for d in found.differences
        ],
        "commits": {
            env: sorted({record.commit for record in records})
            for env, records in found.records.items()
        },
    }
