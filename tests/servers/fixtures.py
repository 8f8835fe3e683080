"""The servers as fixtures: each is started once by whoever needs it first, and ended by its id.

`place` is a repository with one commit, reached by each road in turn; `places` makes more of them.
"""

import itertools
import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def repositories(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("repositories")


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    from tests.servers.certificates import Authority

    return Authority(tmp_path_factory.mktemp("authority") / "ca")


@pytest.fixture(scope="session")
def web(tmp_path_factory, repositories, authority):
    import pygit2

    from tests.servers.web import Web

    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"
    server = Web(tmp_path_factory.mktemp("web") / "web", repositories, authority)
    pygit2.settings.set_ssl_cert_locations(str(authority.file), None)
    yield server
    server.end()


@pytest.fixture(scope="session")
def ssh(tmp_path_factory):
    from tests.servers.ssh import Ssh

    server = Ssh(tmp_path_factory.mktemp("ssh") / "ssh")
    yield server
    server.end()


@pytest.fixture
def proxy(web):
    """Stands before the web server and does no harm until it is told to."""
    from tests.servers.proxy import Proxy

    made = Proxy(web.port)
    yield made
    made.end()


@pytest.fixture(scope="session")
def names():
    return itertools.count()


@pytest.fixture
def places(request, repositories, names):
    """Makes a repository and the way to it; servers that are not asked for are not started."""
    from tests.servers.places import new_repository, place

    def make(kind: str, *, seed: bool = True):
        bare = new_repository(repositories / f"r{next(names)}.git", seed=seed)
        servers = {
            "path": (),
            "ssh": ("ssh",),
            "http": ("web",),
            "https": ("web",),
        }[kind]
        return place(kind, bare, **{name: request.getfixturevalue(name) for name in servers})

    return make


@pytest.fixture(params=["path", "http", "ssh"])
def road(request) -> str:
    return request.param


@pytest.fixture
def place(road, places):
    return places(road)


@pytest.fixture
def empty(road, places):
    return places(road, seed=False)


@pytest.fixture
def behind(places, proxy):
    """A repository behind the proxy."""
    from dataclasses import replace

    found = places("http")
    return replace(found, url=proxy.url(found.bare.name))


@pytest.fixture(scope="session")
def prometheus(tmp_path_factory):
    """A real Prometheus; tests give their pods names and labels of their own."""
    from tests.servers.prometheus import RealPrometheus

    server = RealPrometheus(tmp_path_factory.mktemp("prometheus"))
    yield server
    server.end()
