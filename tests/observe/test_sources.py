"""Where a cluster's metrics are asked for, by its settings and by the command line."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gati_gitops.errors import Misnamed
from gati_gitops.reconcile.sources import Sources
from gati_gitops.spec.metrics import MetricSource

SECRET = MetricSource(url="https://metrics.example", bearer_file="/run/token", max_series=7)


def source(said: MetricSource | None, url: str) -> MetricSource | None:
    scene = SimpleNamespace(cluster=lambda *_: SimpleNamespace(metrics=said))
    with Sources({}, {}, prometheus={"east": url}) as sources:
        return sources._source(scene, ("prod", "east"))  # type: ignore[arg-type]


def test_an_address_that_a_person_gives_counts_more_and_the_rest_stays():
    found = source(SECRET, "https://127.0.0.1:9090")
    assert found is not None
    assert (found.url, found.bearer_file, found.max_series) == (
        "https://127.0.0.1:9090", "/run/token", 7,
    )  # fmt: skip


def test_no_token_goes_to_such_an_address_in_the_clear():
    with pytest.raises(Misnamed, match="never sent in the clear"):
        source(SECRET, "http://metrics.example")
    assert source(None, "http://metrics.example") is not None
