"""What a unit's fate hangs on that is not its own, as the tip tells it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from gati_gitops.compiler.stored import Where
from gati_gitops.decide.around import Around, Key
from gati_gitops.decide.promotion import followed, proofs
from gati_gitops.decide.rules import Rules
from gati_gitops.errors import Refused
from gati_gitops.ledger.model import Ledger, Phase
from gati_gitops.output import UnitKey
from gati_gitops.publish.deciding import judged_elsewhere
from gati_gitops.reconcile.callers import Callers, callers
from gati_gitops.reconcile.freeze import frozen
from gati_gitops.reconcile.places import At, Scene
from gati_gitops.spec.common import seconds
from gati_gitops.spec.project import Cluster
from gati_gitops.spec.rollout import Freeze


class Surroundings:
    """What stands around the units of a scene at one moment; each thing is found out once."""

    def __init__(self, scene: Scene, now: float, cannot_write: str | None = "") -> None:
        self._scene = scene
        self._now = now
        self._cannot_write = cannot_write
        self._settings = cache(self._read_settings)
        self._frozen = cache(self._find_frozen)
        self._callers = cache(self._find_callers)
        self._dwells = cache(self._find_dwells)
        self._serving = cache(self._find_serving)

    def of(self, where: Where) -> Around:
        """What is around one unit on one cluster. Raises Refused."""
        env, cluster, key = where
        at = (env, cluster)
        scene = self._scene
        ledger = scene.units[at][key].ledger or Ledger()
        standby = self._settings(at).role == "standby"
        known = [entry.key for entry in ledger.entries]
        led, left = (
            followed(known, self._ledgers(env, key)) if standby else (frozenset(), frozenset())
        )
        proved, unproved = self._proofs(env, key, ledger)
        judged, unread = judged_elsewhere(scene.output, scene.found, where)
        return Around(
            frozen=self._frozen(at),
            cannot_write=self._cannot_write,
            judged=judged,
            unread=unread,
            proved=proved,
            unproved=unproved,
            dwells=self._dwells(env),
            callers=self._callers(at).get(key, {}),
            led=led,
            left=left,
            standby=standby,
        )

    def _proofs(
        self, env: str, key: UnitKey, ledger: Ledger
    ) -> tuple[Mapping[Key, str], Mapping[Key, str]]:
        """What of the versions that wait here the environment before has proved."""
        rules = self._scene.rules[env]
        waiting = [entry.key for entry in ledger.entries if entry.phase is Phase.PENDING]
        if not isinstance(rules, Rules) or not rules.promoted_after or not waiting:
            return {}, {}
        before = rules.promoted_after
        return proofs(waiting, self._ledgers(before, key), before, rules.dwell)

    def _ledgers(self, env: str, key: UnitKey) -> dict[str, Ledger | None]:
        """What every serving cluster of an environment has decided about a unit."""
        found: dict[str, Ledger | None] = {}
        for cluster in self._serving(env):
            try:
                stored = self._scene.output.unit(env, cluster, key)
            except Refused:  # who cannot be read has proved nothing
                stored = None
            found[cluster] = stored.ledger if stored is not None else None
        return found

    def _find_serving(self, env: str) -> tuple[str, ...]:
        said = self._scene.output.settings(env).get("clusters") or {}
        return tuple(name for name in sorted(said) if self._settings((env, name)).role == "serving")

    def _read_settings(self, at: At) -> Cluster:
        return self._scene.cluster(*at)

    def _find_frozen(self, at: At) -> str:
        rollout = self._scene.output.settings(at[0]).get("rollout") or {}
        said = rollout.get("freeze") or []
        windows = [Freeze.model_validate(window, by_alias=True) for window in said]
        return frozen([*windows, *self._settings(at).freeze], self._now)

    def _find_callers(self, at: At) -> Callers:
        return callers(self._scene.output, *at, self._scene.units[at])

    def _find_dwells(self, env: str) -> tuple[float, ...]:
        """How long environments that follow this one want a version to prove itself."""
        found: set[float] = set()
        for other in self._scene.found.environments:
            try:
                promotion = self._scene.output.settings(other).get("promotion") or {}
            except Refused:  # nothing is promoted to where nobody knows by which rules
                continue
            if promotion.get("after") == env:
                found.add(float(seconds(promotion.get("dwell", "24h"))))
        return tuple(sorted(found))
