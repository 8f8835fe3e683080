"""Where tests find the programs and schemas that they compare us with.

Looked for in this order: $GATI_TOOLS (a folder with programs, or with bin/ and crds/ as `make tools`
fills them), the cache of `make tools`, the PATH. What is missing skips the test with a reason that says
what to do, and fails it under GATI_REQUIRE_TOOLS=1: in CI nothing is skipped for want of a tool.
The engines of tests/e2e take half an hour to build, so only GATI_REQUIRE_ENGINES=1 asks for them.
"""

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

MISSING = "missing tool: "  # How the summary at the end of a run knows these skips.


def tool(name: str) -> Path:
    """The program called `name`; without it the test is skipped, or fails in CI."""
    return find(name) or missing(name)


def engine(name: str) -> Path:
    """A program of tests/e2e: of envtest's, where KUBEBUILDER_ASSETS says, or one that we built."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets and os.access(own := Path(assets, name), os.X_OK):
        return own
    how = "`make e2e` builds it; that needs Go, the network and half an hour once"
    return find(name) or missing(name, how, required="GATI_REQUIRE_ENGINES")


def crds_dir(release: str = "") -> Path:
    """The folder of third-party CRDs, one per file, named <group>_<Kind>.yaml.

    Of some there is an earlier release in `crds_dir("before")`, or a later one in "after".
    """
    name = f"crds-{release}" if release else "crds"
    folders = (root / name for root in roots())
    return next((f for f in folders if any(f.glob("*_*.yaml"))), None) or missing(name)


def kustomize_build() -> list[str]:
    """The command that builds the folder named after it: kustomize, or the one inside kubectl."""
    if not find("kustomize") and (kubectl := find("kubectl")):
        return [str(kubectl), "kustomize"]
    return [str(tool("kustomize")), "build"]


def find(name: str) -> Path | None:
    for root in roots():
        for path in (root / "bin" / name, root / name):
            if path.is_file() and os.access(path, os.X_OK):
                return path
    found = shutil.which(name)
    return Path(found) if found else None


def roots() -> list[Path]:
    own = os.environ.get("GATI_TOOLS")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return [*([Path(own)] if own else []), cache / "gati-gitops" / "tools"]


def missing(
    name: str,
    how: str = "`make tools` installs it; it needs Go and the network once",
    required: str = "GATI_REQUIRE_TOOLS",
) -> NoReturn:
    reason = f"{MISSING}{name} ({how})"
    if os.environ.get(required) == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
