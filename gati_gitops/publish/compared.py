"""Which objects of a folder come, change and go when some of its files change."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from gati_gitops.publish.objects import (
    Fingerprints,
    ObjectId,
    Overlaid,
    built,
    objects_in,
    objects_of,
)

EXACT = 200
"""So many folders are built to see what a patch changes; in more, every other patch is a change."""
_KUSTOMIZATION = "kustomization.yaml"


@dataclass(frozen=True, slots=True)
class Objects:
    """Objects that come, change and go."""

    added: tuple[ObjectId, ...] = ()
    changed: tuple[ObjectId, ...] = ()
    removed: tuple[ObjectId, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)


class Comparing:
    """Compares folders: by what they are made from, and, where that may not tell, as built."""

    def __init__(self, then: Overlaid, now: Overlaid) -> None:
        self._then, self._now = then, now
        self._builds = 0

    def objects(self, folder: str, changed: AbstractSet[str]) -> Objects:
        """What happens to the objects of a folder of which some files change."""
        if _KUSTOMIZATION not in changed:
            # what it is put together from stays; most often a route gets other weights
            old, new = (objects_of(f, folder, changed) for f in (self._then, self._now))
            if old is not None and new is not None:
                return _compared(old, new, {k for k in old.keys() & new.keys() if old[k] != new[k]})
        return self._whole(folder)

    def _whole(self, folder: str) -> Objects:
        old, new = objects_in(self._then, folder), objects_in(self._now, folder)
        changed = {key for key in old.keys() & new.keys() if old[key] != new[key]}
        # a patch may say what was so anyway
        if self._builds < EXACT and any(len(old[key]) + len(new[key]) > 2 for key in changed):
            self._builds += 1
            texts = [built(files, folder) for files in (self._then, self._now)]
            changed = {key for key in changed if texts[0].get(key) != texts[1].get(key)}
        return _compared(old, new, changed)


def _compared(old: Fingerprints, new: Fingerprints, changed: Iterable[ObjectId]) -> Objects:
    return Objects(
        tuple(sorted(new.keys() - old.keys())),
        tuple(sorted(changed)),
        tuple(sorted(old.keys() - new.keys())),
    )
