"""Commit messages: what they tell, and that no text of a user's can be taken for ours.

Git itself says what the trailers of a message are: `git interpret-trailers` and `git log` read them in
different ways. Argo CD reads every line of the message, wherever it stands.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gati_gitops import __version__
from gati_gitops.ledger.model import Entry, Phase
from gati_gitops.plan.naming import UnitId
from gati_gitops.publish.changes import (
    ChangeSet,
    Fate,
    FileChanges,
    FolderChange,
    Held,
    Objects,
    UnitChange,
    VersionChange,
    change_set,
)
from gati_gitops.publish.hydrator import hydrator_metadata, hydrator_note
from gati_gitops.publish.message import (
    Origin,
    Reference,
    address,
    body_of,
    line,
    message,
    subject_of,
    trailers,
)
from gati_gitops.publish.objects import ObjectId
from gati_gitops.tree import MemorySnapshot
from tests.compile.kit import canary, compiled, handler, tree_of
from tests.tools import tool

SHA = "0123456789abcdef0123456789abcdef01234567"
REFERENCE = Reference(
    SHA,
    "https://git.example.org/team/specs",
    "Ann Example",
    "ann@example.org",
    "2026-01-15T10:30:00+01:00",
    "Ship cart v2",
    "It is faster.\n\nSigned-off-by: Ann <ann@example.org>",
)
ORIGIN = Origin("shop", SHA, "5f2a9c", ("requests 1200, errors 0",), REFERENCE)


def entry(phase: Phase, weight: int = 0, digest: str = "d", id: str = "v2") -> Entry:
    return Entry(id, digest, phase, weight)


def unit(
    *versions: VersionChange,
    name: str = "cart",
    fate: Fate = Fate.CHANGES,
    cluster: str = "eu-1",
    **more: object,
) -> UnitChange:
    return UnitChange(UnitId("storefront", "handler", name), cluster, fate, versions, **more)


def moved(old: Entry | None, new: Entry | None) -> VersionChange:
    return VersionChange("v2", old, new, "ghcr.io/acme/cart:2")


def prod(*units: UnitChange, **more: object) -> ChangeSet:
    return ChangeSet("prod", units, **more)


# -- the subject -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "subject"),
    [
        (prod(unit(moved(None, entry(Phase.STARTING)))), "prod: start storefront/cart v2"),
        (prod(unit(moved(None, entry(Phase.PENDING)))), "prod: queue storefront/cart v2"),
        (
            prod(unit(moved(entry(Phase.CANARY, 10), entry(Phase.CANARY, 50)))),
            "prod: shift storefront/cart v2 to 50 %",
        ),
        (
            prod(unit(moved(entry(Phase.CANARY, 50), entry(Phase.ACTIVE, 100)))),
            "prod: activate storefront/cart v2",
        ),
        (
            prod(unit(moved(entry(Phase.ACTIVE, 100, "a"), entry(Phase.ACTIVE, 100, "b")))),
            "prod: revise storefront/cart v2",
        ),
        (
            prod(unit(moved(entry(Phase.CANARY, 50), entry(Phase.REJECTED)))),
            "prod: reject storefront/cart v2",
        ),
        (prod(unit(fate=Fate.RETIRES)), "prod: retire storefront/cart"),
        (prod(unit(fate=Fate.GONE)), "prod: remove storefront/cart"),
        (prod(unit(newly_held=True, hold="x")), "prod: hold storefront/cart"),
        (prod(unit(released=True)), "prod: release storefront/cart"),
        (prod(unit()), "prod: update storefront/cart"),
        (
            prod(unit(moved(None, entry(Phase.ACTIVE, 100)), fate=Fate.NEW)),
            "prod: add storefront/cart v2",
        ),
        (prod(unit(), unit(cluster="us-1")), "prod: update storefront/cart"),
        (prod(*(unit(name=f"u{n}") for n in range(12))), "prod: 12 units change"),
        (
            prod(
                *(unit(name=f"u{n}") for n in range(12)),
                *(unit(name=f"r{n}", fate=Fate.RETIRES) for n in range(2)),
                unit(name="n", fate=Fate.NEW),
            ),
            "prod: 12 units change, 1 is new, 2 retire",
        ),
        (prod(files=FileChanges(changed=("overlays/prod/project.yaml",))), "prod: update settings"),
        (
            prod(folders=(FolderChange("eu-1", "", Objects((ObjectId("", "X", "", "y"),))),)),
            "prod: update CRDs",
        ),
        (
            ChangeSet("", files=FileChanges(removed=("base/a/b/c/d.yaml",))),
            "output: remove release folders that nobody names",
        ),
    ],
)
def test_the_subject_says_what_happens(changes: ChangeSet, subject: str) -> None:
    assert subject_of(changes) == subject


def test_a_subject_is_never_longer_than_72_characters() -> None:
    version = VersionChange("v" * 200, None, entry(Phase.STARTING))
    changes = prod(unit(version, name="n" * 63))
    assert len(subject_of(changes)) <= 72
    assert subject_of(changes).startswith("prod: start storefront/nnn")
    assert len(message(changes, ORIGIN, subject="x" * 500).split("\n")[0]) == 72


def test_a_subject_that_is_given_stands_with_its_environment() -> None:
    text = message(prod(unit()), ORIGIN, subject="roll back storefront/cart to v1")
    assert text.startswith("prod: roll back storefront/cart to v1\n\n")


# -- the body --------------------------------------------------------------------------------------


def test_the_body_is_what_a_person_on_call_wants_to_read() -> None:
    files = {"gati.yaml": canary({"prod": ["eu-1", "us-1"]}), "a": handler()}
    before = tree_of(files)
    files["a"] = handler(version="v2")
    made = compiled(files, before)
    outcomes = [placed.outcome for placed in made.units]
    changes = change_set("prod", MemorySnapshot(before), made.changes, outcomes)
    assert message(changes, Origin("shop", SHA, "5f2a9c"), reason="A customer waits.") == (
        f"""\
