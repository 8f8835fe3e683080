"""The lane: stories on a whole world. They run when somebody asks for them, by `make e2e` or by naming tests/e2e.

Each story gets a world of its own; when it fails, the report says where the logs of all its programs are.
"""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.timeline import Timeline
from tests.e2e.world import World

LANE = "lane(minutes=3): a story on a whole world (`make e2e`), and how long it takes"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", LANE)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    asked = any("e2e" in argument for argument in config.invocation_params.args)
    if asked or os.environ.get("GATI_E2E"):
        # Two worlds live side by side: who takes long begins early, so that nobody is waited for at the end.
        items.sort(key=minutes, reverse=True)
        return
    kept = [item for item in items if not item.get_closest_marker("lane")]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


def minutes(item: pytest.Item) -> float:
    marker = item.get_closest_marker("lane")
    return marker.kwargs.get("minutes", 3) if marker else 0


@pytest.fixture
def worlds(request: pytest.FixtureRequest) -> Iterator[Callable[..., World]]:
    """Makes worlds; all of them end with the test. Of one that failed the folder stays."""
    base = Path(os.environ.get("GATI_E2E_FOLDER") or f"{tempfile.gettempdir()}/gati-e2e")
    folder = base / f"{plain(request.node.name)}-{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    request.node.stash[FOLDER] = folder
    with contextlib.ExitStack() as stack:
        yield lambda *clusters: stack.enter_context(World(folder, clusters or ("prod",)))
    if not request.node.stash.get(FAILED, False):
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def timelines(request: pytest.FixtureRequest) -> Iterator[list[Timeline]]:
    """What is put in here is printed at the end, and written as a page."""
    kept: list[Timeline] = []
    yield kept
    folder = Path(os.environ.get("GATI_E2E_PAGES") or f"{tempfile.gettempdir()}/gati-e2e/pages")
    for index, timeline in enumerate(kept):
        name = "-".join([plain(request.node.name), *([str(index)] if index else [])])
        page = timeline.page(folder / f"{name}.html")
        print("\n".join([*timeline.lines(), f"page: {page}"]))


def plain(name: str) -> str:
    return name.replace("[", "-").strip("]")


FOLDER = pytest.StashKey[Path]()
FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> object:
    report = yield
    folder = item.stash.get(FOLDER, None)
    if report.failed and folder:
        item.stash[FAILED] = True
        report.sections.append(("logs of all programs", str(folder / "logs")))
    return report
