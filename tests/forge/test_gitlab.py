"""What is GitLab's own: numbers for people, job tokens, and pipelines that are not there yet."""

import pytest

from gati_gitops.forge.choose import forge_for
from gati_gitops.forge.model import ForgeError, Text
from tests.forge.worlds import LIMITS, Pauses
from tests.servers.gitlab import JOB_TOKEN

BRANCH = "gati/shop/prod"
TEXT = Text("Publish", "body")


@pytest.fixture
def ready(gitlab):
    sha = gitlab.push(BRANCH)
    return gitlab, gitlab.forge.open(BRANCH, "main", TEXT).pull, sha


def test_a_merge_request_without_a_pipeline_is_not_merged_unseen(ready):
    """GitLab would merge it at once, having nothing to wait for."""
    gitlab, pull, sha = ready
    gitlab.server.pipelines_must_succeed = False
    gitlab.server.pipeline = None
    assert "pipelines succeed" in gitlab.forge.merge_when_ready(pull, sha)
    assert gitlab.server.merged == []


def test_the_merge_status_is_waited_for(ready):
    gitlab, pull, sha = ready
    gitlab.server.checking = 3
    assert gitlab.forge.merge_when_ready(pull, sha) == ""
    assert gitlab.server.pull(1)["merge_when_pipeline_succeeds"]
    assert gitlab.pauses == [2, 2, 2]


def test_a_status_that_stays_undecided_is_a_note(ready):
    gitlab, pull, sha = ready
    gitlab.server.checking = 99
    assert "405" in gitlab.forge.merge_when_ready(pull, sha)


def test_a_lost_answer_makes_no_second_merge_request(gitlab):
    gitlab.push(BRANCH)
    gitlab.server.fail("POST", "/merge_requests$", cut="after")
    assert gitlab.forge.open(BRANCH, "main", TEXT).pull.number == 1
    assert len(gitlab.server.pulls) == 1


def test_forks_are_not_ours(gitlab):
    gitlab.push(BRANCH)
    gitlab.server.open_from_fork(BRANCH)
    assert gitlab.forge.find("gati/") == []
    assert gitlab.forge.open(BRANCH, "main", TEXT).pull.number == 2


def test_rate_limits_come_as_plain_text(gitlab):
    gitlab.server.fail(
        "GET", "/merge_requests$", status=429, body="Retry later",
        headers={"Content-Type": "text/plain", "Retry-After": "5"},
    )  # fmt: skip
    assert gitlab.forge.find("gati/") == []
    assert 5 <= gitlab.pauses[0] < 6


def test_job_tokens_go_in_a_header_of_their_own(gitlab):
    environ = {
        "GATI_FORGE": "gitlab",
        "GATI_FORGE_URL": gitlab.server.url,
        "CI_SERVER_URL": gitlab.server.url,
        "CI_JOB_TOKEN": JOB_TOKEN,
    }
    address = "git@git.example.com:acme/platform/output.git"
    forge = forge_for(address, environ, limits=LIMITS, pause=Pauses())
    assert forge.find("gati/") == []
    assert gitlab.server.seen[-1].headers["job-token"] == JOB_TOKEN


def test_missing_rights_are_told(gitlab):
    gitlab.push(BRANCH)
    gitlab.server.rights = "read"
    with pytest.raises(ForgeError, match="403 Forbidden"):
        gitlab.forge.open(BRANCH, "main", TEXT)
    gitlab.server.rights = "none"
    with pytest.raises(ForgeError, match="404 Project Not Found"):
        gitlab.forge.find("gati/")


def test_every_page_is_looked_at(gitlab):
    for n in range(130):
        gitlab.server._new(f"gati/shop/team-{n}", "main", "t", "")
    assert len(gitlab.forge.find("gati/shop/")) == 130


def test_reviewers_of_people_stay(gitlab):
    gitlab.push(BRANCH)
    gitlab.forge.open(BRANCH, "main", TEXT)
    gitlab.server.pull(1)["reviewers"] = [{"id": 12, "username": "ben"}]
    (found,) = gitlab.forge.find("gati/")
    gitlab.forge.update(found, Text("Publish", "body", (), ("ana",)))
    assert gitlab.forge.find("gati/")[0].reviewers == ("ben", "ana")
