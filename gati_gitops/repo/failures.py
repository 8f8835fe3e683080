"""What Git servers and libgit2 answer, in words: one sentence, the address, a remedy.

Two things matter to whoever called: a Transient failure may pass if tried again, any other is
final. libgit2 tells them apart by text alone, so its texts stand here and nowhere else. No text of
a server gets out before our secrets are taken from it.
"""

from __future__ import annotations

import re

from gati_gitops.errors import GatiError, Outside, Refused
from gati_gitops.repo.address import Address


class Transient(Outside):
    """Something that may pass: a cut connection, a time-out, a busy server."""

    def __init__(self, message: str, *, remedy: str = "", after: float = 0) -> None:
        super().__init__(message, remedy=remedy)
        self.after = after
        """How many seconds the server asked us to wait."""


class Unreachable(Transient):
    """No connection came about."""


class Odd(Transient):
    """Something that libgit2 says and we do not know: it may be our own clone that is damaged."""


class Unclear(Outside):
    """A push without an answer: it may have been applied, or may not, or may yet be."""

    def __init__(self, cause: GatiError) -> None:
        super().__init__(cause.message, remedy=cause.remedy)
        self.cause = cause
        """What to say if it turns out that nothing was applied."""
        self.after = cause.after if isinstance(cause, Transient) else 0.0


class Rejected(Outside):
    """The server said no, in words of its own; asking again would change nothing."""


class NoRepository(Outside):
    """There is none at a path; the remedy is for who begins one."""


class Lost(Outside):
    """Somebody else moved the branch first. Whoever writes starts again on the new tip."""

    def __init__(self, message: str, *, remedy: str = "", sent: bool = False) -> None:
        super().__init__(message, remedy=remedy)
        self.sent = sent
        """Whether the server had got our commits by then."""


_STATUS = re.compile(r"unexpected http status code: (\d{3})")
_KEY = re.compile(r"failed to authenticate SSH session")
_TIMED_OUT = re.compile(r"timed? ?out", re.IGNORECASE)
# "Unexpected packet type" is a commit that was taken from the branch between listing and fetching.
_CUT = re.compile(
    r"unexpected (?:EOF|packet type)|unexpectedly large parse|early EOF|premature|reset by peer"
    r"|broken pipe|could not (?:read|write) (?:from|to) (?:socket|remote)|SSL error|SSL_ERROR"
    r"|failed to (?:start SSH|send)"
    r"|connection (?:was )?closed|bad packet|invalid (?:pkt|packet)|unable to exchange"
    r"|SSH could not (?:read|write|execute)|Failed (?:getting banner|waiting)|socket disconnect"
    r"|remote (?:hung up|end)|pack (?:header|file)|truncated|invalid line",
    re.IGNORECASE,
)
_UNREACHABLE = re.compile(
    r"failed to (?:connect|resolve)|network is unreachable|no route to host|refused", re.IGNORECASE
)
_NO_REPOSITORY = re.compile(
    r"does not appear to be a git repository|repository .*not found|no such repository"
    r"|project .*could not be found",
    re.IGNORECASE,
)
_LOCAL = re.compile(r"no space left|read-only file system|quota|permission denied", re.IGNORECASE)
BUSY = (429, 500, 502, 503, 504)
"""Statuses that pass."""

# What servers say of a reference that moved meanwhile or that somebody else holds just now.
_RACE = re.compile(
    r"failed to update ref|cannot lock ref|failed to lock|unable to (?:create|lock)|stale info"
    r"|incorrect old value|fetch first|non-fast-forward|reference already exists|but expected"
    r"|expected old|reference conflict|reference does not exist|remote ref updated",
    re.IGNORECASE,
)


