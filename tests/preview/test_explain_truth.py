"""What is named as the origin of a field does make it: changing the one changes the other.

Every field of the golden trees is asked for its origin. The named field of the specs is changed to
another valid value and everything is compiled again. The same line of the tables is tried once.
"""

import re
from collections import defaultdict
from collections.abc import Iterator

from gati_gitops.preview.explain import Kind
from gati_gitops.tree import Tree
from gati_gitops.yamlio.strict import marks
from gati_gitops.yamlio.strict import read as read_documents
from tests.golden.cases import CASES, HERE, read
from tests.preview.mutate import (
    REMOVED,
    RENAMED,
    Field,
    Spot,
    changes,
    compiled,
    differs,
    explained,
    leaves,
    objects,
    recompiled,
    samples,
    show,
    spot,
    steps_of,
    value_at,
)

# Said of several fields at once, or of what the rollout holds; the manifests are what counts.
RECORDS = {"unit.yaml", "rollout.yaml", "Kustomization", "record", "template"}
# Nothing else would be valid beside the rest of those specs; other cases try the same sources.
UNTRIED = {
    "ConfigMap metadata.name",
    'ConfigMap metadata.labels["app.kubernetes.io/instance"]',
    'ConfigMap metadata.labels["gati.dev/unit"]',
    "ConfigMap metadata.namespace",
    "Deployment spec.template.spec.volumes[].configMap.name",
    'NetworkPolicy spec.ingress[].from[].namespaceSelector.matchLabels["kubernetes.io/metadata.name"]',
    "project.yaml promotion.after",
    "project.yaml environment",
}
# Cases in which one change does not move many others: a metric that changes its type changes all of
# itself, and one module less moves every rule of a policy.
PLAIN = (
    "engine-argocd", "environments", "manual-weights", "modules", "monitoring", "references",
    "route-gateway", "route-traefik",
)  # fmt: skip
PROJECT = (
    b"apiVersion: gati.dev/v1alpha1\nkind: GatiProject\nmetadata: {name: default}\n"
    b"spec:\n  environments:\n    default: {clusters: {in-cluster: {}}}\n"
)


def fields_of(kind: Kind) -> Iterator[tuple[Tree, dict, dict[tuple[str, ...], list[Field]]]]:
    """Per case: its specs, its objects, and its fields by what is named as their origin."""
    seen: set[tuple[str, str]] = set()
    for case in CASES:
        files = read(HERE / case / "specs")
        tree = compiled(files, {})
        groups: dict[tuple[str, ...], list[Field]] = defaultdict(list)
        for field in explained(files, tree):
            origin = field.origin
            tried = (field.shape, re.sub(r"\d+", "", origin.field))
            if origin.kind is kind and field.table not in RECORDS and tried not in seen:
                seen.add(tried)
                groups[origin.file, origin.place, origin.field].append(field)
        yield files, objects(tree), groups


def test_changing_the_named_field_changes_the_manifest():
    count, lies, untried = 0, [], set()
    for files, old, groups in fields_of(Kind.SPEC):
        for fields in groups.values():
            left, tried = fields, 0
            for where, new in changes(spot(files, fields[0].origin)):
                made = recompiled(files, {}, where, new)
                if made is not None:
                    tried += 1
                    left = [field for field in left if not differs(field, old, made)]
                if not left or tried > 12:
                    break
            untried |= {field.shape for field in left if not tried}
            lies += [(f.key, f.shape, f.origin) for f in left if tried and f.shape not in UNTRIED]
            count += len(fields)
    assert lies == []
    assert untried <= UNTRIED
    assert count > 500


def test_writing_the_field_that_a_default_names_changes_the_manifest():
    count, lies = 0, []
    for files, old, groups in fields_of(Kind.DEFAULT):
        for fields in groups.values():
            origin = fields[0].origin
            given = {"gati.yaml": PROJECT, **files}  # there may be none
            documents = [doc.value for doc in read_documents(given[origin.file], "").documents]
            left = fields
            for number in range(len(documents)):
                where = Spot(origin.file, documents, number, steps_of(origin.field))
                for new in samples(where.kind, where.steps):
                    made = recompiled(given, {}, where, new)
                    if made is not None:
                        left = [field for field in left if not differs(field, old, made)]
                    if not left:
                        break
                if not left:
                    break
            lies += [(field.key, field.shape, field.origin) for field in left]
            count += len(fields)
    assert lies == []
    assert count > 150


def test_what_a_field_of_the_specs_changes_names_it():
    """The other way round: no field moves by a cause that its origin keeps silent about."""
    silent, count = set(), 0
    for case in PLAIN:
        files = read(HERE / case / "specs")
        tree = compiled(files, {})
        old = objects(tree)
        fields: dict[tuple[str, str, str], list[Field]] = defaultdict(list)
        for field in explained(files, tree):
            if field.table not in RECORDS | {"project.yaml", "sync.yaml"}:
                fields[field.key].append(field)
        for file, path, where in leaves_of(files):
            made = first_valid(files, where)
            for key in (old.keys() & made.keys()) if made else ():
                for field in fields[key] if made[key] != old[key] else ():
                    if value_at(made[key], field.path) != field.value:
                        count += 1
                        origin = field.origin
                        causes = [(origin.file, origin.field)]
                        causes += [(cause.file, cause.field) for cause in origin.also]
                        if not any(of == file and related(path, by) for of, by in causes):
                            silent.add((field.shape, path))
    assert silent == set()
    assert count > 300


def leaves_of(files: Tree) -> Iterator[tuple[str, str, Spot]]:
    for file, content in files.items():
        if file.endswith(".yaml"):
            documents = [document.value for document in read_documents(content, file).documents]
            for number, document in enumerate(documents):
                assert marks(content, number)
                parts = {name: document[name] for name in ("metadata", "spec")}
                for path, _ in leaves(parts):
                    # Weights go together, and a list that loses an element moves all the others.
                    if path[-1] != "routingWeight":
                        yield file, show(path), Spot(file, documents, number, list(path))


def first_valid(files: Tree, where: Spot) -> dict | None:
    for spot_, new in list(changes(where))[:8]:
        if new in (REMOVED, RENAMED):
            continue
        made = recompiled(files, {}, spot_, new)
        if made is not None:
            return made
    return None


def related(one: str, two: str) -> bool:
    return one.startswith(two) or two.startswith(one)
