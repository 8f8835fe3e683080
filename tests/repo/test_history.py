"""What a person sets back is found by whatever road it came, and no more history is read than needed."""

import pygit2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gati_gitops.repo.commit import Signature
from gati_gitops.repo.history import Changed, Lowered, last_changed, lowered
from gati_gitops.repo.objects import Missing, Objects
from tests.repo.gitkit import NOW, OURS, bare, commit, git, home

PERSON = Signature("A Person", "person@example.test")


def unit(name="cart", env="prod"):
    return f"overlays/{env}/eu/shop/handler-{name}"


LEDGER = f"{unit()}/rollout.yaml"


def ledger(seq, name="cart", **more):
    return {
        f"{unit(name)}/rollout.yaml": b'format: 1\nseq: "%d 0123abcd"\nphase: x\n' % seq,
        f"{unit(name)}/unit.yaml": b"format: 1\n",
        **more,
    }


class Branch:
    """A work tree in which people use git, and a branch on which we commit."""

    def __init__(self, where):
        git(where.parent, "init", "-q", "-b", "main", str(where))
        self.where = where
        self.objects = Objects(pygit2.Repository(str(where)))
        self.tip = ""

    def ours(self, changes, message=OURS, root=""):
        self.tip = commit(self.objects, changes, [self.tip] if self.tip else [], message, root)
        git(self.where, "update-ref", "refs/heads/main", self.tip)
        git(self.where, "reset", "-q", "--hard")
        return self.tip

    def theirs(self, *arguments):
        git(self.where, *arguments)
        self.tip = git(self.where, "rev-parse", "HEAD")
        return self.tip

    def edits(self, changes, *arguments):
        for path, content in changes.items():
            if content is None:
                (self.where / path).unlink()
            else:
                (self.where / path).parent.mkdir(parents=True, exist_ok=True)
                (self.where / path).write_bytes(content)
        git(self.where, "add", "-A")
        return self.theirs("commit", "-qm", "By hand", *arguments)

    def lowered(self, **options):
        return lowered(Objects(self.objects.git), self.tip, **options)


@pytest.fixture
def branch(tmp_path):
    branch = Branch(tmp_path / "work")
    for seq in (1, 2, 3):
        branch.ours(ledger(seq, **ledger(1, "cake")))
    return branch


def test_nothing_was_set_back(branch):
    assert branch.lowered() == {}
    branch.edits({"README.md": b"hello"})
    branch.edits(ledger(4))
    assert branch.lowered() == {}


def test_a_revert(branch):
    by = branch.theirs("revert", "--no-edit", "HEAD")
    branch.edits({"README.md": b"and more"})
    assert branch.lowered() == {LEDGER: Lowered(3, 2, by, PERSON)}


def test_a_revert_of_several(branch):
    branch.theirs("revert", "--no-edit", "HEAD")
    by = branch.theirs("revert", "--no-edit", "HEAD~2")
    assert branch.lowered() == {LEDGER: Lowered(3, 1, by, PERSON)}


def test_a_revert_that_was_reverted_is_none(branch):
    branch.theirs("revert", "--no-edit", "HEAD")
    branch.theirs("revert", "--no-edit", "HEAD")
    assert branch.lowered() == {}


def test_the_merge_of_a_revert(branch):
    branch.theirs("checkout", "-qb", "undo")
    branch.theirs("revert", "--no-edit", "HEAD")
    branch.theirs("checkout", "-q", "main")
    by = branch.theirs("merge", "-q", "--no-ff", "undo")
    assert branch.lowered() == {LEDGER: Lowered(3, 2, by, PERSON)}


def test_the_squash_of_a_revert(branch):
    branch.theirs("checkout", "-qb", "undo")
    branch.theirs("revert", "--no-edit", "HEAD")
    branch.theirs("checkout", "-q", "main")
    git(branch.where, "merge", "-q", "--squash", "undo")
    by = branch.theirs("commit", "-qm", "Undo (#7)\n\n* Revert")
    assert branch.lowered() == {LEDGER: Lowered(3, 2, by, PERSON)}


def test_a_merge_that_takes_the_branch_for_the_trunk(branch):
    """Somebody merges main into his branch, keeps his old ledgers, and pushes that as main."""
    git(branch.where, "checkout", "-qb", "mine", "HEAD~1")
    branch.edits({"README.md": b"mine"})
    by = branch.theirs("merge", "-q", "--no-ff", "-s", "ours", "main")
    assert branch.lowered() == {LEDGER: Lowered(3, 2, by, PERSON)}


def test_a_merge_of_a_branch_that_is_merely_old_sets_nothing_back(branch):
    git(branch.where, "checkout", "-qb", "old", "HEAD~2")
    branch.edits({"README.md": b"old"})
    branch.theirs("checkout", "-q", "main")
    branch.theirs("merge", "-q", "--no-ff", "old")
    assert branch.lowered() == {}


