import pytest


@pytest.fixture(scope="session")
def prometheus(tmp_path_factory):
    """A real Prometheus; tests give their pods names and labels of their own."""
    from tests.servers.prometheus import RealPrometheus

    server = RealPrometheus(tmp_path_factory.mktemp("prometheus"))
    yield server
    server.end()
