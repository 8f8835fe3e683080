"""Commits are those that git makes of the same words, and nobody's name adds a line to one."""

import pygit2
import pytest

from gati_gitops.errors import Refused
from gati_gitops.repo.commit import Signature, create_commit, is_ours, read_commit, trailers
from gati_gitops.repo.trees import write_tree
from tests.repo.gitkit import NOW, US, bare, git, sound


@pytest.fixture
def objects(tmp_path):
    return bare(tmp_path)


def make(objects, message="Subject\n", parents=(), **other):
    tree = write_tree(objects, "", {"base/a": b"x"})
    options = {"author": US, "committer": US, "time": NOW, **other}
    made = create_commit(objects, tree, list(parents), message, **options)
    objects.flush()
    return made


def test_the_id_is_that_of_git(objects, tmp_path):
    first = make(objects)
    second = make(objects, "Für alle\n\nMit Text.\n", [first], committer=Signature("Ö", "o@x"))
    tree = git(tmp_path, "rev-parse", f"{first}^{{tree}}")
    when = f"{NOW} +0000"
    theirs = git(
        tmp_path, "commit-tree", tree, "-p", first, "-m", "Für alle\n\nMit Text.\n",
        GIT_AUTHOR_NAME=US.name, GIT_AUTHOR_EMAIL=US.email, GIT_AUTHOR_DATE=when,
        GIT_COMMITTER_NAME="Ö", GIT_COMMITTER_EMAIL="o@x", GIT_COMMITTER_DATE=when,
    )  # fmt: skip
    assert second == theirs


def test_a_commit_is_read_as_it_was_made(objects):
    first = make(objects)
    made = read_commit(objects, make(objects, "Subject\n\nBody\n", [first]))
    assert (made.parents, made.author, made.committer) == ((first,), US, US)
    assert (made.time, made.message) == (NOW, "Subject\n\nBody\n")


@pytest.mark.parametrize(
    "name, email, shown",
    [
        ("Eve\nparent 1111", "e@x", "Eve parent 1111 <e@x>"),
        ("Eve <root@x>", "e@x>\ncommitter Mallory", "Eve  root@x <e@xcommitter Mallory>"),
        ("", "", "unknown <>"),
        ("\0\r\n", "a\0b", "unknown <ab>"),
    ],
)
def test_a_name_cannot_add_a_line(objects, tmp_path, name, email, shown):
    made = make(objects, author=Signature(name, email))
    git(tmp_path, "update-ref", "refs/heads/main", made)
    sound(tmp_path)
    head = git(tmp_path, "cat-file", "commit", made).split("\n\n")[0].split("\n")
    assert [line.split(" ")[0] for line in head] == ["tree", "author", "committer"]
    assert head[1] == f"author {shown} {NOW} +0000"


def test_a_message_with_a_nul_is_refused(objects):
    with pytest.raises(Refused, match="NUL"):
        make(objects, "a\0b")


class Signs:
    def __init__(self):
        self.payload = b""

    def sign(self, payload):
        self.payload = payload
        return "-----BEGIN SIGNATURE-----\nabc\n\ndef\n-----END SIGNATURE-----\n"


def test_a_signature_covers_all_but_itself(objects, tmp_path):
    signer = Signs()
    made = make(objects, "Subject\n\nGati-Compiler: 1\n", [make(objects)], signer=signer)
    commit = objects.git[made]
    assert isinstance(commit, pygit2.Commit)
    signature, payload = commit.gpg_signature
    assert payload == signer.payload
    assert signature == signer.sign(payload).rstrip("\n").encode()
    assert read_commit(objects, made).message == commit.message
    git(tmp_path, "update-ref", "refs/heads/main", made)
    sound(tmp_path)


@pytest.mark.parametrize(
    "message, expected",
    [
        ("Subject\n\nGati-Source: shop abc\nGati-Compiler: 1\n", {"Gati-Source": "shop abc", "Gati-Compiler": "1"}),
        ("Gati-Compiler: in the subject\n", {}),
        ("Subject\n\nGati-Compiler: 1\n\nSigned off: no\nmore text\n", {}),
        ("Subject\n\ntext\nGati-Compiler: 1\n", {}),
        ("Subject\n\nGati-Compiler: 1\n\nCo-authored-by: A <a@x>\n", {"Co-authored-by": "A <a@x>"}),
        ("", {}),
    ],
)  # fmt: skip
def test_trailers_are_the_last_paragraph_and_nothing_else(message, expected):
    assert trailers(message) == expected


def test_ours_is_told_from_copies_of_ours(objects, tmp_path):
    text = "Publish\n\nGati-Compiler: 1\nGati-Decision: abc\n"
    first, other = make(objects, text), make(objects, "theirs")
    ours = make(objects, text, [first])
    assert f"Gati-Base: {first}" in read_commit(objects, ours).message
    assert is_ours(read_commit(objects, first)) and is_ours(read_commit(objects, ours))
    assert not is_ours(read_commit(objects, other))
    git(tmp_path, "update-ref", "refs/heads/main", ours)
    tree = git(tmp_path, "rev-parse", f"{ours}^{{tree}}")
    words = git(tmp_path, "log", "-1", "--format=%B", ours)
    rebased = git(tmp_path, "commit-tree", tree, "-p", other, "-m", words)
    merge = git(tmp_path, "commit-tree", tree, "-p", ours, "-p", other, "-m", words)
    assert not is_ours(read_commit(objects, rebased)) and not is_ours(read_commit(objects, merge))
