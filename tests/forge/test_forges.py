"""What all forges do alike: the life of a pull request, on each of the three."""

from datetime import UTC, datetime

import pytest

from gati_gitops.forge.model import ForgeError, Text

BRANCH = "gati/shop/prod"
TEXT = Text("Publish shop to prod", "What changes:\n\n- one thing\n")


def test_opened_found_updated_closed(world):
    sha = world.push(BRANCH)
    done = world.forge.open(BRANCH, "main", TEXT)
    assert done.notes == ()
    assert (done.pull.branch, done.pull.base, done.pull.state) == (BRANCH, "main", "open")
    (found,) = world.forge.find("gati/shop/")
    assert found.number == done.pull.number
    assert (found.title, found.head, found.draft) == (TEXT.title, sha, False)
    assert found.body.strip() == TEXT.body.strip()
    assert found.updated.tzinfo and found.updated <= datetime.now(UTC)

    later = Text("Publish shop 2 to prod", "Something else")
    updated = world.forge.update(found, later).pull
    assert (updated.number, updated.title, updated.body) == (found.number, later.title, later.body)
    assert len(world.forge.find("gati/")) == 1

    world.forge.close(updated, "Nothing is left to change.", "It said this.")
    assert world.forge.find("gati/") == []
    (closed,) = world.forge.closed(BRANCH)
    assert (closed.state, closed.body) == ("closed", "It said this.")
    assert any("Nothing is left to change." in text for text in world.comments(found.number))


def test_opening_twice_updates_the_one_that_is_there(world):
    world.push(BRANCH)
    first = world.forge.open(BRANCH, "main", TEXT).pull
    second = world.forge.open(BRANCH, "main", Text("Another title", TEXT.body)).pull
    assert second.number == first.number
    assert [p.title for p in world.forge.find("gati/")] == ["Another title"]


def test_only_branches_with_the_prefix_are_found(world):
    for branch in (BRANCH, "gati/shop/prod-eu", "feature/x"):
        world.push(branch)
        world.forge.open(branch, "main", TEXT)
    assert [p.branch for p in world.forge.find("gati/shop/")] == [BRANCH, "gati/shop/prod-eu"]
    assert world.forge.find("gati/other/") == []
    assert world.forge.closed(BRANCH) == []


def test_labels_and_reviewers_are_added_and_those_of_people_stay(world):
    world.push(BRANCH)
    text = Text("Publish", "body", ("gitops", "prod"), ("ana",))
    done = world.forge.open(BRANCH, "main", text)
    assert done.notes == ()
    world.label_by_hand(done.pull.number, "urgent")
    (found,) = world.forge.find("gati/")
    assert set(found.labels) == {"gitops", "prod", "urgent"}
    assert found.reviewers == ("ana",)

    more = Text("Publish", "body", ("gitops", "new one"), ("ana", "ben"))
    assert world.forge.update(found, more).notes == ()
    (found,) = world.forge.find("gati/")
    assert set(found.labels) == {"gitops", "prod", "urgent", "new one"}
    assert set(found.reviewers) == {"ana", "ben"}


def test_who_cannot_review_is_a_note(world):
    world.push(BRANCH)
    done = world.forge.open(BRANCH, "main", Text("Publish", "body", (), ("nobody-here", "ana")))
    assert len(done.notes) == 1 and "nobody-here" in done.notes[0]
    (found,) = world.forge.find("gati/")
    assert found.reviewers == ("ana",)


def test_drafts_begin_and_end(world):
    world.push(BRANCH)
    draft = Text("Publish", "body", draft=True)
    assert world.forge.open(BRANCH, "main", draft).pull.draft
    (found,) = world.forge.find("gati/")
    assert (found.draft, found.title) == (True, "Publish")
    assert world.forge.update(found, draft).notes == ()
    world.forge.update(found, Text("Publish", "body"))
    (found,) = world.forge.find("gati/")
    assert (found.draft, found.title) == (False, "Publish")
    world.forge.update(found, draft)
    assert world.forge.find("gati/")[0].draft


