"""The specs' own repository: any commit of it reads like the folder, and the folder is compared."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gati_gitops.disk.specs import read_specs
from gati_gitops.errors import Outside, Refused
from gati_gitops.repo.specs import specs_repository
from gati_gitops.yamlio.text import MAX_BYTES
from tests.disk.world import put
from tests.repo.gitkit import bare, git

FILES = {
    "README.md": b"read me",
    "specs/gati.yaml": b"kind: GatiProject\n",
    "specs/team/cart.yaml": b"kind: GatiHandler\n",
    "specs/team/notes.txt": b"no spec",
    "specs/templates/alert.yaml.j2": b"{# gati: unit #}\n",
    "specs/templates/other.yaml": b"no template\n",
    "specs/templates/deep/x.yaml.j2": b"too deep\n",
    "specs/chart/templates/x.yaml": b"a chart\n",
    "specs/.hidden/x.yaml": b"hidden\n",
    "specs/.x.yaml": b"hidden\n",
    "specs/node_modules/x.yaml": b"theirs\n",
    "elsewhere/x.yaml": b"kind: Other\n",
}


def work(where, files=FILES):
    git(where.parent, "init", "-q", "-b", "main", str(where))
    put(where, files)
    git(where, "add", "-f", ".")
    git(
        where,
        "commit",
        "-qm",
        "A subject\n\nA body,\nof two lines.",
        GIT_AUTHOR_DATE="1700000000 +0200",
    )
    return where


@pytest.fixture
def specs(tmp_path):
    return work(tmp_path / "work") / "specs"


def test_a_commit_is_read_like_the_folder(specs):
    repository = specs_repository(specs)
    assert repository.prefix == "specs"
    assert repository.files(repository.commit) == read_specs(str(specs))
    assert [name for name, _ in repository.files("HEAD")] == [
        "gati.yaml", "team/cart.yaml", "templates/alert.yaml.j2",
    ]  # fmt: skip
    assert repository.files("HEAD", "elsewhere") == [("x.yaml", b"kind: Other\n")]
    assert repository.files("HEAD", "nowhere") == []


_part = st.sampled_from(["a", "b.yaml", "c.yml", ".d", "templates", "venv", "e.yaml.j2", "ü.yaml"])


@given(
    st.dictionaries(st.lists(_part, min_size=1, max_size=3).map("/".join), st.binary(max_size=5))
)
def test_any_folder_is_read_alike(tmp_path_factory, files):
    files = {path: text for path, text in files.items() if not any(f"{path}/" in p for p in files)}
    files = {p: t for p, t in files.items() if not any(p.startswith(f"{q}/") for q in files)}
    where = work(tmp_path_factory.mktemp("specs") / "work", {"x": b"x", **files})
    assert specs_repository(where).files("HEAD") == read_specs(str(where))
    assert specs_repository(where).dirty() == []


def test_a_single_file(specs):
    repository = specs_repository(specs / "team/cart.yaml")
    assert repository.prefix == "specs/team/cart.yaml"
    assert repository.files("HEAD") == read_specs(str(specs / "team/cart.yaml"))
    assert repository.dirty() == [] == repository.changed("HEAD", "HEAD")
    (specs / "team/cart.yaml").write_bytes(b"changed")
    assert repository.dirty() == ["cart.yaml"]
    git(specs, "commit", "-qam", "changed")
    assert repository.changed("HEAD~1", "HEAD") == [("cart.yaml", "cart.yaml")]
    git(specs, "rm", "-q", "team/cart.yaml")
    git(specs, "commit", "-qm", "removed")
    assert repository.changed("HEAD~1", "HEAD") == [("cart.yaml", None)]


def test_a_huge_file_is_cut_where_the_reader_refuses_it(tmp_path):
    where = work(tmp_path / "work", {"big.yaml": b"x" * (MAX_BYTES + 100)})
    assert specs_repository(where).files("HEAD") == read_specs(str(where))


def test_a_name_that_is_not_utf_8(tmp_path):
    where = work(tmp_path / "work", {"a.yaml": b"x"})
    Path(os.fsdecode(os.fsencode(where) + b"/\xff.yaml")).write_bytes(b"odd")
    git(where, "add", ".")
    git(where, "commit", "-qm", "odd")
    assert specs_repository(where).files("HEAD") == read_specs(str(where))
    assert specs_repository(where).changed("HEAD~1", "HEAD") == [(None, "\ufffd.yaml")]


def test_a_commit_in_words(specs):
    found = specs_repository(specs).describe()
    assert found.subject == "A subject"
    assert found.body == "A body,\nof two lines."
    assert found.author == "A Person <person@example.test>"
    assert found.date == "2023-11-15T00:13:20+02:00"


def test_a_commit_in_no_known_encoding(specs):
    tree = git(specs, "rev-parse", "HEAD^{tree}")
    text = (
        b"tree %b\nauthor \xff <a@x> 1 +0000\ncommitter b <b@x> 1 +0000\n\n\xfe odd\n"
        % tree.encode()
    )
    made = git(specs, "hash-object", "-t", "commit", "-w", "--stdin", data=text)
    found = specs_repository(specs).describe(made)
    assert (found.subject, found.author) == ("\ufffd odd", "\ufffd <a@x>")


def test_a_repository_whose_head_is_broken(specs):
    (specs.parent / ".git/HEAD").write_text("nonsense\n")
    with pytest.raises(Outside, match="cannot be read") as caught:
        specs_repository(specs)
    assert "git fsck" in caught.value.remedy


class TestDirty:
    @pytest.mark.parametrize(
        "changes, expected",
        [
            ({"specs/team/cart.yaml": b"edited"}, ["team/cart.yaml"]),
            ({"specs/team/cart.yaml": None}, ["team/cart.yaml"]),
            ({"specs/new/one.yaml": b"new"}, ["new/one.yaml"]),
            ({"specs/templates/new.yaml.j2": b"new"}, ["templates/new.yaml.j2"]),
            ({"specs/team/notes.txt": b"edited", "README.md": b"edited"}, []),
            ({"elsewhere/x.yaml": b"edited", "specs/.hidden/x.yaml": b"edited"}, []),
            ({"specs/templates/new.yaml": b"x", "specs/node_modules/y.yaml": b"x"}, []),
            ({"specs-too/x.yaml": b"new"}, []),
        ],
    )
    @pytest.mark.parametrize("staged", [False, True])
    def test_specs_and_nothing_else_count(self, specs, changes, expected, staged):
        put(specs.parent, {path: text for path, text in changes.items() if text is not None})
        for path in (path for path, text in changes.items() if text is None):
            (specs.parent / path).unlink()
        if staged:
            git(specs.parent, "add", "-A")
        assert specs_repository(specs).dirty() == expected

    def test_what_git_ignores_is_compiled_all_the_same(self, specs):
        put(specs.parent, {".gitignore": b"/specs/built/\nlocal.yaml\nvenv/\n.cache/\n"})
        put(specs, {"built/deep/x.yaml": b"x", "built/.y.yaml": b"x", "team/local.yaml": b"x"})
        put(specs, {"venv/x.yaml": b"x", "team/.cache/x.yaml": b"x", "team/venv/y/x.yaml": b"x"})
        assert specs_repository(specs).dirty() == ["built/deep/x.yaml", "team/local.yaml"]

    def test_a_folder_that_is_ignored_as_a_whole(self, specs):
        put(specs.parent, {".gitignore": b"/out/\n", "out/specs/a.yaml": b"x", "out/b.yaml": b"x"})
        assert specs_repository(specs).dirty() == []
        inside = specs_repository(specs.parent / "out/specs")
        assert inside.dirty() == ["a.yaml"]
        assert specs_repository(specs.parent / "out/specs/a.yaml").dirty() == ["a.yaml"]
        assert inside.files("HEAD") == []

    def test_another_repository_inside(self, specs):
        work(specs / "vendored", {"x.yaml": b"x"})
        assert specs_repository(specs).dirty() == ["vendored/x.yaml"]

    def test_before_the_first_commit(self, tmp_path):
        git(tmp_path, "init", "-q", str(tmp_path / "new"))
        put(tmp_path / "new", {"a.yaml": b"x"})
        repository = specs_repository(tmp_path / "new")
        assert (repository.commit, repository.dirty()) == ("", ["a.yaml"])


def test_what_changed(specs):
    put(specs, {"team/cart.yaml": b"edited", "new.yaml": b"new", "team/notes.txt": b"edited"})
    (specs / "gati.yaml").rename(specs / "project.yaml")
    put(specs.parent, {"elsewhere/y.yaml": b"new"})
    git(specs, "add", "-A", "..")
    git(specs, "commit", "-qm", "second")
    repository = specs_repository(specs)
    assert sorted(repository.changed("HEAD~1", "HEAD"), key=str) == [
        ("gati.yaml", None),
        ("team/cart.yaml", "team/cart.yaml"),
        (None, "new.yaml"),
        (None, "project.yaml"),
    ]
    assert repository.changed("HEAD", "HEAD") == []
    assert repository.changed("HEAD~1", "HEAD", "elsewhere") == [(None, "y.yaml")]
    assert repository.changed("HEAD~1", "HEAD", "nowhere") == []


def test_a_file_that_becomes_a_folder(tmp_path):
    where = work(tmp_path / "work", {"a.yaml": b"x"})
    (where / "a.yaml").unlink()
    put(where, {"a.yaml/b.yaml": b"y"})
    git(where, "add", "-A")
    git(where, "commit", "-qm", "second")
    repository = specs_repository(where)
    assert sorted(repository.changed("HEAD~1", "HEAD"), key=str) == [
        ("a.yaml", None), (None, "a.yaml/b.yaml"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "revision", ["HEAD", "main", "v1", "HEAD~0", "main^{commit}", ":/A subject"]
)
def test_a_revision_of_any_form(specs, revision):
    git(specs, "tag", "-a", "v1", "-m", "one")
    repository = specs_repository(specs)
    assert repository.resolve(revision) == repository.commit == git(specs, "rev-parse", "HEAD")
    assert repository.resolve(repository.commit[:10]) == repository.commit


@pytest.mark.parametrize(
    "revision", ["nope", "", "HEAD~7", "HEAD:specs", "a b", "--all", "\0", "@{"]
)
def test_a_revision_that_names_nothing(specs, revision):
    with pytest.raises(Outside, match="names no commit") as caught:
        specs_repository(specs).resolve(revision)
    assert "branch, tag or commit" in caught.value.remedy


def test_where_two_branches_parted(specs):
    base = git(specs, "rev-parse", "HEAD")
    git(specs, "commit", "-q", "--allow-empty", "-m", "on main")
    git(specs, "checkout", "-qb", "other", base)
    git(specs, "commit", "-q", "--allow-empty", "-m", "on other")
    repository = specs_repository(specs)
    assert repository.merge_base("main", "other") == base
    git(specs, "checkout", "-q", "--orphan", "strange")
    git(specs, "commit", "-q", "--allow-empty", "-m", "a stranger")
    assert specs_repository(specs).merge_base("main", "strange") == ""


def test_a_shallow_clone_says_that_it_is_too_shallow(specs, tmp_path):
    git(specs, "branch", "other")
    git(specs, "commit", "-q", "--allow-empty", "-m", "on main")
    git(tmp_path, "clone", "-q", "--depth=1", "--no-single-branch", specs.parent.as_uri(), "clone")
    repository = specs_repository(tmp_path / "clone/specs")
    assert repository.files("HEAD") == read_specs(str(specs))
    assert repository.dirty() == []
    with pytest.raises(Outside, match="too shallow") as caught:
        repository.merge_base("origin/main", "origin/other")
    assert "fetch-depth: 0" in caught.value.remedy
    with pytest.raises(Outside, match="names no commit") as caught:
        repository.resolve("HEAD~1")
    assert "shallow" in caught.value.remedy


class TestLinks:
    def commit(self, specs, name, target):
        (specs / name).symlink_to(target)
        git(specs, "add", "-A", ".")
        git(specs, "commit", "-qm", "link")
        return specs_repository(specs)

    @pytest.mark.parametrize(
        "target", ["team/cart.yaml", "./team/../team/cart.yaml", "../specs/team/cart.yaml", "team"]
    )
    def test_to_a_spec_or_a_folder_adds_nothing(self, specs, target):
        repository = self.commit(specs, "link.yaml", target)
        assert repository.files("HEAD") == read_specs(str(specs))
        assert repository.changed("HEAD~1", "HEAD") == []

    @pytest.mark.parametrize(
        "target, words",
        [
            ("../elsewhere/x.yaml", "leads out of the specs"),
            ("../../outside.yaml", "leads out of the specs"),
            ("/etc/passwd", "leads out of the specs"),
            ("team/nope.yaml", "to something that is no spec"),
            (".hidden/x.yaml", "to something that is no spec"),
            ("link.yaml", "in a circle"),
        ],
    )
    def test_to_anything_else_is_refused(self, specs, target, words):
        with pytest.raises(Refused, match=f"link.yaml is a symbolic link .*{words}"):
            self.commit(specs, "link.yaml", target).files("HEAD")

    def test_through_another_link(self, specs):
        self.commit(specs, "here", "team")
        assert self.commit(specs, "link.yaml", "here/cart.yaml").files("HEAD") == read_specs(
            str(specs)
        )
        with pytest.raises(Refused, match="leads out"):
            self.commit(specs, "out", "../elsewhere").files("HEAD")

    def test_a_file_that_becomes_a_link_is_gone(self, specs):
        (specs / "team/cart.yaml").unlink()
        repository = self.commit(specs, "team/cart.yaml", "../gati.yaml")
        assert repository.changed("HEAD~1", "HEAD") == [("team/cart.yaml", None)]
        assert [name for name, _ in repository.files("HEAD")] == [
            "gati.yaml",
            "templates/alert.yaml.j2",
        ]


def test_a_submodule_among_the_specs_is_refused(specs):
    git(specs, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},specs/module")
    git(specs, "commit", "-qm", "module")
    with pytest.raises(Refused, match="module is a submodule"):
        specs_repository(specs).files("HEAD")
    assert specs_repository(specs).files("HEAD", "specs/team")


class TestWhere:
    def test_no_repository(self, tmp_path):
        assert specs_repository(tmp_path) is None

    def test_a_linked_work_tree(self, specs, tmp_path):
        git(specs, "worktree", "add", "-q", str(tmp_path / "second"))
        put(tmp_path / "second", {"specs/new.yaml": b"new"})
        repository = specs_repository(tmp_path / "second/specs")
        assert (repository.prefix, repository.dirty()) == ("specs", ["new.yaml"])
        assert len(repository.files("HEAD")) == 3

    def test_inside_a_submodule(self, specs, tmp_path):
        outer = work(tmp_path / "outer", {"x.yaml": b"x"})
        git(
            outer,
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "add",
            "-q",
            str(specs.parent),
            "app",
        )
        repository = specs_repository(outer / "app/specs")
        assert repository.prefix == "specs"
        assert repository.commit == git(specs, "rev-parse", "HEAD")
        assert len(repository.files("HEAD")) == 3

    def test_through_a_link(self, specs, tmp_path):
        (tmp_path / "short").symlink_to(specs)
        assert specs_repository(tmp_path / "short").prefix == "specs"

    def test_a_bare_repository(self, specs, tmp_path):
        git(tmp_path, "clone", "-q", "--bare", str(specs.parent), "bare.git")
        repository = specs_repository(tmp_path / "bare.git")
        assert (repository.prefix, repository.dirty()) == ("", [])
        assert repository.files("HEAD", "specs") == read_specs(str(specs))

    def test_an_empty_bare_repository(self, tmp_path):
        bare(tmp_path / "bare.git")
        assert specs_repository(tmp_path / "bare.git").commit == ""

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
    def test_a_repository_of_another_user(self, specs):
        os.chown(specs.parent, 1234, 1234)
        os.chown(specs.parent / ".git", 1234, 1234)
        with pytest.raises(Refused, match="another user") as caught:
            specs_repository(specs)
        assert "safe.directory" in caught.value.remedy

    def test_sha256(self, tmp_path):
        git(tmp_path, "init", "-q", "--object-format=sha256", "new")
        with pytest.raises(Outside, match="SHA-256"):
            specs_repository(tmp_path / "new")


@pytest.mark.parametrize(
    "url, shown",
    [
        ("https://github.com/o/r.git", "https://github.com/o/r.git"),
        ("https://user:s3cret@github.com/o/r", "https://github.com/o/r"),
        (
            "https://s3cret@github.com:8443/o/r?private_token=s3cret#s3cret",
            "https://github.com:8443/o/r",
        ),
        ("ssh://git@host:22/o/r", "ssh://git@host:22/o/r"),
        ("ssh://git:s3cret@host/o/r", "ssh://git@host/o/r"),
        ("git@github.com:o/r.git", "git@github.com:o/r.git"),
        ("/srv/git/r.git", "/srv/git/r.git"),
    ],
)
def test_the_address_holds_no_secret(specs, url, shown):
    git(specs, "remote", "add", "origin", url)
    assert specs_repository(specs).url == shown


def test_the_address_is_that_of_the_remote_that_the_branch_follows(specs):
    assert specs_repository(specs).url == ""
    git(specs, "remote", "add", "alone", "https://alone.test/r")
    assert specs_repository(specs).url == "https://alone.test/r"
    git(specs, "remote", "add", "origin", "https://origin.test/r")
    assert specs_repository(specs).url == "https://origin.test/r"
    git(specs, "config", "branch.main.remote", "alone")
    assert specs_repository(specs).url == "https://alone.test/r"
    git(specs, "checkout", "-q", "--detach")
    assert specs_repository(specs).url == "https://origin.test/r"
