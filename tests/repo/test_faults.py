"""Cut, dropped, stalled, doubled and refused: once on the branch or not at all, and one clear error."""

import os
import resource
import signal

import pytest

from gati_gitops.errors import GatiError, Outside, Refused
from gati_gitops.repo.commit import Draft
from gati_gitops.repo.exchange import Timeouts
from gati_gitops.repo.failures import Rejected
from gati_gitops.repo.limits import seconds_to_wait
from gati_gitops.repo.retry import Retry
from tests.disk.world import in_child
from tests.race.harness import operation
from tests.repo.gitkit import sound
from tests.servers.places import add, hasty, history
from tests.servers.proxy import Answer, Harm, Tunnel

# A stalled line costs the idle time for each attempt.
SHORT = Timeouts(connect=5, idle=1.5, total=30)
APPLIED = {Harm.CUT_AFTER, Harm.CUT_ANSWER, Harm.STALL_AFTER, Harm.TWICE}
"""What the server has done before harm comes to its answer."""


def once(harm, kind):
    """Harm to the first request of a kind."""
    left = [harm]
    return lambda request: left.pop() if left and getattr(request, kind) else None


def always(harm, kind):
    return lambda request: harm if getattr(request, kind) else None


def count(place, subject="Do one"):
    return place.subjects().count(subject)


# -- pushes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("harm", Harm, ids=lambda harm: harm.name.lower())
def test_harm_to_a_push(behind, proxy, harm):
    """The operation looks at nothing, so if it were done again without need, it would be there twice."""
    proxy.rule = once(harm, "is_push")
    written = behind.write(operation("one"), timeouts=SHORT)
    assert written.commits == (behind.tip(),)
    assert written.attempts == 2
    assert count(behind) == 1
    sound(behind.bare)


@pytest.mark.parametrize("harm", Harm, ids=lambda harm: harm.name.lower())
def test_harm_to_every_push(behind, proxy, harm):
    proxy.rule = always(harm, "is_push")
    if harm in APPLIED:
        assert behind.write(operation("one"), timeouts=SHORT, retry=hasty(2)).commits
    else:
        with pytest.raises(Outside, match=r"gave up after 2 attempts: .*(broke|in time)") as told:
            behind.write(operation("one"), timeouts=SHORT, retry=hasty(2))
        assert behind.url in told.value.message
        assert told.value.remedy
    assert count(behind) == (harm in APPLIED)
    pushed = {request.body for request in proxy.requests if request.is_push}
    assert len(pushed) == 1  # The very same commits each time.


def test_harm_to_the_last_attempt_is_settled_by_looking(behind, proxy):
    proxy.rule = once(Harm.CUT_AFTER, "is_push")
    assert behind.write(operation("one"), retry=hasty(1)).commits == (behind.tip(),)


def test_a_lost_answer_with_others_on_top(behind, proxy):
    """Our commit is found below those that came after it, in history that was not fetched yet."""

    def rule(request):
        if request.is_push and not done:
            done.append(proxy._forward(request))
            history(behind, 40)
            return Harm.CUT_BEFORE
        return None

    done = []
    proxy.rule = rule
    written = behind.write(operation("one"))
    assert written.tip == behind.tip() != written.commits[-1]
    assert count(behind) == 1


def test_a_lost_answer_and_a_rewritten_commit(behind, proxy):
    """Somebody rebased our commit before we looked: its decision is there under another id."""
    trailer = "\n\nGati-Decision: 4711"

    def rule(request):
        if request.is_push and not done:
            done.append(proxy._forward(request))
            ours = behind.tip()
            tree, base = behind.git("rev-parse", f"{ours}^{{tree}}", f"{ours}^").splitlines()
            other = behind.commit("By a person", parent=base)
            again = behind.git("commit-tree", tree, "-p", other, "-m", f"Do one{trailer}")
            behind.git("update-ref", "refs/heads/main", again)
            return Harm.CUT_BEFORE
        return None

    done = []
    proxy.rule = rule

    def propose(tip):
        (draft,) = operation("one")(tip)
        return [type(draft)(draft.changes, f"Do one{trailer}\n")]

    behind.write(propose)
    assert count(behind) == 1


def test_a_push_that_is_applied_after_we_gave_up_on_it(behind, proxy):
    """Held back on the way, and let go just before the same commits come again."""
    held = []

    def rule(request):
        if request.is_push:
            if not held:
                held.append(request)
                return Harm.STALL
            if len(held) == 1:
                held.append(proxy._forward(held[0]))
        return None

    proxy.rule = rule
    written = behind.write(operation("one"), timeouts=SHORT)
    assert len(held) == 2
    assert written.commits == (behind.tip(),)
    assert count(behind) == 1


def test_a_lost_answer_and_an_operator_who_withdraws_it(behind, proxy):
    """What was withdrawn does not come back; it is proposed anew on what the operator left."""
    seen = []

    def rule(request):
        if request.is_push and not seen:
            before = behind.tip()
            seen.append(proxy._forward(request))
            seen.append(behind.tip())
            behind.git("update-ref", "refs/heads/main", before)
            behind.commit("After the operator")
            return Harm.CUT_BEFORE
        return None

    proxy.rule = rule
    behind.write(operation("one"))
    assert behind.subjects() == ["By a person", "After the operator", "Do one"]
    assert seen[1] not in behind.git("rev-list", "main")


