"""Settings as causes: what differs in gati.yaml, and whom that concerns."""

from __future__ import annotations

from gati_gitops.preview.compare import compare
from gati_gitops.preview.locate import Field, Locator
from gati_gitops.preview.side import Side, UnitPlace


def moved_settings(before: Side, after: Side) -> tuple[Field, ...]:
    """The fields of gati.yaml that differ, those of clusters and environments first."""
    docs = [
        side.locate.specs.project_doc if isinstance(side.locate, Locator) else None
        for side in (before, after)
    ]
    if docs[0] is None or docs[1] is None:
        return ()
    paths = (change.path for change in compare(docs[0].data, docs[1].data))
    fields = {tuple(step for step in path if isinstance(step, str)) for path in paths}
    return tuple(sorted(fields, key=lambda path: (-len(path), path)))


def concerns(path: Field, env: str, cluster: str) -> bool:
    """Whether a field of gati.yaml has a say on a cluster."""
    match path:
        case ("spec", "environments", other, "clusters", named, *_):
            return (other, named) == (env, cluster)
        case ("spec", "environments" | "promotion", other, *_):
            return other == env
    return path[0] == "spec"


def contents(side: Side, place: UnitPlace) -> object:
    """What the documents of a unit say."""
    return side.locate.content(place) if isinstance(side.locate, Locator) else object()
