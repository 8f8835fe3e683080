"""Requests of our own, to versions that are rolled out: evidence where there is no traffic yet.

They go the way of everybody's: through the gateway, to the unit's own path, with the header that
names a version. What came back is told as our own doing beside what was measured, and nothing else
is made of it: no redirect is followed, no body is kept. A version that does not answer costs three
requests, and all of them together have half a minute.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from urllib.parse import quote, urlsplit

import urllib3
from urllib3.exceptions import HTTPError

from gati_gitops import __version__
from gati_gitops.decide.observation import Missing, Sent, Telemetry
from gati_gitops.ledger.model import ROLLING
from gati_gitops.observe.wanted import Deployed, MetricsSource, Telemetries, Wanted, deployed
from gati_gitops.plan.paths import parse
from gati_gitops.spec.rollout import Synthetic as Settings
from gati_gitops.web.connect import Limits, connections

HEADER = "X-Gati-Version"
BUDGET = 30.0
"""Seconds for all requests of a pass."""
PATIENCE = 3
"""Requests in a row that nobody answers."""
_AT_ONCE = 8
_BODY = 1 << 16


class Synthetic:
    """A metric source, and what our own requests add to it."""

    def __init__(
        self,
        settings: Settings,
        source: MetricsSource,
        *,
        environ: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        parts = urlsplit(settings.url)
        limit = settings.timeout_seconds
        self._settings = settings
        self._source = source
        self._clock = clock
        self._host = parts.hostname or ""
        self._pool = connections(
            parts.scheme,
            self._host,
            os.environ if environ is None else environ,
            Limits(connect=limit, read=limit),
        )

    def look(self, wanted: Wanted, /) -> Telemetries | Missing:
        """What metrics say, with the answers to our own requests."""
        began = self._clock()
        seen = self._source.look(wanted)
        if isinstance(seen, Missing):
            return seen
        found = {key: dict(versions) for key, versions in seen.items()}
        asked: list[tuple[Deployed, Telemetry, str]] = []
        for version in deployed(wanted):
            said = found.get(version.key, {}).get(version.version.name)
            url = self._url(version)
            if version.entry.phase in ROLLING and isinstance(said, Telemetry) and url:
                asked.append((version, said, url))
        end = time.monotonic() + BUDGET
        with ThreadPoolExecutor(_AT_ONCE) as workers:
            sent = list(workers.map(lambda item: self._send(item[0], item[2], end), asked))
        for (version, said, _), answers in zip(asked, sent, strict=True):
            # by the clock of the metrics, so that both can be compared
            ahead = said.window.at - began
            mine = tuple(replace(one, at=one.at + ahead) for one in answers)
            found[version.key][version.version.name] = replace(said, sent=mine)
        return found

    def _url(self, version: Deployed) -> str:
        """Where a version is asked; empty if the unit has no path that could be asked for."""
        route = version.stored.plan.route
        if route is None:
            return ""
        path = self._settings.path
        if not parse(route.path).open:
            if path is None:
                return ""
            fixed = route.path.partition("/:")[0]
        else:
            fixed = route.path.rstrip("/")
        return self._settings.url + quote(fixed + (path or ""), safe="/%:@!$&'()*+,;=~")

    def _send(self, version: Deployed, url: str, end: float) -> list[Sent]:
        answers: list[Sent] = []
        silent = 0
        while len(answers) < self._settings.requests and silent < PATIENCE:
            if time.monotonic() > end:
                break
            answers.append(self._once(version, url))
            silent = silent + 1 if not answers[-1].status else 0
        return answers

    def _once(self, version: Deployed, url: str) -> Sent:
        headers = {
            HEADER: version.version.id,
            "User-Agent": f"gati-gitops/{__version__} (synthetic)",
            **self._named(version),
        }
        at, began = self._clock(), time.monotonic()
        status = 0
        try:
            response = self._pool.request(
                "GET", url, headers=headers, retries=False, redirect=False, preload_content=False
            )
            status = _read(response)
        except HTTPError:
            pass
        return Sent(at, status, time.monotonic() - began)

    def _named(self, version: Deployed) -> dict[str, str]:
        """The unit's own host, where the gateway is asked by another name."""
        route = version.stored.plan.route
        hosts = [host for host in route.hosts if not host.startswith("*.")] if route else []
        return {"Host": hosts[0]} if hosts and self._host not in hosts else {}


def _read(response: urllib3.BaseHTTPResponse) -> int:
    """The status of an answer, once it has come as far as anybody waits for it."""
    try:
        left = _BODY
        while left > 0 and (chunk := response.read1(left, decode_content=False)):
            left -= len(chunk)
        return response.status
    except HTTPError:
        return 0
    finally:
        response.close()
        response.release_conn()
