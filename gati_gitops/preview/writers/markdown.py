"""A comment on a pull request: a table, the dangers, then folds.

The first line is a marker by which whoever posts it finds the comment to replace. Everything is in
a fixed order, so that two reviews of the same change are the same text. What does not fit is left
out whole, least important first, and the comment says so (``budget.py``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gati_gitops.preview.codes import CODES
from gati_gitops.preview.model import (
    ChangeClass,
    EnvironmentReview,
    Level,
    Review,
)
from gati_gitops.preview.writers import words
from gati_gitops.preview.writers.budget import Piece, fit, units
from gati_gitops.preview.writers.columns import cut
from gati_gitops.preview.writers.escape import block, code, fold, html, link, prose
from gati_gitops.preview.writers.gather import Memory, Said, by_code, numbers, strays, verdict
from gati_gitops.preview.writers.markdown_units import (
    DOTS,
    LONGEST_LINE,
    MOST_NAMES,
    Rank,
    environment_pieces,
    field_lines,
    names,
    object_piece,
)
from gati_gitops.preview.writers.readable import readable

MARKER = "<!-- gati-gitops:preview -->"
LIMIT = 65536
"""Of GitHub's comments; the other forges allow more."""
_LISTS = "list of findings"
_MANY = {
    _LISTS: "lists of findings",
    "change class": "change classes",
    "list of units": "lists of units",
}
_MOST_LINES = 100
"""Units that get a line before others get their differences."""


def write_markdown(review: Review, *, limit: int = LIMIT, artifact: str = "") -> str:
    """The comment, never longer than ``limit``; ``artifact`` is the address of the whole review."""
    review = readable(review)
    pieces = list(_pieces(review))
    fitted = fit(pieces, limit - units(_footer({}, artifact)))
    if fitted.missing:
        # The note takes room as well: the more, the more is missing.
        most = {piece.about: 10**6 for piece in pieces if piece.about}
        fitted = fit(pieces, limit - units(_footer(most, artifact)))
    text = fitted.text + _footer(fitted.missing, artifact)
    return text if units(text) <= limit else f"{MARKER}\n{words.effect(review.radius)}\n"


def _footer(missing: dict[str, int], artifact: str) -> str:
    whole = link("The whole review", artifact) if artifact else ""
    if not missing:
        return f"\n\n{whole}\n" if whole else "\n"
    left = words.listed(
        words.counted(number, about, _MANY.get(about, "")) for about, number in missing.items()
    )
    where = f" {whole} has them." if whole else " Run `gati-gitops preview` for the whole."
    return f"\n\n> [!NOTE]\n> Too long for one comment: details of {left} are left out.{where}\n"


# -- the pieces ----------------------------------------------------------------------------------


def _pieces(review: Review) -> Iterator[Piece]:
    yield from _head(review)
    if review.same:
        return
    yield from _table(review)
    yield _dangers(review)
    yield _findings(review, Level.WARNING, (Rank.TITLES, Rank.WARNINGS))
    yield from _classes(review.classes, words.known_places(review))
    lines, memory = 0, Memory()
    for environment in review.environments:
        for piece in environment_pieces(review, environment, memory):
            lines += piece.about == "unit"
            yield piece if lines <= _MOST_LINES else _later(piece)
    if review.objects:
        yield Piece((), "#### Beside the environments")
        yield from map(object_piece, review.objects)
    yield _findings(review, Level.NOTE, (Rank.REST, Rank.REST))


def _later(piece: Piece) -> Piece:
    """One of very many: its line waits for what is worth more, unless it is itself."""
    later = tuple(
        (rank if rank <= Rank.DANGEROUS else max(rank, Rank.MORE_LINES), text)
        for rank, text in piece.lengths
    )
    return replace(piece, lengths=later)


def _head(review: Review) -> Iterator[Piece]:
    found = verdict(review) or "no dangers"
    title = "nothing changes" if review.same else f"{found} in {words.reach(review.radius)}"
    base, head = (code(cut(side, 120)) for side in words.compared(review))
    with_what = prose(cut(words.ledgers(review), 200))
    about = f"{base} → {head}{', ' + with_what if with_what else ''}."
    if not review.same:
        about += f" {words.effect(review.radius).capitalize()}."
    yield Piece((), f"{MARKER}\n### Preview: {title}\n\n{about}")
    for note in review.notes:
        yield Piece(((Rank.HEAD, f"> {prose(note)}"),), about="note")


def _table(review: Review) -> Iterator[Piece]:
    """One row for each environment; a row is a piece, for a fleet may have hundreds."""
    if not review.environments:
        return
    sums = any(environment.totals for environment in review.environments)
    money = any(
        environment.totals and environment.totals.least_after.cost is not None
        for environment in review.environments
    )
    columns = ["environment", "units", "objects", "🔴", "🟠"]
    columns += ["pods", "CPU", "memory"] * sums + ["cost a month"] * money
    rule = "|".join([":---", *["---:"] * (len(columns) - 1)])
    yield Piece((), f"| {' | '.join(columns)} |\n|{rule}|")
    counts = _counts(review)
    for environment in review.environments:
        cells = _cells(environment, counts)[: len(columns)]
        yield Piece(((Rank.HEAD, f"| {' | '.join(cells)} |"),), about="environment", gap="\n")
    if sums and not any(one.totals and one.totals.whole for one in review.environments):
        yield Piece((), "Pods at their fewest, and what they request: of the units that change.")


def _counts(review: Review) -> Counter[tuple[str, Level]]:
    """How much is said of each environment."""
    return Counter(
        (environment, level)
        for level in (Level.DANGER, Level.WARNING)
        for _, told in by_code(review, level)
        for one in told
        for environment in {target.environment for target in one.targets}
    )


