"""Every unit of a scene is judged: by its environment's rules, what was seen, and its clocks.

One unit that cannot be read or judged is told as such and keeps nobody else from anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from gati_gitops.compiler.stored import Where
from gati_gitops.decide.breaker import broken, tripped
from gati_gitops.decide.clocks import UnitClock
from gati_gitops.decide.decide import decide
from gati_gitops.decide.rules import Rules
from gati_gitops.decide.verdict import Decision, Verdict
from gati_gitops.errors import GatiError, Refused
from gati_gitops.ledger.stored import Stored
from gati_gitops.reconcile.announce import Announcer
from gati_gitops.reconcile.around import Surroundings
from gati_gitops.reconcile.clocks_store import Clocks
from gati_gitops.reconcile.evidence import Judged
from gati_gitops.reconcile.looking import Looked
from gati_gitops.reconcile.places import Scene


@dataclass(frozen=True, slots=True)
class Judging:
    """What all judgements of one pass share."""

    looked: Looked
    clocks: Clocks
    now: float
    cannot_write: str | None = ""
    """Why the job could not commit a rollback."""
    announce: Announcer = field(default_factory=Announcer)

    def all(self, scene: Scene) -> tuple[Judged, ...]:
        """Every unit, in order."""
        found = {one.where: one for one in self._each(scene)}
        for env, rules in scene.rules.items():
            if isinstance(rules, Rules):
                found |= self._limited(scene, env, rules, found)
        return tuple(found[where] for where in sorted(found))

    def _each(self, scene: Scene) -> Iterator[Judged]:
        around = Surroundings(scene, self.now, self.cannot_write)
        for (env, cluster), units in scene.units.items():
            rules = scene.rules[env]
            for key, stored in units.items():
                where = (env, cluster, key)
                if isinstance(rules, Refused):
                    yield self._unjudged(where, Verdict.ERROR, rules.message, stored)
                elif not self.looked.is_of(where, stored):
                    why = "its ledger has just changed; it is looked at in the next pass"
                    yield self._unjudged(where, Verdict.WAIT, why, stored)
                else:
                    yield self._one(where, rules, stored, around)
        for where, why in scene.broken.items():
            yield self._unjudged(where, Verdict.ERROR, why, None)

    def _one(self, where: Where, rules: Rules, stored: Stored, around: Surroundings) -> Judged:
        seen, clock = self.looked.observations[where], self._clock(where)
        try:
            decision, after = decide(rules, stored, seen, clock, self.now, around.of(where))
        except GatiError as error:
            return self._unjudged(where, Verdict.ERROR, error.message, stored)
        except Exception as error:  # noqa: BLE001 - a fault with one unit is no fault with others
            why = f"a fault of ours, please report it: {type(error).__name__}: {error}"
            return self._unjudged(where, Verdict.ERROR, why, stored)
        return Judged(where, decision, after, stored, seen)

    def _unjudged(self, where: Where, verdict: Verdict, why: str, stored: Stored | None) -> Judged:
        return Judged(where, Decision(verdict, why), self._clock(where), stored)

    def _clock(self, where: Where) -> UnitClock:
        return self.clocks.get(where, UnitClock())

    def _limited(
        self, scene: Scene, env: str, rules: Rules, found: Mapping[Where, Judged]
    ) -> dict[Where, Judged]:
        """What is left when much happens in an environment at once."""
        decisions = {where: one.decision for where, one in found.items() if where[0] == env}
        self.announce.breaker(env, tripped(rules, decisions))
        kept = broken(rules, decisions, scene.total(env))
        return {
            where: replace(found[where], decision=decision)
            for where, decision in kept.items()
            if decision is not decisions[where]
        }
