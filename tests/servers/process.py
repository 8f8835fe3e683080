"""Programs that a test starts and ends, by their process id."""

import contextlib
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

DEADLINE = 20  # Seconds until a server must answer; a busy machine is slow.


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Process:
    """A program in a group of its own, with its words in a file."""

    def __init__(self, command, log: Path, env=None, cwd=None) -> None:
        self.log = log
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env={**os.environ, **(env or {})},
                cwd=cwd,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def answers(self, address) -> bool:
        """Wait until somebody listens there; False if the program ended instead."""
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end and self._process.poll() is None:
            with socket.socket(family) as probe, contextlib.suppress(OSError):
                probe.connect(address)
                return True
            time.sleep(0.01)
        return False

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGTERM)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()


def started(attempts: int, start):
    """What ``start`` gives, tried again: a free port may be taken before a server gets to it."""
    for left in reversed(range(attempts)):
        server = start()
        if server is not None:
            return server
        if not left:
            break
    raise AssertionError("a server did not start; its log says why")
