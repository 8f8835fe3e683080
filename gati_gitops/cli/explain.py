"""``explain``: where a field of a manifest came from."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gati_gitops.disk.snapshot import DiskSnapshot
    from gati_gitops.preview.explain import Explainer, Origin
    from gati_gitops.preview.explain.write import Page


@click.command(
    "explain",
    short_help="Say where a field of a manifest came from.",
    epilog="""\b
Examples:
  gati-gitops explain deploy/overlays/prod/eu-1/shop/handler-users/scaling.yaml spec.maxReplicas
  gati-gitops explain deploy/overlays/prod/eu-1/shop/handler-users --object Deployment
  gati-gitops explain deploy/base/shop/handler-users/v1-0-0-1a2b3c4d/deployment.yaml \\
      'spec.template.spec.containers[0].env[name=PORT].value' --specs specs

\b
Exit codes: 0 explained, 2 there is no such field, 3 the specs are wrong, 4 nothing can be read.""",
)
@click.argument("path", metavar="PATH")
@click.argument("field", metavar="[FIELD]", default="")
@click.option(
    "--specs",
    metavar="SPECS",
    help="The specs that it was compiled from; default: the current folder, if it has a gati.yaml.",
)
@click.option(
    "--object", "wanted", metavar="KIND[/NAME]", default="", help="Only objects of this kind."
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Form of what is printed.",
)
def command(path: str, field: str, specs: str | None, wanted: str, format_: str) -> None:
    """Say which field of the specs, default, rule or decision made FIELD of the manifest PATH.

    PATH is a file of the output, or a folder with a kustomization.yaml, whose objects are explained
    as a cluster gets them. FIELD is a path such as spec.replicas or env[name=PORT].value; without
    it all fields are explained.
    """
    import shutil

    from gati_gitops.cli.common import wants_colour
    from gati_gitops.preview.explain.write import as_json, as_text

    pages = _pages(path, field, specs, wanted)
    if format_ == "json":
        click.echo(as_json(pages), nl=False)
        return
    colour = wants_colour(sys.stdout)
    width = min(shutil.get_terminal_size((100, 24)).columns, 120)
    click.echo(as_text(pages, colour=colour, width=width), nl=False, color=colour)


def _pages(path: str, field: str, specs: str | None, wanted: str) -> list[Page]:
    from gati_gitops.disk.snapshot import DiskSnapshot
    from gati_gitops.preview.explain import BadField, find, leaves
    from gati_gitops.preview.explain.files import scope_for

    root, file = _in_output(path)
    output = DiskSnapshot(root)
    explainer = _explainer(specs, output, file)
    _warn(explainer, output, file)
    found: list[Page] = []
    missed = ""
    objects = [one for one in _objects(root, file, path) if _is_wanted(one, wanted)]
    if not objects:
        raise click.UsageError(f"there is no {wanted or 'object'} in {path}")
    for made in objects:
        scope = scope_for(explainer, output, file, made)
        paths = [p for p, _ in leaves(made)]
        if field:
            try:
                named = find(made, field)
            except BadField as error:
                missed = missed or f"{error} ({_called(made)})"
                continue
            paths = [p for p in paths if any(p[: len(start)] == start for start in named)]
        found.append(_page(scope, made, file, paths, root))
    if not found:
        raise click.UsageError(missed)
    return found


def _page(scope: Any, made: dict[str, Any], file: str, paths: list[Any], root: Path) -> Page:
    from dataclasses import replace

    from gati_gitops.preview.explain import Explained, origins, show
    from gati_gitops.preview.explain.write import Page
    from gati_gitops.preview.mask import Mask

    masked = Mask(os.urandom(16)).object(made)
    all_origins = origins(scope, made, file)
    fields = []
    for path in paths:
        value: Any = masked
        for step in path:
            value = value[step]
        origin = _seen_from_here(all_origins[show(path)], root)
        fields.append(Explained(show(path), value, origin))
    return Page(str(root / file), _called(made), tuple(replace(one) for one in fields))


def _seen_from_here(origin: Origin, root: Path) -> Origin:
    """The same with paths that work from where the user stands."""
    import posixpath
    from dataclasses import replace

    from gati_gitops.cli.common import session

    prefix = session().prefix

    def seen(file: str) -> str:
        if not file:
            return file
        start = str(root) if file.startswith(("overlays/", "base/", "clusters/")) else prefix
        return posixpath.normpath(posixpath.join(start, file))

    also = tuple(replace(cause, file=seen(cause.file)) for cause in origin.also)
    return replace(origin, file=seen(origin.file), also=also)


def _in_output(path: str) -> tuple[Path, str]:
    """The root of the output and the path below it."""
    from gati_gitops.errors import Outside
    from gati_gitops.tree import OWNED

    there = Path(path)
    if not there.exists():
        raise Outside(f"there is no file or folder {path}", remedy="name a file of the output")
    parts = Path(os.path.normpath(path)).parts
    for number in range(len(parts) - 1, -1, -1):
        if parts[number] in OWNED:
            return Path(*parts[:number]), "/".join(parts[number:])
    raise click.UsageError(f"{path} is no part of an output: it is in none of {', '.join(OWNED)}")


def _explainer(specs: str | None, output: DiskSnapshot, file: str) -> Explainer:
    from gati_gitops.cli.common import load_specs
    from gati_gitops.preview.explain import Explainer
    from gati_gitops.preview.explain.files import names_of
    from gati_gitops.spec.link import link_all

    if specs is None and not Path("gati.yaml").exists():
        click.echo("without --specs nobody knows which line it was", err=True)
        return Explainer()
    loaded = load_specs(specs or ".")
    return Explainer(loaded, link_all(loaded, names_of(output, file)))


def _warn(explainer: Explainer, output: DiskSnapshot, file: str) -> None:
    """Say when the specs at hand are others than those that the unit was compiled from."""
    from gati_gitops.preview.explain.files import plan_of

    plan = plan_of(output, file if file.count("/") > 4 else f"{file}/unit.yaml")
    changed = explainer.outdated(plan) if plan is not None else []
    if changed:
        click.echo(
            f"these specs are not those that {', '.join(changed)} of {plan.unit if plan else ''}"
            " was compiled from: a line may be another one",
            err=True,
        )


def _objects(root: Path, file: str, path: str) -> Iterator[dict[str, Any]]:
    from gati_gitops.disk.reader import DiskFiles
    from gati_gitops.errors import Outside, Place
    from gati_gitops.render import render
    from gati_gitops.yamlio.goyaml_read import GoYamlError, decode, read_resources
    from gati_gitops.yamlio.goyaml_scalars import plain

    full = root / file
    if full.is_dir():
        yield from render(DiskFiles("/"), str(full.resolve()).lstrip("/")).objects()
        return
    try:
        documents = read_resources(decode(full.read_bytes()))
    except GoYamlError as error:
        place = Place(str(full), error.line, 1) if error.line else Place(str(full))
        raise Outside(
            f"{full} can't be read: {error.message}", remedy="restore it from Git", place=place
        ) from error
    yield from (plain(document) for document in documents if isinstance(document, dict))


def _is_wanted(made: dict[str, Any], wanted: str) -> bool:
    kind, _, name = wanted.partition("/")
    metadata = made.get("metadata") or {}
    return kind.lower() in ("", str(made.get("kind", "")).lower()) and name in (
        "",
        metadata.get("name"),
    )


def _called(made: dict[str, Any]) -> str:
    metadata = made.get("metadata") or {}
    name = metadata.get("name", "")
    where = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
    return f"{made.get('kind', 'file')} {where}{name}".rstrip()
