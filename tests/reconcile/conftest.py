from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reconcile.town import Town


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    town = Town(tmp_path)
    yield town
    town.close()
