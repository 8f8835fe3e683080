"""How we prove who we are to a Git server, read from the environment.

| variable | |
|---|---|
| GATI_GIT_TOKEN, GATI_GIT_TOKEN_FILE | the token for https |
| GATI_GIT_USERNAME | the name that goes with it; `x-access-token` unless set |
| GATI_SSH_KEY | the file of the private key for ssh; without it the agent is asked |
| GATI_SSH_PASSPHRASE, GATI_SSH_PASSPHRASE_FILE | what opens that key |
| GATI_SSH_KNOWN_HOSTS | keys of hosts; ~/.ssh/known_hosts and /etc/ssh/ssh_known_hosts unless set |

Secrets live in one frozen value that hides them when printed, and ``scrub`` takes them out of any
text that a server or a library gave us.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gati_gitops.errors import Outside, Refused
from gati_gitops.redact import HIDDEN, redact
from gati_gitops.repo.address import Address

USERNAME = "x-access-token"
_SYSTEM_KNOWN_HOSTS = Path("/etc/ssh/ssh_known_hosts")


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a server may ask for. ``repr`` shows no secret."""

    username: str = USERNAME
    token: str = field(default="", repr=False)
    key: Path | None = None
    passphrase: str = field(default="", repr=False)
    known_hosts: tuple[Path, ...] = ()
    """Only these say which host is which: an unknown one is never trusted."""

    def scrub(self, text: str) -> str:
        """A text without our secrets, nor anything else that looks like one."""
        for secret in (self.token, self.passphrase):
            if secret:
                text = text.replace(secret, HIDDEN)
        return redact(text)


def credentials(address: Address, environ: Mapping[str, str]) -> Credentials:
    """What the environment holds for a repository of this kind."""
    if address.kind == "path":
        return Credentials()
    if address.kind == "ssh":
        return Credentials(
            username=address.user,
            key=_key(environ),
            passphrase=_secret(environ, "GATI_SSH_PASSPHRASE"),
            known_hosts=_known_hosts(environ),
        )
    username = environ.get("GATI_GIT_USERNAME") or USERNAME
    return Credentials(username=username, token=_secret(environ, "GATI_GIT_TOKEN"))


def _secret(environ: Mapping[str, str], name: str) -> str:
    """A secret by value or by file; an empty variable is as good as none (CI gives those)."""
    value, file = environ.get(name, ""), environ.get(f"{name}_FILE", "")
    if value and file:
        raise Refused(f"both {name} and {name}_FILE are set", remedy="set one of them")
    if file:
        try:
            value = Path(file).read_text(encoding="utf-8").strip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            raise Outside(
                f"{name}_FILE names {file}, which cannot be read: {reason}",
                remedy="see to it that the secret is mounted, and readable for this user",
            ) from None
        if not value:
            raise Outside(f"{name}_FILE names {file}, which is empty")
    if any(ord(sign) < 32 for sign in value):
        raise Refused(
            f"there is a line break or control character in {name}", remedy="give the secret alone"
        )
    return value


def _key(environ: Mapping[str, str]) -> Path | None:
    name = environ.get("GATI_SSH_KEY", "")
    if not name:
        return None
    path = Path(name).expanduser()
    try:
        content = path.read_bytes()
    except OSError as error:
        raise Outside(
            f"GATI_SSH_KEY names {name}, which cannot be read: {error.strerror}",
            remedy="give the path of a private key that this user may read",
        ) from None
    if b"PRIVATE KEY-----" not in content:
        raise Refused(
            f"GATI_SSH_KEY names {name}, which holds no private key",
            remedy="give the file without .pub, and its path rather than its text",
        )
    return path


def _known_hosts(environ: Mapping[str, str]) -> tuple[Path, ...]:
    if name := environ.get("GATI_SSH_KNOWN_HOSTS", ""):
        path = Path(name).expanduser()
        if not path.is_file():
            raise Outside(
                f"GATI_SSH_KNOWN_HOSTS names {name}, and there is no such file",
                remedy="write it with `ssh-keyscan HOST`, and compare with what the host publishes",
            )
        return (path,)
    home = environ.get("HOME", "")
    files = (*([Path(home, ".ssh", "known_hosts")] if home else []), _SYSTEM_KNOWN_HOSTS)
    return tuple(file for file in files if file.is_file())
