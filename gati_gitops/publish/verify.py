"""Verify: the branch is what the specs and its ledgers compile to, and nothing else.

Each record names the commit of the specs that it was compiled from, so every environment is held
against what it was given, not against the newest specs. Whatever a compile on top of the branch
would still change is a path that somebody else wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

from gati_gitops import __version__
from gati_gitops.compiler import Narrowed, compile_specs
from gati_gitops.compiler.job import kept
from gati_gitops.compiler.lost import lost_folders, lost_units
from gati_gitops.emit.layout import record_group
from gati_gitops.emit.release import unspoilt
from gati_gitops.errors import GatiError, Refused
from gati_gitops.output import Output
from gati_gitops.plan.model import UnitPlan
from gati_gitops.publish.records import Record, read_ahead, read_records
from gati_gitops.publish.split import release_folders, split
from gati_gitops.spec.load import Specs
from gati_gitops.tree import Changes, Snapshot

SpecsAt = Callable[[str], Specs]
"""The specs at a commit; of the folder that was given, if the commit is empty."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A path that is not what it should be."""

    environment: str
    path: str
    what: str
    """``changed``, ``missing`` or ``foreign``."""


@dataclass(frozen=True, slots=True)
class Verified:
    """What was held against what."""

    differences: tuple[Difference, ...]
    records: Mapping[str, tuple[Record, ...]] = field(default_factory=dict)
    """By environment: what it was held against."""
    notes: tuple[str, ...] = ()


def verify(specs: Specs, before: Snapshot, at: SpecsAt, narrowed: Narrowed) -> Verified:
    """Hold a branch against the specs that its records name."""
    source = specs.project.spec.source or specs.project.metadata.name
    return _Verifying(source, before, Output(before), cache(at), narrowed).run()


@dataclass(slots=True)
class _Verifying:
    source: str
    before: Snapshot
    output: Output
    at: SpecsAt
    narrowed: Narrowed

    def run(self) -> Verified:
        found: dict[str, Difference] = {}
        records: dict[str, tuple[Record, ...]] = {}
        for env in self._environments():
            mine = read_records(self.output, self.before, env, self.source)
            records[env] = tuple(mine.values())
            spoilt = [*self._unrecorded(env, mine), *self._lost(env), *self._spoilt(env)]
            for difference in spoilt or self._environment(env, mine):
                found.setdefault(difference.path, difference)
        if not records:
            raise Refused(
                f"the branch has nothing of the source {self.source}",
                remedy="publish first, or name the branch that was published to",
            )
        return Verified(tuple(found[path] for path in sorted(found)), records)

    def _environments(self) -> list[str]:
        """Those that this source has published to, whatever the specs of today name."""
        found = set()
        for path in self.before.paths("overlays"):
            parts = path.split("/")
            if len(parts) == 5 and parts[2] == "sources" and parts[3] == self.source:
                found.add(parts[1])
        found |= {env for env, _ in self.output.clusters() if any(self._plans(env))}
        wanted = self.narrowed.environments
        return sorted(env for env in found if not wanted or env in wanted)

    def _environment(self, env: str, records: Mapping[str, Record]) -> Iterator[Difference]:
        ahead = read_ahead(self.output, env, self.source)
        for record in records.values():
            if record.compiler != __version__:
                raise Refused(
                    f"{env} was compiled by version {record.compiler}, this is {__version__}",
                    remedy="verify with that version",
                )
            changes = self._changes(env, record.commit, record.group)
            for commit in sorted(set(ahead.values())):
                mine = tuple(f"/{unit}/" for unit, of in ahead.items() if of == commit)
                if any(part in path for path in changes for part in mine):
                    then = self._changes(env, commit, record.group)
                    changes = {
                        path: c
                        for path, c in changes.items()
                        if path in then or not any(part in path for part in mine)
                    }
            for path, content in changes.items():
                yield Difference(env, path, self._what(path, content))

    def _changes(self, env: str, commit: str, group: str) -> Changes:
        """What a compile of the specs at a commit would still change in a group of units."""
        specs = self.at(commit)
        if env not in specs.project.spec.environments:
            raise Refused(
                f"the specs at {commit[:12] or 'hand'} have no environment {env}",
                remedy="give the specs that it was published from",
            )
        narrowed = Narrowed(frozenset((env,)), self.narrowed.clusters)
        made = compile_specs(specs, self.before, narrowed=narrowed, discard=True, sweep=False)
        part = next(p for p in split(specs.project, made) if p.environment == env)
        plans = [o.plan for o in part.outcomes if o.plan is not None]
        others = tuple(
            f"overlays/{env}/{plan.cluster}/{plan.unit.namespace}/{plan.unit.folder}/"
            for plan in plans
            if record_group(specs.project, plan) != group
        )
        return {p: c for p, c in part.changes.items() if not (others and p.startswith(others))}

    def _unrecorded(self, env: str, records: Mapping[str, Record]) -> Iterator[Difference]:
        """Records that were deleted: nobody knows what to hold the environment against."""
        if not records:
            yield Difference(env, f"overlays/{env}/sources/{self.source}", "missing")

    def _lost(self, env: str) -> Iterator[Difference]:
        """Plans that are named and not there: on top of that nothing can be compiled."""
        for cluster in self._clusters(env):
            for key in lost_units(self.output, env, cluster):
                folder = "/".join(("overlays", env, cluster, *key))
                yield Difference(env, f"{folder}/unit.yaml", "missing")
            for folder in lost_folders(self.output, env, cluster):
                yield Difference(env, folder, "missing")

    def _clusters(self, env: str) -> list[str]:
        """Those that the branch has, with units or without."""
        root = f"overlays/{env}/"
        found = (path.removeprefix(root).split("/") for path in self.before.paths(root[:-1]))
        return sorted({parts[0] for parts in found if len(parts) > 1} - {"sources"})

    def _spoilt(self, env: str) -> Iterator[Difference]:
        """Files of release folders that are named and no longer what their name says."""
        folders = {folder for plan in self._plans(env) for folder in release_folders(plan)}
        for folder in sorted(folders | self._of_jobs(env)):
            files = self.output.files(folder)
            if not files:
                yield Difference(env, folder, "missing")
            elif not unspoilt(folder, files):
                yield Difference(env, folder, "changed")

    def _of_jobs(self, env: str) -> set[str]:
        clusters = [cluster for name, cluster in self.output.clusters() if name == env]
        return {path for cluster in clusters for path in kept(self.output, env, cluster).releases}

    def _plans(self, env: str) -> Iterator[UnitPlan]:
        for name, cluster in self.output.clusters():
            if name == env:
                for stored in self.output.units(env, cluster).values():
                    if stored.plan.source == self.source:
                        yield stored.plan

    def _what(self, path: str, wanted: bytes | None) -> str:
        try:
            stands = self.before.read(path) is not None
        except GatiError:  # a link where a file belongs
            stands = True
        return "foreign" if wanted is None else "changed" if stands else "missing"
