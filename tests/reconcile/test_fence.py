"""Who may write: a job that was replaced, or one of another name, is told so and writes nothing."""

from __future__ import annotations

import pytest
import yaml

from gati_gitops.errors import Refused
from gati_gitops.reconcile.fence import Fence, LostFence, Term, fence_file, read_term
from gati_gitops.tree import is_ours


def test_a_term_is_one_above_what_is_found_and_stays_for_the_process():
    fence = Fence("job", holder="a")
    assert fence.admitted("prod", Term("job", 6, "old")) == Term("job", 7, "a")
    assert fence.admitted("prod", Term("job", 7, "a")) == Term("job", 7, "a")
    assert fence.admitted("dev", None) == Term("job", 1, "a")


def test_who_was_replaced_stops_however_late_it_looks():
    fence = Fence("job", holder="a")
    fence.admitted("prod", Term("job", 6, "old"))
    for found in (Term("job", 7, "b"), Term("job", 9, "b")):
        with pytest.raises(LostFence, match="another process of the job job"):
            fence.admitted("prod", found)
    fence.renew()
    assert fence.admitted("prod", Term("job", 9, "b")) == Term("job", 10, "a")


def test_of_two_that_began_at_once_the_second_is_told():
    one, two = Fence("job", holder="a"), Fence("job", holder="b")
    first = one.admitted("prod", None)
    two.admitted("prod", None)
    with pytest.raises(LostFence):
        two.admitted("prod", first)


def test_two_installations_do_not_mix():
    with pytest.raises(LostFence, match=r"the job theirs, and this one is ours") as error:
        Fence("ours").admitted("prod", Term("theirs", 3, "x"))
    assert "--take-over" in error.value.remedy and error.value.exit_code == 5


def test_a_job_that_took_over_is_not_taken_over_in_turn():
    fence = Fence("ours", take_over=True, holder="a")
    mine = fence.admitted("prod", Term("theirs", 3, "x"))
    assert mine == Term("ours", 4, "a")
    assert fence.admitted("prod", Term("theirs", 3, "x")) == mine, "it has written nothing yet"
    fence.admitted("prod", mine)
    with pytest.raises(LostFence):
        fence.admitted("prod", Term("theirs", 5, "x"))


def test_the_file_is_ours_and_reads_back():
    content = fence_file(Term("job", 4, "a"))
    assert is_ours(content)
    assert read_term(yaml.safe_load(content), "prod") == Term("job", 4, "a")
    assert read_term({}, "prod") is None


@pytest.mark.parametrize("said", [{"format": 2}, {"format": 1, "owner": "x"}, {"format": 1, "owner": 3, "term": 1}])  # fmt: skip
def test_a_file_that_is_not_understood_is_not_overwritten(said):
    with pytest.raises(Refused, match=r"overlays/prod/job\.yaml"):
        read_term(said, "prod")
