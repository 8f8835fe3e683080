"""What we propose is on the branch once, on top of what was there, or not at all; on every road."""

import pytest

from gati_gitops.errors import Outside, Refused
from gati_gitops.repo.commit import Draft
from gati_gitops.repo.failures import Lost, Rejected
from gati_gitops.repo.retry import Retry
from gati_gitops.repo.writer import delete_branch, push_branch, write
from tests.repo.gitkit import files_of, git, sound
from tests.servers.places import US, add, hasty


@pytest.mark.parametrize("road", ["path", "http", "https", "ssh"])
def test_a_commit_on_the_tip(place):
    before = place.tip()
    written = place.write(add("one"))
    assert written.commits == (place.tip(),) == (written.tip,)
    assert written.attempts == 1
    assert place.git("rev-parse", "main^") == before
    assert files_of(place.bare, "main") == {"README.md": b"by people\n", "base/one.yaml": b"one"}
    assert place.git("log", "-1", "--format=%an %ae %cn %ce %s") == (
        "Robot robot@example.test Robot robot@example.test Add one"
    )
    sound(place.bare)


def test_no_change_no_commit(place):
    tip = place.write(add("one")).tip
    again = place.write(add("one"))
    assert again.commits == ()
    assert again.tip == place.tip() == tip


def test_several_drafts_are_a_chain_and_one_move(place):
    drafts = [Draft({f"base/{n}.yaml": b"1"}, f"Add {n}\n") for n in "abc"]
    written = place.write(lambda _: drafts)
    assert len(written.commits) == 3
    assert place.subjects() == ["By a person", "Add a", "Add b", "Add c"]
    moves = place.git("reflog", "show", "--format=%H", "main").splitlines()
    assert moves[0] == written.tip
    assert not set(written.commits[:2]) & set(moves)


def test_many_objects_go_over(place):
    files = {f"base/{n % 40}/{n}.yaml": str(n).encode() * 20 for n in range(400)}
    place.write(lambda _: [Draft(files, "Add many\n")])
    assert len(place.git("ls-tree", "-r", "--name-only", "main").splitlines()) == 401
    sound(place.bare)


def test_first_publish_into_an_empty_repository(empty):
    written = empty.write(add("one"))
    assert empty.tip() == written.tip
    assert empty.subjects() == ["Add one"]
    sound(empty.bare)


def test_two_first_publishes_at_once(empty):
    """Who comes second builds on the first: neither branch nor commit is overwritten."""
    raced = []

    def propose(tip):
        if not raced:
            raced.append(empty.write(add("other")))
        return add("one")(tip)

    written = empty.write(propose)
    assert written.attempts == 2
    assert empty.subjects() == ["Add other", "Add one"]


def test_a_lost_race_is_proposed_again_on_the_new_tip(place):
    seen = []

    def propose(tip):
        seen.append(tip.commit)
        if len(seen) <= 2:
            place.commit(f"Race {len(seen)}")
        return add("one")(tip)

    written = place.write(propose)
    assert written.attempts == len(seen) == len(set(seen)) == 3
    assert place.subjects() == ["By a person", "Race 1", "Race 2", "Add one"]
    sound(place.bare)


def test_what_another_did_meanwhile_is_not_done_again(place):
    def propose(tip):
        if not tip.snapshot().read("base/one.yaml"):
            place.write(add("one"))
        return add("one")(tip)

    written = place.write(propose)
    assert written.commits == ()
    assert place.subjects() == ["By a person", "Add one"]


def test_a_branch_that_was_set_back_is_not_brought_forward_again(place):
    """The branch is a descendant's ancestor again, so a plain push would be taken."""
    kept = place.tip()
    withdrawn = place.commit("Withdrawn by the operator")
    seen = []

    def propose(tip):
        if not seen:
            place.git("update-ref", "refs/heads/main", kept)
        seen.append(tip.commit)
        return add("one")(tip)

    written = place.write(propose)
    assert seen == [withdrawn, kept]
    assert place.subjects() == ["By a person", "Add one"]
    assert written.attempts == 2


