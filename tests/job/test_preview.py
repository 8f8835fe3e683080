"""A preview shows the job as a cluster gets it: built, with what it is patched by."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gati_gitops.cli.main import run
from tests.compile.kit import handler
from tests.job.kit import NAME, job, project


@pytest.fixture
def preview(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """The job's objects that differ between two projects, by kind."""

    def compared(before: dict[str, Any], after: dict[str, Any]) -> dict[str, dict[str, Any]]:
        for name, spec in (("a", before), ("b", after)):
            folder = tmp_path / name
            folder.mkdir(exist_ok=True)
            (folder / "gati.yaml").write_text(project(**spec))
            (folder / "u.yaml").write_text(handler())
        sides = ["--base", str(tmp_path / "a"), "--head", str(tmp_path / "b")]
        assert run(["preview", *sides, "--format", "json"]) == 1
        found = changes(json.loads(capsys.readouterr().out))
        return {one["id"]["kind"]: one for one in found if one["id"]["name"] == NAME}

    return compared


def changes(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict) and {"id", "action"} <= value.keys():
        yield value
        return
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, (dict, list)):
            yield from changes(inner)


def test_another_image_is_a_change_of_the_deployment(preview):
    after = {"job": job(image="registry.example.com/gati-gitops:1.3.0", replicas=2)}
    found = preview({}, after)
    assert {kind: one["action"] for kind, one in found.items()} == {
        "Deployment": "change",
        "PodDisruptionBudget": "create",
    }
    fields = json.dumps(found["Deployment"]["fields"])
    assert "gati-gitops:1.3.0" in fields and "replicas" in fields


def test_a_job_that_comes_and_one_that_goes(preview):
    off = {"job": job(enabled=False)}
    came = preview(off, {})
    assert {one["action"] for one in came.values()} == {"create"}
    assert {"ClusterRole", "Deployment", "NetworkPolicy", "ServiceAccount"} <= came.keys()
    went = preview({}, off)
    assert {one["action"] for one in went.values()} == {"delete"}
    assert came.keys() == went.keys()


def test_a_job_that_is_the_same_is_not_told(preview, tmp_path):
    found = preview({}, {"network": {"egress": [{"cidr": "10.9.0.0/16"}]}})
    assert found == {}
