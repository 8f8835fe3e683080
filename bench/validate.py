"""How long `validate` takes for 1,000 and 10,000 specs, as a command and inside one process.

python bench/validate.py [--profile]
"""

from __future__ import annotations

import cProfile
import pstats
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HANDLER = """\
apiVersion: gati.dev/v1alpha1
kind: GatiHandler
metadata:
  name: handler-{number}
  namespace: team-{team}
spec:
  handlerPath: /api/v1/things-{number}
  version: v1.{number}.0
  replicas: 3
  image: registry.example.com/shop/things-{number}:1.{number}.0
  port: 3000
  resources:
    requests: {{cpu: 100m, memory: 128Mi}}
    limits: {{cpu: 500m, memory: 512Mi}}
  env:
    LOG_LEVEL: info
    REGION: eu
  autoscaling:
    type: hpa
    min: 2
    max: 10
    metrics:
      - type: cpu
        utilization: 70
"""
PROJECT = """\
apiVersion: gati.dev/v1alpha1
kind: GatiProject
metadata: {name: bench}
spec:
  environments:
    dev: {clusters: {dev-1: {}}}
    staging: {clusters: {staging-1: {}}}
    prod: {clusters: {prod-1: {}}}
"""
ROUNDS = 5


def files(number: int) -> list[tuple[str, bytes]]:
    """A project of so many handlers, fifty to a namespace."""
    handlers = [
        (f"team-{i // 50}/handler-{i}.yaml", HANDLER.format(number=i, team=i // 50).encode())
        for i in range(number)
    ]
    return [("gati.yaml", PROJECT.encode()), *handlers]


def command(number: int) -> float:
    """Seconds of the whole command, the best of some rounds."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files(number):
            path = Path(folder, name)
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        return best(
            lambda: subprocess.run(
                [sys.executable, "-m", "gati_gitops", "validate", folder],
                check=True,
                stdout=subprocess.DEVNULL,
            )
        )


def best(action: object) -> float:
    took = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        action()  # type: ignore[operator]
        took.append(time.perf_counter() - start)
    return min(took)


def main() -> None:
    from gati_gitops.plan.check import check
    from gati_gitops.spec.load import load

    if "--profile" in sys.argv:
        profile = cProfile.Profile()
        made = files(1000)
        load(made[:10])
        profile.runcall(lambda: check(load(made)))
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)
        return
    print(f"{'specs':>7}  {'command':>9}  {'load':>9}  {'check':>9}")
    for number in (10, 20) if "--smoke" in sys.argv else (1_000, 10_000):
        made = files(number)
        loaded = load(made)
        seconds = command(number), best(lambda: load(made)), best(lambda: check(loaded))  # noqa: B023
        print(f"{number:>7}  " + "  ".join(f"{value * 1000:>6.0f} ms" for value in seconds))
    help_ = best(
        lambda: subprocess.run(
            [sys.executable, "-m", "gati_gitops", "--help"], check=True, stdout=subprocess.DEVNULL
        )
    )
    print(f"--help  {help_ * 1000:>6.0f} ms")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    print(f"peak memory of the largest command: {peak} MiB")


if __name__ == "__main__":
    main()