def test_one_comment_is_updated_in_place(world):
    world.push(BRANCH)
    number = world.forge.open(BRANCH, "main", TEXT).pull.number
    # By whoever the token belongs to, so it could be changed: but it only quotes our mark.
    world.say(number, "> <!-- gati-gitops comment: preview -->\n> text\n\nWhy?", "gati-bot")
    world.forge.comment_in_place(number, "preview", "the first")
    world.forge.comment_in_place(number, "verify", "another thing")
    world.forge.comment_in_place(number, "preview", "the second")
    world.forge.comment_in_place(number, "preview", "the second")
    texts = world.comments(number)
    assert sorted(t.splitlines()[-1] for t in texts) == ["Why?", "another thing", "the second"]


def test_checks_are_set_and_set_again(world):
    sha = world.push(BRANCH)
    world.forge.set_check(sha, "gati/verify", "pending", "looking")
    world.forge.set_check(sha, "gati/verify", "pending", "still looking")
    assert world.check(sha, "gati/verify") == "pending"
    world.forge.set_check(sha, "gati/verify", "success", "x " * 400, "https://ci.example.com/1")
    assert world.check(sha, "gati/verify") == "success"


def test_auto_merge_needs_a_check_to_wait_for(world):
    sha = world.push(BRANCH)
    world.protect()
    pull = world.forge.open(BRANCH, "main", TEXT).pull
    assert "auto-merge" in world.forge.merge_when_ready(pull, sha)
    assert world.forge.find("gati/")[0].state == "open"


def test_auto_merge_is_asked_for_once(world):
    sha = world.push(BRANCH)
    world.protect("gati/verify")
    pull = world.forge.open(BRANCH, "main", TEXT).pull
    assert world.forge.merge_when_ready(pull, sha) == ""
    assert world.forge.merge_when_ready(pull, sha) == ""
    assert world.forge.find("gati/")[0].state == "open"


def test_auto_merge_is_not_for_a_head_that_has_moved(world):
    sha = world.push(BRANCH)
    world.protect("gati/verify")
    pull = world.forge.open(BRANCH, "main", TEXT).pull
    world.push(BRANCH, "two")
    assert world.forge.merge_when_ready(pull, sha) != ""


def test_texts_that_are_too_long_are_cut(world):
    world.push(BRANCH)
    long = "\n".join(f"- line {n}" for n in range(200_000))
    done = world.forge.open(BRANCH, "main", Text("t " * 500, long))
    world.forge.comment_in_place(done.pull.number, "preview", long)
    (found,) = world.forge.find("gati/")
    assert len(found.body) <= world.forge.body_limit
    assert "`gati-gitops preview` shows all of it" in found.body
    assert len(found.title) <= 256
    # What was cut is the same again, so nothing is sent.
    world.forge.update(found, Text("t " * 500, long))
    assert world.forge.find("gati/")[0].updated == found.updated


def test_a_branch_that_is_not_there_is_an_error(world):
    with pytest.raises(ForgeError, match="gati/none"):
        world.forge.open("gati/none", "main", TEXT)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda item: item.clear(),
        lambda item: item.update(dict.fromkeys(item)),
        lambda item: item.update(dict.fromkeys(item, "text")),
        lambda item: item.update({key: [] for key in item}),
        lambda item: item.update(updated_at="yesterday"),
    ],
)
@pytest.mark.parametrize("kind", ["github", "gitlab"])
def test_answers_that_no_document_knows_are_errors_and_not_bugs(request, kind, spoil):
    world = request.getfixturevalue(kind)
    world.push(BRANCH)
    world.forge.open(BRANCH, "main", TEXT)
    shown = world.server._shown

    def spoiled(pull):
        item = shown(pull)
        spoil(item)
        return item

    world.server._shown = spoiled
    with pytest.raises(ForgeError):
        world.forge.find("")
