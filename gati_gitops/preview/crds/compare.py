"""CRDs as a whole: which there are, what they are called, how their versions go together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gati_gitops.preview.crds.definition import Definition, definitions
from gati_gitops.preview.crds.found import Found, breaking, risky, safe
from gati_gitops.preview.crds.model import (
    ORDER,
    At,
    CrdChange,
    Node,
    Rule,
    field_path,
    sequence,
    spelled,
    text,
)
from gati_gitops.preview.crds.versions import between_versions, version_changes

_NAMES = ("plural", "kind", "listKind", "singular", "shortNames", "categories")
_COMPARED = {
    "group", "names", "scope", "versions", "conversion", "preserveUnknownFields",
}  # fmt: skip


def compare_crds(old: Sequence[object], new: Sequence[object]) -> tuple[CrdChange, ...]:
    """Every change from the old CRDs to the new ones, by CRD and version, worst first.

    Takes documents as they are read; what is no CustomResourceDefinition is passed over.
    """
    before, after = definitions(old), definitions(new)
    changes: list[CrdChange] = []
    for name in sorted(before.keys() | after.keys()):
        if name not in before:
            changes += _of(name, "", [_added(after[name], before)])
        elif name not in after:
            changes += _of(name, "", [_removed(before[name], after)])
        else:
            changes += _both(before[name], after[name])
    return tuple(changes)


def _both(old: Definition, new: Definition) -> list[CrdChange]:
    found = _of(new.name, "", _whole(old, new))
    for version, changes in (*version_changes(old, new), *between_versions(old, new)):
        found += _of(new.name, version, changes)
    versions = list(dict.fromkeys(change.version for change in found))
    return sorted(found, key=lambda change: (versions.index(change.version), ORDER[change.level]))


def _of(crd: str, version: str, found: Sequence[Found] | Iterator[Found]) -> list[CrdChange]:
    return [
        CrdChange(
            crd, version, _path(one.at), one.rule, one.level, one.old, one.new, one.why,
            one.instead, one.at, one.gone,
        )
        for one in found
    ]  # fmt: skip


def _path(at: At) -> str:
    """The field of objects; outside of a schema, the field of the definition."""
    if "openAPIV3Schema" in at:
        below = at[at.index("openAPIV3Schema") + 1 :]
        return field_path(below) or "(the whole object)"
    return ".".join(str(step) for step in at if isinstance(step, str)).removeprefix("spec.")


# ------------------------------------------------------------------------------------ there or not


def _added(crd: Definition, others: dict[str, Definition]) -> Found:
    for twin in others.values():
        if twin.kind == crd.kind and twin.group == crd.group:
            why = f"it is another resource than {twin.name}, though of the same kind"
            return risky((), Rule.CRD_ADDED, None, crd.name, why)
    return safe((), Rule.CRD_ADDED, None, crd.name, "nobody has objects of it yet")


def _removed(crd: Definition, others: dict[str, Definition]) -> Found:
    moved = next((o for o in others.values() if o.kind == crd.kind), None)
    rule = Rule.GROUP if moved is not None and moved.group != crd.group else Rule.CRD_REMOVED
    hint = f"; {moved.name} is another resource, and nobody moves them there" if moved else ""
    found = breaking(
        (), rule, crd.name, moved.name if moved else None,
        f"with the definition all objects of {crd.kind} are deleted{hint}",
        "keep it until no cluster has an object of it",
    )  # fmt: skip
    return replace(found, gone=True)


# --------------------------------------------------------------------------------------- the whole


def _whole(old: Definition, new: Definition) -> Iterator[Found]:
    if new.twice:
        yield risky(
            (), Rule.CRD_TWICE, None, new.name, "it is defined twice; the last one was compared",
            "keep one of the two",
        )  # fmt: skip
    yield from _fixed(old, new)
    yield from _names(old, new)
    yield from _conversion(old, new)
    before, after = old.keeps_unknown, new.keeps_unknown
    if before != after:
        at = ("spec", "preserveUnknownFields")
        shown = (spelled(before), spelled(after))
        if after:
            why = "an API server takes this of old definitions only: it refuses the change"
            instead = "mark single nodes with x-kubernetes-preserve-unknown-fields"
        else:
            why = (
                "pruning begins: what the schema does not list is dropped when an object is next"
                " written"
            )
            instead = (
                "mark the nodes that hold free fields with x-kubernetes-preserve-unknown-fields"
            )
        yield breaking(at, Rule.PRUNING, *shown, why, instead)
    for word in sorted((old.spec.keys() | new.spec.keys()) - _COMPARED - old.read - new.read):
        if old.spec.get(word) != new.spec.get(word):
            shown_ = (_said(old.spec, word), _said(new.spec, word))
            why = f"what spec.{word} does is not known here"
            yield risky(("spec", word), Rule.OTHER, *shown_, why)


def _fixed(old: Definition, new: Definition) -> Iterator[Found]:
    if old.group != new.group:
        yield breaking(
            ("spec", "group"), Rule.GROUP, old.group, new.group,
            "the API server lets nobody change the group; as a new definition it has none of the"
            " old one's objects",
            "keep the group",
        )  # fmt: skip
    if old.scope != new.scope:
        yield breaking(
            ("spec", "scope"), Rule.SCOPE, old.scope, new.scope,
            "the API server lets nobody change the scope of a definition that is in use: its"
            " objects would have to be deleted with it",
            "define another kind with the other scope",
        )  # fmt: skip


def _names(old: Definition, new: Definition) -> Iterator[Found]:
    before, after = old.names, new.names
    for word in _NAMES:
        one, two = before.get(word), after.get(word)
        if one == two:
            continue
        at = ("spec", "names", word)
        shown = (_said(before, word), _said(after, word))
        if word in ("plural", "kind"):
            yield breaking(
                at, Rule.NAMES, *shown,
                f"the API server lets nobody change the {word} of a definition that is in use, and"
                " every manifest and client names it",
                f"keep the {word}",
            )  # fmt: skip
        elif word == "listKind" and one is not None and two is not None:
            why = "programs that read lists of it by this name no longer can"
            yield breaking(at, Rule.NAMES, *shown, why, "keep the listKind")
        elif set(map(str, sequence(one))) - set(map(str, sequence(two))) or (
            text(one) and word == "singular"
        ):
            why = "people and scripts that use the name with kubectl get an error"
            yield risky(at, Rule.NAMES, *shown, why, "add names, and remove none")
        else:
            yield safe(at, Rule.NAMES, *shown, "all names that worked still work")


def _conversion(old: Definition, new: Definition) -> Iterator[Found]:
    before, after = old.strategy, new.strategy
    at = ("spec", "conversion")
    several = len(new.versions) > 1
    if before != after:
        if after == "Webhook":
            yield risky(
                at, Rule.CONVERSION, before, after,
                "reading and writing other versions now fails whenever the webhook does not answer",
                "have the webhook run, and answer, before the definition names it",
            )  # fmt: skip
        elif several:
            yield breaking(
                at, Rule.CONVERSION, before, after,
                "nothing is converted any more but the apiVersion: what only one of the versions"
                " has is dropped on the way",
                "keep the webhook until a single version is left",
            )  # fmt: skip
        else:
            why = "there is one version only, and nothing to convert"
            yield safe(at, Rule.CONVERSION, before, after, why)
    elif old.webhook != new.webhook:
        yield risky(
            at, Rule.CONVERSION, spelled(old.webhook), spelled(new.webhook),
            "objects of other versions cannot be read while the new address, its certificate or its"
            " version of the protocol does not work",
            "have it answer before the definition names it",
        )  # fmt: skip


def _said(node: Node, word: str) -> str | None:
    return spelled(node[word]) if word in node else None
