"""Hand edits in the repository: files that are not what plan and ledger of their unit give.

A unit's folder is a function of its ``unit.yaml`` and ``rollout.yaml``, and a release folder's name
says what is in it. So nobody needs the specs to see that a file was touched, only to know what the
specs say; that is what ``verify`` is for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from gati_gitops.compiler.job import kept
from gati_gitops.compiler.stored import Where, around, unit_changes
from gati_gitops.decide.drift.model import FileDrift, What
from gati_gitops.emit.release import release_path, unspoilt
from gati_gitops.errors import Refused
from gati_gitops.ledger.model import Ledger
from gati_gitops.ledger.outcome import Outcome, decision_of
from gati_gitops.ledger.stored import Stored, recovered
from gati_gitops.output import Output
from gati_gitops.plan.model import UnitPlan
from gati_gitops.tree import Changes, is_ours

_KEY = re.compile(r"[0-9a-f]{12}")
"""What a compile or a decision writes; a ledger that was taken back by hand has another."""
_DELETED = "its ledger was deleted; the unit counts as held"
FOREIGN = "nobody of us made it"
_SPOILT = "a release folder is not what its name says"


def unit_files(output: Output, where: Where) -> tuple[FileDrift, ...]:
    """The files of one unit that are not as they should be."""
    folder = folder_of(where)
    try:
        changes = as_decided(output, where)
    except Refused as error:
        place = error.place.file if error.place is not None else folder
        return (FileDrift(place, What.CHANGED, error.message),)
    found = {path: _drift(output, path, content) for path, content in changes.items()}
    # what is not ours is never written over, so it is not among the changes
    for path in output.paths(folder):
        if path not in found and _is_foreign(output, where, path):
            found[path] = FileDrift(path, What.EXTRA, FOREIGN)
    return tuple(found[path] for path in sorted(found))


def as_decided(output: Output, where: Where) -> Changes:
    """What would make the files of a unit what its plan and its ledger give."""
    stored = output.unit(*where)
    if stored is None:
        return {}
    return unit_changes(output, where, Outcome(stored.plan, stored.ledger or recovered(stored)))


def suspect(output: Output, where: Where) -> Ledger | None:
    """The ledger of a unit that was not decided on the plan beside it; None if it was.

    A ledger's key is made of both. People may write in ledgers, so a key that does not fit proves
    nothing yet: who wrote the plan last does.
    """
    try:
        stored = output.unit(*where)
    except Refused:
        return None
    if stored is None or stored.ledger is None or not _KEY.fullmatch(stored.ledger.key):
        return None
    plan = output.read(f"{folder_of(where)}/unit.yaml") or b""
    fits = decision_of(plan, stored.ledger) == stored.ledger.key
    return None if fits else stored.ledger


def around_files(output: Output, env: str, cluster: str) -> tuple[FileDrift, ...]:
    """The files around the units of a cluster: kustomizations, namespaces, what syncs them.

    Raises Refused where they can't be told: something is lost, or settings can't be read.
    """
    changes = around(output, env, cluster, set())
    return tuple(_drift(output, path, changes[path]) for path in sorted(changes))


def release_files(output: Output, plans: Iterable[UnitPlan]) -> Mapping[str, FileDrift]:
    """Release folders that are named and no longer what their names say."""
    folders = {release_path(plan.unit, name) for plan in plans for name in plan.releases}
    return _folders(output, folders)


def job_files(output: Output, env: str, cluster: str) -> Iterable[FileDrift]:
    """The release folder of the job of a cluster, if it is not what its name says."""
    return _folders(output, kept(output, env, cluster).releases).values()


def _folders(output: Output, folders: Iterable[str]) -> dict[str, FileDrift]:
    found = {}
    for folder in sorted(folders):
        files = output.files(folder)
        if not files:
            found[folder] = FileDrift(folder, What.MISSING, "an overlay names it")
        elif not unspoilt(folder, files):
            found[folder] = FileDrift(folder, What.CHANGED, _SPOILT)
    return found


def releases_of(stored: Stored) -> Iterator[str]:
    """The release folders of a unit."""
    for name in sorted(stored.plan.releases):
        yield release_path(stored.plan.unit, name)


def folder_of(where: Where) -> str:
    env, cluster, key = where
    return "/".join(("overlays", env, cluster, *key))


def _drift(output: Output, path: str, wanted: bytes | None) -> FileDrift:
    if wanted is None:
        return FileDrift(path, What.EXTRA, "neither plan nor ledger gives it")
    if output.read(path) is not None:
        return FileDrift(path, What.CHANGED)
    return FileDrift(path, What.MISSING, _DELETED if path.endswith("/rollout.yaml") else "")


def _is_foreign(output: Output, where: Where, path: str) -> bool:
    if path == f"{folder_of(where)}/rollout.yaml":  # people write in it: no first line of ours
        return False
    try:
        return not is_ours(output.read(path) or b"")
    except Refused:  # a link, or something else that is no plain file
        return True
