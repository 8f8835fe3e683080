"""``gati-gitops crds``."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from gati_gitops.cli.crds import command
from gati_gitops.errors import Outside
from gati_gitops.spec.crds import crd_files, crds
from gati_gitops.spec.schema_editor import COMBINED, json_schema_files
from gati_gitops.yamlio.goyaml_read import decode, read_resources


def run(*arguments: str) -> bytes:
    result = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout_bytes


def test_prints_all_crds_as_one_stream():
    assert read_resources(decode(run())) == list(crds().values())


def test_prints_a_list_that_kubectl_takes():
    printed = json.loads(run("--format", "json"))
    assert (printed["kind"], printed["items"]) == ("List", list(crds().values()))


def test_prints_the_combined_schema():
    assert run("--format", "jsonschema") == json_schema_files()[COMBINED]


@pytest.mark.parametrize(
    "format_, files", [("yaml", crd_files()), ("jsonschema", json_schema_files())]
)
def test_writes_a_folder(tmp_path: Path, format_, files):
    target = tmp_path / "a" / "b"
    assert run("--format", format_, "--output", str(target)) == b""
    assert {path.name: path.read_bytes() for path in target.iterdir()} == files


def test_writes_json_files(tmp_path: Path):
    run("--format", "json", "--output", str(tmp_path))
    written = {path.name: json.loads(path.read_bytes()) for path in tmp_path.iterdir()}
    assert written == {name.replace(".yaml", ".json"): crd for name, crd in crds().items()}


def test_a_folder_that_cannot_be_written_is_explained(tmp_path: Path):
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(Outside, match="cannot write to"):
        run("--output", str(file))


def test_help_shows_whole_command_lines():
    assert b"  gati-gitops crds --format jsonschema --output .schemas\n" in run("--help")


def test_help_pays_for_neither_pydantic_nor_yaml():
    code = (
        "import sys; from gati_gitops.cli.crds import command\n"
        "assert not {'pydantic', 'yaml', 'ruamel'} & sys.modules.keys(), sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
