"""A project of any size, for the benchmarks: believable handlers, three environments."""

from __future__ import annotations

from pathlib import Path

PROJECT = """\
apiVersion: gati.dev/v1alpha1
kind: GatiProject
metadata: {name: bench}
spec:
  rollout: {strategy: canary}
  environments:
    dev: {clusters: {dev-1: {}}}
    staging: {clusters: {staging-1: {}}}
    prod:
      clusters: {prod-1: {}}
      registries: {ghcr.io/bench: registry.prod.example/bench}
"""
HANDLER = """\
apiVersion: gati.dev/v1alpha1
kind: GatiHandler
metadata:
  name: handler-{number}
  namespace: team-{team}
spec:
  handlerPath: /api/things-{number}
  version: v1.{minor}.0
  replicas: 3
  image: ghcr.io/bench/things-{number}:1.{minor}.0
  port: 3000
  env:
    LOG_LEVEL: info
    REGION: eu
  resources:
    requests:
      cpu: 100m
      memory: 128Mi
    limits:
      cpu: 500m
      memory: 512Mi
  autoscaling:
    type: hpa
    min: 2
    max: 10
"""
VERSION = """\
apiVersion: gati.dev/v1alpha1
kind: GatiVersion
metadata:
  name: handler-{number}-old
  namespace: team-{team}
spec:
  handler: handler-{number}
  versionId: v0.9.0
  breaking: false
  routingWeight: 10
  image: ghcr.io/bench/things-{number}:0.9.0
"""
PARTIAL = """\
apiVersion: gati.dev/v1alpha1
kind: GatiHandler
metadata:
  name: handler-{number}
  namespace: team-{team}
spec:
  replicas: 6
  env:
    LOG_LEVEL: warn
"""


def files(units: int, versions: int = 1, per_namespace: int = 50) -> list[tuple[str, bytes]]:
    """So many handlers, one or two versions each; every fourth differs in prod."""
    found = [("gati.yaml", PROJECT.encode())]
    for number in range(units):
        values = {"number": number, "team": number // per_namespace, "minor": number % 7}
        name = f"team-{number // per_namespace}/handler-{number}.yaml"
        text = HANDLER.format(**values)
        if versions > 1:
            text += "---\n" + VERSION.format(**values)
        found.append((name, text.encode()))
        if number % 4 == 0:
            found.append((f"environments/prod/{name}", PARTIAL.format(**values).encode()))
    return found


def write(folder: Path, units: int, versions: int = 1, per_namespace: int = 50) -> Path:
    """The same as a folder."""
    for name, content in files(units, versions, per_namespace):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder
