"""Programs that a test starts in one place: the machine's own network, or a namespace apart.

`Place` starts them, ends them by their process ids, keeps their words in files, and has a warden that does
the same if the run is killed. `inside` moves the calling thread into the place: what it
connects to, and what it starts, is there.
"""

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from urllib3.exceptions import HTTPError

from tests.e2e import warden
from tests.tools import missing

GRACE = 5.0
# How much longer everything may take than on an idle machine; it costs only those who fail.
PATIENCE = float(os.environ.get("GATI_E2E_PATIENCE", "2"))


class Program:
    """A running program in a process group of its own."""

    def __init__(self, place: "Place", name: str, command: Sequence[object], env: Mapping) -> None:
        self.name = name
        self.log = place.folder / "logs" / f"{name}.log"
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self._place = place
        with self.log.open("ab") as out, place.inside():
            self._process = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env={**os.environ, **env},
                cwd=place.folder,
                start_new_session=True,
            )
        place.tell("group", self.pid)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def end(self, grace: float = GRACE) -> None:
        """Ask it to end, and end it when it does not; 0 is a crash."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGTERM if grace else signal.SIGKILL)
        try:
            self._process.wait(grace or None)
        except subprocess.TimeoutExpired:
            os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()
        with contextlib.suppress(ProcessLookupError):  # What it has left behind.
            os.killpg(self.pid, signal.SIGKILL)
        self._place.tell("forget", self.pid)

    def freeze(self) -> None:
        os.killpg(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.killpg(self.pid, signal.SIGCONT)

    @property
    def frozen(self) -> bool:
        """Whether it stands still, by `freeze` or by itself."""
        return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"

    def said(self, lines: int = 30) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


class Place:
    def __init__(self, folder: Path, *, apart: bool = False) -> None:
        """With `apart` in a network namespace of its own, where all ports are free."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.programs: list[Program] = []
        self._apart = apart
        if apart:
            _privileged()
        self._warden = subprocess.Popen(
            [sys.executable, warden.__file__, *(["--net"] if apart else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self._warden.stdout
        if self._warden.stdout.readline() != "ready\n":
            _, said = self._warden.communicate()
            _missing("a network namespace", said.strip().splitlines()[-1])

    def start(self, name: str, *command: object, env: Mapping[str, str] | None = None) -> Program:
        program = Program(self, name, command, env or {})
        self.programs.append(program)
        return program

    def tell(self, word: str, pid: int) -> None:
        assert self._warden.stdin
        self._warden.stdin.write(f"{word} {pid}\n")
        self._warden.stdin.flush()

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """Stand in the place for a while; other threads stay where they are."""
        if not self._apart:
            yield
            return
        thread = threading.get_native_id()
        home = os.open(f"/proc/self/task/{thread}/ns/net", os.O_RDONLY)
        try:
            _enter(Path(f"/proc/{self._warden.pid}/ns/net"))
            yield
        finally:
            _set(home)
            os.close(home)

    def close(self) -> None:
        """End what runs, last started first; logs stay."""
        for program in reversed(self.programs):
            program.end()
        self.programs.clear()
        self._warden.communicate()

    @property
    def door(self) -> str:
        """The command that takes a person in."""
        return f"nsenter --net=/proc/{self._warden.pid}/ns/net bash" if self._apart else ""


def until(what: str, probe: Callable[[], Any], *, within: float, every: float = 0.1) -> Any:
    """What a probe gives once it gives something; its last word when it never does."""
    end = time.monotonic() + within * PATIENCE
    last: object = None
    while time.monotonic() < end:
        try:
            if found := probe():
                return found
            last = found
        except (OSError, AssertionError, LookupError, HTTPError) as error:
            last = error
        time.sleep(every)
    raise AssertionError(f"{what}: not within {within * PATIENCE:g} s; last: {last!r}")


def _privileged() -> None:
    if not shutil.which("ip"):
        _missing("ip", "iproute2 has it: apt-get install iproute2")
    if os.geteuid():
        _missing(
            "a network namespace", "it wants root: `unshare --map-root-user make e2e`, or sudo"
        )


def _missing(name: str, how: str) -> NoReturn:
    missing(name, how, required="GATI_REQUIRE_ENGINES")


def _enter(namespace: Path) -> None:
    where = os.open(namespace, os.O_RDONLY)
    try:
        _set(where)
    finally:
        os.close(where)


def _set(where: int) -> None:
    if ctypes.CDLL(None, use_errno=True).setns(where, warden.CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "the network namespace can't be entered")
