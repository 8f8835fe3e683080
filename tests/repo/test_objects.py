"""Objects: read, kept, written; and what is said when that fails."""

import os
from pathlib import Path

import pygit2
import pytest

from gati_gitops.errors import Outside, Refused
from gati_gitops.repo.objects import BLOB, COMMIT, TREE, Missing, Objects, object_folder, open_git
from tests.repo.gitkit import bare, git, home, sound


def test_what_is_new_can_be_read_before_it_is_written(tmp_path):
    objects = bare(tmp_path)
    id = objects.add(BLOB, b"new")
    assert objects.read(id, BLOB) == b"new"
    assert objects.has(id) and not Objects(objects.git).has(id)
    objects.flush()
    assert Objects(objects.git).read(id, BLOB) == b"new"
    assert id.hex() == git(tmp_path, "hash-object", "--stdin", data=b"new")


@pytest.mark.parametrize("count", [3, 300])
def test_a_durable_flush_waits_for_everything(tmp_path, monkeypatch, count):
    objects = bare(tmp_path)
    objects.add(BLOB, b"0")
    objects.flush()
    synced = set()
    fsync = os.fsync

    def watched(descriptor):
        synced.add(Path(f"/proc/self/fd/{descriptor}").readlink().relative_to(tmp_path / "objects"))
        fsync(descriptor)

    monkeypatch.setattr("os.fsync", watched)
    ids = [objects.add(BLOB, b"%d" % number).hex() for number in range(count)]
    objects.flush(durable=True)
    if count == 3:
        assert synced == {Path(id[:2], id[2:]) for id in ids}
    else:
        assert {str(path)[:13] for path in synced} == {"pack", "pack/tmp_pack", "pack/tmp_idx_"}
    sound(tmp_path)


def test_an_object_that_is_missing_is_named(tmp_path):
    objects = bare(tmp_path)
    with pytest.raises(Missing, match="1" * 40) as caught:
        objects.read(b"\x11" * 20, TREE)
    assert "shallow" in caught.value.remedy and caught.value.id == "11" * 20


def test_an_object_of_another_kind_is_refused(tmp_path):
    objects = bare(tmp_path)
    with pytest.raises(Outside, match="it is no commit"):
        objects.read(objects.add(BLOB, b"x"), COMMIT)


@pytest.mark.parametrize(
    "data", [b"nonsense", b"100644 a\0short", b"100644 a\0" + b"i" * 20 + b"rest"]
)
def test_a_damaged_tree_is_refused(tmp_path, data):
    objects = bare(tmp_path)
    with pytest.raises(Outside, match="cannot be told apart"):
        objects.tree(objects.add(TREE, data))


def test_a_damaged_file_is_told(tmp_path):
    objects = bare(tmp_path)
    id = objects.add(BLOB, b"will rot")
    objects.flush()
    path = tmp_path / "objects" / id.hex()[:2] / id.hex()[2:]
    path.chmod(0o644)
    path.write_bytes(b"rotten")
    with pytest.raises(Outside, match=id.hex()):
        Objects(pygit2.Repository(str(tmp_path))).read(id, BLOB)


@pytest.mark.parametrize("count", [3, 300])
def test_a_repository_that_cannot_be_written_is_told(tmp_path, count):
    objects = bare(tmp_path)
    for number in range(count):
        objects.add(BLOB, b"%d" % number)
    for folder in (tmp_path / "objects").iterdir():
        folder.rmdir()
    (tmp_path / "objects").rmdir()
    (tmp_path / "objects").write_text("a file in the way, for root may write anywhere")
    with pytest.raises(Outside, match="cannot write objects") as caught:
        objects.flush()
    assert "no branch was moved" in caught.value.remedy


def test_a_linked_work_tree_shares_the_objects_of_the_first(tmp_path):
    first = tmp_path / "first"
    git(tmp_path, "init", "-q", "-b", "main", str(first))
    git(first, "commit", "-q", "--allow-empty", "-m", "x")
    git(first, "worktree", "add", "-q", str(tmp_path / "second"))
    second = open_git(str(tmp_path / "second"))
    assert object_folder(second).resolve() == first / ".git/objects"
    objects = Objects(second)
    ids = [objects.add(BLOB, b"%d" % number) for number in range(100)]
    objects.flush()
    assert Objects(open_git(str(first))).has(ids[0])
    assert home(objects) != first


def test_sha256_repositories_are_refused_by_name(tmp_path):
    git(tmp_path, "init", "-q", "--object-format=sha256", str(tmp_path / "new"))
    with pytest.raises(Outside, match="SHA-256"):
        open_git(str(tmp_path / "new"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_repository_of_another_user_is_refused_with_the_way_out(tmp_path):
    bare(tmp_path / "theirs")
    for path in (tmp_path / "theirs", *(tmp_path / "theirs").rglob("*")):
        os.chown(path, 1234, 1234)
    with pytest.raises(Refused, match="belongs to another user") as caught:
        open_git(str(tmp_path / "theirs"))
    assert f"safe.directory {tmp_path / 'theirs'}" in caught.value.remedy


def test_a_folder_that_is_no_repository(tmp_path):
    with pytest.raises(Outside, match="cannot be opened"):
        open_git(str(tmp_path))
