"""Compile only what changed, where Git can say what that is.

A record names the commit of the specs that was compiled and the trees that this left behind. While
those trees are on the tip, a compile of those specs would change nothing. So a unit needs to be
compiled again only if its spec files changed since, or if somebody touched its folder. What a
document says to others (its path, its hosts, its port, what it calls) must be the same; whenever it
is not, or anything else is unusual, everything is compiled. Both ways give the same tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gati_gitops import __version__
from gati_gitops.compiler import Compilation, Placed
from gati_gitops.compiler.refuse import objected
from gati_gitops.compiler.run import Builders, policy_of
from gati_gitops.compiler.stored import unit_changes
from gati_gitops.emit.layout import WHOLE
from gati_gitops.emit.release import ReleaseFolder, unspoilt
from gati_gitops.errors import GatiError, Problem
from gati_gitops.ledger.fold import fold
from gati_gitops.ledger.model import Ledger
from gati_gitops.ledger.store import ledger_from
from gati_gitops.ledger.stored import Stored
from gati_gitops.output import Output, UnitKey
from gati_gitops.plan.check import check
from gati_gitops.plan.naming import UnitId
from gati_gitops.plan.units import Planner
from gati_gitops.publish.model import Committed, Request
from gati_gitops.publish.records import Record, read_records, watched
from gati_gitops.publish.split import release_folders
from gati_gitops.repo.objects import BLOB, Entry, Objects
from gati_gitops.repo.trees import GitSnapshot, differences
from gati_gitops.spec.gather import environment_of
from gati_gitops.spec.link import LinkedUnit, link_all
from gati_gitops.spec.load import examine
from gati_gitops.tree import Changes, is_ours
from gati_gitops.yamlio.goyaml_read import GoYamlError, decode, read_config, read_resources

MOST = 200
"""So many units at once are a change of the project; compiling everything is as fast."""

_OWN = frozenset(
    (
        "args", "autoscaling", "breaking", "command", "drain", "env", "image", "placement",
        "replicas", "resources", "routingWeight", "tier", "timescape", "version", "versionId",
    )
)  # fmt: skip
"""Fields of a spec that mean something to its own unit alone."""


class _Unknown(Exception):
    """What changed can't be told apart from the rest."""


def compile_changed(request: Request, before: GitSnapshot, objects: Objects) -> Compilation | None:
    """What a compile of everything would change; None where only that can tell."""
    plain = not (request.narrowed.environments or request.narrowed.clusters)
    if request.committed is None or request.upgrade or request.discard or not plain:
        return None
    try:
        return _Changed(request, request.committed, before, Output(before), objects).run()
    except (_Unknown, GoYamlError):
        return None


