"""What apply makes of a folder, and what it refuses before it touches anything."""

import os
import socket

import pytest
from hypothesis import given

from gati_gitops.disk.paths import PRIVATE
from gati_gitops.disk.snapshot import DiskSnapshot
from gati_gitops.errors import Refused
from gati_gitops.tree import OWNED, MemorySnapshot, above, check_paths, difference
from tests.disk.trees import NOT_OURS, changes, is_tree, trees
from tests.disk.world import CHANGES, OLD, after, finish, found, killed, put, write


@given(old=trees(), new=trees())
def test_a_difference_gives_exactly_the_new_tree(tmp_path_factory, old, new):
    root = put(tmp_path_factory.mktemp("out"), old)
    write(root, difference(DiskSnapshot(root), new, OWNED))
    assert found(root) == new


@given(old=trees(), wanted=changes())
def test_any_changes_are_made_exactly_or_refused_untouched(tmp_path_factory, old, wanted):
    root = put(tmp_path_factory.mktemp("out"), old)
    new = after(old, wanted)
    removes_folder = any(wanted[path] is None for path in above(old) & wanted.keys())
    if is_tree(new) and not removes_folder:
        write(root, wanted)
        assert found(root) == new
    else:
        with pytest.raises(Refused) as refusal:
            write(root, wanted)
        assert refusal.value.remedy
        assert found(root) == old


def test_nothing_else_is_touched(tmp_path):
    mine = {"README.md": b"mine", "specs/base/a.yaml": b"mine", ".git/config": b"mine"}
    put(tmp_path, {**OLD, **mine})
    (tmp_path / "overlays" / "empty").mkdir(parents=True)
    write(tmp_path, CHANGES)
    assert found(tmp_path) == {**after(OLD, CHANGES), **mine, "overlays/empty/": b""}


def test_no_changes_leave_no_trace(tmp_path):
    root = tmp_path / "deep" / "out"
    write(root, {})
    assert not root.parent.exists()


def test_files_are_plain_and_readable(tmp_path):
    old = os.umask(0o022)
    try:
        put(tmp_path, {"base/run": b"old"})
        (tmp_path / "base/run").chmod(0o755)
        write(tmp_path, {"base/run": b"new", "base/new": b"new"})
    finally:
        os.umask(old)
    assert {(tmp_path / "base" / name).stat().st_mode & 0o777 for name in ("run", "new")} == {0o644}


def test_a_disk_that_takes_three_bytes_at_a_time(tmp_path, monkeypatch):
    put(tmp_path, OLD)
    real = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda file, content: real(file, content[:3]))
        write(tmp_path, CHANGES)
    assert found(tmp_path) == after(OLD, CHANGES)


@pytest.mark.parametrize("old", [{}, OLD], ids=["empty", "full"])
def test_a_path_that_is_both_file_and_folder_is_refused(tmp_path, old):
    put(tmp_path, old)
    with pytest.raises(Refused, match="base/a/b would be both a file and a folder"):
        write(tmp_path, {"base/a/b/c/d": b"", "base/a/b": b"", "base/a/b-c": b""})
    assert found(tmp_path) == old


def test_a_hard_linked_copy_keeps_its_content(tmp_path):
    put(tmp_path, {"base/a": b"old"})
    os.link(tmp_path / "base/a", tmp_path / "backup")
    write(tmp_path, {"base/a": b"new"})
    assert (tmp_path / "backup").read_bytes() == b"old"


@pytest.mark.parametrize("path", NOT_OURS)
@pytest.mark.parametrize("content", [b"x", None], ids=["write", "remove"])
def test_a_path_that_is_not_ours_is_refused_before_anything_is_written(tmp_path, path, content):
    put(tmp_path / "out", OLD)
    with pytest.raises(Refused) as refusal:
        write(tmp_path / "out", {"base/fine": b"fine", path: content})
    assert "'.git'" in refusal.value.remedy
    refusal.value.message.encode()
    assert found(tmp_path) == {f"out/{path}": content for path, content in OLD.items()}


def test_paths_that_are_ours():
    check_paths(
        ["base/.gitignore", "base/a..b/...", "crds/ü ä.yaml", "base/" + "n" * 255, "overlays/git"]
    )


def link(path, target):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def fifo(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)


