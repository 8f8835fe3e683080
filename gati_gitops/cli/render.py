"""``render``: what `kustomize build` prints, in process."""

from __future__ import annotations

import os
from pathlib import Path

import click


@click.command(
    "render",
    short_help="Print what `kustomize build PATH` prints.",
    epilog="""\b
Examples:
  gati-gitops render deploy/overlays/prod/eu-1/shop
  gati-gitops render deploy/overlays/prod/eu-1 | kubectl diff -f -

\b
Exit codes: 0 rendered, 3 the folder is wrong or has what is not supported, 4 it cannot be read.""",
)
@click.argument("path", default=".", metavar="[PATH]")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["yaml", "json"]),
    default="yaml",
    show_default=True,
    help="YAML is byte for byte what kustomize prints; JSON is one List of the objects.",
)
@click.option(
    "--output",
    default="-",
    show_default=True,
    metavar="FILE|-",
    help="File to write to; - prints.",
)
def command(path: str, format_: str, output: str) -> None:
    """Render the folder PATH, as `kustomize build PATH` does.

    What is not supported (Helm, remote bases, plugins that are programs) is named and refused;
    nothing is ever rendered otherwise than kustomize would.
    """
    data = _rendered(path, format_)
    if output == "-":
        click.echo(data, nl=False)
    else:
        Path(output).write_bytes(data)


def _rendered(path: str, format_: str) -> bytes:
    import gc

    from gati_gitops.disk.reader import DiskFiles
    from gati_gitops.errors import Outside, Place
    from gati_gitops.render import RenderError, render

    gc.disable()  # one pass, everything lives until the end: collecting would find nothing
    folder = Path(path).resolve()
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise Outside(f"{path} {what}", remedy="name a folder with a kustomization.yaml")
    try:
        result = render(DiskFiles("/"), str(folder).lstrip("/"))
        return _json(result.objects()) if format_ == "json" else result.to_yaml()
    except RenderError as error:
        if error.place is not None:
            file = os.path.relpath(f"/{error.place.file}")
            error.place = Place(file, error.place.line, error.place.column)
        raise


def _json(objects: list[dict[str, object]]) -> bytes:
    import json

    document = {"apiVersion": "v1", "kind": "List", "items": objects}
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()
