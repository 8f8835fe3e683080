"""A kept clone, read without its server: what was seen last, and when.

Nothing is fetched, locked or written, so it works while another run holds the clone, and while the
server is gone. What it gives may be old; whoever uses it says how old.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pygit2

from gati_gitops.errors import Outside
from gati_gitops.repo.address import Address
from gati_gitops.repo.clones import home_of, read_seen
from gati_gitops.repo.commit import read_commit
from gati_gitops.repo.heads import HEADS
from gati_gitops.repo.objects import Damaged, Objects
from gati_gitops.repo.repository import Tip


@dataclass(frozen=True, slots=True)
class Kept:
    """The tip of a branch as it was seen last."""

    tip: Tip
    seen: float
    """When the server said so."""


def kept_tip(address: Address, cache: Path, branch: str | None) -> Kept:
    """What a kept clone knows of a branch. Raises Outside if that is nothing."""
    home = home_of(address, cache)
    for seen in read_seen(home):
        default = str(seen.get("default") or "").removeprefix(HEADS)
        wanted = branch or default
        if seen["ref"] != f"{HEADS}{wanted}":
            continue
        try:
            objects = Objects(pygit2.Repository(str(home / "clone")))
            found = read_commit(objects, str(seen["commit"]))
            objects.tree(bytes.fromhex(found.tree))
        except (pygit2.GitError, Damaged, KeyError, ValueError):
            break
        tip = Tip(wanted, str(seen["commit"]), found.tree, found.time, objects)
        return Kept(tip, float(seen.get("time", 0)))
    raise Outside(
        f"{cache} holds no clone of {address} that could be read",
        remedy="give a clone on this machine as --repo",
    )
