"""What an API server can refuse, in words that say who must change what.

KubeError             it could not be asked, or it would not
├── KubeConflict      409: somebody else was faster, or it exists already
├── KubeUnserved      the kind is not installed; that is no list of nothing
└── KubeUnanswered    a change was sent and its answer lost: it may have been made
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gati_gitops.errors import Outside
from gati_gitops.report.clean import safe


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, as RBAC and people name it."""

    verb: str
    group: str
    plural: str
    namespace: str = ""
    name: str = ""
    everywhere: bool = False
    """A list over all namespaces."""

    @property
    def resource(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def __str__(self) -> str:
        if self.name:
            place = f"{self.namespace}/{self.name}" if self.namespace else self.name
            return f"{self.verb} {self.resource} {place}"
        if self.namespace:
            return f"{self.verb} {self.resource} in the namespace {self.namespace}"
        return f"{self.verb} {self.resource}" + (" in all namespaces" if self.everywhere else "")


class KubeError(Outside):
    """An API server refused or failed; `status` is HTTP's, 0 if there was no answer."""

    def __init__(
        self, message: str, *, remedy: str = "", status: int = 0, asked: Asked | None = None
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.status = status
        self.asked = asked


class KubeConflict(KubeError):
    """It was changed by somebody else, is owned by somebody else, or exists already."""


class KubeUnserved(KubeError):
    """The API server does not know the kind."""


class KubeUnanswered(KubeError):
    """A change was sent and its answer lost: it may have been made."""


def refused(asked: Asked, status: int, body: Any) -> KubeError:
    """The error for an answer that is none."""
    words = _words(body)
    message = f"the API server would not {asked}: {status}" + (f" {words}" if words else "")
    if status == 409:
        remedy = "look at it again, and decide again"
        return KubeConflict(message, remedy=remedy, status=status, asked=asked)
    return KubeError(message, remedy=_remedy(asked, status), status=status, asked=asked)


def unserved(api_version: str, kind: str, served: str = "") -> KubeUnserved:
    """The error for a kind that the cluster does not have."""
    return KubeUnserved(
        f"the cluster has no kind {kind} of {api_version}: its CRD is not installed",
        remedy=(
            f"the cluster has it as {served}; install the version that is asked for"
            if served
            else "install the CRD, or choose another provider in gati.yaml"
        ),
        status=404,
    )


def unreached(asked: Asked, why: str, *, writing: bool, sent: bool) -> KubeError:
    """The error for no answer at all."""
    message = f"the API server could not {asked}: {_line(why)}"
    remedy = "is the address in the kubeconfig right, and can it be reached from here?"
    if "CERTIFICATE" in why.upper():
        remedy = "is certificate-authority in the kubeconfig the one that signed the server's?"
    if writing and sent:
        return KubeUnanswered(
            f"{message}; whether it was done is not known", remedy=remedy, asked=asked
        )
    return KubeError(message, remedy=remedy, asked=asked)


def strange(asked: Asked, why: str, status: int = 200) -> KubeError:
    """The error for an answer that no API server gives."""
    return KubeError(
        f"the API server could not {asked}: {_line(why)}",
        remedy="is it an API server, and is there no login page or proxy in between?",
        status=status,
        asked=asked,
    )


def _remedy(asked: Asked, status: int) -> str:
    if status == 401:
        return "the credentials are wrong or have expired: renew the kubeconfig or the token"
    if status == 403:
        return _rule(asked)
    if status == 404:
        return "it does not exist; was it deleted a moment ago?"
    if status in (400, 422):
        return "the object is not one that this cluster takes; its version may be another one"
    if status == 429 or status >= 500:
        return "the API server is overloaded or broken; the next pass asks again"
    return ""


def _rule(asked: Asked) -> str:
    """The right that is missing, ready to be pasted."""
    rule: dict[str, list[str]] = {"apiGroups": [asked.group], "resources": [asked.plural]}
    if asked.name and asked.verb not in ("create", "list"):
        rule["resourceNames"] = [asked.name]
    rule["verbs"] = [asked.verb]
    where = (
        f"a Role in the namespace {asked.namespace}" if asked.namespace else "a ClusterRole"
    ) + " that is bound to whom the job runs as"
    return f"add this rule to {where}: {json.dumps(rule)}"


def _words(body: Any) -> str:
    """What a Status says; its causes too, since those name the field."""
    if not isinstance(body, Mapping):
        return _line(body) if isinstance(body, str) else ""
    return _line(str(body.get("message") or body.get("reason") or ""))


def _line(text: str) -> str:
    cleaned = safe(" ".join(text.split()))
    return cleaned if len(cleaned) <= 400 else cleaned[:399] + "…"
