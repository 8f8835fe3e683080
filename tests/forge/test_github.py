"""What is GitHub's own: its replicas, its rights, its teams, its two ways to merge."""

import pytest

from gati_gitops.forge.choose import forge_for
from gati_gitops.forge.model import ForgeError, Text
from tests.forge.worlds import LIMITS
from tests.servers.github import TOKEN

BRANCH = "gati/shop/prod"
TEXT = Text("Publish", "body")


def test_a_branch_that_one_replica_does_not_know_yet(github):
    github.push(BRANCH)
    github.server.lag[BRANCH] = 2
    assert github.forge.open(BRANCH, "main", TEXT).pull.number == 1
    assert len(github.pauses) == 2


def test_a_lost_answer_makes_no_second_pull_request(github):
    github.push(BRANCH)
    github.server.fail("POST", "/pulls$", cut="after")
    assert github.forge.open(BRANCH, "main", TEXT).pull.number == 1
    assert len(github.server.pulls) == 1


def test_a_request_that_never_arrived_is_an_error(github):
    github.push(BRANCH)
    github.server.fail("POST", "/pulls$", cut="before")
    with pytest.raises(ForgeError, match="whether it was done is not known"):
        github.forge.open(BRANCH, "main", TEXT)
    assert github.server.pulls == []


def test_secondary_rate_limits_are_waited_for(github):
    github.push(BRANCH)
    words = (
        "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
    )
    github.server.fail(
        "POST",
        "/pulls$",
        times=2,
        status=403,
        body={"message": words},
        headers={"Retry-After": "3"},
    )
    github.forge.open(BRANCH, "main", TEXT)
    assert [round(p) for p in github.pauses] == [3, 3] or all(3 <= p < 4 for p in github.pauses)
    assert len(github.server.pulls) == 1


def test_pull_requests_of_forks_are_not_ours(github):
    """Anybody can name a branch of a fork like ours."""
    github.push(BRANCH)
    github.server.open_from_fork(BRANCH)
    assert github.forge.find("gati/") == []
    assert github.forge.open(BRANCH, "main", TEXT).pull.number == 2
    github.server.close_by_hand(1)
    assert github.forge.closed(BRANCH) == []


def test_every_page_is_looked_at(github):
    for n in range(230):
        github.server._new(f"gati/shop/team-{n}", "main", "t", "", draft=False)
    assert len(github.forge.find("gati/shop/")) == 230
    assert len(github.server.calls("GET", "/pulls")) == 3


def test_missing_rights_are_told(github):
    github.push(BRANCH)
    github.server.rights = "read"
    with pytest.raises(ForgeError, match="Resource not accessible") as error:
        github.forge.open(BRANCH, "main", TEXT)
    assert error.value.remedy == "the token lacks a right: pull_requests=write"
    github.server.rights = "none"
    with pytest.raises(ForgeError, match="404 Not Found") as error:
        github.forge.find("gati/")
    assert "may not see it" in error.value.remedy
    github.server.token = "another"
    with pytest.raises(ForgeError, match="401 Bad credentials") as error:
        github.forge.find("gati/")
    assert TOKEN not in str(vars(error.value))


def test_teams_are_asked_by_owner_and_name(github):
    github.push(BRANCH)
    text = Text("Publish", "body", (), ("acme/platform", "ana", "acme/strangers"))
    done = github.forge.open(BRANCH, "main", text)
    assert len(done.notes) == 1 and "acme/strangers" in done.notes[0]
    (found,) = github.forge.find("gati/")
    assert found.reviewers == ("ana", "acme/platform")


def test_who_has_answered_is_not_asked_again(github):
    github.push(BRANCH)
    text = Text("Publish", "body", (), ("ana",))
    github.forge.open(BRANCH, "main", text)
    github.server.pull(1)["requested_reviewers"] = []
    github.server.reviews[1] = [{"user": {"login": "Ana"}, "state": "APPROVED"}, {"user": None}]
    (found,) = github.forge.find("gati/")
    github.forge.update(found, text)
    assert github.server.pull(1)["requested_reviewers"] == []


