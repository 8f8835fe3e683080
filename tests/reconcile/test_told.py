"""What a real pass tells: to the log, to Prometheus, and when too much fails at once."""

from __future__ import annotations

import io
import json

from gati_gitops.reconcile.announce import Announcer
from gati_gitops.reconcile.logs import Logs
from gati_gitops.reconcile.meters import Meters
from gati_gitops.reconcile.traces import Traces
from tests.compile.kit import handler, project
from tests.reconcile.town import QUICK


class Told:
    """Log lines and metrics of the passes of a town."""

    def __init__(self, town):
        self.town = town
        self.stream = io.StringIO()
        traces = Traces()
        self.meters = Meters(lambda: town.clock)
        logs = Logs(self.stream, "json", lambda: town.clock, traces.current)
        self.announce = Announcer([traces, logs, self.meters])

    def passed(self) -> list[dict]:
        before = len(self.stream.getvalue())
        self.town.look(announce=self.announce)
        return [json.loads(line) for line in self.stream.getvalue()[before:].splitlines()]

    def value(self, name: str, **labels: str) -> float | None:
        return self.meters.registry.get_sample_value(f"gati_gitops_{name}", labels)


def test_a_pass_tells_what_it_decided_and_what_it_wrote(town):
    files = {"gati.yaml": project(rollout=QUICK), "users.yaml": handler()}
    town.release(files)
    town.wait(60)
    told = Told(town)
    told.passed()
    town.release({"users.yaml": handler(version="v2")})
    for _ in range(20):
        town.wait(30)
        lines = told.passed()
        if any(line["message"] == "committed" for line in lines):
            break
    committed = next(line for line in lines if line["message"] == "committed")
    decided = next(line for line in lines if line["message"] == "decided")
    assert decided["unit"] == "shop/users" and decided["env"] == "prod"
    assert decided["verdict"] in ("start", "advance", "prepare")
    assert committed["commit"] == town.tip()
    assert len({line["trace_id"] for line in lines}) == 1, "a pass is one trace"
    assert told.value("commits_total", env="prod") == 1
    assert told.value("breaker_open", env="prod") == 0
    assert told.value("last_pass_timestamp_seconds") == town.clock


def test_when_too_much_fails_at_once_it_is_told(town):
    names = [f"u{number}" for number in range(6)]
    rollout = {**QUICK, "breaker": {"units": 3, "percent": 20}}
    files = {f"{name}.yaml": handler(name) for name in names}
    town.release({"gati.yaml": project(rollout=rollout), **files})
    town.wait(60)
    told = Told(town)
    told.passed()
    town.release({f"{name}.yaml": handler(name, "v2") for name in names})
    town.wait(30)
    for name in names:
        town.site().behaves("v2", unit=f"handler-{name}", ready=False, waiting="CrashLoopBackOff")
    lines: list[dict] = []
    for _ in range(60):
        town.wait(30)
        lines += told.passed()
        if told.value("breaker_open", env="prod"):
            break
    assert told.value("breaker_open", env="prod") == 1
    (opened,) = [line for line in lines if line["message"] == "breaker open"]
    assert opened["level"] == "error" and "what is measured is doubted" in opened["reason"]
    assert not [line for line in lines if line.get("verdict") == "rollback"]
    for name in names:
        town.site().behaves("v2", unit=f"handler-{name}", ready=True, waiting="")
    for _ in range(20):
        town.wait(30)
        lines = told.passed()
        if not told.value("breaker_open", env="prod"):
            break
    assert told.value("breaker_open", env="prod") == 0
    assert [line["message"] for line in lines if "breaker" in line["message"]] == ["breaker closed"]
