"""Many writers, a person and an operator on one branch: nothing is lost, doubled or brought back.

Small here; `make race` runs it at full size. Below, each guard is taken away in turn: the same judge
must then find fault, or it would prove nothing.
"""

import re
from dataclasses import replace

import pygit2
import pytest

from gati_gitops.errors import GatiError
from gati_gitops.repo import transport, writer
from gati_gitops.repo.commit import Draft
from gati_gitops.repo.exchange import Exchange, Pushing
from gati_gitops.repo.local import Local
from gati_gitops.repo.worktree import WorkTree
from gati_gitops.repo.writer import write
from tests.race.checker import OPERATOR, judge
from tests.race.harness import Size, operation, run
from tests.repo.gitkit import git
from tests.servers.places import US, Place, hasty
from tests.servers.proxy import Harm, Proxy
from tests.servers.ssh import new_key


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Forks beside the threads of a proxy.
def test_everybody_at_once(place, tmp_path):
    size = Size(writers=3, commits=3, by_people=1, resets=2)
    outcome = run(place, size, tmp_path / "race")
    assert outcome.verdict.faults == []
    assert outcome.given_up == []
    assert len(outcome.acknowledged) == size.writers * size.commits
    assert place.git("reflog", "show", "main").count(OPERATOR) <= size.resets


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_one_cache_for_everybody(places, tmp_path):
    """One of them has the kept clone, the others take clones of their own."""
    place = replace(places("http"), cache=tmp_path / "cache")
    outcome = run(place, Size(writers=3, commits=2, by_people=0, resets=0), tmp_path / "race")
    assert outcome.verdict.faults == outcome.given_up == []
    assert len(list((tmp_path / "cache").glob("*/clone"))) == 1


# -- the judge ---------------------------------------------------------------------------------------


def test_the_judge_knows_a_loss(places):
    place = places("path")
    lost = place.write(operation("a")).tip
    place.git("update-ref", "-m", "by force", "refs/heads/main", "main~1")
    faults = judge(place.bare, {"a": lost}).faults
    assert any("does not stand on what was there before" in fault for fault in faults)


def test_the_judge_knows_what_never_was(places):
    place = places("path")
    never = place.commit("Never", branch="other", parent=place.tip())
    assert judge(place.bare, {"x": never}).faults == [
        "x was acknowledged, and has never been on the branch"
    ]
    assert judge(place.bare, {}, [never]).faults == [f"the commit {never[:8]} of a person is lost"]


def test_the_judge_knows_doubles_and_what_came_back(places):
    place = places("path")
    for _ in range(2):
        place.write(operation("a"))
    assert judge(place.bare, {}).faults == ["'Do a' is there 2 times"]
    gone = place.tip()
    place.git("update-ref", "-m", OPERATOR, "refs/heads/main", "main~1")
    assert judge(place.bare, {"a": gone}).faults == []
    place.git("update-ref", "refs/heads/main", place.commit("On it", branch="x", parent=gone))
    assert "'Do a' came back after it was withdrawn" in judge(place.bare, {}).faults


# -- guards, taken away ------------------------------------------------------------------------------


def acknowledged(place, propose=None, **options):
    """One operation, told as done if it says so."""
    try:
        written = place.write(propose or operation("one"), retry=hasty(3), **options)
    except GatiError:
        return {}
    return {"one": written.commits[-1]} if written.commits else {}


def set_back(place, proxy):
    """An operator withdraws a commit while we compile on top of it."""
    withdrawn = place.commit("Withdrawn")
    with place.open() as repository:

        def propose(tip):
            if tip.commit == withdrawn:
                # Without history libgit2 would refuse, by chance: it can't see how the two are related.
                repository.deepen(withdrawn)
                place.git("update-ref", "-m", OPERATOR, "refs/heads/main", f"{withdrawn}~1")
            return operation("one")(tip)

        return {"one": write(repository, propose, author=US, retry=hasty(3)).tip}


def raced(place, proxy):
    """Somebody else commits while we compile."""
    first = place.tip()

    def propose(tip):
        if tip.commit == first:
            place.commit("Faster")
        return operation("one")(tip)

    return acknowledged(place, propose)


def refused(place, proxy):
    """A hook of the server says no."""
    place.hook("update", "exit 1")
    return acknowledged(place)


