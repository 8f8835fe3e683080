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


Tier = Literal["hot", "warm", "cold"]


class Timescape(Model):
    """How this version stands beside the others of its path."""

    breaking: bool | None = None
    routing_weight: Weight | None = None
    transformers: list[Text] = Field(
        default_factory=list, max_length=64, description="transformers from and to its neighbours"
    )
    tier: Tier | None = Field(None, description="how warm this version is kept")


class HandlerSpec(RunningWorkload):
    """What answers on one path."""

    handler_path: RoutePath = Field(description="URL path that it answers on")
    version: VersionId = Field(description="id of this version, such as v1.0.0")
    timescape: Timescape | None = None


class ModuleSpec(RunningWorkload):
    """A capability that handlers call."""

    module_name: Text = Field(description="name that handlers know it by")
    module_type: Literal["node", "wasm", "oci"] = Field(description="what its image holds")
    runtime: Text = Field(description="what runs it, such as node:20")
    capabilities: list[Text] = Field(
        default_factory=list, max_length=64, description="what it may use, such as network"
    )
    version: VersionId | None = Field(None, description="default: the image's tag or digest")


class VersionSpec(Workload):
    """One version of a handler: its share of the traffic, and what differs in how it runs."""

    version_id: VersionId = Field(description="id of this version, such as v1.0.0")
    breaking: bool = Field(description="whether clients of the version before it break")
    routing_weight: Weight = Field(description="percent of the handler's traffic")
    transformers: list[Text] = Field(
        default_factory=list, max_length=64, description="transformers from and to its neighbours"
    )
    deployment_name: DnsSubdomain | None = Field(None, description="Deployment of its handler")
    service_name: DnsSubdomain | None = Field(None, description="Service of its handler")
    handler: DnsLabel | None = Field(None, description="the GatiHandler this is a version of")
    image: Image | None = Field(None, description="the image that runs; default: the handler's")
    replicas: Replicas | None = Field(None, description="number of pods; default: the handler's")
    port: Port | None = Field(None, description="default: the handler's")
    tier: Tier | None = Field(None, description="how warm this version is kept")


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


class VersionMetadata(Metadata):
    """Nothing is named after a GatiVersion, so it may be called users-v1.0.0."""

    name: DnsSubdomain


class GatiVersion(_Document):
    """A version of a handler."""

    kind: Literal["GatiVersion"] = "GatiVersion"
    metadata: VersionMetadata
    spec: VersionSpec
