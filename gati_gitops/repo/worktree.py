"""The files of a work tree whose branch we move.

As with `git pull`: files that the commits touch must be as the branch had them, in the work tree
and in the index, and then go along; all others may be in any state. The branch moves first, since
nobody must be able to commit what only stood there for a moment. A journal is written before and
removed when the files have followed, so what a killed run left undone the next one does.
"""

from __future__ import annotations

import fcntl
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pygit2
from pygit2.enums import FileMode, ReferenceType

from gati_gitops.errors import Outside, Refused
from gati_gitops.repo.commit import read_commit
from gati_gitops.repo.heads import HEADS
from gati_gitops.repo.objects import BLOB, EXECUTABLE, Objects
from gati_gitops.repo.steps import step
from gati_gitops.repo.trees import Difference, differences

_JOURNAL = "gati-gitops-work-tree"
_TEMPORARY = ".gati-gitops.tmp"


class WorkTree:
    """The work tree of a repository."""

    def __init__(self, git: pygit2.Repository, shown: str) -> None:
        self._git = git
        self._shown = shown
        self._root = Path(git.workdir or "")
        self._journal = Path(git.path or "", _JOURNAL)

    def follows(self, ref: str) -> bool:
        """Whether the files here show this branch; Refused if another work tree does."""
        head = self._git.references.get("HEAD")
        if head and head.type == ReferenceType.SYMBOLIC and head.target == ref:
            return not self._git.is_bare
        name, branches = ref.removeprefix(HEADS), self._git.branches.local
        if name in branches and branches[name].is_checked_out():
            raise Refused(
                f"{ref} of {self._shown} is checked out in another work tree, and would leave it",
                remedy="publish to that work tree, or check out another branch in it",
            )
        return False

    @contextmanager
    def moving(self, old: str, new: str) -> Iterator[None]:
        """Move the branch inside of this: files in the way are told before, and follow after."""
        changes = self._changes(old, new)
        self._check(changes)
        with self._journal.open("w") as journal:
            fcntl.flock(journal, fcntl.LOCK_EX)
            journal.write(f"{old or '-'} {new}\n")
            journal.flush()
            step("before-branch")
            try:
                yield
            except BaseException:
                self._journal.unlink(missing_ok=True)
                raise
            step("before-files")
            self._follow(changes)
            self._journal.unlink(missing_ok=True)

    def recover(self) -> None:
        """Let the files follow a branch that was moved by a run which did not live to see it."""
        try:
            with self._journal.open("r+") as journal:
                fcntl.flock(journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
                old, _, new = journal.read().strip().partition(" ")
                if self._has(new):
                    self._follow(self._changes(old.strip("-"), new))
                self._journal.unlink(missing_ok=True)
        except (FileNotFoundError, BlockingIOError):
            return  # None was left, or its run is still at work.

    def _has(self, commit: str) -> bool:
        """Whether what is checked out contains a commit."""
        if len(commit) != 40 or commit not in self._git or self._git.head_is_unborn:
            return False
        tip = str(self._git.head.target)
        return tip == commit or self._git.descendant_of(tip, commit)

    def _changes(self, old: str, new: str) -> list[Difference]:
        """What differs between two commits; removals first, for a file may become a folder."""
        objects = Objects(self._git)
        trees = (bytes.fromhex(read_commit(objects, id).tree) if id else None for id in (old, new))
        return sorted(
            differences(objects, *trees), key=lambda change: (change[2] is not None, change[0])
        )

    def _check(self, changes: list[Difference]) -> None:
        index = self._git.index
        index.read(force=False)
        for change in changes:
            if not self._is_untouched(change, index):
                raise Refused(
                    f"{change[0]} in {self._shown} differs from what was committed",
                    remedy="commit it, or take the change back (`git stash`), then run again",
                )

    def _follow(self, changes: list[Difference]) -> None:
        index = self._git.index
        index.read(force=False)
        objects = Objects(self._git)
        path = ""
        try:
            for change in changes:
                path, _, new = change
                if not self._is_untouched(change, index):
                    continue  # Somebody has been at work on it meanwhile.
                self._put(path, None if new is None else objects.read(new[1], BLOB))
                if new is not None:
                    executable = new[0] == EXECUTABLE
                    mode = FileMode.BLOB_EXECUTABLE if executable else FileMode.BLOB
                    index.add(pygit2.IndexEntry(path, pygit2.Oid(new[1]), mode))
                elif path in index:
                    index.remove(path)
            index.write()
        except (OSError, pygit2.GitError) as error:
            raise Outside(
                f"the branch has moved, but the files of {self._shown} did not follow: {error}",
                remedy="run again, when nothing else is at work there",
            ) from None

    def _is_untouched(self, change: Difference, index: pygit2.Index) -> bool:
        """Whether a path is as one of both trees has it, in the index and on disk."""
        path, *entries = change
        either = {entry[1] if entry else b"" for entry in entries}
        listed = index[path].id.raw if path in index else b""
        if listed not in either:
            return False
        file = self._root / path
        if not self._is_file(path):
            return b"" in either and not file.is_symlink() and not file.is_file()
        # Also as Git would store it, for it may have changed the ends of lines.
        return pygit2.hashfile(str(file)).raw in either or self._git.hashfile(path).raw in either

    def _is_file(self, path: str) -> bool:
        """Whether a plain file is there; a link, there or on the way, is never followed."""
        here = self._root
        for part in path.split("/"):
            here = here / part
            try:
                mode = here.lstat().st_mode
            except (FileNotFoundError, NotADirectoryError):
                return False
            if stat.S_ISLNK(mode):
                raise Refused(
                    f"{here.relative_to(self._root)} in {self._shown} is a symbolic link",
                    remedy="remove it, then run again",
                )
        return stat.S_ISREG(mode)

    def _put(self, path: str, content: bytes | None) -> None:
        target = self._root / path
        if content is not None:
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary = target.with_name(_TEMPORARY)
            temporary.unlink(missing_ok=True)
            temporary.write_bytes(content)
            temporary.replace(target)
        elif target.is_file():
            target.unlink()
            for folder in target.parents:
                if folder == self._root or any(folder.iterdir()):
                    break
                folder.rmdir()