@pytest.mark.parametrize("road", ["http", "ssh"])
def test_a_server_that_dies_when_it_has_moved_the_branch(place):
    """Before git has told anybody."""
    place.hook("post-receive", "[ -e died ] && exit 0; touch died; kill -9 $PPID")
    written = place.write(operation("one"))
    assert written.commits == (place.tip(),)
    assert count(place) == 1


def test_a_push_that_must_not_be_repeated(behind, proxy):
    """A status that is final ends it, once it is clear that nothing was applied."""
    for status in (403, 413):
        proxy.reset()
        proxy.rule = always(Answer(status), "is_push")
        with pytest.raises(Outside, match=rf"\({status}\)"):
            behind.write(operation("one"))
        assert sum(request.is_push for request in proxy.requests) == 1
    assert count(behind) == 0


def test_a_push_that_was_applied_though_the_status_says_no(behind, proxy):
    def rule(request):
        if request.is_push and not done:
            done.append(proxy._forward(request))
            return Answer(403)
        return None

    done = []
    proxy.rule = rule
    assert behind.write(operation("one")).commits == (behind.tip(),)
    assert count(behind) == 1


# -- reading -----------------------------------------------------------------------------------------

READING = [Harm.CUT_BEFORE, Harm.CUT_AFTER, Harm.CUT_ANSWER, Harm.STALL]


@pytest.mark.parametrize("kind", ["is_list", "is_fetch"])
@pytest.mark.parametrize("harm", READING, ids=lambda harm: harm.name.lower())
def test_harm_to_reading(behind, proxy, kind, harm):
    proxy.rule = once(harm, kind)
    assert behind.write(operation("one"), timeouts=SHORT).attempts == 2
    assert count(behind) == 1


@pytest.mark.parametrize("kind", ["is_list", "is_fetch"])
def test_harm_to_all_reading(behind, proxy, kind):
    proxy.rule = always(Harm.STALL, kind)
    with pytest.raises(Outside, match=r"gave up after 2 attempts: .* did not answer in time"):
        behind.write(operation("one"), timeouts=SHORT, retry=hasty(2))


def test_a_drip_of_data_ends_with_the_total(behind):
    """Each sign of life is in time, and all of them together are too many."""
    with pytest.raises(Outside, match="took longer than 0 s"):
        behind.write(operation("one"), timeouts=Timeouts(2, 2, total=0), retry=hasty(1))


# -- statuses ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "status, words",
    [
        (400, "HTTP status 400"),
        (401, "did not take our token"),
        (403, r"refused us \(403\)"),
        (404, r"no repository at .* \(404\)"),
        (410, r"no repository at .* \(410\)"),
    ],
)
def test_statuses_that_are_final(behind, proxy, status, words):
    headers = ('WWW-Authenticate: Basic realm="x"',) if status == 401 else ()
    proxy.rule = lambda request: Answer(status, headers) if request.has_credentials else None
    with pytest.raises(GatiError, match=words) as told:
        behind.write(operation("one"))
    assert told.value.exit_code == 4
    assert told.value.remedy
    assert (
        sum(request.has_credentials for request in proxy.requests) <= 2
    )  # One may ask for how long.


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
@pytest.mark.parametrize("kind", ["is_list", "is_push"])
def test_statuses_that_pass(behind, proxy, status, kind):
    patient = {"sleep": lambda _: None}
    proxy.rule = once(Answer(status), kind)
    assert behind.write(operation("one"), retry=hasty(**patient)).attempts == 2
    proxy.rule = always(Answer(status), kind)
    with pytest.raises(Outside, match=rf"gave up after 2 attempts: .*\({status}\)"):
        behind.write(operation("two"), retry=hasty(2, **patient))


@pytest.mark.parametrize(
    "answer, asked",
    [
        (Answer(429, ("Retry-After: 17",)), 17),
        (Answer(403, ("Retry-After: 17",)), 17),
        (Answer(503, ("Retry-After: 17",)), 17),
        (Answer(403, ("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1")), 0),
        (Answer(429), 60),
    ],
)
def test_a_server_that_asks_us_to_wait(behind, proxy, answer, asked):
    slept = []

    def sleep(seconds):
        slept.append(seconds)
        proxy.rule = lambda _: None

    proxy.rule = lambda request: answer if request.has_credentials else None
    retry = Retry(sleep=sleep, random=lambda: 0.5)
    assert behind.write(operation("one"), retry=retry).attempts == 2
    assert slept == [max(asked, 1)]


def test_a_server_that_asks_for_more_time_than_there_is(behind, proxy):
    proxy.rule = lambda request: (
        Answer(429, ("Retry-After: 3600",)) if request.has_credentials else None
    )
    with pytest.raises(Outside, match=r"gave up after 1 attempt: .*wait 3600 s"):
        behind.write(operation("one"), retry=hasty(budget=600))


