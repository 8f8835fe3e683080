"""Random trees and changes whose names meet: files turn into folders and back."""

from hypothesis import strategies as st

from gati_gitops.tree import OWNED, above

NOT_OURS = [
    "",
    "/etc/passwd",
    "../base/a",
    "base/../../a",
    "base/./a",
    "base//a",
    "base/a/",
    "base/.git/config",
    "base/.GIT/config",
    "base/a/.git",
    "base/git~1/config",
    "base/.git /config",
    "base/.git.",
    "base/.git::$INDEX_ALLOCATION/config",
    "base/.g\u200cit/config",
    "base/a\x00",
    "base/a\nb",
    "base/a\\b",
    "base/\udcff",
    "base/" + "n" * 256,
    "base/" + "ü" * 128,
    "base" + "/n" * 600,
    "README.md",
    "basement/a",
    ".gati-gitops/journal",
    ".git/hooks/post-commit",
]
"""Paths that must be refused before anything is written, to disk or to Git."""

_names = st.sampled_from(["a", "b", "b.yaml", "b-c", "ü", "route.yaml"])
paths = st.builds(
    lambda top, rest: "/".join([top, *rest]),
    st.sampled_from(OWNED[:2]),
    st.lists(_names, min_size=1, max_size=3),
)
contents = st.one_of(st.binary(max_size=20), st.just(b"x" * 99))


def is_tree(found) -> bool:
    """Whether no path is a file and a folder."""
    return not above(found) & set(found)


def trees():
    return st.dictionaries(paths, contents, max_size=8).filter(is_tree)


def changes():
    return st.dictionaries(paths, st.one_of(st.none(), contents), max_size=8)
