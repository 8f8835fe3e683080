"""Everything that one look needs, in as many requests as there are kinds, whatever the units.

Kinds are listed side by side, each whole and over all namespaces. Where that is not allowed, each
namespace that has units is listed by itself: one that may not be read is then unknown, and the
others are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from gati_gitops.decide.observation import Gap, Missing
from gati_gitops.observe.kube import Kube, KubeError
from gati_gitops.observe.kube_shapes import Shape

T = TypeVar("T")
Object = dict[str, Any]

WORKERS = 6
_ODD = (AttributeError, IndexError, KeyError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Listed(Generic[T]):
    """Objects of one kind."""

    items: tuple[T, ...] = ()
    whole: bool = True
    """Of all namespaces."""
    unread: Mapping[str, Missing] = field(default_factory=dict)
    """Namespaces that may not be read, and why."""
    failed: Missing | None = None
    """Why nothing is known at all."""

    def missing(self, *namespaces: str) -> Missing | None:
        """Why objects of these namespaces are not known; None if they are."""
        if self.failed is not None:
            return self.failed
        return next((self.unread[name] for name in namespaces if name in self.unread), None)


@dataclass(frozen=True, slots=True)
class Part(Generic[T]):
    """A kind to list, and what to keep of each object."""

    api_version: str
    """Or only the group, for a kind that need not be there, in whichever version it is."""
    kind: str
    pick: Callable[[Object], T | None]
    labels: str = ""
    fields: str = ""
    shape: Shape | None = None
    """What is read of each object; None: all of it."""
    optional: bool = False
    """A cluster that does not have the kind has none of its objects."""


def missing(error: KubeError) -> Missing:
    """An error as something that is not known."""
    why = f"{error.message}; {error.remedy}" if error.remedy else error.message
    return Missing(Gap.ERROR, why, "the cluster")


def list_part(kube: Kube, part: Part[T], namespaces: Iterable[str]) -> Listed[T]:
    """One kind, of all namespaces or of those that are asked for. Never raises."""
    try:
        return Listed(tuple(_kept(kube, part, "")))
    except KubeError as error:
        if error.status != 403:
            return Listed(failed=missing(error))
        refused = error
    except _ODD as error:
        return Listed(failed=_unreadable(part, error))
    found: list[T] = []
    unread: dict[str, Missing] = {}
    for namespace in sorted(set(namespaces)):
        try:
            found += _kept(kube, part, namespace)
        except KubeError as error:
            if error.status != 403:
                return Listed(failed=missing(error))
            unread[namespace] = missing(error)
        except _ODD as error:
            return Listed(failed=_unreadable(part, error))
    everywhere = missing(refused)
    return Listed(tuple(found), whole=False, unread={"": everywhere, **unread})


def list_parts(
    kube: Kube, parts: Mapping[str, Part[Any]], namespaces: Iterable[str]
) -> dict[str, Listed[Any]]:
    """Several kinds, side by side."""
    wanted = sorted(set(namespaces))
    with ThreadPoolExecutor(WORKERS, thread_name_prefix="list") as pool:
        running = {name: pool.submit(list_part, kube, part, wanted) for name, part in parts.items()}
        return {name: future.result() for name, future in running.items()}


def _kept(kube: Kube, part: Part[T], namespace: str) -> list[T]:
    api_version = part.api_version
    if part.optional:
        served = kube.served(part.api_version, part.kind)
        if served is None:
            return []
        api_version = served.api_version
    picked = kube.picked(
        api_version,
        part.kind,
        part.pick,
        namespace,
        labels=part.labels,
        fields=part.fields,
        shape=part.shape,
    )
    return [item for item in picked if item is not None]


def _unreadable(part: Part[Any], error: Exception) -> Missing:
    why = f"a {part.kind} is not as {part.api_version} has it ({type(error).__name__})"
    return Missing(Gap.ERROR, why, "the cluster")
