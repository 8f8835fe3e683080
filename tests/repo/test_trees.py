"""Trees are those that git makes of the same files, and nothing dangerous gets in."""

import subprocess
from pathlib import Path

import pygit2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gati_gitops.disk.snapshot import DiskSnapshot
from gati_gitops.errors import Refused
from gati_gitops.repo.objects import BLOB, FILE, FOLDER, LINK, SUBMODULE, Objects
from gati_gitops.repo.trees import GitSnapshot, differences, write_tree
from gati_gitops.tree import OWNED, MemorySnapshot, above, difference
from tests.disk.trees import NOT_OURS, changes, trees
from tests.disk.world import CHANGES, OLD, after, put, write
from tests.repo.gitkit import bare, files_of, git, home, sound, tree_of


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    return bare(tmp_path_factory.mktemp("git"))


@given(steps=st.lists(trees(), min_size=1, max_size=4), root=st.sampled_from(["", "deploy/eu"]))
def test_a_sequence_of_changes_gives_the_trees_of_git(objects, steps, root):
    tree, before = "", {}
    for wanted in steps:
        change = difference(MemorySnapshot(before), wanted, OWNED)
        tree = write_tree(objects, tree, change, root)
        before = wanted
    objects.flush()
    prefix = f"{root}/" if root else ""
    assert tree == tree_of(home(objects), {prefix + path: steps[-1][path] for path in steps[-1]})


@given(old=trees(), wanted=changes())
def test_git_and_disk_take_and_refuse_the_same_changes(objects, tmp_path_factory, old, wanted):
    folder = put(tmp_path_factory.mktemp("disk"), old)
    base = write_tree(objects, "", old)
    try:
        write(folder, wanted)
    except Refused:
        with pytest.raises(Refused):
            write_tree(objects, base, wanted)
        return
    made = GitSnapshot(objects, write_tree(objects, base, wanted))
    disk = DiskSnapshot(folder)
    assert made.paths("") == disk.paths("")
    assert {path: made.read(path) for path in made.paths("")} == {
        path: disk.read(path) for path in disk.paths("")
    }


@given(old=trees(), asked=st.sampled_from(["", "base", "base/a", "base/b.yaml", "crds", "nope/x"]))
def test_a_snapshot_answers_like_any_other(objects, old, asked):
    snapshot = GitSnapshot(objects, write_tree(objects, "", old, "deploy"), "deploy")
    memory = MemorySnapshot(old)
    expected = [asked] if asked in old else list(memory.paths(asked))
    assert snapshot.paths(asked) == expected
    assert snapshot.read(asked) == memory.read(asked)
    assert bool(snapshot.id(asked)) == (asked in {*old, *above(old)} or (not asked and bool(old)))
    assert GitSnapshot(objects, snapshot.id("") or write_tree(objects, "", {})).paths("") == sorted(
        old
    )


@pytest.mark.parametrize("root", ["", "deploy/eu"])
def test_a_branch_without_a_commit_is_an_empty_snapshot(objects, root):
    nothing = GitSnapshot(objects, "", root)
    assert (nothing.paths(""), nothing.read("base/a"), nothing.id("base")) == ([], None, "")


def test_ids_are_those_of_git(tmp_path):
    objects = bare(tmp_path)
    tree = write_tree(objects, "", OLD)
    objects.flush()
    snapshot = GitSnapshot(objects, tree)
    for path in ("base", "base/shop/cart", "crds/gone.yaml"):
        assert snapshot.id(path) == git(tmp_path, "rev-parse", f"{tree}:{path}")
    assert snapshot.id("base/shop/nope") == snapshot.id("crds/gone.yaml/x") == ""


def test_what_is_left_alone_stays_as_it_is(tmp_path):
    """Files of others, modes, links and submodules beside ours are none of our business."""
    work = tmp_path / "work"
    git(tmp_path, "init", "-q", "-b", "main", str(work))
    put(work, {"README.md": b"hello", "base/run.sh": b"#!/bin/sh\n", "docs/a": b"a"})
    (work / "base/run.sh").chmod(0o755)
    (work / "docs/link").symlink_to("a")
    git(work, "add", ".")
    submodule = "1" * 40
    git(work, "update-index", "--add", "--cacheinfo", f"160000,{submodule},base/module")
    git(work, "commit", "-qm", "theirs")
    objects = Objects(pygit2.Repository(str(work)))
    base = git(work, "rev-parse", "HEAD^{tree}")
    made = write_tree(objects, base, {"base/new.yaml": b"new"})
    objects.flush()
    listed = git(work, "ls-tree", "-r", made).split("\n")
    assert listed[2].startswith("100644 ") and listed[2].endswith("base/new.yaml")
    assert [line for line in listed if "new.yaml" not in line] == git(
        work, "ls-tree", "-r", base
    ).split("\n")