prod: start shop/users v2

Reason:
  A customer waits.

Unit shop/users on eu-1, us-1: changes
  v2 enters as Starting (ghcr.io/acme/users:v2)
  traffic: v1 100 %

Objects: 4 added, 1 changed, 0 removed
  + Service shop/handler-users-v2 (eu-1, us-1)
  + ServiceAccount shop/handler-users-v2 (eu-1, us-1)
  + Deployment shop/handler-users-v2 (eu-1, us-1)
  + PodDisruptionBudget shop/handler-users-v2 (eu-1, us-1)
  ~ HTTPRoute shop/handler-users (eu-1, us-1)

Gati-Source: shop@{SHA}
Gati-Compiler: {__version__}
Gati-Decision: 5f2a9c
"""
    )


def test_long_lists_are_folded_with_their_counts() -> None:
    keys = tuple(ObjectId("", "Service", "shop", f"s{n:03}") for n in range(100))
    units = [unit(name=f"u{n:03}", objects=Objects(removed=keys[n : n + 1])) for n in range(100)]
    body = body_of(prod(*units))
    assert "And 80 more units:" in body
    assert "Objects: 0 added, 0 changed, 100 removed" in body
    assert "  - … and 85 more" in body
    assert len(body.split("\n")) < 100


def test_what_is_removed_is_told_before_what_is_added() -> None:
    objects = Objects((ObjectId("", "A", "", "x"),), (), (ObjectId("", "B", "", "y"),))
    body = body_of(prod(unit(objects=objects)))
    assert body.index("- B y") < body.index("+ A x")


def test_clusters_that_differ_are_told_apart() -> None:
    one = unit(moved(None, entry(Phase.STARTING)))
    two = unit(moved(None, entry(Phase.PENDING)), cluster="us-1")
    body = body_of(prod(one, two))
    assert "Unit storefront/cart on eu-1: changes\n  v2 enters as Starting" in body
    assert "Unit storefront/cart on us-1: changes\n  v2 enters as Pending" in body


def test_held_units_and_files_alone_are_told() -> None:
    held = Held(UnitId("shop", "handler", "users"), "eu-1", "payments look wrong")
    assert body_of(prod(held=(held,))) == (
        "Held, so left as they are:\n  shop/users on eu-1: payments look wrong"
    )
    body = body_of(prod(files=FileChanges(("overlays/prod/project.yaml",))))
    assert body == ("Files: 1 added, 0 changed, 0 removed\n  + overlays/prod/project.yaml")


def test_reasons_are_wrapped() -> None:
    body = body_of(prod(unit()), "because " * 40)
    assert max(len(text) for text in body.split("\n")) <= 72


# -- text of users ---------------------------------------------------------------------------------

HOSTILE = [
    "fine",
    "two\nlines",
    "\n\nGati-Decision: forged",
    "x\r\nGati-Source: evil@0000",
    "x\x85Gati-Decision: forged",
    "x\u2028Gati-Decision: forged\u2029Gati-Decision: forged",
    "---\nhidden",
    "\n---\n",
    "--- \n+++ b",
    "diff --git a/x b/x",
    "# ------------------------ >8 ------------------------",
    "# comment",
    "\nConflicts:\n\tx",
    "Argocd-reference-commit-sha: deadbeef",
    "\nArgocd-reference-commit-author: Eve <eve@example.org>",
    "Signed-off-by: Eve <eve@example.org>",
    "(cherry picked from commit 0123)",
    "\x1b[31mred\x1b[0m",
    "\x00\x07\x08",
    "\u202egnihton\u202c \u2066x\u2069 \u200b\ufeff",
    "\ud800",
    "\U000e0041\U000e007f",
    "tab\tand  blanks",
    "{{ reason }} {% raw %}",
    '"quoted" \\ <ang@le>',
    "",
    " ",
    ":",
    "a" * 9000,
    "Bearer ghp_" + "a1B2" * 10,
]
texts = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(max_size=80),
    st.lists(
        st.sampled_from(["\n", "---", "Gati-Decision: x", " ", "\r", "\t", "#", ":", "a"])
    ).map("".join),
)


@st.composite
def messages(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A message in which every text is a user's, and the trailers that are ours."""
    name, image, hold = draw(texts), draw(texts), draw(texts)
    key = ObjectId(draw(texts), draw(texts), draw(texts), draw(texts))
    change = UnitChange(
        UnitId(draw(texts), "handler", name),
        draw(texts),
        draw(st.sampled_from(list(Fate))),
        (VersionChange(draw(texts), None, entry(Phase.STARTING), image),),
        Objects((key,), (), (key,)),
        ((draw(texts), 100),),
        hold=hold,
        newly_held=draw(st.booleans()),
    )
    changes = ChangeSet(
        draw(texts),
        (change,) * draw(st.integers(0, 2)),
        (),
        FileChanges((draw(texts),)),
        (Held(change.unit, draw(texts), draw(texts)),) * draw(st.integers(0, 1)),
    )
    reference = Reference(*(draw(texts) for _ in range(7)))
    origin = Origin(draw(texts), draw(texts), draw(texts), (draw(texts),), reference)
    made = message(changes, origin, subject=draw(texts), reason=draw(texts))
    return made, trailers(origin)


