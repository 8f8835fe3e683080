"""What all tests share: profiles of hypothesis, --update-golden, and a word about missing tools."""

import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.tools import MISSING

pytest_plugins = ["tests.e2e.fixtures", "tests.job.watcher", "tests.servers.fixtures"]

NOBODY = 65534
REAL = {"browser", "control_plane", "gitea_server", "prometheus"}
"""What takes its time to start, and longer on a machine that others share: whoever asks for it is slow."""

# A shared machine is slow at times, and that is no fault of the code.
settings.register_profile(
    "default", max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
# The same examples on every run, so that a red CI is red again at the desk.
settings.register_profile(
    "ci", settings.get_profile("default"), max_examples=200, derandomize=True, print_blob=True
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not REAL.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write what the code makes today over the golden files; read the diff before you commit",
    )


@pytest.fixture(scope="session")
def update_golden(pytestconfig: pytest.Config) -> bool:
    return bool(pytestconfig.getoption("--update-golden"))


@pytest.fixture(scope="session")
def gitea_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """A real Gitea, one for a whole session; tests make repositories of their own there."""
    from tests.servers.gitea import Gitea

    server = Gitea(tmp_path_factory.mktemp("gitea"))
    yield server
    server.close()


@pytest.fixture
def unprivileged(tmp_path: Path) -> Iterator[Path]:
    """A folder, and for as long as the test lasts somebody who may not read everything, as root may."""
    if os.geteuid():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory() as folder:  # into tmp_path nobody else may look
        os.chown(folder, NOBODY, NOBODY)
        os.seteuid(NOBODY)
        try:
            yield Path(folder)
        finally:
            os.seteuid(0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reasons = [str(r.longrepr) for r in terminalreporter.getreports("skipped")]
    found = re.findall(re.escape(MISSING) + r"([^(]+) \(([^;)]+)", "\n".join(reasons))
    for name, how in sorted(set(found)):
        line = f"skipped for want of {name}: {found.count((name, how))} ({how})"
        terminalreporter.write_line(line, yellow=True)
