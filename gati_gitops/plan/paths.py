r"""Paths of routes: what each matches, which of two wins, and what is left of one beside others.

A path without parameters matches itself and what lies below it, whole segments only. A path with
parameters (``/users/:id``) matches just so many segments, as the framework's own router does. When
several match a request, the one with most segments wins, then the one that is literal where the
other has a parameter, from the left: ``/users/me`` before ``/users/:id`` before ``/users``.

Gateways disagree about that. Gateway API leaves open where a regular expression stands (Istio puts
it behind every prefix, Envoy Gateway, Contour and kgateway before), and Istio asks VirtualServices
of one host in the order of their age. So a path can be written as the requests that are left to it
when those of stronger paths are taken out: then no order matters. ``/users`` beside ``/users/:id``
is ``/users(?:/?|/[^/]+/.+)``. RE2 has no negative look-ahead; "any segment but me" is spelled out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

MARK = "\0"
"""A parameter; the whole segment when it stands alone."""
ANY = "[^/]+"
NOTHING = "^$"
"""Matches no request: a path begins with a slash."""
MAX_PATH = 1024
"""The longest that Gateway API takes."""

_PARAMETER = re.compile(r":[A-Za-z_][A-Za-z0-9_]*")
_IN_CLASS = re.compile(r"([\]\[^\\-])")
_SPECIAL = re.compile(r"([.+*?()|\[\]{}^$\\])")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A path taken apart. Parameters lose their names: they match the same whatever they are."""

    segments: tuple[str, ...]
    open: bool
    """Also what lies below."""

    @property
    def rank(self) -> tuple[int, tuple[int, ...]]:
        """Of two patterns that match one request, the higher rank wins."""
        return len(self.segments), tuple(_strength(segment) for segment in self.segments)

    def matches(self, path: str) -> bool:
        """Whether a request for ``path`` is one of this pattern's."""
        found = parse_request(path)
        if len(found) < len(self.segments) or (not self.open and len(found) > len(self.segments)):
            return False
        return all(_fits(own, theirs) for own, theirs in zip(self.segments, found, strict=False))


def parse_request(path: str) -> tuple[str, ...]:
    """The segments of a request's path; one slash at its end means nothing."""
    trimmed = path.removesuffix("/")
    return tuple(trimmed.split("/")[1:])


@lru_cache(maxsize=65536)
def parse(path: str) -> Pattern:
    trimmed = path.rstrip("/")
    segments = tuple(_PARAMETER.sub(MARK, segment) for segment in trimmed.split("/")[1:])
    return Pattern(segments, open=not any(MARK in segment for segment in segments))


def overlap(one: Pattern, two: Pattern) -> bool:
    """Whether some request matches both."""
    short, long = sorted((one, two), key=lambda pattern: len(pattern.segments))
    if len(short.segments) < len(long.segments) and not short.open:
        return False
    pairs = zip(short.segments, long.segments, strict=False)
    return all(_compatible(a, b) for a, b in pairs)


def _strength(segment: str) -> int:
    return 0 if segment == MARK else 1 if MARK in segment else 2


def _fits(segment: str, text: str) -> bool:
    if MARK not in segment:
        return segment == text
    return re.fullmatch(_segment(segment), text) is not None


def _compatible(one: str, two: str) -> bool:
    if MARK in one and MARK in two:
        return True
    return _fits(one, two) if MARK in one else _fits(two, one)


# -- what is left --------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def regex(path: str, beside: tuple[str, ...] = ()) -> str:
    """RE2 for the requests of ``path`` without those of the stronger paths ``beside`` it.

    Anchored; empty when nothing is left. A parameter inside of a segment (``file-:name``) cannot be
    taken out of anything: such a neighbour is passed over, and ``entangled`` tells.
    """
    own = parse(path)
    left = _left(own.segments, own.open, tuple(parse(other) for other in beside))
    return "" if left is None else f"^{left}$"


def entangled(path: str, beside: Iterable[str]) -> tuple[str, ...]:
    """Those of the stronger paths that cannot be told apart from ``path`` by an expression."""
    own = parse(path)
    return tuple(
        other for other in beside if overlap(own, parse(other)) and not _separable(own, other)
    )


def _separable(own: Pattern, other: str) -> bool:
    for index, segment in enumerate(parse(other).segments):
        mine = own.segments[index] if index < len(own.segments) else MARK
        if mine != segment and 1 in (_strength(mine), _strength(segment)) and MARK in mine:
            return False
    return True


