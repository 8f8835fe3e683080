"""Where the job reads what a cluster measures, and which series are evidence there."""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from gati_gitops.spec.common import Model

_ADDRESS = re.compile(r"https?://(?P<at>[^/?#]*@)?[^/?#@]+(/[^?#]*)?")
LabelName = Annotated[
    str, StringConstraints(pattern=r"^[a-zA-Z_][a-zA-Z0-9_]*$", min_length=1, max_length=128)
]
MetricName = Annotated[
    str, StringConstraints(pattern=r"^[a-zA-Z_:][a-zA-Z0-9_:]*$", min_length=1, max_length=256)
]
File = Annotated[str, StringConstraints(pattern=r"^/[^\x00-\x1f]*$", max_length=1024)]
PlainValue = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9 ._:/@-]*$", max_length=256)]


def _address(value: str) -> str:
    found = _ADDRESS.fullmatch(value)
    if found is None:
        raise ValueError(
            "the address is not http:// or https:// without ? and #;"
            " write one such as https://prometheus.example.com"
        )
    if found["at"]:  # not shown: it may hold a password
        raise ValueError(
            "the address holds a user name or password, and many can read it;"
            " remove what stands before the @, and name files under basic instead"
        )
    return value.rstrip("/")


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


class Evidence(Model):
    """Series that tell what the gateway's usual ones do not; by default its profile decides."""

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

    url: Annotated[str, StringConstraints(max_length=2048), AfterValidator(_address)]
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
