"""Repositories for tests, made and judged by the real git."""

import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

import pygit2

from gati_gitops.repo.commit import Signature, create_commit
from gati_gitops.repo.objects import Objects
from gati_gitops.repo.trees import write_tree
from tests.tools import tool

US = Signature("gati-gitops", "gati@example.test")
NOW = 1_700_000_000
OURS = "Publish\n\nGati-Compiler: 0.1.0\n"


def git(where: Path, *arguments: str, data: bytes | None = None, **environment: str) -> str:
    """What git prints; it must succeed, and knows nothing of this machine's own settings."""
    done = subprocess.run(
        [str(tool("git")), *arguments],
        cwd=where,
        input=data,
        capture_output=True,
        check=False,
        env={
            "PATH": os.environ["PATH"],
            "HOME": "/nonexistent",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "A Person",
            "GIT_AUTHOR_EMAIL": "person@example.test",
            "GIT_COMMITTER_NAME": "A Person",
            "GIT_COMMITTER_EMAIL": "person@example.test",
            "GIT_MERGE_AUTOEDIT": "no",
            **environment,
        },
    )
    assert done.returncode == 0, f"git {' '.join(arguments)}: {done.stderr.decode()}"
    return done.stdout.decode().rstrip("\n")


def bare(where: Path) -> Objects:
    """A new bare repository."""
    where.mkdir(parents=True, exist_ok=True)
    return Objects(pygit2.init_repository(str(where), bare=True, initial_head="main"))


def home(objects: Objects) -> Path:
    return Path(objects.git.path)


def commit(
    objects: Objects,
    changes: Mapping[str, bytes | None],
    parents: Iterable[str] = (),
    message: str = OURS,
    root: str = "",
    time: int = NOW,
) -> str:
    """A commit on its first parent, written."""
    above = list(parents)
    base = str(objects.git[above[0]].tree.id) if above else ""
    tree = write_tree(objects, base, dict(changes), root)
    made = create_commit(objects, tree, above, message, author=US, committer=US, time=time)
    objects.flush()
    return made


def tree_of(where: Path, files: Mapping[str, bytes]) -> str:
    """The tree that git itself makes of these files."""
    lines = []
    for path, content in files.items():
        blob = git(where, "hash-object", "-w", "--stdin", data=content)
        lines.append(f"100644 {blob}\t{path}\0")
    index = str(where / "index-of-a-test")
    Path(index).unlink(missing_ok=True)
    git(
        where,
        "update-index",
        "-z",
        "--index-info",
        data="".join(lines).encode(),
        GIT_INDEX_FILE=index,
    )
    return git(where, "write-tree", GIT_INDEX_FILE=index)


def files_of(where: Path, tree: str) -> dict[str, bytes]:
    """All files of a tree or commit, as git lists them."""
    listed = git(where, "ls-tree", "-r", "-z", tree).split("\0")
    entries = [line.split("\t", 1) for line in listed if line]
    return {path: git_blob(where, meta.split()[2]) for meta, path in entries}


def git_blob(where: Path, blob: str) -> bytes:
    done = subprocess.run(
        ["git", "cat-file", "blob", blob], cwd=where, capture_output=True, check=True
    )
    return done.stdout


def sound(where: Path) -> None:
    """git finds nothing wrong with the repository."""
    assert "error" not in git(where, "fsck", "--strict", "--full", "--no-dangling")