def test_the_last_file_of_a_folder_takes_the_folder_along(objects):
    base = write_tree(objects, "", OLD)
    made = write_tree(objects, base, CHANGES)
    objects.flush()
    assert files_of(home(objects), made) == after(OLD, CHANGES)
    assert not GitSnapshot(objects, made).id("base/shop/old")
    nothing = write_tree(objects, base, dict.fromkeys(OLD))
    assert nothing == git(home(objects), "hash-object", "-t", "tree", "/dev/null")


def test_a_folder_is_not_removed_as_a_file(objects):
    base = write_tree(objects, "", {"base/a/b": b"1"})
    for change in ({"base/a": None}, {"base/a": None, "base/a/b": None}, {"base/a": b"x"}):
        with pytest.raises(Refused, match="base/a is a folder"):
            write_tree(objects, base, change)
    made = write_tree(objects, base, {"base/a": b"x", "base/a/b": None})
    assert GitSnapshot(objects, made).paths("") == ["base/a"]


def test_a_path_cannot_be_file_and_folder(objects):
    with pytest.raises(Refused, match="base/a would be both"):
        write_tree(objects, "", {"base/a": b"x", "base/a/b": b"y"})


def test_fsck_is_content(tmp_path):
    objects = bare(tmp_path)
    tree = write_tree(objects, "", OLD)
    for step in (CHANGES, {"base/shop/ü.yaml": b"x"}, {"base/x.y/a": b"1", "base/x/a": b"2"}):
        tree = write_tree(objects, tree, step)
        objects.flush()
    git(tmp_path, "update-ref", "refs/heads/main", git(tmp_path, "commit-tree", "-m", "x", tree))
    sound(tmp_path)


@pytest.mark.parametrize("path", NOT_OURS)
@pytest.mark.parametrize("content", [b"x", None], ids=["write", "remove"])
def test_a_path_that_is_not_ours_is_refused(objects, path, content):
    with pytest.raises(Refused) as refusal:
        write_tree(objects, "", {"base/fine": b"fine", path: content})
    assert "'.git'" in refusal.value.remedy


@pytest.mark.parametrize("root", ["/", "/deploy", "a//b", "../x", ".git", "a/", "a\nb", "a/.GIT"])
def test_a_root_that_is_no_folder_is_refused(objects, root):
    with pytest.raises(Refused):
        write_tree(objects, "", {"base/a": b"x"}, root)
    with pytest.raises(Refused):
        GitSnapshot(objects, write_tree(objects, "", {}), root)


@pytest.mark.parametrize(
    "one, other",
    [
        ("base/shop/a.yaml", "base/shop/A.yaml"),
        ("base/Shop/a.yaml", "base/shop/b.yaml"),
        ("base/é.yaml", "base/e\u0301.yaml"),
        ("base/straße.yaml", "base/STRASSE.yaml"),
        ("base/É.yaml", "base/e\u0301.yaml"),
    ],
)
def test_names_that_some_file_systems_take_for_one_are_refused(objects, one, other):
    for first, second in ((one, other), (other, one)):
        base = write_tree(objects, "", {first: b"1"})
        with pytest.raises(Refused, match="are one file where"):
            write_tree(objects, base, {second: b"2"})
        with pytest.raises(Refused, match="are one file where"):
            write_tree(objects, "", {first: b"1", second: b"2"})
        renamed = write_tree(objects, base, {first: None, second: b"2"})
        assert GitSnapshot(objects, renamed).paths("") == [second]


def test_twins_that_others_made_do_not_stop_us(objects):
    inner = objects.add_tree((name, (FILE, objects.add(BLOB, name))) for name in (b"a", b"A", b"b"))
    base = objects.add_tree([(b"base", (FOLDER, inner))]).hex()
    made = write_tree(objects, base, {"base/b": b"new", "base/c": b"c"})
    assert GitSnapshot(objects, made).paths("base") == ["base/A", "base/a", "base/b", "base/c"]


