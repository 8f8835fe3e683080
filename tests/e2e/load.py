"""Steady requests through the edge, and what came of each: when, which status, which version."""

import http.client
import itertools
import json
import math
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import urlsplit

from tests.e2e.processes import Place


@dataclass(frozen=True, slots=True)
class Answer:
    at: float
    status: int  # 0: none at all.
    version: str
    seconds: float
    said: str = ""

    @property
    def failed(self) -> bool:
        return self.status == 0 or self.status >= 500


@dataclass
class Load:
    """So many requests a second to one path, by several clients that keep their connections."""

    place: Place
    url: str
    path: str
    host: str
    rate: float = 20
    clients: int = 2
    headers: Mapping[str, str] = field(default_factory=dict)
    answers: list[Answer] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._turns = itertools.count()
        self._threads = [
            threading.Thread(target=self._send, daemon=True) for _ in range(self.clients)
        ]

    def __enter__(self) -> Self:
        self._begin = time.monotonic()
        with self.place.inside():  # Threads stand where they were started.
            for thread in self._threads:
                thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(10)

    # ------------------------------------------------------------------------------------- for tests

    def since(self, at: float) -> list[Answer]:
        return [answer for answer in self.answers if answer.at >= at]

    def failures(self) -> list[Answer]:
        return [answer for answer in self.answers if answer.failed]

    def wait(self, count: int, within: float = 60) -> list[Answer]:
        """The next so many answers."""
        start = len(self.answers)
        end = time.monotonic() + within
        while len(self.answers) < start + count:
            assert time.monotonic() < end, f"{len(self.answers) - start} answers in {within:g} s"
            time.sleep(0.05)
        return self.answers[start : start + count]

    # --------------------------------------------------------------------------------------- sending

    def _send(self) -> None:
        where = urlsplit(self.url)
        connection: http.client.HTTPConnection | None = None
        while not self._stop.is_set():
            due = self._begin + next(self._turns) / self.rate
            if (wait := due - time.monotonic()) > 0 and self._stop.wait(wait):
                break
            started = time.time()
            if connection is None:
                connection = http.client.HTTPConnection(
                    where.hostname or "", where.port, timeout=10
                )
            try:
                connection.request("GET", self.path, headers={"Host": self.host, **self.headers})
                answer = connection.getresponse()
                text = answer.read().decode(errors="replace")
                version = answer.headers.get("X-Served-Version", "")
                said = "" if answer.status < 500 else text[:200]
                found = Answer(started, answer.status, version, time.time() - started, said)
            except (OSError, http.client.HTTPException) as error:
                found = Answer(started, 0, "", time.time() - started, repr(error))
                connection.close()
                connection = None
            self.answers.append(found)
        if connection is not None:
            connection.close()


def shares(answers: Sequence[Answer]) -> dict[str, float]:
    """Percent of the answers by version."""
    counts = Counter(answer.version for answer in answers)
    return {version: 100 * count / len(answers) for version, count in counts.items()}


def within_bounds(count: int, total: int, weight: float, sigmas: float = 4) -> bool:
    """Whether `count` of `total` is what a weight in percent gives, chance allowed for.

    Four standard deviations of a binomial: one honest run in 16,000 is refused. An edge that takes turns
    stays far inside of it.
    """
    share = weight / 100
    slack = sigmas * math.sqrt(total * share * (1 - share))
    return abs(count - total * share) <= slack  # none at 0 and at 100


def follows(answers: Sequence[Answer], weights: Mapping[str, int]) -> bool:
    """Whether answers came from versions as their weights say; a version without weight has none."""
    counts = Counter(answer.version for answer in answers)
    return not counts.keys() - weights.keys() and all(
        within_bounds(counts[version], len(answers), weight) for version, weight in weights.items()
    )


def body(answer: str) -> dict[str, str]:
    return json.loads(answer)
