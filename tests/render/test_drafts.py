"""Objects that are written from their lines come out as from their trees."""

from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gati_gitops.render import MemoryFiles, render
from gati_gitops.yamlio.goyaml_drafts import draft_text
from gati_gitops.yamlio.goyaml_fast import read_drafts
from gati_gitops.yamlio.goyaml_read import GoYamlError, read_resources
from gati_gitops.yamlio.goyaml_write import write_document
from tests.render.strategies import SCALARS
from tests.render.test_reading import same

ROOT = Path(__file__).resolve().parents[2]


def written(document: Any) -> str:
    try:
        return write_document(document)
    except GoYamlError as error:
        return error.message


def check(text: str) -> int:
    """How many objects of a text were written from lines."""
    drafts = read_drafts(text)
    if drafts is None:
        return 0
    documents = read_resources(text)
    assert same([draft.filled() for draft in drafts], list(documents)), text
    count = 0
    for draft, document in zip(drafts, documents, strict=True):
        try:
            mine = draft_text(draft)
        except GoYamlError as error:
            mine = error.message
        assert mine in (None, written(document)), text
        count += mine is not None
    return count


def test_files_of_this_repository():
    files = [p for part in ("base", "overlays") for p in (ROOT / part).rglob("*.yaml")]
    written_from_lines = sum(check(file.read_text()) for file in files)
    assert written_from_lines > len(files) / 2


KEYS = st.sampled_from(["a", "b2", "b10", "name", "Z", "a/b", "x-y", "_c", "A.b", "k" * 60])
LEAVES = st.sampled_from(
    [*SCALARS, "{}", "[]", "long words " * 12 + "end", '"quoted words that are long" ' * 3 + "x"]
)
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.dictionaries(KEYS, inner, min_size=1, max_size=4)
        | st.lists(inner, min_size=1, max_size=3)
    ),
    max_leaves=12,
)


def lines(node: Any, indent: int, step: int, offset: int) -> list[str]:
    """Block style; lists stand `offset` columns to the right of their key."""
    pad = " " * indent
    if isinstance(node, dict):
        found = []
        for key, item in node.items():
            if isinstance(item, str):
                found.append(f"{pad}{key}: {item}")
            else:
                deeper = indent + (step if isinstance(item, dict) else offset)
                found += [f"{pad}{key}:", *lines(item, deeper, step, offset)]
        return found
    found = []
    for item in node:
        if isinstance(item, str):
            found.append(f"{pad}- {item}")
        else:
            first, *rest = lines(item, indent + 2, step, offset)
            found += [f"{pad}- {first.lstrip(' ')}", *rest]
    return found


HEAD = "apiVersion: v1\nkind: Thing\nmetadata:\n"


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(TREES, st.sampled_from([2, 4]), st.sampled_from([0, 2]), st.booleans()),
        min_size=1,
        max_size=3,
    )
)
def test_random_objects(objects):
    texts = []
    for tree, step, offset, last in objects:
        node = {"spec": tree}
        body = "\n".join(lines(node, 0, step, offset))
        head = HEAD + f"{' ' * step}name: x"
        texts.append(f"{head}\n{body}\n" if last else f"{body}\n{head}\n")
    check("---\n".join(texts))


def pod(spec: str) -> MemoryFiles:
    top = "resources: [all.yaml]\nimages:\n- name: app\n  newName: other\n  newTag: '1.0'\n"
    text = f"apiVersion: v1\nkind: Pod\nmetadata:\n  name: x\nspec:\n{spec}"
    return MemoryFiles({"kustomization.yaml": top.encode(), "all.yaml": text.encode()})


def test_an_image_is_changed_in_its_line():
    files = pod(
        "  containers:\n  - name: one\n    image: app:2\n  - image: app\n  - image: nginx\n"
    )
    (resource,) = render(files, "").resources
    assert resource.draft is not None
    text = resource.text()
    assert text == write_document(resource.obj)
    assert text.endswith(
        "  - image: other:1.0\n    name: one\n  - image: other:1.0\n  - image: nginx"
    )


def test_who_looks_into_the_object_gets_what_was_changed():
    files = pod("  containers:\n  - image: app:2\n")
    result = render(files, "")
    assert result.objects()[0]["spec"]["containers"] == [{"image": "other:1.0"}]
    assert result.to_yaml().endswith(b"  - image: other:1.0\n")


def test_annotations_leave_as_strings():
    tree = {
        "kustomization.yaml": b"resources: [all.yaml]\n",
        "all.yaml": b"apiVersion: v1\nkind: A\nmetadata:\n  name: x\n  annotations:\n    a: 5\n"
        b"---\napiVersion: v1\nkind: B\nmetadata:\n  name: x\n  annotations: {}\n"
        b"---\napiVersion: v1\nkind: C\nmetadata:\n  name: x\n  annotations:\n"
        b"    config.kubernetes.io/index: '0'\n",
    }
    assert render(MemoryFiles(tree), "").to_yaml() == (
        b'apiVersion: v1\nkind: A\nmetadata:\n  annotations:\n    a: "5"\n  name: x\n'
        b"---\napiVersion: v1\nkind: B\nmetadata:\n  name: x\n"
        b"---\napiVersion: v1\nkind: C\nmetadata:\n  name: x\n"
    )


def test_large_numbers_keep_the_digits_that_count():
    patch = b"- op: add\n  path: /spec/b\n  value: 1\n"
    tree = {
        "kustomization.yaml": b"resources: [a.yaml]\npatches:\n- {path: p.yaml, target: {kind: A}}\n",
        "p.yaml": patch,
        "a.yaml": b"apiVersion: v1\nkind: A\nmetadata: {name: x}\n"
        b"spec: {a: 12345678901234567890}\n",
    }
    assert b"a: 12345678901234567000\n" in render(MemoryFiles(tree), "").to_yaml()
