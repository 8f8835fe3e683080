"""Previews as commands: 20 of 500 units changed, and one of 500 beside one of 5,000.

A preview loads both folders of specs, so loading the larger one is measured beside it: 5,000 units
with one changed may cost 1.5 times what 500 cost, and loading. Then, in the same run, what people
do today: `kustomize build` of every unit on both sides, and a text diff. CPU time stands beside the
time on the clock, which says little on a busy machine.

python bench/preview.py [--smoke]
"""

from __future__ import annotations

import difflib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))
import project

ROUNDS = 3
LOADING = (
    "import gc, sys; gc.disable();"
    "from gati_gitops.disk.specs import read_specs;"
    "from gati_gitops.spec.load import load;"
    "load(read_specs(sys.argv[1]))"
)


@dataclass(frozen=True, order=True)
class Cost:
    """Seconds on the clock, and of the processor."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:.2f} s (CPU {self.cpu:.2f} s)"


def timed(arguments: list[str], *, codes: Iterable[int] = (0,)) -> Cost:
    """The best of some runs of a command."""
    found = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        if os.waitstatus_to_exitcode(status) not in codes:
            raise SystemExit(f"{' '.join(arguments)} ended with {status}")
        found.append(Cost(wall, usage.ru_utime + usage.ru_stime))
    return Cost(min(c.wall for c in found), min(c.cpu for c in found))


def changed(base: Path, head: Path, numbers: Iterable[int]) -> None:
    """The same specs, but for the pods of some units."""
    shutil.copytree(base, head)
    for number in numbers:
        path = next(head.glob(f"team-*/handler-{number}.yaml"))
        path.write_text(path.read_text().replace("REGION: eu", "REGION: us"))


def preview(base: Path, head: Path, *more: str, codes: tuple[int, ...] = (1,)) -> Cost:
    verb = [sys.executable, "-m", "gati_gitops", "preview", "--format", "json"]
    return timed([*verb, "--base", str(base), "--head", str(head), *more], codes=codes)


def compiled(specs: Path, output: Path) -> Path:
    verb = [sys.executable, "-m", "gati_gitops", "compile", str(specs), "--output", str(output)]
    subprocess.run(verb, stdout=subprocess.DEVNULL, check=True)
    return output


def by_hand(old: Path, new: Path, folders: list[str], build: Callable[[Path], str]) -> float:
    """`kustomize build` of some folders on both sides, and a text diff."""
    start = time.perf_counter()
    for folder in folders:
        one, two = (build(root / folder).splitlines() for root in (old, new))
        list(difflib.unified_diff(one, two))
    return time.perf_counter() - start


def kustomize() -> Callable[[Path], str] | None:
    from tests.tools import kustomize_build

    try:
        command = kustomize_build()
    except BaseException as error:  # noqa: BLE001 - pytest's skip is none of Exception
        print(f"without kustomize: {error}")
        return None

    def build(folder: Path) -> str:
        return subprocess.run(
            [*command, str(folder)], capture_output=True, text=True, check=True
        ).stdout

    return build


def measure(home: Path, units: int, differ: int) -> tuple[Cost, Cost]:
    """A preview, and one on an output with ledgers."""
    base = home / f"base-{units}"
    if not base.exists():
        project.write(base, units, versions=2)
        compiled(base, home / f"out-{units}")
    head = home / f"head-{units}-{differ}"
    changed(base, head, range(0, units, units // differ) if differ > 1 else [units // 2])
    return preview(base, head), preview(base, head, "--ledger", str(home / f"out-{units}"))


def main() -> None:
    smoke = "--smoke" in sys.argv
    small, large, some = (20, 40, 4) if smoke else (500, 5_000, 20)
    home = Path(
        tempfile.mkdtemp(
            prefix="gati-bench-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None
        )
    )
    try:
        many, on_output = measure(home, small, some)
        print(f"{some} of {small} units: {many}; on an output with ledgers {on_output}")
        one, on_output = measure(home, small, 1)
        print(f"1 of {small} units: {one}; on an output with ledgers {on_output}")
        few, on_output = measure(home, large, 1)
        print(f"1 of {large} units: {few}; on an output with ledgers {on_output}")
        load = timed([sys.executable, "-c", LOADING, str(home / f"base-{large}")])
        print(f"loading {large} units: {load}")
        print(f"of the time that is allowed: {few.cpu / (1.5 * one.cpu + load.cpu):.2f} (CPU)")
        build = kustomize()
        if build is not None:
            compare(home, small, some, build, many)
    finally:
        shutil.rmtree(home)


def compare(home: Path, units: int, differ: int, build: Callable[[Path], str], ours: Cost) -> None:
    old, new = home / f"out-{units}", compiled(home / f"head-{units}-{differ}", home / "out-new")
    folders = sorted(
        str(path.parent.relative_to(old)) for path in old.glob("overlays/*/*/*/*/unit.yaml")
    )
    sample = folders[:: max(1, len(folders) // 30)]
    all_of_them = by_hand(old, new, sample, build) * len(folders) / len(sample)
    print(
        f"kustomize build of {len(folders)} overlays on both sides and a text diff:"
        f" {all_of_them:.1f} s (from {len(sample)} of them), {all_of_them / ours.wall:.0f} times"
    )


if __name__ == "__main__":
    main()