def test_a_ledger_that_was_deleted(branch):
    by = branch.edits({LEDGER: None})
    assert branch.lowered() == {LEDGER: Lowered(3, None, by, PERSON)}


def test_a_unit_that_was_deleted_was_taken_back_altogether(branch):
    by = branch.edits({LEDGER: None, f"{unit()}/unit.yaml": None})
    assert branch.lowered() == {LEDGER: Lowered(3, None, by, PERSON)}


def test_a_ledger_that_cannot_be_read_counts_as_set_back(branch):
    by = branch.edits({LEDGER: b"<<<<<<< HEAD\n"})
    assert branch.lowered() == {LEDGER: Lowered(3, 0, by, PERSON)}


@pytest.mark.parametrize(
    "line", ["seq: 2", "seq: '2 abc'", 'seq:  "2 abc" # note', "format: 1\nseq: 2 abc"]
)
def test_a_seq_in_other_quotes(branch, line):
    by = branch.edits({LEDGER: line.encode()})
    assert branch.lowered() == {LEDGER: Lowered(3, 2, by, PERSON)}


def test_the_last_who_did_it_is_named_with_the_highest_there_was(branch):
    branch.edits(ledger(9))
    by = branch.edits(ledger(1))
    branch.edits(ledger(5))
    assert branch.lowered() == {LEDGER: Lowered(9, 5, by, PERSON)}


def test_what_we_adopted_is_settled(branch):
    branch.theirs("revert", "--no-edit", "HEAD")
    branch.ours(ledger(4))
    assert branch.lowered() == {}
    branch.edits({"README.md": b"later"})
    assert branch.lowered() == {}


def test_a_copy_of_our_commit_does_not_hide_what_is_below_it(branch):
    """Our pull request is rebased onto a revert that nobody has adopted yet."""
    git(branch.where, "branch", "proposal", branch.tip)
    by = branch.theirs("revert", "--no-edit", "HEAD")
    proposal = commit(branch.objects, ledger(2, "cake"), [git(branch.where, "rev-parse", "HEAD~1")])
    branch.theirs("cherry-pick", proposal)
    assert "Gati-Compiler" in git(branch.where, "log", "-1", "--format=%B")
    assert branch.lowered() == {LEDGER: Lowered(3, 2, by, PERSON)}


def test_below_a_root(tmp_path):
    branch = Branch(tmp_path / "work")
    for seq in (1, 2):
        branch.ours(ledger(seq), root="deploy/eu")
    by = branch.theirs("revert", "--no-edit", "HEAD")
    assert branch.lowered(root="deploy/eu") == {LEDGER: Lowered(2, 1, by, PERSON)}
    assert branch.lowered() == {}


def test_a_repository_without_units_is_walked_a_little(tmp_path, monkeypatch):
    branch = Branch(tmp_path / "work")
    for number in range(4):
        branch.edits({"README.md": b"%d" % number})
    monkeypatch.setattr("gati_gitops.repo.history.NEW", 2)
    counted = Counted(branch.objects.git)
    assert lowered(counted, branch.tip) == {}
    assert counted.reads == 3 + 1 + 4  # commits; the tip's tree, and those of two pairs


def test_everything_was_taken_back(tmp_path):
    branch = Branch(tmp_path / "work")
    branch.edits({"README.md": b"first"})
    branch.ours(ledger(1))
    by = branch.theirs("revert", "--no-edit", "HEAD")
    assert branch.lowered() == {LEDGER: Lowered(1, None, by, PERSON)}


GONE = {LEDGER: None, f"{unit()}/unit.yaml": None}


class TestUnitsThatWeTookAway:
    def proposal(self, branch, changes):
        made = commit(branch.objects, changes, [branch.tip])
        git(branch.where, "branch", "proposal", made)
        branch.edits({"README.md": b"meanwhile"})

    def test_by_a_pull_request_that_was_merged(self, branch):
        self.proposal(branch, GONE)
        branch.theirs("merge", "-q", "--no-ff", "proposal")
        assert not (branch.where / LEDGER).exists()
        assert branch.lowered() == {}

    def test_by_a_pull_request_that_was_rebased(self, branch):
        self.proposal(branch, GONE)
        branch.theirs("cherry-pick", "proposal")
        assert branch.lowered() == {}

    def test_a_merge_by_which_a_person_takes_another_one_along(self, branch):
        self.proposal(branch, GONE)
        git(branch.where, "merge", "-q", "--no-ff", "--no-commit", "proposal")
        git(branch.where, "rm", "-qrf", unit("cake"))
        by = branch.theirs("commit", "-qm", "Merge, and more")
        cake = f"{unit('cake')}/rollout.yaml"
        assert branch.lowered() == {cake: Lowered(1, None, by, PERSON)}

    def test_a_ledger_without_its_unit_is_never_our_doing(self, branch):
        self.proposal(branch, {LEDGER: None})
        by = branch.theirs("merge", "-q", "--no-ff", "proposal")
        assert branch.lowered() == {LEDGER: Lowered(3, None, by, PERSON)}


