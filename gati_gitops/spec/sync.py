"""Sync engines in gati.yaml: which repository is synced, and by which engine each cluster is.

The engine is a property of a cluster. What is true of all clusters (the repository, where the
engines live) stands once, under ``spec.sync``; without it no engine's objects are written.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)

from gati_gitops.spec.address import sound_port
from gati_gitops.spec.common import DnsLabel, DnsSubdomain, Duration, Model, seconds

IN_CLUSTER = "https://kubernetes.default.svc"
"""What Argo CD calls the cluster that it runs in."""

_URL = re.compile(
    r"(?P<scheme>[a-z+]+)://(?:(?P<user>[^/]*)@)?(?P<host>[^/:@]+)(?::(?P<port>[0-9]+))?"
    r"(?P<path>/.*)?"
)
_SCP = re.compile(r"(?P<user>[\w.-]+@)?(?P<host>[\w.-]+):(?!//)(?P<path>.+)")
# Engines compare addresses as globs, so a sign of theirs would widen what a project may do.
_PLAIN = re.compile(r"[A-Za-z0-9._~:/@%+,=-]+")
_LOCAL = frozenset(("127.0.0.1", "localhost"))


def _repository(value: str) -> str:
    found = _URL.fullmatch(value)
    if found is None:
        scp = _SCP.fullmatch(value)
        example = f"ssh://{scp['user'] or 'git@'}{scp['host']}/{scp['path']}" if scp else ""
        raise ValueError(
            "the repository is not an https:// or ssh:// address;"
            f" write {example or 'one such as https://git.example.com/acme/deploy.git'}"
        )
    scheme, user = found["scheme"], found["user"]
    if user is not None and (scheme != "ssh" or ":" in user):
        # The value itself is not shown: it may hold a password.
        raise ValueError(
            "the repository's address holds a user name or password, and many can read it;"
            " remove what stands before the @, and give the engine a Secret instead"
        )
    if scheme not in ("https", "ssh") and not (scheme == "http" and found["host"] in _LOCAL):
        raise ValueError(f"the repository is read over {scheme}; write https:// or ssh://")
    if not sound_port(found["port"]):
        raise ValueError(f"there is no port {found['port']}; write one from 1 to 65535")
    if not found["path"] or not _PLAIN.fullmatch(value):
        raise ValueError(
            "the repository's address names no plain path;"
            " write one such as https://git.example.com/acme/deploy.git, without ? # * or spaces"
        )
    return value


def _branch(value: str) -> str:
    if ".." in value or "//" in value or value.endswith(("/", ".", ".lock")):
        raise ValueError("Git has no branch of that name; write one such as main or env/prod")
    return value


def _server(value: str) -> str:
    found = _URL.fullmatch(value)
    if found is None or found["scheme"] != "https" or found["user"] or not _PLAIN.fullmatch(value):
        raise ValueError(
            f"server is not a plain https:// address; write one such as {IN_CLUSTER},"
            " or the cluster's name in Argo CD as name"
        )
    return value


def _hook(value: str) -> str:
    found = _URL.fullmatch(value)
    if (
        found is None
        or found["scheme"] not in ("https", "http")
        or found["user"]
        or not _PLAIN.fullmatch(value)
    ):
        raise ValueError(
            "nudgeUrl is not a plain address;"
            " write one such as https://argocd.example.com/api/webhook"
        )
    return value


def _interval(value: str) -> str:
    if seconds(value) < 10:
        raise ValueError("the interval is below 10s; write 10s or more, such as 1m")
    return value


Repository = Annotated[str, StringConstraints(max_length=2048), AfterValidator(_repository)]
Branch = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._/-]*$", max_length=244),
    AfterValidator(_branch),
]
Server = Annotated[str, StringConstraints(max_length=2048), AfterValidator(_server)]
Hook = Annotated[str, StringConstraints(max_length=2048), AfterValidator(_hook)]
ClusterName = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/@-]*$", max_length=253)
]
Interval = Annotated[Duration, AfterValidator(_interval)]
Group = Annotated[str, StringConstraints(pattern=r"^[a-z0-9.-]*$", max_length=253)]
KindName = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Za-z0-9]*$", max_length=63)]


class GroupKind(Model):
    """A kind of object; the core group is the empty one."""

    group: Group = ""
    kind: KindName


class ArgoCd(Model):
    """Where Argo CD lives, and what its projects may do beyond what we write."""

    namespace: DnsLabel = "argocd"
    kinds: list[GroupKind] = Field(
        default_factory=list,
        max_length=64,
        description="namespaced kinds that Applications may hold besides those we write",
    )


class Flux(Model):
    """Where Flux lives, how often it looks for commits, and how it reads the repository."""

    namespace: DnsLabel = "flux-system"
    interval: Interval = Field("1m", description="how often Flux looks for new commits")
    secret: DnsSubdomain | None = Field(
        None, description="Secret in Flux's namespace that holds the repository's credentials"
    )


class Sync(Model):
    """The repository that engines read."""

    repository: Repository
    branch: Branch = "main"
    argocd: ArgoCd = Field(default_factory=ArgoCd)
    flux: Flux = Field(default_factory=Flux)


class KubeConfig(Model):
    """A Secret in Flux's namespace that says how to reach a remote cluster."""

    name: DnsSubdomain
    key: Annotated[str, StringConstraints(pattern=r"^[-._a-zA-Z0-9]+$", max_length=253)] | None = (
        None
    )


