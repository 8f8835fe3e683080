"""What ``preview`` compares: folders, revisions, and the output whose ledgers count."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from gati_gitops.cli.repository import opened

if TYPE_CHECKING:
    from gati_gitops.repo.specs import SpecsRepository
    from gati_gitops.tree import Snapshot

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://|[^/@\s]+@[^/:\s]+:")
"""https://…, ssh://…, git@host:path."""


@dataclass(frozen=True, slots=True)
class Source:
    """The files of one side."""

    name: str
    files: Sequence[tuple[str, bytes]]
    commit: str = ""
    prefix: str = ""
    """What stands before the files' names, so that they are found from where the user stands."""


def sources(
    specs: str, base: str, head: str | None, *, merge_base: bool
) -> tuple[Source, Source, list[str]]:
    """Both sides, and what a reader must know of how they were chosen."""
    proposed = specs if head is None else head
    notes: list[str] = []
    commit = ""
    if not _is_place(base):
        repository = _repository(specs, base)
        commit = _resolved(repository, base)
        here = _head(repository, proposed)
        if merge_base and here:
            shared = repository.merge_base(commit, here)
            if not shared:
                notes.append(f"{base} and {proposed} share no history: compared as they are")
            elif shared != commit:
                notes.append(f"compared with {shared[:10]}, where {proposed} left {base}")
                commit = shared
        one = _of_revision(repository, specs, base, commit)
    else:
        one = _of_folder(base)
    if _is_place(proposed):
        return one, _of_folder(proposed), notes
    repository = _repository(specs, proposed)
    two = _of_revision(repository, specs, proposed, _resolved(repository, proposed), head=True)
    return one, two, notes


def _head(repository: SpecsRepository, proposed: str) -> str:
    """The commit that the head stands on; empty where it has nothing to do with the repository."""
    from gati_gitops.repo.specs import specs_repository

    if not _is_place(proposed):
        return _resolved(repository, proposed)
    there = specs_repository(proposed) if proposed != "-" else None
    return there.commit if there is not None and there.commit == repository.commit else ""


def _is_place(text: str) -> bool:
    return text == "-" or os.path.exists(text)  # noqa: PTH110


def _repository(specs: str, revision: str) -> SpecsRepository:
    from gati_gitops.repo.specs import specs_repository

    found = specs_repository(specs) if specs != "-" else None
    if found is None:
        raise click.UsageError(
            f"there is no folder {revision}, and {specs} is in no Git repository"
            " of which it could be a revision"
        )
    return found


def _resolved(repository: SpecsRepository, text: str) -> str:
    from gati_gitops.errors import Outside

    try:
        return repository.resolve(text)
    except Outside as error:
        raise Outside(f"there is no folder {text}, and {error}", remedy=error.remedy) from error


def _of_folder(folder: str) -> Source:
    from gati_gitops.disk.specs import read_specs

    return Source(folder, read_specs(folder), prefix=_prefix(folder))


def _of_revision(
    repository: SpecsRepository, specs: str, name: str, commit: str, *, head: bool = False
) -> Source:
    # of the head files are called as they are in the folder, for annotations of them
    prefix = _prefix(specs) if head else f"{name}:{_prefix(specs)}"
    return Source(name, repository.files(commit), commit, prefix)


def _prefix(folder: str) -> str:
    path = os.path.dirname(folder) if os.path.isfile(folder) else folder  # noqa: PTH113, PTH120
    path = os.path.normpath(path).replace(os.sep, "/") if path not in ("", "-") else "."
    return "" if path == "." else f"{path}/"


# -- the output ----------------------------------------------------------------------------------


@contextmanager
def ledger_at(text: str | None, specs: str, root: str) -> Iterator[Snapshot]:
    """The output that an option names; nothing without one."""
    from pathlib import Path

    from gati_gitops.tree import MemorySnapshot

    if text is None:
        yield MemorySnapshot()
        return
    folder, at, revision = text.rpartition("@")
    if Path(text).is_dir() and not _is_bare(Path(text)):
        from gati_gitops.disk.snapshot import DiskSnapshot
        from gati_gitops.disk.writer import refuse_unfinished

        below = Path(text) / root
        refuse_unfinished(below)
        yield DiskSnapshot(below)
    elif Path(text).is_dir() or _ADDRESS.match(text):
        with opened(text, None, os.environ.get("GATI_CACHE")) as repository:
            yield repository.tip().snapshot("" if root == "." else root)
    elif at and Path(folder).is_dir():
        yield _at_revision(folder, revision, root)
    else:
        yield _at_revision(specs, text, root)


def _is_bare(folder: object) -> bool:
    from pathlib import Path

    place = Path(str(folder))
    return (place / "HEAD").is_file() and (place / "objects").is_dir()


def _at_revision(folder: str, revision: str, root: str) -> Snapshot:
    repository = _repository(folder, revision)
    return repository.at(_resolved(repository, revision), "" if root == "." else root)
