"""What a module's capabilities come to: network policy and volumes, never Linux capabilities.

The framework knows capabilities as words that its manager grants; nothing outside of it enforces
them. Here each becomes what a cluster can enforce. One that is not in the table is an error: to
grant nothing would break the module, to grant anything would be a guess.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

STORAGE = "/data"
"""Where a module that may store finds its folder."""
STORAGE_SIZE = "1Gi"

DATABASE_PORTS = (1433, 1521, 3306, 5432, 9042, 27017)
CACHE_PORTS = (6379, 6380, 11211)


@dataclass(frozen=True, slots=True)
class Grant:
    """What one capability opens."""

    egress: bool = False
    """Calls to anywhere, on the ports below."""
    ports: tuple[int, ...] = ()
    """None: every port."""
    ingress: bool = False
    """Calls from every pod of the cluster, not only from the units that declare the module."""
    storage: bool = False


_NOTHING = Grant()
_OUT = Grant(egress=True)
_DATABASE = Grant(egress=True, ports=DATABASE_PORTS)
_CACHE = Grant(egress=True, ports=CACHE_PORTS)

CAPABILITIES = {
    "network": _OUT,
    "network:egress": _OUT,
    "network:outbound": _OUT,
    "network:ingress": Grant(ingress=True),
    "network:inbound": Grant(ingress=True),
    "storage": Grant(storage=True),
    "filesystem:read": _NOTHING,
    "filesystem:write": Grant(storage=True),
    "database:read": _DATABASE,
    "database:write": _DATABASE,
    "db:read": _DATABASE,
    "db:write": _DATABASE,
    "cache:read": _CACHE,
    "cache:write": _CACHE,
    "secrets:read": _NOTHING,
    "metrics:write": _NOTHING,
    "logging:write": _NOTHING,
}
"""A dot may stand for the colon: ``database.read``."""


def known(capability: str) -> bool:
    return _plain(capability) in CAPABILITIES


def suggestion(capability: str) -> str:
    """The capability that was probably meant; empty if none is near."""
    near = difflib.get_close_matches(_plain(capability.lower()), CAPABILITIES, n=1, cutoff=0.6)
    return near[0] if near else ""


def stores(capabilities: Iterable[str]) -> bool:
    return any(grant.storage for grant in _grants(capabilities))


def open_to_all(capabilities: Iterable[str]) -> bool:
    return any(grant.ingress for grant in _grants(capabilities))


def egress(capabilities: Iterable[str]) -> tuple[dict[str, Any], ...]:
    """Rules as specs have them: to anywhere, on any port or on those of some servers."""
    ports: set[int] = set()
    for grant in _grants(capabilities):
        if grant.egress and not grant.ports:
            return ({"to": "anywhere"},)
        ports |= set(grant.ports)
    return ({"to": "anywhere", "ports": sorted(ports)},) if ports else ()


def _grants(capabilities: Iterable[str]) -> Iterable[Grant]:
    return (CAPABILITIES.get(_plain(name), _NOTHING) for name in capabilities)


def _plain(capability: str) -> str:
    return capability.replace(".", ":")
