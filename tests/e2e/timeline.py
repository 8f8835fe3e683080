"""What happened in a world on one time axis: commits, weights of the live route, traffic by version.

A recorder looks twice a second. For people it prints lines; `page` writes one self-contained HTML page.
"""

import contextlib
import html
import json
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Self

from urllib3.exceptions import HTTPError

from tests.e2e.api import ApiError
from tests.e2e.cluster import Cluster
from tests.e2e.git import GitServer
from tests.e2e.load import Answer, Load

EVERY = 0.5


@dataclass(frozen=True, slots=True)
class Event:
    at: float
    kind: str  # commit, decision (a commit with evidence), weights, note
    text: str
    detail: str = ""


@dataclass
class Timeline:
    title: str
    git: GitServer
    cluster: Cluster
    unit: tuple[str, str]
    """Namespace and name of the route that is followed."""
    load: Load | None = None
    events: list[Event] = field(default_factory=list)
    weights: list[tuple[float, dict[str, int]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.start = time.time()
        self._stop = threading.Event()
        self._seen = ""
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> Self:
        with self.cluster.place.inside():
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(10)

    def note(self, text: str, detail: str = "") -> None:
        """What a test did, or decided to look at."""
        self._add("note", text, detail)

    # ---------------------------------------------------------------------------------------- looking

    def _follow(self) -> None:
        while not self._stop.is_set():
            with contextlib.suppress(ApiError, HTTPError, OSError, subprocess.CalledProcessError):
                self._commits()
            with contextlib.suppress(ApiError, HTTPError, OSError):
                self._route()
            self._stop.wait(EVERY)

    def _commits(self) -> None:
        span = f"{self._seen}..main" if self._seen else "main"
        done = subprocess.run(
            ["git", "-C", str(self.git.bare), "log", "--reverse", "--format=%H%x00%s%x00%b%x01", span],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        for entry in filter(None, (part.strip() for part in done.stdout.split("\x01"))):
            commit, subject, message = entry.split("\x00")
            kind = "decision" if "Gati-Evidence:" in message else "commit"
            self._add(kind, f"{commit[:10]} {subject}", message.strip())
            self._seen = commit

    def _route(self) -> None:
        found = self.cluster.weights(*self.unit)
        if not self.weights or self.weights[-1][1] != found:
            self.weights.append((time.time(), found))
            shown = ", ".join(
                f"{name.removeprefix(self.unit[1] + '-')} {weight}"
                for name, weight in found.items()
            )
            self._add("weights", shown or "no backend")

    def _add(self, kind: str, text: str, detail: str = "") -> None:
        self.events.append(Event(time.time(), kind, text, detail))

    # --------------------------------------------------------------------------------------- for people

    def lines(self) -> list[str]:
        answers = self.load.answers if self.load else []
        end = max([time.time(), *(event.at for event in self.events)])
        found = [self.title]
        for event, following in pairwise([*self.events, Event(end, "end", "")]):
            found.append(f"{event.at - self.start:8.1f} s  {event.kind:8}  {event.text}")
            between = [a for a in answers if event.at <= a.at < following.at]
            if between:
                found.append(f"{'':10}  {'traffic':8}  {traffic(between)}")
        return found

    def page(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(Page(self).text(), encoding="utf-8")
        return path


def traffic(answers: Sequence[Answer]) -> str:
    counts = Counter(answer.version or "none" for answer in answers if not answer.failed)
    failed = sum(answer.failed for answer in answers)
    parts = [
        f"{version} {count} ({100 * count / len(answers):.0f} %)"
        for version, count in counts.most_common()
    ]
    return f"{len(answers)} requests: {', '.join(parts)}" + (f", {failed} FAILED" if failed else "")


COLOURS = ("#3b6ea5", "#e0902f", "#5a9e5a", "#9464a8", "#8a6d5b", "#4fa6a6")
WIDTH, LEFT, ROW = 1200, 110, 150


class Page:
    """One SVG with three rows over the same axis, and the list of events below."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.answers = timeline.load.answers if timeline.load else []
        ends = [e.at for e in timeline.events] + [a.at for a in self.answers]
        self.begin = timeline.start
        self.end = max([*ends, self.begin + 1])
        names = dict.fromkeys(name for _, weights in timeline.weights for name in weights)
        versions = [name.removeprefix(f"{timeline.unit[1]}-") for name in names]
        versions += sorted({a.version for a in self.answers if a.version} - set(versions))
        self.colours = {v: COLOURS[i % len(COLOURS)] for i, v in enumerate(dict.fromkeys(versions))}

    def x(self, at: float) -> float:
        return LEFT + (WIDTH - LEFT - 20) * (at - self.begin) / (self.end - self.begin)

    def text(self) -> str:
        rows = f"{self.axis()}{self.weights()}{self.traffic()}{self.commits()}"
        legend = " ".join(
            f'<span><i style="background:{c}"></i>{html.escape(v)}</span>'
            for v, c in self.colours.items()
        )
        listed = "\n".join(
            f"<tr class={e.kind}><td>{e.at - self.begin:.1f} s<td>{e.kind}<td>{html.escape(e.text)}"
            + (
                f"<details><summary>why</summary><pre>{html.escape(e.detail)}</pre></details>"
                if e.detail
                else ""
            )
            for e in self.timeline.events
        )
        title = html.escape(self.timeline.title)
        return (
            f"<!doctype html><meta charset=utf-8><title>{title}</title><style>{STYLE}</style>"
            f"<h1>{title}</h1><p class=legend>{legend} <span><i style='background:#c0392b'></i>failed</span></p>"
            f'<svg viewBox="0 0 {WIDTH} {3 * ROW + 40}" role=img>{rows}</svg>'
            f"<table>{listed}</table>\n"
        )

    def axis(self) -> str:
        span = self.end - self.begin
        step = next(
            s for s in (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 3600) if span / s <= 15 or s == 3600
        )
        marks = []
        for n in range(int(span // step) + 1):
            x = self.x(self.begin + n * step)
            marks.append(f"<line x1={x:.1f} x2={x:.1f} y1=0 y2={3 * ROW} class=grid />")
            marks.append(f"<text x={x:.1f} y={3 * ROW + 16} class=mid>{n * step} s</text>")
        for index, name in enumerate(("weight %", "requests/s", "commits")):
            marks.append(f"<text x=8 y={index * ROW + 24}>{name}</text>")
        return "".join(marks)

    def weights(self) -> str:
        """What the live route gave to whom, stacked."""
        shapes = []
        spans = [*self.timeline.weights, (self.end, {})]
        for (at, weights), (until, _) in pairwise(spans):
            total = sum(weights.values()) or 1
            top = ROW - 10.0
            for name, weight in weights.items():
                height = (ROW - 30) * weight / total
                top -= height
                colour = self.colours[name.removeprefix(f"{self.timeline.unit[1]}-")]
                title = html.escape(f"{name}: {weight}")
                shapes.append(
                    f"<rect x={self.x(at):.1f} y={top:.1f} width={self.x(until) - self.x(at):.1f}"
                    f' height={height:.1f} fill="{colour}"><title>{title}</title></rect>'
                )
        return "".join(shapes)

    def traffic(self) -> str:
        """Requests of every second by version; what failed is red and on top."""
        seconds: dict[int, Counter[str]] = {}
        for answer in self.answers:
            key = "failed" if answer.failed else answer.version
            seconds.setdefault(int(answer.at - self.begin), Counter())[key] += 1
        most = max((sum(counts.values()) for counts in seconds.values()), default=1)
        shapes = []
        width = max(1.0, self.x(self.begin + 1) - self.x(self.begin))
        for second, counts in sorted(seconds.items()):
            top = 2 * ROW - 10.0
            for key in [*self.colours, "failed"]:
                if not counts[key]:
                    continue
                height = (ROW - 30) * counts[key] / most
                top -= height
                colour = "#c0392b" if key == "failed" else self.colours[key]
                shapes.append(
                    f"<rect x={self.x(self.begin + second):.1f} y={top:.1f} width={width:.1f}"
                    f' height={height:.1f} fill="{colour}"><title>{key}: {counts[key]}</title></rect>'
                )
        return "".join(shapes)

    def commits(self) -> str:
        shapes = []
        marks = [e for e in self.timeline.events if e.kind in ("commit", "decision", "note")]
        for index, event in enumerate(marks):
            x, y = self.x(event.at), 2 * ROW + 20 + (index % 8) * 15
            colour = {"commit": "#444", "decision": "#b8860b", "note": "#888"}[event.kind]
            title = html.escape(f"{event.text}\n{event.detail}")
            shapes.append(
                f'<line x1={x:.1f} x2={x:.1f} y1=0 y2={y} stroke="{colour}" class=mark />'
            )
            anchor = "end" if x > WIDTH * 0.75 else "start"
            shapes.append(
                f'<text x={x:.1f} y={y} fill="{colour}" text-anchor={anchor}>'
                f"<title>{title}</title>{html.escape(event.text[:60])}</text>"
            )
        return "".join(shapes)


STYLE = """
body{font:14px/1.45 system-ui,sans-serif;max-width:1240px;margin:2em auto;padding:0 1em;color:#222;background:#fff}
h1{font-size:1.3em}svg{width:100%;height:auto}svg text{font:11px system-ui,sans-serif}.mid{text-anchor:middle;fill:#666}
.grid{stroke:#eee}.mark{stroke-dasharray:2 3;opacity:.6}.legend i{display:inline-block;width:.9em;height:.9em;margin:0 .3em 0 1em}
table{border-collapse:collapse;width:100%}td:nth-child(-n+2){width:1%;white-space:nowrap}td{padding:.2em .6em;border-top:1px solid #eee;vertical-align:top}
tr.decision td{background:#fdf6e3}pre{white-space:pre-wrap;font-size:12px}
@media(prefers-color-scheme:dark){body{background:#161616;color:#ddd}.grid{stroke:#333}td{border-color:#333}tr.decision td{background:#332b15}svg text{fill:#ccc}}
"""


def as_json(timeline: Timeline) -> str:
    """The same as data, for whoever wants to compute with it."""
    events = [{"at": e.at, "kind": e.kind, "text": e.text} for e in timeline.events]
    return json.dumps({"start": timeline.start, "events": events, "weights": timeline.weights})
