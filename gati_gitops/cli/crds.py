"""``crds``: the CRDs and the JSON Schemas of our kinds, from the models themselves."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.group(
    "crds",
    invoke_without_command=True,
    subcommand_metavar="",
    short_help="Print CRDs or JSON Schemas.",
    epilog="""\b
Examples:
  gati-gitops crds | kubectl apply --server-side -f -
  gati-gitops crds --format jsonschema --output .schemas""",
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
