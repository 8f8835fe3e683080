"""``gati-gitops crds diff``: what it reads, what it prints, how it ends."""

import copy
import io
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gati_gitops.cli.main import run
from gati_gitops.preview.crds import compare_crds
from gati_gitops.preview.crds.read import Places, read_definitions
from gati_gitops.preview.crds.write import counted, write
from gati_gitops.spec.crds import crd_files, crds
from gati_gitops.yamlio.emit import dump, dump_all

HANDLERS = "gatihandlers.gati.dev.yaml"


def narrowed() -> dict[str, Any]:
    """Our GatiHandler, with a lower port, one field less and one more."""
    made = copy.deepcopy(crds()[HANDLERS])
    (version,) = made["spec"]["versions"]
    fields = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    fields["port"]["maximum"] = 9999
    del fields["hosts"]
    fields["colour"] = {"type": "string"}
    return made


@pytest.fixture
def folders(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        for file, content in crd_files().items():
            (tmp_path / name / file).write_bytes(content)
    (tmp_path / "new" / HANDLERS).write_bytes(dump(narrowed(), "New."))
    return tmp_path


def diff(capsys, *arguments: str) -> tuple[int, str, str]:
    code = run(["crds", "diff", *arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_the_same_is_no_difference(folders, capsys):
    assert diff(capsys, "old", "old") == (0, "no changes\n", "")


def test_folders(folders, capsys):
    code, out, err = diff(capsys, "old", "new")
    assert (code, err) == (1, "")
    assert out.splitlines()[0] == "gatihandlers.gati.dev v1alpha1"
    assert "  breaking  spec.port: bound  maximum 65535 → maximum 9999\n" in out
    assert "  breaking  spec.hosts: field-removed  array → none\n" in out
    assert "instead: keep the field" in out
    assert out.splitlines()[-1] == "2 breaking and 1 safe changes"
    assert max(map(len, out.splitlines())) <= 100


def test_only_what_is_bad_enough(folders, capsys):
    code, out, _ = diff(capsys, "old", "new", "--level", "breaking")
    assert code == 1 and "field-added" not in out
    (folders / "new" / HANDLERS).write_bytes((folders / "old" / HANDLERS).read_bytes())
    made = crds()[HANDLERS]
    made["spec"]["names"]["shortNames"] = ["gh", "gah"]
    (folders / "new" / HANDLERS).write_bytes(dump(made, "New."))
    assert diff(capsys, "old", "new")[0] == 1
    assert diff(capsys, "old", "new", "--level", "risky") == (0, "no changes\n", "")


def test_files_streams_lists_and_json(folders, capsys, monkeypatch):
    several = dump_all(list(crds().values()), "All.")
    Path("all.yaml").write_bytes(several)
    Path("list.json").write_text(json.dumps({"kind": "List", "items": [narrowed()]}))
    assert diff(capsys, "old", "all.yaml")[0] == 0
    assert diff(capsys, f"old/{HANDLERS}", "list.json")[0] == 1
    stdin = io.TextIOWrapper(io.BytesIO(several))
    monkeypatch.setattr("sys.stdin", stdin)
    assert diff(capsys, "-", "old")[0] == 0


def git(*arguments: str) -> None:
    name = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *name, *arguments], check=True, capture_output=True)


def test_revisions(folders, capsys):
    git("init")
    git("add", "old", "new")
    git("commit", "-m", "one")
    (folders / "old" / HANDLERS).write_bytes(dump(narrowed(), "New."))
    assert diff(capsys, "HEAD:old", "old")[0] == 1
    assert diff(capsys, "HEAD:old", "HEAD:old")[0] == 0
    assert diff(capsys, f"main:old/{HANDLERS}", f"HEAD:new/{HANDLERS}")[0] == 1
    assert diff(capsys, "HEAD:new", "old")[0] == 0


def test_revisions_from_below_and_from_outside(folders, capsys, monkeypatch, tmp_path_factory):
    git("init")
    git("add", "old", "new")
    git("commit", "-m", "one")
    monkeypatch.chdir(folders / "old")
    assert diff(capsys, "HEAD:old", "HEAD:./")[0] == 0
    assert diff(capsys, "HEAD:new", "HEAD:./")[0] == 1
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert diff(capsys, "HEAD:old", "HEAD:new", "--repo", str(folders))[0] == 1


@pytest.mark.parametrize(
    "arguments, code, words",
    [
        (["none", "old"], 4, "there is no file or folder none"),
        (["HEAD:none", "old"], 4, "is in no Git repository"),
        (["-", "-"], 2, "one of the two only"),
        (["empty", "old"], 2, "no CustomResourceDefinition in empty"),
        (["broken.yaml", "old"], 3, "broken.yaml:3"),
    ],
)
def test_what_cannot_be_compared(folders, capsys, arguments, code, words):
    Path("empty").mkdir()
    Path("broken.yaml").write_text("kind: CustomResourceDefinition\na: b\n  c: d\n")
    found, out, err = diff(capsys, *arguments)
    assert (found, out) == (code, "")
    assert words in err and "Traceback" not in err


def test_json_names_places(folders, capsys):
    code, out, _ = diff(capsys, "old", "new", "--format", "json")
    data = json.loads(out)
    assert code == 1
    assert data["summary"] == {"breaking": 2, "risky": 0, "safe": 1}
    by_path = {change["path"]: change for change in data["changes"]}
    port = by_path["spec.port"]
    assert (port["crd"], port["rule"], port["level"]) == (
        "gatihandlers.gati.dev",
        "bound",
        "breaking",
    )
    lines = (folders / "new" / HANDLERS).read_text().splitlines()
    assert port["file"] == f"new/{HANDLERS}" and lines[port["line"] - 1].strip() == "port:"
    hosts = by_path["spec.hosts"]
    lines = (folders / "old" / HANDLERS).read_text().splitlines()
    assert hosts["file"] == f"old/{HANDLERS}" and lines[hosts["line"] - 1].strip() == "hosts:"


def test_github_and_sarif_leave_out_what_is_safe(folders, capsys):
    _, out, _ = diff(capsys, "old", "new", "--format", "github")
    assert [line.partition(" ")[0] for line in out.splitlines()] == ["::error", "::error"]
    assert "title=crd-bound spec.port" in out
    _, out, _ = diff(capsys, "old", "new", "--format", "sarif")
    results = json.loads(out)["runs"][0]["results"]
    assert [result["level"] for result in results] == ["error", "error"]
    assert {result["ruleId"] for result in results} == {"crd-bound", "crd-field-removed"}


def test_colour(folders, capsys, monkeypatch):
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[1;31mbreaking\x1b[0m" in diff(capsys, "old", "new")[1]


def test_the_same_change_in_many_fields_is_said_once():
    def made(**words: Any) -> dict[str, Any]:
        crd = copy.deepcopy(crds()[HANDLERS])
        fields = {f"f{number}": {"type": "string", **words} for number in range(14)}
        schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        schema["properties"]["spec"]["properties"] = fields
        schema["properties"]["spec"]["required"] = []
        return crd

    changes = compare_crds([made()], [made(minLength=1)])
    text = write(changes, place=lambda _: None)  # type: ignore[arg-type, return-value]
    assert text.count("were taken and are refused now") == 1
    assert "bound in 14 fields" in text and "and 4 more; --format json names all" in text


def test_positions_in_files_of_several_documents():
    old = b"# a\n---\nkind: ConfigMap\n---\n# b\n" + dump(crds()[HANDLERS], "x")
    new = b"---\n" + dump(narrowed(), "x")
    before, after = read_definitions([("o.yaml", old)]), read_definitions([("n.yaml", new)])
    places = Places(before, after)
    for change in compare_crds([o.document for o in before], [n.document for n in after]):
        place = places.of(change)
        text = (old if change.gone else new).decode().splitlines()[place.line - 1].strip()
        assert text == f"{change.path.rpartition('.')[2]}:"


def test_terminal_escapes_of_a_crd_are_harmless():
    made = copy.deepcopy(crds()[HANDLERS])
    schema = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]["a\x1b[31m\nb"] = {
        "type": "string",
        "default": "\x1b]0;x\x07",
    }
    changes = compare_crds(list(crds().values()), [made, *list(crds().values())[1:]])
    text = write(changes, place=lambda _: None)  # type: ignore[arg-type, return-value]
    assert "\x1b" not in text and "\x07" not in text


def test_counting():
    assert counted(()) == "no changes"
    changes = compare_crds([crds()[HANDLERS]], [narrowed()])
    assert counted(changes) == "2 breaking and 1 safe changes"
    assert counted(changes[:1]) == "1 breaking change"
