"""How numbers are told to the person on call."""

from __future__ import annotations


def span(seconds: float) -> str:
    """``6m12s``, ``1h05m``, ``7d``: two numbers at most."""
    total = int(max(seconds, 0))
    days, rest = divmod(total, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, left = divmod(rest, 60)
    if days:
        return f"{days}d{hours:02}h" if hours else f"{days}d"
    if hours:
        return f"{hours}h{minutes:02}m" if minutes else f"{hours}h"
    if minutes:
        return f"{minutes}m{left:02}s" if left else f"{minutes}m"
    return f"{left}s"


def percent(share: float) -> str:
    """``0.1 %``: as many digits as are needed to tell it from 0."""
    said = f"{share * 100:.2f}" if 0 < share < 0.001 else f"{share * 100:.1f}"
    return f"{said.rstrip('0').rstrip('.') if '.' in said else said} %"


def some(number: int, thing: str) -> str:
    return f"{number} {thing}" + ("" if number == 1 else "es" if thing.endswith("s") else "s")


def joined(names: tuple[str, ...], most: int = 3) -> str:
    """The first few names, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
