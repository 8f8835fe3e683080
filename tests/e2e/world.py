"""A world apart: a Git server and clusters in a network namespace of their own, and our commands in it.

    with World(folder, ["prod"]) as world:
        flux = Flux(world["prod"], world.git)
        world.publish(specs)

Everything in it ends with it, or with the run that made it; its logs stay in `folder/logs`.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from gati_gitops.render import MemoryFiles, render
from tests.e2e.cluster import ROOT, Cluster
from tests.e2e.git import GitServer
from tests.e2e.processes import Place


class World:
    def __init__(self, folder: Path, clusters: Sequence[str] = ("prod",)) -> None:
        self.place = Place(folder, apart=True)
        self.folder = folder
        self._inside = self.place.inside()
        try:
            self._inside.__enter__()
            self.git = GitServer(self.place)
            self.clusters = {
                name: Cluster(self.place, name, index) for index, name in enumerate(clusters)
            }
        except BaseException:
            self.close()
            raise

    def __getitem__(self, name: str) -> Cluster:
        return self.clusters[name]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        try:
            for cluster in getattr(self, "clusters", {}).values():
                cluster.plane.close()
            if hasattr(self, "git"):
                self.git.end()
        finally:
            self.place.close()
            self._inside.__exit__(None, None, None)

    # ---------------------------------------------------------------------------------- our commands

    def run(self, *args: object, code: int = 0, env: dict[str, str] | None = None) -> str:
        """One of our own commands, as a user runs it; what it says."""
        done = subprocess.run(
            [sys.executable, "-m", "gati_gitops", *map(str, args)],
            cwd=ROOT,
            env={**_quiet(), **self.git.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        said = done.stdout + done.stderr
        assert done.returncode == code, f"{args}: exit {done.returncode}\n{said}"
        return said

    def publish(self, specs: Path, *args: object) -> str:
        """Publish a folder of specs; the commit that the branch is at afterwards."""
        self.run("publish", specs, "--repo", self.git.url, *args)
        return self.git.tip()

    def bootstrap(self, cluster: str) -> None:
        """What a person applies once: `kubectl apply --server-side -k clusters/<cluster>`."""
        objects = render(MemoryFiles(self.git.tree()), f"clusters/{cluster}").objects()
        self[cluster].apply_all(objects, manager="kubectl")


def _quiet() -> dict[str, str]:
    import os

    return {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "NO_COLOR": "1",
        "LC_ALL": "C.UTF-8",
    }
