"""``init``: the first files of a project."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from gati_gitops.tree import Tree


@click.command(
    "init",
    epilog="""\b
Examples:
  gati-gitops init
  gati-gitops init shop
  gati-gitops init shop --ci gitlab

\b
Exit codes: 0 written, 4 the folder cannot be written, 5 refused: a file is there already.""",
)
@click.argument("folder", default=".", metavar="[DIR]", type=click.Path(file_okay=False))
@click.option(
    "--ci",
    type=click.Choice(("github", "gitlab", "none")),
    default="github",
    show_default=True,
    help="Whose CI validates, previews and publishes.",
)
@click.option("--force", is_flag=True, help="Write over files that are there already.")
def command(folder: str, ci: str, force: bool) -> None:
    """Scaffold gati.yaml, an example handler and CI workflows in DIR.

    What is there already stays as it is: without --force nothing is overwritten.
    """
    from gati_gitops.scaffold import project_files

    root = Path(folder)
    files = project_files(root.resolve().name, ci)
    _refuse_links(root, files)
    there = {path for path in files if (root / path).exists()}
    same = {path for path in there if _content(root / path) == files[path]}
    if there - same and not force:
        _refuse(root, there - same)
    for path, content in files.items():
        if path not in same:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)
        sign = "=" if path in same else "~" if path in there else "+"
        click.echo(f"{sign} {(root / path).as_posix()}")
    shown = root.as_posix()
    steps = (f"validate {shown}", f"plan {shown}", f"compile {shown} --output deploy")
    click.echo("\n".join(("", "Next:", *(f"  gati-gitops {step}" for step in steps))), err=True)


def _refuse(root: Path, paths: set[str]) -> None:
    from gati_gitops.errors import Refused

    named = ", ".join((root / path).as_posix() for path in sorted(paths))
    raise Refused(
        f"there already, with other content: {named}",
        remedy="choose another folder, move them away, or write over them with --force",
    )


def _refuse_links(root: Path, files: Tree) -> None:
    """A link could lead anywhere; not even --force writes through one."""
    from gati_gitops.errors import Refused

    for path in files:
        for part in (path, *(parent.as_posix() for parent in Path(path).parents)):
            if part != "." and (root / part).is_symlink():
                raise Refused(
                    f"{(root / part).as_posix()} is a symbolic link",
                    remedy="remove it, or choose another folder",
                )


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None
