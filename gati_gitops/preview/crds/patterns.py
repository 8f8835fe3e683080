"""Whether every text that one pattern takes is taken by another.

Both automata are walked side by side over all texts at once. A text that the first takes and the
second does not is a witness, and the shortest one is given; when there is none left to look at, it
is proved that there is none. Some pairs are too large or use what is not understood: then nobody
knows, and the answer says why.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from gati_gitops.preview.crds.expressions import LAST, Machine, Set, Unsupported, machine

MAX_WORK = 60_000
"""States that are looked at, all letters of one place together; a second or so."""
_NICE = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-._/: "


@dataclass(frozen=True, slots=True)
class Answer:
    """``witness`` is a text that only the first takes; ``unknown`` says why nobody knows."""

    witness: str | None = None
    unknown: str = ""

    @property
    def included(self) -> bool:
        return self.witness is None and not self.unknown


def included(old: str, new: str, shortest: int = 0, longest: int | None = None) -> Answer:
    """Whether ``new`` takes all that ``old`` takes of texts between two lengths.

    An empty pattern takes everything, as no pattern does.
    """
    try:
        first, second = _Walk(machine(old)), _Walk(machine(new))
    except Unsupported as error:
        return Answer(unknown=str(error))
    letters = sorted((_letter(*part) for part in _partition(first, second)), key=_oddity)
    begin = (first.begin, second.begin, 0)
    seen = {begin}
    waiting = deque([(begin, "")])
    work = 0
    while waiting:
        (a, b, length), text = waiting.popleft()
        work += 1 + len(a.states) + len(b.states)
        if work > MAX_WORK:
            return Answer(unknown="they are too large to compare")
        if length >= shortest and first.accepts(a) and not second.accepts(b):
            return Answer(witness=text)
        if longest is not None and len(text) >= longest:
            continue
        for letter in letters:
            pair = (first.step(a, letter), second.step(b, letter), min(length + 1, shortest))
            if pair in seen or pair[0].dead or pair[1].done:
                continue
            seen.add(pair)
            waiting.append((pair, text + letter))
    return Answer()


@dataclass(frozen=True, slots=True)
class _At:
    """Where a machine may be after some text; ``done`` once a match needs no more of it."""

    states: frozenset[int]
    done: bool = False
    first: bool = False

    @property
    def dead(self) -> bool:
        return not self.states and not self.done


class _Walk:
    """A machine, run over a text from anywhere in it."""

    def __init__(self, made: Machine) -> None:
        self._made = made
        self.begin = self._at(frozenset((made.start,)), first=True)
        self._again = self._at(frozenset((made.start,)), first=False)
        self.step = cache(self._step)
        self.accepts = cache(self._accepts)

    def sets(self) -> Iterator[Set]:
        for steps in self._made.chars.values():
            for chars, _ in steps:
                yield chars

    def _at(self, states: frozenset[int], *, first: bool) -> _At:
        reached = self._made.reach(states, start=first, end=False)
        if self._made.accept in reached:
            return _At(frozenset(), done=True)
        # What leads nowhere but by the start of the text is not worth remembering after it.
        kept = frozenset(
            state
            for state in reached
            if state in self._made.chars
            or any(when == "$" for when, _ in self._made.free.get(state, ()))
        )
        return _At(kept, first=first)

    def _step(self, at: _At, letter: str) -> _At:
        if at.done:
            return at
        code = ord(letter)
        targets = {
            target
            for state in at.states
            for chars, target in self._made.chars.get(state, ())
            if any(low <= code <= high for low, high in chars)
        }
        found = self._at(frozenset(targets), first=False)
        if found.done or self._again.done:
            return _At(frozenset(), done=True)
        return _At(found.states | self._again.states)

    def _accepts(self, at: _At) -> bool:
        return at.done or self._made.accept in self._made.reach(at.states, start=at.first, end=True)


def _partition(*walks: _Walk) -> list[tuple[int, int]]:
    """All characters, in ranges that no step tells apart."""
    cuts = {0, LAST + 1}
    for walk in walks:
        for chars in walk.sets():
            for low, high in chars:
                cuts |= {low, high + 1}
    points = sorted(cuts)
    return [(low, after - 1) for low, after in pairwise(points)]


def _oddity(letter: str) -> tuple[int, str]:
    """What a person reads best comes first, so that the first witness is a readable one."""
    found = _NICE.find(letter)
    return (found if found >= 0 else len(_NICE), letter)


def _letter(low: int, high: int) -> str:
    """A character of the range that a person can read, if it has one."""
    for nice in _NICE:
        if low <= ord(nice) <= high:
            return nice
    for code in (33, 0xE4, 0x4E00):
        if low <= code <= high:
            return chr(code)
    return chr(low if not 0xD800 <= low <= 0xDFFF else min(0xE000, high))
