"""Signing commits, with an SSH or an OpenPGP key and without ssh-keygen or gpg.

| variable | |
|---|---|
| GATI_SIGNING_KEY | the file of the private key, or of a public SSH key that the agent has |
| GATI_SIGNING_PASSPHRASE, GATI_SIGNING_PASSPHRASE_FILE | what opens it |

Which kind of key it is, its first line tells. A key that was named and can't be used is refused: a
commit is never made unsigned because signing failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gati_gitops.errors import Refused
from gati_gitops.repo import agent
from gati_gitops.repo.sshsig import (
    NAMESPACE,
    SshSignature,
    fingerprint,
    needs_library,
    public_blob,
    raw_signature,
)

if TYPE_CHECKING:
    import pysequoia
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

KEY = "GATI_SIGNING_KEY"
PASSPHRASE = "GATI_SIGNING_PASSPHRASE"  # noqa: S105 - the name of a variable


@dataclass(frozen=True, slots=True)
class SshSigner:
    """Signs with a key of ours, or lets the agent sign."""

    public: bytes
    private: PrivateKeyTypes | None = field(default=None, repr=False)
    socket: str = ""

    @property
    def key(self) -> str:
        """The key's fingerprint."""
        return fingerprint(self.public)

    def sign(self, payload: bytes) -> str:
        blank = SshSignature(self.public, NAMESPACE, b"", b"sha512", b"")
        data = blank.signed(payload)
        if self.private is not None:
            made = raw_signature(self.private, data)
        else:
            made = agent.sign(self.socket, self.public, data)
        return SshSignature(self.public, NAMESPACE, b"", b"sha512", made).armoured()


@dataclass(frozen=True, slots=True)
class OpenPgpSigner:
    """Signs with the signing key of an OpenPGP certificate."""

    key: str
    """The certificate's fingerprint."""
    tsk: pysequoia.Tsk = field(repr=False)
    passphrase: str = field(default="", repr=False)

    def sign(self, payload: bytes) -> str:
        import pysequoia

        mode = pysequoia.SignatureMode.DETACHED
        return pysequoia.sign(_openpgp_key(self), payload, mode=mode).decode()


AnySigner = SshSigner | OpenPgpSigner


def signer(environ: Mapping[str, str], *, required: bool = False) -> AnySigner | None:
    """The signer that the environment names; None if it names none and none is required."""
    name = environ.get(KEY, "")
    if not name:
        if required:
            raise Refused(
                "commits must be signed here, and there is no key to sign with",
                remedy=f"set {KEY} to the file of an SSH or OpenPGP key",
            )
        return None
    path = Path(name).expanduser()
    try:
        content = path.read_bytes()
    except OSError as error:
        raise Refused(
            f"{KEY} names {name}, which can't be read: {error.strerror}",
            remedy="give the path of a private key that this user may read",
        ) from error
    passphrase = _passphrase(environ)
    head = content.lstrip()[:80]
    if head.startswith(b"-----BEGIN PGP") or (head and head[0] & 0x80):
        return _openpgp(name, content, passphrase)
    if b"PRIVATE KEY-----" in head:
        return _ssh(name, content, passphrase)
    return _in_agent(name, content, environ.get("SSH_AUTH_SOCK", ""))


def _passphrase(environ: Mapping[str, str]) -> str:
    value, file = environ.get(PASSPHRASE, ""), environ.get(f"{PASSPHRASE}_FILE", "")
    if value or not file:
        return value
    try:
        return Path(file).expanduser().read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(
            f"{PASSPHRASE}_FILE names {file}, which can't be read",
            remedy="is the secret mounted, and readable for this user?",
        ) from error


def _wrong(name: str, what: str, remedy: str) -> Refused:
    return Refused(f"{KEY} names {name}, {what}", remedy=remedy)


# -- SSH -----------------------------------------------------------------------------------------


def _ssh(name: str, content: bytes, passphrase: str) -> SshSigner:
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.serialization import (
            load_pem_private_key,
            load_ssh_private_key,
        )
    except ImportError as error:
        raise needs_library("cryptography", error) from error
    load = load_ssh_private_key if b"OPENSSH PRIVATE" in content else load_pem_private_key
    try:
        key = load(content, passphrase.encode() or None)
    except TypeError as error:  # a passphrase too many, or too few
        if passphrase:
            return _ssh(name, content, "")
        raise _wrong(name, "which needs a passphrase", f"set {PASSPHRASE}_FILE") from error
    except UnsupportedAlgorithm as error:
        raise _wrong(
            name, "which this installation can't open", "pip install gati-gitops[signing]"
        ) from error
    except ValueError as error:
        remedy = f"check it, and {PASSPHRASE}"
        raise _wrong(name, "which can't be opened", remedy) from error
    raw_signature(key, b"")  # refuses what is no key for signing
    return SshSigner(public_blob(key), key)


def _in_agent(name: str, content: bytes, socket: str) -> SshSigner:
    """A public key: the agent has the private one."""
    public = agent.public_key(content)
    if public is None:
        raise _wrong(
            name,
            "which is no key that is known here",
            "give an OpenSSH, PEM or OpenPGP private key, or a public SSH key that the agent has",
        )
    if not socket:
        raise _wrong(
            name,
            "which is a public key, and there is no agent",
            "give the private key, or start ssh-agent",
        )
    if public not in agent.keys(socket):
        raise _wrong(name, "and the agent does not have that key", "add it with ssh-add")
    return SshSigner(public, None, socket)


# -- OpenPGP -------------------------------------------------------------------------------------


def _openpgp(name: str, content: bytes, passphrase: str) -> OpenPgpSigner:
    try:
        import pysequoia
        from pysequoia.packet import PacketPile, Tag
    except ImportError as error:
        raise needs_library("pysequoia", error) from error
    try:
        tsk = pysequoia.Tsk.from_bytes(content)
        tags = [packet.tag for packet in PacketPile.from_bytes(content)]
    except RuntimeError as error:
        raise _wrong(
            name, "which can't be read", "export it with gpg --export-secret-keys"
        ) from error
    if Tag.SecretKey not in tags and Tag.SecretSubkey not in tags:
        raise _wrong(name, "which is a public key", "export it with gpg --export-secret-keys")
    cert = tsk.extract_certificate()
    if cert.is_revoked:
        raise _wrong(name, "which was revoked", "use another key")
    made = OpenPgpSigner(cert.fingerprint, tsk, passphrase)
    _openpgp_key(made)
    return made


def _openpgp_key(signer: OpenPgpSigner) -> pysequoia.PySigner:
    """The key that signs, if it may do so today."""
    try:
        return signer.tsk.signer(signer.passphrase or None)
    except RuntimeError as error:
        why = str(error).partition("\n")[0]
    if "not encrypted" in why:
        return signer.tsk.signer()
    if "No suitable signing" in why:
        raise Refused(
            f"the signing key {signer.key} has expired, was revoked or can't sign",
            remedy="extend it, or use another key",
        )
    raise Refused(f"the signing key {signer.key} can't be opened", remedy=f"check {PASSPHRASE}")
