"""A document that fits a limit by saying less of what matters less, never by being cut.

A piece stands for one part of the document in several lengths, from nothing to everything. All
begin at their shortest; then, by rank, each is made longer as long as the whole still fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Piece:
    """One part, whole in each of its lengths."""

    lengths: tuple[tuple[int, str], ...]
    """Rank and text, from the shortest to the longest. A low rank is served first."""
    shortest: str = ""
    """What stands there in any case."""
    about: str = ""
    """What a reader misses when it is not at its longest, in one word: ``unit``."""
    gap: str = field(default="\n\n")
    """What stands before it."""


@dataclass(frozen=True, slots=True)
class Fitted:
    text: str
    missing: dict[str, int]
    """How many pieces of each sort are not at their longest."""


def units(text: str) -> int:
    """A text's length as the strictest of the forges counts it.

    Some count code points, some UTF-16 units; where they are the same characters, UTF-16 units are
    never fewer.
    """
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def fit(pieces: Sequence[Piece], limit: int) -> Fitted:
    """The pieces in their order, together no longer than the limit if their shortest are not."""
    chosen = [piece.shortest for piece in pieces]
    reached = [-1] * len(pieces)
    used = sum(_cost(piece, text) for piece, text in zip(pieces, chosen, strict=True))
    steps = sorted(
        (rank, at, length)
        for at, piece in enumerate(pieces)
        for length, (rank, _) in enumerate(piece.lengths)
    )
    for _, at, length in steps:
        piece, text = pieces[at], pieces[at].lengths[length][1]
        change = _cost(piece, text) - _cost(piece, chosen[at])
        if length > reached[at] and used + change <= limit:
            chosen[at], reached[at], used = text, length, used + change
    missing: dict[str, int] = {}
    for piece, text in zip(pieces, chosen, strict=True):
        if piece.about and piece.lengths and text != piece.lengths[-1][1]:
            missing[piece.about] = missing.get(piece.about, 0) + 1
    shown = ((piece.gap + text) for piece, text in zip(pieces, chosen, strict=True) if text)
    return Fitted("".join(shown).lstrip("\n"), missing)


def _cost(piece: Piece, text: str) -> int:
    return units(text) + len(piece.gap) if text else 0