class ClusterSync(Model):
    """Who syncs a cluster, and how that engine reaches it; without more, from inside."""

    engine: Literal["argocd", "flux"] = "argocd"
    server: Server | None = Field(None, description="the cluster's address in Argo CD")
    name: ClusterName | None = Field(None, description="the cluster's name in Argo CD")
    kube_config: KubeConfig | None = None
    service_account: DnsSubdomain | None = Field(
        None, description="whom Flux acts as; without it, as itself"
    )
    hub: DnsLabel | None = Field(
        None, description="the cluster that the engine's own objects are on, if it is another one"
    )
    unseen: bool | None = Field(
        None, description="true: the job judges without asking the engine how it fares"
    )
    nudge: Literal["none", "annotation", "webhook"] | None = Field(
        None, description="how the job tells the engine of a new commit; default: none"
    )
    nudge_url: Hook | None = Field(None, description="whom nudge: webhook calls")

    @property
    def remote(self) -> bool:
        """Whether the engine runs on another cluster than the one that it syncs."""
        named = self.name not in (None, "in-cluster") or self.server not in (None, IN_CLUSTER)
        return named or self.kube_config is not None or self.hub is not None

    @field_validator("server", "name")
    @classmethod
    def _of_argocd(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and info.data.get("engine") == "flux":
            raise ValueError(
                f"{info.field_name} is how Argo CD reaches a cluster, and the engine here is flux;"
                " remove it, and write kubeConfig if the cluster is a remote one"
            )
        if value is not None and info.field_name == "name" and info.data.get("server") is not None:
            raise ValueError("both server and name say which cluster it is; remove one of the two")
        return value

    @field_validator("nudge_url")
    @classmethod
    def _is_called(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and info.data.get("nudge") != "webhook":
            raise ValueError("nobody calls it; write nudge: webhook, or remove nudgeUrl")
        return value

    @model_validator(mode="after")
    def _calls_somebody(self) -> Self:
        if self.nudge == "webhook" and self.nudge_url is None:
            raise ValueError(
                "nudge: webhook names nobody to call; add nudgeUrl,"
                " such as https://argocd.example.com/api/webhook"
            )
        return self

    @field_validator("kube_config", "service_account")
    @classmethod
    def _of_flux(
        cls, value: KubeConfig | str | None, info: ValidationInfo
    ) -> KubeConfig | str | None:
        if value is not None and info.data.get("engine") == "argocd":
            field = "kubeConfig" if info.field_name == "kube_config" else "serviceAccount"
            raise ValueError(
                f"{field} is Flux's, and the engine here is argocd;"
                " write server or name for a remote cluster, or engine: flux"
            )
        return value
