"""``compile``: the tree of the specs, written to a folder on top of the ledgers found there."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

import click

from gati_gitops.cli.common import load_specs, narrowed, narrowing, session, specs_argument
from gati_gitops.report import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import Any

    from gati_gitops.compiler import Compilation
    from gati_gitops.errors import Problem


@click.command(
    "compile",
    epilog="""\b
Examples:
  gati-gitops compile specs --output deploy
  gati-gitops compile specs --output deploy --dry-run
  gati-gitops compile specs --output deploy --env prod --check --crds crds/

\b
Exit codes: 0 written or nothing to do, 3 the specs are wrong, 4 the folder cannot be read or
written, 5 refused: a foreign file, a claimed unit, another compiler version.""",
)
@specs_argument
@click.option(
    "--output",
    required=True,
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="The folder to compile into.",
)
@narrowing
@click.option("--dry-run", is_flag=True, help="Say what would change; write nothing.")
@click.option("--discard", is_flag=True, help="Remove files in our folders that we did not make.")
@click.option("--upgrade", is_flag=True, help="Write over the output of another compiler version.")
@click.option("--check", is_flag=True, help="Check every object against Kubernetes' schemas.")
@click.option(
    "--crds",
    type=click.Path(exists=True),
    metavar="PATH",
    help="CustomResourceDefinitions for --check: a folder or a file.",
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
    output: str,
    env: tuple[str, ...],
    cluster: tuple[str, ...],
    dry_run: bool,
    discard: bool,
    upgrade: bool,
    check: bool,
    crds: str | None,
    format: str,
) -> None:
    """Compile SPECS into a Kustomize tree that Argo CD or Flux can sync.

    Ledgers found in the output are obeyed: a compile never moves a rollout. Only base/, overlays/,
    crds/ and clusters/ are written, and only what differs.
    """
    import gc
    from contextlib import nullcontext
    from pathlib import Path

    from gati_gitops.compiler import compile_specs
    from gati_gitops.disk.snapshot import DiskSnapshot
    from gati_gitops.disk.writer import apply, locked, recover, refuse_unfinished
    from gati_gitops.errors import SpecsInvalid

    gc.disable()  # one pass, everything lives until the end: collecting would find nothing
    if crds is not None and not check:
        raise click.UsageError("--crds is for --check, which is not asked for")
    here = session()
    here.format = format
    loaded = load_specs(specs)
    root = Path(output) / loaded.project.spec.output.root
    with nullcontext() if dry_run else locked(root) as held:
        if held is None:
            refuse_unfinished(root)
        elif recover(held):
            click.echo(f"finished what an interrupted run had begun in {output}", err=True)
        result = compile_specs(
            loaded,
            DiskSnapshot(root),
            narrowed=narrowed(loaded.project, env, cluster),
            discard=discard,
            upgrade=upgrade,
        )
        problems = [*result.warnings]
        if check:
            problems += _seen_in(root, _once(_check(result, crds)))
            if any(problem.is_error for problem in problems):
                raise SpecsInvalid(problems)
        if format == "json":
            here.format = "text"  # stdout is for what was written
        here.report(problems)
        if held is not None:
            apply(held, result.changes)
    _say(result, output, dry_run, format)


def _check(result: Compilation, crds: str | None) -> list[Problem]:
    from pathlib import Path

    from gati_gitops.check.custom import read_crds
    from gati_gitops.check.objects import check_objects

    files: dict[str, bytes] = {}
    if crds is not None:
        found = Path(crds)
        paths = sorted(found.rglob("*.y*ml")) if found.is_dir() else [found]
        files = {str(path): path.read_bytes() for path in paths}
    kinds = read_crds(files)
    if crds is not None and not kinds:
        raise click.UsageError(f"there is no CustomResourceDefinition in {crds}")
    return check_objects(_rendered(result), kinds)


def _once(problems: list[Problem]) -> Iterator[Problem]:
    """What could not be checked is said once, not for every object of its kind."""
    said: set[str] = set()
    for problem in problems:
        if problem.code != "not-checked" or problem.message not in said:
            yield problem
        said.add(problem.message)


def _seen_in(root: Path, problems: Iterable[Problem]) -> list[Problem]:
    """Places in the output, written so that the session, which starts at the specs, finds them."""
    import os
    from dataclasses import replace

    def seen(problem: Problem) -> Problem:
        file = os.path.relpath(root / problem.place.file, session().prefix or ".")
        return replace(problem, place=replace(problem.place, file=file.replace(os.sep, "/")))

    return [
        seen(problem) if problem.place.file.startswith("overlays/") else problem
        for problem in problems
    ]


def _rendered(result: Compilation) -> Iterator[tuple[str, Any]]:
    """Every object as a cluster will get it, with the folder it comes from."""
    from gati_gitops.render import MemoryFiles, render

    files = MemoryFiles(result.tree)
    for path in sorted(result.tree):
        folder, _, name = path.rpartition("/")
        if name != "kustomization.yaml" or not folder.startswith("overlays/"):
            continue
        if folder.endswith(("/_crds", "/_namespace")) or f"{folder}/unit.yaml" in result.tree:
            for item in render(files, folder).objects():
                yield folder, item


def _say(result: Compilation, output: str, dry_run: bool, format: str) -> None:
    added, changed, removed = _counts(result)
    if format == "json":
        data = {
            "format": 1,
            "written": not dry_run,
            "added": added,
            "changed": changed,
            "removed": removed,
            "discarded": list(result.foreign),
        }
        click.echo(json.dumps(data, indent=2))
        return
    say = partial(click.echo, err=format != "text")
    for placed in result.units:
        outcome = placed.outcome
        for note in outcome.notes:
            if outcome.plan is not None:
                plan = outcome.plan
                say(f"{plan.unit} in {plan.environment} on {plan.cluster}: {note}")
    number = len({str(p.outcome.plan.unit) for p in result.units if p.outcome.plan is not None})
    units = f"{number} unit{'s' * (number != 1)}"
    total = len(added) + len(changed) + len(removed)
    if not total:
        say(f"{units} in {output}: nothing to change")
        return
    if total <= 40:
        for sign, paths in (("+", added), ("~", changed), ("-", removed)):
            for path in paths:
                say(f"{sign} {path}")
    named = ((added, "added"), (changed, "changed"), (removed, "removed"))
    parts = [f"{len(paths)} {name}" for paths, name in named if paths]
    files = "files would be" if dry_run else "files"
    say(f"{units} in {output}, {files}: {', '.join(parts)}")


def _counts(result: Compilation) -> tuple[list[str], list[str], list[str]]:
    added = sorted(path for path in result.changes if path in result.new)
    removed = sorted(path for path, content in result.changes.items() if content is None)
    changed = sorted(result.changes.keys() - set(added) - set(removed))
    return added, changed, removed
