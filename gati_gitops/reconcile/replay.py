"""A recording instead of clusters: what was once seen, judged as of the time it was seen.

What is written is written as of then. Clocks are the job's; without any they live for the replay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from gati_gitops.errors import Misnamed
from gati_gitops.observe.recording import Look, passes, read_recording, sources
from gati_gitops.reconcile.clocks_store import MemoryClocks
from gati_gitops.reconcile.looking import Eyes
from gati_gitops.reconcile.places import At, Scene
from gati_gitops.reconcile.run import Job, Passed, run_pass


def replay(job: Job, path: Path, *, dry_run: bool) -> Iterator[Passed]:
    """A pass for each that was recorded. Raises Misnamed for what is no recording."""
    return replayed(job, passes(read_recording(path)), dry_run=dry_run)


def replayed(job: Job, recorded: Iterable[tuple[Look, ...]], *, dry_run: bool) -> Iterator[Passed]:
    """The same for looks at hand."""
    clocks = MemoryClocks(job.clocks.read().clocks) if dry_run else job.clocks
    for number, looks in enumerate(recorded, 1):
        seen = {look.cluster: look for look in looks}
        now = max(look.at for look in looks)
        hand = replace(job.hand, clock=partial(float, now))
        then = replace(job, hand=hand, open_eyes=_Tape(seen).eyes, clocks=clocks, tell=None)
        passed = run_pass(then, number, dry_run=dry_run)
        if dry_run:  # what was seen counts all the same
            clocks.write({one.where: one.clock for one in passed.judged})
        yield passed


class _Tape:
    """What was seen in one pass."""

    def __init__(self, looks: Mapping[str, Look]) -> None:
        self._looks = looks

    def eyes(self, _: Scene, at: At) -> Eyes:
        look = self._looks.get(at[1])
        if look is None:
            raise Misnamed(
                f"the recording has nothing of {at[1]}",
                remedy="narrow with --cluster to what it has",
            )
        return Eyes(*sources(look))
