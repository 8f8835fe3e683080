"""An answer, read within bounds of size and of time that a slow drip can't stretch."""

from __future__ import annotations

import time

import urllib3
from urllib3.exceptions import HTTPError

_CHUNK = 1 << 18


class TooLarge(HTTPError):
    """There is more of the answer than anybody wants."""


def whole(response: urllib3.BaseHTTPResponse, size: int, seconds: float) -> bytes:
    """All of an answer, decoded; TooLarge, or another HTTPError when it does not end."""
    end = time.monotonic() + seconds
    raw = bytearray()
    while chunk := response.read1(_CHUNK, decode_content=True):
        raw += chunk
        if len(raw) > size:
            raise TooLarge(f"the answer is larger than {size >> 20} MiB")
        if time.monotonic() > end:
            raise HTTPError("the answer does not end")
    return bytes(raw)
