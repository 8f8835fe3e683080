"""What other clusters have shown of a version, as their ledgers in Git say.

An environment writes down itself how long it has seen a version serve well, so whoever waits for it
needs nothing but Git. Clusters that stand by have no traffic and prove nothing; they follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gati_gitops.decide.around import Key
from gati_gitops.decide.words import span
from gati_gitops.ledger.model import Ledger, Phase

GONE = frozenset((Phase.PARKED, Phase.REMOVED))


def proofs(
    keys: Iterable[Key], upstream: Mapping[str, Ledger | None], env: str, dwell: float
) -> tuple[dict[Key, str], dict[Key, str]]:
    """What is proved, by what; and what is not, with what it waits for.

    ``upstream`` has the ledger of every serving cluster of the environment before, None where it
    does not have the unit.
    """
    proved: dict[Key, str] = {}
    unproved: dict[Key, str] = {}
    for key in keys:
        if not upstream:
            unproved[key] = f"{env} has no cluster that serves"
            continue
        lacking = (_lacking(key, upstream[at], at, dwell) for at in sorted(upstream))
        if missing := next((why for why in lacking if why), ""):
            unproved[key] = missing
        else:
            where = ", ".join(sorted(upstream))
            proved[key] = f"seen to serve in {env} ({where}) for {span(dwell)}"
    return proved, unproved


def _lacking(key: Key, ledger: Ledger | None, cluster: str, dwell: float) -> str:
    id, digest = key
    if ledger is None:
        return f"{cluster} does not have the unit"
    entry = ledger.live(id)
    if entry is not None and (digest in entry.revoked or (entry.digest == digest and entry.barred)):
        return f"{cluster} has rejected it"
    if entry is None or entry.digest != digest:
        waits = any(e.key == key for e in ledger.entries)
        return f"{cluster} has not started it" if waits else f"{cluster} does not have it"
    if entry.proved >= max(dwell, 1.0):  # to have served at all is the least
        return ""
    if entry.proved:
        return f"{cluster} has seen it serve for {span(entry.proved)} of {span(dwell)}"
    return f"{cluster} has it {entry.phase}, and wants to see it serve for {span(dwell)}"


def followed(
    keys: Iterable[Key], siblings: Mapping[str, Ledger | None]
) -> tuple[frozenset[Key], frozenset[Key]]:
    """What every serving cluster of an environment has Active, and what every one has let go."""
    ledgers = [ledger for ledger in siblings.values() if ledger is not None]
    if not ledgers or len(ledgers) != len(siblings):
        return frozenset(), frozenset()
    known = tuple(keys)
    led = frozenset(key for key in known if all(_is_active(key, one) for one in ledgers))
    left = frozenset(key for key in known if all(_is_gone(key, one) for one in ledgers))
    return led, left


def _is_active(key: Key, ledger: Ledger) -> bool:
    return any(e.key == key and e.phase is Phase.ACTIVE and not e.barred for e in ledger.entries)


def _is_gone(key: Key, ledger: Ledger) -> bool:
    """Parked, removed, or forgotten beside another version that serves."""
    entry = ledger.live(key[0])
    if entry is None:
        return ledger.active is not None and not any(e.id == key[0] for e in ledger.entries)
    return entry.digest == key[1] and entry.phase in GONE
