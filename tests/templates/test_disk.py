"""Where templates are read from, and how the command line shows them."""

from __future__ import annotations

import subprocess
import sys

from gati_gitops.disk.specs import read_specs
from tests.templates.kit import files, version_template


def validate(folder) -> tuple[int, str]:
    command = [sys.executable, "-m", "gati_gitops", "validate", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def put(root, specs):
    for name, text in specs.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def test_only_templates_at_the_root_count(tmp_path):
    put(tmp_path, files("{# gati: unit #}\n"))
    put(tmp_path, {
        "templates/deployment.yaml": "kind: Deployment\n",
        "templates/_helpers.tpl": "x",
        "templates/notes.j2": "x",
        "templates/sub/deep.yaml.j2": "x",
        "templates/.hidden.yaml.j2": "x",
        "chart/templates/other.yaml.j2": "x",
        "stray.yaml.j2": "x",
    })  # fmt: skip
    names = [name for name, _ in read_specs(str(tmp_path))]
    assert names == ["gati.yaml", "templates/extra.yaml.j2", "users.yaml"]


def test_a_link_out_of_the_folder_is_refused(tmp_path):
    put(tmp_path / "specs", files("{# gati: unit #}\n"))
    (tmp_path / "secret.yaml.j2").write_text("{# gati: unit #}\n")
    (tmp_path / "specs/templates/link.yaml.j2").symlink_to(tmp_path / "secret.yaml.j2")
    assert validate(tmp_path / "specs")[0] == 5


def test_validate_shows_the_line(tmp_path):
    put(tmp_path, files(version_template("  a: {{ version.nme }}")))
    code, output = validate(tmp_path)
    assert code == 3
    assert "templates/extra.yaml.j2:7:1: error[template-invalid]" in output
    assert "  7 |   a: {{ version.nme }}" in output
    assert "there is no nme here" in output
