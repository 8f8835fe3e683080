"""Random trees and changes whose names meet: files turn into folders and back."""

from hypothesis import strategies as st

from gati_gitops.tree import OWNED, above

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
