"""A repository on a server, over https or ssh, by libgit2 alone.

Reading: one connection lists the references and fetches the commit that was asked for, without its
history (depth 1). libgit2 1.9 can't leave out file contents (Git's partial clones), so a first
fetch brings one whole tree; with a kept clone every later one brings what changed. History comes
when it is asked for, in growing steps.

Writing: the server tells where its branch is, and we go on only if that is the commit we read
(`push_negotiation`); the same value goes along as the condition under which the server moves it.
What came of it is told to `push_update_reference` alone: libgit2 calls a push that was refused a
success, so we ask for the answer, and none is as bad as a no.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pygit2
from pygit2.enums import CredentialType
from pygit2.remotes import PushUpdate, Remote, TransferProgress

from gati_gitops.errors import GatiError, Outside, Refused
from gati_gitops.repo.address import Address
from gati_gitops.repo.clones import Clone
from gati_gitops.repo.commit import read_commit
from gati_gitops.repo.credentials import Credentials
from gati_gitops.repo.failures import (
    Lost,
    Odd,
    Transient,
    Unclear,
    elsewhere,
    in_words,
    no_branch_moved,
    no_credentials,
    not_let_in,
    unknown_certificate,
    unknown_host,
)
from gati_gitops.repo.heads import HEADS, Heads, Move
from gati_gitops.repo.known_hosts import write_known_hosts
from gati_gitops.repo.objects import Objects
from gati_gitops.repo.steps import step

Progress = Callable[[str], None]

_NOTHING = "0" * 40
_ALL = 2**31 - 1  # As Git says it: a depth beyond every history.
_STEPS = (16, 256, 4096, _ALL)
_LOGINS = 3
_COUNTING = re.compile(r"(?:[A-Z]\w+ing \w+: +\d|Total \d)")
"""What git tells of its own work, as against what hooks have to say."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds; libgit2's own are none at all."""

    connect: float = 10
    """Until a server takes the connection."""
    idle: float = 60
    """Between two signs of life of a server."""
    total: float = 600
    """For one exchange as a whole."""


class Server:
    """The side that is written to, when it is a server."""

    def __init__(
        self,
        address: Address,
        credentials: Credentials,
        clone: Clone,
        timeouts: Timeouts,
        progress: Progress,
    ) -> None:
        self.address = address
        self.credentials = credentials
        self.timeouts = timeouts
        self.progress = progress
        self._clone = clone
        self._home: Path | None = None
        if address.kind == "ssh":
            self._home = write_known_hosts(clone.private(), credentials.known_hosts)
        self._listed: Remote | None = None
        self._tips: dict[str, str] = {}

    @property
    def git(self) -> pygit2.Repository:
        return self._clone.git

    def heads(self) -> Heads:
        """All references as the server lists them now; the connection stays open for a fetch."""
        step("before-list")
        with self._talk() as words:
            remote = self._remote()
            remote.connect(callbacks=words, proxy=True)
            listed = remote.list_heads(connect=False)
        self._listed = remote
        step("after-list")
        refs = {head.name: str(head.oid) for head in listed if head.name}
        default = next((h.symref_target or "" for h in listed if h.name == "HEAD"), "")
        refs.pop("HEAD", None)
        refs = {name: id for name, id in refs.items() if not name.endswith("^{}")}
        return Heads(refs, default.removeprefix(HEADS))

    def bring(self, ref: str, commit: str) -> None:
        """Fetch a reference's commit, if it is not here yet."""
        self._tips[ref] = commit
        if commit in self.git:
            return
        step("before-fetch")
        try:
            self._fetch(ref, 1)
        except Odd:
            if not self.renew():
                raise
            self._fetch(ref, 1)
        step("after-fetch")

    def deepen(self, commit: str) -> bool:
        """Bring a commit's parents, and more; False if it has none, or they can't be had."""
        for ref in list(self._tips):
            self._reach(ref, lambda: self._has_parents(commit))
        return self._has_parents(commit)

    def seek(self, ref: str, commit: str) -> bool:
        self._reach(ref, lambda: commit in self.git)
        return commit in self.git

    def swap(self, *moves: Move) -> tuple[Move, ...]:
        """Push: the first move decides; those of the others that were refused are given back."""
        self._listed = None
        specs = [f"{'+' if m.force and m.new else ''}{m.new}:{m.ref}" for m in moves]
        words = _Pushing(self, moves)
        step("before-push")
        try:
            with self._talk(words):
                self._remote().push(specs, callbacks=words, proxy=True)
        except (Lost, Refused):
            raise
        except GatiError as error:
            raise (Unclear(error) if words.sent else error) from None
        step("after-push")
        answers = [words.answers.get(move.ref, "no answer") for move in moves]
        if (said := answers[0]) is not None:
            if said == "no answer":
                raise Unclear(Transient(f"{self.address} did not say what came of the push"))
            raise self.refusal(said, words, moves[0])
        for move in moves:
            self._tips.pop(move.ref, None)
        return tuple(m for m, said in zip(moves, answers, strict=True) if said is not None)

    def refusal(self, said: str, words: _Words, move: Move) -> GatiError:
        scrub = self.credentials.scrub
        return no_branch_moved(scrub(said), scrub(words.remark()), move.ref, self.address)

    def renew(self) -> bool:
        self._listed = None
        return self._clone.renew()

    def close(self, *, sound: bool = True) -> None:
        self._listed = None
        self._clone.close(sound=sound)

    def _fetch(self, ref: str, depth: int) -> None:
        remote, self._listed = self._listed or self._remote(), None
        spec = f"+{ref}:refs/gati-gitops/{ref.removeprefix('refs/')}"
        with self._talk() as words:
            remote.fetch([spec], callbacks=words, depth=depth, proxy=True)

    def _reach(self, ref: str, there: Callable[[], bool]) -> None:
        """Go back in a reference's history until something is there, or all of it is."""
        for depth in _STEPS:
            if there() or not self.git.is_shallow:
                return
            self._fetch(ref, depth)

    def _has_parents(self, commit: str) -> bool:
        # Not by libgit2, which says that a commit at the edge of a shallow clone has no parents.
        parents = read_commit(Objects(self.git), commit).parents
        return bool(parents) and all(parent in self.git for parent in parents)

    def _remote(self) -> Remote:
        remote = self.git.remotes.create_anonymous(self.address.url)
        if remote.url != self.address.url:
            raise Refused(
                f"your Git configuration rewrites {self.address} (url.<other>.insteadOf)",
                remedy="give the address that it is rewritten to",
            )
        return remote

    @contextmanager
    def _talk(self, words: _Words | None = None) -> Iterator[_Words]:
        """One exchange: under our time-outs, with its failures put into words."""
        words = words or _Words(self)
        settings, home = pygit2.settings, pygit2.settings.homedir
        settings.server_connect_timeout = int(self.timeouts.connect * 1000)
        settings.server_timeout = int(self.timeouts.idle * 1000)
        if self._home is not None:
            settings.homedir = str(self._home)
        try:
            yield words
        except (pygit2.GitError, OSError, KeyError, ValueError) as error:
            self._listed = None
            raise self._explained(error) from None
        finally:
            if self._home is not None and home is not None:
                settings.homedir = home

    def _explained(self, error: Exception) -> GatiError:
        if isinstance(error, pygit2.AuthError):
            return not_let_in(self.address)
        if isinstance(
            error, (KeyError, ValueError)
        ):  # About objects and references, so our clone's.
            return Odd(f"the clone of {self.address} is damaged: {error}", remedy="run again")
        told = in_words(self.credentials.scrub(str(error)), self.address)
        if self.address.kind != "ssh" and isinstance(told, Outside):
            from gati_gitops.repo.limits import wait_asked_for

            asked = wait_asked_for(
                told.message,
                self.address,
                self.credentials,
                connect=self.timeouts.connect,
                idle=self.timeouts.idle,
            )
            if asked is not None:
                return Transient(
                    f"{told.message}, and asks us to wait {asked:.0f} s",
                    remedy="run again after that",
                    after=asked,
                )
        return told


