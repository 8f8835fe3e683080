"""A pack that we write is one that git would have written, and a kill while writing harms nobody."""

import os
import random
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pygit2
import pytest

from gati_gitops.repo.objects import BLOB, LOOSE, Objects, object_id
from gati_gitops.repo.packs import _write_index, write_pack
from tests.repo.gitkit import bare, git, home, sound


def blobs(contents):
    return {object_id(BLOB, content): (BLOB, content) for content in contents}


ODD = [
    b"",
    b"x",
    b"x" * 15,
    b"x" * 16,
    b"x" * 2047,
    b"x" * 2048,
    random.Random(1).randbytes(1 << 20),
]


def test_git_makes_the_same_index_of_it(tmp_path):
    objects = bare(tmp_path)
    made = blobs([*ODD, *(b"%d" % number for number in range(500))])
    folder = tmp_path / "objects/pack"
    name = write_pack(folder, made, durable=True)
    git(tmp_path, "index-pack", "--strict", "-o", "theirs.idx", str(folder / f"{name}.pack"))
    assert (tmp_path / "theirs.idx").read_bytes() == (folder / f"{name}.idx").read_bytes()
    git(tmp_path, "verify-pack", str(folder / f"{name}.idx"))
    assert all(objects.read(id, BLOB) == content for id, (_, content) in made.items())
    assert sorted(path.stat().st_mode & 0o777 for path in folder.iterdir()) == [0o444, 0o444]


def test_a_pack_of_one_and_of_none(tmp_path):
    objects = bare(tmp_path)
    folder = tmp_path / "objects/pack"
    assert write_pack(folder, {}, durable=False) == ""
    assert list(folder.iterdir()) == []
    write_pack(folder, blobs([b"one"]), durable=False)
    assert objects.read(object_id(BLOB, b"one"), BLOB) == b"one"


def test_offsets_beyond_what_31_bits_hold(tmp_path):
    places = [(bytes([number]) * 20, number, offset) for number, offset in enumerate(
        [12, (1 << 31) - 1, 1 << 31, 1 << 33, 1 << 40]
    )]  # fmt: skip
    _write_index(tmp_path / "idx", places[::-1], b"t" * 20, durable=False)
    shown = subprocess.run(
        ["git", "show-index"],
        input=(tmp_path / "idx").read_bytes(),
        capture_output=True,
        check=True,
    ).stdout.decode()
    assert [(int(o), i, int(c[1:-1], 16)) for o, i, c in map(str.split, shown.splitlines())] == [
        (offset, id.hex(), number) for id, number, offset in places
    ]


def test_few_objects_are_files_and_many_are_one_pack(tmp_path):
    for number, expected in ((LOOSE, (LOOSE, 0)), (LOOSE + 1, (0, 1))):
        objects = bare(tmp_path / str(number))
        for count in range(number):
            objects.add(BLOB, b"%d" % count)
        objects.flush()
        counted = dict(
            line.split(": ") for line in git(home(objects), "count-objects", "-v").splitlines()
        )
        assert (int(counted["count"]), int(counted["packs"])) == expected
        sound(home(objects))


def test_what_is_there_is_not_written_again(tmp_path):
    objects = bare(tmp_path)
    for start in (0, 100, 0):
        for number in range(start, start + 150):
            objects.add(BLOB, b"%d" % number)
        objects.flush()
    loose = object_id(BLOB, b"a file of its own")
    objects.add(BLOB, b"a file of its own")
    objects.flush()
    for content in (b"a file of its own", *(b"more %d" % number for number in range(60))):
        objects.add(BLOB, content)
    objects.flush()
    packs = sorted(Path(tmp_path, "objects/pack").glob("*.idx"))
    listed = [git(tmp_path, "show-index", data=pack.read_bytes()).split("\n") for pack in packs]
    assert sorted(map(len, listed)) == [60, 100, 150]
    assert not any(loose.hex() in line for lines in listed for line in lines)


CHILD = textwrap.dedent("""
    import os, signal, sys
    import pygit2
    from gati_gitops.repo.objects import BLOB, Objects
    from gati_gitops.repo.steps import EVENT

    def hook(event, args):
        if event == EVENT and args[0] == sys.argv[2]:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    objects = Objects(pygit2.Repository(sys.argv[1]))
    for number in range(100):
        objects.add(BLOB, b"%d" % number)
    objects.flush()
""")


@pytest.mark.parametrize("at", ["before-objects", "pack-written", "pack-named", "after-objects"])
def test_a_kill_harms_nobody(tmp_path, at):
    objects = bare(tmp_path)
    done = subprocess.run([sys.executable, "-c", CHILD, str(tmp_path), at], check=False)
    assert done.returncode == -signal.SIGKILL
    sound(tmp_path)
    id = object_id(BLOB, b"7")
    assert objects.has(id) == (at == "after-objects")
    if at == "pack-written":
        git(tmp_path, "prune", "--expire=now")  # as `git gc` does with what is old enough
        assert list((tmp_path / "objects/pack").iterdir()) == []
    for number in range(100):
        objects.add(BLOB, b"%d" % number)
    objects.flush()
    sound(tmp_path)
    assert Objects(pygit2.Repository(str(tmp_path))).read(id, BLOB) == b"7"


def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch):
    folder = tmp_path / "objects/pack"
    bare(tmp_path)

    def full(descriptor):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_pack(folder, blobs(ODD), durable=True)
    assert list(folder.iterdir()) == []
