"""A watch that begins in an outage: it waits and says so, and a single pass ends at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from gati_gitops.errors import Misnamed, Outside
from gati_gitops.reconcile.watch import LONGEST, insist
from tests.compile.kit import handler, project
from tests.reconcile.town import QUICK, Town
from tests.servers.ask import ask
from tests.servers.certificates import Authority
from tests.servers.places import WEB_ENVIRON
from tests.servers.process import free_port
from tests.servers.web import Web

AWAY = Outside("Git is away")


class Stop(Event):
    """Nobody waits; how long they would have."""

    def __init__(self, after: int = 99) -> None:
        super().__init__()
        self.waits: list[float] = []
        self._after = after

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(timeout or 0.0)
        return len(self.waits) >= self._after


def test_it_is_tried_until_it_can_be_had_with_growing_pauses():
    answers: list[Exception | str] = [*[AWAY] * 8, "here"]
    told: list[Outside] = []
    stop = Stop()

    def make() -> str:
        found = answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    assert insist(make, told.append, 10.0, stop, lambda: 0.5) == "here"
    assert told == [AWAY] * 8, "each is told"
    assert stop.waits == [10, 20, 40, 80, 160, LONGEST, LONGEST, LONGEST]


def test_who_is_told_to_stop_waits_no_longer():
    def make() -> str:
        raise AWAY

    assert insist(make, lambda _: None, 10.0, Stop(after=2)) is None


def test_what_no_time_would_mend_ends_it():
    def make() -> str:
        raise Misnamed("there is no cluster of this name")

    with pytest.raises(Misnamed):
        insist(make, lambda _: None, 10.0, Stop())


# -- the real program, and a real server that is away ----------------------------------------------


class Program:
    def __init__(self, town: Town, url: str, folder: Path, *more: str) -> None:
        self.port = free_port()
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(
            "apiVersion: v1\nkind: Config\ncurrent-context: x\n"
            "clusters: [{name: x, cluster: {server: 'http://127.0.0.1:9'}}]\n"
            "contexts: [{name: x, context: {cluster: x, user: x}}]\n"
            "users: [{name: x, user: {}}]\n"
        )
        self.log = folder / "log"
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "gati_gitops", "reconcile", "--repo", url,
                 "--kubeconfig", str(kubeconfig), "--clocks", str(folder / "clocks"),
                 "--listen", f"127.0.0.1:{self.port}", *more],
                stdout=out, stderr=subprocess.STDOUT,
                env={**os.environ, **WEB_ENVIRON, "NO_COLOR": "1"},
            )  # fmt: skip

    def told(self, **wanted: Any) -> list[dict[str, Any]]:
        found = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [line for line in found if wanted.items() <= line.items()]

    def ask(self, path: str) -> tuple[int, bytes]:
        return ask(self.port, path)


@pytest.fixture
def web(town: Town, tmp_path: Path) -> Iterator[Web]:
    """Serves the town's repository; it is away at first."""
    town.release({"gati.yaml": project(rollout=QUICK), "users.yaml": handler()})
    ports = free_port(), free_port()
    web = Web(tmp_path / "web", town.output.parent, Authority(tmp_path / "ca"), ports)
    web.stop()
    yield web
    web.end()


@pytest.fixture
def started(town: Town, web: Web, tmp_path: Path) -> Iterator[Callable[..., Program]]:
    running: list[Program] = []

    def start(*more: str) -> Program:
        running.append(Program(town, web.url(town.output.name), tmp_path, *more))
        return running[-1]

    yield start
    for one in running:
        one.process.kill()
        one.process.wait()


def until(what: str, check: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, what
        time.sleep(0.1)


@pytest.mark.slow
def test_a_watch_that_begins_without_git_waits_for_it(town, web, started):
    tip = town.tip()
    program = started("--watch", "--interval", "1s")
    until("it says nothing", lambda: len(program.told(message="failed", source="git")) > 1)
    assert program.process.poll() is None
    assert program.ask("/healthz")[0] == 200, "a restart would not help"
    status, why = program.ask("/readyz")
    assert status == 503 and b"git: cannot reach" in why
    assert not program.told(message="pass ended")
    web.go()
    until("it makes no pass", lambda: program.told(message="pass ended"))
    assert program.told(message="decided", verdict="error"), "its cluster is away, too"
    status, why = program.ask("/readyz")
    assert status == 503 and b"cluster: " in why, "nothing was seen yet"
    program.process.send_signal(signal.SIGTERM)
    assert program.process.wait(30) == 0
    assert town.tip() == tip


def test_one_that_waits_for_git_hears_that_it_should_stop(web, started):
    program = started("--watch", "--interval", "5m")
    until("it says nothing", lambda: program.told(message="failed", source="git"))
    program.process.send_signal(signal.SIGTERM)
    assert program.process.wait(20) == 0


def test_a_single_pass_does_not_wait(web, started):
    program = started("--log-format", "json")
    assert program.process.wait(60) == 4
    (ended,) = program.told(message="ended")
    assert "cannot reach" in ended["reason"]
