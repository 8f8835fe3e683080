"""How the job is run by a cluster: the options for that, and how it ends there."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from threading import Event
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gati_gitops.errors import GatiError, Outside

if TYPE_CHECKING:
    from gati_gitops.cli.reconciling import Asked, Teller
    from gati_gitops.reconcile.run import Job
    from gati_gitops.reconcile.running import Running

T = TypeVar("T")


def running_options(command: Any) -> Any:
    """Who leads, who listens, and who may ask."""
    for option in reversed(
        (
            click.option(
                "--lease", metavar="NAMESPACE/NAME",
                help="Lead before deciding anything: of several processes one works.",
            ),
            click.option(
                "--listen", metavar="HOST:PORT",
                help="Serve /healthz, /readyz and /metrics there.",
            ),
            click.option(
                "--log-format", type=click.Choice(("text", "json")),
                help="A line for each event, instead of a table; json with --watch, but on a"
                " terminal.",
            ),
            click.option(
                "--log-level", type=click.Choice(("debug", "info", "warning", "error")),
                default="info", show_default=True, help="The least that is worth a line.",
            ),
            click.option("--events", is_flag=True, help="Tell the cluster by Events."),
            click.option("--status", is_flag=True, help="Write the status of Gati objects."),
        )
    ):  # fmt: skip
        command = option(command)
    return command


def running_of(given: Mapping[str, Any], asked: Asked) -> Running:
    """What is around the passes, as the options say. A dry run tells nobody."""
    from gati_gitops.reconcile.running import Running, Wanted

    form = given["log_format"]
    if form is None and asked.watch and given["format"] == "text" and not sys.stdout.isatty():
        form = "json"
    if given["lease"] and not asked.watch:
        raise click.UsageError("--lease is for who goes on: not without --watch")
    wanted = Wanted(
        given["listen"] or "",
        given["lease"] or "",
        form,
        given["log_level"],
        given["events"] and not asked.dry_run,
        given["status"] and not asked.dry_run,
    )
    # programs read JSON from stdout; words for people go to stderr
    stream = sys.stdout if form == "json" else sys.stderr
    return Running(wanted, os.environ, stream, interval=asked.interval, deadline=asked.deadline)


@contextmanager
def ending_in_a_line(running: Running) -> Iterator[None]:
    """Where lines are wanted, the last word is one, too."""
    try:
        yield
    except GatiError as error:
        if running.logs is None:
            raise
        more = {"remedy": error.remedy} if error.remedy else {}
        running.logs.line("error", "ended", reason=error.message, **more)
        sys.exit(error.exit_code)


def stopped(stack: ExitStack) -> Event:
    """What is set when a signal says stop."""
    stop = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        before = signal.signal(number, lambda *_: stop.set())
        stack.callback(signal.signal, number, before)
    return stop


def begun(
    begin: Callable[[], T], asked: Asked, teller: Teller, running: Running, stop: Event
) -> T | None:
    """What passes are made with, once Git answers; None: told to stop before it did."""
    from gati_gitops.reconcile.watch import insist

    def tell(error: Outside) -> None:
        running.failed("git", error.message)
        teller.passed(error)

    return insist(begin, tell, asked.interval, stop)


def watched(job: Job, asked: Asked, teller: Teller, running: Running, stop: Event) -> int:
    """Pass after pass, until a signal says stop."""
    from gati_gitops.reconcile.watch import Watch

    Watch(job, asked.interval, asked.deadline, running.leader, teller.passed, stop).run()
    return 0
