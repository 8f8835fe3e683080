"""The control plane as a fixture: started by whoever needs it first, ended with the session."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """etcd, kube-apiserver and kube-controller-manager on 127.0.0.1, shared by all tests of a session.

    It has no nodes and no CRDs: `install_crds` adds some. A test makes namespaces of its own.
    """
    from tests.e2e.control_plane import ControlPlane
    from tests.e2e.processes import Place
    from tests.tools import engine

    for name in ("etcd", "kube-apiserver", "kube-controller-manager", "kubectl"):
        engine(name)
    place = Place(tmp_path_factory.mktemp("control-plane"))
    try:
        plane = ControlPlane(place)
        yield plane
        plane.close()
    finally:
        place.close()
