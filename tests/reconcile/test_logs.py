"""Lines: one for each event that is news, without secrets, as JSON or for people."""

from __future__ import annotations

import io
import json

import pytest

from gati_gitops.decide.verdict import Verdict
from gati_gitops.reconcile.announce import Announcer, Commit, Pass
from gati_gitops.reconcile.logs import Logs
from gati_gitops.reconcile.traces import Traces
from tests.reconcile.telling import WHERE, decision, stored


class Lines:
    def __init__(self, format="json", level="info"):
        self.stream = io.StringIO()
        self.traces = Traces()
        logs = Logs(self.stream, format, lambda: 1900000000.25, self.traces.current, level)
        self.announce = Announcer([self.traces, logs])

    def text(self) -> list[str]:
        return self.stream.getvalue().splitlines()

    def told(self) -> list[dict]:
        return [json.loads(line) for line in self.text()]

    def passed(self, verdict: Verdict, number: int = 1, reason: str = "because") -> list[dict]:
        """One pass with one decision; what was told of it."""
        before = len(self.text())
        this = Pass(number, 1899999999.0)
        self.announce.started(this)
        with self.announce.span("pass"):
            self.announce.decided(WHERE, decision(verdict, reason), stored())
        self.announce.ended(this, 1900000000.0, 2)
        return self.told()[before:]


def test_a_decision_says_all_that_is_asked_of_it():
    decided, ended = Lines().passed(Verdict.ADVANCE, reason="99.9 % of 900 requests are well")
    assert decided == {
        "time": "2030-03-17T17:46:40.250Z",
        "level": "info",
        "message": "decided",
        "trace_id": decided["trace_id"],
        "span_id": decided["span_id"],
        "env": "default",
        "cluster": "in-cluster",
        "unit": "shop/users",
        "verdict": "advance",
        "reason": "99.9 % of 900 requests are well",
    }
    assert len(decided["trace_id"]) == 32 and len(decided["span_id"]) == 16
    assert ended["trace_id"] == decided["trace_id"], "a pass is one trace"
    assert ended["seconds"] == 1.0 and ended["units"] == 1 and ended["waiting"] == 2
    assert ended["verdicts"] == {"advance": 1}


def test_two_passes_are_two_traces():
    lines = Lines()
    one, two = lines.passed(Verdict.HOLD)[0], lines.passed(Verdict.HOLD, 2)[0]
    assert one["trace_id"] != two["trace_id"]


@pytest.mark.parametrize("verdict", [Verdict.STEADY, Verdict.WAIT])
def test_what_stays_as_it_was_is_no_news(verdict):
    lines = Lines()
    for number in range(1, 4):
        assert [one["message"] for one in lines.passed(verdict, number)] == ["pass ended"]


def test_what_changes_is_told_once_and_what_is_done_always():
    lines = Lines()
    verdicts = (
        Verdict.WAIT,
        Verdict.ERROR,
        Verdict.ERROR,
        Verdict.WAIT,
        Verdict.HOLD,
        Verdict.HOLD,
    )
    told = [len(lines.passed(verdict, n)) - 1 for n, verdict in enumerate(verdicts, 1)]
    assert told == [0, 1, 0, 1, 1, 1]


def test_everything_is_told_to_who_asks_for_it():
    lines = Lines(level="debug")
    told = lines.passed(Verdict.STEADY)
    assert [one["message"] for one in told] == ["pass started", "decided", "pass ended"]
    assert told[1]["level"] == "debug"


@pytest.mark.parametrize(
    ("verdict", "level"),
    [
        (Verdict.ROLLBACK, "warning"),
        (Verdict.HOLD, "warning"),
        (Verdict.ERROR, "warning"),
        (Verdict.START, "info"),
    ],
)
def test_what_needs_people_stands_out(verdict, level):
    assert Lines().passed(verdict)[0]["level"] == level


def test_only_what_is_worth_a_line_is_one():
    lines = Lines(level="error")
    lines.passed(Verdict.ROLLBACK)
    lines.announce.failed("git", "it is away", "prod", "eu")
    (failed,) = lines.told()
    assert failed["level"] == "error" and failed["source"] == "git" and failed["cluster"] == "eu"


def test_no_secret_is_written_whoever_says_it():
    token = "ghp_" + "a1B2" * 9
    lines = Lines()
    lines.passed(Verdict.ERROR, reason=f"https://bot:hunter22@git.example.com said {token}")
    lines.announce.failed("git", f"401 for {token}")
    lines.announce.written(Commit("prod", "abc", f"subject {token}", pull_request="https://x/1"))
    text = "\n".join(lines.text())
    assert token not in text and "hunter22" not in text
    assert "***" in text


def test_a_page_in_place_of_an_answer_is_cut_and_stays_one_line():
    lines = Lines()
    lines.announce.failed("metrics", "<html>\n" + "x" * 10_000)
    (text,) = lines.text()
    assert len(text) < 3000


def test_commits_and_pull_requests_are_told_apart():
    lines = Lines()
    lines.announce.written(Commit("prod", "abc", "Give cart 10 %", retries=2))
    lines.announce.written(Commit("prod", "def", "Start cart", pull_request="https://x/pull/1"))
    one, two = lines.told()
    assert (one["message"], one["commit"], one["retries"]) == ("committed", "abc", 2)
    assert (two["message"], two["pull_request"]) == ("offered", "https://x/pull/1")


def test_a_breaker_is_told_when_it_opens_and_when_it_closes():
    lines = Lines()
    for why in ("", "9 fail at once", "9 fail at once", ""):
        lines.announce.breaker("prod", why)
    assert [(one["message"], one["level"]) for one in lines.told()] == [
        ("breaker open", "error"),
        ("breaker closed", "info"),
    ]


def test_lines_for_people():
    lines = Lines("text")
    lines.announce.decided(WHERE, decision(Verdict.HOLD, "line\nbreak \x1b[31m"), stored())
    lines.announce.leads("", ours=False)
    held, follows = lines.text()
    assert held.startswith(
        "2030-03-17T17:46:40.250Z warning decided: default/in-cluster shop/users hold: line"
    )
    assert "\x1b" not in held
    assert follows.endswith("info    follows: leader=nobody")


def test_a_unit_whose_plan_cannot_be_read_is_named_by_its_folder():
    lines = Lines()
    lines.announce.decided(WHERE, decision(Verdict.ERROR), None)
    assert lines.told()[0]["unit"] == "shop/handler-users"
