"""A folder as a snapshot."""

import errno
import os

import pytest
from hypothesis import given

from gati_gitops.disk.snapshot import DiskSnapshot
from gati_gitops.errors import Outside, Refused
from gati_gitops.tree import OWNED, MemorySnapshot
from tests.disk.test_writer import fifo, link, listener
from tests.disk.trees import paths, trees
from tests.disk.world import OLD, put


@given(tree=trees(), path=paths)
def test_disk_and_memory_say_the_same(tmp_path_factory, tree, path):
    disk = DiskSnapshot(put(tmp_path_factory.mktemp("out"), tree))
    memory = MemorySnapshot(tree)
    for folder in ("", *OWNED, "base/a", "base/b"):
        if folder not in tree:
            assert disk.paths(folder) == list(memory.paths(folder))
    for one in (path, *tree):
        assert disk.read(one) == memory.read(one)


def test_it_shows_the_disk_as_it_is_now(tmp_path):
    snapshot = DiskSnapshot(put(tmp_path, {"base/a": b"old"}))
    assert snapshot.read("base/a") == b"old"
    (tmp_path / "base/a").write_bytes(b"new and longer")
    put(tmp_path, {"base/b": b""})
    assert snapshot.read("base/a") == b"new and longer"
    assert snapshot.paths("base") == ["base/a", "base/b"]


def test_large_and_empty_files(tmp_path):
    put(tmp_path, {"base/large": b"0123456789" * 200_000, "base/empty": b""})
    snapshot = DiskSnapshot(tmp_path)
    assert snapshot.read("base/large") == b"0123456789" * 200_000
    assert snapshot.read("base/empty") == b""


def test_a_root_that_is_missing_is_empty(tmp_path):
    snapshot = DiskSnapshot(tmp_path / "nowhere")
    assert snapshot.paths("base") == snapshot.paths("") == []
    assert snapshot.read("base/a") is None


def test_the_root_itself_may_be_a_link(tmp_path):
    put(tmp_path / "real", OLD)
    link(tmp_path / "alias", tmp_path / "real")
    assert DiskSnapshot(tmp_path / "alias").paths("crds") == ["crds/gone.yaml"]


def test_a_run_under_way_does_not_show(tmp_path):
    put(tmp_path, {".gati-gitops/lock": b"", "base/.gati-gitops/mine": b""})
    assert DiskSnapshot(tmp_path).paths("") == ["base/.gati-gitops/mine"]


@pytest.mark.parametrize("make", [fifo, listener, lambda path: link(path, "/etc")])
def test_links_and_special_files_are_listed_but_not_read(tmp_path, make):
    put(tmp_path, {"base/a": b""})
    make(tmp_path / "base/odd")
    snapshot = DiskSnapshot(tmp_path)
    assert snapshot.paths("base") == ["base/a", "base/odd"]
    with pytest.raises(Refused) as refusal:
        snapshot.read("base/odd")
    assert f"remove {tmp_path}/base/odd" in refusal.value.remedy


def test_an_owned_folder_that_is_a_link_is_listed_but_not_read(tmp_path):
    put(tmp_path / "elsewhere", {"a": b"theirs", "deep/b": b"theirs"})
    link(tmp_path / "out/base", tmp_path / "elsewhere")
    link(tmp_path / "out/crds/in", tmp_path / "elsewhere")
    snapshot = DiskSnapshot(tmp_path / "out")
    assert snapshot.paths("base") == ["base"]
    assert snapshot.paths("crds") == ["crds/in"]
    for path in ("base", "base/a", "base/deep/b", "crds/in/a", "crds/in/deep/b"):
        with pytest.raises(Refused, match=r"is a link"):
            snapshot.read(path)
    with pytest.raises(Refused, match=r"is a link"):
        snapshot.paths("crds/in/deep")


def test_names_that_are_not_utf_8_are_listed_and_can_be_told(tmp_path):
    (tmp_path / "base").mkdir()
    link(tmp_path / "base" / os.fsdecode(b"\xff"), "/etc")
    [path] = DiskSnapshot(tmp_path).paths("base")
    with pytest.raises(Refused) as refusal:
        DiskSnapshot(tmp_path).read(path)
    refusal.value.message.encode()


@pytest.mark.parametrize("code", [errno.EACCES, errno.EIO])
def test_what_the_disk_refuses_is_told(tmp_path, monkeypatch, code):
    put(tmp_path, {"base/a": b""})

    def fail(*_, **__):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "open", fail)
    with pytest.raises(Outside) as failure:
        DiskSnapshot(tmp_path).read("base/a")
    assert failure.value.message == f"cannot read {tmp_path}/base/a: {os.strerror(code)}"
    assert failure.value.exit_code == 4 and failure.value.remedy
    monkeypatch.setattr(os, "scandir", fail)
    with pytest.raises(Outside, match=f"cannot list {tmp_path}/base"):
        DiskSnapshot(tmp_path).paths("base")