def git(*words: str, given: str = "", cwd: Path | None = None) -> str:
    command = [str(tool("git")), *words]
    env = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nonexistent"}
    made = subprocess.run(
        command, input=given.encode(), capture_output=True, check=True, cwd=cwd, env=env
    )
    return made.stdout.decode()


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repo")
    git("init", "-q", "-b", "main", cwd=folder)
    return folder


def logged(repo: Path, made: Sequence[str]) -> list[list[str]]:
    """What git log takes for the trailers of each message."""
    stream = ["reset refs/heads/main\n\n"]
    for number, text in enumerate(made):
        stream.append(f"commit refs/heads/main\nmark :{number + 1}\n")
        stream.append(f"committer A <a@b.c> {1_767_225_600 + number} +0000\n")
        stream.append(f"data {len(text.encode())}\n{text}\n")
    git("fast-import", "--quiet", "--force", given="".join(stream), cwd=repo)
    shown = git("log", "--reverse", "--format=%(trailers:unfold)%x00", "main", cwd=repo)
    return [block.strip("\n").split("\n") for block in shown.split("\0")[: len(made)]]


@given(made=st.lists(messages(), min_size=1, max_size=3))
def test_no_text_of_a_user_makes_hides_or_breaks_a_trailer(
    made: list[tuple[str, list[str]]], repo: Path
) -> None:
    for found, (text, ours) in zip(logged(repo, [text for text, _ in made]), made, strict=True):
        assert found == ours, text
        assert argocd(text) == argocd("x\n\n" + "\n".join(ours)), text
    text, ours = made[0]
    assert git("interpret-trailers", "--parse", given=text).rstrip("\n").split("\n") == ours, text


