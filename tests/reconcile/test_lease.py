"""Who leads: by a clock that tests turn, and against a real API server."""

from __future__ import annotations

import copy
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gati_gitops.observe.kube import Access, Kube, KubeConflict, KubeError
from gati_gitops.reconcile.lease import Election, Lease, Timing


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Store:
    """One Lease, with the versions that the API server compares; requests can be made to fail."""

    def __init__(self) -> None:
        self.item: dict[str, Any] | None = None
        self.version = 0
        self.fails: Callable[[str], Exception | None] = lambda _: None
        self.before_replace: Callable[[], None] = lambda: None

    def get(self, api_version: str, kind: str, name: str, namespace: str = "") -> Any:
        self._fail("get")
        return copy.deepcopy(self.item)

    def create(self, item: Any) -> Any:
        self._fail("create")
        if self.item is not None:
            raise KubeConflict("it exists", status=409)
        return self._stored(item)

    def replace(self, item: Any) -> Any:
        self._fail("replace")
        self.before_replace()
        if self.item is None or item["metadata"]["resourceVersion"] != str(self.version):
            raise KubeConflict("it was changed", status=409)
        return self._stored(item)

    def _stored(self, item: Any) -> Any:
        self.version += 1
        self.item = copy.deepcopy({**item, "metadata": {**item["metadata"]}})
        self.item["metadata"]["resourceVersion"] = str(self.version)
        return copy.deepcopy(self.item)

    def _fail(self, verb: str) -> None:
        if (error := self.fails(verb)) is not None:
            raise error

    @property
    def spec(self) -> dict[str, Any]:
        assert self.item is not None
        return self.item["spec"]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store() -> Store:
    return Store()


def lease(store: Store, clock: Clock, name: str, wall: float = 0.0) -> Lease:
    return Lease(store, "gati-system", "job", name, clock=clock, wall=lambda: clock() + wall)


def test_the_first_takes_it_and_the_second_waits(store: Store, clock: Clock) -> None:
    one, two = lease(store, clock, "one"), lease(store, clock, "two")
    assert one.attempt()
    assert not two.attempt()
    assert (one.leads(), two.leads()) == (True, False)
    assert (one.leader, two.leader) == ("one", "one")
    assert store.spec["leaseDurationSeconds"] == 15
    assert (one.term, two.term) == (1, 1)


def test_a_leader_that_renews_stays_and_keeps_the_time_it_began(store: Store, clock: Clock) -> None:
    one, two = lease(store, clock, "one"), lease(store, clock, "two")
    one.attempt()
    began = store.spec["acquireTime"]
    for _ in range(60):
        clock.now += 2
        assert one.attempt()
        assert not two.attempt()
        assert one.leads()
    assert store.spec["acquireTime"] == began != store.spec["renewTime"]
    assert store.spec["leaseTransitions"] == 0


def test_a_silent_leader_is_replaced_after_its_lease_and_stops_before(
    store: Store, clock: Clock
) -> None:
    one, two = lease(store, clock, "one"), lease(store, clock, "two")
    one.attempt()
    two.attempt()
    led_by_both = 0
    while not two.leads():
        clock.now += 0.5
        two.attempt()
        led_by_both += one.leads() and two.leads()
        assert clock.now < 1100
    assert clock.now == 1015
    assert not led_by_both, "two lead at once"
    assert store.spec["holderIdentity"] == "two"
    assert store.spec["leaseTransitions"] == 1
    assert two.term == 2


def test_clocks_that_differ_by_hours_change_nothing(store: Store, clock: Clock) -> None:
    one, two = lease(store, clock, "one", wall=-7200), lease(store, clock, "two", wall=7200)
    one.attempt()
    for _ in range(30):
        clock.now += 2
        assert one.attempt()
        assert not two.attempt(), "the times in a Lease were compared with a clock"
    for _ in range(7):
        clock.now += 2
        assert not two.attempt()
    clock.now += 2
    assert two.attempt()


def test_a_leader_that_cannot_renew_stops_by_itself(store: Store, clock: Clock) -> None:
    one = lease(store, clock, "one")
    one.attempt()
    store.fails = lambda _: KubeError("the API server is away", status=503)
    for _ in range(4):
        clock.now += 2
        with pytest.raises(KubeError):
            one.attempt()
        assert one.leads()
    clock.now += 2
    assert not one.leads(), "it leads on, ten seconds after it could last say so"


def test_time_that_a_request_took_counts_against_the_leader(store: Store, clock: Clock) -> None:
    """What the API server stored may be as old as the request."""
    one = lease(store, clock, "one")
    store.before_replace = lambda: setattr(clock, "now", clock.now + 8)
    one.attempt()
    clock.now += 1
    one.attempt()
    clock.now += 3
    assert not one.leads()


def test_of_two_that_take_it_at_once_one_does(store: Store, clock: Clock) -> None:
    old, one, two = (lease(store, clock, name) for name in ("old", "one", "two"))
    old.attempt()
    one.attempt()
    two.attempt()
    clock.now += 20
    store.before_replace = _once(two.attempt, store)
    assert not one.attempt()
    assert (one.leads(), two.leads()) == (False, True)
    assert not one.attempt()
    assert one.leader == "two"


def test_of_two_that_make_it_at_once_one_does(store: Store, clock: Clock) -> None:
    one, two = lease(store, clock, "one"), lease(store, clock, "two")

    def late(verb: str) -> None:
        if verb == "create":
            store.fails = lambda _: None
            two.attempt()

    store.fails = late
    assert not one.attempt()
    assert two.leads() and not one.leads()


