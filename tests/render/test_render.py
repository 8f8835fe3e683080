"""Behaviour that needs no kustomize: errors and their words, links, refusals, the command."""

import json

import pytest
from click.testing import CliRunner

from gati_gitops.cli.render import command
from gati_gitops.disk.reader import DiskFiles
from gati_gitops.errors import Outside
from gati_gitops.render import Broken, MemoryFiles, RenderError, Unsupported, render

MAP = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: v\n"


def memory(tree: dict[str, bytes]) -> MemoryFiles:
    return MemoryFiles(tree)


def test_objects_are_plain():
    result = render(memory({"kustomization.yaml": b"resources: [a.yaml]\n", "a.yaml": MAP}), "")
    assert result.objects() == [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}
    ]
    assert type(result.objects()[0]["data"]["k"]) is str


def test_rendering_twice_gives_the_same():
    tree = memory({"kustomization.yaml": b"resources: [a.yaml]\nnamePrefix: x-\n", "a.yaml": MAP})
    assert render(tree, "").to_yaml() == render(tree, "").to_yaml()


@pytest.mark.parametrize(
    "kustomization, words",
    [
        (b"resources: [https://example.com/a.yaml]\n", "remote"),
        (b"resources: ['github.com/org/repo?ref=v1']\n", "remote"),
        (b"resources: ['git@github.com:org/repo']\n", "remote"),
        (b"helmCharts:\n- name: x\n", "Helm"),
        (
            b"transformers:\n- |-\n  apiVersion: team.example/v1\n  kind: Sed\n  metadata: {name: x}\n",
            "programs",
        ),
        (b"resources: [/etc/passwd]\n", "absolute"),
    ],
)
def test_refusals_are_named(kustomization, words):
    with pytest.raises(Unsupported, match=words) as caught:
        render(memory({"kustomization.yaml": kustomization}), "")
    assert caught.value.exit_code == 3
    assert caught.value.place is not None and caught.value.place.file == "kustomization.yaml"


@pytest.mark.parametrize(
    "tree, words",
    [
        ({}, "must build at directory|unable to find"),
        ({"kustomization.yaml": b"resource: []\n"}, 'unknown field "resource"'),
        (
            {"kustomization.yaml": b"namePrefix: 5\n"},
            "namePrefix: expected a string, found a number",
        ),
        ({"kustomization.yaml": b"resources: [a.yaml]\n"}, "no such file"),
        (
            {"kustomization.yaml": b"resources: [a.yaml]\n", "a.yaml": b"kind: X\n"},
            "a.yaml: missing metadata.name",
        ),
        ({"kustomization.yaml": b"resources: [a.yaml]\n", "a.yaml": b"a: [\n"}, r"a.yaml:\d"),
        (
            {"kustomization.yaml": b"resources: [a.yaml, b.yaml]\n", "a.yaml": MAP, "b.yaml": MAP},
            "b.yaml: .*already registered",
        ),
        ({"kustomization.yaml": b"resources: [a.yaml]\n", "a.yaml": b"\xff\xfe\x00"}, "UTF-16"),
        ({"kustomization.yaml": b"resources: [a.yaml]\n", "a.yaml": b"a: \xff\n"}, "UTF-8"),
    ],
)
def test_errors_say_where_and_what(tree, words):
    with pytest.raises(RenderError, match=words):
        render(memory(tree), "")


def test_a_patch_without_its_object_fails():
    kustomization = b"resources: [a.yaml]\npatches:\n- path: p.yaml\n"
    patch = MAP.replace(b"name: a", b"name: b")
    with pytest.raises(Broken, match=r"p\.yaml: no resource matches") as caught:
        render(memory({"kustomization.yaml": kustomization, "a.yaml": MAP, "p.yaml": patch}), "")
    assert caught.value.remedy


def test_links_may_not_lead_out(tmp_path):
    (tmp_path / "secret.yaml").write_bytes(MAP)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/kustomization.yaml").write_text("resources: [link.yaml]\n")
    (tmp_path / "folder/link.yaml").symlink_to("../secret.yaml")
    with pytest.raises(Broken, match="security"):
        render(DiskFiles(tmp_path), "folder")


def test_links_within_are_followed(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real/kustomization.yaml").write_text("resources: [link.yaml]\n")
    (tmp_path / "real/a.yaml").write_bytes(MAP)
    (tmp_path / "real/link.yaml").symlink_to("a.yaml")
    (tmp_path / "alias").symlink_to("real")
    assert (
        render(DiskFiles(tmp_path), "alias").to_yaml()
        == render(DiskFiles(tmp_path), "real").to_yaml()
    )


def test_an_unreadable_file_is_a_fault_outside(unprivileged):
    (unprivileged / "kustomization.yaml").write_text("resources: [a.yaml]\n")
    (unprivileged / "a.yaml").write_bytes(MAP)
    (unprivileged / "a.yaml").chmod(0)
    with pytest.raises(Outside, match="Permission denied"):
        render(DiskFiles(unprivileged), "")


def test_large_files_are_read_whole(tmp_path):
    text = "x" * 200_000
    (tmp_path / "kustomization.yaml").write_text(
        "configMapGenerator:\n- name: a\n  files: [big.txt]\n"
    )
    (tmp_path / "big.txt").write_text(text)
    assert render(DiskFiles(tmp_path), "").objects()[0]["data"]["big.txt"] == text


def test_command(tmp_path, monkeypatch):
    (tmp_path / "kustomization.yaml").write_text("resources: [a.yaml]\n")
    (tmp_path / "a.yaml").write_bytes(MAP)
    monkeypatch.chdir(tmp_path)
    printed = CliRunner().invoke(command, ["."])
    assert printed.exit_code == 0
    assert printed.stdout.startswith("apiVersion: v1\ndata:\n  k: v\n")
    as_json = CliRunner().invoke(command, [".", "--format", "json"])
    assert json.loads(as_json.stdout)["items"][0]["data"] == {"k": "v"}
    CliRunner().invoke(command, [".", "--output", "out.yaml"])
    assert (tmp_path / "out.yaml").read_text() == printed.stdout
    missing = CliRunner().invoke(command, ["nowhere"])
    assert isinstance(missing.exception, Outside) and missing.exception.exit_code == 4
    (tmp_path / "a.yaml").write_text("kind: X\n")
    broken = CliRunner().invoke(command, ["."])
    assert isinstance(broken.exception, RenderError) and broken.exception.exit_code == 3
    assert str(broken.exception).startswith("a.yaml: ")