@dataclass(slots=True)
class _Changed:
    request: Request
    committed: Committed
    before: GitSnapshot
    output: Output
    objects: Objects
    stored: dict[UnitKey, dict[tuple[str, str], Stored]] = field(default_factory=dict)

    def run(self) -> Compilation:
        head = self.committed.repository.at(self.committed.commit)
        if head.folder("templates"):
            raise _Unknown
        keys: set[UnitKey] = set()
        for env in self.request.project.spec.environments:
            records = read_records(self.output, self.before, env, self.request.source)
            if not records:
                raise _Unknown
            for record in records.values():
                keys |= self._touched(env, record)
            for commit in {record.commit for record in records.values()}:
                keys |= self._edited(env, commit, head)
        files = self._closure(keys, head)
        if not keys:
            return Compilation((), {}, {}, frozenset(), ())
        return self._compile(keys, files)

    # -- what was touched in the output ------------------------------------------------------------

    def _touched(self, env: str, record: Record) -> set[UnitKey]:
        """Units whose folders are not as this record left them."""
        project = self.request.project
        if record.compiler != __version__ or not record.commit:
            raise _Unknown
        waits = project.spec.environments[env].modes.publish != "direct"
        if record.group != WHOLE and (waits or project.spec.pull_requests.group_by == "owner"):
            raise _Unknown  # a group may wait for its approval, and has no record until then
        if record.trees.keys() != {
            path
            for path in watched(project, env, record.group, lambda: ())
            if record.trees.get(path) or self.before.id(path)
        }:
            raise _Unknown
        found: set[UnitKey] = set()
        for path, id in record.trees.items():
            now = self.before.id(path)
            if now == id:
                continue
            if not now or path.endswith(".yaml") or not self.objects.has(bytes.fromhex(id)):
                raise _Unknown
            for where, was, is_ in differences(
                self.objects, bytes.fromhex(id), bytes.fromhex(now), prefix=f"{path}/"
            ):
                found |= self._touching(where, was, is_)
        return found

    def _touching(self, path: str, was: Entry | None, now: Entry | None) -> set[UnitKey]:
        top, *parts = path.split("/")
        if top == "base" and len(parts) == 4:
            self._sound("/".join(("base", *parts[:3])))
            return set()
        if top != "overlays" or len(parts) != 5 or not parts[3].startswith(("handler-", "module-")):
            raise _Unknown
        if parts[4] == "unit.yaml" and (was is None or now is None):
            raise _Unknown  # a unit came or went
        if parts[4] == "rollout.yaml" and self._serving(path, was) != self._serving(path, now):
            raise _Unknown  # its neighbours' routes depend on it
        if parts[4] != "rollout.yaml" and now and not is_ours(self.objects.read(now[1], BLOB)):
            raise _Unknown  # a person's file is refused, or removed if that is asked for
        return {(parts[2], parts[3])}

    def _serving(self, path: str, entry: Entry | None) -> bool:
        if entry is None:
            raise _Unknown
        ledger: Ledger = ledger_from(read_config(decode(self.objects.read(entry[1], BLOB))), path)
        return ledger.serving

    def _sound(self, folder: str) -> None:
        """A release folder that is not as before must be new, or gone for good."""
        files = self.output.files(folder)
        if files and not unspoilt(folder, files):
            raise _Unknown
        if not files:
            _, namespace, unit, _ = folder.split("/")
            for place in self._places((namespace, unit)).values():
                if folder in release_folders(place.plan):
                    raise _Unknown

    # -- what was edited in the specs --------------------------------------------------------------

    def _edited(self, env: str, commit: str, head: GitSnapshot) -> set[UnitKey]:
        """Units whose documents are not as at a commit; only their own fields may differ."""
        repository = self.committed.repository
        try:
            then = repository.at(commit)
            pairs = repository.changed(commit, self.committed.commit)
        except GatiError as error:
            raise _Unknown from error
        found: set[UnitKey] = set()
        for old, new in pairs:
            layer = environment_of(new or old or "")
            if layer and layer != env:
                continue
            if old is None or new is None or old != new or old == self.request.file:
                raise _Unknown
            was, now = _documents(then.read(old)), _documents(head.read(new))
            if was.keys() != now.keys():
                raise _Unknown
            for identity, document in now.items():
                if document != was[identity]:
                    if _outward(document) != _outward(was[identity]):
                        raise _Unknown
                    found.add(_unit_of(identity, document))
        return found

    def _closure(self, keys: set[UnitKey], head: GitSnapshot) -> dict[str, bytes]:
        """The spec files of these units; a unit that shares a file with one of them joins them."""
        files: dict[str, bytes] = {}
        waiting = sorted(keys)
        while waiting:
            if len(keys) > MOST:
                raise _Unknown
            key = waiting.pop()
            places = self._places(key)
            if not places:
                raise _Unknown
            for place in places.values():
                for name in place.plan.files:
                    content = head.read(name)
                    if content is None or name in files:
                        continue
                    files[name] = content
                    for identity, document in _documents(content).items():
                        other = _unit_of(identity, document)
                        if other not in keys:
                            keys.add(other)
                            waiting.append(other)
        return files

    def _places(self, key: UnitKey) -> dict[tuple[str, str], Stored]:
        """A unit on all clusters; unknown if one has it not, or it is another source's."""
        if key not in self.stored:
            found: dict[tuple[str, str], Stored] = {}
            for env, settings in self.request.project.spec.environments.items():
                for cluster in settings.clusters:
                    stored = self.output.unit(env, cluster, key)
                    if stored is None or stored.plan.source != self.request.source:
                        raise _Unknown
                    if stored.ledger is None:
                        raise _Unknown
                    found[env, cluster] = stored
            self.stored[key] = found
        return self.stored[key]

    # -- the compile -------------------------------------------------------------------------------

    def _compile(self, keys: set[UnitKey], files: Mapping[str, bytes]) -> Compilation:
        request = self.request
        own = self.committed.read(request.file)
        if own is None:
            raise _Unknown
        specs, problems = examine([(request.file, own), *sorted(files.items())])
        if specs is None or any(problem.is_error for problem in problems):
            raise _Unknown  # everything is reported together
        specs = replace(specs, project=request.project)  # as environments' owners have it
        linked = link_all(specs, self._names(keys))
        problems += [p for p in check(specs, linked) if p.code != "unknown-module"]
        if any(problem.is_error for problem in problems):
            raise _Unknown
        if {_key(unit) for unit in linked.base} != keys:
            raise _Unknown
        self._check_names(keys)
        planner = Planner(request.project, request.source, Builders(), modules=self._modules(keys))
        planner.compile_releases(linked.base)
        placed = list(self._placed(planner, linked.on, problems))
        changes = self._changes(placed, planner)
        new = frozenset(p for p, c in changes.items() if c is not None and not self.before.id(p))
        warnings = tuple(sorted(set(problems), key=Problem.sort_key))
        return Compilation(tuple(placed), {}, changes, new, warnings)

    def _placed(
        self,
        planner: Planner,
        on: Mapping[tuple[str, str], tuple[LinkedUnit, ...]],
        problems: list[Problem],
    ) -> Iterator[Placed]:
        for (env, cluster), units in sorted(on.items()):
            policy, around = policy_of(self.request.project, env), planner.around(units)
            for unit in units:
                stored = self._places(_key(unit))[env, cluster]
                wanted = planner.plan(unit, env, cluster, None, around)
                known = (stored.plan.wanted or stored.plan).route
                if wanted.route is not None:
                    if known is None:
                        raise _Unknown
                    wanted = replace(wanted, route=replace(wanted.route, beside=known.beside))
                if wanted.route != known:
                    raise _Unknown
                outcome = fold(policy, wanted, stored)
                assert stored.ledger is not None
                if outcome.plan is None or outcome.ledger.serving != stored.ledger.serving:
                    raise _Unknown
                problems += [objected(unit, env, o) for o in outcome.objections]
                if outcome.objections:
                    raise _Unknown
                yield Placed(unit, outcome)

    def _changes(self, placed: Iterable[Placed], planner: Planner) -> Changes:
        made = (compiled.folder for compiled in planner.releases.values())
        folders = {folder.path: folder for folder in made if isinstance(folder, ReleaseFolder)}
        changes: Changes = {}
        for place in placed:
            plan = place.plan
            assert plan is not None
            changes |= unit_changes(
                self.output, (plan.environment, plan.cluster, plan.unit.key), place.outcome
            )
            for path in release_folders(plan):
                if not self.before.id(path):
                    if path not in folders:
                        raise _Unknown
                    files = folders[path].files
                    changes |= {f"{path}/{name}": content for name, content in files.items()}
        return changes

    def _names(self, keys: Iterable[UnitKey]) -> dict[tuple[str, str], str]:
        plans = [s.plan for key in keys for s in self._places(key).values()]
        return {(p.unit.namespace, p.route.path): p.unit.name for p in plans if p.route is not None}

    def _modules(self, keys: Iterable[UnitKey]) -> dict[tuple[str, str], Any]:
        """The modules that these units call, as they were called before."""
        return {
            (call.namespace, call.name): call
            for key in keys
            for stored in self._places(key).values()
            for version in stored.plan.versions
            for call in version.calls
        }

    def _check_names(self, keys: Iterable[UnitKey]) -> None:
        """No other unit's objects may begin like these: a version could make names meet."""
        for namespace, folder in keys:
            for env, cluster in self._places((namespace, folder)):
                for other in self.before.folder(f"overlays/{env}/{cluster}/{namespace}"):
                    if other.startswith(f"{folder}-") or folder.startswith(f"{other}-"):
                        raise _Unknown


