"""The program, which stops at a named point of a pass, as on a machine that is out of breath.

    python -m tests.e2e.frozen FILE reconcile …

FILE names the point (`gati_gitops.repo.steps`). Whoever gets there takes the file away and stops, in the middle of
whatever it does, until it is told to go on.
"""

import os
import runpy
import signal
import sys
from pathlib import Path

from gati_gitops.repo.steps import EVENT


def main() -> None:
    wanted = Path(sys.argv.pop(1))

    def stop(event: str, arguments: tuple[object, ...]) -> None:
        if event == EVENT and wanted.exists() and wanted.read_text() == arguments[0]:
            wanted.unlink()
            os.kill(os.getpid(), signal.SIGSTOP)

    sys.addaudithook(stop)
    runpy.run_module("gati_gitops", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
