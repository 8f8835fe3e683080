"""A day of passes in one process leaves memory as it was."""

from __future__ import annotations

import gc
import sys
import tracemalloc

import pytest

from gati_gitops.errors import Outside
from gati_gitops.reconcile.watch import Watch
from tests.compile.kit import handler, project
from tests.reconcile.town import QUICK

DAY = 24 * 3600
EVERY = 300.0
ALLOWED = 128 * 1024
"""Bytes that may be left: the ledger has more to say at the end of the day than at its beginning."""


def weighed() -> int:
    """What the process holds; caches that have their bounds are emptied first."""
    ours = [module for name, module in sys.modules.items() if name.startswith("gati_gitops.")]
    for item in [item for module in ours for item in vars(module).values()]:
        if hasattr(item, "cache_clear") and item.cache_parameters()["maxsize"] is not None:
            item.cache_clear()
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


@pytest.mark.slow
def test_24_hours_leave_memory_flat(town):
    """Releases come and go, one is bad, and the job watches with one repository open."""
    short = {"rollbackFor": "10m", "parkFor": "20m", "tombstoneFor": "1h"}
    town.release({"gati.yaml": project(rollout=QUICK, decommission=short), "users.yaml": handler()})
    town.wait(120)
    sizes: list[int] = []
    begun = town.clock
    releases = iter(range(2, 100))

    def later(_: float) -> None:
        town.wait(EVERY)
        passed = town.clock - begun
        if passed % (2 * 3600) < EVERY:
            number = next(releases)
            town.site().behaves(f"v{number}", errors=0.3 if number % 3 == 0 else 0.0)
            town.release({"users.yaml": handler(version=f"v{number}")})
        if passed % (4 * 3600) < EVERY:
            sizes.append(weighed())
        if passed >= DAY:
            watch.stop.set()

    with town.open() as repository:
        watch = Watch(town.job_of(repository), EVERY, wait=later)
        tracemalloc.start()
        try:
            passes = watch.run()
        finally:
            tracemalloc.stop()
    assert passes >= DAY / EVERY - 1
    assert len(sizes) >= 6
    ledger = town.ledger()
    assert ledger.live("v11") is not None, "the releases of a day went through"
    assert sizes[-1] - sizes[1] < ALLOWED, [size // 1024 for size in sizes]


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("fails", [True, False])
def test_a_pass_does_not_collect_and_leaves_collecting_as_it_was(
    town, before, fails, monkeypatch, request
):
    request.addfinalizer(gc.enable)
    town.release({"gati.yaml": project(rollout=QUICK), "users.yaml": handler()})
    seen: list[bool] = []
    eyes = town.eyes

    def looked(*place):
        seen.append(gc.isenabled())
        return eyes(*place)

    def unread(*_):
        seen.append(gc.isenabled())
        raise Outside("the repository is gone", remedy="bring it back")

    (gc.enable if before else gc.disable)()  # verbs that ran before leave it off
    if fails:
        with pytest.raises(Outside):
            town.look(trust=unread)
    else:
        monkeypatch.setattr(town, "eyes", looked)
        town.look()
    assert seen == [False]
    assert gc.isenabled() is before
