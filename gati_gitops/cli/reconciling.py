"""What ``reconcile`` is asked, what the job is made of then, and what is said of it."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from gati_gitops.cli.clusters import accesses, only_of, prometheus_of
from gati_gitops.cli.common import wants_colour
from gati_gitops.cli.repository import wants_progress
from gati_gitops.errors import GatiError, Outside, Refused
from gati_gitops.report.clean import safe

if TYPE_CHECKING:
    from gati_gitops.observe.recording import Recorder
    from gati_gitops.publish.hand import Hand
    from gati_gitops.reconcile.announce import Listener
    from gati_gitops.reconcile.clocks_store import ClockStore
    from gati_gitops.reconcile.fence import Fence
    from gati_gitops.reconcile.places import Narrowing
    from gati_gitops.reconcile.run import Passed
    from gati_gitops.reconcile.sources import Sources
    from gati_gitops.repo.repository import Repository, Tip

CONFIG_MAP = ("configmap:", "configmap/")
LONGEST = 30 * 86400.0
"""Seconds that anybody could mean to wait."""


def options(command: Any) -> Any:
    """The options that are this verb's own."""
    for option in reversed(
        (
            click.option("--dry-run", is_flag=True, help="Say what would be done; write nothing."),
            click.option("--explain", metavar="UNIT", help="All about one unit; write nothing."),
            click.option("--watch", is_flag=True, help="Go on, pass after pass, until stopped."),
            click.option(
                "--interval", default="60s", show_default=True, metavar="DURATION",
                help="With --watch: between the beginnings of two passes.",
            ),
            click.option(
                "--deadline", default="10m", show_default=True, metavar="DURATION",
                help="How long a pass may take.",
            ),
            click.option(
                "--clocks", metavar="FILE",
                help="Where evidence is kept between passes; or configmap:NAMESPACE/NAME.",
            ),
            click.option(
                "--prometheus", "prometheus", multiple=True, metavar="CLUSTER=URL",
                help="Read a cluster's metrics there; may be repeated.",
            ),
            click.option("--record", metavar="FILE", help="Write down what is seen, for --replay."),
            click.option("--replay", metavar="FILE", help="Judge a recording, as of then."),
            click.option(
                "--owner", envvar="GATI_OWNER", metavar="NAME",
                help="What this job is called; another one's clusters are refused.",
            ),
            click.option("--take-over", is_flag=True, help="Replace a job of another name."),
            click.option("--sign", is_flag=True, help="Refuse to commit without a signature."),
            click.option(
                "--require-signed", is_flag=True,
                help="As --sign; and refuse a branch that no key of GATI_ALLOWED_SIGNERS signed.",
            ),
            click.option("--quiet", "-q", is_flag=True, help="Tell what is done, not what waits."),
            click.option(
                "--format", type=click.Choice(("text", "json")), default="text", show_default=True
            ),
        )
    ):  # fmt: skip
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line says, understood."""

    narrowing: Narrowing
    format: str
    quiet: bool
    dry_run: bool
    explain: str
    watch: bool
    interval: float
    deadline: float
    clocks: str
    prometheus: Mapping[str, str]
    record: Path | None
    replay: Path | None
    owner: str
    take_over: bool
    sign: bool
    require_signed: bool

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Asked:
        """Understand the options. Raises UsageError."""
        from gati_gitops.reconcile.places import Narrowing

        explain = given["explain"] or ""
        units = (explain,) if explain else given["unit"]
        if given["watch"] and (given["dry_run"] or explain or given["replay"]):
            raise click.UsageError(
                "--watch goes on for ever: not with --dry-run, --explain, --replay"
            )
        if given["replay"] and given["record"]:
            raise click.UsageError("--replay and --record exclude one another")
        return cls(
            Narrowing(given["env"], given["cluster"], units, given["root"]),
            given["format"],
            given["quiet"],
            given["dry_run"] or bool(explain),
            explain,
            given["watch"],
            _seconds("--interval", given["interval"]),
            _seconds("--deadline", given["deadline"]),
            given["clocks"] or "",
            prometheus_of(given["prometheus"]),
            Path(given["record"]) if given["record"] else None,
            Path(given["replay"]) if given["replay"] else None,
            given["owner"] or _installed(given),
            given["take_over"],
            given["sign"] or given["require_signed"],
            given["require_signed"],
        )

    def hand(self, hand: Hand) -> Hand:
        """The same hand, which is as patient as a pass may last, and signs if it must.

        Where another pass follows, there is no need to insist for longer than until then.
        """
        from gati_gitops.repo.sign import signer

        own = signer(os.environ, required=True) if self.sign else hand.signer
        budget = min(self.deadline / 2, self.interval if self.watch else math.inf)
        return replace(hand, signer=own, retry=replace(hand.retry, budget=budget))

    def trust(self) -> Callable[[Repository, Tip], None] | None:
        if not self.require_signed:
            return None
        from gati_gitops.cli.publish import trust_of
        from gati_gitops.repo.sign import signer

        own = signer(os.environ, required=True)
        assert own is not None
        return trust_of(own)


def _installed(given: Mapping[str, Any]) -> str:
    """What a job is called that nobody gave a name: as what only its installation has."""
    from gati_gitops.reconcile.fence import OWNER

    text = given["clocks"] or ""
    start = next((start for start in CONFIG_MAP if text.startswith(start)), "")
    return given.get("lease") or (text.removeprefix(start) if start else "") or OWNER


def _seconds(option: str, text: str) -> float:
    from gati_gitops.spec.common import seconds

    try:
        found = float(seconds(text))
    except (KeyError, TypeError, ValueError, OverflowError):
        found = 0.0
    if not 0 < found <= LONGEST:
        raise click.UsageError(
            f"{option} {text} is no duration up to 30 days; write one such as 60s or 5m"
        )
    return found


# -- what the job is made of -----------------------------------------------------------------------


def sources_of(repository: Repository, asked: Asked, given: Mapping[str, Any]) -> Sources:
    """Through what clusters are seen; a recording needs none of them."""
    from gati_gitops.output import Output
    from gati_gitops.publish.places import find_root, places
    from gati_gitops.reconcile.drift.sights import hubs
    from gati_gitops.reconcile.sources import Sources

    if asked.replay:
        return Sources({}, os.environ)
    tip = repository.tip()
    before = tip.snapshot(find_root(tip, asked.narrowing.root))
    found = places(before)
    chosen = sorted(found.chosen(asked.narrowing.environments, asked.narrowing.clusters))
    if asked.narrowing.units:
        keys = [found.find(name) for name in asked.narrowing.units]
        chosen = [at for at in chosen if any(at in found.units[key] for key in keys)]
    others = hubs(Output(before), chosen)
    own = {cluster for _, cluster in chosen}
    only_of(asked.prometheus, own)
    reached = accesses(own, given["kubeconfig"], given["contexts"], others)
    hubs_only = {name for name in reached if name not in own}
    return Sources(reached, os.environ, prometheus=asked.prometheus, hubs=hubs_only)


def clocks_of(asked: Asked, sources: Sources) -> ClockStore:
    """Where evidence is kept between passes."""
    from gati_gitops.reconcile.clocks_store import ConfigMapClocks, FileClocks, MemoryClocks

    text = asked.clocks
    if not text:
        if not (asked.dry_run or asked.watch or asked.replay):
            said = "without --clocks nothing is decided that takes longer than one look"
            click.echo(said, err=True)
        return MemoryClocks()
    start = next((start for start in CONFIG_MAP if text.startswith(start)), "")
    if not start:
        kept = FileClocks(Path(text))
        kept.check()
        return kept
    namespace, slash, name = text.removeprefix(start).partition("/")
    if not (namespace and slash and name):
        raise click.UsageError(f"--clocks {text} is not configmap:NAMESPACE/NAME")
    return ConfigMapClocks(sources.home(), namespace, name)


def fence_of(asked: Asked) -> Fence:
    from gati_gitops.reconcile.fence import Fence

    return Fence(asked.owner, asked.take_over)


def recorder_of(asked: Asked, hand: Hand) -> Recorder | None:
    from gati_gitops.observe.recording import Recorder

    return Recorder(asked.record, hand.clock) if asked.record else None


def refuse_server(repository: Repository, *, dry_run: bool) -> None:
    """What was once seen is no evidence for what others build on."""
    if repository.address.is_remote and not dry_run:
        raise Refused(
            "a recording is not what clusters are now, and others see this repository",
            remedy="say --dry-run, or replay into a repository on this machine",
        )


def progress(stream: IO[str]) -> Listener | None:
    """Tells a person at a terminal what takes time."""
    if not wants_progress():
        return None
    from gati_gitops.reconcile.announce import Listener as Base

    class Progress(Base):
        @contextmanager
        def span(self, name: str, **attributes: str) -> Iterator[None]:
            where = " on ".join(attributes[key] for key in ("env", "cluster") if key in attributes)
            words = {"observe": "looking at", "decide": "deciding", "commit": "writing"}
            if name in words:
                stream.write(f"\r\x1b[K{words[name]} {where}…"[:200])
                stream.flush()
            try:
                yield
            finally:
                stream.write("\r\x1b[K")
                stream.flush()

    return Progress()


# -- what is said ----------------------------------------------------------------------------------


@dataclass(slots=True)
class Teller:
    """Says what came of passes."""

    format: str
    dry_run: bool
    explain: str
    quiet: bool = False
    """Only what is done is told."""
    silent: bool = False
    """Lines of a log tell it instead."""
    _last: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))

    def told(self, passed: Passed) -> int:
        """All of one pass; the exit code, or what it ends with."""
        self._print(passed, quiet=False)
        if (error := passed.worst) is not None:
            raise error
        if passed.failures:
            raise _unseen(map(str, passed.failures))
        return 0

    def replayed(self, passes: Iterable[Passed], cut: str = "") -> int:
        """All of a recording. ``cut``: what is said of one that ends in the middle of a look."""
        found = False
        worst: GatiError | None = None
        unseen: list[str] = []
        for passed in passes:
            found = True
            self.passed(passed)
            worst = worst or passed.worst
            unseen += map(str, passed.failures)
        if worst is not None:
            raise worst
        if not found:
            said = f"the recording is empty; {cut}" if cut else "the recording is empty"
            raise Outside(said, remedy="record with --record")
        if cut:
            unseen.append(cut)
        if unseen:
            raise _unseen(dict.fromkeys(unseen))
        return 0

    def passed(self, passed: Passed | GatiError) -> None:
        """What is new with one of many passes."""
        if isinstance(passed, GatiError):
            if not self.silent:
                click.echo(f"error: {safe(passed.message)}", err=True)
            return
        self._print(passed, quiet=True)

    def _print(self, passed: Passed, *, quiet: bool) -> None:
        from gati_gitops.reconcile.table import (
            explain_lines,
            pass_data,
            summary,
            table_lines,
            written_lines,
        )

        if self.silent:
            return
        if self.format == "json":
            indent = None if quiet else 2
            data = pass_data(passed, dry_run=self.dry_run)
            click.echo(json.dumps(data, indent=indent, ensure_ascii=False))
            return
        colour = wants_colour(sys.stdout)
        if self.quiet:
            lines = []
        elif self.explain:
            lines = list(explain_lines(passed.judged, passed.at, colour=colour))
        else:
            width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
            lines = table_lines(passed.judged, width=width, colour=colour, quiet=quiet)
        lines += written_lines(passed)
        notes = [*passed.notes, *map(str, passed.failures)]
        if quiet and (lines, notes) == self._last:
            return
        if not quiet or lines != self._last[0]:
            for line in lines:
                click.echo(line, color=True)
        for note in notes:
            click.echo(safe(note), err=True)
        self._last = (lines, notes)
        if not self.quiet:
            click.echo(summary(passed, dry_run=self.dry_run), err=True)


def _unseen(failures: Iterable[str]) -> Outside:
    first, *more = failures
    others = f" and {len(more)} more" if more else ""
    return Outside(
        f"not everything could be seen: {first}{others}",
        remedy="what was seen is decided; the rest waits until it can be seen",
    )
