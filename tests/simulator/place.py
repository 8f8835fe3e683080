"""A cluster with its Git side: what is stored for it, what commits bring, and what stands around it."""

from __future__ import annotations

from collections import Counter

from gati_gitops.decide.around import Around
from gati_gitops.ledger.model import Phase
from tests.simulator.site import Site
from tests.simulator.stories import manifest_of, nothing

NOTHING = Around()


class Place(Site):
    """A cluster with its Git side: what is stored, and what commits bring."""

    def __init__(self, world, name, setup, stored, policy, rules):
        super().__init__(world, name, setup)
        self.stored = stored
        self.policy = policy
        self.rules = rules
        self.commits = 0
        self.frozen: tuple[float, float] = (0.0, 0.0)
        self.cut: tuple[float, float] = (0.0, 0.0)
        self.broken: tuple[float, float] = (0.0, 0.0)
        """When the ledger of a sibling cannot be read."""
        self.elsewhere: dict[tuple[str, str], str] = {}
        """What was rejected in other places."""
        self.reviewed = False
        """Steps land by pull requests that people merge, even while the job itself cannot push."""
        self.dwells: tuple[float, ...] = ()
        self.sibling: Place | None = None
        self.moves: Counter[str] = Counter()

    def commit(self, stored):
        self.commits += 1
        self.stored = stored
        if stored is not None:
            self.set_shares(stored.ledger)
        manifest = manifest_of(stored, self.commits) if stored else nothing(self.commits)
        self.engine.committed(manifest)
        self.world.committed(self)

    def rejected_elsewhere(self):
        """By its sibling, and by clusters that are known for nothing else."""
        other = self.sibling
        entries = other.stored.ledger.entries if other is not None and other.stored else ()
        return {entry.key: other.name for entry in entries if entry.barred} | self.elsewhere

    def around(self, now):
        """What the job knows of other clusters, windows and itself."""
        frozen = "weekend" if self.frozen[0] <= now < self.frozen[1] else ""
        cut = "the Git server does not answer" if self.cut[0] <= now < self.cut[1] else ""
        unread = "a sibling's ledger is broken" if self.broken[0] <= now < self.broken[1] else ""
        other = self.sibling
        known = other or self.dwells or self.callers or self.elsewhere
        if not (frozen or cut or unread or known):
            return NOTHING
        entries = other.stored.ledger.entries if other is not None and other.stored else ()
        led = [entry.key for entry in entries if entry.phase is Phase.ACTIVE]
        left = [e.key for e in entries if e.phase in (Phase.PARKED, Phase.REMOVED)]
        if not self.standby:
            led = left = []
        judged = {} if unread else self.rejected_elsewhere()
        return Around(
            frozen=frozen, cannot_write=cut, judged=judged, unread=unread, dwells=self.dwells,
            callers={self.world.ids[index]: ("unit shop/cart",) for index in self.callers},
            led=frozenset(led), left=frozenset(left), standby=self.standby,
        )  # fmt: skip
