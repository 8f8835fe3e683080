"""Reading only some fields of an answer: the others are skipped where they stand, and cost nothing.

Half of what an API server sends is the record of who wrote which field, and most of the rest is
never looked at. A shape is a TypedDict of what is; objects stay plain dictionaries.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from threading import Lock
from typing import Any, Generic, TypedDict, TypeVar

T = TypeVar("T")
Shape = Any
"""A TypedDict."""
LEARNING = Lock()
"""Held by whoever lets msgspec learn a type. It keeps what it learns with the type, and before it
has finished: another thread that reads by the half of it ends the process with a fault."""


class Head(TypedDict, total=False):
    """What is ever looked at of an object's metadata."""

    name: str
    namespace: str
    labels: Any
    annotations: Any
    generation: Any
    uid: Any
    creationTimestamp: Any
    deletionTimestamp: Any


class _Listed(TypedDict, Generic[T], total=False):
    kind: str
    metadata: Any
    items: list[T] | None


@lru_cache(maxsize=64)
def reader(shape: Shape) -> Callable[[bytearray], Any]:
    """A parser of lists of such objects; a ValueError for what is none."""
    import msgspec

    listed: Any = _Listed
    with LEARNING:
        decoder: Any = msgspec.json.Decoder(listed[shape])

    def read(raw: bytearray) -> Any:
        try:
            return decoder.decode(raw)
        except msgspec.DecodeError as error:
            raise ValueError(str(error)) from None

    return read
