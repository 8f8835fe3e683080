"""One exchange with a Git server: what libgit2 asks us during it, and what it tells us.

Who we are is said once and to the host that was meant; a host or certificate that nobody vouches
for ends it; a server that never comes to an end is left. A push goes out under conditions.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

import pygit2
from pygit2.enums import CredentialType
from pygit2.remotes import PushUpdate, TransferProgress

from gati_gitops.repo.address import Address
from gati_gitops.repo.credentials import Credentials
from gati_gitops.repo.failures import (
    Lost,
    Transient,
    elsewhere,
    no_credentials,
    not_let_in,
    unknown_certificate,
    unknown_host,
)
from gati_gitops.repo.heads import Move
from gati_gitops.repo.steps import step

Progress = Callable[[str], None]

_NOTHING = "0" * 40
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


@dataclass(frozen=True, slots=True)
class Line:
    """How a server is spoken to."""

    address: Address
    credentials: Credentials
    timeouts: Timeouts
    progress: Progress


def _host(url: str) -> tuple[str, str, int]:
    parts = urlsplit(url)
    return (
        parts.scheme,
        parts.hostname or "",
        parts.port or (443 if parts.scheme == "https" else 80),
    )


class Exchange(pygit2.RemoteCallbacks):
    """Reading."""

    def __init__(self, line: Line) -> None:
        super().__init__()
        self._line = line
        self._logins = 0
        self._said: list[str] = []
        self._end = time.monotonic() + line.timeouts.total

    def remark(self) -> str:
        """What the server's hooks said, in one line and without our secrets."""
        text = "".join(self._said).replace("\r", "\n")
        lines = [line.strip() for line in text.split("\n")]
        said = " ".join(line for line in lines if line and not _COUNTING.match(line))
        return self._line.credentials.scrub(said)[:2000]

    def credentials(
        self, url: str, username_from_url: str | None, allowed_types: CredentialType
    ) -> pygit2.Username | pygit2.UserPass | pygit2.Keypair:
        own, address = self._line.credentials, self._line.address
        self._logins += 1
        if self._logins > _LOGINS:
            raise not_let_in(address)
        if allowed_types & CredentialType.USERNAME:
            return pygit2.Username(address.user)
        if address.kind == "ssh":
            self._logins = _LOGINS  # What was refused is not offered again.
            if own.key is None:
                return pygit2.KeypairFromAgent(address.user)
            return pygit2.Keypair(address.user, None, str(own.key), own.passphrase)
        if _host(url) != _host(address.url):
            raise elsewhere(address, _host(url)[1])
        if not own.token:
            raise no_credentials(address)
        self._logins = _LOGINS
        return pygit2.UserPass(own.username, own.token)

    def certificate_check(self, certificate: None, valid: bool, host: bytes) -> bool:
        # libgit2 has compared ssh keys with known_hosts and certificates with the authorities.
        if not valid:
            address = self._line.address
            raise (unknown_host if address.kind == "ssh" else unknown_certificate)(address)
        return True

    def sideband_progress(self, string: str) -> None:
        self._in_time()
        self._said.append(string)
        self._line.progress(self._line.credentials.scrub(string))

    def transfer_progress(self, stats: TransferProgress) -> None:
        self._in_time()

    def _in_time(self) -> None:
        if time.monotonic() > self._end:
            address, total = self._line.address, self._line.timeouts.total
            raise Transient(f"{address} took longer than {total:.0f} s", remedy="run again")


class Pushing(Exchange):
    """A push under conditions."""

    def __init__(self, line: Line, moves: tuple[Move, ...]) -> None:
        super().__init__(line)
        self._moves = moves
        self.sent = False
        """Whether the server may have got something."""
        self.answers: dict[str, str | None] = {}
        """What it said of each reference; None is yes."""

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
                raise Lost(f"{move.ref} of {self._line.address} is {where} by now")

    def push_update_reference(self, refname: str, message: str | None) -> None:
        self.answers[refname] = message
        step("after-answer")
