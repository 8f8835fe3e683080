"""Pods that a rollout keeps are the ledger's doing, and so is the file of the job."""

from __future__ import annotations

import pytest

from gati_gitops.cli.main import run
from gati_gitops.decide.moves import moved as made
from gati_gitops.decide.verdict import Move, Verdict
from gati_gitops.reconcile.fence import Term, fence_file
from tests.compile.acts import acted
from tests.compile.kit import UNIT, canary, handler, ledger, tree_of, write

HPA = {"min": 2, "max": 9, "metrics": [{"type": "cpu", "utilization": 70}]}


@pytest.mark.parametrize(
    "spec, file, field",
    [
        ({"autoscaling": HPA}, "scaling.yaml", "spec.minReplicas"),
        ({}, "", "spec.replicas"),
    ],
)
@pytest.mark.parametrize("floor", [0, 7])
def test_a_floor_is_explained_by_the_ledger(tmp_path, capsys, spec, file, field, floor):
    files = {"gati.yaml": canary(), "users.yaml": handler(**spec)}
    later = {**files, "users.yaml": handler(version="v2", **spec)}
    tree = tree_of(later, tree_of(files))
    digest = ledger(tree).live("v2").digest
    move = Move(Verdict.ADVANCE, "v2", digest, weight=10, floor=floor, room=floor)
    tree = acted(tree, made, move)
    write(tree, tmp_path / "deploy")
    write({name: text.encode() for name, text in later.items()}, tmp_path / "specs")
    code = run(
        [
            "explain",
            str(tmp_path / "deploy" / UNIT / file),
            field,
            "--specs",
            str(tmp_path / "specs"),
        ]
    )
    out = capsys.readouterr().out
    assert code == 0, out
    assert ("rollout.yaml" in out) == bool(floor), out


def test_the_file_of_the_job_is_explained(tmp_path, capsys):
    files = {"gati.yaml": canary(), "users.yaml": handler()}
    tree = tree_of(files)
    path = "overlays/prod/job.yaml"
    tree[path] = fence_file({"east": Term("job", 3, "x")})
    write(tree, tmp_path / "deploy")
    write({name: text.encode() for name, text in files.items()}, tmp_path / "specs")
    arguments = ["explain", str(tmp_path / "deploy" / path), "clusters.east.term"]
    assert run([*arguments, "--specs", str(tmp_path / "specs")]) == 0
    assert "which job writes here" in capsys.readouterr().out
