"""Runs tests/stable under every Python that we support: the output must not depend on it.

Each interpreter gets a virtual environment in the cache with what the project depends on; the
project itself is taken from this folder. An interpreter that is not there is named and left out,
but under GATI_REQUIRE_TOOLS=1 that is a failure. Standard library only.
"""

import hashlib
import os
import subprocess
import sys
import tomllib
from pathlib import Path

MINORS = ("3.11", "3.12", "3.13")
TESTS = "tests/stable"
ROOT = Path(__file__).resolve().parent.parent


def requirements() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    runners = ("pytest>", "hypothesis>")
    dev = project["optional-dependencies"]["dev"]
    return [*project["dependencies"], *(line for line in dev if line.startswith(runners))]


def find(minor: str) -> str | None:
    found = subprocess.run(
        [ROOT / "scripts/find-python", minor], capture_output=True, text=True, check=False
    )
    return found.stdout.strip() if found.returncode == 0 else None


def environment(minor: str, python: str) -> str:
    """The interpreter of an environment that holds the requirements; made anew when they change."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    wanted = requirements()
    digest = hashlib.sha256("\n".join([python, *wanted]).encode()).hexdigest()[:12]
    folder = cache / "gati-gitops" / "venvs" / f"{minor}-{digest}"
    inside = str(folder / "bin" / "python")
    if not (folder / "ready").exists():
        print(f"setup: {folder}", flush=True)
        subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
        pip = [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *wanted], check=True)
        (folder / "ready").touch()
    return inside


def main() -> int:
    if not (ROOT / TESTS).is_dir():
        print(f"{TESTS} is not there: nothing to run.", file=sys.stderr)
        return 1
    pythons = {minor: find(minor) for minor in MINORS}
    missing = [minor for minor, python in pythons.items() if not python]
    failed = []
    for minor, python in pythons.items():
        if not python:
            continue
        try:
            inside = environment(minor, python)
        except subprocess.CalledProcessError as error:
            print(f"Python {minor}: the environment can't be made: {error}", file=sys.stderr)
            failed.append(minor)
            continue
        print(f"Python {minor}: {TESTS}", flush=True)
        command = [inside, "-m", "pytest", "-q", "-p", "no:cacheprovider", TESTS]
        env = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
        if subprocess.run(command, cwd=ROOT, env=env, check=False).returncode:
            failed.append(minor)
    if failed:
        print(f"failed under Python {', '.join(failed)}", file=sys.stderr)
    if missing:
        print(f"not found, so not tested: Python {', '.join(missing)}", file=sys.stderr)
    required = os.environ.get("GATI_REQUIRE_TOOLS") == "1" or len(missing) == len(MINORS)
    return 1 if failed or (missing and required) else 0


if __name__ == "__main__":
    sys.exit(main())
