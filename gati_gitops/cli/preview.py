"""``preview``: what a change of the specs would change on every cluster."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from gati_gitops.cli.common import narrowing, session, specs_argument, wants_colour
from gati_gitops.report import FORMATS as REPORTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gati_gitops.cli.compared import Source
    from gati_gitops.compiler import Narrowed
    from gati_gitops.preview.given import Given
    from gati_gitops.preview.meaning.totals import Prices
    from gati_gitops.preview.model import Review
    from gati_gitops.preview.side import Side
    from gati_gitops.tree import Snapshot

FORMATS = ("text", "markdown", "html", "json", "github", "sarif")


@click.command(
    "preview",
    epilog="""\b
Examples:
  gati-gitops preview specs --base origin/main
  gati-gitops preview specs --base origin/main --head HEAD --ledger ../deploy --format markdown
  gati-gitops preview --base old-specs --head new-specs --format html --output preview.html
  gati-gitops preview specs --base HEAD~1 --prices cpu=0.031,memory=0.004

\b
Prices are for one core and one GiB, for an hour or with /month for a month. Fingerprints of
secrets differ from run to run, unless GATI_FINGERPRINT_KEY holds a key for them.

\b
Exit codes: 0 nothing would change, 1 something would, 3 the specs of a side are wrong,
4 Git or a folder could not be read.""",
)
@specs_argument
@click.option(
    "--base",
    required=True,
    metavar="A",
    help="What is there: a folder of specs, or a revision of the repository that holds SPECS.",
)
@click.option(
    "--head",
    metavar="B",
    help="What is proposed: a folder or a revision; default: SPECS as they stand.",
)
@click.option(
    "--merge-base/--no-merge-base",
    default=True,
    show_default=True,
    help="Compare with the commit at which the head left the base, not with the base itself.",
)
@click.option(
    "--ledger",
    metavar="PATH|REV",
    help="The output whose ledgers count: a copy, a repository (PATH, URL or PATH@REV), or a"
    " revision of the repository that holds SPECS. Without it: as a first publish.",
)
@narrowing
@click.option(
    "--unit", multiple=True, metavar="UNIT", help="Only this unit: NAMESPACE/NAME; may be repeated."
)
@click.option("--prices", metavar="cpu=N,memory=N", help="Tell what requests cost in a month.")
@click.option(
    "--format", type=click.Choice(FORMATS), default="text", show_default=True, help="Its form."
)
@click.option("--output", metavar="FILE", default="-", help="Where it is written; - is stdout.")
@click.option(
    "--artifact", metavar="URL", default="", help="Where all of it is, for a comment that is cut."
)
def command(
    specs: str,
    base: str,
    head: str | None,
    merge_base: bool,
    ledger: str | None,
    env: tuple[str, ...],
    cluster: tuple[str, ...],
    unit: tuple[str, ...],
    prices: str | None,
    format: str,
    output: str,
    artifact: str,
) -> int:
    """Say what changes on every cluster when the specs go from A to B, and what that means.

    Both sides are compiled with the same ledgers and rendered in process: no cluster and no network
    is needed. Secrets are shown by a fingerprint, never by value.
    """
    import gc

    from gati_gitops.cli.compared import ledger_at, sources
    from gati_gitops.preview.mask import Mask
    from gati_gitops.preview.review import review
    from gati_gitops.preview.sides import sides

    gc.disable()  # one pass, everything lives until the end: collecting would find nothing
    session().format = format if format in REPORTS else "text"
    price = _prices(prices)
    one, two, notes = sources(specs, base, head, merge_base=merge_base)
    given = _load(one, two)
    with ledger_at(ledger, specs, given[1].specs.project.spec.output.root) as before:
        narrow = _narrowed(given, env, cluster)
        only = _units(unit, given, before)
        before_side, after_side = _explained(given, lambda: sides(*given, before, narrow))
    found = review(
        before_side,
        after_side,
        Mask(_key()),
        ledger=ledger or "",
        notes=notes,
        prices=price,
        only=only,
    )
    _write(found, after_side, format, output, artifact)
    return 0 if found.same else 1


def _load(base: Source, head: Source) -> tuple[Given, Given]:
    """Read and check both sides; every problem of both is told."""
    from gati_gitops.cli.common import across
    from gati_gitops.errors import Problem
    from gati_gitops.preview.given import Given, WrongSides, seen_from
    from gati_gitops.preview.model import Compared
    from gati_gitops.spec.load import Known, examine

    known = Known()
    found: list[Given] = []
    wrong: list[tuple[str, list[Problem]]] = []
    here = session()
    for name, source in (("base", base), ("head", head)):
        here.sources = {**here.sources, **{source.prefix + n: data for n, data in source.files}}
        specs, problems = examine(source.files, known)
        if specs is None or any(problem.is_error for problem in problems):
            more = across(specs) if specs is not None else ()
            every = [*problems, *(p for p in more if p.code != "unknown-module")]
            wrong.append((name, [seen_from(problem, source.prefix) for problem in every]))
        else:
            compared = Compared(source.name, source.commit, specs.project.metadata.name)
            found.append(Given(specs, compared, source.prefix))
    if wrong:
        _tell(wrong, (base.name, head.name))
        raise WrongSides(wrong)
    return found[0], found[1]


def _explained(
    given: tuple[Given, Given], compiled: Callable[[], tuple[Side, Side]]
) -> tuple[Side, Side]:
    """Both sides compiled; what is wrong is told with the name of the side."""
    from gati_gitops.preview.given import WrongSides

    try:
        return compiled()
    except WrongSides as error:
        _tell([(name, ()) for name in error.sides], [one.compared.name for one in given])
        raise


def _tell(wrong: Iterable[tuple[str, object]], names: Iterable[str]) -> None:
    called = dict(zip(("base", "head"), names, strict=True))
    which = " and of ".join(f"the {name}, {called[name]}" for name, _ in wrong)
    click.echo(f"the specs of {which}, are wrong", err=True)


def _narrowed(
    given: tuple[Given, Given], env: tuple[str, ...], cluster: tuple[str, ...]
) -> Narrowed:
    """What the narrowing options mean; what neither side has is a usage error."""
    from gati_gitops.compiler import Narrowed

    settings = [one.specs.project.spec.environments for one in given]
    environments = sorted({name for side in settings for name in side})
    clusters = sorted({name for side in settings for one in side.values() for name in one.clusters})
    for what, wanted, known in (
        ("environment", env, environments),
        ("cluster", cluster, clusters),
    ):
        for name in wanted:
            if name not in known:
                raise click.UsageError(f"there is no {what} {name}; there are {', '.join(known)}")
    return Narrowed(frozenset(env), frozenset(cluster))


def _units(wanted: tuple[str, ...], given: tuple[Given, Given], before: Snapshot) -> frozenset[str]:
    """The units that the option names, as reviews call them; others are a usage error."""
    if not wanted:
        return frozenset()
    from difflib import get_close_matches

    from gati_gitops.plan.naming import UnitId
    from gati_gitops.preview.side import unit_place

    keys = {(doc.model.metadata.namespace, kind, doc.model.metadata.name)
            for one in given
            for kind, docs in (("handler", one.specs.handlers), ("module", one.specs.modules))
            for doc in docs}  # fmt: skip
    stored = (unit_place(path) for path in before.paths("overlays") if path.endswith("unit.yaml"))
    for place in filter(None, stored):
        kind, _, name = place[3].partition("-")
        keys.add((place[2], "module" if kind == "module" else "handler", name))
    known = {spelled: str(unit) for unit in (UnitId(ns, kind, name) for ns, kind, name in keys)
             for spelled in unit.spellings}  # fmt: skip
    for name in wanted:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"; there is {near[0]}" if near else "; a unit is NAMESPACE/NAME"
            raise click.UsageError(f"there is no unit {name} on either side{hint}")
    return frozenset(known[name] for name in wanted)


def _prices(text: str | None) -> Prices | None:
    from gati_gitops.preview.meaning.totals import HOURS, Prices

    if text is None:
        return None
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        number, _, per = value.partition("/")
        try:
            price = float(number) / (HOURS if per == "month" else 1)
        except ValueError:
            price = -1.0
        if name.strip() not in ("cpu", "memory") or per not in ("", "hour", "month") or price < 0:
            raise click.UsageError("--prices wants cpu=N,memory=N, each with /hour or /month")
        found[name.strip()] = price
    return Prices(found.get("cpu", 0.0), found.get("memory", 0.0))


def _key() -> bytes:
    import secrets

    return os.environ.get("GATI_FINGERPRINT_KEY", "").encode() or secrets.token_bytes(32)


# -- writing -------------------------------------------------------------------------------------


def _write(found: Review, head: Side, format: str, output: str, artifact: str) -> None:
    text = _text(found, head, format, artifact, to_terminal=output == "-")
    if output == "-":
        click.echo(text, nl=False, color=wants_colour(sys.stdout))
        return
    from pathlib import Path

    Path(output).write_text(text, encoding="utf-8")


def _text(found: Review, head: Side, format: str, artifact: str, *, to_terminal: bool) -> str:
    if format == "json":
        from gati_gitops.preview.writers.json import write_json

        return write_json(found)
    if format == "markdown":
        from gati_gitops.preview.writers.markdown import write_markdown

        return write_markdown(found, artifact=artifact)
    if format == "html":
        return _page(found, head)
    if format == "github":
        from gati_gitops.preview.writers.github import write_github

        return write_github(found)
    if format == "sarif":
        from gati_gitops.preview.writers.sarif import write_sarif

        return write_sarif(found)
    import shutil

    from gati_gitops.preview.writers.text import write_text

    width = min(shutil.get_terminal_size((100, 24)).columns, 120)
    return write_text(found, width=width, colour=to_terminal and wants_colour(sys.stdout))


def _page(found: Review, head: Side) -> str:
    from gati_gitops.preview.explain import Explainer
    from gati_gitops.preview.locate import Locator
    from gati_gitops.preview.writers.html import write_html
    from gati_gitops.preview.writers.page_origins import page_origins
    from gati_gitops.tree import MemorySnapshot

    locate = head.locate
    if not isinstance(locate, Locator):
        return write_html(found)
    explainer = Explainer(locate.specs, locate.linked)
    return write_html(found, origins=page_origins(explainer, MemorySnapshot(head.files)))
