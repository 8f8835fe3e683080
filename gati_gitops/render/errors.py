"""Why a folder could not be rendered.

Two kinds, told apart because they ask for different things: `Broken` folders fail in kustomize
too, and `Unsupported` ones use something that this renderer does not do. Neither is ever answered
with a guess.
"""

from __future__ import annotations

from gati_gitops.errors import GatiError, Place


class RenderError(GatiError):
    """A folder cannot be rendered; `place` is the file, `field` what in it is the matter."""

    exit_code = 3

    def __init__(
        self, message: str, *, file: str = "", line: int = 0, field: str = "", remedy: str = ""
    ) -> None:
        what = f"{field}: {message}" if field else message
        super().__init__(what, remedy=remedy, place=Place(file, line) if file else None)
        self.field = field

    def at(self, file: str) -> RenderError:
        """The same error, with the file it came from when it did not know."""
        if self.place is None:
            self.place = Place(file)
        return self

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        remedy = f" ({self.remedy})" if self.remedy else ""
        return f"{where}{self.message}{remedy}"


class Broken(RenderError):
    """kustomize would refuse this folder as well."""


class Unsupported(RenderError):
    """Something that kustomize may do and we do not."""
