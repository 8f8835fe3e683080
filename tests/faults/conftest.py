"""A server that lies, a real one of one's own, and a corner of one that is shared."""

from zlib import crc32

import pytest


@pytest.fixture
def fake():
    from tests.observe.fake_prometheus import FakePrometheus

    with FakePrometheus() as server:
        yield server


@pytest.fixture
def own(tmp_path):
    """A real Prometheus of one's own, that may be stopped."""
    from tests.servers.prometheus import RealPrometheus

    server = RealPrometheus(tmp_path / "prometheus")
    yield server
    server.end()


@pytest.fixture
def real(prometheus, request):
    """A corner of a real Prometheus that others use too."""
    from tests.faults.telemetry import Corner

    return Corner(prometheus, f"t{crc32(request.node.nodeid.encode())}")