class _Words(pygit2.RemoteCallbacks):
    """What libgit2 asks and tells us during an exchange."""

    def __init__(self, server: Server) -> None:
        super().__init__()
        self._server = server
        self._logins = 0
        self._said: list[str] = []
        self._end = time.monotonic() + server.timeouts.total

    def remark(self) -> str:
        """What the server's hooks said, in one line."""
        text = "".join(self._said).replace("\r", "\n")
        lines = [line.strip() for line in text.split("\n")]
        return " ".join(line for line in lines if line and not _COUNTING.match(line))[:2000]

    def credentials(
        self, url: str, username_from_url: str | None, allowed_types: CredentialType
    ) -> pygit2.Username | pygit2.UserPass | pygit2.Keypair:
        own, address = self._server.credentials, self._server.address
        self._logins += 1
        if self._logins > _LOGINS:
            raise not_let_in(address)
        if allowed_types & CredentialType.USERNAME:
            return pygit2.Username(address.user)
        if address.kind == "ssh":
            self._logins = _LOGINS  # One try: a key that was refused is not offered again.
            if own.key is None:
                return pygit2.KeypairFromAgent(address.user)
            return pygit2.Keypair(address.user, None, str(own.key), own.passphrase)
        asking = urlsplit(url)
        if (asking.scheme, asking.hostname) != (address.kind, address.host.lower()) or (
            (asking.port or 0) != address.port
        ):
            raise elsewhere(address, asking.hostname or "another host")
        if not own.token:
            raise no_credentials(address)
        self._logins = _LOGINS
        return pygit2.UserPass(own.username, own.token)

    def certificate_check(self, certificate: None, valid: bool, host: bytes) -> bool:
        # libgit2 has compared ssh keys with known_hosts and certificates with the authorities.
        if not valid:
            address = self._server.address
            raise (unknown_host if address.kind == "ssh" else unknown_certificate)(address)
        return True

    def sideband_progress(self, string: str) -> None:
        self._in_time()
        self._said.append(string)
        self._server.progress(self._server.credentials.scrub(string))

    def transfer_progress(self, stats: TransferProgress) -> None:
        self._in_time()

    def _in_time(self) -> None:
        if time.monotonic() > self._end:
            address, total = self._server.address, self._server.timeouts.total
            raise Transient(f"{address} took longer than {total:.0f} s", remedy="run again")


class _Pushing(_Words):
    """A push under conditions."""

    def __init__(self, server: Server, moves: tuple[Move, ...]) -> None:
        super().__init__(server)
        self._moves = moves
        self.sent = False
        self.answers: dict[str, str | None] = {}

    def push_negotiation(self, updates: list[PushUpdate]) -> None:
        self.expect({update.dst_refname: str(update.src) for update in updates})
        self.sent = True
        step("before-pack")

    def expect(self, found: dict[str, str]) -> None:
        """The lease: the server's own word on where each reference is, before anything is sent."""
        for move in self._moves:
            now = found.get(move.ref, _NOTHING)
            if now != (move.old or _NOTHING):
                where = "gone" if now == _NOTHING else f"at {now}"
                raise Lost(f"{move.ref} of {self._server.address} is {where} by now")

    def push_update_reference(self, refname: str, message: str | None) -> None:
        self.answers[refname] = message
        step("after-answer")