def _left(own: tuple[str, ...], below: bool, winners: Sequence[Pattern]) -> str | None:
    """The rest of a request after some segments; None when a winner takes all of it."""
    if any(not winner.segments and winner.open for winner in winners):
        return None
    if own:
        head, tail = own[0], own[1:]
        if head == MARK:
            return _one_of(_branches(tail, below, winners))
        rest = _left(tail, below, [_after(w) for w in winners if w.segments and _in(head, w)])
        return None if rest is None else f"/{_segment(head)}{rest}"
    ended = any(not winner.segments for winner in winners)
    if not below:
        return None if ended else "/?"
    deeper = [winner for winner in winners if winner.segments]
    if not deeper:
        return "/.+" if ended else "(?:/.*)?"
    return _one_of([*([] if ended else ["/?"]), *_branches((), below, deeper)])


def _branches(tail: tuple[str, ...], below: bool, winners: Sequence[Pattern]) -> Iterator[str]:
    """One more segment, whatever it is: each word that a winner asks for, and any other."""
    going = [w for w in winners if w.segments and _strength(w.segments[0]) != 1]
    words = sorted({w.segments[0] for w in going} - {MARK})
    for word in words:
        rest = _left(tail, below, [_after(w) for w in going if w.segments[0] in (word, MARK)])
        if rest is not None:
            yield f"/{_escape(word)}{rest}"
    rest = _left(tail, below, [_after(w) for w in going if w.segments[0] == MARK])
    if rest is not None:
        yield f"/{_other(words)}{rest}"


def _in(head: str, winner: Pattern) -> bool:
    first = winner.segments[0]
    return first in (head, MARK) if MARK in head else _fits(first, head)


def _after(winner: Pattern) -> Pattern:
    return Pattern(winner.segments[1:], winner.open)


def _other(words: Iterable[str]) -> str:
    """Any segment that is none of ``words``."""
    return _unlike(set(words), may_end=False) if words else ANY


def _unlike(words: set[str], *, may_end: bool) -> str:
    starts: dict[str, set[str]] = {}
    for word in words - {""}:
        starts.setdefault(word[0], set()).add(word[1:])
    if not starts:
        return ANY
    first = _IN_CLASS.sub(r"\\\1", "".join(sorted(starts)))
    parts = [f"[^/{first}][^/]*"]
    parts += [
        _escape(char) + _unlike(rest, may_end="" not in rest)
        for char, rest in sorted(starts.items())
    ]
    return f"(?:{'|'.join(parts)}){'?' if may_end else ''}"


def _one_of(choices: Iterable[str]) -> str | None:
    found = list(choices)
    if len(found) < 2:
        return found[0] if found else None
    return f"(?:{'|'.join(found)})"


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


def _segment(segment: str) -> str:
    return ANY.join(_escape(part) for part in segment.split(MARK))


# -- neighbours ----------------------------------------------------------------------------------


@dataclass(slots=True)
class _Node:
    below: dict[str, _Node] = field(default_factory=dict)
    path: str = ""
    open: bool = False
    parameters: bool = False
    """Whether a path with parameters, whole segments all of them, ends here or below."""


class Neighbours:
    """All paths behind one door, by their segments: asking for one costs what overlaps with it."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._root = _Node()
        for path in sorted(paths):
            node, pattern = self._root, parse(path)
            parameters = not pattern.open and 1 not in pattern.rank[1]
            for segment in pattern.segments:
                node = node.below.setdefault(segment, _Node())
                node.parameters |= parameters
            node.path, node.open = path, pattern.open

    def stronger(self, path: str) -> tuple[str, ...]:
        """Paths that win over ``path``, without those that lie below another of them."""
        own, nodes = parse(path), self._reached(path)
        if own.open:
            found = [path for node in nodes for path in _topmost(node)]
        else:
            found = [n.path for n in nodes if n.path and parse(n.path).rank > own.rank]
        return tuple(sorted(found))

    def crossed(self, path: str) -> bool:
        """Whether a path with parameters wins over ``path``, itself or below a stronger one."""
        nodes = self._reached(path)
        return any(child.parameters for node in nodes for child in node.below.values())

    def _reached(self, path: str) -> list[_Node]:
        """Where a request for ``path`` may have come to after all its segments."""
        nodes = [self._root]
        for segment in parse(path).segments:
            nodes = [
                child
                for node in nodes
                for name, child in _steps(node, segment)
                if _compatible(segment, name)
            ]
        return nodes


def _steps(node: _Node, segment: str) -> Iterable[tuple[str, _Node]]:
    if MARK in segment or any(_strength(name) == 1 for name in node.below):
        return node.below.items()
    return [(name, node.below[name]) for name in (segment, MARK) if name in node.below]


def _topmost(node: _Node) -> Iterator[str]:
    for child in node.below.values():
        if child.path:
            yield child.path
        if not child.open:
            yield from _topmost(child)
