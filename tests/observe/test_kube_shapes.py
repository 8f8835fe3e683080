"""Several threads read answers of a shape that none of them has read before."""

import subprocess
import sys
from pathlib import Path

# Learning this shape takes a moment in which others get their turn: just then its half is known.
READ = """
import threading, time
from typing import Any, TypedDict
from gati_gitops.observe.kube_shapes import reader

def slowly():
    time.sleep(0.2)
    return Any

Inner = TypedDict("Inner", {"name": "slowly()"}, total=False)
Shape = TypedDict("Shape", {"metadata": Inner}, total=False)
raw = bytearray(b'{"items": [{"metadata": {"name": "cart"}, "spec": {}}]}')
found = []

def read():
    found.append(reader(Shape)(raw)["items"])

threads = [threading.Thread(target=read) for _ in range(4)]
for thread in threads:
    thread.start()
    time.sleep(0.05)
for thread in threads:
    thread.join()
assert found == [[{"metadata": {"name": "cart"}}]] * 4, found
"""


def test_nobody_reads_with_what_is_half_learnt():
    done = subprocess.run(
        [sys.executable, "-c", READ],
        cwd=Path(__file__).parents[2],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, (done.returncode, done.stderr)
