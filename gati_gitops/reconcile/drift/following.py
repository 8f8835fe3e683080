"""The commits that a follow-up comes to on one tip, one on top of the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from gati_gitops.compiler.stored import Where, around, recompile
from gati_gitops.decide.drift.adopt import adopted
from gati_gitops.decide.drift.files import as_decided, folder_of
from gati_gitops.decide.drift.model import FileDrift, UnitDrift
from gati_gitops.decide.drift.owners import is_engine
from gati_gitops.errors import Refused
from gati_gitops.ledger.outcome import Outcome
from gati_gitops.ledger.stored import Stored
from gati_gitops.output import Output
from gati_gitops.preview.model import ObjectId
from gati_gitops.publish.changes import ChangeSet, Fate, change_set
from gati_gitops.publish.deciding import known
from gati_gitops.publish.guards import guard
from gati_gitops.publish.message import Origin, message
from gati_gitops.publish.model import Offer, Step, decision_key
from gati_gitops.reconcile.drift.beside import Beside, beside
from gati_gitops.reconcile.drift.git import settings_of
from gati_gitops.reconcile.drift.history import History
from gati_gitops.reconcile.drift.run import Seen
from gati_gitops.reconcile.places import Scene
from gati_gitops.repo.trees import GitSnapshot, write_tree
from gati_gitops.spec.drift import DriftPolicy
from gati_gitops.spec.publishing import DeletionBudget
from gati_gitops.tree import Changes, Overlay, is_ours

MODES = {"revert": "publish", "adopt": "rollout"}
"""Which of an environment's modes says whether a follow-up needs an approval."""


