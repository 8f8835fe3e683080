"""Publishing one changed spec, and a first publish, beside git doing the same in one run.

1. One spec of a fleet changes: from reading what changed to the commits on the branch, in process
   (the interpreter and its imports are started already). Beside it: git committing the very same
   files in a work tree of the output, by add and commit.
2. The same in a fleet of ten times the size: what it costs must follow the change.
3. The first publish of the fleet, beside a compile of it plus `git fast-import` of the same files.

python bench/publish.py [--smoke] [--units N]
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import project

from gati_gitops.compiler import compile_specs
from gati_gitops.disk.specs import read_specs
from gati_gitops.publish.hand import Hand
from gati_gitops.publish.message import Reference
from gati_gitops.publish.model import Committed, Request
from gati_gitops.publish.run import Published, publish
from gati_gitops.repo.address import parse
from gati_gitops.repo.commit import Signature
from gati_gitops.repo.repository import open_repository
from gati_gitops.repo.specs import specs_repository
from gati_gitops.spec.load import examine, load
from gati_gitops.tree import MemorySnapshot

SMOKE = "--smoke" in sys.argv
UNITS = int(sys.argv[sys.argv.index("--units") + 1]) if "--units" in sys.argv else 10_000
ROUNDS = 3 if SMOKE else 10
IDENTITY = ("-c", "user.name=bench", "-c", "user.email=bench@example.test", "-c", "gc.auto=0")


def git(where: Path, *arguments: str, data: bytes | None = None) -> str:
    command = ["git", "-C", str(where), *IDENTITY, *arguments]
    return subprocess.run(command, input=data, capture_output=True, check=True).stdout.decode()


class Fleet:
    """Specs in a repository, and the repository that they are published to."""

    def __init__(self, root: Path, units: int) -> None:
        self.specs = project.write(root / "specs", units)
        self.output = root / "output.git"
        git(root, "init", "-q", "-b", "main", "specs")
        git(self.specs, "add", "-A")
        git(self.specs, "commit", "-q", "-m", "Specs")
        git(root, "init", "-q", "--bare", "-b", "main", "output.git")

    def request(self) -> Request:
        """As `publish --rev HEAD` makes it."""
        repository = specs_repository(self.specs)
        assert repository is not None
        commit = repository.commit
        settings = repository.at(commit).read("gati.yaml")
        specs, _ = examine([("gati.yaml", settings or b"")])
        assert specs is not None
        committed = Committed(repository, commit)
        every = lambda: load(repository.files(commit))  # noqa: E731
        return Request(specs.project, "gati.yaml", every, Reference(commit), committed)

    def publish(self, *, whole: bool = False) -> tuple[float, Published]:
        start = time.perf_counter()
        request = self.request()
        if whole:
            request = replace(request, committed=None)
        with open_repository(parse(str(self.output))) as repository:
            hand = Hand(Signature("bench", "bench@example.test"))
            done = publish(request, repository, hand, lambda: None, lambda *_: "")  # type: ignore[arg-type, return-value]
        return time.perf_counter() - start, done

    def change(self, number: int) -> None:
        """One variable of one handler, committed."""
        text = (self.specs / self.file).read_text()
        changed = re.sub(r"REGION: \w+", f"REGION: eu{number}", text)
        (self.specs / self.file).write_text(changed)
        git(self.specs, "commit", "-q", "-a", "-m", f"Change {number}")

    @property
    def file(self) -> str:
        found = (p for p in sorted(self.specs.rglob("*.yaml")) if "environments" not in p.parts)
        return next(p for p in found if p.name != "gati.yaml").relative_to(self.specs).as_posix()


def one_change(fleet: Fleet) -> tuple[float, float, int]:
    """Seconds of ours and of git for the same files, and how many they are."""
    work = fleet.output.with_name("work")
    if not work.exists():
        git(fleet.output.parent, "clone", "-q", str(fleet.output), "work")
    ours, theirs, files = [], [], 0
    for number in range(ROUNDS):
        fleet.change(number)
        before = git(fleet.output, "rev-parse", "main").strip()
        taken, done = fleet.publish()
        assert done.steps
        assert not done.prepared.whole
        ours.append(taken)
        changed = git(fleet.output, "diff", "--name-only", before, "main").split()
        files = len(changed)
        git(work, "fetch", "-q", "origin")
        git(work, "restore", "--source=origin/main", "--worktree", "--", *changed)
        start = time.perf_counter()
        git(work, "add", "--", *changed)
        git(work, "commit", "-q", "-m", "The same")
        theirs.append(time.perf_counter() - start)
    return min(ours), min(theirs), files


def first(root: Path, fleet: Fleet) -> tuple[float, float, float, int]:
    """Seconds of a first publish, of a compile, and of fast-import of its files."""
    taken, _ = fleet.publish()
    start = time.perf_counter()
    compiled = compile_specs(load(read_specs(str(fleet.specs))), MemorySnapshot({}))
    compiling = time.perf_counter() - start
    stream = [b"commit refs/heads/main\ncommitter b <b@x> 0 +0000\ndata 1\nx\n"]
    for path, content in compiled.tree.items():
        head = f"M 100644 inline {path}\ndata {len(content)}\n"
        stream.append(head.encode() + content + b"\n")
    git(root, "init", "-q", "--bare", "imported.git")
    data = b"".join(stream)
    start = time.perf_counter()
    git(root / "imported.git", "fast-import", "--quiet", data=data)
    importing = time.perf_counter() - start
    return taken, compiling, importing, len(compiled.tree)


def main() -> None:
    units = 200 if SMOKE else UNITS
    shm = Path("/dev/shm")
    root = Path(tempfile.mkdtemp(dir=shm if shm.is_dir() else None))
    try:
        small, large = root / "small", root / "large"
        small.mkdir()
        large.mkdir()
        fleet = Fleet(large, units)
        taken, compiling, importing, files = first(large, fleet)
        print(
            f"first publish of {units:,} units, {files:,} files: {taken:.2f} s; compile alone"
            f" {compiling:.2f} s + git fast-import {importing:.2f} s:"
            f" ratio {taken / (compiling + importing):.2f}"
        )
        ours, theirs, number = one_change(fleet)
        print(
            f"one changed spec, {number} files in 3 environments, {units:,} units:"
            f" {ours * 1000:.0f} ms; git add and commit of the same files {theirs * 1000:.0f} ms:"
            f" ratio {ours / theirs:.2f}"
        )
        tenth = Fleet(small, max(20, units // 10))
        tenth.publish()
        less, _, _ = one_change(tenth)
        print(
            f"the same in a fleet of {max(20, units // 10):,}: {less * 1000:.0f} ms;"
            f" ten times the units cost {ours / less:.2f} times"
        )
        fleet.change(99)
        tip = git(fleet.output, "rev-parse", "main").strip()
        quick, _ = fleet.publish()
        tree = git(fleet.output, "rev-parse", "main^{tree}")
        git(fleet.output, "update-ref", "refs/heads/main", tip)
        slow, _ = fleet.publish(whole=True)
        assert git(fleet.output, "rev-parse", "main^{tree}") == tree
        print(f"compiling everything instead: {slow:.2f} s, {slow / quick:.0f} times; same tree")
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
