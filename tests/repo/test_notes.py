"""Notes that git shows, whoever wrote the ones before and however they are spread."""

import hashlib

import pytest

from gati_gitops.repo.notes import FULL, HYDRATOR, add_notes, read_note
from gati_gitops.repo.objects import BLOB, FILE, FOLDER, Objects
from tests.repo.gitkit import NOW, US, bare, git, sound


@pytest.fixture
def objects(tmp_path):
    return bare(tmp_path)


def target(number):
    return hashlib.sha1(b"%d" % number).hexdigest()


def add(objects, tip, notes, where=None):
    made = add_notes(objects, tip, notes, committer=US, time=NOW)
    objects.flush()
    if where is not None:
        git(where, "update-ref", HYDRATOR, made)
    return made


def shown(where, commit):
    return git(where, "notes", f"--ref={HYDRATOR}", "show", commit)


def test_git_shows_what_we_note(objects, tmp_path):
    first = add(objects, "", {target(1): b"one\n"}, tmp_path)
    second = add(objects, first, {target(2): b"two\n", target(1): b"one more\n"}, tmp_path)
    assert (shown(tmp_path, target(1)), shown(tmp_path, target(2))) == ("one more", "two")
    assert git(tmp_path, "log", "--format=%H", HYDRATOR).split() == [second, first]
    assert read_note(objects, second, target(1)) == b"one more\n"
    assert read_note(objects, second, target(3)) is read_note(objects, "", target(1)) is None
    sound(tmp_path)


def test_the_same_note_again_changes_nothing(objects):
    first = add(objects, "", {target(1): b"one"})
    assert add(objects, first, {target(1): b"one"}) == first
    assert add(objects, first, {}) == first
    assert add(objects, "", {}) == ""


def test_who_loses_the_race_adds_to_the_new_tip(objects, tmp_path):
    base = add(objects, "", {target(0): b"0"})
    theirs = add(objects, base, {target(1): b"theirs"})
    ours = add(objects, theirs, {target(2): b"ours"}, tmp_path)
    listed = git(tmp_path, "notes", f"--ref={HYDRATOR}", "list").split()[1::2]
    assert sorted(listed) == sorted(map(target, range(3)))
    assert git(tmp_path, "merge-base", theirs, ours) == theirs


def test_notes_that_git_wrote_are_found_and_replaced(objects, tmp_path):
    tree = git(tmp_path, "mktree", data=b"")
    commits = [git(tmp_path, "commit-tree", tree, "-m", f"{number}") for number in range(3)]
    for commit in commits[:2]:
        git(tmp_path, "notes", f"--ref={HYDRATOR}", "add", "-m", "by git", commit)
    tip = git(tmp_path, "rev-parse", HYDRATOR)
    fresh = Objects(objects.git)
    assert read_note(fresh, tip, commits[0]) == b"by git\n"
    add(fresh, tip, {commits[0]: b"by us", commits[2]: b"new"}, tmp_path)
    assert [shown(tmp_path, commit) for commit in commits] == ["by us", "by git", "new"]
    git(tmp_path, "notes", f"--ref={HYDRATOR}", "append", "-m", "and git", commits[2])
    assert shown(tmp_path, commits[2]).split() == ["new", "and", "git"]


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_notes_at_any_depth_are_replaced_where_they_are(objects, tmp_path, depth):
    name = target(1)
    entry = (FILE, objects.add(BLOB, b"old"))
    rest = name[2 * depth :].encode()
    tree = objects.add_tree([(rest, entry), (b"0" * len(rest), entry)])
    for level in reversed(range(depth)):
        tree = objects.add_tree([(name[2 * level : 2 * level + 2].encode(), (FOLDER, tree))])
    objects.flush()
    tip = git(tmp_path, "commit-tree", tree.hex(), "-m", "spread")
    made = add(objects, tip, {name: b"new"}, tmp_path)
    assert shown(tmp_path, name) == "new"
    assert read_note(objects, made, name) == b"new"
    assert len(git(tmp_path, "notes", f"--ref={HYDRATOR}", "list").splitlines()) == 2


def test_a_note_beside_the_folder_of_its_digits_is_replaced_where_it_is(objects, tmp_path):
    name = target(1)
    old = (FILE, objects.add(BLOB, b"old"))
    folder = (FOLDER, objects.add_tree([(b"0" * 38, old)]))
    tree = objects.add_tree([(name.encode(), old), (name[:2].encode(), folder)])
    objects.flush()
    tip = git(tmp_path, "commit-tree", tree.hex(), "-m", "mixed")
    made = add(objects, tip, {name: b"new"}, tmp_path)
    assert shown(tmp_path, name) == "new"  # git would show both, had it been put into the folder
    assert read_note(objects, made, name) == b"new"


def test_many_notes_are_spread_over_folders(objects, tmp_path):
    tip = ""
    for start in range(0, 2000, 400):
        tip = add(objects, tip, {target(n): b"%d" % n for n in range(start, start + 400)}, tmp_path)
    assert all(read_note(objects, tip, target(n)) == b"%d" % n for n in range(2000))
    listed = git(tmp_path, "notes", f"--ref={HYDRATOR}", "list").split()[1::2]
    assert sorted(listed) == sorted(map(target, range(2000)))
    assert shown(tmp_path, target(1999)) == "1999"
    assert len(git(tmp_path, "ls-tree", tip).splitlines()) <= FULL + 256
    sound(tmp_path)
    assert git(tmp_path, "fsck", "--unreachable", "--no-reflogs") == ""  # nothing half-made is kept
