"""Three forges, with a fresh repository for each test."""

import pytest

from tests.forge import worlds


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
