"""The golden cases: folders of specs, and the whole tree that each compiles to.

A case is a folder with ``specs/`` and ``want/``. What stood there before is made, not kept: its
``before-<n>-specs/`` are compiled one after the other, and the ledgers in ``before-<n>-ledgers/`` take
the place of those that stand there by then, as decisions of the job or of a person would.
The CRDs are the same everywhere, so only the case ``readme`` keeps them.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from gati_gitops.compiler import Compilation, compile_specs
from gati_gitops.spec.load import load
from gati_gitops.tree import MemorySnapshot, Tree

HERE = Path(__file__).parent
CASES = sorted(path.parent.name for path in HERE.glob("*/specs"))
_CRDS = re.compile(r"(crds|overlays/[^/]+/[^/]+/_crds)/")


def read(folder: Path) -> Tree:
    """Every file below a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def before(case: str) -> Tree:
    tree: Tree = {}
    for folder in sorted((HERE / case).glob("before-*")):
        files = read(folder)
        ledgers = folder.name.endswith("-ledgers")
        tree = {**tree, **files} if ledgers else compile_files(files, tree).tree
    return tree


def compile_files(files: Tree, tree: Tree) -> Compilation:
    return compile_specs(load(files.items()), MemorySnapshot(tree))


def compile_case(case: str) -> Tree:
    """What a case compiles to today."""
    return compile_files(read(HERE / case / "specs"), before(case)).tree


def kept(case: str, tree: Tree) -> Tree:
    """The part of a tree that the golden folder keeps."""
    if case == "readme":
        return tree
    return {path: content for path, content in tree.items() if not _CRDS.match(path)}


def digest(tree: Tree) -> str:
    """One number for a whole tree."""
    found = hashlib.sha256()
    for path in sorted(tree):
        found.update(f"{path}\0{len(tree[path])}\0".encode())
        found.update(tree[path])
    return found.hexdigest()
