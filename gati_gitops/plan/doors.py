"""Doors: which routes stand behind the same gateway and host, and so contend for requests.

Two routes contend where a gateway and a host name of theirs are the same. A more specific host name
takes its requests before any path is looked at, so ``shop.example.com`` and ``*.example.com`` are
different doors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gati_gitops.plan.model import Route
from gati_gitops.plan.paths import Neighbours, entangled, parse

Door = tuple[str, ...]


def doors(route: Route) -> Iterator[Door]:
    """Every gateway with every host that a route answers on."""
    if route.provider == "gateway-api":
        gateways = [f"{route.gateway_namespace}/{route.gateway}/{route.section}"]
    elif route.provider == "istio":
        gateways = list(route.gateways)
    else:
        gateways = list(route.entry_points) or [route.ingress_class]
    for gateway in gateways:
        for host in route.hosts or ("*",):
            yield (route.provider, gateway, host)


class Doors:
    """The routes that are served on one cluster."""

    def __init__(self, routes: Iterable[Route]) -> None:
        paths: dict[Door, set[str]] = {}
        for route in routes:
            for door in doors(route):
                paths.setdefault(door, set()).add(route.path)
        self._neighbours: dict[Door, Neighbours] = {}
        for door, found in paths.items():
            if _matters(door, found):
                neighbours = Neighbours(found)
                if any(neighbours.stronger(path) for path in found):
                    self._neighbours[door] = neighbours

    def crowded(self, route: Route) -> bool:
        """Whether some route behind a door of this one has a stronger one beside it."""
        return any(door in self._neighbours for door in doors(route))

    def uneven(self, route: Route) -> tuple[str, ...]:
        """Paths that win over a route's own behind some of its doors and not behind others."""
        here: list[set[str]] = [
            set(found.stronger(route.path)) if (found := self._neighbours.get(door)) else set()
            for door in doors(route)
        ]
        somewhere, everywhere = set[str]().union(*here), here[0].intersection(*here[1:])
        return tuple(sorted(somewhere - everywhere))

    def stronger(self, route: Route) -> tuple[str, ...]:
        """Paths that win over a route's own behind every door of it."""
        if not self._neighbours:
            return ()
        found: set[str] | None = None
        for door in doors(route):
            neighbours = self._neighbours.get(door)
            here = set(neighbours.stronger(route.path)) if neighbours else set()
            found = here if found is None else found & here
        return tuple(sorted(found or ()))

    def beside(self, route: Route) -> tuple[str, ...]:
        """Those that the provider would not let win by itself.

        Gateway API orders prefixes; what it leaves open is a regular expression.
        """
        tangled = entangled(route.path, stronger := self.stronger(route))
        stronger = tuple(path for path in stronger if path not in tangled)
        if route.provider != "gateway-api" or not parse(route.path).open:
            return stronger
        here = [found for door in doors(route) if (found := self._neighbours.get(door))]
        return stronger if any(found.crossed(route.path) for found in here) else ()


def _matters(door: Door, paths: Iterable[str]) -> bool:
    """Traefik's routes carry their priority, nginx takes the longest prefix."""
    if door[0] == "gateway-api":
        return any(not parse(path).open for path in paths)
    return door[0] == "istio"
