"""The program: finds the verb, runs it, and turns what went wrong into an exit code.

0 fine · 1 a difference was found · 2 wrong usage · 3 the specs are wrong · 4 something outside
failed · 5 refused to be safe · 70 a fault of ours · 130 interrupted · 141 nobody reads the output

A verb is a module of this package that exports ``command``. It is imported when it is called, so
that ``--help`` pays for none of them.
"""

from __future__ import annotations

import difflib
import gc
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from gati_gitops import __version__
from gati_gitops.cli.common import Session, wants_colour
from gati_gitops.errors import GatiError, SpecsInvalid
from gati_gitops.report import counted
from gati_gitops.report.clean import safe

NAME = "gati-gitops"
VERBS = {
    "init": "Scaffold gati.yaml, an example unit and the CI workflows.",
    "validate": "Report every problem of the specs at once.",
    "plan": "Print what the specs come to, per environment.",
    "preview": "Say what a change of the specs changes on every cluster.",
    "compile": "Write the Kustomize tree of the specs to a folder.",
    "publish": "Commit the compiled specs to a branch of the output repository.",
    "comment": "Put a preview on its pull request: one comment, updated in place.",
    "verify": "Prove that a branch is what the specs and its ledgers compile to.",
    "reconcile": "Look at clusters and metrics, decide, and commit what follows.",
    "status": "Print where every unit stands: versions, phases, weights, holds.",
    "drift": "Say what clusters run that Git does not say, field by field.",
    "hold": "Freeze a unit: phases, weights and manifests stay.",
    "release": "End a hold, or let go on what waits for a person.",
    "reject": "Judge a version bad; its weight returns to the Active one.",
    "rollback": "Return to the version or revision that served before.",
    "retire": "Take a unit or a version away at once.",
    "render": "Print what `kustomize build PATH` prints.",
    "explain": "Say where a field of a manifest came from.",
    "crds": "Print CRDs or JSON Schemas; compare them.",
    "demo": "Show the whole story on embedded specs.",
}


class _Verbs(click.Group):
    """The group that imports a verb only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"gati_gitops.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in VERBS and not args[0].startswith("-"):
            close = difflib.get_close_matches(args[0], VERBS, n=1)
            hint = f"Did you mean {close[0]}?" if close else f"Verbs: {', '.join(VERBS)}."
            ctx.fail(f"There is no verb {safe(args[0])!r}. {hint}")
        return super().resolve_command(ctx, args)


@click.group(
    NAME,
    cls=_Verbs,
    subcommand_metavar="VERB [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Examples:
  gati-gitops validate specs
  gati-gitops compile specs --output deploy
  gati-gitops render deploy/overlays/prod/eu-1""",
)
@click.version_option(__version__, prog_name=NAME, message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show a traceback when something unexpected fails.")
@click.pass_obj
def cli(session: Session, debug: bool) -> None:
    """Compile Gati specs into a Git repository that Argo CD or Flux syncs."""
    session.debug = session.debug or debug


def main() -> NoReturn:
    """Run with the arguments of the process, and end it."""
    for stream in (sys.stdout, sys.stderr):
        # What a terminal's encoding lacks is shown as an escape, instead of failing.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    # Documents by the thousand live until the end; looking at them again and again finds nothing.
    gc.set_threshold(100_000, 50, 100)
    # What happens to be installed beside us has no say in how specs are read.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run a verb and give the exit code. This is the one place that decides about it."""
    session = Session(debug=os.environ.get("GATI_DEBUG", "0") not in ("", "0"))
    try:
        try:
            return _run(arguments, session)
        except GatiError as error:
            return _stopped(session, error)
    except click.UsageError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        return _failed(session, error.format_message(), "", 4)
    except BrokenPipeError:
        # The reader has gone; leave nothing in the buffers for Python to fail over at exit.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            os.dup2(nowhere, stream.fileno())
        return 141
    except (KeyboardInterrupt, click.Abort):
        return 130
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        return _failed(session, what, "", 4)
    except Exception as error:  # noqa: BLE001 - the last line of defence; nothing is hidden
        return _bug(session, error)


def _run(arguments: Sequence[str], session: Session) -> int:
    if completion := os.environ.get("_GATI_GITOPS_COMPLETE"):
        from click.shell_completion import shell_complete

        return shell_complete(cli, {}, NAME, "_GATI_GITOPS_COMPLETE", completion)
    try:
        with cli.make_context(NAME, list(arguments), obj=session) as context:
            result: Any = cli.invoke(context)
    except click.exceptions.Exit as stop:
        result = stop.exit_code
    sys.stdout.flush()
    return result if isinstance(result, int) else 0


def _stopped(session: Session, error: GatiError) -> int:
    """Say why a run was stopped."""
    if isinstance(error, SpecsInvalid):
        session.report(error.problems)
        click.echo(_summary(error), err=not _in_text_to_stdout(session))
        return error.exit_code
    place = error.place
    named = place is None or (not place.line and place.file in error.message)
    message = error.message if named else f"{place}: {error.message}"
    return _failed(session, message, error.remedy, error.exit_code, error.details)


def _in_text_to_stdout(session: Session) -> bool:
    return session.report_to_stdout and session.format == "text"


def _summary(error: SpecsInvalid) -> str:
    files = len({problem.place.file for problem in error.problems})
    return f"{counted(error.problems)} in {files} file{'s' * (files != 1)}"


def _failed(
    session: Session, message: str, remedy: str, code: int, details: Sequence[str] = ()
) -> int:
    colour = wants_colour(sys.stderr)
    word = "\x1b[1;31merror:\x1b[0m" if colour else "error:"
    click.echo(f"{word} {safe(message)}", err=True, color=colour)
    for detail in details:
        click.echo(f"  - {safe(detail)}", err=True)
    if remedy:
        click.echo(f"  {safe(remedy)}", err=True)
    if session.debug:
        _traceback()
    return code


def _bug(session: Session, error: Exception) -> int:
    what = f"{type(error).__name__}: {error}".splitlines()[0]
    click.echo(f"error: {safe(what)[:300]}", err=True)
    click.echo(f"  this is a bug in {NAME} {__version__}, not in your specs", err=True)
    if session.debug:
        _traceback()
    else:
        click.echo("  run again with GATI_DEBUG=1 and report what it prints", err=True)
    return 70


def _traceback() -> None:
    import traceback

    click.echo(traceback.format_exc(), err=True)
