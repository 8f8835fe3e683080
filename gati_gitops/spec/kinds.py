"""The three published kinds, with the fields that production adds to them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from gati_gitops.spec.common import (
    API_VERSION,
    DnsLabel,
    DnsSubdomain,
    Image,
    Metadata,
    Model,
    Port,
    Replicas,
    RoutePath,
    Status,
    VersionId,
    Weight,
)
from gati_gitops.spec.workload import RunningWorkload, Workload

Text = Annotated[str, StringConstraints(min_length=1, max_length=253)]


class Timescape(Model):
    """How this version stands beside the others of its path."""

    breaking: bool | None = None
    routing_weight: Weight | None = None


class HandlerSpec(RunningWorkload):
    """What answers on one path."""

    handler_path: RoutePath
    version: VersionId
    timescape: Timescape | None = None


class ModuleSpec(RunningWorkload):
    """A capability that handlers call."""

    module_name: Text
    module_type: Literal["node", "wasm", "oci"]
    runtime: Text
    capabilities: list[Text] = Field(default_factory=list, max_length=64)
    version: VersionId | None = Field(None, description="default: the image's tag or digest")


class VersionSpec(Workload):
    """One version of a handler: its share of the traffic, and what differs in how it runs."""

    version_id: VersionId
    breaking: bool
    routing_weight: Weight
    transformers: list[Text] = Field(default_factory=list, max_length=64)
    deployment_name: DnsSubdomain | None = None
    service_name: DnsSubdomain | None = None
    handler: DnsLabel | None = Field(None, description="the GatiHandler this is a version of")
    image: Image | None = None
    replicas: Replicas | None = None
    port: Port | None = None


class _Document(Model):
    api_version: Literal["gati.dev/v1alpha1"] = API_VERSION
    metadata: Metadata
    status: Status | None = None


class GatiHandler(_Document):
    """A handler and the version of it that is wanted."""

    kind: Literal["GatiHandler"] = "GatiHandler"
    spec: HandlerSpec


class GatiModule(_Document):
    """A module."""

    kind: Literal["GatiModule"] = "GatiModule"
    spec: ModuleSpec


class GatiVersion(_Document):
    """A version of a handler."""

    kind: Literal["GatiVersion"] = "GatiVersion"
    spec: VersionSpec
