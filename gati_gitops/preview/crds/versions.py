"""Versions of one CRD: those that come, go and change, and what is lost between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gati_gitops.preview.crds.definition import Definition, Version
from gati_gitops.preview.crds.found import Found, breaking, risky, safe
from gati_gitops.preview.crds.model import Level, Rule, mapping, spelled, text
from gati_gitops.preview.crds.schema import compare_schemas
from gati_gitops.preview.crds.shapes import field

Versioned = Iterator[tuple[str, list[Found]]]
_KEEP_SERVING = "serve both versions until every client and every manifest uses the new one"


def version_changes(old: Definition, new: Definition) -> Versioned:
    """What happens to each version, old ones first."""
    stored = old.stored | new.stored
    for name, version in old.versions.items():
        if name in new.versions:
            yield name, list(_same(version, new.versions[name]))
        else:
            yield name, [replace(_removed(version, old, new, stored), gone=True)]
    for name, version in new.versions.items():
        if name not in old.versions:
            why = "clients may use it beside the others" if version.served else "nobody gets it yet"
            yield name, [safe(version.at, Rule.VERSION_ADDED, None, name, why)]
    yield "", list(_storage(old, new))


def _removed(version: Version, old: Definition, new: Definition, stored: frozenset[str]) -> Found:
    name = version.name
    come = [other for other in new.versions if other not in old.versions]
    shown = (name, come[0] if len(come) == 1 else None)
    if name in stored or version.storage:
        return breaking(
            version.at, Rule.STORED_VERSION_REMOVED, *shown,
            "objects are stored in it, and the API server refuses a definition without a version"
            " that status.storedVersions names",
            "keep it with served: false; write every object again in the new storage version, take"
            " the old one out of status.storedVersions, and only then remove it",
        )  # fmt: skip
    if version.served:
        why = f"every manifest and client that says {old.group}/{name} gets an error"
        return breaking(version.at, Rule.VERSION_REMOVED, *shown, why, _KEEP_SERVING)
    if old.stored or new.stored:
        why = "nobody was served it, and no object is stored in it"
        return safe(version.at, Rule.VERSION_REMOVED, *shown, why)
    return risky(
        version.at, Rule.VERSION_REMOVED, *shown,
        "objects may be stored in it from earlier: the API server then refuses the definition",
        "look into status.storedVersions of every cluster first; `kubectl get crd -o yaml` gives a"
        " definition with it, which can be compared as well",
    )  # fmt: skip


def _storage(old: Definition, new: Definition) -> Iterator[Found]:
    before, after = old.storage, new.storage
    if before is None:
        return
    if after is None:
        yield breaking(
            ("spec", "versions"), Rule.STORAGE, before.name, None,
            "the API server refuses a definition without a storage version",
            "set storage: true on one version",
        )  # fmt: skip
    elif before.name != after.name:
        yield risky(
            (*after.at, "storage"), Rule.STORAGE, before.name, after.name,
            f"objects stay stored as {before.name} until each is written again, and so long that"
            " version cannot be removed; going back to an older definition without"
            f" {after.name} is refused",
            "store in the new version one release after it is first served",
        )  # fmt: skip


def _same(old: Version, new: Version) -> Iterator[Found]:
    yield from _served(old, new)
    found = list(compare_schemas(old.schema, new.schema, new.schema_at))
    if not old.used and not new.used:
        found = [_unused(change) for change in found]
    yield from found
    yield from _subresources(old, new)
    yield from _shown(old, new)
    for word in sorted(old.other.keys() | new.other.keys()):
        if old.other.get(word) != new.other.get(word):
            yield risky(
                (*new.at, word), Rule.OTHER,
                spelled(old.other[word]) if word in old.other else None,
                spelled(new.other[word]) if word in new.other else None,
                f"what {word} does is not known here",
            )  # fmt: skip


def _unused(change: Found) -> Found:
    if change.level is not Level.BREAKING:
        return change
    return replace(
        change, level=Level.RISKY, why=f"nobody is served this version, but {change.why}"
    )


def _served(old: Version, new: Version) -> Iterator[Found]:
    if old.served != new.served:
        at = (*new.at, "served")
        shown = (spelled(old.served), spelled(new.served))
        if new.served:
            yield safe(at, Rule.SERVED, *shown, "clients may use it beside the others")
        else:
            why = "every manifest and client that uses this version gets an error"
            yield breaking(at, Rule.SERVED, *shown, why, _KEEP_SERVING)
    if old.deprecated != new.deprecated:
        why = "clients get a warning" if new.deprecated else "clients get no warning any more"
        shown = (spelled(old.deprecated), spelled(new.deprecated))
        yield safe((*new.at, "deprecated"), Rule.DEPRECATED, *shown, why)


def _subresources(old: Version, new: Version) -> Iterator[Found]:
    if ("status" in old.subresources) != ("status" in new.subresources):
        yield _status(old, new)
    one, two = old.subresources.get("scale"), new.subresources.get("scale")
    if one == two:
        return
    at = (*new.at, "subresources", "scale")
    shown = (None if one is None else spelled(one), None if two is None else spelled(two))
    if one is None:
        yield safe(at, Rule.SCALE, *shown, "it can be scaled now")
    elif two is None:
        why = "autoscalers and kubectl scale get an error"
        yield breaking(at, Rule.SCALE, *shown, why, "keep the subresource")
    elif all(mapping(two).get(word) == value for word, value in mapping(one).items()):
        yield safe(at, Rule.SCALE, *shown, "what worked still works")
    else:
        why = "autoscalers read and write another field than the one that objects have"
        yield breaking(at, Rule.SCALE, *shown, why, "keep the paths")


def _status(old: Version, new: Version) -> Found:
    at = (*new.at, "subresources", "status")
    if "status" not in new.subresources:
        why = "controllers that write to /status get an error, and whoever may edit may write it"
        return breaking(at, Rule.STATUS, "yes", "no", why, "keep the subresource")
    if field(old.schema, "status") is None:
        return safe(at, Rule.STATUS, "no", "yes", "objects had no status before")
    return breaking(
        at, Rule.STATUS, "no", "yes",
        "status in ordinary writes is dropped without a word from now on: controllers that write it"
        " so stop working",
        "let controllers write to /status first, in a release before",
    )  # fmt: skip


def _shown(old: Version, new: Version) -> Iterator[Found]:
    if old.columns != new.columns:
        names = [
            ", ".join(text(mapping(column).get("name")) for column in side.columns)
            for side in (old, new)
        ]
        at = (*new.at, "additionalPrinterColumns")
        why = "only what `kubectl get` prints is another"
        yield safe(at, Rule.COLUMNS, names[0], names[1], why)
    gone, come = sorted(old.selectable - new.selectable), sorted(new.selectable - old.selectable)
    at = (*new.at, "selectableFields")
    if gone:
        why = "requests that select by it get an error"
        yield breaking(at, Rule.SELECTABLE, ", ".join(gone), None, why, "keep the field selectable")
    if come:
        yield safe(at, Rule.SELECTABLE, None, ", ".join(come), "more can be selected by")


# -------------------------------------------------------------------------------- between versions


def between_versions(old: Definition, new: Definition) -> Versioned:
    """What is lost when an object is written in one version and read or stored in another.

    Only without a webhook: then nothing but the apiVersion is converted, and each schema drops what
    it does not list. What was lost before already is not told again.
    """
    if new.strategy != "None" or len(new.versions) < 2:
        return
    known = {name: set(keys) for name, keys in _pairs(old)} if old.strategy == "None" else {}
    sources = {name for name, version in old.versions.items() if version.used}
    for pair, found in _lost(new):
        here, there = pair
        told = known.get(pair, set())
        changes = [
            _between(change, here, there, here in sources)
            for change in found
            if change.level is not Level.SAFE and _key(change) not in told
        ]
        yield f"{here} → {there}", changes


def _pairs(crd: Definition) -> Iterator[tuple[tuple[str, str], list[tuple[object, ...]]]]:
    for pair, found in _lost(crd):
        yield pair, [_key(change) for change in found]


def _lost(crd: Definition) -> Iterator[tuple[tuple[str, str], list[Found]]]:
    used = [version for version in crd.versions.values() if version.used]
    for one in used:
        for two in used:
            if one is not two:
                found = compare_schemas(one.schema, two.schema, two.schema_at)
                yield (one.name, two.name), list(found)


def _key(change: Found) -> tuple[object, ...]:
    below = change.at[change.at.index("openAPIV3Schema") :]
    return (below, change.rule, change.old, change.new)


def _between(change: Found, here: str, there: str, in_use: bool) -> Found:
    why = f"without a conversion webhook what is written as {here} is read as {there}: {change.why}"
    level = change.level if in_use else Level.RISKY
    instead = f"give {here} and {there} the same schema, or convert with a webhook"
    return replace(change, level=level, why=why, instead=instead)
