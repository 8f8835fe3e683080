"""From what is stored of a unit to what a person types.

Everything comes from plan and ledger: no cluster is asked, for the person who types sees more of it
than we would. Where a version cannot take the traffic yet, that is said, with what comes first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gati_gitops.decide.absorb import ANNOTATION, HELD
from gati_gitops.decide.break_glass import engines
from gati_gitops.decide.break_glass.model import Command, Kubectl, Procedure, Stage
from gati_gitops.decide.break_glass.routes import Patch, patches
from gati_gitops.emit.engines.roots import Root
from gati_gitops.emit.engines.target import Target
from gati_gitops.errors import Refused
from gati_gitops.ledger.fold import Policy
from gati_gitops.ledger.model import Entry, Ledger, Phase
from gati_gitops.ledger.rollback import rollback
from gati_gitops.ledger.stored import Stored, recovered
from gati_gitops.output import UnitKey
from gati_gitops.plan.model import PlannedVersion
from gati_gitops.report.clean import safe

_LONGEST = 400
_OVER = "break-glass is over"


@dataclass(frozen=True, slots=True)
class Contexts:
    """Contexts of a kubeconfig; empty ones are the person's own matter."""

    cluster: str = ""
    engine: str = ""


@dataclass(frozen=True, slots=True)
class Setting:
    """What is known around a unit."""

    policy: Policy
    units: Sequence[UnitKey]
    """All units of its cluster."""
    target: Target | None = None
    """None: no engine is known."""
    contexts: Contexts = field(default_factory=Contexts)
    hub: str = ""
    """The cluster that the engine lives on, if it is another one."""
    git: tuple[str, ...] = ("--repo", "URL")
    """Options by which our own verbs find the repository when it is back."""


def break_glass(stored: Stored, setting: Setting, version: str, reason: str) -> Procedure:
    """How the traffic of a unit gets back by hand. Refused where there is no way back at all."""
    return _Glass(stored, setting, version, safe(" ".join(reason.split()))[:_LONGEST]).procedure()