def _once(call: Callable[[], object], store: Store) -> Callable[[], None]:
    def run() -> None:
        store.before_replace = lambda: None
        call()

    return run


def test_whoever_stops_lets_go_at_once(store: Store, clock: Clock) -> None:
    one, two = lease(store, clock, "one"), lease(store, clock, "two")
    one.attempt()
    two.attempt()
    one.release()
    assert not one.leads()
    assert store.spec["holderIdentity"] == ""
    assert two.attempt()
    assert two.term == 2, "the number must rise when it changes hands"


def test_nobody_lets_go_of_what_is_another_s(store: Store, clock: Clock) -> None:
    one, two = lease(store, clock, "one"), lease(store, clock, "two")
    one.attempt()
    two.attempt()
    clock.now += 8
    assert one.leads()
    assert store.item is not None
    store.item["spec"]["holderIdentity"] = "two"  # by hand
    one.release()
    assert store.spec["holderIdentity"] == "two"


def test_a_lease_that_somebody_deleted_is_made_again(store: Store, clock: Clock) -> None:
    one = lease(store, clock, "one")
    one.attempt()
    store.item = None
    clock.now += 2
    assert one.attempt() and one.leads()


def test_a_lease_with_nothing_in_it_is_taken(store: Store, clock: Clock) -> None:
    store.create({"metadata": {"name": "job"}, "spec": {}})
    assert lease(store, clock, "one").attempt()


# -- the election as a thread ----------------------------------------------------------------------


def test_an_election_tells_when_the_leader_changes_and_survives_anything(
    store: Store, clock: Clock
) -> None:
    told: list[tuple[str, bool]] = []
    failed: list[str] = []
    election = Election(
        lease(store, clock, "one"), lambda *state: told.append(state), failed.append
    )
    election.turn()
    election.turn()
    store.fails = lambda _: RuntimeError("a fault of ours")
    clock.now += 11
    election.turn()
    assert told == [("one", True), ("one", False)]
    assert failed == ["RuntimeError('a fault of ours')"]
    store.fails = lambda _: None
    election.turn()
    assert told[-1] == ("one", True)


# -- a real API server -----------------------------------------------------------------------------

TIMING = Timing(lease=3, renew=2, retry=0.3)
CONTENDER = """
import json, sys, time
from gati_gitops.observe.kube import Access, Kube
from gati_gitops.reconcile.lease import Election, Lease, Timing
kubeconfig, namespace, name = sys.argv[1:]
lease = Lease(Kube(Access(kubeconfig=kubeconfig)), namespace, "job", name,
              timing=Timing(lease=3, renew=2, retry=0.3))
def say(**what): print(json.dumps(what), flush=True)
election = Election(lease, lambda leader, ours: say(leader=leader, ours=ours), lambda why: say(failed=why))
election.start()
was = None
while True:
    # asked as a writer would ask, in the first moment after it was stopped
    now = lease.leads()
    if now != was:
        was = now
        say(leads=now, term=lease.term, at=time.time())
    time.sleep(0.01)
"""


class Contender:
    """Another process."""

    def __init__(self, kubeconfig: Path, namespace: str, name: str, folder: Path) -> None:
        self.log = folder / f"{name}.log"
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-c", CONTENDER, str(kubeconfig), namespace, name],
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    def said(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def leads(self) -> bool:
        states = [line for line in self.said() if "leads" in line]
        return bool(states) and states[-1]["leads"]

    def signal(self, number: int) -> None:
        os.kill(self.process.pid, number)

    def end(self) -> None:
        if self.process.poll() is None:
            self.signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait()


def until(check: Callable[[], bool], seconds: float, what: str) -> None:
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, what
        time.sleep(0.05)


@pytest.fixture
def contenders(control_plane: Any, tmp_path: Path) -> Iterator[tuple[Contender, Contender]]:
    namespace = f"lease-{os.getpid()}-{time.monotonic_ns() % 10**6}"
    control_plane.namespace(namespace)
    found = [
        Contender(control_plane.kubeconfig, namespace, name, tmp_path) for name in ("one", "two")
    ]
    try:
        until(lambda: any(one.leads() for one in found), 20, "nobody leads")
        yield found[0], found[1]
    finally:
        for one in found:
            one.end()


def test_a_leader_that_is_stopped_is_replaced_and_knows_it_when_it_wakes(
    contenders: tuple[Contender, Contender],
) -> None:
    leader, other = sorted(contenders, key=lambda one: not one.leads())
    time.sleep(2 * TIMING.lease)
    assert leader.leads() and not other.leads(), "a leader that renews must stay"
    leader.signal(signal.SIGSTOP)
    until(other.leads, 4 * TIMING.lease, "nobody took over")
    leader.signal(signal.SIGCONT)
    until(lambda: not leader.leads(), 2, "it woke and leads on")
    lost = [line for line in leader.said() if line.get("leads") is False][-1]
    won = [line for line in other.said() if line.get("leads") is True][-1]
    assert won["term"] == 2
    assert lost["at"] >= won["at"]
    time.sleep(TIMING.lease)
    assert other.leads() and not leader.leads()


def test_a_real_lease_is_let_go_and_taken(control_plane: Any, tmp_path: Path) -> None:
    namespace = f"lease-{os.getpid()}-{time.monotonic_ns() % 10**6}"
    control_plane.namespace(namespace)
    kube = Kube(Access(kubeconfig=str(control_plane.kubeconfig)))
    one, two = (Lease(kube, namespace, "job", name) for name in ("one", "two"))
    assert one.attempt() and not two.attempt()
    one.release()
    assert two.attempt() and two.term == 2
    kube.close()