def in_words(text: str, address: Address) -> GatiError:
    """What a text of libgit2 means; its secrets are already out of it."""
    text = " ".join(text.split()).rstrip(".")
    if found := _STATUS.search(text):
        return _status(int(found[1]), address)
    if "unsupported URL protocol" in text:
        return Outside(
            f"the libgit2 that is installed cannot reach {address}",
            remedy="install pygit2 from PyPI, which comes with https and ssh",
        )
    if _TIMED_OUT.search(text):
        return Transient(f"{address} did not answer in time", remedy="run again")
    if found := _KEY.search(text):
        return Outside(
            f"our key could not be used: {text[found.end() :].strip(' :') or text}",
            remedy="check GATI_SSH_KEY and GATI_SSH_PASSPHRASE",
        )
    if _LOCAL.search(text) and "publickey" not in text:
        return Outside(
            f"cannot keep what {address} sent: {text}", remedy="look at the disk, then run again"
        )
    if _NO_REPOSITORY.search(text):
        return Outside(
            f"there is no repository at {address}, or we may not see it: {text}",
            remedy="check the address, and that the key or token may read it",
        )
    if _UNREACHABLE.search(text):
        return Unreachable(
            f"cannot reach {address}: {text}", remedy="check the address and the network"
        )
    if _CUT.search(text):
        return Transient(f"the connection to {address} broke: {text}", remedy="run again")
    return Odd(f"{address}: {text}", remedy="run again; if it stays, `git ls-remote` may say why")


def _status(status: int, address: Address) -> GatiError:
    if status in (401, 407):
        return not_let_in(address)
    if status == 403:
        return Outside(
            f"{address} refused us (403)",
            remedy="check that the token may read and write this repository, and that it is no"
            " archive",
        )
    if status in (404, 410):
        return Outside(
            f"there is no repository at {address}, or the token may not see it ({status})",
            remedy="check the address, and what the token may see",
        )
    if status == 413:
        return Outside(
            f"{address} takes no push of this size (413)", remedy="raise the server's limit"
        )
    if status in BUSY:
        return Transient(f"{address} is out of order or busy ({status})", remedy="run again later")
    return Outside(f"{address} answered with the HTTP status {status}", remedy="check the address")


def not_let_in(address: Address) -> GatiError:
    """The server asked who we are, and did not like the answer."""
    if address.kind == "ssh":
        return Outside(
            f"{address} did not take our key",
            remedy="check GATI_SSH_KEY and its passphrase, or what `ssh-add -l` lists",
        )
    return Outside(
        f"{address} did not take our token",
        remedy="check that GATI_GIT_TOKEN is whole, has not expired and goes with"
        " GATI_GIT_USERNAME",
    )


def no_credentials(address: Address) -> GatiError:
    return Outside(
        f"{address} asks who we are, and no token was given",
        remedy="set GATI_GIT_TOKEN or GATI_GIT_TOKEN_FILE",
    )


def unknown_host(address: Address) -> GatiError:
    """An ssh host that nobody vouches for, or one that has become another."""
    host = address.host if address.port in (0, 22) else f"[{address.host}]:{address.port}"
    return Refused(
        f"the key that {host} showed is not among its known keys; it may be another machine",
        remedy="add the right key to known_hosts (GATI_SSH_KNOWN_HOSTS): compare what `ssh-keyscan`"
        " gives with what the host publishes",
    )


def unknown_certificate(address: Address) -> GatiError:
    return Refused(
        f"the certificate of {address} is not one that this machine trusts",
        remedy="set SSL_CERT_FILE to the file of your certificate authority, or mend the"
        " certificate",
    )


def elsewhere(address: Address, host: str) -> GatiError:
    """A redirection that would take the token to another host."""
    return Refused(
        f"{address} sends us on to {host}, which our token was not given for",
        remedy="give the repository's new address",
    )


def no_branch_moved(words: str, said: str, ref: str, address: Address) -> GatiError:
    """A server's refusal to move a reference, with what its hooks had to say."""
    if _RACE.search(words):
        return Lost(
            f"{address} did not move {ref}: {words}",
            remedy="others write there, or a lock was left on the server; run again",
            sent=True,
        )
    told = f"; it says: {said}" if said else ""
    return Rejected(
        f"{address} refused the push to {ref}: {words}{told}",
        remedy="that is a rule of the server (a hook, a protected branch): have it let us in, or"
        " publish by pull request",
    )
