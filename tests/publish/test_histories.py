"""Any sequence of merges, publishes, decisions, reverts and upgrades keeps the promises.

What must hold after every commit: everything builds; a commit for one environment leaves what every
other one renders as it was; weights are whole; a weight never arrives with the commit that first
deploys its version; numbers of ledgers never fall; a rejected version has no weight; and the
branch is exactly what specs and ledgers say.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gati_gitops.errors import Misnamed, Refused, SpecsInvalid
from gati_gitops.ledger.model import DEPLOYED, WEIGHTED, Ledger, Phase
from gati_gitops.render import MemoryFiles, render
from gati_gitops.tree import Tree
from tests.compile import kit
from tests.compile.kit import canary, handler
from tests.publish.kit import World, git

NAMES = ("users", "carts")
ENVIRONMENTS = ("dev", "prod")

names = st.sampled_from(NAMES)


def ledgers(tree: Tree) -> dict[str, Ledger]:
    end = "/rollout.yaml"
    return {
        path.removesuffix(end): kit.ledger(tree, path.removesuffix(end))
        for path in tree
        if path.startswith("overlays/") and path.endswith(end)
    }


def built(tree: Tree) -> dict[str, bytes]:
    """What every unit's folder builds to."""
    files = MemoryFiles(tree)
    return {
        path.rpartition("/")[0]: render(files, path.rpartition("/")[0]).to_yaml()
        for path in tree
        if path.startswith("overlays/")
        and path.endswith("/kustomization.yaml")
        and path.count("/") in (3, 5)
    }


