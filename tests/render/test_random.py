"""Random projects, rendered by both. GATI_RENDER_EXAMPLES sets how many; each costs a run of kustomize."""

import os

import pytest
from hypothesis import HealthCheck, given, note, settings

from tests.render.real import ours, theirs, verdict
from tests.render.strategies import project

EXAMPLES = int(os.environ.get("GATI_RENDER_EXAMPLES", "25"))


@pytest.mark.kustomize
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
    ],
)
@given(project())
def test_random_projects(texts):
    files = {name: text.encode() for name, text in texts.items()}
    mine = ours(files, "over")
    real = theirs(files, "over")
    note(f"ours: {mine}\ntheirs: {real}")
    assert verdict(mine, real) in ("equal", "refused")