@given(messages())
def test_no_text_of_a_user_begins_a_line_or_is_invisible(made: tuple[str, list[str]]) -> None:
    text, ours = made
    head, _, rest = text.partition("\n\n")
    assert "\n" not in head and len(head) <= 72 and head.strip()
    body = rest.removesuffix("\n".join(ours) + "\n")
    words = r"(  |Unit |Reason:$|Objects: |Files: |Held, so left|And \d+ more units:$|$)"
    for written in body.split("\n"):
        assert re.match(words, written), written
        assert not written.startswith("---")
    text.encode()  # no halves of characters
    assert not re.search(
        "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]", text
    )
    assert "\n\n\n" not in text
    assert "a1B2a1B2" not in text


def test_secrets_in_reasons_are_not_repeated() -> None:
    secret = "password: hunter2hunter2"
    held = Held(UnitId("shop", "handler", "users"), "eu-1", secret)
    changes = prod(unit(newly_held=True, hold=secret), held=(held,))
    text = message(changes, Origin("shop", reference=Reference(SHA, body=secret)), reason=secret)
    assert "hunter2" not in text
    assert text.count("password: ***") == 4


def argocd(text: str) -> list[tuple[str, str]]:
    """The trailers that Argo CD sees: any line of the message (util/git/client.go, GetReferences)."""
    found = [line.split(": ", 1) for line in text.split("\n")]
    return [(f[0], f[1]) for f in found if f[0].startswith("Argocd-reference-commit-") and f[1:]]


def test_trailers_are_the_last_paragraph_and_complete() -> None:
    assert trailers(ORIGIN) == [
        f"Gati-Source: shop@{SHA}",
        f"Gati-Compiler: {__version__}",
        "Gati-Decision: 5f2a9c",
        "Gati-Evidence: requests 1200, errors 0",
        f"Argocd-reference-commit-sha: {SHA}",
        "Argocd-reference-commit-repourl: https://git.example.org/team/specs",
        "Argocd-reference-commit-author: Ann Example <ann@example.org>",
        "Argocd-reference-commit-date: 2026-01-15T10:30:00+01:00",
        "Argocd-reference-commit-subject: Ship cart v2",
        'Argocd-reference-commit-body: "It is faster.\\n\\nSigned-off-by: Ann <ann@example.org>"',
    ]
    assert trailers(Origin("shop")) == ["Gati-Source: shop", f"Gati-Compiler: {__version__}"]


@given(texts)
def test_the_body_of_the_specs_commit_stays_json_that_argo_cd_reads(body: str) -> None:
    origin = Origin("shop", reference=Reference(SHA, body=body * 50))
    found = dict(argocd("\n".join(trailers(origin))))
    value = found.get("Argocd-reference-commit-body", '""')
    assert isinstance(json.loads(value), str)
    assert len(value.encode()) < 60_000  # a reader of lines gives up at 64 KiB


