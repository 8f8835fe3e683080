"""Whose signature a commit bears, and whether that is somebody we listen to.

| variable | |
|---|---|
| GATI_ALLOWED_SIGNERS | SSH keys, in OpenSSH's format for allowed signers |
| GATI_ALLOWED_KEYRING | OpenPGP certificates, as `gpg --export` writes them |

A key must have been valid when the commit was made, as Git has it: what was signed in time stays
signed. Keys of certificate authorities in the SSH file are passed over, and so vouch for nobody.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from gati_gitops.errors import Place, Refused
from gati_gitops.repo.sshsig import (
    BEGIN,
    NAMESPACE,
    Malformed,
    Mismatch,
    Reader,
    fingerprint,
    needs_library,
    parsed,
    verify,
)

if TYPE_CHECKING:
    import pysequoia

SIGNERS = "GATI_ALLOWED_SIGNERS"
KEYRING = "GATI_ALLOWED_KEYRING"


class State(StrEnum):
    """What a commit's signature is worth."""

    GOOD = "good"
    BAD = "bad signature"
    """Not of this content, broken, or by a key that was revoked."""
    UNSIGNED = "not signed"
    UNKNOWN = "unknown key"
    """The signature may be right, but nobody has said that the key counts."""
    EXPIRED = "expired key"
    """The key was not, or no longer, valid when the commit was made."""


@dataclass(frozen=True, slots=True)
class Verdict:
    state: State
    signer: str = ""
    """Who signed, as the list of allowed signers calls them."""
    key: str = ""
    """The key's fingerprint."""
    why: str = ""

    @property
    def good(self) -> bool:
        return self.state is State.GOOD

    def __str__(self) -> str:
        key = f" {self.key}" if self.key and not self.good else ""
        return f"{self.state}{key}{f': {self.why}' if self.why else ''}"


@dataclass(frozen=True, slots=True)
class AllowedKey:
    """A line of the file of allowed signers."""

    principals: str
    blob: bytes = field(repr=False)
    namespaces: tuple[str, ...] = ()
    after: float | None = None
    before: float | None = None


@dataclass(frozen=True, slots=True)
class AllowedSigners:
    """Everybody whose signature counts."""

    keys: tuple[AllowedKey, ...] = ()
    certs: tuple[pysequoia.Cert, ...] = field(default=(), repr=False)


# -- who is allowed ------------------------------------------------------------------------------


def allowed_signers(environ: Mapping[str, str]) -> AllowedSigners:
    """The allowed signers that the environment names; naming none is refused."""
    names = {name: environ[name] for name in (SIGNERS, KEYRING) if environ.get(name)}
    if not names:
        raise Refused(
            "signatures are to be checked, and nobody has said whose count",
            remedy=f"set {SIGNERS} to a file in OpenSSH's format, or {KEYRING} to OpenPGP keys",
        )
    contents = {name: _read(name, path) for name, path in names.items()}
    keys = (
        parse_signers(contents[SIGNERS].decode(errors="replace"), names[SIGNERS])
        if SIGNERS in names
        else ()
    )
    certs = parse_keyring(contents[KEYRING], names[KEYRING]) if KEYRING in names else ()
    return AllowedSigners(keys, certs)


def _read(name: str, path: str) -> bytes:
    try:
        return Path(path).expanduser().read_bytes()
    except OSError as error:
        raise Refused(
            f"{name} names {path}, which can't be read: {error.strerror}",
            remedy="is the file there, and readable for this user?",
        ) from error


_WORD = re.compile(r'(?:"[^"]*"|[^\s"])+')
_OPTION = re.compile(r'([\w-]+)(?:="([^"]*)")?(?:,|\Z)')
_TIME = re.compile(r"(\d{8}|\d{12}|\d{14})(Z?)\Z")