@dataclass(slots=True)
class Following:
    """Commits to be, one on top of the other."""

    scene: Scene
    root: str
    history: History
    last: GitSnapshot = field(init=False)
    tree: str = field(init=False)
    steps: list[Step] = field(default_factory=list)
    offers: list[Offer] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.last, self.tree = self.scene.before, self.scene.tip.tree

    def adopt_reverts(self) -> None:
        """What people undid is written before anything of ours hides that they did."""
        for env, changes in sorted(self.scene.adopted.changes.items()):
            changed = change_set(env, self.last, changes)
            origin = Origin(self._owner(env), decision=decision_key(changes))
            self._put(Step(env, changes, changed, message(changed, origin)))

    def environment(self, env: str, policy: DriftPolicy, seen: Sequence[Seen]) -> None:
        outcomes: list[Outcome] = []
        if policy == "revert":
            changes, reason = self._reverted(seen), "edited by hand in the repository"
            settings = f"overlays/{env}/project.yaml" in changes
            reason += "; the environment's settings come back with it" if settings else ""
        else:
            changes, outcomes, reason = self._adopted(seen)
        if not changes:
            return
        changed = change_set(env, self.last, changes, outcomes)
        after = Output(Overlay(self.last, changes))  # what the settings say once they are back
        said = known(after, env, "deletionBudget", DeletionBudget)
        guard([changed], {env: DeletionBudget.model_validate(said)})
        if policy == "revert":
            changed = _as_it_was(changed)
        owner = str(settings_of(after, env).get("owner", ""))
        origin = Origin(owner, decision=decision_key(changes))
        subject = f"{policy} what was changed by hand"
        text = message(changed, origin, subject=subject, reason=reason)
        step = Step(env, changes, changed, text)
        if self._is_direct(env, MODES[policy], after):
            self._put(step)
        else:
            self.offers.append(Offer(env, "", step))

    def _is_direct(self, env: str, mode: str, after: Output) -> bool:
        """Whether nobody needs to approve it: neither as settings are, nor as they will be."""
        said = (after.settings(env), settings_of(self.scene.output, env))
        return all((one.get("modes") or {}).get(mode, "direct") == "direct" for one in said)

    # -- back to what was decided ------------------------------------------------------------------

    def _reverted(self, seen: Sequence[Seen]) -> Changes:
        restored: Changes = {}
        gone: dict[tuple[str, str], Beside] = {}
        for place in seen:
            at = (place.drift.environment, place.drift.cluster)
            keys = None if place.git.whole else place.git.units.keys() | place.lost
            gone[at] = beside(self.scene.before, self.history, *at, keys)
            restored |= gone[at].restored
            lacking = gone[at].beyond
            self.notes += [f"{path} is not in the history; restore it by hand" for path in lacking]
        changes = dict(restored)
        for where, unit, place in _units(seen):
            if not unit.files:
                continue
            if where[2] in gone[where[:2]].lost:
                changes |= as_decided(Output(Overlay(self.last, restored)), where)
                continue
            stored = self._same(where, unit, place.git.units.get(where[2]))
            if stored is not None:
                plan = self._plan(where, unit, place)
                changes |= plan | as_decided(Output(Overlay(self.last, restored | plan)), where)
                changes |= self._releases(_name(where, unit), unit.files)
        for place in seen:
            at = (place.drift.environment, place.drift.cluster)
            if place.drift.files or gone[at].lost:
                changes |= self._releases(f"{at[0]} on {at[1]}", place.drift.files)
                changes |= self._around(at, restored)
        return {path: c for path, c in changes.items() if not self._stands(path, c)}

    def _stands(self, path: str, content: bytes | None) -> bool:
        """Whether a step before has brought a file already."""
        if content is None:
            return not self.last.id(path)
        return self.last.holds(path, content)

    def _around(self, at: tuple[str, str], restored: Changes) -> Changes:
        """What stands around units; what is not ours is left where it is."""
        output = Output(Overlay(self.last, restored))
        try:
            changes = around(output, *at, set())
        except Refused as error:
            self.notes.append(f"{at[0]} on {at[1]}: {error.message}; {error.remedy}")
            return {}
        return {
            path: content
            for path, content in changes.items()
            if content is not None or is_ours(output.read(path) or b"")
        }

    def _releases(self, name: str, files: Iterable[FileDrift]) -> Changes:
        """Release folders that were edited, as they were made."""
        changes: Changes = {}
        for file in files:
            if file.path.startswith("base/"):
                found = self.history.release(file.path)
                if not found:
                    self.notes.append(f"{name}: {file.path} is not in the history")
                changes |= found
        return changes

    def _plan(self, where: Where, unit: UnitDrift, place: Seen) -> Changes:
        """A plan that was edited, as it was decided on."""
        edited = place.plans.get(where[2])
        if edited is None:
            return {}
        if edited.original is None:
            self.notes.append(f"{_name(where, unit)}: what its plan was is not in the history")
            return {}
        return {f"{folder_of(where)}/unit.yaml": edited.original}

    # -- what people did ---------------------------------------------------------------------------

    def _adopted(self, seen: Sequence[Seen]) -> tuple[Changes, list[Outcome], str]:
        outcomes: dict[Where, Outcome] = {}
        reasons: list[str] = []
        for where, unit, place in _units(seen):
            if not unit.objects:
                continue
            stored = self._same(where, unit, place.git.units.get(where[2]))
            if stored is None:
                continue
            moved, waiting = _by_others(unit, place.git.engine)
            found = adopted(stored, moved, place.routes.get(where[2], ()))
            left = (*found.left, *(f"{id} waits for the engine" for id in waiting))
            self.notes += [f"{_name(where, unit)}: {why}" for why in left]
            if found.outcome is not None:
                outcomes[where] = found.outcome
                reasons += [f"{unit.unit} on {where[1]}: {word}" for word in found.words]
        made = recompile(Output(self.last), outcomes)
        return made.changes, list(made.outcomes.values()), "; ".join(reasons)

    # -- helpers -----------------------------------------------------------------------------------

    def _same(self, where: Where, unit: UnitDrift, looked: Stored | None) -> Stored | None:
        """A unit that may be moved; None if it is held, or is not what was looked at any more."""
        try:
            stored = self.scene.output.unit(*where)
        except Refused as error:
            self.notes.append(f"{_name(where, unit)}: {error.message}")
            return None
        if stored is None or stored.ledger is None or stored.ledger.hold:
            self.notes.append(f"{_name(where, unit)}: held, so it is only told")
            return None
        if looked is not None and stored != looked:
            self.notes.append(f"{_name(where, unit)}: it changed meanwhile; look again")
            return None
        return stored

    def _put(self, step: Step) -> None:
        self.tree = write_tree(self.scene.tip.objects, self.tree, step.changes, self.root)
        self.last = GitSnapshot(self.scene.tip.objects, self.tree, self.root)
        made = Step(step.environment, step.changes, step.changed, step.message, self.tree)
        self.steps.append(made)

    def _owner(self, env: str) -> str:
        return str(settings_of(self.scene.output, env).get("owner", ""))


def _as_it_was(changed: ChangeSet) -> ChangeSet:
    """Nobody releases anything who brings back what people deleted."""
    units = [
        replace(unit, fate=Fate.CHANGES, versions=()) if unit.fate is Fate.NEW else unit
        for unit in changed.units
    ]
    return replace(changed, units=tuple(units))


def _units(seen: Sequence[Seen]) -> list[tuple[Where, UnitDrift, Seen]]:
    return [
        ((place.drift.environment, place.drift.cluster, unit.unit.key), unit, place)
        for place in seen
        for unit in place.drift.units
    ]


def _by_others(unit: UnitDrift, engine: str) -> tuple[UnitDrift, list[ObjectId]]:
    """A unit with what somebody did to it; and what only is as Git said before.

    Between a commit and its sync Git is ahead of the cluster. To adopt that would undo the commit.
    """
    waiting = [
        item.id
        for item in unit.objects
        if item.fields and all(is_engine(w, engine) for f in item.fields for w in f.who)
    ]
    return replace(unit, objects=tuple(o for o in unit.objects if o.id not in waiting)), waiting


def _name(where: Where, unit: UnitDrift) -> str:
    return f"{unit.unit} in {where[0]} on {where[1]}"
