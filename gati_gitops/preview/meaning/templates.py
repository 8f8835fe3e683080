"""Which template made an object: a finding about it points there, and not at the unit."""

from __future__ import annotations

import re

from gati_gitops.emit.release import TEMPLATED, release_path
from gati_gitops.preview.model import ObjectId
from gati_gitops.preview.side import Side, UnitSide
from gati_gitops.tree import is_ours

_NAMED = re.compile(rb"^# [^\n]*?(templates/[^\s,]+\.yaml\.j2)")


def template_of(side: Side, unit: UnitSide, version: str, id: ObjectId) -> str:
    """The file of the template; empty where the compiler itself has made the object."""
    for added in unit.plan.added:
        if added.identity == (id.group, id.kind, id.name):
            return added.template
    planned = next((one for one in unit.plan.versions if one.id == version), None)
    if planned is None:
        return ""
    folder = release_path(unit.plan.unit, planned.release)
    listed = side.files.get(f"{folder}/kustomization.yaml", b"").decode()
    for name in re.findall(rf"({TEMPLATED}[\w.-]+\.yaml)", listed):
        content = side.files.get(f"{folder}/{name}", b"")
        if is_ours(content) and _is(content, id) and (found := _NAMED.match(content)):
            return found[1].decode()
    return ""


def _is(content: bytes, id: ObjectId) -> bool:
    text = content.decode()
    return bool(
        re.search(rf"^kind: {re.escape(id.kind)}$", text, re.MULTILINE)
        and re.search(rf"^  name: [\"']?{re.escape(id.name)}[\"']?$", text, re.MULTILINE)
    )
