"""JSON with a million samples in it, read without making a million lists.

Samples stand as ``"values":[[time,"value"],…]``, and a quote within a text is always escaped, so
these arrays can be cut out before the rest is read as JSON. They are taken apart by a few passes
over bytes. Whatever does not look just like that is read the ordinary way.
"""

from __future__ import annotations

import json
import re
from typing import Any

_BEGIN = re.compile(rb'"values":\[(?=\[)')
_NOISE = b'[]"'
Samples = tuple[tuple[float, ...], tuple[float, ...]]


def parsed(body: bytes) -> tuple[Any, list[Samples]]:
    """An answer, where each array of samples is the number of an entry in a list. ValueError."""
    kept: list[bytes] = []
    samples: list[Samples] = []
    done = 0
    while (found := _BEGIN.search(body, done)) is not None:
        start = found.end()
        end = body.find(b"]]", start) + 1
        taken = _taken(body[start:end]) if end else None
        if taken is None:  # not as it is usually written
            return json.loads(body), []
        kept += [body[done : start - 1], str(len(samples)).encode()]
        samples.append(taken)
        done = end + 1
    kept.append(body[done:])
    return json.loads(b"".join(kept)), samples


def _taken(part: bytes) -> Samples | None:
    """Times and values of ``[time,"value"],…``."""
    count = part.count(b"],[") + 1
    if part.count(b"[") != count or part.count(b'"') != 2 * count:
        return None
    try:
        numbers = tuple(map(float, part.translate(None, _NOISE).decode("ascii").split(",")))
    except ValueError:
        return None
    return (numbers[::2], numbers[1::2]) if len(numbers) == 2 * count else None