class Histories(RuleBasedStateMachine):
    @initialize(promoted=st.booleans())
    def begin(self, promoted: bool) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.world = World(Path(self.folder.name))
        self.versions = dict.fromkeys(NAMES, 1)
        self.values = dict.fromkeys(NAMES, 0)
        self.clusters = ["east"]
        self.promoted = promoted
        self.compiler = 0
        self.there = set(NAMES)
        self.highest: dict[str, int] = {}
        self.seen: str = ""
        self.tree: Tree = {}
        self.merged()
        self.publish()

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()

    def merged(self) -> None:
        promotion = {"promotion": {"prod": {"after": "dev"}}} if self.promoted else {}
        environments = {"dev": ["dev-1"], "prod": self.clusters}
        files: dict[str, str | None] = {"gati.yaml": canary(environments, **promotion)}
        for name in NAMES:
            env = {"VALUE": str(self.values[name])}
            there = name in self.there
            stands = (self.world.specs / f"{name}.yaml").exists()
            if there:
                files[f"{name}.yaml"] = handler(name, f"v{self.versions[name]}", env=env)
            elif stands:
                files[f"{name}.yaml"] = None
        self.world.merge(files)

    # -- what happens ------------------------------------------------------------------------------

    @rule(name=names)
    def new_version(self, name: str) -> None:
        self.versions[name] += 1
        self.there.add(name)
        self.merged()

    @rule(name=names)
    def other_pods(self, name: str) -> None:
        self.values[name] += 1
        self.merged()

    @rule(name=names)
    def older_version(self, name: str) -> None:
        self.versions[name] = max(1, self.versions[name] - 1)
        self.merged()

    @precondition(lambda self: len(self.there) > 1)
    @rule(name=names)
    def no_spec(self, name: str) -> None:
        self.there.discard(name)
        self.merged()

    @precondition(lambda self: len(self.clusters) < 2)
    @rule()
    def new_cluster(self) -> None:
        self.clusters.append("west")
        self.merged()

    @rule(whole=st.booleans())
    def publish(self, whole: bool = False) -> None:
        try:
            self.world.publish(whole=whole)
        except (Refused, SpecsInvalid):  # an older version that comes back with another image
            return
        assert not self.world.verify().differences
        tip = self.world.tip()
        self.world.publish(whole=not whole)
        told = git(self.world.output, "log", "--format=%s", f"{tip}..main").split("\n")[:-1]
        assert set(told) <= {"output: remove release folders that nobody names"}

    @rule(
        name=names,
        env=st.sampled_from(ENVIRONMENTS),
        verb=st.sampled_from(["hold", "release", "rollback", "reject", "retire"]),
    )
    def person(self, name: str, env: str, verb: str) -> None:
        options = {"version": f"v{self.versions[name]}"} if verb == "reject" else {}
        try:
            self.world.act(verb, f"shop/{name}", environments=(env,), **options)
        except (Misnamed, Refused):  # there is nothing to decide about
            return

    @rule(name=names, env=st.sampled_from(ENVIRONMENTS))
    def job(self, name: str, env: str) -> None:
        """A rollout in progress takes its next step."""
        for folder, ledger in ledgers(self.world.tree()).items():
            rolling = ledger.rolling
            active = next((e for e in ledger.entries if e.phase is Phase.ACTIVE), None)
            if not folder.startswith(f"overlays/{env}/") or not folder.endswith(f"-{name}"):
                continue
            if rolling is None or active is None or ledger.hold or ledger.retiring:
                continue
            step = {0: 10, 10: 50}.get(rolling.weight, 100)
            if step == 100:
                phases = {rolling.id: ("Active", 100), active.id: ("Draining", 0)}
            else:
                phases = {rolling.id: ("Canary", step), active.id: ("Active", 100 - step)}
            if rolling.id != active.id:
                self.world.job(folder, **phases)

    @rule()
    def revert(self) -> None:
        """A person takes the newest commit of ours back."""
        head = git(self.world.output, "log", "-1", "--format=%B", "main")
        if (
            "Gati-" not in head
            or git(self.world.output, "rev-list", "--count", "main").strip() == "1"
        ):
            return
        try:
            self.world.revert()
        except AssertionError:  # git found nothing to revert, or a conflict
            place = self.world.root / "hand"
            git(place, "reset", "-q", "--hard", "origin/main")

    # -- what holds --------------------------------------------------------------------------------

    @invariant()
    def promises(self) -> None:
        if not hasattr(self, "world") or (
            not self.seen and not git(self.world.output, "for-each-ref")
        ):
            return
        told = f"{self.seen}..main" if self.seen else "main"
        commits = git(self.world.output, "rev-list", "--reverse", "--first-parent", told).split()
        for commit in commits:
            after = self.world.tree(commit)
            ours = "Gati-" in git(self.world.output, "log", "-1", "--format=%B", commit)
            if ours:
                self.walls(self.tree, after)
                self.numbers(self.tree, after)
                self.weights(self.tree, after)
            self.tree, self.seen = after, commit

    def walls(self, before: Tree, after: Tree) -> None:
        changed = {p for p in before.keys() | after.keys() if before.get(p) != after.get(p)}
        touched = {path.split("/")[1] for path in changed if path.startswith("overlays/")}
        assert len(touched) <= 1, touched
        was, now = built(before), built(after)  # everything builds
        for folder in was:
            if folder.split("/")[1] not in touched:
                assert now.get(folder) == was[folder], folder

    def numbers(self, before: Tree, after: Tree) -> None:
        known = ledgers(before)
        for folder, ledger in ledgers(after).items():
            if ledger != known.get(folder):  # one that a person reverted waits for its own commit
                assert ledger.seq > self.highest.get(folder, 0), folder
                self.highest[folder] = ledger.seq

    def weights(self, before: Tree, after: Tree) -> None:
        known = ledgers(before)
        for folder, ledger in ledgers(after).items():
            weighted = [e for e in ledger.entries if e.weight]
            assert all(e.phase in WEIGHTED and not e.barred for e in weighted), folder
            assert sum(e.weight for e in weighted) in (0, 100), folder
            if folder in known:
                deployed = {e.id for e in known[folder].entries if e.phase in DEPLOYED}
                # where nothing runs yet, whoever starts it starts it as a first publish does
                first = {e.id for e in weighted} - deployed if deployed else set()
                assert not first, f"{folder}: {first} got weight in the commit that deploys it"


Histories.TestCase.settings = settings(
    max_examples=settings.default.max_examples // 4 if settings.default else 5,
    stateful_step_count=8,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestHistories = Histories.TestCase
