"""Release folders that nobody names any more.

A folder goes in a commit of its own, later than the one that let it go: neither the tip that was
read, nor what is about to be committed, nor any open branch of ours may name it. So a pull request
can wait for days, and the way back is there as long as anything may take it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from gati_gitops.tree import Changes, Snapshot

_IN_KUSTOMIZATION = re.compile(rb"base/([a-z0-9-]+/[a-z0-9-]+/[a-z0-9-]+)")
_IN_PLAN = re.compile(rb"^  release: \"?([a-z0-9-]+)", re.MULTILINE)
_FOLDER = re.compile(r"base/([^/]+)/([^/]+)/([^/]+)/")

Unit = tuple[str, str]


def sweep(
    tip: Snapshot,
    after: Snapshot,
    branches: Callable[[], Sequence[Snapshot]],
    named: Iterable[str] = (),
) -> Changes:
    """The files of folders that can go. ``named`` are folders known to be in use."""
    files: dict[str, list[str]] = {}
    for path in tip.paths("base"):
        if found := _FOLDER.match(path):
            files.setdefault("/".join(("base", *found.groups())), []).append(path)
    loose = files.keys() - set(named)
    for snapshot in (tip, after):
        loose -= set(_names(snapshot, loose))
    if loose:
        for snapshot in branches():
            loose -= set(_names(snapshot, loose))
    return {path: None for folder in loose for path in files[folder]}


def _names(snapshot: Snapshot, folders: Iterable[str]) -> Iterator[str]:
    """What the overlays of these folders' units name; nobody else names them."""
    units = {tuple(folder.split("/")[1:3]) for folder in folders}
    for path in _overlays(snapshot, units):
        content = snapshot.read(path) or b""
        if path.endswith("/kustomization.yaml"):
            yield from (f"base/{name.decode()}" for name in _IN_KUSTOMIZATION.findall(content))
        else:
            unit = "/".join(path.split("/")[3:5])
            yield from (f"base/{unit}/{name.decode()}" for name in _IN_PLAN.findall(content))


def _overlays(snapshot: Snapshot, units: set[tuple[str, ...]]) -> Iterator[str]:
    if not units:
        return
    for path in snapshot.paths("overlays"):
        parts = path.split("/")
        naming = len(parts) == 6 and parts[5] in ("kustomization.yaml", "unit.yaml")
        if naming and (parts[3], parts[4]) in units:
            yield path
