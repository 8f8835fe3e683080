"""``comment``: a preview on the pull request that it is about."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

if TYPE_CHECKING:
    from gati_gitops.forge.model import CheckState

MARKER = "<!-- gati-gitops:preview -->"
CHECK = "gati-gitops/preview"


@click.command(
    "comment",
    epilog="""\b
Examples:
  gati-gitops preview --base origin/main --head HEAD --format markdown --output preview.md
  gati-gitops comment preview.md --repo https://github.com/acme/specs --number 42
  gati-gitops comment preview.md --repo "$CI_PROJECT_URL" --number 7 --check success --sha "$SHA"

\b
The token comes from GATI_FORGE_TOKEN or GATI_FORGE_TOKEN_FILE, or from the CI that runs this.
Exit codes: 0 written, 4 the forge failed, 5 refused: no forge or token is known.""",
)
@click.argument("file", metavar="FILE")
@click.option("--repo", required=True, metavar="URL", help="The repository of the pull request.")
@click.option("--number", type=click.IntRange(1), required=True, help="The pull request.")
@click.option(
    "--check",
    type=click.Choice(("pending", "success", "failure", "error")),
    help="Also set a check on a commit.",
)
@click.option("--sha", metavar="COMMIT", help="The commit for --check.")
@click.option("--url", default="", metavar="URL", help="Where the whole preview is, for --check.")
def command(
    file: str, repo: str, number: int, check: str | None, sha: str | None, url: str
) -> None:
    """Put FILE (or -) on a pull request: one comment, updated in place."""
    from gati_gitops.errors import Outside
    from gati_gitops.forge.choose import forge_for

    if bool(check) != bool(sha):
        raise click.UsageError("--check and --sha belong together")
    try:
        with click.open_file(file, encoding="utf-8") as stream:
            text = stream.read()
    except (OSError, UnicodeDecodeError) as error:
        raise Outside(f"cannot read {Path(file)}: {error}") from error
    forge = forge_for(repo, os.environ)
    body = text.removeprefix(MARKER).lstrip("\n")
    forge.comment_in_place(number, MARKER, body)
    if check and sha:
        summary = next((line.strip("# ") for line in body.splitlines() if line.strip()), "")
        forge.set_check(sha, CHECK, cast("CheckState", check), summary[:140], url)
    click.echo(f"commented on {forge.name} pull request {number}")