def parse_signers(text: str, file: str) -> tuple[AllowedKey, ...]:
    """OpenSSH's file of allowed signers (ssh-keygen(1)); a line that can't be read is refused."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            try:
                key = _allowed_key(line)
            except ValueError as error:
                raise Refused(
                    f"a line of the allowed signers can't be read: {error}",
                    remedy="write PRINCIPALS [OPTIONS] KEYTYPE KEY, as ssh-keygen(1) says",
                    place=Place(file, number, 1),
                ) from error
            found += [key] if key is not None else []
    return tuple(found)


def _allowed_key(line: str) -> AllowedKey | None:
    """A line; None if it is the key of a certificate authority."""
    words = _WORD.findall(line)
    if len(words) < 3:
        raise ValueError("it has no key")
    options: dict[str, str] = {}
    # a key's kind is followed by the key itself, which repeats it
    at = 1 if _blob(words[1], words[2]) else 2
    if at == 2:
        options = _options(words[1])
    blob = _blob(words[at], words[at + 1]) if len(words) > at + 1 else None
    if blob is None:
        raise ValueError("its key is none")
    if "cert-authority" in options:
        return None
    return AllowedKey(
        words[0].replace('"', ""),
        blob,
        tuple(name for name in options.get("namespaces", "").split(",") if name),
        _moment(options["valid-after"]) if "valid-after" in options else None,
        _moment(options["valid-before"]) if "valid-before" in options else None,
    )


def _blob(kind: str, text: str) -> bytes | None:
    try:
        blob = base64.b64decode(text, validate=True)
        return blob if Reader(blob).string() == kind.encode() else None
    except (ValueError, Malformed):
        return None


def _options(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        option = _OPTION.match(text, at)
        if option is None:
            raise ValueError(f'its option {text[at:]!r} is not NAME or NAME="VALUE"')
        name = option[1].lower()
        if name not in ("cert-authority", "namespaces", "valid-after", "valid-before"):
            raise ValueError(f"its option {option[1]!r} is unknown")
        if (name != "cert-authority") != bool(option[2]) or name in found:
            raise ValueError(f"its option {option[1]!r} is not as it should be")
        found[name] = option[2] or ""
        at = option.end()
    return found


def _moment(text: str) -> float:
    """YYYYMMDD[HHMM[SS]][Z]; without Z in the machine's own time, as ssh-keygen has it."""
    match = _TIME.match(text)
    if match is None:
        raise ValueError(f"{text!r} is no time")
    form = "%Y%m%d%H%M%S"[: {8: 6, 12: 10, 14: 12}[len(match[1])]]
    moment = datetime.strptime(match[1], form)  # noqa: DTZ007 - the zone comes next
    return (moment.replace(tzinfo=UTC) if match[2] else moment.astimezone()).timestamp()


def parse_keyring(content: bytes, file: str) -> tuple[pysequoia.Cert, ...]:
    """OpenPGP certificates, armoured or not."""
    try:
        import pysequoia
    except ImportError as error:
        raise needs_library("pysequoia", error) from error
    try:
        certs = pysequoia.Cert.split_bytes(content)
    except RuntimeError as error:
        certs = []
        cause: Exception | None = error
    else:
        cause = None
    if not certs:
        raise Refused(
            "there is no OpenPGP certificate that can be read",
            remedy="write it with `gpg --export --armor`",
            place=Place(file),
        ) from cause
    return tuple(certs)


# -- one commit ----------------------------------------------------------------------------------


def check_commit(raw: bytes, allowed: AllowedSigners) -> Verdict:
    """What the signature of a commit is worth. ``raw`` is the commit as Git stores it."""
    payload, signatures = _split(raw)
    if not signatures:
        return Verdict(State.UNSIGNED)
    if len(signatures) > 1:
        return Verdict(State.BAD, why="it has two signatures")
    armoured = signatures[0].decode(errors="replace")
    if armoured.startswith(BEGIN):
        return _check_ssh(armoured, payload, _committed(payload), allowed)
    if armoured.startswith("-----BEGIN PGP "):
        return _check_openpgp(armoured, payload, allowed)
    return Verdict(State.BAD, why="its signature is of an unknown kind")


