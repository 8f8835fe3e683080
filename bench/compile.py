"""Cold compile of 1,000 and 10,000 units × 3 environments, as a command, into a new folder.

Beside it, in the same run, what any program must pay: Python started with our imports, and the same
files made with bare calls. Both on memory (/dev/shm) and on disk, because a busy disk says nothing
about a compiler. Every round uses new folders: creating after deleting measures the deleting.

python bench/compile.py [--smoke]
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import project

ROUNDS = 3
LARGE = 5_000  # from here on one round must do


def child(arguments: list[str]) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak MiB of one command."""
    start = time.perf_counter()
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    if status:
        raise SystemExit(f"{' '.join(arguments)} ended with {status}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def best(
    action: Callable[[int], tuple[float, float, float]], units: int = 0
) -> tuple[float, float, float]:
    return min(action(number) for number in range(1 if units > LARGE else ROUNDS))


def bare(source: Path, target: Path) -> tuple[float, float, float]:
    """The same files made with nothing but open, write and close."""
    tree = {p.relative_to(source): p.read_bytes() for p in source.rglob("*") if p.is_file()}
    start, cpu = time.perf_counter(), time.process_time()
    made = set()
    for path, content in tree.items():
        folder = target / path.parent
        if folder not in made:
            made.add(folder)
            os.makedirs(folder, exist_ok=True)  # noqa: PTH103
        descriptor = os.open(target / path, os.O_WRONLY | os.O_CREAT, 0o644)
        os.write(descriptor, content)
        os.close(descriptor)
    return time.perf_counter() - start, time.process_time() - cpu, 0.0


def measure(where: str, units: int) -> tuple[float, float]:
    home = Path(tempfile.mkdtemp(prefix="gati-bench-", dir=where))
    try:
        specs = project.write(home / "specs", units)
        verb = [sys.executable, "-m", "gati_gitops", "compile", str(specs), "--output"]
        cold = best(lambda n: child([*verb, str(home / f"out-{n}")]), units)
        again = best(lambda n: child([*verb, str(home / f"out-{n}")]), units)
        raw = best(lambda n: bare(home / "out-0", home / f"raw-{n}"), units)
        count = sum(len(files) for _, _, files in os.walk(home / "out-0"))
    finally:
        shutil.rmtree(home)
    print(
        f"{where or 'disk':>9} {units:>7} {count:>8} {cold[0]:>8.2f} s {cold[1]:>8.2f} s"
        f" {cold[2]:>6.0f} MiB {again[0]:>8.2f} s {raw[0]:>8.2f} s {cold[0] / raw[0]:>6.1f} x"
    )
    return cold[0], cold[2]


def main() -> None:
    sizes = (20, 40) if "--smoke" in sys.argv else (1_000, 10_000)
    start = best(lambda _: child([sys.executable, "-c", "import gati_gitops.compiler"]))
    print(f"Python and our imports alone: {start[0]:.2f} s")
    print(
        f"{'where':>9} {'units':>7} {'files':>8} {'cold':>10} {'CPU':>10} {'peak':>10}"
        f" {'again':>10} {'bare':>10} {'ratio':>8}"
    )
    places = [p for p in ("/dev/shm", tempfile.gettempdir()) if os.access(p, os.W_OK)]
    for where in places:
        small, _ = measure(where, sizes[0])
        large, _ = measure(where, sizes[1])
        more = sizes[1] // sizes[0]
        print(f"{'':>9} {more} times the units cost {large / small:.1f} times the time")


if __name__ == "__main__":
    main()