def test_a_branch_that_was_replaced_is_built_upon(place):
    seen = []

    def propose(tip):
        if not seen:
            place.commit("History begins anew", parent="")
        seen.append(tip)
        return add("one")(tip)

    place.write(propose)
    assert place.subjects() == ["History begins anew", "Add one"]


def test_a_branch_that_was_deleted_is_not_made_again(place):
    place.commit("Elsewhere", branch="other", parent=place.tip())

    def propose(tip):
        place.git("update-ref", "-d", "refs/heads/main")
        return add("one")(tip)

    with pytest.raises(Outside, match=r"no branch main at .*; it has other") as refused:
        place.write(propose, branch="main")
    assert "--branch" in refused.value.remedy
    assert place.git("for-each-ref", "--format=%(refname)") == "refs/heads/other"


def test_a_race_that_never_ends_is_given_up(place):
    count = []

    def propose(tip):
        count.append(1)
        place.commit(f"Race {len(count)}")
        return add("one")(tip)

    with pytest.raises(Outside, match=r"gave up after 4 attempts: .*by now") as given_up:
        place.write(propose, retry=hasty(4))
    assert given_up.value.exit_code == 4
    assert given_up.value.remedy
    assert len(count) == 4
    assert "Add one" not in place.subjects()


def test_pauses_grow_with_jitter_up_to_a_cap():
    steady = Retry(random=lambda: 0.5)
    assert [round(steady.pause(n), 3) for n in (1, 2, 3, 9, 10)] == [1, 1.5, 2.25, 25.629, 30]
    assert Retry(random=lambda: 0.0).pause(1) == 0.5
    assert Retry(random=lambda: 1.0).pause(10) == 45
    assert steady.attempts == 10


def test_the_pauses_are_made_and_the_budget_kept(places):
    place = places("path")
    now, slept = [0.0], []

    def sleep(seconds):
        slept.append(seconds)
        now[0] += seconds

    def propose(tip):
        place.commit("Race")
        return add("one")(tip)

    steady = {"sleep": sleep, "random": lambda: 0.5, "clock": lambda: now[0]}
    with pytest.raises(Outside, match="gave up after 10 attempts"):
        place.write(propose, retry=Retry(**steady))
    assert [round(pause, 2) for pause in slept[:4]] == [1, 1.5, 2.25, 3.38]
    assert len(slept) == 9
    with pytest.raises(Outside, match="gave up after 3 attempts"):
        place.write(propose, retry=Retry(budget=4, **steady))


@pytest.mark.parametrize("road", ["http", "ssh"])
@pytest.mark.parametrize("hook", ["pre-receive", "update"])
def test_a_hook_that_refuses_is_quoted_and_not_asked_again(place, hook):
    place.hook(hook, 'echo "Only on weekdays, says $USER" >&2; echo x >> asked; exit 1')
    asked = []

    def propose(tip):
        asked.append(tip)
        return add("one")(tip)

    with pytest.raises(Rejected, match=r"hook declined; it says: Only on weekdays") as refused:
        place.write(propose)
    assert len(asked) == 1
    assert (place.bare / "asked").read_text() == "x\n"
    assert refused.value.exit_code == 4
    assert "rule of the server" in refused.value.remedy
    assert place.subjects() == ["By a person"]


def test_a_lock_that_was_left_there_is_waited_for_and_then_named(place):
    lock = place.bare / "refs/heads/main.lock"
    lock.touch()
    with pytest.raises(Outside, match="gave up after 3 attempts") as stuck:
        place.write(add("one"), retry=hasty(3))
    assert "lock" in stuck.value.remedy
    count = []

    def sleep(_):
        count.append(1)
        if len(count) == 2:
            lock.unlink()

    assert place.write(add("one"), retry=hasty(sleep=sleep)).attempts == 3


def test_time_does_not_run_backwards_in_history(places):
    place = places("path")
    with place.open() as repository:
        first = write(repository, add("one"), author=US, clock=lambda: 2_000_000_000).tip
        write(repository, add("two"), author=US, clock=lambda: 1_000_000_000)
    assert first == place.git("rev-parse", "main^")
    assert place.git("log", "--format=%ct", "-2").split() == ["2000000000"] * 2


# -- branches of our own -----------------------------------------------------------------------------


