"""How output reaches its repository: commits, pull requests, and how much may go at once."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gati_gitops.spec.common import Duration, LabelKey, Model

Mode = Literal["direct", "pull-request"]
Grouping = Literal["environment", "namespace", "owner"]
OneLine = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f<>]+$")]


class Author(Model):
    """Whose name commits bear."""

    name: OneLine = "gati-gitops"
    email: OneLine = "gati-gitops@users.noreply.invalid"


class Commits(Model):
    """What commits look like."""

    author: Author = Field(default_factory=Author)
    argocd: bool = Field(True, description="trailers by which Argo CD shows the specs' commit")
    hydrator: bool = Field(
        False, description="hydrator.metadata, notes and -next branches, as gitops-promoter reads"
    )


class PullRequests(Model):
    """How changes that need an approval are offered."""

    group_by: Grouping = Field("environment", description="what one pull request holds")
    owner_label: LabelKey = Field("team", description="the label that names a unit's owner")
    labels: list[OneLine] = Field(default_factory=list)
    reviewers: list[OneLine] = Field(default_factory=list)
    auto_merge: bool = Field(False, description="merged by the forge once its checks pass")
    expire_after: Duration = Field("14d", description="closed when nobody took it until then")


class DeletionBudget(Model):
    """What one commit may take away; retiring counts when it starts."""

    units: Annotated[int, Field(ge=0)] = 5
    objects: Annotated[int, Field(ge=0)] = 100
    percent: Annotated[int, Field(ge=0, le=100)] = Field(
        20, description="of an environment's units; two units are always within it"
    )


class Modes(Model):
    """Which changes are committed at once, and which wait for an approval."""

    publish: Mode = "direct"
    rollout: Mode = "direct"
    rollback: Mode = "direct"
    hold: Mode = "direct"
