"""Notes on commits, as plain objects: a tree of blobs named after what they are about.

Git spreads many notes over folders of two digits each, and reads any mixture of depths. So a note
is replaced wherever it is, and a new one goes into a folder when its tree is full, while older ones
stay where they are.

The notes ref moves like a branch: on the exact tip that was read. Who loses the race adds again to
the new tip; a note that is there already with the same content changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from gati_gitops.repo.commit import Signature, create_commit, read_commit
from gati_gitops.repo.objects import BLOB, FILE, FOLDER, Objects

HYDRATOR = "refs/notes/hydrator.metadata"
"""Where gitops-promoter looks for what a hydrated commit was made from."""

FULL = 256
"""So many notes in one tree; further ones go to folders."""


def add_notes(
    objects: Objects,
    tip: str,
    notes: Mapping[str, bytes],
    *,
    committer: Signature,
    time: int,
    message: str = "Notes added by gati-gitops",
) -> str:
    """The notes commit that follows ``tip`` (empty: none), or ``tip`` if nothing is new."""
    before = bytes.fromhex(read_commit(objects, tip).tree) if tip else b""
    tree = _put(objects, before, [(target.encode(), text) for target, text in notes.items()])
    if tree == before or not notes:
        return tip
    parents = [tip] if tip else []
    return create_commit(
        objects, tree.hex(), parents, message, author=committer, committer=committer, time=time
    )


def read_note(objects: Objects, tip: str, target: str) -> bytes | None:
    """The note on a commit; None if it has none."""
    if not tip:
        return None
    return _find(objects, bytes.fromhex(read_commit(objects, tip).tree), target)


def _find(objects: Objects, tree: bytes, target: str) -> bytes | None:
    name = target.encode()
    while True:
        entries = objects.tree(tree)
        mode, id = entries.get(name, (b"", b""))
        if mode and mode != FOLDER:
            return objects.read(id, BLOB)
        mode, id = entries.get(name[:2], (b"", b""))
        if mode != FOLDER or len(name) <= 2:
            return None
        tree, name = id, name[2:]


def _put(objects: Objects, tree: bytes, notes: list[tuple[bytes, bytes]]) -> bytes:
    entries = objects.tree(tree) if tree else {}
    deeper: dict[bytes, list[tuple[bytes, bytes]]] = {}
    for name, content in sorted(notes):
        start = name[:2]
        is_spread = start in deeper or entries.get(start, (b"",))[0] == FOLDER
        if name in entries or len(name) <= 2 or (not is_spread and len(entries) < FULL):
            there = entries.get(name, (b"", b""))[1]
            entries[name] = (FILE, objects.add(BLOB, content, there=there))
        else:
            deeper.setdefault(start, []).append((name[2:], content))
    for start, inner in deeper.items():
        mode, id = entries.get(start, (b"", b""))
        entries[start] = (FOLDER, _put(objects, id if mode == FOLDER else b"", inner))
    return objects.add_tree(entries.items(), there=tree)
