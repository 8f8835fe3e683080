"""The Git repository that the specs themselves live in.

Publishing records the commit that it compiled; preview compares two; verify reads an old one. They
are read from the object database, by the rule that a folder is read by (spec/files.py). The work
tree is only asked whether the specs in it are those of the commit.

A commit's links are held to more than a folder's: one that leads to anything but a spec that is
read anyway is refused. So what changed between two commits can be told from the files that did.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from urllib.parse import urlsplit

import pygit2
from pygit2.enums import FileStatus

from gati_gitops.errors import Outside
from gati_gitops.repo.commit import read_commit
from gati_gitops.repo.objects import BLOB, FOLDER, Entry, Objects, open_git
from gati_gitops.repo.spec_files import is_plain, spec_entries
from gati_gitops.repo.trees import GitSnapshot, differences
from gati_gitops.spec.files import is_entered, is_spec, is_spec_below
from gati_gitops.yamlio.text import MAX_BYTES

Files = list[tuple[str, bytes]]
Change = tuple[str | None, str | None]
"""A spec file's name before and after; None where there was none."""


@dataclass(frozen=True, slots=True)
class Described:
    """A commit in words, for trailers and pages."""

    subject: str
    body: str
    author: str
    date: str
    """When it was written, as RFC 3339 has it."""


def specs_repository(folder: str | Path) -> SpecsRepository | None:
    """The repository that a folder (or file) of specs is in; None if it is in none."""
    place = Path(os.path.realpath(folder))
    found = pygit2.discover_repository(str(place if place.is_dir() else place.parent))
    if found is None:
        return None
    git = open_git(found)
    below = "." if git.is_bare else os.path.relpath(place, os.path.realpath(git.workdir))
    try:
        return SpecsRepository(git, "" if below == "." else below)
    except pygit2.GitError as error:
        raise Outside(
            f"the specs' repository {found} cannot be read: {error}",
            remedy="look at it with `git status` and `git fsck`, then run again",
        ) from error


