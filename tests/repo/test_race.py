"""Many writers, a person and an operator on one branch: nothing is lost, doubled or brought back.

Small here; `make race` runs it at full size.
"""

import pytest

from tests.race.checker import OPERATOR
from tests.race.harness import Size, run


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Forks beside the threads of a proxy.
def test_everybody_at_once(place, tmp_path):
    size = Size(writers=3, commits=3, by_people=2, resets=2)
    outcome = run(place, size, tmp_path / "race")
    assert outcome.verdict.faults == []
    assert outcome.given_up == []
    assert len(outcome.acknowledged) == size.writers * size.commits
    assert place.git("reflog", "show", "main").count(OPERATOR) <= size.resets
