"""A person's wish on one tip: which units it moves, and the commits that this comes to.

Everything comes from the tip: stored plans, ledgers and settings. No specs are read, so nothing
that nobody published can slip in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from gati_gitops.compiler.stored import Where, recompile, stored_policy
from gati_gitops.errors import Misnamed, Refused
from gati_gitops.ledger import acts
from gati_gitops.ledger.decided import Key, NoVersion
from gati_gitops.ledger.fold import Outcome, Policy
from gati_gitops.ledger.stored import Stored
from gati_gitops.output import Output, UnitKey
from gati_gitops.publish.changes import ChangeSet, change_set
from gati_gitops.publish.guards import Allowed, guard
from gati_gitops.publish.message import Origin, message
from gati_gitops.publish.model import Offer, Step, decision_key
from gati_gitops.publish.places import Places, find_root, places, unit_id
from gati_gitops.publish.reverts import Adopted, Undone, adopt
from gati_gitops.repo.repository import Tip
from gati_gitops.repo.trees import GitSnapshot, write_tree
from gati_gitops.spec.publishing import DeletionBudget
from gati_gitops.tree import Changes, Overlay

Verb = Literal["hold", "release", "reject", "rollback", "retire"]

_STATE = ("/unit.yaml", "/rollout.yaml")
"""What no cluster sees."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a person wants, of which unit, where and why."""

    verb: Verb
    unit: str
    reason: str
    version: str = ""
    environments: tuple[str, ...] = ()
    """All that have the unit, if none is named."""
    clusters: tuple[str, ...] = ()
    now: bool = False
    """Retire a unit that the specs still have."""
    allowed: Allowed = field(default_factory=Allowed)
    root: str | None = None

    @property
    def deed(self) -> str:
        """What is done, without the unit."""
        return "roll back" if self.verb == "rollback" else self.verb


@dataclass(frozen=True, slots=True)
class Decided:
    """What a wish comes to on one tip."""

    root: str
    unit: UnitKey
    source: str
    steps: tuple[Step, ...]
    offers: tuple[Offer, ...]
    """What the project wants approved."""
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        return str(unit_id(self.unit))


@dataclass(slots=True)
class Deciding:
    """One wish, on whatever tip it is asked for."""

    wish: Wish
    lifting: bool | None = None
    """Whether a release ends holds. Settled on the first tip: who was faster may have ended them,
    and then there is nothing left to do, least of all the next thing."""

    def on(self, tip: Tip, undone: Callable[[str], Mapping[str, Undone]]) -> Decided:
        """Raises Misnamed or Refused. Trees are built, and nothing refers to them yet."""
        root = find_root(tip, self.wish.root)
        before = tip.snapshot(root)
        adopted = adopt(before, undone(root))
        found = places(before)
        key = found.find(self.wish.unit)
        output = Output(Overlay(before, adopted.all()))
        stored = self._stored(output, found, key)
        if self.lifting is None:
            self.lifting = self._lifts(stored.values())
        outcomes, notes = self._outcomes(output, found, stored)
        source = next(iter(stored.values())).plan.source
        commits = _Commits(self.wish, str(unit_id(key)), source, output, adopted, self._mode())
        commits.make(_Chain(tip, before, root), outcomes)
        notes = list(dict.fromkeys((*adopted.notes, *notes)))
        return Decided(root, key, source, (*commits.steps,), (*commits.offers,), (*notes,))

    def _stored(self, output: Output, found: Places, key: UnitKey) -> dict[Where, Stored]:
        """The unit wherever the wish is about."""
        chosen = found.chosen(self.wish.environments, self.wish.clusters) & found.units[key]
        stored: dict[Where, Stored] = {
            (env, cluster, key): place
            for env, cluster in sorted(chosen)
            if (place := output.unit(env, cluster, key))
        }
        if not stored:
            known = ", ".join(f"{env} on {cluster}" for env, cluster in sorted(found.units[key]))
            raise Misnamed(f"{unit_id(key)} is not there", remedy=f"it is in {known}")
        return stored

    def _lifts(self, stored: Iterable[Stored]) -> bool:
        held = any(place.ledger is None or place.ledger.hold for place in stored)
        return self.wish.verb == "release" and not self.wish.version and held

    def _outcomes(
        self, output: Output, found: Places, stored: Mapping[Where, Stored]
    ) -> tuple[dict[Where, Outcome], list[str]]:
        outcomes: dict[Where, Outcome] = {}
        missing: list[Refused] = []
        notes: list[str] = []
        for where, place in stored.items():
            env, cluster, _ = where
            try:
                policy = stored_policy(output, env)
                outcome = self._one(policy, place, *judged_elsewhere(output, found, where))
            except Refused as error:
                kind = type(error) if isinstance(error, NoVersion) else Refused
                refused = kind(f"{env} on {cluster}: {error.message}", remedy=error.remedy)
                if not isinstance(error, NoVersion) or self.wish.verb == "rollback":
                    raise refused from error
                missing.append(refused)  # a cluster that never had it has nothing to decide
            else:
                outcomes[where] = outcome
                notes += [f"{place.plan.unit} in {env} on {cluster}: {n}" for n in outcome.notes]
        if not outcomes:
            raise missing[0]
        return outcomes, [*(error.message for error in missing), *notes]

    def _one(
        self, policy: Policy, stored: Stored, elsewhere: Mapping[Key, str], unread: str
    ) -> Outcome:
        wish = self.wish
        if wish.verb == "hold":
            return acts.hold(policy, stored, wish.reason)
        if wish.verb == "reject":
            return acts.reject(policy, stored, wish.version)
        if wish.verb == "rollback":
            return acts.rollback(policy, stored, wish.version)
        if wish.verb == "retire":
            if wish.version:
                return acts.remove(policy, stored, wish.version)
            return acts.retire(policy, stored, now=wish.now)
        if wish.version:
            return acts.forgive(policy, stored, wish.version)
        if self.lifting:
            return acts.lift(policy, stored)
        if unread:  # it may let go on what was rejected there
            raise Refused(
                f"what was rejected elsewhere is not known: {unread}",
                remedy="put that file right first: git revert the commit that broke it",
            )
        return acts.release(policy, stored, elsewhere)

    def _mode(self) -> str:
        """Which of an environment's modes says whether this needs an approval."""
        if self.wish.verb == "release" and not self.lifting:
            return "rollout"
        modes = {"reject": "rollback", "release": "hold", "retire": "publish"}
        return modes.get(self.wish.verb, self.wish.verb)