def listener(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as server:
        here = os.open(path.parent, os.O_RDONLY)  # A socket's path has 108 bytes.
        server.bind(f"/proc/self/fd/{here}/{path.name}")
        os.close(here)


# What somebody puts where, given our folder and one outside; and what we call it.
OBSTACLES = {
    "a link where a folder must be": ("a link", lambda ours, theirs: link(ours / "shop", theirs)),
    "a link for an owned folder": ("a link", link),
    "a link where a file must be": (
        "a link",
        lambda ours, theirs: link(ours / "shop/a.yaml", theirs / "target"),
    ),
    "a link to nowhere": ("a link", lambda ours, _: link(ours / "shop/a.yaml", "nowhere")),
    "a fifo": ("a special file", lambda ours, _: fifo(ours / "shop/a.yaml")),
    "a socket": ("a special file", lambda ours, _: listener(ours / "shop/a.yaml")),
    "a file where a folder must be": ("a file", lambda ours, _: put(ours, {"shop": b""})),
    "a folder where a file must be": (
        "a folder",
        lambda ours, _: put(ours, {"shop/a.yaml/b": b""}),
    ),
    "an empty folder there": (
        "a folder",
        lambda ours, _: (ours / "shop/a.yaml").mkdir(parents=True),
    ),
}


@pytest.mark.parametrize("name", OBSTACLES)
def test_an_obstacle_is_refused_by_name_before_anything_is_written(tmp_path, name):
    root, outside = tmp_path / "out", put(tmp_path / "outside", {"target": b"theirs"})
    kind, place = OBSTACLES[name]
    put(root, {"crds/a.yaml": b"old"})
    place(root / "base", outside)
    before = found(tmp_path)
    with pytest.raises(Refused, match=f"{kind} where we need") as refusal:
        write(root, {"crds/a.yaml": b"new", "base/shop/a.yaml": b"new"})
    assert str(root / "base") in refusal.value.remedy
    assert found(tmp_path) == before


@pytest.mark.parametrize("name", ["a link where a folder must be", "a link for an owned folder"])
def test_a_link_that_comes_after_the_look_leads_nowhere(tmp_path, monkeypatch, name):
    root, outside = tmp_path / "out", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    monkeypatch.setattr(
        "gati_gitops.disk.writer.look", lambda *_: OBSTACLES[name][1](root / "base", outside)
    )
    with pytest.raises(Refused, match="Not a directory") as refusal:
        write(root, {"base/shop/a.yaml": b"new"})
    assert "the next run finishes it" in refusal.value.remedy
    assert found(outside) == {}
    (root / "base").unlink() if (root / "base").is_symlink() else (root / "base/shop").unlink()
    assert finish(root)
    assert found(root) == {"base/shop/a.yaml": b"new"}


def test_a_link_that_takes_a_files_place_is_replaced_not_followed(tmp_path, monkeypatch):
    root, outside = tmp_path / "out", put(tmp_path / "outside", {"target": b"theirs"})
    monkeypatch.setattr(
        "gati_gitops.disk.writer.look",
        lambda *_: link(root / "base/a", outside / "target"),
    )
    write(root, {"base/a": b"ours"})
    assert found(tmp_path) == {"out/base/a": b"ours", "outside/target": b"theirs"}
    assert not (root / "base/a").is_symlink()


def test_a_temporary_file_that_somebody_planted_is_not_written_through(tmp_path):
    root, outside = tmp_path / "out", put(tmp_path / "outside", {"target": b"theirs"})
    put(root, {"base/a": b"old"})
    link(root / "base/.gati-gitops.tmp", outside / "target")
    write(root, {"base/a": b"new"})
    assert found(tmp_path) == {"out/base/a": b"new", "outside/target": b"theirs"}


def test_links_and_special_files_can_be_removed_and_replaced_by_folders(tmp_path):
    root, outside = tmp_path / "out", put(tmp_path / "outside", {"target": b"theirs"})
    link(root / "base/shop", outside)
    fifo(root / "base/pipe")
    write(root, {"base/shop": None, "base/pipe": None, "base/shop/target": b"ours"})
    assert found(tmp_path) == {"out/base/shop/target": b"ours", "outside/target": b"theirs"}


@pytest.mark.parametrize("kind", ["link", "file"])
def test_our_private_folder_must_be_a_folder(tmp_path, kind):
    root, outside = tmp_path / "out", put(tmp_path / "outside", {"target": b"theirs"})
    put(root, OLD)
    link(root / PRIVATE, outside) if kind == "link" else put(root, {PRIVATE: b""})
    with pytest.raises(Refused) as refusal:
        write(root, CHANGES)
    assert PRIVATE in refusal.value.message
    assert found(outside) == {"target": b"theirs"}
    (root / PRIVATE).unlink()
    assert found(root) == OLD


def test_apply_finishes_a_killed_run_first(tmp_path):
    root = put(tmp_path / "out", OLD)
    killed(root, lambda: write(root, CHANGES), 20)
    write(root, {"crds/more.yaml": b"more"})
    assert found(root) == {**after(OLD, CHANGES), "crds/more.yaml": b"more"}


def test_a_difference_from_memory_and_from_disk_is_the_same(tmp_path):
    put(tmp_path, OLD)
    new = after(OLD, CHANGES)
    assert difference(DiskSnapshot(tmp_path), new, OWNED) == difference(
        MemorySnapshot(OLD), new, OWNED
    )
