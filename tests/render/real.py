"""Comparing our rendering with what the real kustomize prints."""

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from gati_gitops.render import Broken, MemoryFiles, Unsupported, render
from tests.tools import kustomize_build

Files = dict[str, bytes]


@dataclass(frozen=True)
class Answer:
    """What came out: bytes, or the reason why not."""

    output: bytes | None
    reason: str = ""
    unsupported: bool = False


def ours(files: Files, path: str) -> Answer:
    try:
        return Answer(render(MemoryFiles(files), path).to_yaml())
    except Unsupported as error:
        return Answer(None, str(error), unsupported=True)
    except Broken as error:
        return Answer(None, str(error))


def theirs(files: Files, path: str) -> Answer:
    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            file = Path(folder, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        return built(Path(folder, path))


def built(folder: Path) -> Answer:
    run = subprocess.run(
        [*kustomize_build(), str(folder)], capture_output=True, timeout=120, check=False
    )
    if run.returncode == 0:
        return Answer(run.stdout)
    return Answer(None, run.stderr.decode(errors="replace"))


def verdict(mine: Answer, real: Answer) -> str:
    """equal, refused, or what is wrong."""
    if mine.unsupported:
        return "refused"
    if mine.output is None:
        return "equal" if real.output is None else f"BROKEN here, built by kustomize: {mine.reason}"
    if real.output is None:
        return f"BUILT here, refused by kustomize: {real.reason[-500:]}"
    return "equal" if mine.output == real.output else "DIFFERENT"


def all_theirs(cases: Iterable[tuple[Files, str]]) -> list[Answer]:
    """Many builds, two at a time; answers for the same files and program are kept in the cache folder."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda case: _remembered(*case), cases))


def _remembered(files: Files, path: str) -> Answer:
    program = Path(kustomize_build()[0])
    state = program.stat()
    digest = hashlib.sha256(f"{program} {state.st_size} {state.st_mtime_ns} {path}".encode())
    for name in sorted(files):
        digest.update(f"{name} {len(files[name])} ".encode() + files[name])
    cache = (
        Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gati-gitops" / "builds"
    )
    good, bad = cache / f"{digest.hexdigest()}.yaml", cache / f"{digest.hexdigest()}.error"
    if good.exists():
        return Answer(good.read_bytes())
    if bad.exists():
        return Answer(None, bad.read_text())
    answer = theirs(files, path)
    cache.mkdir(parents=True, exist_ok=True)
    if answer.output is None:
        bad.write_text(answer.reason)
    else:
        good.write_bytes(answer.output)
    return answer
