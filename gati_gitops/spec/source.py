"""Where a document came from: the files that made it, and the place of any of its fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gati_gitops.errors import Place
from gati_gitops.yamlio.strict import Mark, Path, marks


@dataclass(frozen=True, slots=True)
class Layer:
    """One document of one file. The bytes stay, so that positions are made only when needed."""

    file: str
    number: int
    content: bytes = field(repr=False)

    def mark(self, path: Path) -> Mark | None:
        return marks(self.content, self.number).get(path)


def locate(layers: Sequence[Layer], path: Path) -> tuple[Layer, Mark | None, bool]:
    """The layer that set a field, its mark there, and whether it is the field's own.

    The last layer that has the field wins; where none has it, the one that has its nearest parent.
    """
    for length in range(len(path), -1, -1):
        for layer in reversed(layers):
            mark = layer.mark(path[:length])
            if mark is not None:
                return layer, mark, length == len(path)
    return layers[-1], None, False


def place_of(layers: Sequence[Layer], path: Path, *, of_key: bool = False) -> Place:
    """The position of a field: its value when that is a scalar, else (or if asked) its key."""
    layer, mark, exact = locate(layers, path)
    if mark is None:
        return Place(layer.file)
    line, column = mark.value if exact and mark.text is not None and not of_key else mark.key
    return Place(layer.file, line, column)
