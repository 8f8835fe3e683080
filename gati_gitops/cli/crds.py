"""``crds``: the CRDs and the JSON Schemas of our kinds, from the models themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gati_gitops.report import FORMATS

if TYPE_CHECKING:
    from gati_gitops.preview.crds.read import Located

_READ = (".yaml", ".yml", ".json")


@click.group(
    "crds",
    invoke_without_command=True,
    subcommand_metavar="[diff OLD NEW]",
    short_help="Print CRDs or JSON Schemas; compare them.",
    epilog="""\b
Examples:
  gati-gitops crds | kubectl apply --server-side -f -
  gati-gitops crds --format jsonschema --output .schemas
  gati-gitops crds diff deploy/crds new/crds""",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["yaml", "json", "jsonschema"]),
    default="yaml",
    show_default=True,
    help="CRDs as YAML or JSON, or JSON Schemas for editors.",
)
@click.option(
    "--output",
    default="-",
    show_default=True,
    metavar="DIR|-",
    help="Folder to write one file per kind to; - prints everything as one.",
)
@click.pass_context
def command(context: click.Context, format_: str, output: str) -> None:
    """Print the CRDs of our kinds, or write them to a folder."""
    if context.invoked_subcommand is not None:
        return
    if output == "-":
        click.echo(_stream(format_), nl=False)
    else:
        _write(_files(format_), Path(output))


def _stream(format_: str) -> bytes:
    from gati_gitops.spec.crds import HEADER, crds
    from gati_gitops.spec.schema_editor import COMBINED, json_schema_files
    from gati_gitops.yamlio.emit import dump_all

    if format_ == "jsonschema":
        return json_schema_files()[COMBINED]
    objects = list(crds().values())
    if format_ == "json":
        return _json({"apiVersion": "v1", "kind": "List", "items": objects})
    return dump_all(objects, HEADER)


def _files(format_: str) -> dict[str, bytes]:
    from gati_gitops.spec.crds import crd_files, crds
    from gati_gitops.spec.schema_editor import json_schema_files

    if format_ == "jsonschema":
        return json_schema_files()
    if format_ == "json":
        return {
            name.removesuffix(".yaml") + ".json": _json(value) for name, value in crds().items()
        }
    return crd_files()


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def _write(files: dict[str, bytes], folder: Path) -> None:
    from gati_gitops.errors import Outside

    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)
    except OSError as error:
        raise Outside(
            f"cannot write to {folder}: {error.strerror}",
            remedy="name a folder that can be written to with --output",
        ) from error
    click.echo(f"wrote {len(files)} files to {folder}", err=True)


@command.command(
    "diff",
    epilog="""\b
Examples:
  gati-gitops crds diff old.yaml new.yaml
  gati-gitops crds | gati-gitops crds diff deploy/overlays/prod/eu-1/_crds -
  gati-gitops crds diff origin/main:config/crd config/crd --level breaking
  kubectl get crd gatihandlers.gati.dev -o yaml | gati-gitops crds diff - new.yaml

\b
Exit codes: 0 nothing changed, or nothing at the level that was asked for, 1 something did,
3 a file is no YAML, 4 it cannot be read.""",
)
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option(
    "--repo",
    default=".",
    metavar="DIR",
    help="Where the Git repository of REVISION:PATH is; default: around the current folder.",
)
@click.option(
    "--level",
    type=click.Choice(["breaking", "risky", "safe"]),
    default="safe",
    show_default=True,
    help="Only changes at least so bad are shown, and make the exit code 1.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="Form of the report; github and sarif leave out what is safe.",
)
def diff(old: str, new: str, repo: str, level: str, format_: str) -> int:
    """Compare CustomResourceDefinitions, and say what each change does to whom.

    OLD and NEW are each a file, a folder, - for standard input, or REVISION:PATH of a Git
    repository, as Git itself has it. CRDs are paired by name; any will do, not only ours. With a
    status, as a cluster gives it, it is known which versions objects are stored in.
    """
    import shutil
    import sys

    from gati_gitops.cli.common import session, wants_colour
    from gati_gitops.preview.crds import compare_crds
    from gati_gitops.preview.crds.model import ORDER, Level
    from gati_gitops.preview.crds.read import Places
    from gati_gitops.preview.crds.write import write

    session().format = format_
    if old == new == "-":
        raise click.UsageError("standard input can be one of the two only")
    before, after = _definitions(old, repo), _definitions(new, repo)
    changes = [
        change
        for change in compare_crds([o.document for o in before], [n.document for n in after])
        if ORDER[change.level] <= ORDER[Level(level)]
    ]
    colour = wants_colour(sys.stdout)
    width = min(shutil.get_terminal_size((100, 24)).columns, 120)
    where = Places(before, after).of
    text = write(changes, format_, place=where, colour=colour, width=width)
    click.echo(text, nl=False, color=colour)
    return 1 if changes else 0


def _definitions(where: str, repo: str) -> list[Located]:
    from gati_gitops.preview.crds.read import read_definitions

    found = read_definitions(_sources(where, repo))
    if not found:
        raise click.UsageError(f"there is no CustomResourceDefinition in {where}")
    return found


def _sources(where: str, repo: str) -> list[tuple[str, bytes]]:
    """Names and bytes of the files that an argument stands for."""
    import os
    import sys

    from gati_gitops.errors import Outside

    if where == "-":
        return [("stdin", sys.stdin.buffer.read())]
    path = Path(where)
    try:
        if path.is_dir():
            found = [p for p in sorted(path.rglob("*")) if p.suffix in _READ and p.is_file()]
            return [(str(p).replace(os.sep, "/"), p.read_bytes()) for p in found]
        if path.exists():
            return [(where, path.read_bytes())]
    except OSError as error:
        raise Outside(
            f"cannot read {error.filename or where}: {error.strerror}",
            remedy="check that the files can be read",
        ) from error
    if ":" in where:
        return _revision(where, repo)
    raise Outside(
        f"there is no file or folder {where}",
        remedy="name a file, a folder, - for standard input, or REVISION:PATH",
    )


def _revision(where: str, repo: str) -> list[tuple[str, bytes]]:
    """Files of a commit. A path is one from the repository's root, unless it begins with ./"""
    from gati_gitops.errors import Outside
    from gati_gitops.repo.specs import specs_repository

    revision, _, path = where.partition(":")
    here = Path(repo).resolve()
    found = specs_repository(here)
    if found is None:
        raise Outside(
            f"{where} is no file, and {here} is in no Git repository",
            remedy="name one with --repo, or a file or folder that is there",
        )
    if not path.startswith("./") and found.prefix:
        found = specs_repository(here.parents[found.prefix.count("/")])
        assert found is not None
    snapshot = found.at(found.resolve(revision))
    path = path.removeprefix("./").strip("/")
    one = snapshot.read(path) if path else None
    if one is not None:
        return [(path, one)]
    names = [name for name in snapshot.paths(path) if name.endswith(_READ)]
    if not names:
        raise Outside(
            f"{revision} has no CRDs at {path or 'its root'}",
            remedy="check revision and path; a path is one from the repository's root",
        )
    return [(name, snapshot.read(name) or b"") for name in names]
