"""Addresses that settings name: http or https, no secrets in them, and never a metadata service."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated

from pydantic import AfterValidator, StringConstraints

LOOPBACK = ("localhost", "127.0.0.1", "::1")
_ADDRESS = re.compile(
    r"https?://(?P<at>[^/?#]*@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[^/?#@:\[\]]+)"
    r"(:(?P<port>[0-9]{1,5}))?(/[^?#]*)?"
)
# What hands out a machine's credentials, besides all that is link-local: AWS, Alibaba, Oracle.
_METADATA = frozenset(("fd00:ec2::254", "100.100.100.200", "192.0.0.192"))
_METADATA_NAMES = frozenset(("metadata", "metadata.google.internal", "metadata.goog"))


def forbidden(host: str) -> bool:
    """Whether a host, by name or number, is one that hands out a machine's credentials."""
    if host.lower().rstrip(".") in _METADATA_NAMES:
        return True
    try:
        address = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    address = mapped if mapped is not None else address
    return address.is_link_local or str(address) in _METADATA


def sound_port(text: str | None) -> bool:
    """Whether the port of an address is one; none at all is the scheme's own."""
    return text is None or 1 <= int(text) <= 65535


def web_address(value: str) -> str:
    found = _ADDRESS.fullmatch(value)
    if found is None or any(not sign.isprintable() or sign == " " for sign in value):
        raise ValueError(
            "the address is not http:// or https:// without ? and #;"
            " write one such as https://prometheus.example.com"
        )
    if found["at"]:  # not shown: it may hold a password
        raise ValueError(
            "the address holds a user name or password, and many can read it;"
            " remove what stands before the @, and name files that hold them instead"
        )
    if not sound_port(found["port"]):
        raise ValueError(f"there is no port {found['port']}; write one from 1 to 65535")
    if forbidden(found["host"]):
        raise ValueError(
            f"{found['host']} hands out the credentials of machines and is never asked;"
            " write the address of the server that is meant"
        )
    return value.rstrip("/")


WebAddress = Annotated[str, StringConstraints(max_length=2048), AfterValidator(web_address)]
