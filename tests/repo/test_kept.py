"""A kept clone, read when its server is gone."""

from dataclasses import replace
from pathlib import Path

import pytest

from gati_gitops.errors import Outside
from gati_gitops.repo.clones import home_of
from gati_gitops.repo.kept import kept_tip
from tests.servers.places import add


@pytest.fixture
def kept(places, tmp_path):
    return replace(places("http"), cache=tmp_path / "cache")


def test_what_was_read_last_is_there(kept):
    with kept.open() as repository:
        tip = repository.tip()
    found = kept_tip(kept.address, kept.cache, None)
    assert (found.tip.commit, found.tip.tree, found.tip.branch) == (tip.commit, tip.tree, "main")
    assert found.tip.snapshot().read("README.md") == b"by people\n"


def test_what_was_written_last_is_there(kept):
    with kept.open() as repository:
        repository.tip()
    kept.write(add("one"), cache=kept.cache)
    assert kept_tip(kept.address, kept.cache, "main").tip.commit == kept.tip()


def test_what_others_wrote_is_not_until_somebody_looks(kept):
    with kept.open() as repository:
        before = repository.tip().commit
    kept.commit("by a person")
    assert kept_tip(kept.address, kept.cache, None).tip.commit == before
    with kept.open() as repository:
        after = repository.tip().commit
    assert kept_tip(kept.address, kept.cache, None).tip.commit == after != before


def test_it_is_read_while_another_run_holds_it(kept):
    with kept.open() as repository:
        tip = repository.tip()
        assert kept_tip(kept.address, kept.cache, None).tip.commit == tip.commit


@pytest.mark.parametrize("harm", ["nothing", "no list", "torn list", "no clone", "another branch"])
def test_what_can_t_be_read_is_said(kept, harm):
    branch = None
    if harm != "nothing":
        with kept.open() as repository:
            repository.tip()
        home = home_of(kept.address, Path(kept.cache))
        if harm == "no list":
            (home / "seen.json").unlink()
        elif harm == "torn list":
            (home / "seen.json").write_text('[{"ref": "refs/he')
        elif harm == "no clone":
            (home / "clone").rename(home / "gone")
        else:
            branch = "other"
    with pytest.raises(Outside) as error:
        kept_tip(kept.address, Path(kept.cache), branch)
    assert "give a clone on this machine" in error.value.remedy
