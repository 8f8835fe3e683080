"""Prints a digest of what every golden case compiles to. Run as a program, under odd circumstances.

``--shuffle N`` hands the files over in another order. Standard output is the only output.
"""

from __future__ import annotations

import json
import random
import sys

from gati_gitops.compiler import compile_specs
from gati_gitops.spec.load import load
from gati_gitops.tree import MemorySnapshot
from tests.golden.cases import CASES, HERE, before, digest, read


def digests(seed: int | None = None) -> dict[str, str]:
    """By case; with a seed the files come in another order, the old tree's too."""
    found = {}
    for case in CASES:
        files, old = list(read(HERE / case / "specs").items()), list(before(case).items())
        if seed is not None:
            shuffled = random.Random(seed)
            shuffled.shuffle(files)
            shuffled.shuffle(old)
        found[case] = digest(compile_specs(load(files), MemorySnapshot(dict(old))).tree)
    return found


if __name__ == "__main__":
    json.dump(digests(int(sys.argv[2]) if "--shuffle" in sys.argv else None), sys.stdout)
