"""Write changes to a folder so that a kill at any moment loses nothing.

First look: everything that can be known to fail is refused before anything changes. Then commit:
the whole change set goes to a journal (journal.py). Then roll: remove, make folders, write. A run
that dies before the commit has changed nothing; one that dies after it is rolled forward by the
next, from the start, and every file is written again, so a torn one cannot be missed.

Two waits for the disk in all, whatever the number of files: the journal is forced out before the
first file changes, and the files (all at once, by syncfs) before the journal goes. So at any power
cut either the journal or what it says is on disk; a sync per file would add nothing to that.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gati_gitops.disk import journal
from gati_gitops.disk.lock import Held, locked
from gati_gitops.disk.look import look
from gati_gitops.disk.paths import FOLDER, PRIVATE, explained
from gati_gitops.disk.roll import roll
from gati_gitops.errors import GatiError, Refused
from gati_gitops.tree import Changes, check_paths, shown

__all__ = ["Held", "apply", "locked", "recover", "refuse_unfinished"]


def apply(root: Held, changes: Changes) -> None:
    """Make the changes: all of them, or after a kill all of them on the next run."""
    recover(root)
    if not changes:
        return
    check_paths(changes)
    look(root, changes)
    with _private(root) as private:
        with explained(f"{root}/{PRIVATE}", "write"):
            journal.prepare(private, changes)
            journal.commit(private)
        _finish(root, private, changes, again=False)


def recover(root: Held) -> bool:
    """Finish what a killed run had committed, throw away what it had not; true if it had."""
    with _private(root) as private:
        with explained(f"{root}/{PRIVATE}", "read"):
            changes = journal.pending(private, shown(root))
            if changes is None:
                journal.discard(private)
                return False
        _finish(root, private, changes, again=True)
        return True


def refuse_unfinished(root: Path) -> None:
    """For those who only read: a folder between two states is not theirs to read or to mend."""
    if os.path.lexists(root / PRIVATE / journal.COMMITTED):
        raise Refused(
            f"{shown(root)} is half written: a compile into it was interrupted, or still runs",
            remedy="wait for it, or compile into the folder again: that finishes what was begun",
        )


@contextmanager
def _private(root: Held) -> Iterator[int]:
    with explained(f"{root}/{PRIVATE}", "open"):
        private = os.open(root / PRIVATE, FOLDER)
    try:
        yield private
    finally:
        os.close(private)


def _finish(root: Held, private: int, changes: Changes, *, again: bool) -> None:
    try:
        with explained(f"{root}/{PRIVATE}", "write"):
            journal.settle(private)
        roll(root, changes, again=again)
        with explained(f"{root}/{PRIVATE}", "clear"):
            journal.remove(private)
    except GatiError as error:
        error.remedy += "; the change is recorded in full, and the next run finishes it"
        raise