@dataclass(slots=True)
class _Glass:
    stored: Stored
    setting: Setting
    version: str
    reason: str

    def procedure(self) -> Procedure:
        before = self.stored.ledger or recovered(self.stored)
        outcome = rollback(self.setting.policy, self.stored, self.version)
        after = outcome.ledger
        back = after.returning
        if back is not None:
            return self._starts_first(back, before)
        old, new = _weights(before), _weights(after)
        to = max(new, key=lambda id: new[id], default="")
        changed = [
            e for e in after.entries if before.live(e.id) and e.weight and _revised(e, before)
        ]
        if changed:
            return self._revision(changed[0])
        if old == new:
            said = "; ".join(outcome.notes) or f"{to or 'nothing'} has the traffic already"
            raise Refused(
                f"{self.stored.plan.unit}: {said}",
                remedy="name the version that shall take the traffic",
            )
        left = tuple(id for id in sorted(old) if not new.get(id))
        return self._moved(to, left, patches(self.stored.plan, before, after))

    # -- what can come of it -----------------------------------------------------------------------

    def _moved(self, to: str, left: tuple[str, ...], found: list[Patch]) -> Procedure:
        """The traffic goes to a version that runs."""
        stages = [self._look(to), *self._stop(), self._move(to, found), self._check(to, found)]
        stages.append(self._hand_back(found))
        return self._told(to, left, stages)

    def _starts_first(self, back: Entry, before: Ledger) -> Procedure:
        """The version that shall take the traffic has no pods."""
        plan = self.stored.plan
        entry = before.live(back.id)
        version = plan.version(*back.key)
        if entry is None or version is None or entry.phase is Phase.REMOVED:
            raise Refused(
                f"{back.id} of {plan.unit} is not deployed: nothing of it is left on the cluster",
                remedy="name another version, or wait for Git: rollback then brings it back",
            )
        was = entry.phase
        pods = max(version.scaling.floor, 1)
        here = self._here
        scale = here(
            "scale", f"deployment/{version.name}", f"--replicas={pods}", why=f"{back.id} starts"
        )
        after = _given_to(before, back)
        found = patches(plan, before, after)
        stages = [
            *self._stop(),
            Stage("start", f"Start {back.id}, and wait for it", (scale, _wait(here, version))),
            self._move(back.id, found),
            self._check(back.id, found),
            self._hand_back(found),
        ]
        left = tuple(sorted(_weights(before)))
        words = (
            f"{back.id} of {plan.unit} is {was}: it has no pods, and traffic that went there now"
            " would meet nobody"
        )
        return self._told(back.id, left, stages, refused=words)

    def _revision(self, entry: Entry) -> Procedure:
        """The way back is the same version as it ran before: pods change, traffic does not."""
        version = self.stored.plan.version(*entry.key)
        assert version is not None
        here = self._here
        undo = here(
            "rollout", "undo", f"deployment/{version.name}", why="the revision before comes back"
        )
        check = Stage("check", "See that it has", (_wait(here, version),))
        root = self._root
        again = self._ours("rollback", self.version, reason=self.reason)
        said = (
            f"Nothing of this is absorbed: when Git is back, run `{again}` first, and then start"
            " the engine."
        )
        back = Stage("hand back", "When Git is back", self._resume(root), (said,))
        stages = [*self._stop(), Stage("move", f"Go back within {entry.id}", (undo,)), check, back]
        return self._told(entry.id, (), stages)

    def _told(
        self, to: str, left: tuple[str, ...], stages: Sequence[Stage], refused: str = ""
    ) -> Procedure:
        plan = self.stored.plan
        return Procedure(
            str(plan.unit),
            plan.environment,
            plan.cluster,
            to,
            left,
            self.reason,
            tuple(stages),
            refused,
            tuple(self._warnings()),
        )

    def _warnings(self) -> list[str]:
        said = []
        setting, root = self.setting, self._root
        if setting.target is None:
            said.append("No engine is known for this cluster; if one syncs it, stop it first.")
        elif root is not None and not root.unit:
            others = sum(1 for namespace, _ in setting.units if namespace == root.namespace) - 1
            if others:
                said.append(
                    f"{root.name} syncs the whole namespace: {others} other"
                    f" {'unit stands' if others == 1 else 'units stand'} still with it."
                )
        if setting.hub and not setting.contexts.engine:
            said.append(
                f"The engine lives on {setting.hub}: run the commands that stop and start it there."
            )
        return said

    # -- stages ------------------------------------------------------------------------------------

    def _look(self, to: str) -> Stage:
        version = self._version(to)
        path = "{.status.readyReplicas}"
        ready = self._here(
            "get",
            "deployment",
            version.name,
            f"--output=jsonpath={path}",
            why="1 or more, and enough for all of the traffic",
        )
        return Stage("look", f"See that {to} has pods that are ready", (ready,))

    def _stop(self) -> list[Stage]:
        target, root = self.setting.target, self._root
        if target is None or root is None:
            return []
        there = self._there(target)
        commands = (
            *engines.stop(target, root, there),
            engines.stopped(target, root, there),
        )
        return [Stage("stop", "Stop the engine, or it would undo what follows", commands)]

    def _move(self, to: str, found: list[Patch]) -> Stage:
        commands: list[Command] = []
        for patch in found:
            kubectl = self._of(patch)
            note = f"{ANNOTATION}={self.reason}"
            said = "the next pass finds it, and the job keeps its hands off"
            commands.append(kubectl.annotate(patch.resource, patch.name, note, said))
        for patch in found:
            kubectl = self._of(patch)
            why = "refused as a whole if the route is not what was read"
            commands.append(kubectl.patch(patch.resource, patch.name, patch.operations, why))
        return Stage("move", f"Give {to} the traffic", tuple(commands))

    def _check(self, to: str, found: list[Patch]) -> Stage:
        version = self._version(to)
        shown = [
            self._of(patch)(
                "get",
                patch.resource,
                patch.name,
                f"--output=jsonpath={patch.shows}",
                why=f"{to} only",
            )
            for patch in found
        ]
        slices = f"--selector=kubernetes.io/service-name={version.name}"
        return Stage(
            "check",
            "See that it has",
            (*shown, self._here("get", "endpointslices", slices, why=f"addresses of {to}")),
        )

    def _hand_back(self, found: list[Patch]) -> Stage:
        wait = (
            f"Wait until a pass has absorbed it: `{self._ours('status')}`"
            f" says that it is held, {HELD}{self.reason}"
        )
        notes = (
            wait,
            "Who starts the engine before that gets the old split back.",
            f"The unit stays held until `{self._ours('release', reason=_OVER)}`.",
        )
        commands = [
            self._of(patch).annotate(
                patch.resource, patch.name, f"{ANNOTATION}-", "the traffic is Git's again"
            )
            for patch in found
        ]
        return Stage(
            "hand back",
            "When Git is back",
            (*commands, *self._resume(self._root)),
            notes,
        )

    def _resume(self, root: Root | None) -> tuple[Command, ...]:
        target = self.setting.target
        if target is None or root is None:
            return ()
        return engines.resume(target, root, self._there(target))

    def _ours(self, verb: str, version: str = "", reason: str = "") -> Command:
        """A command of our own about the unit, with all that it wants: people copy it."""
        plan = self.stored.plan
        unit = ("--unit", str(plan.unit)) if verb == "status" else (str(plan.unit),)
        where = ("--env", plan.environment, "--cluster", plan.cluster)
        why = ("--reason", reason) if reason else ()
        said = (*unit, *((version,) if version else ()), *self.setting.git, *where, *why)
        return Command((verb, *said), program="gati-gitops")

    # -- where -------------------------------------------------------------------------------------

    @property
    def _root(self) -> Root | None:
        target, plan = self.setting.target, self.stored.plan
        if target is None:
            return None
        return engines.root_of(target, list(self.setting.units), plan.unit.key)

    @property
    def _here(self) -> Kubectl:
        return Kubectl(self.stored.plan.unit.namespace, self.setting.contexts.cluster)

    def _of(self, patch: Patch) -> Kubectl:
        return Kubectl(patch.namespace, self.setting.contexts.cluster)

    def _there(self, target: Target) -> Kubectl:
        contexts = self.setting.contexts
        context = contexts.engine or ("" if self.setting.hub else contexts.cluster)
        return Kubectl(engines.namespace_of(target), context)

    def _version(self, id: str) -> PlannedVersion:
        ledger = self.stored.ledger or recovered(self.stored)
        entry = ledger.live(id)
        version = self.stored.plan.version(*entry.key) if entry is not None else None
        assert version is not None, id
        return version


def _wait(kubectl: Kubectl, version: PlannedVersion) -> Command:
    return kubectl(
        "rollout", "status", f"deployment/{version.name}", "--timeout=5m", why="until it is ready"
    )


def _given_to(ledger: Ledger, to: Entry) -> Ledger:
    """The ledger as it will be when that version has all of the traffic."""

    def moved(entry: Entry) -> Entry:
        if entry.id == to.id and entry.phase is not Phase.PENDING:
            return replace(entry, digest=to.digest, phase=Phase.ACTIVE, weight=100)
        return replace(entry, phase=Phase.REJECTED, weight=0) if entry.weight else entry

    return ledger.with_entries(moved(entry) for entry in ledger.entries)


def _weights(ledger: Ledger) -> Mapping[str, int]:
    return {entry.id: entry.weight for entry in ledger.entries if entry.weight}


def _revised(entry: Entry, before: Ledger) -> bool:
    was = before.live(entry.id)
    return was is not None and was.digest != entry.digest
