"""Settings that can't work are refused, and unsafe ones are warned of: with their line and a remedy."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from gati_gitops.cli.main import run
from gati_gitops.observe import prometheus_query
from gati_gitops.plan.sensible import SLOWEST, check_settings
from gati_gitops.spec.load import load

CLUSTERS = {"clusters": {"east": {}, "west": {}}}
JOB = {"image": "shop/gati-gitops:1", "repository": "https://git.example.com/deploy"}
HANDLER = """\
apiVersion: gati.dev/v1alpha1
kind: GatiHandler
metadata: {name: users}
spec: {handlerPath: /users, version: v1, replicas: 1, image: "shop/users:1", port: 80}
"""


def gati(prod: dict[str, Any] | None = None, **spec: Any) -> str:
    environments = {"staging": {"clusters": {"test": {}}}, "prod": CLUSTERS | (prod or {})}
    head = {"apiVersion": "gati.dev/v1alpha1", "kind": "GatiProject", "metadata": {"name": "shop"}}
    return yaml.safe_dump(head | {"spec": {"environments": environments, **spec}}, sort_keys=False)


def found(prod: dict[str, Any] | None = None, **spec: Any) -> list[tuple[str, str, str]]:
    """Severity, code and the text of the line that is named."""
    text = gati(prod, **spec)
    problems = list(check_settings(load([("gati.yaml", text.encode())])))
    assert all(problem.remedy for problem in problems)
    lines = text.splitlines()
    return sorted({(p.severity.value, p.code, lines[p.place.line - 1].strip()) for p in problems})


def analysis(**said: Any) -> dict[str, Any]:
    return {"rollout": {"analysis": said}}


def test_the_defaults_are_sensible():
    assert found() == []
    assert list(check_settings(load([("users.yaml", HANDLER.encode())]))) == []


# -- latency ---------------------------------------------------------------------------------------


def test_the_limit_is_where_the_runtimes_histogram_ends():
    assert prometheus_query._BUCKETS[-1] * 1000 == SLOWEST


@pytest.mark.parametrize("said", [5001, 10_000])
def test_latency_that_no_bucket_tells_is_refused(said):
    want = [("error", "latency-unmeasurable", f"latencyMilliseconds: {said}")]
    assert found(**analysis(latencyMilliseconds=said)) == want
    assert found(analysis(latencyMilliseconds=said)) == want


def test_latency_of_the_last_bucket_is_fine():
    assert found(**analysis(latencyMilliseconds=5000)) == []


def test_what_an_environment_says_better_is_not_held_against_the_project():
    """staging has the project's number, prod its own."""
    text = gati(analysis(latencyMilliseconds=500), **analysis(latencyMilliseconds=9000))
    (problem,) = check_settings(load([("gati.yaml", text.encode())]))
    assert problem.field == "spec.rollout.analysis.latencyMilliseconds"
    assert " in prod" not in problem.message


def test_an_alert_that_can_never_fire_is_warned_of():
    def told(said: int, **more: Any) -> list[tuple[str, str, str]]:
        return found(monitoring={"objectives": {"latencyMilliseconds": said}, **more})

    assert told(4999) == []
    want = [("warning", "latency-unmeasurable", "latencyMilliseconds: 5000")]
    assert told(5000) == want
    assert told(5000, rules=False) == []  # there is no alert


# -- times -----------------------------------------------------------------------------------------


def test_a_step_that_must_last_longer_than_it_may_is_refused_with_both_lines():
    text = gati(analysis(maxStep="4m"), **analysis(stepFor="5m"))
    (problem,) = check_settings(load([("gati.yaml", text.encode())]))
    lines = text.splitlines()
    assert problem.is_error and problem.code == "step-impossible"
    assert "5m (stepFor)" in problem.message and "4m (maxStep) in prod" in problem.message
    assert lines[problem.place.line - 1].strip() == "maxStep: 4m"
    ((other, words),) = problem.related
    assert lines[other.line - 1].strip() == "stepFor: 5m" and "stepFor" in words


def test_a_step_longer_than_the_default_allows_is_refused_where_it_is_said():
    assert found(analysis(stepFor="3h")) == [("error", "step-impossible", "stepFor: 3h")]
    assert found(analysis(stepFor="3h"), **analysis(maxStep="6h")) == []
    assert found(**analysis(stepFor="2h")) == []  # the default of maxStep


def test_parking_for_a_moment_is_warned_of():
    want = [("warning", "park-short", "parkFor: 1s")]
    assert found(decommission={"parkFor": "1s"}) == want
    assert found({"decommission": {"parkFor": "1s"}}) == want
    assert found(decommission={"parkFor": "10m"}) == []
    # where a person removes, nothing is removed too early
    assert found(decommission={"parkFor": "1s", "automatic": False}) == []


def test_rare_scrapes_are_warned_of():
    want = [("warning", "scrapes-rare", "intervalSeconds: 61")]
    assert found(monitoring={"intervalSeconds": 61}) == want
    assert found(monitoring={"intervalSeconds": 60}) == []


# -- drift -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["revert", "adopt"])
def test_drift_that_nobody_answers_is_warned_of(policy):
    want = [("warning", "drift-unanswered", f"drift: {policy}")]
    assert found({"drift": policy}) == want
    assert found({"drift": policy}, job=JOB) == []
    assert found({"drift": policy}, job=JOB | {"enabled": False}) == want


def test_only_the_clusters_without_a_job_are_named():
    clusters = {"east": {}, "west": {"job": {"enabled": False}}}
    text = gati({"drift": "revert", "clusters": clusters}, job=JOB)
    (problem,) = check_settings(load([("gati.yaml", text.encode())]))
    assert "runs on west:" in problem.message and "east" not in problem.message


# -- validate --------------------------------------------------------------------------------------


def test_validate_tells_all_of_them_at_once(tmp_path, capsys):
    (tmp_path / "users.yaml").write_text(HANDLER)
    spec = {
        **analysis(latencyMilliseconds=10_000, maxStep="1m"),
        "decommission": {"parkFor": "1s"},
        "monitoring": {"intervalSeconds": 120},
    }
    (tmp_path / "gati.yaml").write_text(gati({"drift": "adopt"}, **spec))
    assert run(["validate", str(tmp_path)]) == 3
    told = capsys.readouterr().out
    for code in ("error[latency-unmeasurable]", "error[step-impossible]", "warning[park-short]",
                 "warning[scrapes-rare]", "warning[drift-unanswered]"):  # fmt: skip
        assert told.count(code) == 1, told


def test_what_is_only_unsafe_is_no_reason_to_fail(tmp_path, capsys):
    (tmp_path / "users.yaml").write_text(HANDLER)
    (tmp_path / "gati.yaml").write_text(gati(decommission={"parkFor": "1s"}))
    assert run(["validate", str(tmp_path)]) == 0
    assert "1 warning" in capsys.readouterr().out
    assert run(["validate", str(tmp_path), "--strict"]) == 3
