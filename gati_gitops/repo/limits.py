"""How long a busy server asks us to wait.

libgit2 keeps the status of an answer and throws its headers away, so when a server says that we ask
too often, the same question is put once more by plain HTTP, just to read `Retry-After`.
"""

from __future__ import annotations

import email.utils
import re
import time
import urllib.request
from collections.abc import Mapping

import urllib3

from gati_gitops.repo.address import Address
from gati_gitops.repo.exchange import Line

_LIMITED = re.compile(r"\((403|429|503)\)")
_LONGEST = 3600.0


def seconds_to_wait(status: int, headers: Mapping[str, str], now: float) -> float | None:
    """What an answer asks for; None if it asks for nothing."""
    if asked := headers.get("Retry-After", "").strip():
        if asked.isdigit():
            return min(float(asked), _LONGEST)
        try:
            at = email.utils.parsedate_to_datetime(asked).timestamp()
        except ValueError:
            return None
        return min(max(0.0, at - now), _LONGEST)
    reset = headers.get("X-RateLimit-Reset", "")
    if headers.get("X-RateLimit-Remaining") == "0" and reset.isdigit():
        return min(max(0.0, float(reset) - now), _LONGEST)
    # GitHub's advice for limits that it does not explain.
    return 60.0 if status == 429 else None


def wait_asked_for(message: str, line: Line) -> float | None:
    """Seconds that a server which refused us (403, 429, 503) wants us to stay away, if it does."""
    if not _LIMITED.search(message):
        return None
    address, credentials = line.address, line.credentials
    headers = {"User-Agent": "git/2 (gati-gitops)"}
    if credentials.token:
        headers |= urllib3.make_headers(basic_auth=f"{credentials.username}:{credentials.token}")
    timeout = urllib3.Timeout(connect=line.timeouts.connect, read=line.timeouts.idle)
    try:
        with _pool(address) as pool:
            answer = pool.request(
                "GET",
                f"{address.url}/info/refs?service=git-upload-pack",
                headers=headers,
                timeout=timeout,
                retries=False,
                preload_content=False,
            )
            answer.release_conn()
    except urllib3.exceptions.HTTPError:
        return None
    if answer.status not in (403, 429, 503):
        return None
    return seconds_to_wait(answer.status, answer.headers, time.time())


def _pool(address: Address) -> urllib3.PoolManager:
    proxy = urllib.request.getproxies().get(address.kind)
    if proxy and not urllib.request.proxy_bypass(address.host):
        return urllib3.ProxyManager(proxy)
    return urllib3.PoolManager()
