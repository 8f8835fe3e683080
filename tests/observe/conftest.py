import pytest


@pytest.fixture
def fake():
    """A server that speaks like Prometheus, and lies on command."""
    from tests.observe.fake_prometheus import FakePrometheus

    with FakePrometheus() as server:
        yield server
