"""A repository on a server, over https or ssh, by libgit2 alone.

Reading: one connection lists the references and fetches the commit that was asked for, without its
history (depth 1). libgit2 1.9 can't leave out file contents (Git's partial clones), so a first
fetch brings one whole tree; with a kept clone every later one brings what changed. History comes
when it is asked for, in growing steps.

Writing: the server tells where its branch is, and we go on only if that is the commit we read; the
same value goes along as the condition under which the server moves it. libgit2 calls a push that
was refused a success, so the server's answer is asked for, and none is as bad as a no.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pygit2
from pygit2.remotes import Remote

from gati_gitops.errors import GatiError, Outside, Refused
from gati_gitops.repo.clones import Clone
from gati_gitops.repo.commit import read_commit
from gati_gitops.repo.exchange import Exchange, Line, Pushing
from gati_gitops.repo.failures import (
    Lost,
    Odd,
    Transient,
    Unclear,
    in_words,
    no_branch_moved,
    not_let_in,
)
from gati_gitops.repo.heads import HEADS, Heads, Move
from gati_gitops.repo.known_hosts import write_known_hosts
from gati_gitops.repo.objects import Objects
from gati_gitops.repo.steps import step

_ALL = 2**31 - 1  # As Git says it: a depth beyond every history.
_STEPS = (16, 256, 4096, _ALL)
_PUSH = 1  # GIT_DIRECTION_PUSH


class Server:
    """The side that is written to, when it is a server."""

    def __init__(self, line: Line, clone: Clone) -> None:
        self.line = line
        self._clone = clone
        self._home: Path | None = None
        if line.address.kind == "ssh":
            self._home = write_known_hosts(clone.private(), line.credentials.known_hosts)
        self._listed: Remote | None = None
        self._brought: set[str] = set()
        self._default = ""

    @property
    def git(self) -> pygit2.Repository:
        return self._clone.git

    def heads(self) -> Heads:
        """All references as the server lists them now; the connection stays open for a fetch."""
        step("before-list")
        with self._speaking() as exchange:
            remote = self._remote()
            remote.connect(callbacks=exchange, proxy=True)
            listed = {head.name or "": head for head in remote.list_heads(connect=False)}
        self._listed = remote
        step("after-list")
        head = listed.pop("HEAD", None)
        default = (head.symref_target if head else None) or ""
        self._default = default
        refs = {name: str(head.oid) for name, head in listed.items() if not name.endswith("^{}")}
        return Heads(refs, default.removeprefix(HEADS))

    def bring(self, ref: str, commit: str) -> None:
        """Fetch a reference's commit, if it is not here yet."""
        self._brought.add(ref)
        if commit not in self.git:
            step("before-fetch")
            try:
                self._fetch({ref}, 1)
            except Odd:
                if not self.renew():
                    raise
                self._fetch({ref}, 1)
            step("after-fetch")
        self._clone.saw(ref, commit, self._default)

    def deepen(self, commit: str) -> bool:
        """Bring a commit's parents, and more; False if it has none, or they can't be had."""
        branches = {ref for ref in self._brought if ref.startswith(HEADS)}
        self._reach(branches, lambda: self._has_parents(commit))
        return self._has_parents(commit)

    def seek(self, ref: str, commit: str) -> bool:
        self._reach({ref}, lambda: commit in self.git)
        return commit in self.git

    def swap(self, *moves: Move) -> tuple[Move, ...]:
        """Push: the first move decides; those of the others that were refused are given back."""
        self._listed = None
        specs = [f"{'+' if m.force and m.new else ''}{m.new}:{m.ref}" for m in moves]
        pushing = Pushing(self.line, moves)
        step("before-push")
        try:
            with self._speaking(pushing):
                self._remote().push(specs, callbacks=pushing, proxy=True)
        except (Lost, Refused):
            raise
        except GatiError as error:
            raise (Unclear(error) if pushing.sent else error) from None
        step("after-push")
        first, address = moves[0], self.line.address
        if first.ref not in pushing.answers:
            raise Unclear(Transient(f"{address} did not say what came of the push"))
        if (said := pushing.answers[first.ref]) is not None:
            said = self.line.credentials.scrub(said)
            raise no_branch_moved(said, pushing.remark(), first.ref, address)
        if first.new and first.ref.startswith(HEADS):
            self._clone.saw(first.ref, first.new, self._default)
        return tuple(m for m in moves if pushing.answers.get(m.ref, "no answer") is not None)

    def may_write(self) -> None:
        """Open the conversation of a push, and leave: who may not push is told so right there."""
        with self._speaking() as exchange:
            remote = self._remote()
            remote.connect(exchange, _PUSH, proxy=True)

    def renew(self) -> bool:
        self._listed = None
        return self._clone.renew()

    def close(self, *, sound: bool = True) -> None:
        self._listed = None
        self._clone.close(sound=sound)

    def _fetch(self, refs: set[str], depth: int) -> None:
        remote, self._listed = self._listed or self._remote(), None
        specs = [f"+{ref}:refs/gati-gitops/{ref.removeprefix('refs/')}" for ref in sorted(refs)]
        with self._speaking() as exchange:
            remote.fetch(specs, callbacks=exchange, depth=depth, proxy=True)

    def _reach(self, refs: set[str], there: Callable[[], bool]) -> None:
        """Go back in the history of references until something is there, or all of it is."""
        for depth in _STEPS:
            if there() or not self.git.is_shallow:
                return
            self._fetch(refs, depth)

    def _has_parents(self, commit: str) -> bool:
        # Not by libgit2, which says that a commit at the edge of a shallow clone has no parents.
        parents = read_commit(Objects(self.git), commit).parents
        return bool(parents) and all(parent in self.git for parent in parents)

    def _remote(self) -> Remote:
        address = self.line.address
        remote = self.git.remotes.create_anonymous(address.url)
        if remote.url != address.url:
            raise Refused(
                f"your Git configuration rewrites {address} (url.<other>.insteadOf)",
                remedy="give the address that it is rewritten to",
            )
        return remote

    @contextmanager
    def _speaking(self, exchange: Exchange | None = None) -> Iterator[Exchange]:
        """An exchange under our time-outs, whose failures are put into words."""
        settings, home, timeouts = pygit2.settings, pygit2.settings.homedir, self.line.timeouts
        settings.server_connect_timeout = int(timeouts.connect * 1000)
        settings.server_timeout = int(timeouts.idle * 1000)
        if self._home is not None:
            settings.homedir = str(self._home)
        try:
            yield exchange or Exchange(self.line)
        except (pygit2.GitError, OSError, KeyError, ValueError) as error:
            self._listed = None
            raise self._explained(error) from None
        finally:
            if self._home is not None and home is not None:
                settings.homedir = home

    def _explained(self, error: Exception) -> GatiError:
        address = self.line.address
        if isinstance(error, pygit2.AuthError):
            return not_let_in(address)
        if isinstance(error, (KeyError, ValueError)):  # Of objects and references: our clone's.
            return Odd(f"the clone of {address} is damaged: {error}", remedy="run again")
        told = in_words(self.line.credentials.scrub(str(error)), address)
        if address.kind == "ssh" or not isinstance(told, Outside):
            return told
        from gati_gitops.repo.limits import wait_asked_for

        asked = wait_asked_for(told.message, self.line)
        if asked is None:
            return told
        return Transient(
            f"{told.message}, and asks us to wait {asked:.0f} s",
            remedy="run again after that",
            after=asked,
        )
