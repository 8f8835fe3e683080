"""The real program with the compiled arguments, by the compiled account, on a real API server: twice."""

from __future__ import annotations

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

from tests.compile.kit import handler
from tests.job.kit import NAME, built, container, project, tree
from tests.job.watcher import Watcher
from tests.publish.kit import World, git
from tests.servers.ask import ask
from tests.servers.process import free_port
from tests.tools import tool


def until(what: str, check: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, what
        time.sleep(0.1)


class Program:
    """One pod's worth of it."""

    def __init__(self, watcher: Watcher, repository: Path, folder: Path, name: str) -> None:
        self.port = free_port()
        self.log = folder / f"{name}.log"
        found = tree(**watcher.spec)
        args = container(built(found, f"overlays/prod/eu/{watcher.home}/_reconciler"))["args"]
        here = {
            "--repo": str(repository),
            "--listen": f"127.0.0.1:{self.port}",
            "--cache": str(folder / f"{name}-cache"),
            "--interval": "10s",
        }
        given = [
            f"{a}={here.get(a, v)}" if e else a for a, e, v in (x.partition("=") for x in args)
        ]
        config = watcher.kube.access.kubeconfig
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "gati_gitops", *given, "--kubeconfig", config],
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, "HOME": str(folder)},
            )

    def said(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def told(self, message: str) -> list[dict[str, Any]]:
        return [line for line in self.said() if line["message"] == message]

    def ask(self, path: str) -> tuple[int, bytes]:
        return ask(self.port, path)

    def leads(self) -> bool:
        return b"gati_gitops_leader 1.0\n" in self.ask("/metrics")[1]

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


@pytest.fixture
def repository(watcher: Watcher, tmp_path: Path) -> World:
    """What the job watches, published."""
    world = World(tmp_path)
    files = {"gati.yaml": project(**watcher.spec), "u.yaml": handler(namespace=watcher.units)}
    world.release(files)
    return world


@pytest.fixture
def programs(
    watcher: Watcher, repository: World, tmp_path: Path
) -> Iterator[tuple[Program, Program]]:
    found = [Program(watcher, repository.output, tmp_path, name) for name in ("one", "two")]
    try:
        yield found[0], found[1]
    finally:
        for one in found:
            one.end()


@pytest.mark.slow
def test_two_of_them_work_as_one(watcher, repository, programs):
    tip = repository.tip()
    until("nobody leads", lambda: any(one.leads() for one in programs))
    leader, other = sorted(programs, key=lambda one: not one.leads())
    until("no pass has ended", lambda: bool(leader.told("pass ended")))
    until("the other is not ready", lambda: other.ask("/readyz")[0] == 200)
    assert leader.ask("/healthz")[0] == leader.ask("/readyz")[0] == 200
    assert other.ask("/readyz")[1].endswith(b" leads\n")
    assert not other.leads() and not other.told("pass ended"), "two work at once"
    (ended, *_) = leader.told("pass ended")
    assert ended["units"] == 1 and len(ended["trace_id"]) == 32
    said = subprocess.run(
        [tool("promtool"), "check", "metrics"], input=leader.ask("/metrics")[1], check=False
    )
    assert said.returncode == 0
    clocks = watcher.kube.get("v1", "ConfigMap", NAME, watcher.home)
    assert clocks is not None
    assert not leader.told("failed") and not other.told("failed")
    # the leader is told to go, and goes; the other takes over at once
    leader.process.send_signal(signal.SIGTERM)
    assert leader.process.wait(30) == 0
    before = time.monotonic()
    until("nobody took over", other.leads, 10)
    assert time.monotonic() - before < 8, "the Lease was not let go"
    until("it makes no passes", lambda: bool(other.told("pass ended")))
    lease = watcher.kube.get("coordination.k8s.io/v1", "Lease", NAME, watcher.home)
    assert lease is not None and lease["spec"]["leaseTransitions"] == 1
    other.process.send_signal(signal.SIGTERM)
    assert other.process.wait(30) == 0
    assert repository.tip() == tip, "a pass that decides nothing writes nothing"
    git(repository.output, "fsck", "--strict")


@pytest.mark.slow
def test_who_may_not_lead_decides_nothing_and_says_why(watcher, repository, tmp_path):
    watcher.plane.api.delete("rbac.authorization.k8s.io/v1", "RoleBinding", watcher.home, NAME)
    time.sleep(1)
    program = Program(watcher, repository.output, tmp_path, "one")
    try:
        until("it says nothing", lambda: bool(program.told("failed")))
        (failed, *_) = program.told("failed")
        assert failed["source"] == "lease" and "leases" in failed["reason"]
        assert program.ask("/readyz")[0] == 503
        assert program.ask("/healthz")[0] == 200, "a restart would not help"
        assert b'errors_total{source="lease"}' in program.ask("/metrics")[1]
        program.process.send_signal(signal.SIGTERM)
        assert program.process.wait(30) == 0
        assert not program.told("pass ended")
    finally:
        program.end()