def test_a_branch_of_our_own_is_made_moved_and_taken_away(place):
    with place.open() as repository:
        base = repository.tip()
        first = push_branch(
            repository, "gati/pr", add("one")(base), base=base, expected_old="", author=US
        )
        assert repository.branches("gati/") == {"gati/pr": first}
        second = push_branch(
            repository, "gati/pr", add("two")(base), base=base, expected_old=first, author=US
        )
        assert place.git("rev-parse", "gati/pr^") == base.commit == place.tip()
        assert place.tip("gati/pr") == second != first
        with pytest.raises(Lost):
            push_branch(
                repository, "gati/pr", add("three")(base), base=base, expected_old=first, author=US
            )
        with pytest.raises(Lost):
            push_branch(
                repository, "gati/pr", add("three")(base), base=base, expected_old="", author=US
            )
        with pytest.raises(Lost):
            delete_branch(repository, "gati/pr", first)
        assert place.tip("gati/pr") == second
        delete_branch(repository, "gati/pr", second)
        assert repository.branches() == {"main": base.commit}
    sound(place.bare)


def test_a_branch_that_is_asked_for(place):
    place.commit("Elsewhere", branch="release", parent=place.tip())
    place.write(add("one"), branch="release")
    assert place.subjects("release") == ["By a person", "Elsewhere", "Add one"]
    assert place.subjects() == ["By a person"]


@pytest.mark.parametrize("name", ["-x", "a..b", "a b", "a/", "", "@{1}", "x.lock"])
def test_what_cannot_be_a_branch(places, name):
    with pytest.raises(Refused, match="cannot be the name of a branch"):
        places("path").open(branch=name)


# -- notes -------------------------------------------------------------------------------------------

NOTES = "refs/notes/hydrator.metadata"


def noted(name):
    def propose(tip):
        return [
            Draft(draft.changes, draft.message, note=f"about {name}".encode())
            for draft in add(name)(tip)
        ]

    return propose


def show(place, commit):
    return git(place.bare, "notes", f"--ref={NOTES}", "show", commit)


def test_notes_arrive_with_their_commits(place):
    with place.open() as repository:
        for name in ("one", "two"):
            written = write(repository, noted(name), author=US, note_ref=NOTES)
            assert show(place, written.tip) == f"about {name}"
    sound(place.bare)


@pytest.mark.parametrize("road", ["http", "ssh"])
def test_notes_that_are_refused_for_a_moment_are_sent_again(place):
    place.hook("update", f'[ "$1" != {NOTES} ] || [ -e seen ] || {{ touch seen; exit 1; }}')
    with place.open() as repository:
        written = write(repository, noted("one"), author=US, note_ref=NOTES, retry=hasty())
    assert written.tip == place.tip()
    assert show(place, written.tip) == "about one"


# -- what may not be done any more -----------------------------------------------------------------


def test_what_is_too_old_is_proposed_again_and_never_sent(places):
    place = places("path")
    asked, still = [], iter([False, True])

    def propose(tip):
        asked.append(tip.commit)
        return [Draft({"base/a.yaml": b"%d\n" % len(asked)}, "Write\n")]

    with place.open() as repository:
        done = write(repository, propose, author=US, retry=hasty(), still=lambda: next(still))
    assert len(asked) == 2 and done.attempts == 2
    assert place.git("show", "main:base/a.yaml") == "2"
    assert place.subjects() == ["By a person", "Write"]


def test_what_may_never_be_done_leaves_nothing(places):
    place = places("path")
    with place.open() as repository, pytest.raises(Outside, match="too old"):
        write(
            repository,
            lambda _: [Draft({"base/a.yaml": b"1\n"}, "Write\n")],
            author=US,
            retry=hasty(),
            still=lambda: False,
        )
    assert place.subjects() == ["By a person"]


@pytest.mark.parametrize("road", ["path", "http", "https", "ssh"])
def test_whether_we_may_write_is_found_out_without_writing(place):
    with place.open() as repository:
        repository.tip()
        assert repository.closed_to_us() == ""
    assert place.subjects() == ["By a person"]


def test_who_may_not_write_is_told_so(places):
    place = places("http")
    place.git("config", "http.receivepack", "false")
    with place.open() as repository:
        repository.tip()
        assert repository.closed_to_us() != ""
