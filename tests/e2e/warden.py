"""Holds a network namespace, and ends everything that a test run started, however the run ends.

    python warden.py --net      in a network namespace of its own
    python warden.py            in the caller's

The run that started it writes lines to its standard input: `group 4711` is a process group to end,
`forget 4711` one that has ended. When the input closes, by `close` or because the run was killed, the
warden kills what is left, and with the last process the namespace is gone. So nothing is ever left
behind: no process, no namespace, no name in /run/netns.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

CLONE_NEWNET = 0x40000000
# Every address in here is a pod's: the whole range is on the loopback device.
PODS = "10.244.0.0/16"


def isolate() -> None:
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "no network namespace can be made: this wants root")
    for words in ("link set lo up", f"route add local {PODS} dev lo"):
        subprocess.run(["ip", *words.split()], check=True)


def inhabitants() -> Iterator[int]:
    """Who else lives in this network namespace."""
    here = Path("/proc/self/ns/net").readlink()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                there = (entry / "ns" / "net").readlink()
            except OSError:  # It has ended, or is none of ours.
                continue
            if there == here:
                yield int(entry.name)


def kill(pid: int, *, group: bool) -> None:
    with contextlib.suppress(ProcessLookupError):
        (os.killpg if group else os.kill)(pid, signal.SIGKILL)


def main() -> None:
    own = "--net" in sys.argv
    if own:
        isolate()
    print("ready", flush=True)
    groups: set[int] = set()
    for line in sys.stdin:
        word, number = line.split()
        groups.add(int(number)) if word == "group" else groups.discard(int(number))
    for pid in groups:
        kill(pid, group=True)
    # The run itself may stand in here for a moment; it is no child of anybody in here.
    for pid in inhabitants() if own else ():
        if pid != os.getppid():
            kill(pid, group=False)


if __name__ == "__main__":
    main()
