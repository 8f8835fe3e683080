"""A whole pass over a fleet, against the clock: 1,000 units of three versions with two pods each.

What the job does, with nothing left out: Git is read, the cluster is listed over HTTP, a real
Prometheus is asked for the samples of 42,000 series, every unit is judged, and what was decided is
committed. Only the API server is not real: it answers with pages that were made before, because
filling a real one takes longer than all the rest.

First every unit takes a step, in one commit; that is done over and over from the same state. Then
the cluster has synced it, and nothing is decided. Of each the best pass has to keep to the budget,
in seconds on the wall; on a machine that has more to do than it has processors, in seconds of work.

python bench/one_pass.py [--smoke] [--units N] [--profile]
"""

from __future__ import annotations

import cProfile
import gc
import os
import pstats
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.cluster import Pages, copied, running, served
from bench.prometheus import filled
from bench.reconcile import BUDGET, NAMES, ROUNDS, SMOKE, fleet, held, job
from gati_gitops.ledger.stored import Stored
from gati_gitops.observe.kube import Access
from gati_gitops.output import Output, UnitKey
from gati_gitops.publish.objects import Overlaid
from gati_gitops.reconcile.announce import Announcer, Listener
from gati_gitops.reconcile.run import Passed, run_pass
from gati_gitops.reconcile.sources import Sources
from tests.publish.kit import World, git


@dataclass
class Parts(Listener):
    """Where the time of a pass goes."""

    began: float = field(default_factory=time.perf_counter)
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def span(self, name: str, **attributes: str) -> Iterator[None]:
        what = attributes.get("source", name)
        start = time.perf_counter()
        self.seconds.setdefault(f"before {what}", start - self.began)
        yield
        self.seconds[what] = self.seconds.get(what, 0.0) + time.perf_counter() - start

    def told(self, took: float) -> str:
        read, look, decide = (self.seconds[k] for k in ("before observe", "observe", "decide"))
        eyes = ", ".join(f"{name} {self.seconds[name]:.2f}" for name in ("the cluster", "metrics"))
        write = took - read - look - decide
        return f"git {read:.2f}, look {look:.2f} ({eyes}), decide {decide:.2f}, write {write:.2f}"


@dataclass(frozen=True)
class Took:
    """What one pass cost."""

    wall: float
    user: float
    system: float
    parts: str
    passed: Passed

    def __str__(self) -> str:
        verdicts = Counter(str(one.decision.verdict) for one in self.passed.judged)
        told = ", ".join(f"{count} {name}" for name, count in sorted(verdicts.items()))
        return (
            f"{self.wall:5.2f} s on the wall, {self.user:.2f} s user, {self.system:.2f} s system;"
            f" {self.parts}; {told}, {len(self.passed.steps)} commits"
        )


def measured(world: World, sources: Sources, clocks: Path) -> Took:
    """One pass, from opening the repository to the clocks on disk."""
    before, parts = os.times(), Parts()
    with world.open() as repository:
        one = job(world, sources.eyes, clocks, time.time, repository, Announcer([parts]))
        passed = run_pass(one)
    wall, after = time.perf_counter() - parts.began, os.times()
    assert passed.error is None, passed.error
    assert not passed.failures, passed.failures
    assert len(passed.judged) == len(NAMES)
    assert all(one.seen is not None for one in passed.judged)
    user, system = after.user - before.user, after.system - before.system
    return Took(wall, user, system, parts.told(wall), passed)


def units_of(world: World) -> Mapping[UnitKey, Stored]:
    with world.open() as repository:
        return Output(repository.tip().snapshot()).units("prod", "east")


def pages_of(world: World) -> Pages:
    """The cluster that has synced what stands in Git."""
    with world.open() as repository:
        files = Overlaid(repository.tip().snapshot())
        return copied(running(files, f"overlays/prod/east/shop/handler-{NAMES[0]}"), NAMES)


def passes(root: Path, world: World, url: str) -> Iterator[tuple[str, list[Took]]]:
    """Passes that decide, and passes that do not."""
    clocks, start = root / "clocks.json", world.tip()

    def looking(access: Access) -> Sources:
        return Sources({"east": access}, {}, prometheus={"east": url})

    found = []
    with served(pages_of(world)) as access, looking(access) as sources:
        for _ in range(ROUNDS):
            git(world.output, "update-ref", "refs/heads/main", start)
            clocks.unlink(missing_ok=True)
            found.append(measured(world, sources, clocks))
            assert len(found[-1].passed.steps) == 1
    yield "every unit takes a step", found
    found = []
    with served(pages_of(world)) as access, looking(access) as sources:
        for _ in range(ROUNDS):
            found.append(measured(world, sources, clocks))
            assert not found[-1].passed.steps
    yield "nothing is decided", found


def main() -> int:
    late = []
    with tempfile.TemporaryDirectory(prefix="gati-bench-") as folder:
        root, began = Path(folder), time.perf_counter()
        world = fleet(root, time.time())
        print(f"{len(NAMES)} units of 3 versions, made in {time.perf_counter() - began:.0f} s")
        began = time.perf_counter()
        with filled(root / "prometheus", units_of(world)) as server:
            print(f"a Prometheus with their series, in {time.perf_counter() - began:.0f} s")
            gc.collect()
            gc.freeze()  # what the bench itself holds is no part of a pass
            profile = cProfile.Profile() if "--profile" in sys.argv else None
            if profile:
                profile.enable()
            for what, found in passes(root, world, server.url):
                load = os.getloadavg()[0]
                print(f"{what}; load of the machine {load:.1f}, {os.cpu_count()} processors")
                for took in found:
                    print(f"  {took}", flush=True)
                print(f"  {found[-1].passed.judged[0].decision.reason}")
                best = min(held(took.wall, took.user + took.system) for took in found)
                late += [f"{what}: {best:.2f} s"] if best > BUDGET else []
            if profile:
                profile.disable()
                pstats.Stats(profile).sort_stats("tottime").print_stats(45)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"memory at its most, what the bench itself holds included: {peak:.0f} MiB")
    if late and not SMOKE:
        print(f"too slow, {BUDGET:.0f} s are wanted: {'; '.join(late)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
