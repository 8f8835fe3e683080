"""After names have changed: every field that refers to an object by its old name gets the new one.

The references of a kind are kept as a tree of field names, so that fields with a common way are
found in one walk. Candidates are looked up by what they were once called, so the cost grows with
the number of references and not with its square.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from gati_gitops.render import config as configs
from gati_gitops.render import openapi
from gati_gitops.render.config import References
from gati_gitops.render.errors import Broken
from gati_gitops.render.fieldspec import split_path
from gati_gitops.render.resource import NOWHERE, Gvk, Id, ResMap, Resource, split_api_version
from gati_gitops.yamlio.goyaml_patterns import Shape
from gati_gitops.yamlio.goyaml_scalars import is_null, new_string, text_of, untagged_over

# Field name -> (kinds referred to by this very field, with its path; fields below it).
Branch = dict[str, tuple[list[tuple[Gvk, str]], Any]]


def fix_references(resources: ResMap, references: References) -> None:
    candidates: dict[str, list[Resource]] = {}
    for resource in resources:
        for name in dict.fromkeys(name for _, name, _ in resource.previous):
            candidates.setdefault(name, []).append(resource)
    is_usual = references is configs.default().name_references
    trees: dict[tuple[str, str], Branch] = {}
    for resource in resources:
        original = resource.original_id(resources.schema)
        key = (original.api_version, original.kind)
        if key not in trees:
            trees[key] = _usual_tree(*key) if is_usual else _tree(references, *key)
        tree = trees[key]
        draft = resource.draft
        if not tree or (
            draft is not None and is_usual and not candidates and _is_silent(draft.shape, *key)
        ):
            continue
        referrer = _Referrer(resource, resources, candidates)
        if resource.kind == "RoleBinding":
            referrer.check_subjects()
        referrer.walk(resource.obj, tree)


@lru_cache(maxsize=1024)
def _usual_tree(api_version: str, kind: str) -> Branch:
    return _tree(configs.default().name_references, api_version, kind)


@lru_cache(maxsize=1024)
def _is_silent(shape: Shape, api_version: str, kind: str) -> bool:
    """Whether objects of the shape need no look when nothing has another name than before."""
    if kind == "RoleBinding":
        return False
    referrer = _Referrer(Resource(shape.tree), ResMap(openapi.builtin()), {})
    try:
        referrer.walk(shape.tree, _usual_tree(api_version, kind))
    except Broken:
        return False
    return True


def _tree(references: References, api_version: str, kind: str) -> Branch:
    group, version = split_api_version(api_version)
    tree: Branch = {}
    for target, specs in references:
        for spec in specs:
            if not spec.gvk.selects(group, version, kind):
                continue
            parts = split_path(spec.path)
            branch = tree
            for part in parts[:-1]:
                branch = branch.setdefault(part.removesuffix("[]"), ([], {}))[1]
            leaf = branch.setdefault(parts[-1].removesuffix("[]"), ([], {}))
            if (target, spec.path) not in leaf[0]:
                leaf[0].append((target, spec.path))
    return tree


class _Referrer:
    def __init__(
        self, resource: Resource, resources: ResMap, candidates: dict[str, list[Resource]]
    ) -> None:
        self.resource = resource
        self.schema = resources.schema
        self.candidates = candidates
        self._id: Id | None = None
        self._extra: frozenset[str] | None = None

    @property
    def id(self) -> Id:
        self._id = self._id or self.resource.id(self.schema)
        return self._id

    def check_subjects(self) -> None:
        if self.id.namespace != NOWHERE:
            self._extra = _binding_namespaces(self.resource)

    def walk(self, node: Any, tree: Branch) -> None:
        if type(node) is dict:
            for part, (targets, below) in tree.items():
                value = node.get(part)
                if value is None:
                    continue
                if targets:
                    self._set(node, part, targets)
                    value = node[part]
                if below:
                    self.walk(value, below)
        elif type(node) is list:
            for item in node:
                self.walk(item, tree)
        elif not is_null(node):
            raise Broken(
                f"expected a list or a mapping above {next(iter(tree))}", file=self.resource.file
            )

    def _set(self, parent: Any, key: Any, targets: list[tuple[Gvk, str]]) -> None:
        for target, path in targets:
            value = parent[key]
            if isinstance(value, list):
                for index, item in enumerate(value):
                    if isinstance(item, list):
                        raise Broken("a list of lists holds no names", field=path)
                    self._set_one(value, index, item, target, path)
            else:
                self._set_one(parent, key, value, target, path)

    def _set_one(self, parent: Any, key: Any, value: Any, target: Gvk, path: str) -> None:
        if is_null(value):
            return
        if isinstance(value, dict):
            self._set_mapping(value, target, path)
            return
        name = text_of(value)
        referral = self._select(self.candidates.get(name), name, target, path, whole=False)
        if referral is not None and referral.name != name:
            parent[key] = untagged_over(value, referral.name)

    def _set_mapping(self, node: dict[str, Any], target: Gvk, path: str) -> None:
        """A reference with a name and perhaps a namespace."""
        if "name" not in node:
            raise Broken("path config error; no 'name' field in node", field=path)
        name = text_of(node["name"])
        found = self.candidates.get(name)
        if found and "namespace" in node:
            found = self._in_namespace(found, text_of(node["namespace"]))
        referral = self._select(found, name, target, path, whole=True)
        if referral is None:
            return
        namespace = referral.namespace
        if referral.name == name and not namespace:
            return
        node["name"] = untagged_over(node["name"], referral.name)
        if namespace:
            old = node.get("namespace")
            node["namespace"] = (
                new_string(namespace) if old is None else untagged_over(old, namespace)
            )

    def _in_namespace(self, found: list[Resource], namespace: str) -> list[Resource]:
        found = [r for r in found if self._reachable(r)]
        before = [r for r in found if r.original_id(self.schema).namespace == namespace]
        return before or [r for r in found if r.id(self.schema).namespace == namespace]

    def _reachable(self, other: Resource) -> bool:
        """Whether the referrer may mean the other at all."""
        if self.id.namespace == NOWHERE:
            return True
        theirs = other.id(self.schema).namespace
        if theirs in (NOWHERE, self.id.namespace):
            return True
        if self._extra is None:
            self._extra = _binding_namespaces(self.resource)
        return other.namespace in self._extra

    def _select(
        self, found: list[Resource] | None, name: str, target: Gvk, path: str, *, whole: bool
    ) -> Resource | None:
        if not found:
            return None
        found = [r for r in found if self._reachable(r) and _was(r, target)]
        if path.endswith("roleRef/name") and (role := _role(self.resource)) is not None:
            found = [r for r in found if _was(r, role)]
        found = [r for r in found if self._same_namespace(r)]
        if len(found) == 1:
            return found[0]
        found = [r for r in found if _same_affixes(r, self.resource, lenient=True)]
        if len(found) > 1:
            found = [r for r in found if _same_affixes(r, self.resource, lenient=False)]
        if not found:
            return None
        names = {(r.name, r.namespace if whole else "") for r in found}
        if len(names) == 1:
            return found[0]
        options = ", ".join(sorted(str(r.id(self.schema)) for r in found))
        raise Broken(f"found multiple possible referrals for {name}: {options}", field=path)

    def _same_namespace(self, other: Resource) -> bool:
        if self.id.namespace == NOWHERE or other.kind == "ServiceAccount":
            return True
        return other.id(self.schema).namespace in (NOWHERE, self.id.namespace)


def _was(resource: Resource, gvk: Gvk) -> bool:
    group, version = split_api_version(resource.api_version)
    return any(gvk.selects(group, version, kind) for kind, _, _ in resource.previous)


def _role(resource: Resource) -> Gvk | None:
    role = resource.obj.get("roleRef")
    if not isinstance(role, dict) or "apiGroup" not in role or "kind" not in role:
        return None
    return Gvk(text_of(role["apiGroup"]), kind=text_of(role["kind"]))


def _binding_namespaces(resource: Resource) -> frozenset[str]:
    """Namespaces of the service accounts that a RoleBinding names."""
    subjects = resource.obj.get("subjects")
    if resource.kind != "RoleBinding" or not isinstance(subjects, list):
        return frozenset()
    found = set()
    for subject in subjects:
        if not isinstance(subject, dict):
            raise Broken("a subject must be a mapping", file=resource.file, field="subjects")
        if "namespace" in subject and subject.get("kind") == "ServiceAccount":
            if not isinstance(subject["namespace"], str):
                raise Broken("a namespace is blank", file=resource.file, field="subjects")
            found.add(str(subject["namespace"]))
    return frozenset(found)


def _same_affixes(one: Resource, two: Resource, *, lenient: bool) -> bool:
    pairs = ((one.prefixes, two.prefixes), (one.suffixes, two.suffixes))
    return all((lenient and not (a and b)) or _same_end(a, b) for a, b in pairs)


def _same_end(one: list[str], two: list[str]) -> bool:
    short, long = sorted((one, two), key=len)
    return long == short if not short else long[-len(short) :] == short
