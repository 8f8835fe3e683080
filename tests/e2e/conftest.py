"""The lane: stories on a whole world. They run when somebody asks for them, by `make e2e` or by naming tests/e2e.

Each story gets a world of its own; when it fails, the report says where the logs of all its programs are.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.timeline import Timeline
from tests.e2e.world import World

LANE = "lane: a story on a whole world (`make e2e`)"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", LANE)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    asked = any("e2e" in argument for argument in config.invocation_params.args)
    if asked or os.environ.get("GATI_E2E"):
        return
    kept = [item for item in items if not item.get_closest_marker("lane")]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


@pytest.fixture
def worlds(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., World]]:
    """Makes worlds; all of them end with the test."""
    with contextlib.ExitStack() as stack:

        def make(*clusters: str) -> World:
            world = stack.enter_context(World(tmp_path / "world", clusters or ("prod",)))
            request.node.stash.setdefault(FOLDERS, []).append(world.folder)
            return world

        yield make


@pytest.fixture
def timelines(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[Timeline]]:
    """What is put in here is printed at the end, and written as a page."""
    kept: list[Timeline] = []
    yield kept
    folder = Path(os.environ.get("GATI_E2E_PAGES") or tmp_path / "pages")
    for index, timeline in enumerate(kept):
        name = request.node.name.replace("[", "-").strip("]")
        page = timeline.page(folder / f"{name}-{index}.html" if index else folder / f"{name}.html")
        print("\n".join([*timeline.lines(), f"page: {page}"]))


FOLDERS = pytest.StashKey[list[Path]]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> object:
    report = yield
    if report.failed:
        for folder in item.stash.get(FOLDERS, []):
            report.sections.append(("logs of all programs", str(folder / "logs")))
    return report
