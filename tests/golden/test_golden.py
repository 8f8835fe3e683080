"""Whole trees: every byte as agreed, built alike by kustomize and by us, valid for three Kubernetes minors."""

from __future__ import annotations

import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import pytest

from gati_gitops.check import check_objects, read_crds
from gati_gitops.emit.job import job_releases
from gati_gitops.render import MemoryFiles, render
from gati_gitops.spec.crds import crd_files
from gati_gitops.tree import is_ours
from tests.compile.kit import dangling, kustomizations, objects, write
from tests.golden.cases import CASES, HERE, before, compile_case, compile_files, kept, read
from tests.tools import crds_dir, kustomize_build

tree_of = cache(compile_case)


def test_there_are_cases():
    assert len(CASES) >= 12


@pytest.mark.parametrize("case", CASES)
def test_golden_tree(case, update_golden):
    want = HERE / case / "want"
    found = kept(case, tree_of(case))
    if update_golden:
        shutil.rmtree(want, ignore_errors=True)
        write(found, want)
    agreed = read(want)
    assert agreed, f"{want} is empty: run pytest --update-golden and read the diff"
    assert sorted(found) == sorted(agreed)
    for path in agreed:
        assert found[path].decode() == agreed[path].decode(), path
    left_out = {path: data for path, data in tree_of(case).items() if path not in found}
    crds = crd_files()
    assert all(content == crds[path.rpartition("/")[2]] for path, content in left_out.items())


@pytest.mark.parametrize("case", CASES)
def test_compiling_again_changes_nothing(case):
    tree = tree_of(case)
    again = compile_files(read(HERE / case / "specs"), tree)
    assert again.changes == {}
    assert again.tree == tree


@pytest.mark.parametrize("case", CASES)
def test_every_file_says_where_it_came_from_and_ends_well(case):
    for path, content in tree_of(case).items():
        assert is_ours(content), path
        assert content.endswith(b"\n") and not content.endswith(b"\n\n"), path
        assert b"\r" not in content and b"\t" not in content.split(b"\n")[0], path


@pytest.mark.parametrize("case", CASES)
def test_nothing_dangles_and_no_release_folder_is_left_over(case):
    tree = tree_of(case)
    assert not dangling(tree)
    plans = [objects(tree, path)[0] for path in tree if path.endswith("/unit.yaml")]
    named = {v["release"] for plan in plans for v in plan["versions"]}
    for env in {path.split("/")[1] for path in tree if path.startswith("overlays/")}:
        named |= {path.rpartition("/")[2] for path in job_releases(tree, env)}
    folders = [folder for folder in kustomizations(tree) if folder.startswith("base/")]
    assert {folder.rpartition("/")[2] for folder in folders} == named


@pytest.mark.kustomize
@pytest.mark.parametrize("case", CASES)
def test_kustomize_builds_every_folder_as_we_render_it(case, tmp_path):
    tree = tree_of(case)
    write(tree, tmp_path)
    command = kustomize_build()

    def build(folder: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([*command, tmp_path / folder], capture_output=True, check=False)

    folders = kustomizations(tree)
    with ThreadPoolExecutor(2) as pool:
        for folder, built in zip(folders, pool.map(build, folders), strict=True):
            assert built.returncode == 0, f"{folder}: {built.stderr.decode()}"
            assert not built.stderr, f"{folder} warns: {built.stderr.decode()}"
            ours = render(MemoryFiles(tree), folder).to_yaml()
            assert ours.decode() == built.stdout.decode(), folder


@pytest.mark.parametrize("case", CASES)
def test_every_object_is_valid_for_three_kubernetes_minors(case):
    crds = read_crds({path.name: path.read_bytes() for path in crds_dir().glob("*.yaml")})
    tree = tree_of(case)
    files = MemoryFiles(tree)
    roots = [folder for folder in kustomizations(tree) if folder.count("/") == 2]
    assert roots
    found = [(root, item) for root in roots for item in render(files, root).objects()]
    assert len(found) > 4
    problems = check_objects(found, crds)
    assert not problems, "\n".join(f"{p.place.file} {p.field}: {p.message}" for p in problems)


def test_a_golden_case_that_starts_from_something_starts_from_something():
    assert before("rollout")
