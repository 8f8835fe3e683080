"""What a compile refuses, or reports, because of what stood in the output before."""

from __future__ import annotations

from gati_gitops.errors import Problem, Refused
from gati_gitops.ledger.fold import Objection
from gati_gitops.ledger.stored import Stored
from gati_gitops.plan.model import UnitPlan
from gati_gitops.spec.link import LinkedUnit


def claimed(wanted: UnitPlan, stored: Stored) -> Refused:
    return Refused(
        f"{wanted.unit} on {wanted.cluster} belongs to the source {stored.plan.source};"
        f" {wanted.source} ({', '.join(wanted.files)}) claims it too",
        remedy="rename the unit in one of the two sources, or retire it in the other first",
    )


def objected(unit: LinkedUnit, env: str, objection: Objection) -> Problem:
    version = next((v for v in unit.versions if v.id == objection.version), unit.versions[0])
    doc = version.docs[-1]
    field_ = "spec.image" if "image" in objection.code else "spec"
    return Problem(
        objection.code,
        f"{objection.message} (in {env})",
        doc.place(*field_.split(".")),
        field_,
        objection.remedy,
    )
