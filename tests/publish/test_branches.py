"""Whether a branch is still what is wanted: a pure question about three trees."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gati_gitops.publish.branches import branch_name, environment_of, outdated, wants

ROUTE = "overlays/prod/eu/shop/handler-cart/route.yaml"
RECORD = "overlays/prod/sources/shop/all.yaml"
FOLDER = "base/shop/handler-cart/v1-aaaaaaaa"
RELEASE = f"{FOLDER}/deployment.yaml"


class Tree(dict):
    """Files of a tree; ids as Git would have them, but shorter ways to folders."""

    def id(self, path):
        if path in self:
            data = self[path]
            return hashlib.sha1(b"blob %d\0%b" % (len(data), data)).hexdigest()
        inside = sorted((p, c) for p, c in self.items() if p.startswith(f"{path}/"))
        return hashlib.sha1(repr(inside).encode()).hexdigest() if inside else ""


def put(tree, changes):
    after = Tree(tree)
    for path, content in changes.items():
        after.pop(path, None)
        if content is not None:
            after[path] = content
    return after


BEFORE = Tree({ROUTE: b"90/10", RECORD: b"commit 1", RELEASE: b"v1", "README.md": b"hello"})
CHANGES = {ROUTE: b"50/50", RECORD: b"commit 2", "base/shop/handler-cart/v2-b/d.yaml": b"v2"}
BRANCH = put(BEFORE, CHANGES)


def why(wanted=CHANGES, tip=BEFORE, folders=(FOLDER,), branch=BRANCH, touched=tuple(CHANGES)):
    return outdated(wanted, folders, touched, BEFORE, branch, tip)


def test_nothing_has_happened():
    assert why() == ""


def test_commits_elsewhere_do_not_count():
    tip = put(
        BEFORE, {"README.md": b"hi", "overlays/dev/x.yaml": b"new", "base/shop/other/v1/x": b"y"}
    )
    assert why(tip=tip) == ""


def test_its_own_paths_on_the_target():
    assert ROUTE in why(tip=put(BEFORE, {ROUTE: b"80/20"}))
    assert ROUTE in why(tip=put(BEFORE, {ROUTE: None}))


def test_its_record_on_the_target_would_be_a_conflict():
    assert RECORD in why(tip=put(BEFORE, {RECORD: b"commit 1b"}))


def test_a_folder_that_it_names():
    assert FOLDER in why(tip=put(BEFORE, {RELEASE: None}))
    assert FOLDER in why(tip=put(BEFORE, {f"{FOLDER}/more.yaml": b"x"}))
    assert why(tip=put(BEFORE, {RELEASE: None}), folders=()) == ""


def test_the_same_folder_brought_by_another_environment():
    """Dev's direct commit adds the release that prod's pull request adds as well."""
    release = {"base/shop/handler-cart/v2-b/d.yaml": b"v2"}
    wanted = {path: c for path, c in CHANGES.items() if path not in release}
    folders = (FOLDER, "base/shop/handler-cart/v2-b")
    assert why(wanted, put(BEFORE, release), folders) == ""


def test_what_it_wants():
    assert ROUTE in why({**CHANGES, ROUTE: b"20/80"})
    assert ROUTE in why({**CHANGES, ROUTE: None})
    assert "new.yaml" in why({**CHANGES, "overlays/prod/new.yaml": b"x"})
    less = {path: c for path, c in CHANGES.items() if path != ROUTE}
    assert ROUTE in why(less)


def test_a_record_alone_is_no_reason():
    """The specs moved on to a commit that wants the same here; the approval stands."""
    assert why({**CHANGES, RECORD: b"commit 3"}) == ""


def test_a_record_that_is_all_there_is():
    changes = {RECORD: b"commit 2"}
    branch = put(BEFORE, changes)
    assert why(changes, branch=branch, touched=(RECORD,)) == ""
    assert RECORD in why({RECORD: b"commit 3"}, branch=branch, touched=(RECORD,))


@given(st.data())
def test_fresh_means_that_a_merge_gives_what_is_wanted(data):
    """Three-way merge by paths, which is what Git does with paths that only one side touched."""
    paths = ["overlays/prod/a", "overlays/prod/b", RECORD, "c"]
    files = st.dictionaries(st.sampled_from(paths), st.sampled_from([b"1", b"2", None]), max_size=4)
    before = put(Tree(), data.draw(files))
    branch = put(before, data.draw(files))
    tip = put(before, data.draw(files))
    goal = put(tip, data.draw(files))
    wanted = {p: goal.get(p) for p in paths if goal.id(p) != tip.id(p)}
    touched = [p for p in paths if before.id(p) != branch.id(p)]
    if outdated(wanted, (), touched, before, branch, tip):
        return
    merged = put(tip, {p: branch.get(p) for p in touched})
    for path in paths:
        moved = before.id(path) != tip.id(path)
        assert not (path in touched and moved and tip.id(path) != branch.id(path)), "a conflict"
        if path != RECORD:
            assert merged.id(path) == goal.id(path)


def test_the_key_of_what_is_wanted():
    assert wants(CHANGES) == wants({**CHANGES, RECORD: b"commit 3"})
    assert wants(CHANGES) != wants({**CHANGES, ROUTE: None})
    assert wants({RECORD: b"1"}) != wants({RECORD: b"2"})
    assert wants({"a": b""}) != wants({"a": None})


@pytest.mark.parametrize(
    "name, environment",
    [
        (branch_name("shop", "prod"), "prod"),
        (branch_name("shop", "prod", "team-a"), "prod"),
        ("gati/shop/prod-eu", "prod-eu"),
        ("gati/shopping/prod", ""),
        ("main", ""),
    ],
)
def test_branches_are_named_after_what_they_hold(name, environment):
    assert environment_of(name, "shop") == environment
