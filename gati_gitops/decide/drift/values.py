"""Whether two values mean the same: quantities and durations are compared by what they stand for.

API servers and controllers write some values anew, ``0.1`` as ``100m`` and ``60s`` as ``1m0s``.
That holds for certain fields only: in a variable or an argument a text is a text.
"""

from __future__ import annotations

import base64
import re
from decimal import Decimal
from typing import Any

from gati_gitops.preview.model import Path
from gati_gitops.spec.common import quantity

_QUANTITIES = frozenset(("averageValue", "divisor", "sizeLimit", "storage"))
_AMOUNTS = frozenset(("capacity", "default", "defaultRequest", "hard", "limits", "requests"))
"""Whatever stands in these is a quantity."""
_DURATIONS = frozenset(
    (
        "backendRequest", "duration", "interval", "maxDuration", "request", "retryInterval",
        "scrapeTimeout", "timeout",
    )
)  # fmt: skip
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|us|µs|ns|h|m|s|d|w|y)")
_SECONDS = {
    "ns": Decimal("1e-9"), "us": Decimal("1e-6"), "µs": Decimal("1e-6"), "ms": Decimal("0.001"),
    "s": Decimal(1), "m": Decimal(60), "h": Decimal(3600), "d": Decimal(86400),
    "w": Decimal(604800), "y": Decimal(31536000),
}  # fmt: skip
_MEANT = re.compile(r"[sS]elector\Z|\AemptyDir\Z")


def same_value(path: Path, one: Any, two: Any) -> bool:
    """Whether two values that are neither mapping nor list mean the same at a path."""
    if isinstance(one, bool) or isinstance(two, bool):
        return one is two
    if isinstance(one, (int, float)) and isinstance(two, (int, float)):
        return one == two
    if type(one) is type(two) and one == two:
        return True
    if is_quantity(path):
        return _number(one) is not None and _number(one) == _number(two)
    if path and path[-1] in _DURATIONS and isinstance(one, str) and isinstance(two, str):
        return duration(one) is not None and duration(one) == duration(two)
    return False


def is_quantity(path: Path) -> bool:
    """Whether a field holds a quantity, whichever object it is of."""
    if not path:
        return False
    return path[-1] in _QUANTITIES or (len(path) > 1 and path[-2] in _AMOUNTS)


def _number(value: Any) -> Decimal | None:
    if not isinstance(value, (str, int, float)) or isinstance(value, bool):
        return None
    text = str(value)
    sign = -1 if text.startswith("-") else 1
    try:
        return sign * quantity(text.removeprefix("-"))
    except ValueError:
        return None


def duration(text: str) -> Decimal | None:
    """Seconds, of a duration as Go, Prometheus or Gateway API write it; None if it is none."""
    if text == "0":
        return Decimal(0)
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum((Decimal(number) * _SECONDS[unit] for number, unit in parts), Decimal(0))


def says_nothing(path: Path, value: Any) -> bool:
    """Whether a value is as good as none: API servers drop empty lists and maps.

    A selector that is empty selects everything, and an empty emptyDir is one: these say something.
    """
    if value is None:
        return True
    if isinstance(value, list):
        return not value
    if isinstance(value, dict):
        if not value:
            return not (path and isinstance(path[-1], str) and _MEANT.search(path[-1]))
        return all(says_nothing((*path, name), item) for name, item in value.items())
    return False


def as_stored(item: dict[str, Any]) -> dict[str, Any]:
    """An object of Git in the form in which an API server gives it back."""
    if item.get("kind") != "Secret" or item.get("apiVersion") != "v1" or "stringData" not in item:
        return item
    plain = item.get("stringData") or {}
    written = {key: base64.b64encode(str(v).encode()).decode() for key, v in plain.items()}
    rest = {key: value for key, value in item.items() if key != "stringData"}
    return {**rest, "data": {**(item.get("data") or {}), **written}}
