"""Tokens, kept so that no repr, log or traceback shows them, and where they come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from gati_gitops.errors import Outside
from gati_gitops.redact import HIDDEN, redact


class Secret:
    """A value that is shown only where it is asked for by `reveal`."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def hide(self, text: str) -> str:
        """A text from outside without this secret, or any other that shows by its shape."""
        return redact(text.replace(self._value, HIDDEN) if self._value else text)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __repr__(self) -> str:
        return f"Secret({HIDDEN})"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a secret is not written down")


def secret_of(environ: Mapping[str, str], names: Iterable[str]) -> tuple[Secret, str]:
    """The first of these variables that is set, or the file that its twin in _FILE names.

    Returns the secret and the variable it came from; an empty one if none is set.
    """
    for name in names:
        if value := environ.get(name, "").strip():
            return Secret(_checked(value, name)), name
        if path := environ.get(f"{name}_FILE", "").strip():
            return Secret(_checked(_read(path, f"{name}_FILE"), f"{name}_FILE")), f"{name}_FILE"
    return Secret(""), ""


def _read(path: str, name: str) -> str:
    try:
        value = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise Outside(f"{name} names {path}, which can't be read: {reason}") from None
    if not value:
        raise Outside(f"{name} names {path}, which is empty")
    return value


def _checked(value: str, name: str) -> str:
    """Refuse what could not stand in a header, without quoting it."""
    if not value.isascii() or not value.isprintable() or " " in value:
        raise Outside(
            f"{name} does not hold a token: it has spaces, line breaks or characters beyond ASCII"
        )
    return value
