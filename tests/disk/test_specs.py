"""Reading specs from a folder, a file and standard input."""

import io
import os
from pathlib import Path

import pytest

from gati_gitops.disk.specs import read_specs
from gati_gitops.errors import Outside, Refused
from gati_gitops.yamlio.text import MAX_BYTES


def names(folder: Path) -> list[str]:
    return [name for name, _ in read_specs(str(folder))]


def put(folder: Path, *files: str) -> None:
    for file in files:
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {file}\n")


def test_a_folder_is_read_whole_and_sorted(tmp_path: Path) -> None:
    put(
        tmp_path, "b.yaml", "a.yml", "team/x.yaml", "team/deep/er/y.yaml", "readme.md", "c.yaml.bak"
    )
    assert names(tmp_path) == ["a.yml", "b.yaml", "team/deep/er/y.yaml", "team/x.yaml"]
    assert dict(read_specs(str(tmp_path)))["team/x.yaml"] == b"# team/x.yaml\n"


def test_what_holds_no_specs_is_skipped(tmp_path: Path) -> None:
    put(tmp_path, "a.yaml", ".git/x.yaml", ".venv/x.yaml", "node_modules/p/x.yaml",
        "chart/templates/x.yaml", ".hidden.yaml", "team/.github/x.yaml")  # fmt: skip
    assert names(tmp_path) == ["a.yaml"]


def test_a_single_file(tmp_path: Path) -> None:
    put(tmp_path, "team/a.yaml")
    assert read_specs(str(tmp_path / "team/a.yaml")) == [("a.yaml", b"# team/a.yaml\n")]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a: 1\n")))
    assert read_specs("-") == [("stdin", b"a: 1\n")]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Outside, match="there is no folder or file") as caught:
        read_specs(str(tmp_path / "nope"))
    assert caught.value.remedy


def test_a_link_that_leads_outside_is_refused(tmp_path: Path) -> None:
    put(tmp_path, "outside/secret.yaml", "specs/a.yaml")
    for target in ("outside/secret.yaml", "outside"):
        link = tmp_path / "specs" / "link.yaml"
        link.symlink_to(tmp_path / target)
        with pytest.raises(Refused, match=r"link\.yaml is a symbolic link"):
            read_specs(str(tmp_path / "specs"))
        link.unlink()


def test_a_folder_whose_name_only_starts_like_ours_is_outside(tmp_path: Path) -> None:
    put(tmp_path, "specs-old/a.yaml", "specs/a.yaml")
    (tmp_path / "specs/link.yaml").symlink_to(tmp_path / "specs-old/a.yaml")
    with pytest.raises(Refused):
        read_specs(str(tmp_path / "specs"))


def test_links_inside_give_each_file_once(tmp_path: Path) -> None:
    put(tmp_path, "a.yaml", "..2024/b.yaml")
    (tmp_path / "again.yaml").symlink_to("a.yaml")
    (tmp_path / "..data").symlink_to("..2024")
    (tmp_path / "b.yaml").symlink_to("..data/b.yaml")
    (tmp_path / "loop").symlink_to(".")
    (tmp_path / "dangling").symlink_to("nowhere")
    assert names(tmp_path) == ["a.yaml", "b.yaml"]


def test_a_spec_that_is_a_link_to_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"a")
    (tmp_path / "b.yaml").symlink_to("nowhere.yaml")
    with pytest.raises(Refused, match=r"b\.yaml is a symbolic link to nothing"):
        read_specs(str(tmp_path))


def test_the_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    put(tmp_path, "real/a.yaml")
    (tmp_path / "specs").symlink_to("real")
    assert names(tmp_path / "specs") == ["a.yaml"]


def test_pipes_are_not_opened(tmp_path: Path) -> None:
    put(tmp_path, "a.yaml")
    os.mkfifo(tmp_path / "pipe.yaml")
    assert names(tmp_path) == ["a.yaml"]


def test_no_more_than_the_limit_is_read(tmp_path: Path) -> None:
    (tmp_path / "big.yaml").write_bytes(b"#" * (MAX_BYTES * 3))
    assert len(read_specs(str(tmp_path))[0][1]) == MAX_BYTES + 1


def test_a_file_that_cannot_be_read(unprivileged: Path) -> None:
    put(unprivileged, "a.yaml")
    (unprivileged / "a.yaml").chmod(0)
    with pytest.raises(Outside, match="Permission denied"):
        read_specs(str(unprivileged))


def test_a_name_that_is_not_utf_8(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.yaml")).touch()
    assert names(tmp_path) == ["caf\ufffd.yaml"]
