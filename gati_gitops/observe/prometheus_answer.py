"""What a metric server answered, taken apart with care: it is complete and of the right kind, or
it is no answer.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gati_gitops.decide.observation import Gap, Missing
from gati_gitops.observe.http import Answer, Client
from gati_gitops.observe.prometheus_parse import Samples, parsed


class Gapped(Exception):
    """There is no answer that could be used."""

    def __init__(self, gap: Gap, why: str) -> None:
        super().__init__(why)
        self.gap = gap
        self.why = why

    def missing(self, source: str) -> Missing:
        return Missing(self.gap, self.why, source)


@dataclass(frozen=True, slots=True)
class Raw:
    """A series as the server gave it."""

    labels: Mapping[str, str]
    times: tuple[float, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Said:
    """An answer that is one."""

    data: Mapping[str, Any]
    samples: Sequence[Samples]
    """What the numbers stand for that are in the places of arrays of samples."""


def read(answer: Answer, client: Client) -> Said:
    """What an answer says. Raises Gapped."""
    if 300 <= answer.status < 400:
        raise Gapped(
            Gap.ERROR,
            f"it answered {answer.status} and points to another place,"
            f" {client.clean(answer.location) or 'which it does not name'}; nothing is sent there",
        )
    try:
        said, samples = parsed(answer.body)
    except (ValueError, RecursionError):
        said, samples = None, []
    if not isinstance(said, dict):
        text = client.clean(answer.body[:4000].decode(errors="replace"))
        raise Gapped(
            Gap.ERROR, f"it answered {answer.status} with something else than JSON: {text}"
        )
    if answer.status != 200 or said.get("status") != "success":
        words = client.clean(f"{said.get('errorType') or ''} {said.get('error') or ''}")
        raise Gapped(Gap.ERROR, f"it answered {answer.status}: {words or 'without a reason'}")
    return Said(said, samples)


def matrix(said: Said, client: Client, most: int) -> list[Raw]:
    """The series of an answer, all of them. Raises Gapped."""
    result = _result(said, "matrix")
    if not isinstance(result, list):
        raise Gapped(Gap.ERROR, "its answer has no list of series")
    if len(result) > most:
        raise Gapped(
            Gap.ERROR,
            f"it has more than {most} series to show; narrow them by metrics.labels,"
            " or raise metrics.maxSeries",
        )
    refuse_partial(said, client)
    try:
        return [_series(item, said.samples) for item in result]
    except (AttributeError, LookupError, TypeError, ValueError):
        raise Gapped(Gap.ERROR, "its answer holds something else than plain samples") from None


def number(said: Said, client: Client, kind: str) -> float | None:
    """The one number of an answer, None if it is empty. Raises Gapped."""
    result = _result(said, kind)
    refuse_partial(said, client)
    try:
        if kind == "vector":
            if len(result) > 1:
                raise Gapped(Gap.AMBIGUOUS, f"it answered with {len(result)} series, not with one")
            if not result:
                return None
            result = result[0]["value"]
        return float(result[1])
    except (IndexError, KeyError, TypeError, ValueError):
        raise Gapped(Gap.ERROR, "its answer holds something else than a number") from None


def groups(said: Said, client: Client) -> list[Mapping[str, str]]:
    """The labels of the elements of an answer. Raises Gapped."""
    result = _result(said, "vector")
    refuse_partial(said, client)
    try:
        return [dict(item["metric"]) for item in result]
    except (KeyError, TypeError, ValueError):
        raise Gapped(Gap.ERROR, "its answer holds something else than labels") from None


def refuse_partial(said: Said, client: Client) -> None:
    """An answer with warnings may lack something, and nobody can say what."""
    words = [*(said.data.get("warnings") or ()), *(said.data.get("infos") or ())]
    if words:
        text = client.clean("; ".join(str(word) for word in words))
        raise Gapped(Gap.PARTIAL, f"it answered with a warning: {text}")


def _result(said: Said, kind: str) -> Any:
    data = said.data.get("data")
    if not isinstance(data, dict) or "resultType" not in data:
        raise Gapped(Gap.ERROR, "its answer has no result")
    if data["resultType"] != kind:
        raise Gapped(Gap.ERROR, f"it answered with a {data['resultType']}, not with a {kind}")
    return data.get("result")


def _series(item: Any, samples: Sequence[Samples]) -> Raw:
    labels, found = item["metric"], item["values"]
    if "histograms" in item or not isinstance(labels, dict):
        raise ValueError
    if isinstance(found, int):
        times, values = samples[found]
    else:
        moments, texts = zip(*found, strict=True)
        times, values = tuple(map(float, moments)), tuple(map(float, texts))
    if not all(map(operator.lt, times, times[1:])):
        raise ValueError
    return Raw(labels, times, values)
