"""How much faster than kustomize we render the same folders, in one run on the same tree.

    bench/render.py [units of the large root, default 500] [--without-kustomize]

The tree is made of copies of one unit of the repository's own overlays, with two live versions
each: read from disk, as `render` and `kustomize build` read it. Ours runs in a warm process and
as a command; what kustomize prints is compared byte for byte before any time counts.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from gati_gitops.disk.reader import DiskFiles  # noqa: E402
from gati_gitops.render import render  # noqa: E402
from tests.tools import find  # noqa: E402

UNITS_PER_NAMESPACE = 50


def main() -> None:
    numbers = [int(argument) for argument in sys.argv[1:] if argument.isdigit()]
    units = numbers[0] if numbers else 500
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


def measure(what: str, folder: Path, kustomize: Path | None, runs: int) -> None:
    path = str(folder.resolve()).lstrip("/")
    ours = timed(lambda: render(DiskFiles("/"), path).to_yaml(), runs)
    line = f"{what:32} ours {ours * 1e3:9.2f} ms"
    if kustomize is not None:
        theirs = subprocess.run(
            [str(kustomize), "build", str(folder)], capture_output=True, check=True
        ).stdout
        if render(DiskFiles("/"), path).to_yaml() != theirs:
            raise SystemExit(f"{folder}: not what kustomize prints")
        command = [str(kustomize), "build", str(folder)]
        slow = timed(
            lambda: subprocess.run(command, capture_output=True, check=True),
            min(runs, 5) if ours < 0.2 else 1,
        )
        line += f"   kustomize {slow * 1e3:10.1f} ms   {slow / ours:6.0f} times"
        own = [sys.executable, "-m", "gati_gitops", "render", str(folder)]
        whole = timed(
            lambda: subprocess.run(own, capture_output=True, check=True, cwd=ROOT), min(runs, 3)
        )
        line += f"   as a command {whole * 1e3:7.0f} ms, {slow / whole:.1f} times"
    print(line, flush=True)


def timed(call: Callable[[], object], runs: int) -> float:
    call()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


if __name__ == "__main__":
    main()
