"""What the verbs share that work on an output repository."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from gati_gitops.cli.common import wants_colour
from gati_gitops.errors import Outside

if TYPE_CHECKING:
    from gati_gitops.repo.commit import Signature
    from gati_gitops.repo.repository import Repository

_AUTHOR = re.compile(r"\s*(?P<name>[^<>]*[^<>\s])\s*<(?P<email>[^<>\s]+)>\s*")


def repository_options(command: Any) -> Any:
    """``--repo``, ``--branch`` and ``--cache``."""
    for option in (
        click.option(
            "--cache",
            metavar="DIR",
            envvar="GATI_CACHE",
            type=click.Path(file_okay=False),
            help="Keep a clone here, so that later runs fetch only what is new.",
        ),
        click.option("--branch", metavar="NAME", help="The branch; default: the repository's own."),
        click.option(
            "--repo",
            required=True,
            metavar="URL",
            envvar="GATI_REPO",
            help="The output repository: https, ssh, or the path of a local one.",
        ),
    ):
        command = option(command)
    return command


def removal_options(command: Any) -> Any:
    """What a person says yes to when something goes."""
    for option in (
        click.option(
            "--delete",
            "deletes",
            multiple=True,
            metavar="KIND/NAME",
            help="Let this Namespace, PersistentVolumeClaim, CRD or Secret go; may be repeated.",
        ),
        click.option(
            "--allow-removals",
            type=click.IntRange(0),
            default=0,
            metavar="N",
            help="Let so many units, and objects, go from an environment.",
        ),
    ):
        command = option(command)
    return command


author_option = click.option(
    "--author",
    metavar="'NAME <EMAIL>'",
    envvar="GATI_AUTHOR",
    help="Whose commits these are; default: the project's or Git's own setting.",
)


EXISTING = "give the repository that holds the compiled output: where publish has committed it"


@contextmanager
def opened(
    repo: str, branch: str | None, cache: str | None, *, fresh: bool = False
) -> Iterator[Repository]:
    """The repository that the options name. ``fresh``: an empty one will do, too."""
    from pathlib import Path

    from gati_gitops.repo.address import parse
    from gati_gitops.repo.credentials import credentials
    from gati_gitops.repo.failures import NoRepository
    from gati_gitops.repo.repository import open_repository

    address = parse(repo)
    try:
        found = open_repository(
            address,
            branch=branch,
            credentials=credentials(address, os.environ),
            cache=Path(cache) if cache else None,
            progress=_progress if wants_progress() else None,
        )
    except NoRepository as error:
        raise error if fresh else Outside(error.message, remedy=EXISTING) from None
    with found as repository:
        yield repository


def wants_progress() -> bool:
    """Progress is for people: on a terminal, and nowhere else."""
    import sys

    return sys.stderr.isatty() and wants_colour(sys.stderr)


def _progress(text: str) -> None:
    click.echo(f"\r\x1b[K{text}", nl=False, err=True)


def author_of(text: str | None) -> Signature | None:
    """The author that an option names; None if it names none."""
    from gati_gitops.repo.commit import Signature

    if not text:
        return None
    found = _AUTHOR.fullmatch(text)
    if found is None:
        raise click.UsageError("--author wants 'NAME <EMAIL>'")
    return Signature(found["name"], found["email"])
