"""The ssh-agent, as far as signing needs it: which keys it has, and a signature by one of them."""

from __future__ import annotations

import base64
import socket as sockets
import struct

from gati_gitops.errors import Outside, Refused
from gati_gitops.repo.sshsig import Malformed, Reader, string

_LIST, _LISTED = 11, 12
_SIGN, _SIGNED = 13, 14
_SHA512 = 4
"""Flag of a request: RSA keys sign with SHA-2."""
TIMEOUT = 60.0
"""Seconds; a person may have to touch a key."""


def public_key(content: bytes) -> bytes | None:
    """The key in a ``.pub`` file, as on the wire; None if it is no such file."""
    words = content.split()
    if len(words) < 2:
        return None
    try:
        blob = base64.b64decode(words[1], validate=True)
        return blob if Reader(blob).string() == words[0] else None
    except (ValueError, Malformed):
        return None


def keys(socket: str) -> list[bytes]:
    """The public keys that the agent has."""
    reader = _ask(socket, _LIST, b"", _LISTED)
    found = []
    for _ in range(reader.number()):
        found.append(reader.string())
        reader.string()  # the comment
    return found


def sign(socket: str, key: bytes, data: bytes) -> bytes:
    """The agent's signature, with its algorithm."""
    request = string(key) + string(data) + struct.pack(">I", _SHA512)
    return _ask(socket, _SIGN, request, _SIGNED).string()


def _ask(socket: str, kind: int, request: bytes, wanted: int) -> Reader:
    try:
        with sockets.socket(sockets.AF_UNIX) as connection:
            connection.settimeout(TIMEOUT)
            connection.connect(socket)
            connection.sendall(string(bytes((kind,)) + request))
            with connection.makefile("rb") as stream:
                answer = stream.read(struct.unpack(">I", stream.read(4))[0])
    except (OSError, struct.error) as error:
        raise Outside(
            "the ssh-agent does not answer", remedy="check SSH_AUTH_SOCK, or give the private key"
        ) from error
    if not answer or answer[0] != wanted:
        raise Refused(
            "the ssh-agent did not sign", remedy="is its key still there, and was it confirmed?"
        )
    return Reader(answer[1:])
