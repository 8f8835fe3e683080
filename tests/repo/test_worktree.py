"""A work tree's files follow its branch, and nothing of a person's is lost."""

import pytest

from gati_gitops.errors import Outside, Refused
from gati_gitops.repo.address import parse
from gati_gitops.repo.commit import Draft
from gati_gitops.repo.repository import open_repository
from gati_gitops.repo.writer import write
from tests.repo.gitkit import git, sound
from tests.servers.places import US, hasty


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "work"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    for name, text in {
        "README.md": "people\n",
        "base/a.yaml": "a\n",
        "base/old/b.yaml": "b\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "By a person")
    return root


CHANGES = {
    "base/a.yaml": b"changed\n",
    "base/old/b.yaml": None,
    "base/old": b"a file now\n",
    "base/new/c.yaml": b"c\n",
}


def publish(root, changes=None, **options):
    drafts = [Draft(changes or CHANGES, "Publish\n")]
    with open_repository(parse(str(root)), **options) as repository:
        return write(repository, lambda _: drafts, author=US, retry=hasty(3))


def status(root):
    return git(root, "status", "--porcelain", "--untracked-files=all")


def test_files_and_index_follow(tree):
    written = publish(tree)
    assert git(tree, "rev-parse", "HEAD") == written.tip
    assert status(tree) == ""
    assert (tree / "base/old").read_text() == "a file now\n"
    assert (tree / "base/new/c.yaml").read_text() == "c\n"
    assert git(tree, "symbolic-ref", "HEAD") == "refs/heads/main"
    assert "gati-gitops" in git(tree, "reflog", "-1")
    publish(tree, {"base/old": None, "base/old/again.yaml": b"x"})
    assert status(tree) == ""
    sound(tree)


def test_first_publish_into_a_new_work_tree(tmp_path):
    git(tmp_path, "init", "-q", "-b", "trunk", "new")
    publish(tmp_path / "new", {"base/a.yaml": b"a"})
    assert status(tmp_path / "new") == ""
    assert git(tmp_path / "new", "log", "--format=%s", "trunk") == "Publish"


def test_other_files_may_be_in_any_state(tree):
    (tree / "README.md").write_text("in the middle of a sentence")
    (tree / "notes.txt").write_text("mine")
    (tree / "staged.txt").write_text("mine")
    git(tree, "add", "staged.txt")
    publish(tree)
    assert [line.split() for line in status(tree).splitlines()] == [
        ["M", "README.md"],
        ["A", "staged.txt"],
        ["??", "notes.txt"],
    ]


def edited(tree):
    (tree / "base/a.yaml").write_text("by hand\n")


def staged(tree):
    edited(tree)
    git(tree, "add", "base/a.yaml")
    (tree / "base/a.yaml").write_text("a\n")


def deleted(tree):
    (tree / "base/a.yaml").unlink()


def untracked(tree):
    (tree / "base/new").mkdir()
    (tree / "base/new/c.yaml").write_text("mine\n")


def linked(tree):
    (tree / "base/new").symlink_to(tree.parent)


def link_in_place(tree):
    (tree / "base/a.yaml").unlink()
    (tree / "base/a.yaml").symlink_to(tree / "README.md")


@pytest.mark.parametrize("disturb", [edited, staged, deleted, untracked, linked, link_in_place])
def test_a_file_that_is_in_the_way_is_a_refusal_and_nothing_moves(tree, disturb):
    disturb(tree)
    before, tip = status(tree), git(tree, "rev-parse", "HEAD")
    with pytest.raises(Refused, match=r"differs from what was committed|symbolic link") as refused:
        publish(tree)
    assert refused.value.remedy
    assert (status(tree), git(tree, "rev-parse", "HEAD")) == (before, tip)
    assert (tree / "README.md").read_text() == "people\n"
    assert not list((tree / ".git").glob("gati-gitops*"))


def test_what_a_person_commits_meanwhile_stays(tree):
    seen = []

    def propose(tip):
        if not seen:
            (tree / "base/a.yaml").write_text("a person was faster\n")
            git(tree, "commit", "-qam", "Faster")
        seen.append(tip)
        return [Draft({"base/new.yaml": b"x"}, "Publish\n")]

    with open_repository(parse(str(tree))) as repository:
        write(repository, propose, author=US, retry=hasty())
    assert git(tree, "log", "--format=%s").splitlines() == ["Publish", "Faster", "By a person"]
    assert status(tree) == ""
    assert (tree / "base/a.yaml").read_text() == "a person was faster\n"


def test_another_branch_moves_without_touching_a_file(tree):
    git(tree, "branch", "deploy")
    edited(tree)
    publish(tree, branch="deploy")
    assert status(tree).strip() == "M base/a.yaml"
    assert git(tree, "log", "--format=%s", "deploy", "-1") == "Publish"


def test_a_detached_head_is_nobodys_branch(tree):
    git(tree, "checkout", "-q", "--detach")
    publish(tree, branch="main")
    assert status(tree) == ""
    assert git(tree, "log", "--format=%s", "-1") == "By a person"


def test_a_branch_that_another_work_tree_shows(tree, tmp_path):
    git(tree, "worktree", "add", "-q", "-b", "deploy", str(tmp_path / "linked"))
    with pytest.raises(Refused, match="checked out in another work tree"):
        publish(tree, branch="deploy")
    publish(tmp_path / "linked")
    assert status(tmp_path / "linked") == status(tree) == ""
    assert git(tree, "log", "--format=%s", "deploy", "-1") == "Publish"


def test_files_that_cannot_be_written_are_told_and_follow_later(tree):
    (tree / ".git/index.lock").touch()
    with pytest.raises(Outside, match="did not follow"):
        publish(tree)
    assert git(tree, "log", "--format=%s", "-1") == "Publish"
    (tree / ".git/index.lock").unlink()
    with open_repository(parse(str(tree))):
        assert status(tree) == ""


def test_a_folder_that_is_no_repository(tmp_path):
    with pytest.raises(Outside, match="is no Git repository") as refused:
        open_repository(parse(str(tmp_path)))
    assert "git init" in refused.value.remedy
    with pytest.raises(Outside, match="is not there"):
        open_repository(parse(str(tmp_path / "nowhere")))


def test_a_folder_inside_of_a_repository_is_not_taken_for_it(tree):
    with pytest.raises(Outside, match="is no Git repository") as refused:
        open_repository(parse(str(tree / "base")))
    assert refused.value.remedy == f"it is a folder of the repository {tree}: give that"