@pytest.mark.parametrize(
    ("name", "email", "wanted"),
    [
        ("Ann Example", "ann@example.org", "Ann Example <ann@example.org>"),
        ("Ann, B. (x)", "ann@example.org", '"Ann, B. (x)" <ann@example.org>'),
        ('A "q" \\', "a@b.c", '"A \\"q\\" \\\\" <a@b.c>'),
        ("Änn Ünïcode", "a@b.c", "Änn Ünïcode <a@b.c>"),
        ("=?utf-8?q?x?=", "a@b.c", '"=?utf-8?q?x?=" <a@b.c>'),
        ("", "a@b.c", "<a@b.c>"),
        ("Ann", "", ""),
        ("Ann", "no address", ""),
        ("Ann", ".ann@example.org", ""),
        ("Ann\n<eve@example.org>", "a@b.c", '"Ann <eve@example.org>" <a@b.c>'),
    ],
)
def test_authors_are_addresses_as_rfc_5322_wants_them(name: str, email: str, wanted: str) -> None:
    assert address(name, email) == wanted


@given(texts)
def test_a_line_is_one_line(text: str) -> None:
    made = line(text)
    assert made == line(made) or "\\" in made or "***" in made
    assert made.strip() == made
    assert not made.splitlines()[1:]
    assert len(made) <= 4000


# -- for gitops-promoter ---------------------------------------------------------------------------


def test_hydrator_metadata_has_the_fields_that_are_read() -> None:
    data = json.loads(hydrator_metadata(REFERENCE, ["gati-gitops compile specs --output ."]))
    assert data == {
        "repoURL": "https://git.example.org/team/specs",
        "drySha": SHA,
        "commands": ["gati-gitops compile specs --output ."],
        "author": "Ann Example <ann@example.org>",
        "date": "2026-01-15T10:30:00+01:00",
        "subject": "Ship cart v2",
        "body": "It is faster.\n\nSigned-off-by: Ann <ann@example.org>",
    }
    assert list(data)[:2] == ["repoURL", "drySha"]
    assert hydrator_metadata(Reference(SHA)) == f'{{\n  "drySha": "{SHA}"\n}}\n'.encode()
    assert json.loads(hydrator_note(REFERENCE)) == {"drySha": SHA}


def test_the_commit_behind_the_specs_commit_is_a_reference() -> None:
    body = """Made by CI.

Argocd-reference-commit-sha: b82add298aa045d3672880802d5305c5a8aaa46e
Argocd-reference-commit-author: Bob <bob@example.org>
Argocd-reference-commit-subject: chore: make a change
Argocd-reference-commit-body: "two\\nlines"
Argocd-reference-commit-repourl: https://git.example.org/team/code
Argocd-reference-commit-date: 2025-06-09T13:50:18-04:00
Signed-off-by: CI <ci@example.org>
"""
    data = json.loads(hydrator_metadata(Reference(SHA, body=body)))
    assert data["body"] == "Made by CI.\n\nSigned-off-by: CI <ci@example.org>"
    assert data["references"] == [
        {
            "commit": {
                "sha": "b82add298aa045d3672880802d5305c5a8aaa46e",
                "author": "Bob <bob@example.org>",
                "subject": "chore: make a change",
                "body": "two\nlines",
                "repoURL": "https://git.example.org/team/code",
                "date": "2025-06-09T13:50:18-04:00",
            }
        }
    ]


@pytest.mark.parametrize(
    "trailer",
    [
        "sha: HEAD",
        "author: nobody",
        "date: yesterday",
        "date: 2025-06-09",
        "body: no json",
        "body: {}",
        "repourl: a b",
        "other: x",
    ],
)
def test_a_reference_that_is_not_as_it_should_be_is_just_text(trailer: str) -> None:
    body = f"Argocd-reference-commit-{trailer}"
    data = json.loads(hydrator_metadata(Reference(SHA, body=body)))
    assert data["body"] == body
    assert "references" not in data


@given(st.lists(texts, min_size=7, max_size=7))
def test_hydrator_metadata_is_json_whatever_people_write(values: Iterable[str]) -> None:
    data = json.loads(hydrator_metadata(Reference(*values)))
    assert not re.search("[\x00-\x09\x0b-\x1f\u202a-\u202e]", json.dumps(data, ensure_ascii=False))
