"""Quantities as numbers that can be summed, and back as people write them."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal
from typing import Any

from gati_gitops.spec.common import quantity


def number(value: Any) -> Decimal:
    """What a quantity stands for; what is none counts as nothing."""
    try:
        return quantity(str(value)) if value is not None else Decimal(0)
    except ValueError:
        return Decimal(0)


def cpu(value: Any) -> int:
    """Thousandths of a core; a part of one counts as a whole."""
    return int((number(value) * 1000).to_integral_value(ROUND_CEILING))


def memory(value: Any) -> int:
    """Bytes."""
    return int(number(value).to_integral_value(ROUND_CEILING))


def show_cpu(thousandths: int) -> str:
    """``250m`` below one core, else ``1.5``."""
    if abs(thousandths) < 1000:
        return f"{thousandths}m" if thousandths else "0"
    return f"{thousandths / 1000:.3f}".rstrip("0").rstrip(".")


def show_memory(size: int) -> str:
    """``512Mi``, ``1.5Gi``."""
    value = float(size)
    for unit in ("", "Ki", "Mi", "Gi", "Ti", "Pi"):
        if abs(value) < 1024 or unit == "Pi":
            return f"{value:.2f}".rstrip("0").rstrip(".") + unit
        value /= 1024
    return str(size)