@dataclass(slots=True)
class _Chain:
    """Commits to be, one on top of the other."""

    tip: Tip
    last: GitSnapshot
    root: str
    tree: str = ""

    def put(self, changes: Changes) -> str:
        self.tree = write_tree(self.tip.objects, self.tree or self.tip.tree, changes, self.root)
        self.last = GitSnapshot(self.tip.objects, self.tree, self.root)
        return self.tree


@dataclass(slots=True)
class _Commits:
    """A commit for each environment; what people have undone elsewhere is adopted, too."""

    wish: Wish
    unit: str
    source: str
    output: Output
    adopted: Adopted
    mode: str
    steps: list[Step] = field(default_factory=list)
    offers: list[Offer] = field(default_factory=list)

    def make(self, chain: _Chain, outcomes: Mapping[Where, Outcome]) -> None:
        for env in sorted({*self.adopted.changes, *(where[0] for where in outcomes)}):
            mine = {where: outcome for where, outcome in outcomes.items() if where[0] == env}
            self._environment(chain, env, mine)
        every = [*self.steps, *(offer.step for offer in self.offers)]
        budgets = {step.environment: self._budget(step.environment) for step in every}
        guard([step.changed for step in every], budgets, self.wish.allowed)

    def _environment(self, chain: _Chain, env: str, outcomes: Mapping[Where, Outcome]) -> None:
        made = recompile(self.output, outcomes)
        changes: Changes = dict(self.adopted.changes.get(env, {}))
        direct = bool(made.changes) and self._is_direct(env, made.changes)
        if changes and not (direct and made.changes):
            changed = change_set(env, chain.last, changes)
            text = message(changed, self._origin(changes))
            self.steps.append(Step(env, changes, changed, text, chain.put(changes)))
            changes = {}
        if not made.changes:
            return
        changes |= made.changes
        changed = change_set(env, chain.last, changes, made.outcomes.values())
        text = self._told(changed, changes)
        if direct:
            self.steps.append(Step(env, changes, changed, text, chain.put(changes)))
        else:
            self.offers.append(Offer(env, "", Step(env, changes, changed, text)))

    def _is_direct(self, env: str, changes: Changes) -> bool:
        """Whether nobody needs to approve it. A hold that ends may publish what came meanwhile."""
        modes = self.output.settings(env).get("modes") or {}
        publishes = not all(path.endswith(_STATE) for path in changes)
        wanted = ["hold", "publish"] if self.mode == "hold" and publishes else [self.mode]
        return all(modes.get(mode, "direct") == "direct" for mode in wanted)

    def _told(self, changed: ChangeSet, changes: Changes) -> str:
        wish = self.wish
        version = f" {'to ' * (wish.verb == 'rollback')}{wish.version}" if wish.version else ""
        subject = f"{wish.deed} {self.unit}{version}"
        return message(changed, self._origin(changes), subject=subject, reason=wish.reason)

    def _origin(self, changes: Changes) -> Origin:
        return Origin(self.source, decision=decision_key(changes))

    def _budget(self, env: str) -> DeletionBudget:
        return DeletionBudget.model_validate(
            known(self.output, env, "deletionBudget", DeletionBudget)
        )


def known(output: Output, env: str, name: str, model: type[Any]) -> dict[str, Any]:
    """What an environment remembers of a setting, as far as this version knows its fields.

    Nothing where its settings can't be read: nothing is decided there, and others go on.
    """
    try:
        said = output.settings(env).get(name) or {}
    except Refused:
        said = {}
    fields = {field.alias or key for key, field in model.model_fields.items()}
    return {key: value for key, value in said.items() if key in fields}


def judged_elsewhere(output: Output, found: Places, where: Where) -> tuple[dict[Key, str], str]:
    """What was rejected on sibling clusters, or in an environment that this one follows.

    And why that is not all, if it is not: who cannot be read may have rejected anything. That is no
    reason not to go back.
    """
    env, cluster, key = where
    judged: dict[Key, str] = {}
    unread = ""
    try:
        names = [env, *_upstream(output, env)]
    except Refused as error:
        names, unread = [env], error.message
    for name in names:
        for at in sorted(found.environments.get(name, ())):
            try:
                stored = output.unit(name, at, key) if (name, at) != (env, cluster) else None
            except Refused as error:
                unread = unread or error.message
                continue
            for entry in stored.ledger.entries if stored and stored.ledger else ():
                bad = [entry.digest] if entry.barred else []
                judged |= {(entry.id, d): f"{name} on {at}" for d in (*bad, *entry.revoked)}
    return judged, unread


def _upstream(output: Output, env: str) -> Iterator[str]:
    seen = {env}
    while True:
        promotion = output.settings(env).get("promotion") or {}
        env = str(promotion.get("after", ""))
        if not env or env in seen:
            return
        seen.add(env)
        yield env
