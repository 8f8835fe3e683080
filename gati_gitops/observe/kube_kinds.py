"""What a cluster serves, by its own word: which path a kind has, and whether it exists at all.

What is there is remembered, for that saves a request each time. What is not there is asked for
again: a CRD may be installed at any time, and its first object may be a route.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from gati_gitops.observe.kube_errors import Asked, unserved


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind as the API server has it."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    def path(self, namespace: str = "", name: str = "", part: str = "") -> str:
        """Where it is asked for; without a namespace, in all of them."""
        steps = [base(self.api_version)]
        if self.namespaced and namespace:
            steps += ["namespaces", quote(namespace, safe="")]
        steps.append(self.plural)
        steps += [quote(step, safe="") for step in (name, part) if step]
        return "/".join(steps)

    def asked(self, verb: str, namespace: str = "", name: str = "", part: str = "") -> Asked:
        plural = f"{self.plural}/{part}" if part else self.plural
        everywhere = self.namespaced and not namespace
        return Asked(verb, self.group, plural, namespace, name, everywhere)


def base(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


Fetch = Callable[[str, Asked], dict[str, Any] | None]
"""The object at a path; None if the server has nothing there."""


class Kinds:
    """Kinds by API version."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._known: dict[tuple[str, str], Resource] = {}
        self._preferred: dict[tuple[str, str], Resource] = {}
        """By group and kind."""
        self._lock = threading.Lock()

    def of(self, api_version: str, kind: str) -> Resource:
        """A kind that must be there. Raises KubeUnserved."""
        found = self._find(api_version, kind)
        if found is None:
            other = self.served(api_version.rpartition("/")[0], kind)
            raise unserved(api_version, kind, other.api_version if other else "")
        return found

    def served(self, group: str, kind: str) -> Resource | None:
        """A kind in whichever version the cluster prefers; None if it has none."""
        if not group:
            return self._find("v1", kind)
        with self._lock:
            known = self._preferred.get((group, kind))
        if known is not None:
            return known
        data = self._fetch(f"/apis/{quote(group, safe='')}", Asked("get", group, "API versions"))
        if data is None:
            return None
        preferred = (data.get("preferredVersion") or {}).get("groupVersion")
        versions = [item.get("groupVersion") for item in data.get("versions") or ()]
        for version in sorted(filter(None, versions), key=lambda item: item != preferred):
            found = self._find(version, kind)
            if found is not None:
                with self._lock:
                    self._preferred[group, kind] = found
                return found
        return None

    def forget(self, resource: Resource) -> None:
        with self._lock:
            self._known.pop((resource.api_version, resource.kind), None)
            self._preferred.pop((resource.group, resource.kind), None)

    def _find(self, api_version: str, kind: str) -> Resource | None:
        with self._lock:
            found = self._known.get((api_version, kind))
        if found is not None:
            return found
        group = api_version.rpartition("/")[0]
        data = self._fetch(base(api_version), Asked("get", group, "API resources"))
        for item in (data or {}).get("resources") or ():
            name = str(item.get("name", ""))
            if "/" in name:
                continue  # a part such as status
            known = Resource(api_version, str(item["kind"]), name, bool(item.get("namespaced")))
            with self._lock:
                self._known[(api_version, known.kind)] = known
        with self._lock:
            return self._known.get((api_version, kind))
