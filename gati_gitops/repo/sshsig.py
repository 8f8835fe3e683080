"""SSH signatures as Git uses them (OpenSSH's PROTOCOL.sshsig), with the wire format they are in.

    SSHSIG 1 publickey namespace reserved hash signature        what is in the armour
    SSHSIG namespace reserved hash H(message)                   what the key has signed

A signature carries its own key. Whether that key is anybody's is for others to say.
"""

from __future__ import annotations

import base64
import hashlib
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gati_gitops.errors import Refused

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes, PublicKeyTypes

MAGIC = b"SSHSIG"
NAMESPACE = "git"
BEGIN, END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
LINE = 70
MIN_RSA = 2048
_HASHES = {b"sha512": hashlib.sha512, b"sha256": hashlib.sha256}
_RSA = {b"rsa-sha2-512": "SHA512", b"rsa-sha2-256": "SHA256"}
_ECDSA = {
    b"ecdsa-sha2-nistp256": "SHA256",
    b"ecdsa-sha2-nistp384": "SHA384",
    b"ecdsa-sha2-nistp521": "SHA512",
}
_SK_ED25519 = b"sk-ssh-ed25519@openssh.com"
_SK_ECDSA = b"sk-ecdsa-sha2-nistp256@openssh.com"
_TOUCHED = 0x01
"""Flag of a security key: somebody was there."""


class Malformed(Exception):
    """No signature of this format."""


class Mismatch(Exception):
    """The signature is not of this message."""


def needs_library(extra: str, error: ImportError) -> Refused:
    """What to say when a library for signatures is not there."""
    return Refused(
        f"signatures need {error.name or extra}, which is not installed",
        remedy="pip install gati-gitops[signing]",
    )


# -- the wire ------------------------------------------------------------------------------------


def string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


class Reader:
    """Takes one field after another."""

    def __init__(self, data: bytes) -> None:
        self.rest = data

    def take(self, length: int) -> bytes:
        if len(self.rest) < length:
            raise Malformed("it ends too early")
        taken, self.rest = self.rest[:length], self.rest[length:]
        return taken

    def number(self) -> int:
        return int.from_bytes(self.take(4), "big")

    def string(self) -> bytes:
        return self.take(self.number())

    def end(self) -> None:
        if self.rest:
            raise Malformed("it goes on after its end")


@dataclass(frozen=True, slots=True)
class SshSignature:
    """What the armour holds."""

    key: bytes
    """The public key, as on the wire."""
    namespace: str
    reserved: bytes
    hash: bytes
    signature: bytes

    def signed(self, message: bytes) -> bytes:
        """What the key has signed."""
        if self.hash not in _HASHES:
            raise Malformed(f"its hash {self.hash!r} is unknown")
        digest = _HASHES[self.hash](message).digest()
        fields = (self.namespace.encode(), self.reserved, self.hash, digest)
        return MAGIC + b"".join(string(field) for field in fields)

    def armoured(self) -> str:
        fields = (self.key, self.namespace.encode(), self.reserved, self.hash, self.signature)
        blob = MAGIC + struct.pack(">I", 1) + b"".join(string(field) for field in fields)
        text = base64.b64encode(blob).decode()
        lines = [text[at : at + LINE] for at in range(0, len(text), LINE)]
        return "\n".join([BEGIN, *lines, END]) + "\n"


def parsed(armoured: str) -> SshSignature:
    """A signature out of its armour."""
    lines = armoured.removesuffix("\n").split("\n")
    if len(lines) < 3 or lines[0] != BEGIN or lines[-1] != END:
        raise Malformed("it has no armour")
    text = "".join(lines[1:-1])
    try:
        blob = base64.b64decode(text, validate=True)
    except ValueError as error:
        raise Malformed("it is not base64") from error
    if base64.b64encode(blob).decode() != text:
        raise Malformed("it is not base64 as everybody writes it")
    reader = Reader(blob)
    if reader.take(len(MAGIC)) != MAGIC or reader.number() != 1:
        raise Malformed("it is of another format")
    key, namespace, reserved, hashed, signature = (reader.string() for _ in range(5))
    reader.end()
    try:
        return SshSignature(key, namespace.decode(), reserved, hashed, signature)
    except UnicodeDecodeError as error:
        raise Malformed("its namespace is no text") from error


