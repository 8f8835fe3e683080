"""Alerts about the job: Prometheus accepts them, and they fire when they should and only then."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from gati_gitops.decide.verdict import Verdict
from gati_gitops.reconcile.announce import Announcer, Commit, Pass
from gati_gitops.reconcile.meters import Meters
from tests.docs.blocks import ROOT
from tests.job.kit import NAME, built, job, tree
from tests.reconcile.telling import WHERE, decision, stored
from tests.tools import tool

MINE = f'namespace="gati-system", job="{NAME}", pod="a"'
OTHER = f'namespace="gati-system", job="{NAME}", pod="b"'


def rules(drift: str = "report", **settings: Any) -> list[dict[str, Any]]:
    environments = {"prod": {"clusters": {"eu": {}}, "drift": drift}}
    found = tree(
        job=job(**settings), monitoring={"labels": {"release": "prom"}}, environments=environments
    )
    rule = built(found)["PrometheusRule"]
    assert rule["metadata"]["labels"]["release"] == "prom"
    (group,) = rule["spec"]["groups"]
    return group["rules"]


def promtool(*args: object) -> str:
    done = subprocess.run(
        [tool("promtool"), *map(str, args)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("mode", ["deployment", "cronjob"])
def test_prometheus_itself_accepts_them(mode: str, tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    found = rules("revert", mode=mode)
    file.write_text(yaml.safe_dump({"groups": [{"name": "x", "rules": found}]}))
    assert f"{len(found)} rules found" in promtool("check", "rules", file)


def series(name: str, values: str, labels: str = MINE) -> dict[str, str]:
    return {"series": f"{name}{{{labels}}}", "values": values}


def gati(name: str, values: str, more: str = "", labels: str = MINE) -> dict[str, str]:
    return series(f"gati_gitops_{name}", values, labels + (f", {more}" if more else ""))


EU = 'env="prod", cluster="eu"'
LEADS = gati("leader", "1x120")
# name of the alert, minutes after the beginning, series, whether it fires
CASES = {
    "a pass ends every minute": ("Stuck", 60, [LEADS, gati("last_pass_timestamp_seconds", "0+60x120")], False),
    "passes have stopped to end": ("Stuck", 60, [LEADS, gati("last_pass_timestamp_seconds", "0x120")], True),
    "it is late, but not too late": ("Stuck", 13, [LEADS, gati("last_pass_timestamp_seconds", "0x120")], False),
    "the first pass never ends": ("Stuck", 60, [LEADS, series("process_start_time_seconds", "0x120")], True),
    "it has only just begun": ("Stuck", 60, [LEADS, series("process_start_time_seconds", "3300x120")], False),
    "a fresh pod that waits hides no leader that is stuck": (
        "Stuck", 60,
        [LEADS, gati("last_pass_timestamp_seconds", "0x120"), gati("leader", "0x120", labels=OTHER),
         series("process_start_time_seconds", "3500x120", OTHER)],
        True,
    ),
    "one of two leads": ("NoLeader", 60, [LEADS, gati("leader", "0x120", labels=OTHER)], False),
    "none of two leads": ("NoLeader", 60, [gati("leader", "0x120"), gati("leader", "0x120", labels=OTHER)], True),
    "nobody is there": ("NoLeader", 60, [], True),
    "a change of leaders takes a moment": ("NoLeader", 62, [gati("leader", "1x60 0x2 1x60")], False),
    "the breaker is open": ("BreakerOpen", 60, [gati("breaker_open", "0x50 1x60", 'env="prod"')], True),
    "the breaker is closed": ("BreakerOpen", 60, [gati("breaker_open", "0x120", 'env="prod"')], False),
    "evidence is fresh": ("EvidenceOld", 60, [gati("evidence_age_seconds", "40x120", EU)], False),
    "evidence grows old": ("EvidenceOld", 60, [gati("evidence_age_seconds", "0+60x120", EU)], True),
    "nothing was judged by evidence": ("EvidenceOld", 60, [LEADS], False),
    "an error now and then": ("Errors", 60, [gati("errors_total", "0x55 1x60", 'source="git"')], False),
    "errors every minute": ("Errors", 60, [gati("errors_total", "0+1x120", 'source="git"')], True),
    "a race is lost now and then": ("PushRetries", 60, [gati("push_retries_total", "0x50 4x60")], False),
    "races are lost all the time": ("PushRetries", 60, [gati("push_retries_total", "0+2x120")], True),
    "nobody waits": ("UnitsHeld", 60, [gati("held_units", "0x120", EU)], False),
    "somebody waits for half an hour": ("UnitsHeld", 60, [gati("held_units", "0x20 2x100", EU)], True),
    "somebody has waited for a moment": ("UnitsHeld", 60, [gati("held_units", "0x50 2x70", EU)], False),
}  # fmt: skip
CRON = f'namespace="gati-system", cronjob="{NAME}"'


def run(name: str) -> str:
    return f'namespace="gati-system", job_name="{NAME}-{name}"'


CRON_CASES = {
    "runs go well": (
        "Stuck", 60,
        [series("kube_cronjob_next_schedule_time", "120+60x120", CRON),
         series("kube_cronjob_status_last_schedule_time", "0+60x120", CRON),
         series("kube_cronjob_status_last_successful_time", "0+60x120", CRON)],
        False,
    ),
    "no run has gone well": (
        "Stuck", 60,
        [series("kube_cronjob_next_schedule_time", "120+60x120", CRON),
         series("kube_cronjob_status_last_schedule_time", "0+60x120", CRON),
         series("kube_cronjob_status_last_successful_time", "0x120", CRON)],
        True,
    ),
    "runs are due and do not begin": (
        "Stuck", 60, [series("kube_cronjob_next_schedule_time", "120x120", CRON)], True,
    ),
    "nothing is due at night": (
        "Stuck", 60,
        [series("kube_cronjob_next_schedule_time", "9000x120", CRON),
         series("kube_cronjob_status_last_schedule_time", "600x120", CRON),
         series("kube_cronjob_status_last_successful_time", "600x120", CRON)],
        False,
    ),
    "two runs have failed of late": (
        "Errors", 60,
        [item for n in ("1", "2") for item in (
            series("kube_job_created", "3000x120", run(n)), series("kube_job_status_failed", "1x120", run(n)))],
        True,
    ),
    "they failed yesterday": (
        "Errors", 60,
        [item for n in ("1", "2") for item in (
            series("kube_job_created", "0x120", run(n)), series("kube_job_status_failed", "1x120", run(n)))],
        False,
    ),
    "another job fails": (
        "Errors", 60,
        [item for n in ("1", "2") for item in (
            series("kube_job_created", "3000x120", run(f"x-{n}")),
            series("kube_job_status_failed", "1x120", run(f"x-{n}")))],
        False,
    ),
}  # fmt: skip
DRIFTING = 'namespace="gati-system", cronjob="gati-drift-shop"'


def answered(created: int, failed: int, name: str = "gati-drift-shop-1") -> list[dict[str, str]]:
    """One run, begun so many seconds after the beginning."""
    labels = f'namespace="gati-system", job_name="{name}"'
    return [series("kube_job_created", f"{created}x120", labels),
            series("kube_job_status_failed", f"{failed}x120", labels)]  # fmt: skip


# a run an hour, which is another schedule than the default
HOURLY = series("kube_cronjob_next_schedule_time", "3600x60 7200x60", DRIFTING)
WELL = "kube_cronjob_status_last_successful_time"
DRIFT_CASES = {
    "runs go well": (
        "DriftUnanswered", 90, [HOURLY, series(WELL, "30x60 3630x60", DRIFTING), *answered(3600, 0)], False,
    ),
    "one has failed": (
        "DriftUnanswered", 90, [HOURLY, series(WELL, "30x120", DRIFTING), *answered(3600, 1)], False,
    ),
    "two have failed, one after the other": (
        "DriftUnanswered", 90,
        [HOURLY, series(WELL, "30x120", DRIFTING),
         *answered(1800, 1), *answered(3600, 1, "gati-drift-shop-2")],
        True,
    ),
    "none has ever gone well": (
        "DriftUnanswered", 90, [HOURLY, *answered(60, 1), *answered(3600, 1, "gati-drift-shop-2")], True,
    ),
    "two have failed, and then one went well": (
        "DriftUnanswered", 90,
        [HOURLY, series(WELL, "5000x120", DRIFTING),
         *answered(1800, 1), *answered(3600, 1, "gati-drift-shop-2")],
        False,
    ),
    "runs of the job itself fail": (
        "DriftUnanswered", 90, [HOURLY, *answered(1800, 1, f"{NAME}-1"), *answered(3600, 1, f"{NAME}-2")], False,
    ),
    "runs are due and do not begin": (
        "DriftUnanswered", 60, [series("kube_cronjob_next_schedule_time", "120x120", DRIFTING)], True,
    ),
}  # fmt: skip


def fires(
    tmp_path: Path, found: list[dict[str, Any]], case: tuple[str, int, list[dict[str, str]], bool]
) -> None:
    alert, minute, given, firing = case
    rule = next(r for r in found if r["alert"] == f"GatiReconciler{alert}")
    # only whether it fires: what it says stands in another test
    group = {"name": "x", "interval": "30s", "rules": [{**rule, "annotations": {}}]}
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [group]}))
    # promtool is told that nothing fires, and complains if something does
    expected = {"alertname": rule["alert"], "eval_time": f"{minute}m", "exp_alerts": []}
    test = {"interval": "1m", "input_series": given, "alert_rule_test": [expected]}
    file = tmp_path / "test.yaml"
    file.write_text(yaml.safe_dump({"rule_files": ["rules.yaml"], "tests": [test]}))
    done = subprocess.run(
        [tool("promtool"), "test", "rules", file], capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    assert (done.returncode != 0, "got:" in said) == (firing, firing), said


@pytest.mark.parametrize("name", CASES)
def test_alerts_of_a_deployment(name: str, tmp_path: Path) -> None:
    fires(tmp_path, rules(), CASES[name])


@pytest.mark.parametrize("name", CRON_CASES)
def test_alerts_of_a_cron_job(name: str, tmp_path: Path) -> None:
    fires(tmp_path, rules(mode="cronjob"), CRON_CASES[name])


@pytest.mark.parametrize("name", DRIFT_CASES)
def test_alerts_of_what_answers_drift(name: str, tmp_path: Path) -> None:
    fires(tmp_path, rules("adopt"), DRIFT_CASES[name])


def test_every_alert_is_tried_both_ways() -> None:
    for mode, cases in (("deployment", CASES), ("cronjob", CRON_CASES)):
        tried = {
            (f"GatiReconciler{alert}", firing)
            for alert, _, _, firing in (*cases.values(), *DRIFT_CASES.values())
        }
        found = rules("revert", mode=mode)
        assert tried == {(r["alert"], way) for r in found for way in (True, False)}


@pytest.mark.parametrize("mode", ["deployment", "cronjob"])
def test_where_drift_is_only_told_there_is_no_alert_about_it(mode: str) -> None:
    told, answers = rules(mode=mode), rules("revert", mode=mode)
    assert told == answers[:-1]
    assert answers[-1]["alert"] == "GatiReconcilerDriftUnanswered"


def test_what_the_alerts_read_is_what_the_job_shows() -> None:
    meters = Meters()
    announce = Announcer([meters])
    announce.started(Pass(1, 1.0))
    announce.decided(WHERE, decision(Verdict.HELD, seen_at=1.0), stored())
    announce.breaker("prod", "")
    announce.written(Commit("prod", "a", "s"))
    announce.ended(Pass(1, 1.0), 2.0)
    shown = {sample.name for metric in meters.registry.collect() for sample in metric.samples}
    board = json.loads(next(iter(dashboard()["data"].values())))
    texts = [rule["expr"] for rule in rules()]
    texts += [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    read = {name for text in texts for name in re.findall(r"\b(?:gati_gitops|process)_\w+", text)}
    assert len(read) > 8
    assert read <= shown


def dashboard() -> dict[str, Any]:
    found = tree(monitoring={"namespace": "observability"})
    path = "overlays/prod/eu/observability/_namespace/dashboard-reconciler.yaml"
    return yaml.safe_load(found[path])


def test_the_dashboard_is_one_that_grafana_finds(tmp_path: Path) -> None:
    item = dashboard()
    assert item["metadata"]["namespace"] == "observability"
    assert item["metadata"]["labels"]["grafana_dashboard"] == "1"
    (text,) = item["data"].values()
    board = json.loads(text)
    assert len(board["uid"]) <= 40 and board["panels"]
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    exprs = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    file = tmp_path / "rules.yaml"
    records = [{"record": f"x:{n}", "expr": expr} for n, expr in enumerate(exprs)]
    file.write_text(yaml.safe_dump({"groups": [{"name": "x", "rules": records}]}))
    promtool("check", "rules", file)


def test_every_alert_leads_to_a_section_of_the_runbook() -> None:
    text = (ROOT / "docs/runbooks.md").read_text()
    anchors = {re.sub(r"[^a-z0-9 -]", "", line[3:].strip().lower()).replace(" ", "-")
               for line in text.splitlines() if line.startswith("##")}  # fmt: skip
    anchors |= {a.strip("-") for a in anchors}
    for mode in ("deployment", "cronjob"):
        for rule in rules("revert", mode=mode):
            url = rule["annotations"]["runbook_url"]
            assert url.startswith("docs/runbooks.md#")
            assert url.partition("#")[2] in anchors, url
    own = rules(runbooks="https://wiki.example/gati")
    assert own[0]["annotations"]["runbook_url"].startswith("https://wiki.example/gati#")


def test_without_prometheus_there_is_nothing_for_it() -> None:
    objects = built(tree())
    assert "PrometheusRule" not in objects and "ServiceMonitor" not in objects
    quiet = tree(monitoring={"rules": False, "dashboard": False})
    assert "PrometheusRule" not in built(quiet)
    assert not [path for path in quiet if path.endswith("dashboard-reconciler.yaml")]


@pytest.mark.parametrize(
    "words",
    [
        "a step lasts",
        "in a row proved nothing",
        "in a row could not be made",
        "a person wants nothing to move",
        "the traffic is in a person's hands",
        "it stays there",
    ],
)
def test_what_stands_still_is_in_the_runbook_by_its_own_words(words: str) -> None:
    code = "".join(path.read_text() for path in (ROOT / "gati_gitops/decide").glob("*.py"))
    assert words in code, "the job says it in other words by now"
    assert words.lower() in (ROOT / "docs/runbooks.md").read_text().lower()
