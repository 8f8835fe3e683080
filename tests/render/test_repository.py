"""Every folder of our own trees: the repository's, and those of the golden tests."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gati_gitops.disk.reader import DiskFiles
from gati_gitops.render import render
from tests.render.real import built, ours, verdict

ROOT = Path(__file__).resolve().parents[2]
TREES = [ROOT, *sorted(path for path in (ROOT / "tests/golden").glob("*") if path.is_dir())]


def tree(root: Path) -> dict[str, bytes]:
    parts = ("base", "overlays", "clusters", "crds")
    found = [root / part for part in parts] if root == ROOT else [root]
    files = (p for folder in found for p in folder.rglob("*") if p.is_file())
    return {str(p.relative_to(root)): p.read_bytes() for p in files}


@pytest.mark.kustomize
@pytest.mark.slow
@pytest.mark.parametrize("root", TREES, ids=lambda path: path.name)
def test_every_folder(root):
    files = tree(root)
    paths = sorted(str(Path(name).parent) for name in files if name.endswith("/kustomization.yaml"))
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda path: built(root / path), paths))
    for path, real in zip(paths, answers, strict=True):
        mine = ours(files, path)
        assert verdict(mine, real) == "equal", (path, mine.reason, real.reason)


def test_disk_and_memory_agree(tmp_path):
    files = {
        "base/kustomization.yaml": b"resources: [a.yaml]\n",
        "base/a.yaml": b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n",
        "over/kustomization.yaml": b"resources:\n- ../base\nnamePrefix: x-\n",
    }
    for name, data in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    memory = ours(files, "over")
    assert render(DiskFiles(tmp_path), "over").to_yaml() == memory.output
    absolute = str(tmp_path / "over").lstrip("/")
    assert render(DiskFiles("/"), absolute).to_yaml() == memory.output
