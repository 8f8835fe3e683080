"""What can go wrong, and how each kind ends the process.

GatiError                 something we can explain; never shown as a traceback
├── Misnamed       exit 2  the command names what is not there
├── SpecsInvalid   exit 3  the input is wrong: carries every Problem that was found
├── Outside        exit 4  Git, disk, cluster or metrics failed
└── Refused        exit 5  we could go on, but it would not be safe

A Problem is one finding at one place. Reports print Problems; an error is what stops a run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a file; line and column count from 1, 0 means the file as a whole."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding: what is wrong, where, and what would put it right."""

    code: str
    message: str
    place: Place
    field: str = ""
    remedy: str = ""
    severity: Severity = Severity.ERROR
    related: tuple[tuple[Place, str], ...] = ()

    @property
    def is_error(self) -> bool:
        return self.severity is Severity.ERROR

    def sort_key(self) -> tuple[object, ...]:
        place = self.place
        return (place.file, place.line, place.column, self.severity, self.code, self.message)


class GatiError(Exception):
    """Base of every error that a user may meet."""

    exit_code = 4

    def __init__(
        self,
        message: str,
        *,
        remedy: str = "",
        place: Place | None = None,
        details: Iterable[str] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.place = place
        self.details = tuple(details)
        """What the message sums up, a line each."""


class Misnamed(GatiError):
    """The command names something that is not there, or that may be two things."""

    exit_code = 2


class SpecsInvalid(GatiError):
    """The input is wrong; nothing was written."""

    exit_code = 3

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(set(problems), key=Problem.sort_key))
        errors = sum(problem.is_error for problem in self.problems)
        super().__init__(f"{errors} problem{'s' * (errors != 1)} in the specs")


class Outside(GatiError):
    """Something outside the compiler failed: disk, Git, cluster, metrics."""

    exit_code = 4


class Refused(GatiError):
    """The work could be done but would not be safe; the remedy says what lifts the refusal."""

    exit_code = 5
