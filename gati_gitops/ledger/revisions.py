"""The same version with other pods: what is refused, what is kept for the way back."""

from __future__ import annotations

from dataclasses import replace

from gati_gitops.ledger.model import Entry, Phase
from gati_gitops.ledger.outcome import Objection
from gati_gitops.ledger.policy import Policy
from gati_gitops.ledger.stored import Stored
from gati_gitops.plan.model import PlannedVersion, UnitPlan


def refusal(
    policy: Policy, wanted: UnitPlan, stored: Stored, version: PlannedVersion, entry: Entry | None
) -> Objection | None:
    """A version that can't run, or that has other pods than before where that is not allowed."""
    if entry is None:
        return None if version.release else without_release(version)
    if not version.release:
        return None
    before = stored.plan.version(*entry.key)
    image = before.image if before is not None else entry.image
    if image and image != version.image and policy.revisions != "any":
        return Objection(
            "image-changed",
            version.id,
            f"version {version.id} was published with image {image}, now it names {version.image}",
            "a version never changes its image: give the new image a new version id",
        )
    if version.id != wanted.target and (entry.barred or entry.phase is Phase.REMOVED):
        return None  # nobody will run it
    variant = version.digest == entry.digest and before and before.variant != version.variant
    if policy.revisions == "refuse" and (variant or version.digest != entry.digest):
        return Objection(
            "revision-refused",
            version.id,
            f"version {version.id} changed, and {wanted.environment} refuses revisions",
            "give it a new version id, or set revisions: roll for this environment",
        )
    return None


def revised(entry: Entry, version: PlannedVersion) -> Entry:
    """The same version with other pods. The last revision that was proved stays the way back."""
    if entry.phase is Phase.PARKED:
        return replace(entry, digest=version.digest, previous="", proved=0)
    previous = entry.previous or entry.digest
    return replace(
        entry,
        digest=version.digest,
        previous="" if previous == version.digest else previous,
        proved=0,
    )


def judged(entry: Entry | None) -> tuple[str, ...]:
    """Digests of a version that stay judged bad when it starts with another."""
    if entry is None or not entry.barred:
        return entry.revoked if entry is not None else ()
    return tuple(sorted({*entry.revoked, entry.digest}))


def without_release(version: PlannedVersion) -> Objection:
    return Objection(
        "version-without-image",
        version.id,
        f"version {version.id} has no image, and no release of it was compiled before",
        "set spec.image on its GatiVersion, or publish it from its GatiHandler first",
    )
