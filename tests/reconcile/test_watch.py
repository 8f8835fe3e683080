"""Pass after pass: one at a time, at an interval, slower while Git fails, and gone when told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

import pytest

from gati_gitops.errors import Outside
from gati_gitops.reconcile import watch as watching
from gati_gitops.reconcile.fence import Fence, LostFence
from gati_gitops.reconcile.watch import LONGEST, Watch
from tests.compile.kit import handler, project
from tests.publish.kit import git
from tests.reconcile.town import QUICK


class Passes:
    """What run_pass gives, one after the other; the watch is stopped after the last."""

    def __init__(self, monkeypatch, *results):
        self.results, self.begun, self.pauses = list(results), 0, []
        self.stop, self.now = Event(), 0.0
        monkeypatch.setattr(watching, "run_pass", self.run)

    def run(self, _job, _number):
        self.begun += 1
        self.now += 5.0
        result = self.results.pop(0)
        if not self.results:
            self.stop.set()
        if isinstance(result, Exception):
            raise result
        return result

    def watch(self, **options):
        job = type("Job", (), {"fence": Fence("job")})()
        return Watch(
            job, 60.0, stop=self.stop, wait=self.pauses.append, random=lambda: 0.5,
            clock=lambda: self.now, **options,
        )  # fmt: skip


class Fine:
    error = None


class Bad:
    error = Outside("git is down")


def test_an_interval_counts_from_beginning_to_beginning(monkeypatch):
    passes = Passes(monkeypatch, Fine, Fine, Fine)
    assert passes.watch().run() == 3
    assert passes.pauses == [55.0, 55.0], "a pass took 5 s; after the last nobody waits"


def test_while_git_fails_passes_are_fewer_and_then_as_before(monkeypatch):
    failing = [Outside("git is down")] * 6
    passes = Passes(monkeypatch, *failing, Bad, Fine, Fine)
    told = []
    passes.watch(tell=told.append).run()
    assert [pause + 5 for pause in passes.pauses] == [60, 120, 240, LONGEST, LONGEST, LONGEST, LONGEST, 60]  # fmt: skip
    assert len(told) == 9, "each is told"


def test_a_spread_keeps_jobs_from_marching_in_step(monkeypatch):
    passes = Passes(monkeypatch, Fine, Fine)
    watch = passes.watch()
    watch.random = lambda: 1.0
    watch.run()
    assert passes.pauses == [pytest.approx(61.0)]


def test_who_does_not_lead_makes_no_pass_and_who_leads_again_begins_a_term(monkeypatch):
    passes = Passes(monkeypatch, Fine, Fine)
    leads = iter([False, True, False, True])
    watch = passes.watch(leader=lambda _: next(leads))
    terms = []
    monkeypatch.setattr(Fence, "renew", lambda _: terms.append(passes.begun))
    assert watch.run() == 2
    assert terms == [0, 1]


def test_a_leader_that_lost_the_fence_takes_a_new_term(monkeypatch):
    lost = LostFence("another process", remedy="none")
    passes = Passes(monkeypatch, lost, Fine)
    told = []
    assert passes.watch(leader=lambda _: True, tell=told.append).run() == 2
    assert told == [lost, Fine]


@pytest.mark.parametrize("foreign", [True, False])
def test_without_a_lease_or_against_another_job_a_lost_fence_ends_it(monkeypatch, foreign):
    passes = Passes(monkeypatch, LostFence("theirs", remedy="none", foreign=foreign))
    with pytest.raises(LostFence):
        passes.watch(leader=(lambda _: True) if foreign else None).run()


def test_a_pass_that_never_ends_is_ended(monkeypatch):
    late = []
    passes = Passes(monkeypatch, Fine)
    slow = passes.run

    def run(*arguments):
        time.sleep(0.2)
        return slow(*arguments)

    monkeypatch.setattr(watching, "run_pass", run)
    passes.watch(deadline=0.05, overdue=late.append).run()
    assert late == [0.05]


class Closed(BaseHTTPRequestHandler):
    """An API server that lets nobody in."""

    def do_GET(self):
        body = b'{"kind": "Status", "message": "not for you"}'
        self.send_response(403)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def closed():
    with ThreadingHTTPServer(("127.0.0.1", 0), Closed) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_sigterm_ends_a_watch_between_passes_and_leaves_the_branch(town, tmp_path, closed):
    """The real program, on a real repository, with a cluster that lets nobody in."""
    town.release({"gati.yaml": project(rollout=QUICK), "users.yaml": handler()})
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: x\n"
        f"clusters: [{{name: x, cluster: {{server: '{closed}'}}}}]\n"
        "contexts: [{name: x, context: {cluster: x, user: x}}]\n"
        "users: [{name: x, user: {}}]\n"
    )
    tip = town.tip()
    program = subprocess.Popen(
        [sys.executable, "-m", "gati_gitops", "reconcile", "--repo", str(town.output), "--watch",
         "--interval", "1s", "--kubeconfig", str(kubeconfig), "--clocks", str(tmp_path / "clocks")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "NO_COLOR": "1"},
    )  # fmt: skip
    try:
        told = iter(lambda: json.loads(program.stdout.readline()), None)
        decided = next(one for one in told if one["message"] == "decided")
        assert decided["verdict"] == "error"
        program.send_signal(signal.SIGTERM)
        assert program.wait(20) == 0
    finally:
        program.kill()
        program.communicate()
    assert town.tip() == tip
    git(town.output, "fsck", "--strict")