class SpecsRepository:
    """A repository, and where in it the specs are. Names are relative to that folder."""

    def __init__(self, git: pygit2.Repository, prefix: str) -> None:
        self._git = git
        self._objects = Objects(git)
        self.prefix = prefix
        self.commit = "" if git.head_is_unborn else str(git.head.target)
        """The commit that is checked out; empty if there is none yet."""
        self.url = _url(git)
        """Where others find the repository, without any secret; empty if it has no remote."""

    def describe(self, commit: str = "") -> Described:
        """A commit in words; the one that is checked out if none is named."""
        found = self._find(commit or self.commit)
        who = found.author
        subject, _, body = found.message.strip().partition("\n")
        zone = timezone(timedelta(minutes=who.offset))
        return Described(
            subject=subject.strip(),
            body=body.strip(),
            author=f"{who.name} <{who.email}>",
            date=datetime.fromtimestamp(who.time, zone).isoformat().replace("+00:00", "Z"),
        )

    def resolve(self, revision: str) -> str:
        """The commit that a revision names: a branch, tag, id, `HEAD~2` and the like."""
        return str(self._find(revision).id)

    def merge_base(self, one: str, other: str) -> str:
        """The newest commit that two have in common; empty if they are strangers."""
        try:
            found = str(self._git.merge_base(self.resolve(one), self.resolve(other)) or "")
        except (KeyError, pygit2.GitError):
            found = ""  # the walk has met the end of a shallow clone
        if not found and self._git.is_shallow:
            raise Outside(
                f"this clone is too shallow to tell where {one} and {other} parted",
                remedy="fetch the whole history (`git fetch --unshallow`; in CI, fetch-depth: 0)",
            )
        return found

    def files(self, commit: str, prefix: str | None = None) -> Files:
        """Names and bytes of the spec files of a commit, sorted by name."""
        entries = spec_entries(self._snapshot(commit), self._where(prefix))
        return sorted(
            (_printable(name), self._objects.read(id, BLOB)[: MAX_BYTES + 1])
            for name, (_, id) in entries.items()
        )

    def at(self, commit: str, prefix: str | None = None) -> GitSnapshot:
        """All files of a commit, from the folder of the specs on, or from another."""
        return GitSnapshot(self._objects, self._snapshot_tree(commit), self._where(prefix))

    def changed(self, old: str, new: str, prefix: str | None = None) -> list[Change]:
        """The spec files in which two commits differ."""
        where = self._where(prefix)
        before, after = (self._snapshot(commit).entry(where) for commit in (old, new))
        found = [(where.rpartition("/")[2], before, after)] if before != after else []
        if any(entry and entry[0] == FOLDER for entry in (before, after)):
            folders = (
                entry[1] if entry and entry[0] == FOLDER else None for entry in (before, after)
            )
            both = differences(self._objects, *folders)
            found = [difference for difference in both if is_spec_below(difference[0])]
        pairs = [(_name(path, was), _name(path, now)) for path, was, now in found]
        return [pair for pair in pairs if any(pair)]

    def dirty(self, prefix: str | None = None) -> list[str]:
        """The spec files of the work tree that are not as in the commit; new ones count."""
        if self._git.is_bare:
            return []
        where = self._where(prefix)
        above = f"{where}/" if where else ""
        found: set[str] = set()
        for path, flags in self._git.status(untracked_files="all", ignored=True).items():
            if flags == FileStatus.CURRENT:
                continue
            if path == where:
                found.add(path.rpartition("/")[2])
            elif path.endswith("/"):  # ignored as a whole, or another repository
                found.update(self._untracked(where, path))
            elif path.startswith(above) and is_spec_below(path[len(above) :]):
                found.add(path[len(above) :])
        return sorted(map(_printable, found))

    def _untracked(self, where: str, folder: str) -> Iterator[str]:
        """The spec files on disk in a folder that Git says nothing of."""
        home, above = Path(self._git.workdir, where), f"{where}/" if where else ""
        inside = folder[len(above) :] if folder.startswith(above) else ""
        if not inside and not above.startswith(folder):
            return
        if home.is_file():
            yield home.name
            return
        parts = inside.split("/")[:-1]
        if not all(is_entered("/".join(parts[: end + 1])) for end in range(len(parts))):
            return
        for here, folders, files in os.walk(home / inside):
            base = Path(here).relative_to(home).as_posix().removeprefix(".")
            names = {name: f"{base}/{name}" if base else name for name in (*folders, *files)}
            folders[:] = [name for name in folders if is_entered(names[name])]
            yield from (names[name] for name in files if is_spec(names[name]))

    def _find(self, revision: str) -> pygit2.Commit:
        try:
            return self._git.revparse_single(revision).peel(pygit2.Commit)
        except (KeyError, ValueError, pygit2.GitError) as error:
            depth = "; it is shallow, so fetch more of it first" * self._git.is_shallow
            raise Outside(
                f"{revision!r} names no commit of the specs' repository",
                remedy=f"name a branch, tag or commit that this clone has{depth}",
            ) from error

    def _where(self, prefix: str | None) -> str:
        return self.prefix if prefix is None else prefix

    def _snapshot(self, commit: str) -> GitSnapshot:
        return GitSnapshot(self._objects, self._snapshot_tree(commit))

    def _snapshot_tree(self, commit: str) -> str:
        return read_commit(self._objects, self.resolve(commit)).tree


def _name(path: str, entry: Entry | None) -> str | None:
    return _printable(path) if entry is not None and is_plain(entry) else None


def _printable(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode(errors="replace")


def _url(git: pygit2.Repository) -> str:
    """The address of the remote that the branch follows, else of `origin`, else of the first."""
    urls = {remote.name: remote.url for remote in git.remotes if remote.name and remote.url}
    branch = "" if git.head_is_unborn or git.head_is_detached else git.head.shorthand
    followed = f"branch.{branch}.remote"
    name = str(git.config[followed]) if branch and followed in git.config else "origin"
    return _without_secrets(urls.get(name) or next(iter(urls.values()), ""))


def _without_secrets(url: str) -> str:
    if "://" not in url:
        return url
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    # Of ssh the user is half the address; a token for https stands in either half of what precedes.
    kept = user.partition(":")[0] + at if parts.scheme.endswith("ssh") else ""
    return parts._replace(netloc=kept + host, query="", fragment="").geturl()
