"""How much faster than kustomize we render the same folders, in one run on the same tree.

    bench/render.py [units of the large root, default 500] [--without-kustomize]

The tree is made of copies of one unit of the repository's own overlays, with two live versions
each: read from disk, as `render` and `kustomize build` read it. Ours runs in a warm process and
as a command; what kustomize prints is compared byte for byte before any time counts.
"""

import gc
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from gati_gitops.disk.reader import DiskFiles  # noqa: E402
from gati_gitops.render import render  # noqa: E402
from tests.tools import find  # noqa: E402

UNITS_PER_NAMESPACE = 50


def main() -> None:
    numbers = [int(argument) for argument in sys.argv[1:] if argument.isdigit()]
    units = numbers[0] if numbers else 500
    # As the program itself sets it: documents live until the end, collecting them finds nothing.
    gc.set_threshold(100_000, 50, 100)
    kustomize = None if "--without-kustomize" in sys.argv else find("kustomize")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        sizes = [size for size in (10, 50, 100, 200, 500, 1000) if size < units] + [units]
        overlays = make_tree(root, units, sizes)
        files = sum(1 for _ in root.rglob("*.yaml"))
        print(f"{units} units with two versions each, {files} files\n")
        measure("one unit", overlays[0], kustomize, runs=20)
        measure("one namespace of 50 units", root / "overlays/prod/bench/ns-0", kustomize, runs=5)
        for size in sizes:
            slow = kustomize if size in (50, 100, units) else None
            measure(f"cluster root of {size} units", root / f"roots/{size}", slow, runs=3)


def make_tree(root: Path, units: int, sizes: list[int]) -> list[Path]:
    """Copies of one unit under base/ and overlays/, with the kustomizations above them."""
    template = template_unit()
    namespace, name = template.parent.name, template.name.removeprefix("handler-")
    releases = [
        (template / line.strip('- "\n')).resolve()
        for line in (template / "kustomization.yaml").read_text().splitlines()
        if "base/" in line
    ]
    made = []
    for number in range(units):
        here = f"ns-{number // UNITS_PER_NAMESPACE}"
        unit = f"u{number}"

        def copied(text: str, unit: str = unit, here: str = here) -> str:
            text = text.replace(name, unit).replace(f"namespace: {namespace}", f"namespace: {here}")
            return text.replace(f"base/{namespace}/", f"base/{here}/")

        target = root / "overlays/prod/bench" / here / f"handler-{unit}"
        copy(template, target, copied)
        for release in releases:
            copy(release, root / "base" / here / f"handler-{unit}" / release.name, copied)
        made.append(target)
    for number in range(0, units, UNITS_PER_NAMESPACE):
        here = root / f"overlays/prod/bench/ns-{number // UNITS_PER_NAMESPACE}"
        names = [p.name for p in made[number : number + UNITS_PER_NAMESPACE]]
        write_kustomization(here, names)
    for size in sizes:
        folder = root / f"roots/{size}"
        write_kustomization(folder, [os.path.relpath(unit, folder) for unit in made[:size]])
    return made


def template_unit() -> Path:
    for path in sorted(ROOT.glob("overlays/*/*/*/handler-*/kustomization.yaml")):
        if path.read_text().count("base/") == 2:
            return path.parent
    raise SystemExit("no unit with two versions in the repository's overlays")


def copy(source: Path, target: Path, copied: Callable[[str], str]) -> None:
    target.mkdir(parents=True)
    for file in source.glob("*.yaml"):
        (target / file.name).write_text(copied(file.read_text()))


def write_kustomization(folder: Path, resources: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["apiVersion: kustomize.config.k8s.io/v1beta1", "kind: Kustomization", "resources:"]
    lines += [f'- "{name}"' for name in resources]
    (folder / "kustomization.yaml").write_text("\n".join(lines) + "\n")


class Cost(NamedTuple):
    """Seconds that pass, and seconds that processors work: they differ where others work too."""

    wall: float
    cpu: float


def measure(what: str, folder: Path, kustomize: Path | None, runs: int) -> None:
    path = str(folder.resolve()).lstrip("/")
    ours, printed = timed(lambda: render(DiskFiles("/"), path).to_yaml(), runs)
    print(f"{what}\n    ours       {told(ours)}", flush=True)
    if kustomize is None:
        return
    theirs, expected = timed(lambda: run([str(kustomize), "build", str(folder)]), runs)
    if printed != expected:
        raise SystemExit(f"{folder}: not what kustomize prints")
    command = [sys.executable, "-m", "gati_gitops", "render", str(folder)]
    whole, _ = timed(lambda: run(command), min(runs, 3))
    print(f"    kustomize  {told(theirs)}   {ratio(theirs, ours)} as long as ours")
    print(
        f"    command    {told(whole)}   kustomize takes {ratio(theirs, whole)} as long", flush=True
    )


def told(cost: Cost) -> str:
    return f"{cost.wall * 1e3:9.1f} ms, {cost.cpu * 1e3:9.1f} ms of CPU"


def ratio(one: Cost, two: Cost) -> str:
    return f"{one.wall / two.wall:.1f} times (CPU {one.cpu / two.cpu:.1f} times)"


def run(command: list[str]) -> bytes:
    return subprocess.run(command, capture_output=True, check=True, cwd=ROOT).stdout


def timed(call: Callable[[], bytes], runs: int) -> tuple[Cost, bytes]:
    """The median cost of some runs after a first; of the first alone when it takes long."""
    costs: list[Cost] = []
    result = b""
    for _ in range(runs + 1):
        start, before = time.perf_counter(), used()
        result = call()
        costs.append(Cost(time.perf_counter() - start, used() - before))
        if costs[0].wall > 20:
            return costs[0], result
    return Cost(*(statistics.median(column) for column in zip(*costs[1:], strict=True))), result


def used() -> float:
    """CPU seconds of this process and of those it has waited for."""
    whos = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, whos))


if __name__ == "__main__":
    main()
