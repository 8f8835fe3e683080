"""What is around the passes of a process, as the command line asks for it."""

from __future__ import annotations

import io
import json
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import click
import pytest

from gati_gitops.cli.reconciling import Asked
from gati_gitops.cli.running import ending_in_a_line, running_of
from gati_gitops.decide.verdict import Verdict
from gati_gitops.errors import Misnamed, Outside
from gati_gitops.observe.kube_config import Access
from gati_gitops.reconcile.announce import Listener, Pass
from gati_gitops.reconcile.running import Running, Wanted
from tests.reconcile.telling import WHERE, decision, stored
from tests.servers.ask import ask as ask_port

NOWHERE = {"eu": Access(kubeconfig="/nowhere")}


def running(
    wanted: Wanted, accesses: Any = None, environ: Any = None
) -> tuple[Running, io.StringIO]:
    stream = io.StringIO()
    found = Running(wanted, environ or {}, stream, interval=30, deadline=60)
    found.reach(NOWHERE if accesses is None else accesses)
    return found, stream


def options(**given: Any) -> dict[str, Any]:
    blank = {"listen": None, "lease": None, "log_format": None, "log_level": "info", "events": False,
             "status": False, "format": "text"}  # fmt: skip
    return {**blank, **given}


def of(watch: bool = False, dry_run: bool = False, **given: Any) -> Running:
    asked = SimpleNamespace(watch=watch, dry_run=dry_run, interval=30.0, deadline=60.0)
    found = running_of(options(**given), cast("Asked", asked))
    found.reach(NOWHERE)
    return found


def test_without_anything_asked_for_a_pass_leads_and_nobody_is_told():
    found, stream = running(Wanted())
    with found:
        announce = found.announcer()
        announce.started(Pass(1, 1.0))
        announce.ended(Pass(1, 1.0), 2.0)
        assert found.leads() and found.leader is None
    assert stream.getvalue() == ""


def test_the_port_tells_of_the_passes():
    found, _ = running(Wanted(listen="127.0.0.1:0"))
    with found:
        announce = found.announcer()
        assert found.server is not None
        ask = partial(ask_port, found.server.port)

        assert ask("/healthz")[0] == 200
        assert ask("/readyz") == (503, b"no: leads, 0 passes made\n")
        announce.started(Pass(1, 1.0))
        announce.decided(WHERE, decision(Verdict.WAIT), stored())
        announce.ended(Pass(1, 1.0), 2.0)
        assert ask("/readyz")[0] == 200
        assert b'verdict="wait"' in ask("/metrics")[1]


def test_what_stands_in_the_way_of_the_first_pass_is_told_by_all():
    found, stream = running(Wanted(listen="127.0.0.1:0", log_format="json"))
    with found:
        assert found.server is not None
        found.failed("git", "cannot reach https://robot:hunter2@git.example.com/")
        ask = partial(ask_port, found.server.port)

        assert ask("/healthz")[0] == 200, "a restart would not help"
        status, why = ask("/readyz")
        assert status == 503
        assert b"git: cannot reach https://robot:***@git.example.com/" in why
        assert b'errors_total{source="git"} 1.0' in ask("/metrics")[1]
    (told,) = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert (told["message"], told["source"]) == ("failed", "git")


def test_others_may_listen_too_and_hear_before_those_who_take_time():
    class Ear(Listener):
        heard = 0

        def ended(self, this: Pass, now: float, waiting: int) -> None:
            self.heard += 1

    ear = Ear()
    found, _ = running(Wanted())
    with found:
        found.announcer(ear).ended(Pass(1, 1.0), 2.0)
    assert ear.heard == 1


@pytest.mark.parametrize(
    ("wanted", "accesses", "words"),
    [
        (Wanted(lease="job"), None, "--lease job is no Lease"),
        (Wanted(lease="a/"), None, "is no Lease"),
        (Wanted(lease="a/b"), {"eu": Access(), "us": Access()}, "several are looked at"),
        (Wanted(listen="nonsense"), None, "is no address"),
    ],
)
def test_what_cannot_be(wanted, accesses, words):
    with pytest.raises(Misnamed, match=words):
        running(wanted, accesses)


def test_who_cannot_reach_the_lease_does_not_lead_and_says_so():
    found, stream = running(Wanted(lease="a/b", log_format="json"))
    with found:
        found.announcer()
        assert found.leader is not None and not found.leader(0.1)
        assert not found.leads()
    told = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert told[0]["source"] == "lease"


def test_lines_are_for_programs_where_no_person_looks(monkeypatch, capsys):
    assert of(watch=True).logs is not None
    assert of().logs is None, "one pass is told as a table"
    assert of(watch=True, format="json").logs is None, "a format of its own was asked for"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert of(watch=True).logs is None
    assert of(log_format="json").logs is not None


def test_a_dry_run_tells_no_cluster():
    quiet = of(events=True, status=True, dry_run=True)
    loud = of(events=True, status=True)
    assert len(quiet._listeners) == len(loud._listeners) - 2


def test_a_lease_is_for_who_goes_on():
    with pytest.raises(click.UsageError, match="not without --watch"):
        of(lease="a/b")


def test_the_last_word_is_a_line_too(capsys):
    found = of(log_format="json")
    with pytest.raises(SystemExit) as ended, ending_in_a_line(found):
        raise Outside("Git is away", remedy="wait")
    assert ended.value.code == 4
    line = json.loads(capsys.readouterr().out)
    assert (line["message"], line["reason"], line["remedy"]) == ("ended", "Git is away", "wait")
    with pytest.raises(Outside), ending_in_a_line(of()):
        raise Outside("Git is away", remedy="wait")