@pytest.mark.parametrize(
    "status, headers, seconds",
    [
        (429, {"Retry-After": "5"}, 5),
        (429, {"Retry-After": "Fri, 14 Jul 2017 02:40:30 GMT"}, 30),
        (429, {"Retry-After": "Fri, 14 Jul 2017 02:39:30 GMT"}, 0),
        (429, {"Retry-After": "soon"}, None),
        (429, {"Retry-After": "999999999"}, 3600),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1500000045"}, 45),
        (403, {"X-RateLimit-Remaining": "7", "X-RateLimit-Reset": "1500000045"}, None),
        (403, {}, None),
        (429, {}, 60),
        (503, {}, None),
    ],
)
def test_how_long_is_asked_for(status, headers, seconds):
    assert seconds_to_wait(status, headers, now=1_500_000_000) == seconds


# -- no connection at all ----------------------------------------------------------------------------


def never(_):
    raise AssertionError("a wrong address is not asked twice")


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:1/a.git", "https://no-such-host.invalid/a.git", "ssh://git@127.0.0.1:1/a"],
)
def test_nobody_there(url):
    from tests.servers.places import Place

    with pytest.raises(Outside, match=r"cannot reach") as told:
        Place("", None, url, {"HOME": "/nonexistent"}).write(add("one"), retry=hasty(sleep=never))
    assert url in told.value.message
    assert "check the address" in told.value.remedy


def test_a_server_that_was_there_before_is_waited_for(behind, proxy):
    """It is restarted, perhaps."""
    slept = []

    def propose(tip):
        if not slept:
            proxy.rule = lambda _: Harm.CUT_BEFORE
        return operation("one")(tip)

    def sleep(seconds):
        slept.append(seconds)
        if len(slept) == 3:
            proxy.rule = lambda _: None

    assert behind.write(propose, retry=hasty(sleep=sleep)).attempts == 4
    assert count(behind) == 1


# -- ssh ---------------------------------------------------------------------------------------------


@pytest.fixture
def tunnel(ssh, places, tmp_path):
    """A repository behind a line that can be cut."""
    from dataclasses import replace

    found = places("ssh")
    made = Tunnel(ssh.port)
    hosts = tmp_path / "hosts"
    hosts.write_text("".join(f"[127.0.0.1]:{made.port} {key}\n" for key in ssh.host_keys))
    environ = {**found.environ, "GATI_SSH_KNOWN_HOSTS": str(hosts)}
    yield (
        replace(found, url=found.url.replace(str(ssh.port), str(made.port)), environ=environ),
        made,
    )
    made.end()


@pytest.mark.parametrize("after", [0, 500, 2200, 2800, 3400, 4000])
def test_a_line_that_is_cut(tunnel, after):
    place, line = tunnel
    line.cut_after = after

    def sleep(_):
        line.cut_after = None

    place.write(operation("one"), retry=hasty(sleep=sleep), timeouts=SHORT)
    assert count(place) == 1


@pytest.mark.parametrize("after", [0, 500])
def test_a_line_that_falls_silent(tunnel, after):
    place, line = tunnel
    line.silent_after = after
    with pytest.raises(Outside, match="did not answer in time"):
        place.write(operation("one"), retry=hasty(1), timeouts=SHORT)
    line.silent_after = None
    place.write(operation("one"), timeouts=SHORT)
    assert count(place) == 1


# -- this machine ------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Forks beside threads.
@pytest.mark.parametrize("room", [100, 4000])
def test_a_disk_that_is_full(place, room):
    """No file can grow beyond this: the clone, what is fetched or what is written does not fit."""
    files = {f"base/{n}.yaml": os.urandom(200) for n in range(100)}
    before = place.tip()

    def work():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        with pytest.raises(Outside, match=r"disk|clone|File too large"):
            place.write(lambda _: [Draft(files, "Do one\n")], retry=hasty(2))

    assert in_child(work) == 0
    assert place.tip() == before
    sound(place.bare)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a repository to somebody else")
def test_a_repository_of_another_user(places):
    place = places("path")
    for path in (place.bare, *place.bare.rglob("*")):
        os.chown(path, 4711, 4711)
    with pytest.raises(Refused, match="belongs to another user") as refused:
        place.open()
    assert "safe.directory" in refused.value.remedy


# -- refusals ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("road", ["http", "ssh"])
def test_a_protected_branch(place):
    place.hook("update", 'echo "GH006: Protected branch update failed for $1." >&2; exit 1')
    with pytest.raises(Rejected, match="GH006: Protected branch update failed for refs/heads/main"):
        place.write(operation("one"))


@pytest.mark.parametrize("road", ["http"])
def test_a_disk_of_the_server_that_is_full(place):
    """The objects do not get in, so the branch does not move."""
    place.git("config", "receive.maxInputSize", "10")
    with pytest.raises(Outside, match=r"refused the push|out of order|broke|unpack") as told:
        place.write(operation("one"), retry=hasty(2))
    assert told.value.remedy
    assert count(place) == 0
    sound(place.bare)
