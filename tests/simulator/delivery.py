"""The sync engine: what is in Git comes to the cluster later, in parts, or in a strange order."""

from __future__ import annotations

from gati_gitops.decide.observation import Engine as Said
from gati_gitops.decide.observation import EngineState, Gap, Missing

UNKNOWN = Missing(Gap.ERROR, "the engine's objects could not be read")
NONE = Missing(Gap.UNSUPPORTED, "no engine is configured")


class Engine:
    """Applies the manifests of one cluster."""

    def __init__(self, site, manifest):
        dice = site.world.dice
        self.site = site
        self.latest = manifest
        self.route = manifest.number
        self.deployments = manifest.number
        self.suspended: list[tuple[float, float]] = []
        self.parts = dice.chance(0.35)
        self.disorder = dice.chance(0.08)
        """It may bring an older commit once more."""
        self.lies = dice.chance(0.06)
        """It says that it is done when it has begun."""
        self.slow = dice.between(20, 70) if dice.chance(0.12) else 0.0

    @property
    def names(self):
        """Its faults; that it brings its work in parts is none."""
        found = {"sync disorder": self.disorder, "sync lies": self.lies, "sync slow": self.slow}
        return [name for name, there in found.items() if there]

    def committed(self, manifest):
        before, self.latest = self.latest, manifest
        world = self.site.world
        delay = world.dice.between(3, 15) + self.slow * world.dice.random()
        world.later(delay, self.sync, None)
        if self.disorder and world.dice.chance(0.5):
            world.later(delay + world.dice.between(2, 25), self.sync, before)

    def stopped(self, now):
        for start, end in self.suspended:
            if start <= now < end:
                return end
        return 0.0

    def suspend(self, start, end):
        """From then until then, in seconds from now."""
        world = self.site.world
        self.suspended.append((world.now + start, world.now + end))
        world.later(end + 2.0, self.sync, None)

    def sync(self, manifest):
        world = self.site.world
        if self.stopped(world.now):
            return
        if manifest is not None:
            world.say(f"the engine brings commit {manifest.number} once more")
            world.later(world.dice.between(5, 20), self.sync, None)
        manifest = manifest or self.latest
        if not self.parts:
            self.bring_deployments(manifest)
            self.bring_route(manifest)
            return
        parts = [self.bring_route, self.bring_deployments]
        if world.dice.chance(0.5):
            parts.reverse()
        parts[0](manifest)
        world.later(world.dice.between(1, 30), parts[1], manifest)

    def bring_route(self, manifest):
        if manifest.number < self.route and not self.disorder:
            return
        self.route = manifest.number
        self.site.apply_route(manifest)

    def bring_deployments(self, manifest):
        if manifest.number < self.deployments and not self.disorder:
            return
        self.deployments = manifest.number
        self.site.apply_deployments(manifest)

    def says(self, now, known):
        if not known:
            return NONE
        if self.stopped(now):
            return Said(EngineState.SUSPENDED, "a person has suspended it")
        number = self.latest.number
        if self.lies or self.route == number == self.deployments:
            return Said(EngineState.SYNCED, "", str(number))
        return Said(EngineState.BEHIND, "", str(min(self.route, self.deployments)))
