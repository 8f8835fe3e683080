"""What a forge's answer says: when to come back, where the next page is, what was wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import wraps
from typing import Any, TypeVar

from gati_gitops.forge.model import ForgeError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    """By names in lower case."""
    data: Any


class Sent(dict[str, Any]):
    """An object that a forge sent; to miss a field in it is the forge's failure, not a bug."""

    def __missing__(self, key: str) -> Any:
        raise ForgeError(f"the forge's answer lacks the field {key}")


def understood(read: Callable[[Any], T]) -> Callable[[Any], T]:
    """A reader of answers that fails as the forge when something is of another kind."""

    @wraps(read)
    def reader(item: Any) -> T:
        try:
            return read(item)
        except (AttributeError, TypeError, ValueError):
            raise ForgeError("the forge's answer is not as its documents say") from None

    return reader


def rate_limited(answer: Answer) -> bool:
    """Whether an answer says "too many requests", in one of the ways that forges have for it."""
    if answer.status == 429:
        return True
    if answer.status != 403:
        return False
    headers = answer.headers
    words = said(answer.data).lower()
    return (
        "retry-after" in headers
        or headers.get("x-ratelimit-remaining") == "0"
        or "rate limit" in words
        or "abuse detection" in words
    )


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds until the forge wants to hear of us again, if it says so."""
    given = headers.get("retry-after", "").strip()
    if given.isdigit():
        return float(given)
    if given:
        try:
            return max(parsedate_to_datetime(given).timestamp() - now, 0.0)
        except ValueError:
            return None
    for left, reset in (
        ("x-ratelimit-remaining", "x-ratelimit-reset"),
        ("ratelimit-remaining", "ratelimit-reset"),
    ):
        if headers.get(left) == "0" and headers.get(reset, "").isdigit():
            return max(float(headers[reset]) - now, 0.0) + 1
    return None


def next_page(link: str) -> str:
    """The address of the next page in a Link header."""
    for part in link.split(","):
        address, _, relations = part.partition(";")
        if 'rel="next"' in relations.replace(" ", "").split(";") or 'rel="next"' in relations:
            return address.strip().removeprefix("<").removesuffix(">")
    return ""


def said(data: Any) -> str:
    """What an error's body says, in one line, whatever shape it has."""
    if isinstance(data, str):
        return data
    if isinstance(data, list):
        return "; ".join(filter(None, map(said, data)))
    if not isinstance(data, dict):
        return ""
    first = data.get("message") or data.get("error_description") or data.get("error") or ""
    if isinstance(first, dict):
        first = "; ".join(f"{key} {said(value)}" for key, value in first.items())
    more = [said(item) or _coded(item) for item in data.get("errors") or () if item]
    return ": ".join(filter(None, (said(first), "; ".join(filter(None, more)))))


def _coded(item: Any) -> str:
    if not isinstance(item, dict):
        return ""
    return " ".join(str(item[key]) for key in ("resource", "field", "code") if item.get(key))
