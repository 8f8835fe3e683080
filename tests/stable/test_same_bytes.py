"""The same input gives the same bytes: any hash seed, locale, file order, time zone and Python.

The golden trees are what one Python made; run under another (`make test-pythons`), the comparison
with them is the comparison of the two.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.golden.cases import CASES, HERE, compile_case, digest, kept, read
from tests.stable.compile_cases import digests

ROOT = Path(__file__).parents[2]


@cache
def here() -> dict[str, str]:
    return digests()


def elsewhere(*arguments: str, **environment: str) -> dict[str, str]:
    """The digests as another process makes them."""
    command = [sys.executable, "-m", "tests.stable.compile_cases", *arguments]
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    run = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, check=False)
    assert run.returncode == 0, run.stderr.decode()
    return json.loads(run.stdout)


@pytest.mark.parametrize("case", CASES)
def test_every_python_gives_the_agreed_bytes(case):
    agreed = read(HERE / case / "want")
    assert agreed
    assert digest(kept(case, compile_case(case))) == digest(agreed)


@pytest.mark.parametrize("seed", ["0", "1", "random"])
def test_the_hash_seed_does_not_matter(seed):
    assert elsewhere(PYTHONHASHSEED=seed) == here()


@pytest.mark.parametrize("locale", ["C", "C.UTF-8", "tr_TR.UTF-8", "de_DE@euro"])
def test_the_locale_does_not_matter(locale):
    # a locale that the system lacks falls back to C, which is one more case and no error
    assert elsewhere(LC_ALL=locale, LANG=locale, PYTHONUTF8="0", PYTHONCOERCECLOCALE="0") == here()


def test_the_time_zone_does_not_matter():
    assert elsewhere(TZ="Pacific/Kiritimati") == here()


def test_without_asserts_it_is_the_same():
    assert elsewhere(PYTHONOPTIMIZE="1") == here()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_order_of_files_does_not_matter(seed):
    assert digests(seed) == here()
