"""Where the job reads what a cluster measures, and which series are evidence there."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from gati_gitops.spec.address import LOOPBACK, WebAddress
from gati_gitops.spec.common import Model

LabelName = Annotated[
    str, StringConstraints(pattern=r"^[a-zA-Z_][a-zA-Z0-9_]*$", min_length=1, max_length=128)
]
MetricName = Annotated[
    str, StringConstraints(pattern=r"^[a-zA-Z_:][a-zA-Z0-9_:]*$", min_length=1, max_length=256)
]
File = Annotated[str, StringConstraints(pattern=r"^/[^\x00-\x1f]*$", max_length=1024)]
PlainValue = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9 ._:/@-]*$", max_length=256)]
GatewayKind = Literal["traefik", "istio", "envoy-gateway", "nginx-gateway-fabric", "none"]
_PART = re.compile(r"\{([a-z]*)\}")
_PARTS = frozenset(("namespace", "service", "port"))


class Basic(Model):
    """Files that hold a user name and a password."""

    username_file: File
    password_file: File


class ClientTls(Model):
    """Files with what the server is checked by, and what it checks us by."""

    ca_file: File | None = None
    cert_file: File | None = None
    key_file: File | None = None

    @model_validator(mode="after")
    def _both_or_none(self) -> Self:
        if (self.cert_file is None) != (self.key_file is None):
            raise ValueError("certFile and keyFile go together; add the other one")
        return self


def _backend(value: str) -> str:
    named = _PART.findall(value)
    if "service" not in named or not set(named) <= _PARTS:
        raise ValueError(
            f"{value!r} does not say which Service is meant;"
            " write it with {service}, and where it counts {namespace} and {port}"
        )
    return value


class Edge(Model):
    """Counters of a gateway that has no profile of its own."""

    requests: MetricName = Field(description="a counter of answered requests, by backend and code")
    active: MetricName | None = Field(None, description="a gauge of open requests, by backend")
    label: LabelName = Field(description="the label that names the backend")
    backend: Annotated[
        str,
        StringConstraints(pattern=r"^[A-Za-z0-9 ._:/@|{}-]+$", max_length=256),
        AfterValidator(_backend),
    ] = Field(description="what the label says of one: {namespace}-{service}-{port}")
    code: LabelName = Field("code", description="the label with the status code")


class Evidence(Model):
    """Series that tell what the gateway's usual ones do not; by default its profile decides."""

    gateway: GatewayKind | None = Field(
        None, description="what implements Gateway API here; without it, nobody counts by version"
    )
    gateway_labels: dict[LabelName, PlainValue] = Field(
        default_factory=dict,
        max_length=16,
        description="what the gateway's own series carry, where there are several gateways",
    )
    edge: Edge | None = Field(None, description="counters of another gateway")
    in_flight: MetricName | None = Field(
        None, description="a gauge of requests in progress, by pod"
    )
    ignore_routes: list[PlainValue] = Field(
        default_factory=list,
        max_length=32,
        description="values of the label route that are probes and scrapes, not traffic",
    )


class MetricSource(Model):
    """A Prometheus, or what speaks like one."""

    url: WebAddress
    bearer_file: File | None = Field(None, description="a file that holds a token")
    basic: Basic | None = None
    tls: ClientTls | None = None
    labels: dict[LabelName, PlainValue] = Field(
        default_factory=dict,
        max_length=16,
        description="what its series of this cluster carry, where it holds several",
    )
    replica_label: LabelName | None = Field(
        None, description="the label by which the series of a pair of servers differ"
    )
    max_series: Annotated[int, Field(ge=1, le=10_000_000)] = Field(
        500_000, description="more in one answer are an error, never a part of the truth"
    )
    timeout_seconds: Annotated[int, Field(ge=1, le=300)] = 30
    evidence: Evidence = Field(default_factory=Evidence)

    @model_validator(mode="after")
    def _one_credential(self) -> Self:
        if self.bearer_file is not None and self.basic is not None:
            raise ValueError("bearerFile and basic are both set; remove one of the two")
        return self

    @model_validator(mode="after")
    def _nothing_in_the_clear(self) -> Self:
        parts = urlsplit(self.url)
        secret = self.bearer_file is not None or self.basic is not None
        if secret and parts.scheme == "http" and parts.hostname not in LOOPBACK:
            raise ValueError(
                "the address is http, and a token or password is never sent in the clear;"
                " write https, or remove bearerFile and basic"
            )
        return self
