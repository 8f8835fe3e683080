"""Reading: the right branch, no more than is needed, and a clone that may break without harm."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from gati_gitops.errors import Outside
from gati_gitops.repo.commit import read_commit
from gati_gitops.repo.history import lowered
from gati_gitops.repo.objects import Objects
from gati_gitops.repo.writer import write
from tests.repo.gitkit import git
from tests.servers.places import US, add, history

# -- branches ----------------------------------------------------------------------------------------


def test_the_repositorys_own_branch(place):
    place.git("branch", "-m", "main", "trunk")
    place.git("symbolic-ref", "HEAD", "refs/heads/trunk")
    with place.open() as repository:
        assert repository.branch == "trunk"
        tip = repository.tip()
        assert (tip.branch, tip.commit) == ("trunk", place.tip("trunk"))
        assert tip.tree == place.git("rev-parse", "trunk^{tree}")
        assert tip.snapshot().paths("") == ["README.md"]
        assert tip.snapshot().read("README.md") == b"by people\n"


def test_a_default_branch_that_is_gone(place):
    place.git("branch", "-m", "main", "trunk")
    place.git("symbolic-ref", "HEAD", "refs/heads/main")
    with place.open() as repository:
        with pytest.raises(Outside, match="it has trunk") as refused:
            repository.tip()
        assert "--branch" in refused.value.remedy
        assert repository.tip_of("trunk").commit == place.tip("trunk")


@pytest.mark.parametrize("road", ["http", "ssh"])
def test_a_first_publish_where_the_server_would_have_called_it_otherwise(empty):
    """It names no default branch then, and the only one there is ours."""
    empty.git("symbolic-ref", "HEAD", "refs/heads/master")
    empty.write(add("one"))
    empty.write(add("two"))
    assert empty.subjects("main") == ["Add one", "Add two"]
    empty.git("branch", "other", "main")
    with pytest.raises(Outside, match=r"no default branch at .*; it has main, other"):
        empty.write(add("three"))


def test_a_branch_that_is_not_there(place):
    for name in "abcdefghij":
        place.git("branch", name, "main")
    with (
        place.open(branch="nope") as repository,
        pytest.raises(Outside, match=r"no branch nope at .*; it has a, b, .* and 3 more"),
    ):
        repository.tip()


def test_an_empty_repository(empty):
    with empty.open() as repository:
        tip = repository.tip()
        assert (tip.branch, tip.commit, tip.tree) == ("main", "", "")
        assert list(tip.snapshot().paths("")) == []


def test_branches_by_prefix(place):
    for name in ("gati/a", "gati/b", "other"):
        place.git("branch", name, "main")
    place.git("tag", "-am", "A tag", "gati/tag", "main")
    with place.open() as repository:
        assert list(repository.branches("gati/")) == ["gati/a", "gati/b"]
        assert repository.branches()["other"] == place.tip()


@pytest.mark.parametrize("road", ["http", "ssh"])
def test_there_is_no_repository(place):
    place.bare.rename(place.bare.with_name(f"gone-{place.bare.name}"))
    with (
        place.open() as repository,
        pytest.raises(Outside, match="there is no repository at") as no,
    ):
        repository.tip()
    assert place.url in no.value.message


# -- history -----------------------------------------------------------------------------------------


def test_history_comes_when_it_is_asked_for(place):
    history(place, 40)
    with place.open() as repository:
        tip = repository.tip()
        objects = tip.objects
        if place.kind != "path":
            assert repository.git.is_shallow
            assert len(list(repository.git.walk(tip.commit))) == 1
        commit, seen = read_commit(objects, tip.commit), []
        while commit.parents:
            if commit.parents[0] not in repository.git:
                assert repository.deepen(commit.id)
            commit = read_commit(objects, commit.parents[0])
            seen.append(commit.id)
        assert len(seen) == 40
        assert not repository.deepen(seen[-1])
        assert lowered(objects, tip.commit, deepen=repository.deepen) == {}


def test_history_of_several_branches(place):
    """That of the one which is asked about comes, and no more than is needed."""
    history(place, 400)
    place.git("branch", "gati/pr", "main~300")
    with place.open() as repository:
        tip = repository.tip_of("main")
        repository.tip_of("gati/pr")
        assert repository.deepen(tip.commit) or place.kind == "path"
        if place.kind != "path":
            assert place.git("rev-parse", "main~50") not in repository.git


def test_any_commit_of_the_history_can_be_read(place):
    old = place.tip()
    history(place, 100)
    with place.open() as repository:
        assert repository.at(old).snapshot().paths("") == ["README.md"]
        assert repository.at(place.git("rev-parse", "main~5")).commit
        with pytest.raises(Outside, match="no commit 1111"):
            repository.at("1" * 40)


@pytest.mark.parametrize("road", ["http", "ssh"])
def test_a_commit_upon_history_that_we_do_not_have(place):
    history(place, 50)
    written = place.write(add("one"))
    assert place.git("rev-list", "--count", "main") == "52"
    assert place.tip() == written.tip


# -- clones ------------------------------------------------------------------------------------------


@pytest.fixture
def kept(places, tmp_path):
    """A repository on a server, and a kept clone of it."""
    place = places("http")
    place.write(add("one"), cache=tmp_path / "cache")
    (clone,) = (tmp_path / "cache").glob("*/clone")
    return place, tmp_path / "cache", clone


def received(proxy):
    """Requests that fetched something."""
    return [request for request in proxy.requests if request.is_fetch]


def test_without_a_cache_nothing_stays(place, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    place.write(add("one"))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ZeroDivisionError):
        place.write(lambda _: 1 / 0)
    assert list(tmp_path.iterdir()) == []


def test_a_kept_clone_fetches_what_is_new_and_nothing_else(behind, proxy, tmp_path):
    cache = tmp_path / "cache"
    behind.write(add("one"), cache=cache)
    proxy.requests.clear()
    behind.write(add("two"), cache=cache)
    assert received(proxy) == []  # Our own commit is the tip, and it is here.
    behind.commit("By a person")
    proxy.requests.clear()
    behind.write(add("three"), cache=cache)
    assert len(received(proxy)) in (1, 2)  # The second is the server's final answer.
    (clone,) = cache.glob("*/clone")
    assert list(clone.glob("*.lock")) == []
    assert behind.subjects()[-4:] == ["Add one", "Add two", "By a person", "Add three"]


def test_the_cache_is_for_this_user_alone(kept):
    clone = kept[2]
    assert clone.parent.stat().st_mode & 0o77 == 0
    assert "127.0.0.1" in clone.parent.name


def test_two_repositories_have_two_clones(places, tmp_path):
    for _ in range(2):
        places("http").write(add("one"), cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_clone_that_is_in_use_is_left_alone(kept):
    place, cache, clone = kept
    with place.open(cache=cache) as first:
        tip = first.tip()
        stamp = sorted(path.name for path in clone.rglob("*"))
        with place.open(cache=cache) as second:
            assert Path(second.git.path).parent != Path(first.git.path).parent
            write(second, add("two"), author=US)
        assert sorted(path.name for path in clone.rglob("*")) == stamp
        write(first, add("three"), author=US)
        assert tip.commit
    assert place.subjects()[-3:] == ["Add one", "Add two", "Add three"]


def bad_lock(clone):
    (clone / "shallow.lock").touch()


def bad_ref_lock(clone):
    (clone / "refs/gati-gitops/heads/main.lock").touch()


def bad_mark(clone):
    (clone / "gati-gitops").unlink()


def bad_head(clone):
    (clone / "HEAD").unlink()


def bad_config(clone):
    (clone / "config").write_text("[[[")


def bad_shallow(clone):
    (clone / "shallow").write_text("rubbish\n")


def bad_objects(clone):
    for path in clone.glob("objects/??/*"):
        path.unlink()
    for path in clone.glob("objects/pack/*"):
        path.unlink()


def bad_pack(clone):
    for path in clone.glob("objects/pack/*.pack"):
        path.chmod(0o644)
        path.write_bytes(path.read_bytes()[:40] + b"\0" * 100)
    bad_loose(clone)


def bad_loose(clone):
    for path in clone.glob("objects/??/*"):
        path.chmod(0o644)
        path.write_bytes(b"\0" * 10)


def bad_index(clone):
    for path in clone.glob("objects/pack/*.idx"):
        path.chmod(0o644)
        path.write_bytes(b"rubbish")


def worn(clone):
    for number in range(60):
        (clone / f"objects/pack/pack-{number:040}.pack").touch()


@pytest.mark.parametrize(
    "spoil",
    [
        bad_lock, bad_ref_lock, bad_mark, bad_head, bad_config, bad_shallow, bad_objects, bad_pack,
        bad_loose, bad_index, worn,
    ],
)  # fmt: skip
def test_a_clone_that_is_spoilt_is_made_anew(kept, spoil):
    place, cache, clone = kept
    place.commit("By a person")
    spoil(clone)
    place.write(add("two"), cache=cache)
    assert place.subjects()[-2:] == ["By a person", "Add two"]
    place.write(add("three"), cache=cache)
    git(clone, "fsck", "--connectivity-only")


def test_a_blob_that_is_missing_in_the_clone(kept):
    """Seen only when it is read: the clone is made anew in the middle of the run."""
    place, cache, clone = kept
    blob = place.git("rev-parse", "main:README.md")
    bad_objects(clone)
    with place.open() as whole:
        tip = whole.tip()
        pack = Objects(whole.git)
        with place.open(cache=cache) as repository:
            for kind, id in ((1, tip.commit), (2, tip.tree)):
                repository.git.odb.write(kind, pack.read(bytes.fromhex(id), kind))
    seen = []

    def propose(tip):
        seen.append(tip)
        assert tip.snapshot().read("README.md") == b"by people\n"
        return add("two")(tip)

    place.write(propose, cache=cache)
    assert len(seen) == 2
    assert blob in place.git("ls-tree", "main")


def test_a_reader_that_met_damage_leaves_no_clone_behind(kept):
    place, cache, clone = kept

    def read():
        with place.open(cache=cache) as repository:
            repository.tip()
            Objects(repository.git).read(b"\1" * 20, 3)

    with pytest.raises(Outside, match="lacks the object"):
        read()
    assert not (clone / "gati-gitops").exists()
    assert place.write(add("two"), cache=cache).commits


def test_a_cache_that_cannot_be(places, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(Outside, match=r"cannot use .* as a cache") as refused:
        places("http").open(cache=tmp_path / "file")
    assert "--cache" in refused.value.remedy


def test_a_killed_process_leaves_the_cache_free(kept):
    place, cache, _ = kept
    script = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from gati_gitops.repo.address import parse\n"
        "from gati_gitops.repo.credentials import credentials\n"
        "from gati_gitops.repo.repository import open_repository\n"
        "at = parse(sys.argv[1])\n"
        "own = credentials(at, os.environ)\n"
        "with open_repository(at, credentials=own, cache=Path(sys.argv[2])) as repository:\n"
        "    repository.tip()\n"
        "    print(repository.git.path, flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, place.url, str(cache)],
        env={**os.environ, **place.environ}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == -9
    with place.open(cache=cache) as repository:
        assert repository.git.path == done.stdout.strip()


def test_cost_does_not_grow_with_history(behind, proxy, tmp_path):
    """With a kept clone, bytes on the wire are those of the change."""
    behind.write(add("one"), cache=tmp_path)

    def cost():
        behind.commit("By a person")
        proxy.requests.clear()
        proxy.sent = 0
        behind.write(add(f"at {time.monotonic()}"), cache=tmp_path)
        return proxy.sent

    few = cost()
    history(behind, 500)
    behind.write(add("two"), cache=tmp_path)
    many = cost()
    assert many < 1.5 * few