def _cells(environment: EnvironmentReview, counts: Counter[tuple[str, Level]]) -> list[str]:
    unit_names = {unit.unit for cluster in environment.clusters for unit in cluster.units}
    cells = [
        code(environment.name, cell=True),
        f"{len(unit_names):,}",
        _objects(environment),
        *(
            f"**{number}**" if (number := counts[environment.name, level]) else ""
            for level in (Level.DANGER, Level.WARNING)
        ),
    ]
    if environment.totals:
        least = environment.totals.least_before, environment.totals.least_after
        for name, _, new, delta in words.measures(*least):
            if "limits" not in name:
                cells.append(f"{new} (**{delta}**)" if delta else new)
    return [*cells, *[""] * 4]


def _objects(environment: EnvironmentReview) -> str:
    """``+3 ~12 -1``"""
    counts: dict[str, int] = dict.fromkeys(words.SIGNS.values(), 0)
    for cluster in environment.clusters:
        inside = (change for unit in cluster.units for _, change in unit.all_objects())
        for change in (*inside, *cluster.objects):
            counts[words.SIGNS[change.action]] += 1
    return " ".join(f"`{sign}{number}`" for sign, number in counts.items() if number)


# -- findings ------------------------------------------------------------------------------------


def _dangers(review: Review) -> Piece:
    """Never folded; where there are very many, only the first of each kind."""
    groups = _by_code(review, Level.DANGER)
    if not groups:
        return Piece(())
    number = words.counted(numbers(review)[Level.DANGER], "danger")
    texts = dict.fromkeys(
        "> [!CAUTION]\n" + "\n".join(f"> {line}".rstrip() for line in _listing(groups, most))
        for most in (1, 5, 20, 100, 10**9)
    )
    return Piece(
        tuple((Rank.DANGERS, text) for text in texts),
        f"> [!CAUTION]\n> **{number}**",
        about=_LISTS,
    )


def _findings(review: Review, level: Level, ranks: tuple[int, int]) -> Piece:
    """One fold for a level; shorter, only its first findings, or only their number."""
    groups = _by_code(review, level)
    number = sum(len(told) for _, told in groups)
    if not number:
        return Piece(())
    summary = f"{DOTS[level]} <b>{words.counted(number, level)}</b>"
    texts = ["\n".join(_listing(groups, most)) for most in (3, 20, 10**9)]
    short, rest = ranks
    lengths = dict.fromkeys(fold(summary, text) for text in texts)
    return Piece(
        tuple((short if not at else rest, text) for at, text in enumerate(lengths)),
        summary.replace("<b>", "**").replace("</b>", "**"),
        about=_LISTS,
    )


def _by_code(review: Review, level: Level) -> list[tuple[str, list[Said]]]:
    groups = []
    for name, told in by_code(review, level):
        meaning = CODES.get(name)
        why = f": {meaning.why}" if meaning and meaning.why else ""
        groups.append((f"**{meaning.title if meaning else prose(name)}**{why}", told))
    return groups


def _listing(groups: Sequence[tuple[str, list[Said]]], most: int) -> list[str]:
    lines: list[str] = []
    for title, told in groups:
        lines += [*[""] * bool(lines), title, "", *map(_finding, told[:most])]
        if len(told) > most:
            lines.append(f"- and {len(told) - most:,} more")
    return lines


def _finding(one: Said) -> str:
    label = f"**{one.about}**" if len(one.units) > 1 else code(cut(one.about, 120))
    message = prose(cut(one.message, LONGEST_LINE))
    parts = [f"{label}: {message}" if label else message]
    if len(one.units) > 1:
        parts.append(names(one.units))
    if one.where:
        parts.append(prose(one.where))
    if place := one.place:
        parts.append(code(f"{place.file}:{place.line}" if place.line else place.file))
    if one.remedy:
        parts.append(f"*fix:* {prose(cut(one.remedy, LONGEST_LINE))}")
    return f"- {' · '.join(parts)}"


# -- classes -------------------------------------------------------------------------------------


def _classes(classes: Sequence[ChangeClass], known: words.Known) -> Iterator[Piece]:
    if classes:
        yield Piece((), "#### The same change in many places")
    for change in classes:
        number, _, where = words.class_reach(change, known).partition(" · ")
        summary = f"<b>{html(change.id)} × {html(number)}</b> {html(cut(change.title, 200))}" + (
            f" · {html(where)}" if where else ""
        )
        lines = list(field_lines(change.fields))
        parts = [block(lines)] if lines else []
        targeted = sorted({target.unit for target in change.targets if target.unit})
        listed = [names(targeted, 200)] if targeted else []
        odd = [_outlier_block(change, known)] if change.outliers else []
        yield Piece(
            (
                (Rank.TITLES, f"- {summary}"),
                (
                    Rank.CLASSES,
                    fold(summary, "\n\n".join([*parts, *odd]) or "No field of its own."),
                ),
                (Rank.REST, fold(summary, "\n\n".join([*parts, *odd, *listed]) or "…")),
            ),
            about="change class",
        )


def _outlier_block(change: ChangeClass, known: words.Known) -> str:
    lines: list[str] = []
    odd = strays(change)
    for targets, fields in odd[:MOST_NAMES]:
        where = words.places(targets, known)
        lines += [f"@@ {targets[0].unit} in {where} @@", *field_lines(fields)]
    more = len(odd) - MOST_NAMES
    end = f"\n\nand {more:,} more" if more > 0 else ""
    return f"{words.counted(len(odd), 'outlier')}:\n\n{block(lines)}{end}"
