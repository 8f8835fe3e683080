"""Regular expressions as RE2 reads them, turned into automata that can be walked side by side.

An expression becomes states with two kinds of steps: over a character of a set, and for free,
perhaps only at the start or the end of the text. As in Kubernetes an expression may match anywhere
in a text unless it is anchored. What cannot be expressed so (word boundaries, flags) is refused
with Unsupported; RE2 itself has no look-around and no back-references.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

LAST = 0x10FFFF
MAX_STATES = 5_000

Set = tuple[tuple[int, int], ...]
"""Characters as ranges, sorted, apart from each other."""


class Unsupported(Exception):
    """An expression that is not understood here."""


def union(*sets: Set) -> Set:
    found: list[tuple[int, int]] = []
    for low, high in sorted(part for one in sets for part in one):
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return tuple(found)


def negated(one: Set) -> Set:
    found, start = [], 0
    for low, high in union(one):
        if low > start:
            found.append((start, low - 1))
        start = high + 1
    return (*found, (start, LAST)) if start <= LAST else tuple(found)


def _of(text: str) -> Set:
    return union(tuple((ord(char), ord(char)) for char in text))


_DIGIT: Set = ((48, 57),)
_LOWER: Set = ((97, 122),)
_UPPER: Set = ((65, 90),)
_WORD = union(_DIGIT, _LOWER, _UPPER, _of("_"))
_SPACE = _of("\t\n\f\r ")
_CLASSES = {
    "d": _DIGIT, "D": negated(_DIGIT), "w": _WORD, "W": negated(_WORD),
    "s": _SPACE, "S": negated(_SPACE),
}  # fmt: skip
_POSIX = {
    "alnum": union(_DIGIT, _LOWER, _UPPER), "alpha": union(_LOWER, _UPPER), "digit": _DIGIT,
    "lower": _LOWER, "upper": _UPPER, "word": _WORD, "space": union(_SPACE, _of("\v")),
    "xdigit": union(_DIGIT, ((65, 70), (97, 102))), "blank": _of("\t "),
    "punct": ((33, 47), (58, 64), (91, 96), (123, 126)),
}  # fmt: skip
_CONTROL = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
_DOT = negated(_of("\n"))


@dataclass(slots=True)
class Machine:
    """States are numbers; ``start`` leads to ``accept``."""

    start: int = 0
    accept: int = 0
    chars: dict[int, list[tuple[Set, int]]] = field(default_factory=dict)
    free: dict[int, list[tuple[str, int]]] = field(default_factory=dict)
    """Steps for free: "" always, "^" at the start of the text only, "$" at its end only."""
    size: int = 0

    def state(self) -> int:
        if self.size >= MAX_STATES:
            raise Unsupported("it is too large")
        self.size += 1
        return self.size - 1

    def over(self, source: int, chars: Set, target: int) -> None:
        self.chars.setdefault(source, []).append((chars, target))

    def freely(self, source: int, target: int, when: str = "") -> None:
        self.free.setdefault(source, []).append((when, target))

    def reach(self, states: frozenset[int], *, start: bool, end: bool) -> frozenset[int]:
        """All that can be reached for free, the accepting state included."""
        found, waiting = set(states), list(states)
        while waiting:
            for when, target in self.free.get(waiting.pop(), ()):
                open_ = not when or (start if when == "^" else end)
                if open_ and target not in found:
                    found.add(target)
                    waiting.append(target)
        return frozenset(found)


Part = Callable[[Machine, int], int]
"""Adds itself behind a state and gives the state after it."""


def machine(pattern: str) -> Machine:
    """The automaton of an expression."""
    made = Machine()
    made.start = made.state()
    parser = _Parser(pattern)
    part = parser.either()
    if parser.rest:
        raise Unsupported("its parentheses do not match")
    made.accept = part(made, made.start)
    return made


class _Parser:
    def __init__(self, pattern: str) -> None:
        self.text = pattern
        self.at = 0
        self.depth = 0

    @property
    def rest(self) -> bool:
        return self.at < len(self.text)

    def _take(self) -> str:
        if not self.rest:
            raise Unsupported("it ends too early")
        self.at += 1
        return self.text[self.at - 1]

    def _next_is(self, text: str) -> bool:
        if self.text.startswith(text, self.at):
            self.at += len(text)
            return True
        return False

    def either(self) -> Part:
        self.depth += 1
        if self.depth > 50:
            raise Unsupported("it is nested too deeply")
        options = [self._sequence()]
        while self._next_is("|"):
            options.append(self._sequence())
        self.depth -= 1
        return options[0] if len(options) == 1 else _either(options)

    def _sequence(self) -> Part:
        parts: list[Part] = []
        while self.rest and self.text[self.at] not in "|)":
            parts.append(self._repeated(self._one()))
        return _sequence(parts)

    def _repeated(self, part: Part) -> Part:
        while self.rest:
            before = self.at
            sign = self._take()
            if sign == "*":
                part = _repeat(part, 0, None)
            elif sign == "+":
                part = _repeat(part, 1, None)
            elif sign == "?":
                part = _repeat(part, 0, 1)
            elif sign == "{" and (bounds := self._bounds()) is not None:
                part = _repeat(part, *bounds)
            else:
                self.at = before
                return part
            self._next_is("?")  # Lazy or not, the same texts match.
        return part

    def _bounds(self) -> tuple[int, int | None] | None:
        """``2}``, ``2,}`` or ``2,5}``; anything else is a plain brace."""
        end = self.text.find("}", self.at)
        low, comma, high = self.text[self.at : end].partition(",") if end > 0 else ("", "", "")
        if not low.isdecimal() or (high and not high.isdecimal()):
            return None
        self.at = end + 1
        if comma and not high:
            return int(low), None
        return int(low), int(high or low)

    def _one(self) -> Part:
        char = self._take()
        if char == "(":
            if self._next_is("?") and not self._next_is(":"):
                named = self._next_is("P<") or self._next_is("<")
                if not named:
                    raise Unsupported("it sets flags")
                self.at = self.text.index(">", self.at) + 1 if ">" in self.text[self.at :] else -1
                if self.at < 0:
                    raise Unsupported("a group's name does not end")
            part = self.either()
            if not self._next_is(")"):
                raise Unsupported("its parentheses do not match")
            return part
        if char in "^$":
            return _anchor(char)
        if char == "[":
            return _char(self._set())
        if char == ".":
            return _char(_DOT)
        if char == "\\":
            if self.rest and self.text[self.at] in "Az":
                return _anchor("^" if self._take() == "A" else "$")
            return _char(self._escaped())
        if char in "*+?":
            raise Unsupported("there is nothing to repeat")
        return _char(_of(char))

    def _escaped(self) -> Set:
        char = self._take()
        if char in _CLASSES:
            return _CLASSES[char]
        if char in _CONTROL:
            return _of(_CONTROL[char])
        if char == "x":
            digits = self._take()
            if digits == "{":
                digits = ""
                while (digit := self._take()) != "}":
                    digits += digit
            else:
                digits += self._take()
            try:
                return ((int(digits, 16), int(digits, 16)),)
            except ValueError:
                raise Unsupported("it has a character that is no number") from None
        if char.isalnum():
            raise Unsupported(f"it uses \\{char}")
        return _of(char)

    def _set(self) -> Set:
        inverse = self._next_is("^")
        parts: list[Set] = []
        first = True
        while first or not self._next_is("]"):
            first = False
            if self._next_is("[:"):
                end = self.text.find(":]", self.at)
                name = self.text[self.at : max(end, self.at)]
                wanted = _POSIX.get(name.removeprefix("^"))
                if wanted is None:
                    raise Unsupported(f"it uses [:{name}:]")
                parts.append(negated(wanted) if name.startswith("^") else wanted)
                self.at = end + 2
                continue
            low = self._member()
            if len(low) == 1 and low[0][0] == low[0][1] and self._range_follows():
                high = self._member()
                if len(high) != 1 or high[0][0] != high[0][1] or high[0][0] < low[0][0]:
                    raise Unsupported("it has a range that runs backwards")
                low = ((low[0][0], high[0][0]),)
            parts.append(low)
        found = union(*parts)
        return negated(found) if inverse else found

    def _member(self) -> Set:
        char = self._take()
        return self._escaped() if char == "\\" else _of(char)

    def _range_follows(self) -> bool:
        if self.text.startswith("-", self.at) and not self.text.startswith("-]", self.at):
            self.at += 1
            return True
        return False


def _char(chars: Set) -> Part:
    def add(made: Machine, source: int) -> int:
        target = made.state()
        made.over(source, chars, target)
        return target

    return add


def _anchor(when: str) -> Part:
    def add(made: Machine, source: int) -> int:
        target = made.state()
        made.freely(source, target, when)
        return target

    return add


def _sequence(parts: list[Part]) -> Part:
    def add(made: Machine, source: int) -> int:
        for part in parts:
            source = part(made, source)
        return source

    return add


def _either(options: list[Part]) -> Part:
    def add(made: Machine, source: int) -> int:
        ends = []
        for option in options:
            begin = made.state()
            made.freely(source, begin)
            ends.append(option(made, begin))
        target = made.state()
        for end in ends:
            made.freely(end, target)
        return target

    return add


def _repeat(part: Part, low: int, high: int | None) -> Part:
    def add(made: Machine, source: int) -> int:
        for _ in range(low):
            source = part(made, source)
        target = made.state()
        if high is None:
            begin = made.state()
            made.freely(source, begin)
            made.freely(part(made, begin), begin)
            made.freely(begin, target)
            return target
        for _ in range(high - low):
            made.freely(source, target)
            source = part(made, source)
        made.freely(source, target)
        return target

    return add