def fingerprint(key: bytes) -> str:
    """A key's fingerprint, as `ssh-keygen -l` shows it."""
    digest = hashlib.sha256(key).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


# -- signing -------------------------------------------------------------------------------------


def public_blob(key: PrivateKeyTypes) -> bytes:
    """The public half of a key, as on the wire."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    line = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return base64.b64decode(line.split()[1])


def raw_signature(key: PrivateKeyTypes, data: bytes) -> bytes:
    """A signature as an agent would give it: the algorithm, then its own form."""
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils

    if isinstance(key, ed25519.Ed25519PrivateKey):
        return string(b"ssh-ed25519") + string(key.sign(data))
    if isinstance(key, rsa.RSAPrivateKey):
        made = key.sign(data, padding.PKCS1v15(), _hash("SHA512"))
        return string(b"rsa-sha2-512") + string(made)
    if isinstance(key, ec.EllipticCurvePrivateKey):
        name = Reader(public_blob(key)).string()
        made = key.sign(data, ec.ECDSA(_hash(_ECDSA[name])))
        numbers = (_mpint(number) for number in utils.decode_dss_signature(made))
        return string(name) + string(b"".join(string(number) for number in numbers))
    raise Refused(
        "the signing key is of a kind that is too weak or unknown",
        remedy="use an ed25519, ecdsa or rsa key",
    )


def _mpint(number: int) -> bytes:
    return number.to_bytes(number.bit_length() // 8 + 1, "big")


def _hash(name: str) -> Any:
    from cryptography.hazmat.primitives import hashes

    return getattr(hashes, name)()


# -- verifying -----------------------------------------------------------------------------------


def verify(signature: SshSignature, message: bytes) -> None:
    """Raise Mismatch or Malformed unless the key in the signature has signed the message."""
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

    data = signature.signed(message)
    reader = Reader(signature.signature)
    try:
        _verify(signature.key, reader, data)
        reader.end()
    except InvalidSignature as error:
        raise Mismatch("the signature is not of this content") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise Malformed("its key can't be read") from error


def _verify(blob: bytes, reader: Reader, data: bytes) -> None:
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa

    kind, algorithm = Reader(blob).string(), reader.string()
    made = reader.string()
    if kind in (_SK_ED25519, _SK_ECDSA):
        key, application = _security_key(blob)
        flags, counter = reader.take(1), reader.take(4)
        if not flags[0] & _TOUCHED:
            raise Mismatch("nobody touched the security key")
        prefix = hashlib.sha256(application).digest() + flags + counter
        data = prefix + hashlib.sha256(data).digest()
    else:
        key = _public_key(kind, blob)
    if isinstance(key, rsa.RSAPublicKey):
        if algorithm not in _RSA or key.key_size < MIN_RSA:
            raise Malformed("it is too weak: RSA wants 2048 bits and SHA-2")
        key.verify(made, data, padding.PKCS1v15(), _hash(_RSA[algorithm]))
        return
    if algorithm != kind:
        raise Malformed("its algorithm is not its key's")
    if isinstance(key, ed25519.Ed25519PublicKey):
        key.verify(made, data)
    elif isinstance(key, ec.EllipticCurvePublicKey):
        key.verify(_der(made), data, ec.ECDSA(_hash(_ECDSA.get(kind, "SHA256"))))
    else:
        raise Malformed("its key is too weak or unknown")


def _der(made: bytes) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

    numbers = Reader(made)
    one, two = (int.from_bytes(numbers.string(), "big") for _ in range(2))
    numbers.end()
    return encode_dss_signature(one, two)


def _public_key(kind: bytes, blob: bytes) -> PublicKeyTypes:
    from cryptography.hazmat.primitives.serialization import load_ssh_public_key

    return load_ssh_public_key(kind + b" " + base64.b64encode(blob))


def _security_key(blob: bytes) -> tuple[Any, bytes]:
    """The key inside a security key, and the application that it is for."""
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    reader = Reader(blob)
    if reader.string() == _SK_ED25519:
        key: Any = ed25519.Ed25519PublicKey.from_public_bytes(reader.string())
    else:
        reader.string()  # the curve: there is one
        key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), reader.string())
    application = reader.string()
    reader.end()
    return key, application