def _key(unit: LinkedUnit) -> UnitKey:
    return UnitId(unit.namespace, unit.kind, unit.name).key


Identity = tuple[str, str, str]


def _documents(content: bytes | None) -> dict[Identity, dict[str, Any]]:
    """The documents of a spec file by kind, namespace and name."""
    if content is None:
        raise _Unknown
    found: dict[Identity, dict[str, Any]] = {}
    for document in read_resources(decode(content)):
        metadata = document.get("metadata")
        if not isinstance(metadata, dict) or not isinstance(document.get("spec"), dict):
            raise _Unknown
        identity = (
            str(document.get("kind")),
            str(metadata.get("namespace") or "default"),
            str(metadata.get("name")),
        )
        if identity in found:
            raise _Unknown
        found[identity] = document
    return found


def _unit_of(identity: Identity, document: Mapping[str, Any]) -> UnitKey:
    kind, namespace, name = identity
    if kind == "GatiHandler":
        return (namespace, f"handler-{name}")
    if kind == "GatiModule":
        return (namespace, f"module-{name}")
    if kind == "GatiVersion" and isinstance(handler := document["spec"].get("handler"), str):
        return (namespace, f"handler-{handler}")
    raise _Unknown


def _outward(document: Mapping[str, Any]) -> dict[str, Any]:
    """What of a document others may depend on."""
    spec = {key: value for key, value in document["spec"].items() if key not in _OWN}
    return {**document, "spec": spec}
