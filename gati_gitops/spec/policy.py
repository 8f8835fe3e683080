"""Policies in gati.yaml: rules of a team that ``validate`` enforces on every unit.

``spec.policies`` holds for all environments; what an environment says under its own ``policies`` is
laid over that, as partial documents are: maps merge, null removes, everything else replaces. So a
rule can be a warning everywhere and an error in prod.

Plain declarations, no expressions: each rule says what it wants, so a violation can say what to
write instead.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from gati_gitops.spec.common import LabelKey, Model, Replicas
from gati_gitops.spec.workload import override

Level = Literal["error", "warning", "none"]
"""``none`` switches a rule off; ``off`` would be true or false to some readers of YAML."""

# A host, which has a dot, a port or is localhost, and folders; * stands for any text in a segment.
Registry = Annotated[
    str,
    StringConstraints(
        pattern=r"^(localhost|[A-Za-z0-9*-]+(\.[A-Za-z0-9*-]+)+)(:[0-9]+)?(/[a-z0-9*][a-z0-9._*-]*)*$",
        max_length=255,
    ),
]
Limit = Literal["cpu", "memory", "ephemeral-storage"]
ImagePattern = Annotated[
    str, StringConstraints(pattern=r"^[-A-Za-z0-9._:/@*?]+$", min_length=1, max_length=255)
]
LabelPattern = Annotated[
    str, StringConstraints(pattern=r"^[-A-Za-z0-9_.*?]*$", max_length=63)
]  # fmt: skip


class LatestPolicy(Model):
    """An image names a tag other than latest, or a digest."""

    severity: Level = "warning"


class DigestPolicy(Model):
    """An image is named by its digest, which nobody can move."""

    severity: Level = "error"


class RegistriesPolicy(Model):
    """Images come from these places only."""

    allow: list[Registry] = Field(
        min_length=1, max_length=256, description="such as ghcr.io/acme; * within one segment"
    )
    severity: Level = "error"


class ImagesPolicy(Model):
    """Images that nobody may run."""

    forbid: list[ImagePattern] = Field(
        min_length=1, max_length=256, description="such as docker.io/library/*, or node:*-alpine"
    )
    severity: Level = "error"


class LimitsPolicy(Model):
    """Containers have these limits."""

    require: list[Limit] = Field(default=["memory"], max_length=3)
    severity: Level = "warning"


class ReplicasPolicy(Model):
    """How many pods a version may have, or a scaler give it."""

    min: Replicas | None = None
    max: Replicas | None = None
    severity: Level = "error"

    @model_validator(mode="after")
    def _range(self) -> Self:
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min} is above max {self.max}; lower min or raise max")
        return self


class LabelsPolicy(Model):
    """Labels that a unit's document must have."""

    require: dict[LabelKey, list[LabelPattern]] = Field(
        min_length=1,
        max_length=64,
        description="label to the values that it may have; * stands for any text, [] for any value",
    )
    severity: Level = "error"


class Policies(Model):
    """What every unit must keep to."""

    latest: LatestPolicy | None = Field(default_factory=LatestPolicy)
    digest: DigestPolicy | None = None
    registries: RegistriesPolicy | None = None
    images: ImagesPolicy | None = None
    limits: LimitsPolicy | None = Field(default_factory=LimitsPolicy)
    replicas: ReplicasPolicy | None = None
    labels: LabelsPolicy | None = None

    def under(self, own: Policies) -> Policies:
        """These, with what an environment says itself laid over them; raises ValidationError."""
        if not own.model_fields_set:
            return self
        data = override(_said(self), _said(own))
        # A rule that both leave out keeps its default; one that was removed stays removed.
        gone = {name: None for name in own.model_fields_set if getattr(own, name) is None}
        return Policies.model_validate(data | gone)


def _said(policies: Policies) -> dict[str, object]:
    return policies.model_dump(by_alias=True, exclude_unset=True)
