"""One Gitea for all tests of a session, and a fresh repository for each test."""

import pytest

from tests.forge import worlds
from tests.servers.gitea import Gitea


@pytest.fixture(scope="session")
def gitea_server(tmp_path_factory):
    server = Gitea(tmp_path_factory.mktemp("gitea"))
    yield server
    server.close()


@pytest.fixture
def github():
    world = worlds.github()
    yield world
    world.server.close()


@pytest.fixture
def gitlab():
    world = worlds.gitlab()
    yield world
    world.server.close()


@pytest.fixture
def gitea(gitea_server):
    return worlds.gitea(gitea_server)


@pytest.fixture(params=["github", "gitlab", "gitea"])
def world(request):
    return request.getfixturevalue(request.param)
