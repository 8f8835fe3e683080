"""Trees of two versions, one published after the other, for decisions to be made on."""

from __future__ import annotations

from tests.compile.kit import canary, decide, handler, moved, tree_of

TWO = {"staging": ["stage"], "prod": ["east"]}


def files_of(settings=None, **spec):
    return {"gati.yaml": settings or canary(), "users.yaml": handler(**spec)}


def after_two(settings=None, **phase):
    """Two versions published one after the other, the ledger as given."""
    tree = tree_of(files_of(settings, version="v1"))
    files = files_of(settings, version="v2")
    tree = tree_of(files, tree)
    return files, tree_of(files, decide(tree, moved(**phase))) if phase else tree
