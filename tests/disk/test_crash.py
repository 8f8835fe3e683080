"""A kill at any step leaves the old tree, or a journal that gives the new one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gati_gitops.disk.paths import PRIVATE
from gati_gitops.tree import OWNED, MemorySnapshot, difference
from tests.disk.trees import trees
from tests.disk.world import (
    CHANGES,
    OLD,
    after,
    finish,
    found,
    is_committed,
    killed,
    put,
    steps,
    write,
)

NEW = after(OLD, CHANGES)

# The whole protocol, in order. What stands before the rename to `journal` may be lost without harm.
STEPS = [
    "mkdir .gati-gitops",
    "create .gati-gitops/lock",
    "truncate .gati-gitops/lock",
    "write .gati-gitops/lock",
    "write .gati-gitops/lock, half done",
    "unlink .gati-gitops/journal.new",
    "unlink .gati-gitops/.gitignore",
    "create .gati-gitops/.gitignore",
    "write .gati-gitops/.gitignore",
    "write .gati-gitops/.gitignore, half done",
    "create .gati-gitops/journal.new",
    "write .gati-gitops/journal.new",
    "write .gati-gitops/journal.new, half done",
    "sync .gati-gitops/journal.new",
    "rename .gati-gitops/journal.new to .gati-gitops/journal",
    "sync .gati-gitops",
    "sync .",
    "unlink base/shop/flat/a.yaml",
    "unlink base/shop/old/only.yaml",
    "unlink base/shop/turns",
    "unlink crds/gone.yaml",
    "rmdir crds",
    "rmdir base/shop/old",
    "rmdir base/shop/flat",
    "mkdir base",
    "mkdir base/shop",
    "mkdir base/shop/cart",
    "create base/shop/cart/changed.yaml",
    "create base/shop/cart/.gati-gitops.tmp",
    "write base/shop/cart/.gati-gitops.tmp",
    "write base/shop/cart/.gati-gitops.tmp, half done",
    "rename base/shop/cart/.gati-gitops.tmp to base/shop/cart/changed.yaml",
    "create base/shop/flat",
    "write base/shop/flat",
    "write base/shop/flat, half done",
    "mkdir base/shop/turns",
    "create base/shop/turns/now.yaml",
    "write base/shop/turns/now.yaml",
    "write base/shop/turns/now.yaml, half done",
    "mkdir overlays",
    "mkdir overlays/dev",
    "create overlays/dev/empty.yaml",
    "write overlays/dev/empty.yaml",
    "write overlays/dev/empty.yaml, half done",
    "create overlays/dev/new.yaml",
    "write overlays/dev/new.yaml",
    "write overlays/dev/new.yaml, half done",
    "sync everything",
    "unlink .gati-gitops/journal",
    "unlink .gati-gitops/journal.new",
    "unlink .gati-gitops/.gitignore",
    "unlink .gati-gitops/lock",
    "rmdir .gati-gitops",
]
COMMIT = STEPS.index("rename .gati-gitops/journal.new to .gati-gitops/journal")
DONE = STEPS.index("unlink .gati-gitops/journal")


def owned(root):
    return {path: content for path, content in found(root).items() if not path.startswith(PRIVATE)}


def again(root, new):
    """What a clean run does after a killed one: recover, read, apply the difference."""
    finish(root)
    write(root, difference(MemorySnapshot(found(root)), new, OWNED))


def test_these_are_all_steps(tmp_path):
    root = put(tmp_path / "out", OLD)
    assert steps(root, lambda: write(root, CHANGES)) == STEPS
    assert found(root) == NEW


@pytest.mark.parametrize("at", range(len(STEPS)), ids=STEPS)
def test_killed_before(tmp_path, at):
    root = put(tmp_path / "out", OLD)
    killed(root, lambda: write(root, CHANGES), at)
    assert is_committed(root) == (COMMIT < at <= DONE)
    if not is_committed(root):
        assert owned(root) == (OLD if at <= COMMIT else NEW)
    assert finish(root) == (COMMIT < at <= DONE)
    assert found(root) == (OLD if at <= COMMIT else NEW)
    again(root, NEW)
    assert found(root) == NEW


@pytest.mark.parametrize(
    "first",
    [
        "sync .gati-gitops",
        "rmdir crds",
        "write base/shop/cart/.gati-gitops.tmp, half done",
        "write base/shop/turns/now.yaml, half done",
        "unlink .gati-gitops/journal",
    ],
)
def test_killed_again_at_every_step_of_the_recovery(tmp_path, first):
    at = STEPS.index(first)

    def broken(name):
        root = put(tmp_path / name / "out", OLD)
        killed(root, lambda: write(root, CHANGES), at)
        return root

    root = broken("all")
    recovery = steps(root, lambda: finish(root))
    assert found(root) == NEW
    done = recovery.index("unlink .gati-gitops/journal")
    for number in range(len(recovery)):
        root = broken(str(number))
        killed(root, lambda root=root: finish(root), number)
        assert is_committed(root) == (number <= done), recovery[number]
        assert finish(root) == (number <= done), recovery[number]
        assert found(root) == NEW, recovery[number]


@given(old=trees(), new=trees(), data=st.data())
def test_any_change_killed_anywhere(tmp_path_factory, old, new, data):
    changes = difference(MemorySnapshot(old), new, OWNED)
    folder = tmp_path_factory.mktemp("any")
    root = put(folder / "whole" / "out", old)
    root.mkdir(parents=True, exist_ok=True)
    names = steps(root, lambda: write(root, changes))
    at = data.draw(st.integers(0, len(names) - 1), label="step")
    root = put(folder / "killed" / "out", old)
    root.mkdir(parents=True, exist_ok=True)
    killed(root, lambda: write(root, changes), at)
    if not is_committed(root):
        assert owned(root) in (old, new)
    elif data.draw(st.booleans(), label="killed again"):
        # Locking and reading the journal are 4 steps, clearing up at least 5.
        killed(root, lambda: finish(root), data.draw(st.integers(0, 9), label="step of recovery"))
    finish(root)
    assert found(root) in (old, new)
    again(root, new)
    assert found(root) == new


def test_a_reader_never_meets_a_torn_file_that_was_there_before(tmp_path):
    """Files that exist are replaced by rename, so each is the old or the new one at every step."""
    path = "base/shop/cart/changed.yaml"
    for at in range(len(STEPS)):
        root = put(tmp_path / str(at) / "out", OLD)
        killed(root, lambda root=root: write(root, CHANGES), at)
        assert found(root)[path] in (OLD[path], NEW[path]), STEPS[at]


def test_a_temporary_file_goes_even_if_its_target_was_deleted_meanwhile(tmp_path):
    root = put(tmp_path / "out", OLD)
    at = STEPS.index("write base/shop/cart/.gati-gitops.tmp, half done")
    killed(root, lambda: write(root, CHANGES), at)
    (root / "base/shop/cart/changed.yaml").unlink()
    finish(root)
    assert found(root) == NEW


def test_git_does_not_see_a_journal_that_was_left(tmp_path):
    root = put(tmp_path / "out", OLD)
    killed(root, lambda: write(root, CHANGES), COMMIT + 1)
    assert (root / PRIVATE / ".gitignore").read_text() == "*\n"
