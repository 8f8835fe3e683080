"""Our own job, as people run it: `reconcile --watch` beside a cluster, and what it has written."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.e2e.cluster import ROOT
from tests.e2e.processes import Program, until
from tests.e2e.world import World
from tests.servers.ask import ask

# Everything that takes minutes in production takes seconds here; the minimums are settings, too.
ROLLOUT = {
    "strategy": "canary",
    "analysis": {
        "interval": "5s",
        "stepFor": "15s",
        "successPercent": 95.0,
        "latencyPercent": 95.0,
        "maxSuccessDrop": 5.0,
        "maxLatencyRatio": 10.0,
        "minRequests": 60,
        "progressDeadline": "60s",
        # a busy machine forgets a scrape now and then, and nobody is there to release
        "inconclusiveLimit": 60,
        "errorLimit": 60,
    },
}
DECOMMISSION = {
    "grace": "15s",
    "passes": 2,
    "passInterval": "4s",
    "rollbackFor": "20s",
    "idleFor": "20s",
    "parkFor": "10s",
}
NUDGE = {"nudge": "annotation"}


@dataclass(frozen=True)
class Written:
    """A commit on the branch."""

    id: str
    at: float
    subject: str
    body: str

    @property
    def decided(self) -> bool:
        return "Gati-Evidence:" in self.body

    @property
    def lasted(self) -> int:
        """Seconds that the step had lasted, by the evidence."""
        (minutes, seconds) = re.findall(r" % for (?:(\d+)m)?(\d+)s: ", self.body)[0]
        return 60 * int(minutes or 0) + int(seconds)


class Job:
    """One process of the job, for one cluster."""

    def __init__(
        self,
        world: World,
        cluster: str = "prod",
        name: str = "",
        *more: object,
        clocks: str = "",
        port: int = 0,
        module: Sequence[object] = ("gati_gitops",),
    ) -> None:
        """With a port it can be asked how it fares; `module` is what is run, and how."""
        self.world = world
        self.cluster = world[cluster]
        self._name = name or f"reconcile-{cluster}"
        self.clocks = world.folder / f"{self._name}.json"
        self._port = port
        listen = ("--listen", f"127.0.0.1:{port}") if port else ()
        self._command = (
            sys.executable, "-m", *module, "reconcile", "--repo", world.git.url, "--cluster", cluster,
            "--kubeconfig", self.cluster.plane.kubeconfig, "--clocks", clocks or self.clocks,
            "--cache", world.folder / f"{self._name}.cache", "--watch", "--interval", "3s",
            "--log-format", "json", *listen, *more,
        )  # fmt: skip
        self.start()

    @property
    def environ(self) -> dict[str, str]:
        return {**self.world.git.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}

    def start(self) -> None:
        self.program: Program = self.cluster.plane.start(
            self._name, *self._command, env=self.environ
        )

    def stop(self) -> None:
        self.program.end()

    def kill(self) -> None:
        self.program.end(grace=0)

    def explain(self, unit: str = "shop/cart") -> str:
        """What it thinks, for a test that failed."""
        place = [*self._command[: self._command.index("--cache")], "--explain", unit]
        with self.world.place.inside():
            done = subprocess.run(
                [str(part) for part in place],
                env={"PATH": "/usr/bin:/bin", **self.environ},
                capture_output=True, text=True, check=False, timeout=60,
            )  # fmt: skip
        return done.stdout + done.stderr

    def until(self, probe: Callable[[], object], what: str, within: float = 150) -> None:
        """Wait for what the job should decide; if it does not, its reasons are the failure."""
        try:
            until(what, probe, within=within, every=0.5)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.explain()}") from None

    def ask(self, path: str) -> tuple[int, str]:
        """What it answers at its port: the status, and the words; 0 if it does not."""
        status, words = ask(self._port, path)
        return status, words.decode()

    def told(self, message: str, after: int = 0, **wanted: object) -> list[dict[str, Any]]:
        """Lines of its log, after so many, that say this."""
        wanted["message"] = message
        return [line for line in self.lines()[after:] if wanted.items() <= line.items()]

    def lines(self) -> list[dict[str, Any]]:
        """Its log."""
        found = []
        for line in self.program.log.read_text(errors="replace").splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                found.append({"message": line})
        return found


def history(world: World, since: str = "") -> list[Written]:
    """Commits of the branch after one, oldest first."""
    span = f"{since}..main" if since else "main"
    done = subprocess.run(
        ["git", "-C", str(world.git.bare), "log", "--reverse", "--format=%H%x00%ct%x00%s%x00%b%x01", span],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = [part.strip().split("\x00") for part in done.stdout.split("\x01") if part.strip()]
    return [Written(commit, float(at), *words) for commit, at, *words in found]


def ledger(world: World, cluster: str = "prod", unit: str = "handler-cart") -> dict[str, Any]:
    """What stands in a ledger on the branch, by version: phase and weight."""
    import yaml

    path = f"overlays/{cluster}/{cluster}/shop/{unit}/rollout.yaml"
    data = yaml.safe_load(world.git.show(path))
    return {
        f"{e['id']}{'?' if e['phase'] == 'Pending' else ''}": (e["phase"], e.get("weight", 0))
        for e in data["versions"]
    }


def numbers(world: World, written: Sequence[Written], cluster: str = "prod") -> list[int]:
    """The number of a unit's ledger after each commit: one more for every decision."""
    import yaml

    path = f"overlays/{cluster}/{cluster}/shop/handler-cart/rollout.yaml"
    stored = [yaml.safe_load(world.git.show(path, one.id)) for one in written]
    return [int(str(data["seq"]).split()[0]) for data in stored]


def subjects(written: Sequence[Written]) -> list[str]:
    return [one.subject for one in written]
