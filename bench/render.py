"""How much faster than kustomize we render what we emit.

The compiler makes the trees: handlers with two versions each, read from disk by both. Ours runs in
a process that has rendered before, as in a service or a check, and as a command. What kustomize
prints is compared byte for byte before any time counts. Both take turns, and the least CPU time of
some runs is what is told: others may be at work on the machine.

python bench/render.py [--smoke] [--without-kustomize]
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import project  # noqa: E402

from gati_gitops.compiler import compile_specs  # noqa: E402
from gati_gitops.disk.reader import DiskFiles  # noqa: E402
from gati_gitops.disk.snapshot import DiskSnapshot  # noqa: E402
from gati_gitops.render import render  # noqa: E402
from gati_gitops.spec.load import load  # noqa: E402
from tests.tools import find  # noqa: E402

CLUSTER = "overlays/prod/prod-1"
SLOW = 10  # seconds from which on once must do
LARGE = 100  # units from which on kustomize builds the largest root only


class Cost(NamedTuple):
    cpu: float
    wall: float


def main() -> None:
    smoke = "--smoke" in sys.argv
    sizes = (2, 4) if smoke else (10, 50, 100, 500)
    runs = 1 if smoke else 7
    kustomize = None if "--without-kustomize" in sys.argv else find("kustomize")
    # As the verb does: documents live until the end, collecting them finds nothing.
    gc.disable()
    with tempfile.TemporaryDirectory(prefix="gati-bench-") as home:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": f"{home}/bytecode"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        roots = {size: tree(Path(home, str(size)), size) for size in sizes}
        print(f"{'':<34} {'ours':>12} {'kustomize':>12} {'CPU':>8} {'wall':>8}")
        team = roots[sizes[0]] / "team-0"
        unit, patched = team / "handler-handler-1", team / "handler-handler-0"
        row("one overlay", ours(unit, 20), build(kustomize, unit), runs)
        row("one overlay with patches", ours(patched, 20), build(kustomize, patched), runs)
        for size, root in roots.items():
            other = None if LARGE <= size < sizes[-1] else kustomize
            row(f"cluster root of {size} units", ours(root), build(other, root), runs)
        for what, folder in (("one overlay", unit), (f"{sizes[-2]} units", roots[sizes[-2]])):
            verb = [sys.executable, "-m", "gati_gitops", "render", str(folder)]
            command = child(verb, environment)
            row(f"as commands: {what}", command, build(kustomize, folder), runs)


def tree(folder: Path, units: int) -> Path:
    """The root of a cluster with so many units."""
    result = compile_specs(load(project.files(units, versions=2)), DiskSnapshot(folder))
    for path, content in result.tree.items():
        if path.startswith(("base/", CLUSTER)):
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    return folder / CLUSTER


Run = Callable[[], tuple[Cost, bytes]]


def ours(folder: Path, times: int = 1) -> Run:
    """Several times when it is short: the first after a pause is about the processor's cache."""

    def run() -> tuple[Cost, bytes]:
        costs = []
        data = b""
        for _ in range(times):
            wall, cpu = time.perf_counter(), time.process_time()
            data = render(DiskFiles("/"), str(folder).lstrip("/")).to_yaml()
            costs.append(Cost(time.process_time() - cpu, time.perf_counter() - wall))
        return min(costs), data

    return run


def build(kustomize: Path | None, folder: Path) -> Run | None:
    return None if kustomize is None else child([str(kustomize), "build", str(folder)], os.environ)


def child(arguments: list[str], environment: os._Environ[str] | dict[str, str]) -> Run:
    def run() -> tuple[Cost, bytes]:
        start = time.perf_counter()
        with subprocess.Popen(
            arguments, stdout=subprocess.PIPE, env=environment, cwd=HERE.parent
        ) as process:
            assert process.stdout is not None
            data = process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(arguments)} ended with {process.returncode}")
        return Cost(usage.ru_utime + usage.ru_stime, time.perf_counter() - start), data

    return run


def row(what: str, mine: Run, theirs: Run | None, runs: int) -> None:
    mine()  # Whatever is done only once is done now.
    costs: list[Cost] = []
    others: list[Cost] = []
    for _ in range(runs):
        cost, printed = mine()
        costs.append(cost)
        gc.collect()
        if theirs is not None and (not others or others[0].wall < SLOW):
            other, expected = theirs()
            others.append(other)
            if printed != expected:
                raise SystemExit(f"{what}: not what kustomize prints")
    best = min(costs)
    line = f"{what:<34} {best.cpu * 1e3:>9.1f} ms"
    if others:
        other = min(others)
        line += f" {other.cpu * 1e3:>9.1f} ms {other.cpu / best.cpu:>6.1f} x"
        line += f" {min(c.wall for c in others) / min(c.wall for c in costs):>6.1f} x"
    print(line, flush=True)


if __name__ == "__main__":
    main()
