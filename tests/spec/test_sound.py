"""One broken document hides nothing about others, and makes no innocent one look guilty."""

from pathlib import Path

import pytest

from gati_gitops.cli.main import run
from gati_gitops.errors import SpecsInvalid
from gati_gitops.spec.load import examine, load
from tests.spec.samples import HANDLER, PARTIAL, PROJECT

VERSION = """\
apiVersion: gati.dev/v1alpha1
kind: GatiVersion
metadata: {name: user-handler-v0}
spec: {versionId: v0, breaking: false, routingWeight: 40, image: "r/users:0"}
"""
HALF = HANDLER + "  timescape: {routingWeight: 50}\n"
BROKEN = HANDLER.replace("user-handler", "broken").replace("3000", "0")
ELSEWHERE = BROKEN.replace("/api/users", "/broken")


def reported(tmp_path: Path, capsys: pytest.CaptureFixture[str], **files: str) -> list[str]:
    for name, text in files.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    assert run(["validate", str(tmp_path)]) == 3
    lines = capsys.readouterr().out.splitlines()
    return [line.partition("error[")[2].partition("]")[0] for line in lines if "error[" in line]


def test_rules_across_documents_are_checked_beside_a_broken_one(tmp_path, capsys):
    assert reported(tmp_path, capsys, a=HALF, b=ELSEWHERE) == ["weights-sum", "out-of-range"]


@pytest.mark.parametrize(
    "files",
    [
        {"a": HALF, "b": BROKEN},  # the broken handler is a version of the other one
        {"a": HALF, "b": VERSION.replace("40", "101")},
        {"a": BROKEN.replace("name: broken", "name: user-handler"), "b": VERSION},
        {"a": HALF, "b": ELSEWHERE.replace("  name: broken\n", "  nam: broken\n")},
        {"a": HALF, "b": ELSEWHERE.replace("  handlerPath: /broken\n", "")},
        {"a": HALF, "b": ELSEWHERE, "c": VERSION},  # no handler named: it could be anybody's
        {"a": HALF, "gati": PROJECT.replace("clusters", "cluster", 1)},
    ],
)
def test_what_a_broken_document_may_belong_to_is_not_accused(tmp_path, capsys, files):
    assert "weights-sum" not in reported(tmp_path, capsys, **files)


def test_a_version_of_a_broken_handler_is_not_accused(tmp_path, capsys):
    version = VERSION.replace("versionId", "handler: user-handler, versionId")
    broken = HANDLER.replace("3000", "0")
    assert reported(tmp_path, capsys, a=broken, b=version) == ["out-of-range"]


def test_what_calls_a_broken_module_is_not_accused(tmp_path, capsys):
    module = """\
apiVersion: gati.dev/v1alpha1
kind: GatiModule
metadata: {name: db}
spec: {moduleName: db, moduleType: nodejs, runtime: x, replicas: 1, image: "r/db:1", port: 1}
"""
    calls = HANDLER + "  modules: [db]\n"
    assert len(reported(tmp_path, capsys, a=calls, b=module)) == 1


def test_a_lost_document_stops_what_looks_across():
    specs, problems = examine([("a.yaml", HALF.encode()), ("b.yaml", b"kind: [")])
    assert specs is None
    assert [problem.code for problem in problems] == ["yaml-syntax"]


def test_a_broken_partial_takes_its_base_along():
    files = {
        "gati.yaml": PROJECT,
        "a.yaml": HALF,
        "b.yaml": ELSEWHERE.replace("port: 0", "port: 1"),
        "environments/prod/a.yaml": PARTIAL.replace("5", "-5"),
    }
    pairs = [(name, text.encode()) for name, text in files.items()]
    specs, _ = examine(pairs)
    assert specs is not None
    assert [doc.model.metadata.name for doc in specs.handlers] == ["broken"]
    with pytest.raises(SpecsInvalid):
        load(pairs)
