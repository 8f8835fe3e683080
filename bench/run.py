"""Every benchmark, one after the other; arguments go to each.

python bench/run.py [--smoke]
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCHES = (
    "validate", "disk", "compile", "render", "repo", "publish", "preview", "prometheus", "cluster",
    "reconcile", "one_pass",
)  # fmt: skip


def main() -> int:
    for name in BENCHES:
        print(f"== {name}", flush=True)
        program = Path(__file__).with_name(f"{name}.py")
        done = subprocess.run([sys.executable, program, *sys.argv[1:]], check=False)
        if done.returncode:
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