@pytest.mark.parametrize("mode", [LINK, SUBMODULE])
class TestLinksAndSubmodules:
    def base(self, objects, mode):
        target = objects.add(BLOB, b"../../outside")
        inner = objects.add_tree([(b"odd", (mode, target)), (b"b", (FILE, target))])
        return objects.add_tree([(b"base", (FOLDER, inner))]).hex()

    def test_are_listed_but_not_read(self, objects, mode):
        snapshot = GitSnapshot(objects, self.base(objects, mode))
        assert snapshot.paths("base") == ["base/b", "base/odd"]
        assert snapshot.paths("base/odd") == ["base/odd"]
        for path in ("base/odd", "base/odd/inside"):
            with pytest.raises(Refused, match=r"base/odd is a (symbolic link|submodule)"):
                snapshot.read(path)

    def test_are_not_written_over_or_through(self, objects, mode):
        base = self.base(objects, mode)
        for path in ("base/odd", "base/odd/inside"):
            with pytest.raises(Refused, match=r"base/odd is a (symbolic link|submodule)"):
                write_tree(objects, base, {path: b"x"})

    def test_may_be_removed(self, objects, mode):
        base = self.base(objects, mode)
        made = write_tree(objects, base, {"base/odd": None, "base/odd/inside": b"x"})
        assert GitSnapshot(objects, made).paths("") == ["base/b", "base/odd/inside"]
        untouched = write_tree(objects, base, {"base/odd/inside": None})
        assert untouched == base

    def test_are_no_root(self, objects, mode):
        base = objects.add_tree([(b"deploy", (mode, objects.add(BLOB, b"x")))]).hex()
        assert GitSnapshot(objects, base, "deploy").paths("") == []
        with pytest.raises(Refused, match="deploy is a"):
            write_tree(objects, base, {"base/a": b"x"}, "deploy")


class Counted(Objects):
    """Objects that count what is read and added."""

    def __init__(self, git):
        super().__init__(git)
        self.reads = self.adds = 0

    def read(self, id, kind):
        self.reads += 1
        return super().read(id, kind)

    def add(self, kind, data, *, there=b""):
        self.adds += 1
        return super().add(kind, data, there=there)


def test_one_file_of_a_hundred_thousand_costs_its_own_folders_only(tmp_path):
    bare(tmp_path)
    objects = Counted(pygit2.Repository(str(tmp_path)))
    files = {f"base/team-{n % 50}/unit-{n // 50}/file.yaml": b"same" for n in range(100_000)}
    base = write_tree(objects, "", files)
    objects.reads = objects.adds = 0
    made = write_tree(objects, base, {"base/team-7/unit-9/file.yaml": b"new"})
    assert (objects.reads, objects.adds) == (4, 5)  # the trees above it; they, and the blob
    objects.reads = 0
    assert GitSnapshot(objects, made).read("base/team-7/unit-9/file.yaml") == b"new"
    assert objects.reads == 5
    objects.reads = 0
    found = list(differences(objects, bytes.fromhex(base), bytes.fromhex(made)))
    assert [path for path, _, _ in found] == ["base/team-7/unit-9/file.yaml"]
    assert objects.reads == 8


def test_no_change_makes_no_object(tmp_path):
    bare(tmp_path)
    objects = Objects(pygit2.Repository(str(tmp_path)))
    base = write_tree(objects, "", OLD)
    objects.flush()
    assert write_tree(objects, base, {**OLD, "crds/never.yaml": None}) == base
    assert not objects._new


@given(old=trees(), new=trees())
def test_a_difference_is_told_without_reading_what_is_alike(objects, old, new):
    counted = Counted(objects.git)
    snapshot = GitSnapshot(counted, write_tree(counted, "", old))
    for folder in OWNED:
        snapshot.paths(folder)
    counted.reads = 0
    wanted = difference(MemorySnapshot(old), new, OWNED)
    assert difference(snapshot, new, OWNED) == wanted
    assert counted.reads == sum(path in old for path in wanted)


@given(old=trees(), new=trees())
def test_differences_are_those_of_git(objects, old, new):
    ids = [write_tree(objects, "", tree) for tree in (old, new)]
    objects.flush()
    ours = sorted(path for path, _, _ in differences(objects, *map(bytes.fromhex, ids)))
    theirs = subprocess.run(
        ["git", "diff-tree", "-r", "-z", "--name-only", "--no-renames", *ids],
        cwd=Path(home(objects)), capture_output=True, check=True,
    ).stdout.decode()  # fmt: skip
    assert sorted(set(ours)) == sorted({path for path in theirs.split("\0") if path})