def _split(raw: bytes) -> tuple[bytes, list[bytes]]:
    """What was signed, and the signatures: Git takes every header that begins with gpgsig out."""
    head, blank, message = raw.partition(b"\n\n")
    kept: list[bytes] = []
    signatures: list[list[bytes]] = []
    taking: list[bytes] = kept
    for line in head.split(b"\n"):
        if not line.startswith(b" "):
            if line.startswith(b"gpgsig "):
                signatures.append([])
                taking = signatures[-1]
            else:
                taking = [] if line.startswith(b"gpgsig") else kept
        if taking is kept:
            kept.append(line)
        else:
            taking.append(line.removeprefix(b"gpgsig").removeprefix(b" "))
    return b"\n".join(kept) + blank + message, [b"\n".join(lines) + b"\n" for lines in signatures]


def _committed(payload: bytes) -> float:
    """When the commit says that it was made."""
    line = re.search(
        rb"^committer .*> (\d{1,18}) [+-]\d{4}$", payload.partition(b"\n\n")[0], re.MULTILINE
    )
    return float(line[1]) if line else 0.0


def _check_ssh(armoured: str, payload: bytes, when: float, allowed: AllowedSigners) -> Verdict:
    try:
        signature = parsed(armoured)
    except Malformed as error:
        return Verdict(State.BAD, why=str(error))
    key = fingerprint(signature.key)
    if signature.namespace != NAMESPACE:
        return Verdict(State.BAD, key=key, why="it was not made for Git")
    lines = [
        line
        for line in allowed.keys
        if line.blob == signature.key
        and (not line.namespaces or _matches(NAMESPACE, line.namespaces))
    ]
    if not lines:
        return Verdict(State.UNKNOWN, key=key)
    try:
        verify(signature, payload)
    except ImportError as error:
        raise needs_library("cryptography", error) from error
    except (Malformed, Mismatch) as error:
        return Verdict(State.BAD, lines[0].principals, key, str(error))
    for line in lines:
        if (line.after is None or when >= line.after) and (
            line.before is None or when < line.before
        ):
            return Verdict(State.GOOD, line.principals, key)
    return Verdict(State.EXPIRED, lines[0].principals, key, "it was not valid at that time")


def _matches(text: str, patterns: tuple[str, ...]) -> bool:
    """OpenSSH's lists of patterns: one that begins with ! overrules all others."""
    if any(p.startswith("!") and fnmatchcase(text, p[1:]) for p in patterns):
        return False
    return any(fnmatchcase(text, pattern) for pattern in patterns)


def _check_openpgp(armoured: str, payload: bytes, allowed: AllowedSigners) -> Verdict:
    try:
        import pysequoia
    except ImportError as error:
        raise needs_library("pysequoia", error) from error
    try:
        signature = pysequoia.Sig.from_bytes(armoured.encode())
    except RuntimeError:
        return Verdict(State.BAD, why="it can't be read")
    issuer = signature.issuer_fingerprint or signature.issuer_key_id or ""
    cert = next((c for c in allowed.certs if issuer in _key_names(c)), None)
    if cert is None:
        return Verdict(State.UNKNOWN, key=issuer)
    who = ", ".join(str(user) for user in cert.user_ids) or cert.fingerprint
    if cert.is_revoked:
        return Verdict(State.BAD, who, cert.fingerprint, "its key was revoked")
    try:
        pysequoia.verify(payload, store=lambda _: [cert], signature=signature)
    except RuntimeError:
        made, ends = signature.created, cert.expiration
        if made is not None and ends is not None and made >= ends:
            return Verdict(State.EXPIRED, who, cert.fingerprint, "it had expired by then")
        return Verdict(State.BAD, who, cert.fingerprint, "it is not of this content")
    return Verdict(State.GOOD, who, cert.fingerprint)


def _key_names(cert: pysequoia.Cert) -> Iterator[str]:
    """Fingerprints and ids of a certificate's keys."""
    from pysequoia.packet import PacketPile

    for packet in PacketPile.from_bytes(bytes(cert)):
        if packet.fingerprint:
            yield packet.fingerprint
        if packet.key_id:
            yield packet.key_id