def unanswered(place, proxy):
    """The answer to a push that was applied gets lost."""
    left = [Harm.CUT_AFTER]
    proxy.rule = lambda request: left.pop() if left and request.is_push else None
    return acknowledged(replace(place, url=proxy.url(place.bare.name)))


def doubled(place, proxy):
    """A push arrives twice, and the second is refused, being late."""
    left = [Harm.TWICE]
    proxy.rule = lambda request: left.pop() if left and request.is_push else None
    return acknowledged(replace(place, url=proxy.url(place.bare.name)))


def no_lease(patch):
    patch.setattr(Pushing, "expect", lambda *_: None)


def no_answers(patch):
    def as_libgit2_would(self, refname, message):
        self.answers[refname] = None

    patch.setattr(Pushing, "push_update_reference", as_libgit2_would)


def no_settling(patch):
    patch.setattr(writer, "landed", lambda *_: False)


def no_doubt(patch):
    """A push that was refused late counts as not sent."""
    real = transport.no_branch_moved

    def unsent(*args):
        error = real(*args)
        error.sent = False
        return error

    patch.setattr(transport, "no_branch_moved", unsent)


def no_comparison(patch):
    patch.setattr(Local, "_expect", lambda *_: None)


GUARDS = [
    ("the lease of a push", no_lease, "http", set_back, "came back after it was withdrawn"),
    ("the answer to a push", no_answers, "http", refused, "has never been on the branch"),
    ("looking after a lost answer", no_settling, "http", unanswered, "is there 2 times"),
    ("looking after a late refusal", no_doubt, "http", doubled, "is there 2 times"),
    ("the comparison in a folder", no_comparison, "path", raced, "does not stand on what was"),
    ("the comparison in a folder", no_comparison, "path", set_back, "came back|does not stand"),
]


@pytest.mark.parametrize(
    "disable, road, happens, fault",
    [guard[1:] for guard in GUARDS],
    ids=[f"{name}: {happens.__name__}" for name, _, _, happens, _ in GUARDS],
)
def test_without_a_guard_the_judge_finds_fault(
    places, web, monkeypatch, disable, road, happens, fault
):
    def faults():
        place, proxy = places(road), Proxy(web.port)
        try:
            return judge(place.bare, happens(place, proxy)).faults
        finally:
            proxy.end()

    assert faults() == []
    disable(monkeypatch)
    assert any(re.search(fault, found) for found in faults())


def test_without_the_check_of_hosts_anybody_would_do(places, ssh, tmp_path, monkeypatch):
    place = places("ssh")
    (tmp_path / "hosts").write_text(f"{ssh.host} {new_key(tmp_path / 'other')}\n")
    environ = {**place.environ, "GATI_SSH_KNOWN_HOSTS": str(tmp_path / "hosts")}
    assert acknowledged(place, environ=environ) == {}
    monkeypatch.setattr(Exchange, "certificate_check", lambda *_: True)
    assert acknowledged(place, environ=environ)


def test_without_the_check_of_files_a_persons_work_would_be_lost(tmp_path, places, monkeypatch):
    git(tmp_path, "clone", "-q", str(places("path").bare), "work")
    place = Place("path", tmp_path / "work", str(tmp_path / "work"))
    place.write(operation("one"))
    (place.bare / "base/one.yaml").write_text("in the middle of a sentence")

    def propose(_):
        return [Draft({"base/one.yaml": b"ours\n"}, "Do one again\n")]

    assert acknowledged(place, propose) == {}
    monkeypatch.setattr(WorkTree, "_is_untouched", lambda *_: True)
    assert acknowledged(place, propose)
    assert (place.bare / "base/one.yaml").read_text() == "ours\n"


def test_a_local_push_of_libgit2_would_lose_commits(places, tmp_path):
    """Why there is none: it moves the branch whatever has become of it."""
    place = places("path")
    clone = pygit2.clone_repository(str(place.bare), str(tmp_path / "clone"), bare=True)
    base = place.tip()
    person = pygit2.Signature("A", "a@b.test")
    made = clone.create_commit(None, person, person, "ours", clone[base].tree_id, [base])
    moved = []

    class Racing(pygit2.RemoteCallbacks):
        def push_negotiation(self, updates):
            moved.append(place.commit("Faster"))

    clone.remotes.create_anonymous(str(place.bare)).push(
        [f"{made}:refs/heads/main"], callbacks=Racing()
    )
    assert place.tip() == str(made)
    assert moved[0] not in place.git("rev-list", "main")