def test_a_repository_without_drafts(github):
    github.push(BRANCH)
    github.server.drafts = False
    done = github.forge.open(BRANCH, "main", Text("Publish", "body", draft=True))
    assert not done.pull.draft
    assert "no drafts" in done.notes[0]


def test_an_update_that_changes_nothing_sends_nothing(github):
    github.push(BRANCH)
    text = Text("Publish", "body\n", ("a",), ("ana",))
    github.forge.open(BRANCH, "main", text)
    (found,) = github.forge.find("gati/")
    before = len(github.server.seen)
    assert github.forge.update(found, text).notes == ()
    assert len(github.server.seen) == before


# ------------------------------------------------------------------------------ merging


@pytest.fixture
def ready(github):
    sha = github.push(BRANCH)
    github.server.required_checks = ["gati/verify"]
    return github, github.forge.open(BRANCH, "main", TEXT).pull, sha


def test_auto_merge_takes_a_way_that_the_repository_allows(ready):
    github, pull, sha = ready
    github.server.settings["allow_merge_commit"] = False
    assert github.forge.merge_when_ready(pull, sha) == ""
    assert github.server.pull(1)["auto_merge"] == {"merge_method": "rebase"}


def test_auto_merge_that_is_switched_off(ready):
    github, pull, sha = ready
    github.server.settings["allow_auto_merge"] = False
    assert "auto-merge is off" in github.forge.merge_when_ready(pull, sha)


def test_checks_may_be_demanded_by_a_rule_set(ready):
    github, pull, sha = ready
    github.server.required_checks = []
    assert "demands no check" in github.forge.merge_when_ready(pull, sha)
    github.server.rules = [{"type": "deletion"}, {"type": "required_status_checks"}]
    assert github.forge.merge_when_ready(pull, sha) == ""


@pytest.mark.parametrize("state", ["clean", "unstable"])
def test_what_is_ready_already_is_merged(ready, state):
    github, pull, sha = ready
    github.server.merge_state = state
    assert github.forge.merge_when_ready(pull, sha) == ""
    assert github.server.merged == [(1, sha, "merge")]


def test_a_race_of_merges_is_run_again(ready):
    github, pull, sha = ready
    github.server.merge_state = "clean"
    words = {"message": "Base branch was modified. Review and try the merge again."}
    github.server.fail("PUT", "/merge$", times=2, status=405, body=words)
    assert github.forge.merge_when_ready(pull, sha) == ""
    assert len(github.server.merged) == 1


def test_a_race_that_does_not_end_is_a_note(ready):
    github, pull, sha = ready
    github.server.merge_state = "clean"
    words = {"message": "Base branch was modified. Review and try the merge again."}
    github.server.fail("PUT", "/merge$", times=9, status=405, body=words)
    assert "the next run tries again" in github.forge.merge_when_ready(pull, sha)


def test_a_head_that_moved_is_not_merged(ready):
    github, pull, sha = ready
    github.server.merge_state = "clean"
    github.push(BRANCH, "a person's commit")
    note = github.forge.merge_when_ready(pull, sha)
    assert "Head branch was modified" in note
    assert github.server.merged == []


def test_a_server_of_ones_own_has_its_api_below_its_name(github):
    forge = forge_for(
        "https://git.acme.com/acme/output",
        {"GATI_FORGE": "github", "GATI_FORGE_URL": github.server.url, "GATI_FORGE_TOKEN": TOKEN},
        limits=LIMITS,
    )
    assert forge.find("x") == []
    assert github.server.seen[0].path == "/api/v3/repos/acme/output/pulls"


def test_comments_of_others_are_left_to_them(github):
    github.push(BRANCH)
    github.forge.open(BRANCH, "main", TEXT)
    github.say(1, "<!-- gati-gitops comment: preview -->\nmine, says mallory", "mallory")
    github.forge.comment_in_place(1, "preview", "ours")
    github.forge.comment_in_place(1, "preview", "ours again")
    bodies = [c.splitlines()[-1] for c in github.comments(1)]
    assert bodies == ["mine, says mallory", "ours again"]
