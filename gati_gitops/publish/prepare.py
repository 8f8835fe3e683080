"""What a publish would commit on one tip: compile, split, guard, and put into words.

Pure given the tip, so a lost race simply asks again. Trees are built in the object database, where
the commits that follow find them; nothing refers to them until the branch is moved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gati_gitops import __version__
from gati_gitops.compiler import Compilation, Narrowed, compile_specs
from gati_gitops.compiler.owned import overruled, owned
from gati_gitops.emit.layout import WHOLE, record_group, record_path
from gati_gitops.ledger.fold import Outcome
from gati_gitops.output import Output, UnitKey
from gati_gitops.plan.model import UnitPlan
from gati_gitops.plan.naming import UnitId
from gati_gitops.publish.changes import ChangeSet, change_set
from gati_gitops.publish.definitions import breaking_crds
from gati_gitops.publish.guards import Input, guard
from gati_gitops.publish.hydrator import FILE as HYDRATOR
from gati_gitops.publish.hydrator import hydrator_metadata, hydrator_note
from gati_gitops.publish.incremental import compile_changed
from gati_gitops.publish.message import message
from gati_gitops.publish.model import Offer, Prepared, Request, Step, decision_key
from gati_gitops.publish.records import (
    Record,
    ahead_file,
    read_ahead,
    read_records,
    record_file,
    trees_of,
    watched,
)
from gati_gitops.publish.reverts import Adopted, Undone, adopt
from gati_gitops.publish.split import Part, quiet, release_folders, split, units_of, without
from gati_gitops.publish.sweep import sweep
from gati_gitops.repo.repository import Tip
from gati_gitops.repo.trees import GitSnapshot, write_tree
from gati_gitops.spec.publishing import DeletionBudget
from gati_gitops.tree import Changes, Overlay

Branches = Callable[[], Sequence[GitSnapshot]]


def prepare(
    request: Request, tip: Tip, undone: Mapping[str, Undone], branches: Branches
) -> Prepared:
    """Compile on top of a tip. Raises SpecsInvalid or Refused; nothing was written then."""
    before = tip.snapshot(request.root)
    output = Output(before)
    wanted = request.narrowed.environments
    for env in request.project.spec.environments:
        if not wanted or env in wanted:
            output.settings(env)  # what was lost is in the history, and another source may own it
    notes = tuple(overruled(request.project, output, request.source, wanted))
    request = replace(request, project=owned(request.project, output, request.source, wanted))
    adopted = adopt(before, undone)
    compilation = compile_changed(request, before, tip.objects) if not undone else None
    whole = compilation is None
    if compilation is None:
        compilation = compile_specs(
            request.load(),
            Overlay(before, adopted.all()),
            narrowed=request.narrowed,
            discard=request.discard,
            upgrade=request.upgrade,
            sweep=False,
            taken_back=adopted.gone,
        )
    work = _Work(request, tip, before, output, compilation, adopted, whole)
    prepared = work.run(branches)
    return replace(prepared, notes=(*notes, *prepared.notes))


@dataclass(slots=True)
class _Work:
    request: Request
    tip: Tip
    before: GitSnapshot
    output: Output
    compilation: Compilation
    adopted: Adopted
    whole: bool
    """Whether everything was compiled, and not only what changed."""
    chain: GitSnapshot = field(init=False)
    tree: str = field(init=False)
    gated: dict[str, list[str]] = field(default_factory=dict)
    """Environments that would change directly, but for what breaks in their CRDs."""

    def run(self, branches: Branches) -> Prepared:
        request = self.request
        self.chain, self.tree = self.before, self.tip.tree
        parts = [self._with_adopted(part) for part in split(request.project, self.compilation)]
        changed = {
            part.environment: change_set(part.environment, self.before, part.changes, part.outcomes)
            for part in parts
        }
        self._guard(changed)
        self.gated = {part.environment: why for part in parts if (why := self._breaks(part))}
        steps: list[Step] = []
        offered: list[Part] = []
        for part in parts:
            steps += self._environment(part, changed[part.environment], offered)
        named = [f for o in self._outcomes() if o.plan for f in release_folders(o.plan)]
        loose = sweep(self.before, self.chain, branches, named, self._sweepable())
        if loose:
            steps.append(self._step("", loose, ()))
        offers = [offer for part in offered for offer in self._offers(part)]
        gates = [note for notes in self.gated.values() for note in notes]
        notes = [*self.adopted.notes, *gates, *self._notes(changed.values())]
        offering = [env for env in request.environments if self._waits(env)]
        return Prepared(
            tuple(steps),
            tuple(offers),
            self.compilation.warnings,
            tuple(dict.fromkeys(notes)),
            self.whole,
            tuple(offering),
        )

    # -- an environment --------------------------------------------------------------------------

    def _environment(self, part: Part, changed: ChangeSet, offered: list[Part]) -> list[Step]:
        env = part.environment
        nothing_yet = not self.tip.commit and self.chain is self.before
        if not self._waits(env) or nothing_yet:  # a pull request needs something to compare with
            return self._direct(part, changed)
        silent = quiet(part, changed)
        if silent is part or not silent.changes:
            direct = self._direct(part, changed) if silent is part else []
            if silent is not part and (part.changes or self._stale(part)):
                offered.append(part)
            return direct
        offered.append(without(part, silent))
        return [self._ahead(silent)]

    def _direct(self, part: Part, changed: ChangeSet) -> list[Step]:
        changes = self._missing(part.changes)
        if not changes and not self._stale(part):
            return []
        tree = self._tree(self.tree, changes)
        records = self._records(part, self._snapshot(tree)) | self._hydrated(part.environment)
        tree = self._tree(tree, records)
        return [self._step(part.environment, changes | records, part.outcomes, changed, tree)]

    def _ahead(self, part: Part) -> Step:
        """What changes no manifest, committed while the rest waits for its approval."""
        request, env = self.request, part.environment
        units = read_ahead(self.output, env, request.source)
        commit = request.reference.sha if request.reference else ""
        units |= {"/".join(plan.unit.key): commit for plan in units_of(part.outcomes)}
        changes = self._missing(part.changes)
        changes |= ahead_file(env, request.source, units, request.file)
        return self._step(env, changes, part.outcomes)

    def _offers(self, part: Part) -> list[Offer]:
        """One offer per group, each on the tip that the direct commits leave."""
        groups = sorted(part.groups) or [""]
        if self.request.project.spec.commits.hydrator:  # one branch of the environment holds all
            groups = [WHOLE]
        found: list[Offer] = []
        for group in groups:
            mine = part if len(groups) == 1 else self._compiled_alone(part, group)
            changes = self._missing(mine.changes)
            if not changes and not self._stale(mine):
                continue
            changes |= self._records(mine, self._snapshot(self._tree(self.tree, changes)))
            changes |= self._hydrated(part.environment)
            changed = change_set(part.environment, self.chain, changes, mine.outcomes)
            text = message(changed, self.request.origin(decision_key(changes)))
            step = Step(part.environment, changes, changed, text, note=self._note())
            folders = {f for plan in units_of(mine.outcomes) for f in release_folders(plan)}
            name = "" if group == WHOLE else group
            found.append(Offer(part.environment, name, step, tuple(sorted(folders))))
        return found

    def _compiled_alone(self, part: Part, group: str) -> Part:
        """A group without the others: shared files must not name what is not there yet."""
        request = self.request
        project = request.project
        plans = [*units_of(part.outcomes), *self._stored(part.environment)]
        mine = {plan.unit.key for plan in plans if record_group(project, plan) == group}
        narrowed = Narrowed(frozenset((part.environment,)), frozenset(), frozenset(mine))
        alone = compile_specs(
            request.load(),
            self.chain,
            narrowed=narrowed,
            discard=request.discard,
            upgrade=request.upgrade,
            sweep=False,
        )
        found = next(p for p in split(project, alone) if p.environment == part.environment)
        outcomes = tuple(o for o in found.outcomes if o.plan and o.plan.unit.key in mine)
        return Part(part.environment, found.changes, outcomes, frozenset((group,)))

    def _sweepable(self) -> set[UnitKey] | None:
        """Units that may have let go of a release folder; None: any may."""
        if self.whole:
            return None
        found = {o.plan.unit.key for o in self._outcomes() if o.plan is not None}
        for env in self.request.project.spec.environments:
            for record in read_records(self.output, self.before, env, self.request.source).values():
                for folder in record.leaving:
                    _, namespace, unit, _ = folder.split("/")
                    found.add((namespace, unit))
        return found

    # -- records ---------------------------------------------------------------------------------

    def _records(self, part: Part, after: GitSnapshot) -> Changes:
        request, env = self.request, part.environment
        project = request.project
        known = read_records(self.output, self.before, env, request.source)
        changes: Changes = {}

        def plans() -> list[UnitPlan]:
            return [*units_of(part.outcomes), *self._stored(env)]

        for group in sorted(part.groups):
            trees = trees_of(after, watched(project, env, group, plans))
            commit = request.reference.sha if request.reference else ""
            old = known.get(group)
            leaving = self._leaving(part, group, old.leaving if old else (), after)
            record = Record(request.source, group, __version__, commit, trees, leaving)
            changes |= record_file(record, env, request.file)
        changes = {path: c for path, c in changes.items() if self.chain.read(path) != c}
        if self._is_all(part):
            gone = known.keys() - part.groups
            changes |= {record_path(env, request.source, group): None for group in gone}
        return changes

    def _leaving(
        self, part: Part, group: str, before: Iterable[str], after: GitSnapshot
    ) -> tuple[str, ...]:
        """Release folders that this environment named until now."""
        found = set(before)
        for plan in units_of(part.outcomes):
            if record_group(self.request.project, plan) == group:
                stored = self.output.unit(plan.environment, plan.cluster, plan.unit.key)
                found |= set(release_folders(stored.plan)) if stored is not None else set()
        for plan in units_of(part.outcomes):
            found -= set(release_folders(plan))
        return tuple(sorted(folder for folder in found if after.id(folder)))

    def _stale(self, part: Part) -> bool:
        """Whether records are missing, left over, or of another compiler."""
        env, source = part.environment, self.request.source
        known = read_records(self.output, self.before, env, source)
        mine = {g: r for g, r in known.items() if g in part.groups}
        return (
            mine.keys() != part.groups
            or (self._is_all(part) and known.keys() != part.groups)
            or any(record.compiler != __version__ for record in mine.values())
        )

    def _is_all(self, part: Part) -> bool:
        """Whether it has all groups of its environment; who publishes a part knows no others."""
        plain = self.whole and self.request.narrowed == Narrowed()
        return plain and part.groups >= self._groups(part.environment)

    def _groups(self, env: str) -> set[str]:
        project = self.request.project
        return {
            record_group(project, o.plan)
            for o in self._outcomes()
            if o.plan is not None and o.plan.environment == env
        }

    # -- small things ----------------------------------------------------------------------------

    def _waits(self, env: str) -> bool:
        """Whether changes of an environment need an approval."""
        mode = self.request.project.spec.environments[env].modes.publish
        return mode != "direct" or env in self.gated

    def _breaks(self, part: Part) -> list[str]:
        """What makes a protected environment wait."""
        env = part.environment
        if not self.request.project.spec.environments[env].protected:
            return []
        found = breaking_crds(self.before, part.changes, env)
        why = {
            f"{change.crd} {change.version} {change.path}: {change.why}": None
            for _, change in found
        }
        return [f"{env} is protected, and this breaks its CRDs, so it waits: {one}" for one in why]

    def _with_adopted(self, part: Part) -> Part:
        mine = self.adopted.changes.get(part.environment, {})
        return Part(part.environment, {**mine, **part.changes}, part.outcomes, part.groups)

    def _missing(self, changes: Changes) -> Changes:
        """What of the changes no commit before has brought."""
        if self.chain is self.before:
            return dict(changes)
        chain = self.chain
        return {
            path: content
            for path, content in changes.items()
            if (bool(chain.id(path)) if content is None else not chain.holds(path, content))
        }

    def _tree(self, base: str, changes: Changes) -> str:
        return write_tree(self.tip.objects, base, changes, self.request.root)

    def _snapshot(self, tree: str) -> GitSnapshot:
        return GitSnapshot(self.tip.objects, tree, self.request.root)

    def _step(
        self,
        env: str,
        changes: Changes,
        outcomes: Sequence[Outcome],
        changed: ChangeSet | None = None,
        tree: str = "",
    ) -> Step:
        """The next commit of the chain; the ones after it are made on top of it."""
        if changed is None:
            changed = change_set(env, self.chain, changes, outcomes)
        text = message(changed, self.request.origin(decision_key(changes)))
        self.tree = tree or self._tree(self.tree, changes)
        self.chain = self._snapshot(self.tree)
        return Step(env, changes, changed, text, self.tree, self._note() if env else None)

    def _hydrated(self, env: str) -> Changes:
        """The file by which gitops-promoter knows the specs' commit, where the project wants it."""
        reference = self.request.reference
        if reference is None or not self.request.project.spec.commits.hydrator:
            return {}
        return {f"overlays/{env}/{HYDRATOR}": hydrator_metadata(reference)}

    def _note(self) -> bytes | None:
        reference = self.request.reference
        wanted = reference is not None and self.request.project.spec.commits.hydrator
        return hydrator_note(reference) if reference is not None and wanted else None

    def _guard(self, changed: Mapping[str, ChangeSet]) -> None:
        project = self.request.project.spec
        budgets: dict[str, DeletionBudget] = {
            env: settings.deletion_budget or project.deletion_budget
            for env, settings in project.environments.items()
        }
        guard(changed.values(), budgets, self.request.allowed, self._input())

    def _input(self) -> Input | None:
        """How many units there are, if that is known."""
        if not self.whole:
            return None
        wanted = sum(placed.linked is not None for placed in self.compilation.units)
        stored: set[UnitId] = set()
        for env in () if wanted else self.request.environments:  # else nobody asks
            stored |= {plan.unit for plan in self._stored(env)}
        return Input(self.request.source, wanted, len(stored))

    def _outcomes(self) -> list[Outcome]:
        return [placed.outcome for placed in self.compilation.units]

    def _stored(self, env: str) -> list[UnitPlan]:
        clusters = self.request.project.spec.environments[env].clusters
        return [
            stored.plan
            for cluster in clusters
            for stored in self.output.units(env, cluster).values()
            if stored.plan.source == self.request.source
        ]

    def _notes(self, changed: Iterable[ChangeSet]) -> Iterator[str]:
        for outcome in self._outcomes():
            plan = outcome.plan
            if plan is not None:
                for note in outcome.notes:
                    yield f"{plan.unit} in {plan.environment} on {plan.cluster}: {note}"