class TestShallow:
    def clone(self, branch, depth):
        where = branch.where.parent / f"clone-{depth}"
        git(
            branch.where.parent,
            "clone",
            "-q",
            f"--depth={depth}",
            branch.where.as_uri(),
            str(where),
        )
        return where, Objects(pygit2.Repository(str(where)))

    def test_our_own_tip_needs_nothing(self, branch):
        _, objects = self.clone(branch, 1)
        assert lowered(objects, branch.tip) == {}

    def test_only_the_commits_of_others_and_one_more_are_fetched(self, branch):
        by = branch.theirs("revert", "--no-edit", "HEAD")
        branch.edits({"README.md": b"1"})
        where, objects = self.clone(branch, 1)
        asked = []

        def deepen(child):
            asked.append(child)
            git(where, "fetch", "-q", "--deepen=1")
            return True

        assert lowered(objects, branch.tip, deepen=deepen) == {LEDGER: Lowered(3, 2, by, PERSON)}
        assert asked == [branch.tip, by]

    def test_history_that_cannot_be_had_is_an_error(self, branch):
        branch.theirs("revert", "--no-edit", "HEAD")
        _, objects = self.clone(branch, 1)
        with pytest.raises(Missing):
            lowered(objects, branch.tip)
        with pytest.raises(Missing):
            lowered(objects, branch.tip, deepen=lambda _: False)

    def test_what_is_older_than_the_clone_is_left_out(self, branch):
        tip = branch.ours(ledger(4))
        _, objects = self.clone(branch, 2)
        found = last_changed(objects, tip, [LEDGER, f"{unit('cake')}/rollout.yaml"])
        assert found == {LEDGER: Changed(NOW, tip)}


class Counted(Objects):
    reads = 0

    def read(self, id, kind):
        self.reads += 1
        return super().read(id, kind)


def test_only_what_differs_is_read(tmp_path):
    objects = bare(tmp_path)
    fleet = {path: text for n in range(2000) for path, text in ledger(3, f"u{n}").items()}
    first = commit(objects, fleet)
    second = commit(objects, {f"{unit('u7')}/rollout.yaml": b'seq: "2 x"\n'}, [first], "By hand")
    counted = Counted(objects.git)
    assert list(lowered(counted, second)) == [f"{unit('u7')}/rollout.yaml"]
    assert counted.reads < 40


def test_the_walk_is_bounded(branch):
    branch.theirs("revert", "--no-edit", "HEAD")
    for number in range(3):
        branch.edits({"README.md": b"%d" % number})
    assert branch.lowered(limit=3) == {}
    assert branch.lowered(limit=4)


@given(
    st.lists(
        st.tuples(
            st.dictionaries(
                st.sampled_from(["base/a", "base/b/c", "base/b/d", "crds/e"]),
                st.sampled_from([b"1", b"2", None]),
                max_size=3,
            ),
            st.booleans(),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_last_changed_is_what_git_log_says(tmp_path_factory, steps):
    objects = bare(tmp_path_factory.mktemp("git"))
    tip, other = "", ""
    for number, (changes, merges) in enumerate(steps):
        parents = [tip, other] if tip and other and merges else [tip] if tip else []
        other, tip = tip, commit(objects, changes, parents, f"{number}", time=NOW + number)
    git(home(objects), "update-ref", "refs/heads/main", tip)
    paths = ["base/a", "base/b/c", "base/b/d", "crds/e", "base/never"]
    expected = {}
    for path in paths:
        log = git(home(objects), "log", "-1", "--first-parent", "--diff-merges=first-parent", "-s",
                  "--format=%ct %H", "main", "--", path)  # fmt: skip
        if log:
            time, id = log.split(" ")
            expected[path] = Changed(int(time), id)
    assert last_changed(Objects(objects.git), tip, paths) == expected


def test_last_changed_below_a_root_and_within_a_limit(tmp_path):
    objects = bare(tmp_path)
    first = commit(objects, {"base/a": b"1", "base/b": b"1"}, root="deploy")
    second = commit(objects, {"base/a": b"2"}, [first], root="deploy")
    both = last_changed(objects, second, ["base/a", "base/b"], root="deploy")
    assert both == {"base/a": Changed(NOW, second), "base/b": Changed(NOW, first)}
    assert last_changed(objects, second, ["base/b"], root="deploy", limit=1) == {}


def test_last_changed_ends_with_the_last_path_found(tmp_path):
    objects = bare(tmp_path)
    tip = commit(objects, {"base/old": b"1"})
    for number in range(20):
        tip = commit(objects, {"base/a": b"%d" % number}, [tip])
    counted = Counted(objects.git)
    assert last_changed(counted, tip, ["base/a"]) == {"base/a": Changed(NOW, tip)}
    assert counted.reads <= 6
