"""The Kubernetes API, as plain objects.

A list is whole or it is an error. It is read from what the cluster has agreed on, never from a
cache that may lag (no ``resourceVersion``), page by page out of one state; when that state has
expired between two pages everything is read again. A kind that is not installed, a namespace that
may not be read and a server that is overloaded are errors that say so: none of them is "nothing".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from gati_gitops.observe.kube_config import Access, Timeouts
from gati_gitops.observe.kube_errors import (
    Asked,
    KubeConflict,
    KubeError,
    KubeUnanswered,
    KubeUnserved,
    refused,
    strange,
    unserved,
)
from gati_gitops.observe.kube_http import Answer, Http, Patience, checked
from gati_gitops.observe.kube_kinds import Kinds, Resource
from gati_gitops.observe.kube_shapes import Shape, reader

T = TypeVar("T")
Object = dict[str, Any]
Objects = list[Object]
All = list
"""A list; in the class the word is taken."""

MANAGER = "gati-gitops"
PAGE = 500
_RELISTS = 3
_PATCHES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}


class Kube:
    """One cluster's API. It connects when it is first asked; threads may share it."""

    def __init__(
        self,
        access: Access | None = None,
        *,
        timeouts: Timeouts | None = None,
        patience: Patience | None = None,
        page: int = PAGE,
        http: Http | None = None,
    ) -> None:
        self.access = access or Access()
        self._http = http or Http(
            self.access, timeouts=timeouts or Timeouts(), patience=patience or Patience()
        )
        self._page = page
        self._kinds = Kinds(self._discovered)

    def close(self) -> None:
        self._http.close()

    @property
    def server(self) -> str:
        """The address of the API server. Raises KubeError if no access is configured."""
        return self._http.connection.server

    @property
    def namespace(self) -> str:
        """Where we are: the pod's own namespace, or that of the context."""
        return self._http.connection.namespace

    # ------------------------------------------------------------------------------ kinds

    def resource(self, api_version: str, kind: str) -> Resource:
        """A kind that must be there. Raises KubeUnserved."""
        return self._kinds.of(api_version, kind)

    def served(self, group: str, kind: str) -> Resource | None:
        """A kind in the version that the cluster prefers; None if it is not installed."""
        return self._kinds.served(group, kind)

    # ------------------------------------------------------------------------------ reading

    def list(
        self,
        api_version: str,
        kind: str,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
    ) -> Objects:
        """All objects of a kind; without a namespace, of all namespaces."""
        return self.picked(
            api_version, kind, lambda item: item, namespace, labels=labels, fields=fields
        )

    def picked(
        self,
        api_version: str,
        kind: str,
        pick: Callable[[Object], T],
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        shape: Shape | None = None,
    ) -> All[T]:
        """The same, with only so much kept of each object as is needed: pods are large.

        With a shape only its fields are read at all.
        """
        resource = self.resource(api_version, kind)
        query = {"labelSelector": labels, "fieldSelector": fields}
        query = {key: value for key, value in query.items() if value}
        for attempt in range(1, _RELISTS + 1):
            # the last time in one piece, which cannot expire
            limit = self._page if attempt < _RELISTS else 0
            found = self._pages(resource, namespace, query, limit, pick, shape)
            if found is not None:
                return found
        raise AssertionError("unreachable")  # pragma: no cover

    def get(self, api_version: str, kind: str, name: str, namespace: str = "") -> Object | None:
        """An object; None if there is none of that name."""
        resource = self.resource(api_version, kind)
        asked = resource.asked("get", namespace, name)
        answer = self._http.send("GET", resource.path(namespace, name), asked)
        if answer.status == 404:
            self._must_be_served(resource, answer)
            return None
        return checked(answer, asked)

    def _pages(
        self,
        resource: Resource,
        namespace: str,
        query: Mapping[str, str],
        limit: int,
        pick: Callable[[Object], T],
        shape: Shape | None,
    ) -> All[T] | None:
        """All pages of one state; None if that state is gone before the last."""
        asked = resource.asked("list", namespace)
        path = resource.path(namespace)
        read = reader(shape) if shape is not None else json.loads
        found: list[T] = []
        following = ""
        while True:
            more = {"limit": str(limit)} if limit else {}
            if following:
                more["continue"] = following
            answer = self._http.send("GET", path, asked, query={**query, **more}, read=read)
            if answer.status == 410 and following:
                return None
            if answer.status == 404:
                self._kinds.forget(resource)
                raise unserved(resource.api_version, resource.kind)
            page = checked(answer, asked)
            items = page.get("items")
            if not isinstance(items, list) or not str(page.get("kind", "")).endswith("List"):
                raise strange(asked, "it sent no list")
            for item in items:
                item.setdefault("apiVersion", resource.api_version)
                item.setdefault("kind", resource.kind)
                found.append(pick(item))
            before, following = following, (page.get("metadata") or {}).get("continue") or ""
            if not following:
                return found
            if following == before:
                raise strange(asked, "its list has the same page twice")

    # ------------------------------------------------------------------------------ writing

    def apply(
        self,
        item: Mapping[str, Any],
        *,
        manager: str = MANAGER,
        force: bool = False,
        dry_run: bool = False,
        part: str = "",
    ) -> Object:
        """Server-side apply. Raises KubeConflict where somebody else owns a field."""
        query = {"fieldManager": manager, "force": str(force).lower()}
        return self._write(
            "PATCH", "patch", item, query, dry_run, part, "application/apply-patch+yaml"
        )

    def create(
        self, item: Mapping[str, Any], *, manager: str = MANAGER, dry_run: bool = False
    ) -> Object:
        """A new object. Raises KubeConflict if it exists."""
        return self._write("POST", "create", item, {"fieldManager": manager}, dry_run)

    def replace(
        self,
        item: Mapping[str, Any],
        *,
        manager: str = MANAGER,
        dry_run: bool = False,
        part: str = "",
    ) -> Object:
        """The whole object, if it is still the one that was read. Raises KubeConflict."""
        return self._write("PUT", "update", item, {"fieldManager": manager}, dry_run, part)

    def patch(
        self,
        api_version: str,
        kind: str,
        name: str,
        namespace: str,
        change: object,
        *,
        type: Literal["merge", "json", "strategic"] = "merge",
        manager: str = MANAGER,
        part: str = "",
        dry_run: bool = False,
    ) -> Object:
        """A change of some fields."""
        resource = self.resource(api_version, kind)
        asked = resource.asked("patch", namespace, name, part)
        answer = self._http.send(
            "PATCH",
            resource.path(namespace, name, part),
            asked,
            query={**_strict(dry_run), "fieldManager": manager},
            body=change,
            content_type=_PATCHES[type],
            harmless=type != "json",  # a test in it may hold once and not twice
        )
        return self._checked(resource, answer, asked)

    def patch_status(
        self,
        api_version: str,
        kind: str,
        name: str,
        namespace: str,
        status: Mapping[str, Any],
        *,
        manager: str = MANAGER,
    ) -> Object:
        """Fields of an object's status."""
        change = {"status": status}
        return self.patch(
            api_version, kind, name, namespace, change, manager=manager, part="status"
        )

    def delete(
        self,
        api_version: str,
        kind: str,
        name: str,
        namespace: str = "",
        *,
        uid: str = "",
        resource_version: str = "",
    ) -> bool:
        """Whether there was something to delete; a uid or version that differs is a conflict."""
        resource = self.resource(api_version, kind)
        asked = resource.asked("delete", namespace, name)
        only = {"uid": uid, "resourceVersion": resource_version}
        body = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Background",
            "preconditions": {key: value for key, value in only.items() if value},
        }
        answer = self._http.send("DELETE", resource.path(namespace, name), asked, body=body)
        if answer.status == 404:
            self._must_be_served(resource, answer)
            return False
        checked(answer, asked)
        return True

    def _write(
        self,
        method: str,
        verb: str,
        item: Mapping[str, Any],
        query: Mapping[str, str],
        dry_run: bool,
        part: str = "",
        content_type: str = "application/json",
    ) -> Object:
        resource = self.resource(str(item["apiVersion"]), str(item["kind"]))
        head = item["metadata"]
        namespace, name = str(head.get("namespace", "")), str(head.get("name", ""))
        asked = resource.asked(verb, namespace, name, part)
        answer = self._http.send(
            method,
            resource.path(namespace, "" if verb == "create" else name, part),
            asked,
            query={**query, **_strict(dry_run)},
            body=item,
            content_type=content_type,
            harmless=verb == "patch",
        )
        return self._checked(resource, answer, asked)

    # ------------------------------------------------------------------------------ answers

    def _checked(self, resource: Resource, answer: Answer, asked: Asked) -> Object:
        if answer.status == 404:
            self._must_be_served(resource, answer)
        return checked(answer, asked)

    def _must_be_served(self, resource: Resource, answer: Answer) -> None:
        """A Status names the object that is missing; without one the kind itself is."""
        details = answer.body.get("details") if isinstance(answer.body, dict) else None
        if not isinstance(details, dict) or not details.get("name"):
            self._kinds.forget(resource)
            raise unserved(resource.api_version, resource.kind)

    def _discovered(self, path: str, asked: Asked) -> Object | None:
        answer = self._http.send("GET", path, asked)
        return None if answer.status == 404 else checked(answer, asked)


def _strict(dry_run: bool) -> dict[str, str]:
    return {"fieldValidation": "Strict"} | ({"dryRun": "All"} if dry_run else {})


__all__ = [
    "MANAGER", "Access", "Kube", "KubeConflict", "KubeError", "KubeUnanswered", "KubeUnserved",
    "Object", "Patience", "Resource", "Timeouts", "refused",
]  # fmt: skip
