"""A town: specs, a repository, clusters that sync it, people, a forge and the job; one clock for all."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from gati_gitops.errors import Refused
from gati_gitops.output import Output
from gati_gitops.publish.describe import Describing
from gati_gitops.publish.hand import Hand
from gati_gitops.reconcile.announce import Announcer
from gati_gitops.reconcile.clocks_store import ClockStore, MemoryClocks
from gati_gitops.reconcile.evidence import Judged
from gati_gitops.reconcile.fence import Fence
from gati_gitops.reconcile.looking import Eyes
from gati_gitops.reconcile.places import At, Narrowing, Scene
from gati_gitops.reconcile.run import Job, Passed, run_pass
from gati_gitops.repo.repository import Repository
from tests.publish.kit import AUTHOR
from tests.publish.test_approval import WithForge
from tests.reconcile.site import SCRAPE, Site
from tests.servers.places import hasty

START = 1_900_000_000.0
"""Later than any clock of a machine that runs this, so that commits follow one another."""
QUICK = {
    "strategy": "canary",
    "analysis": {"stepFor": "2m", "interval": "30s", "minRequests": 300},
}


@dataclass
class Town(WithForge):
    """Everything that a rollout needs, and nothing of it real but the code and Git."""

    clock: float = START
    sites: dict[At, Site] = field(default_factory=dict)
    clocks: ClockStore = field(default_factory=MemoryClocks)
    fence: Fence = field(default_factory=lambda: Fence("town", holder="first"))
    narrowing: Narrowing = field(default_factory=Narrowing)

    def __post_init__(self) -> None:
        super().__post_init__()

    def close(self) -> None:
        self.server.close()

    # -- time ------------------------------------------------------------------------------------

    def site(self, env: str = "prod", cluster: str = "east") -> Site:
        return self.sites.setdefault((env, cluster), Site(self.clock))

    def sync(self) -> None:
        """Engines take over what stands on the branch."""
        with self.open() as repository:
            output = Output(repository.tip().snapshot())
            for at in output.clusters():
                with suppress(Refused):  # what cannot be read stays as it was brought last
                    self.site(*at).sync(output.units(*at))

    def wait(self, seconds: float) -> None:
        """Time goes by: engines sync, requests come in, scrapes happen."""
        self.sync()
        end = self.clock + seconds
        while self.clock < end:
            self.clock += SCRAPE
            for site in self.sites.values():
                site.now = self.clock - SCRAPE
                site.tick()

    # -- the job ---------------------------------------------------------------------------------

    def eyes(self, scene: Scene, at: At) -> Eyes:
        site = self.site(*at)
        return Eyes(site, site.metrics)

    def job_of(self, repository: Repository, **options: object) -> Job:
        parts: dict[str, object] = {
            "clocks": self.clocks,
            "fence": self.fence,
            "forge": self.forge,
            "narrowing": self.narrowing,
            "announce": Announcer(),
            "open_eyes": self.eyes,
            "hand": Hand(AUTHOR, retry=hasty(), clock=lambda: self.clock),
            "describe": Describing(repository.branch),
            **options,
        }
        return Job(repository, **parts)

    def look(self, *, dry_run: bool = False, **options: object) -> Passed:
        """One pass of the job."""
        with self.open() as repository:
            return run_pass(self.job_of(repository, **options), dry_run=dry_run)

    def until(
        self, done: Callable[[], bool], *, limit: float = 4 * 3600, every: float = 30.0
    ) -> list[Passed]:
        """Pass after pass until something is so; fails when that takes too long."""
        passes: list[Passed] = []
        end = self.clock + limit
        while not done():
            told = [f"{o.unit} {o.decision.verdict}: {o.decision.reason}" for p in passes[-1:] for o in p.judged]  # fmt: skip
            assert self.clock < end, "\n".join(told)
            self.wait(every)
            passes.append(self.look())
        return passes

    def said(self, passed: Passed, unit: str = "shop/users", cluster: str = "east") -> Judged:
        (found,) = [one for one in passed.judged if one.unit == unit and one.where[1] == cluster]
        return found
