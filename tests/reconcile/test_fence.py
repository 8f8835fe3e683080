"""Who may write: a job that was replaced, or one of another name, is told so and writes nothing."""

from __future__ import annotations

import pytest
import yaml

from gati_gitops.errors import Refused
from gati_gitops.reconcile.fence import Fence, LostFence, Term, fence_file, read_terms
from gati_gitops.tree import is_ours

AT = ("prod", "east")


def test_a_term_is_one_above_what_is_found_and_stays_for_the_process():
    fence = Fence("job", holder="a")
    assert fence.admitted(AT, Term("job", 6, "old")) == Term("job", 7, "a")
    assert fence.admitted(AT, Term("job", 7, "a")) == Term("job", 7, "a")
    assert fence.admitted(("dev", "d"), None) == Term("job", 1, "a")


def test_who_was_replaced_stops_however_late_it_looks():
    fence = Fence("job", holder="a")
    fence.admitted(AT, Term("job", 6, "old"))
    for found in (Term("job", 7, "b"), Term("job", 9, "b")):
        with pytest.raises(LostFence, match="another process of the job job"):
            fence.admitted(AT, found)
    fence.renew()
    assert fence.admitted(AT, Term("job", 9, "b")) == Term("job", 10, "a")


def test_of_two_that_began_at_once_the_second_is_told():
    one, two = Fence("job", holder="a"), Fence("job", holder="b")
    first = one.admitted(AT, None)
    two.admitted(AT, None)
    with pytest.raises(LostFence):
        two.admitted(AT, first)


def test_two_installations_do_not_mix():
    with pytest.raises(LostFence, match=r"the job theirs, and this one is ours") as error:
        Fence("ours").admitted(AT, Term("theirs", 3, "x"))
    assert "--take-over" in error.value.remedy and error.value.exit_code == 5


def test_a_job_that_took_over_is_not_taken_over_in_turn():
    fence = Fence("ours", take_over=True, holder="a")
    mine = fence.admitted(AT, Term("theirs", 3, "x"))
    assert mine == Term("ours", 4, "a")
    assert fence.admitted(AT, Term("theirs", 3, "x")) == mine, "it has written nothing yet"
    fence.admitted(AT, mine)
    with pytest.raises(LostFence):
        fence.admitted(AT, Term("theirs", 5, "x"))


def test_each_cluster_may_have_a_job_of_its_own():
    east, west = Fence("job", holder="e"), Fence("job", holder="w")
    assert east.admitted(AT, None) == Term("job", 1, "e")
    assert west.admitted(("prod", "west"), None) == Term("job", 1, "w")


def test_the_file_is_ours_and_reads_back():
    terms = {"east": Term("job", 4, "a"), "west": Term("job", 1, "b")}
    content = fence_file(terms)
    assert is_ours(content)
    assert read_terms(yaml.safe_load(content), "prod") == terms
    assert read_terms({}, "prod") == {}


@pytest.mark.parametrize(
    "said",
    [
        {"format": 2, "clusters": {}},
        {"format": 1},
        {"format": 1, "clusters": ["east"]},
        {"format": 1, "clusters": {"east": {"owner": "x", "term": "1", "holder": "y"}}},
        {"format": 1, "clusters": {"east": {"owner": "x"}}},
    ],
)
def test_a_file_that_is_not_understood_is_not_overwritten(said):
    with pytest.raises(Refused, match=r"overlays/prod/job\.yaml"):
        read_terms(said, "prod")
