"""Probes and metrics over http, and what a stranger at the port can do: very little."""

from __future__ import annotations

import http.client
import socket
import threading
import time

import pytest

from gati_gitops.errors import Misnamed, Outside
from gati_gitops.reconcile.announce import Pass
from gati_gitops.reconcile.health import Health
from gati_gitops.reconcile.meters import Meters
from gati_gitops.reconcile.server import WORKERS, Server, exposition, parse_listen, verdict

THIS = Pass(1, 0.0)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


# -- health ----------------------------------------------------------------------------------------


@pytest.fixture
def health(clock):
    return Health(deadline=60, interval=30, clock=clock)


def test_a_pass_within_its_deadline_is_alive_and_one_beyond_is_not(health, clock):
    health.leads("me", ours=True)
    health.started(THIS)
    clock.now += 60
    assert health.alive()[0]
    clock.now += 1
    assert health.alive() == (False, "a pass has been under way for 61 s")
    health.ended(THIS, 0.0, 0)
    assert health.alive()[0]


def test_a_leader_that_makes_no_passes_is_not_alive(health, clock):
    health.leads("me", ours=True)
    health.started(THIS)
    health.ended(THIS, 0.0, 0)
    clock.now += 90
    assert health.alive()[0]
    clock.now += 1
    assert not health.alive()[0]


def test_who_waits_for_its_turn_is_alive_for_ever_and_has_time_when_it_comes(health, clock):
    health.leads("other", ours=False)
    clock.now += 100_000
    assert health.alive()[0]
    health.leads("me", ours=True)
    assert health.alive()[0], "it has only just become the leader"
    clock.now += 91
    assert not health.alive()[0]


def test_who_contends_no_more_is_better_begun_again(clock):
    health = Health(60, 30, contends=lambda: False, clock=clock)
    assert health.alive() == (False, "nobody contends for the lease any more")


def test_ready_is_who_has_made_a_pass_or_knows_who_does(health):
    assert not health.ready()[0], "nobody knows who leads"
    health.leads("other", ours=False)
    assert health.ready()[0]
    health.leads("me", ours=True)
    assert not health.ready()[0], "it has made no pass yet"
    health.started(THIS)
    assert not health.ready()[0]
    health.ended(THIS, 0.0, 0)
    assert health.ready()[0]
    health.leads("", ours=False)
    assert not health.ready()[0], "nobody leads"


@pytest.mark.parametrize("source", ["git", "cluster", "metrics"])
def test_a_first_pass_that_could_not_see_makes_nobody_ready(health, source):
    health.leads("me", ours=True)
    health.started(THIS)
    health.failed(source, "is away", "prod", "eu-1")
    health.ended(THIS, 0.0, 0)
    assert health.ready() == (False, f"leads, 1 passes made; {source}: is away")
    health.started(THIS)
    health.failed("events", "nobody may write them", "prod", "eu-1")
    health.ended(THIS, 0.0, 0)
    assert health.ready()[0], "it saw all that it judges by"
    health.started(THIS)
    health.failed(source, "is away again", "prod", "eu-1")
    health.ended(THIS, 0.0, 0)
    assert health.ready()[0], "an outage is nothing that a new pod would end"


# -- the server ------------------------------------------------------------------------------------


class State:
    good = True
    hold = threading.Event()
    inside = threading.Semaphore(0)

    def check(self):
        return self.good, "so it is"

    def slow(self, accept):
        self.inside.release()
        self.hold.wait(10)
        return 200, "text/plain", b"late\n"

    def broken(self, accept):
        raise RuntimeError("with a secret in it")


@pytest.fixture
def state():
    return State()


@pytest.fixture
def server(state):
    state.hold, state.inside = threading.Event(), threading.Semaphore(0)
    pages = {
        "/healthz": verdict(state.check),
        "/metrics": exposition(Meters().registry),
        "/slow": state.slow,
        "/broken": state.broken,
    }
    server = Server("127.0.0.1:0", pages)
    yield server
    state.hold.set()
    server.close()


def ask(server: Server, path: str, method: str = "GET", **headers: str):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def test_a_probe_gets_yes_or_no_and_why(server, state):
    assert ask(server, "/healthz?verbose")[::2] == (200, b"ok: so it is\n")
    state.good = False
    assert ask(server, "/healthz")[::2] == (503, b"no: so it is\n")
    assert ask(server, "/healthz", "HEAD")[::2] == (503, b"")


def test_metrics_come_in_the_form_that_is_asked_for(server):
    status, headers, content = ask(server, "/metrics")
    assert status == 200 and headers["Content-Type"].startswith("text/plain; version=")
    assert b"gati_gitops_leader 0.0\n" in content
    _, headers, content = ask(server, "/metrics", Accept="application/openmetrics-text")
    assert headers["Content-Type"].startswith("application/openmetrics-text")
    assert content.endswith(b"# EOF\n")


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [
        ("/", "GET", 404),
        ("/../etc/passwd", "GET", 404),
        ("/healthz/x", "GET", 404),
        ("/healthz", "POST", 501),
        ("/healthz", "DELETE", 501),
    ],
)
def test_there_is_nothing_else(server, path, method, status):
    assert ask(server, path, method)[0] == status


def test_a_page_that_fails_says_so_and_no_more(server):
    assert ask(server, "/broken")[::2] == (500, b"RuntimeError\n")


def turned_away(server: Server) -> bool:
    try:
        ask(server, "/healthz")
    except (http.client.RemoteDisconnected, ConnectionError):
        return True
    return False


def test_whoever_comes_beyond_a_few_is_turned_away_and_later_is_served(server, state):
    threads = [threading.Thread(target=ask, args=(server, "/slow")) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
        assert state.inside.acquire(timeout=5)
    assert turned_away(server), "there is room for everybody"
    state.hold.set()
    for thread in threads:
        thread.join()
    assert ask(server, "/healthz")[0] == 200


def test_who_says_nothing_or_nonsense_keeps_no_place(server):
    with socket.create_connection(("127.0.0.1", server.port)) as nonsense:
        nonsense.sendall(b"\x00\xff garbage\r\n\r\n")
        nonsense.recv(100)
    quiet = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(WORKERS)]
    end = time.monotonic() + 3
    while not turned_away(server):
        assert time.monotonic() < end, "they should have taken every place"
    time.sleep(5.5)
    assert ask(server, "/healthz")[0] == 200
    for one in quiet:
        one.close()


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:80", ("127.0.0.1", 80)),
        (":8080", ("0.0.0.0", 8080)),
        ("[::1]:8080", ("::1", 8080)),
    ],
)
def test_addresses(text, address):
    assert parse_listen(text) == address


@pytest.mark.parametrize("text", ["8080", "127.0.0.1", "x:y", "127.0.0.1:70000", ":"])
def test_what_is_no_address(text):
    with pytest.raises(Misnamed, match="no address"):
        parse_listen(text)


def test_a_port_that_is_taken(server):
    with pytest.raises(Outside, match="cannot listen"):
        Server(f"127.0.0.1:{server.port}", {})
