"""Commands of ours as people would copy them: understood by the real parser, run by nobody."""

from __future__ import annotations

import re
import shlex
from typing import Any

import click

from gati_gitops.cli.main import cli

WITHIN = re.compile(r"`(gati-gitops [a-z-]+ [^`]+)`")
"""Whole commands in prose; the name of a verb alone is none."""


def understood(text: str) -> dict[str, Any]:
    """The options that a command gives. Raises UsageError, as it would for who typed it."""
    program, verb, *arguments = shlex.split(text)
    assert program == "gati-gitops"
    command = cli.get_command(click.Context(cli), verb)
    assert command is not None, f"{verb} is no verb"
    with command.make_context(verb, arguments) as context:
        found = dict(context.params)
    if verb in ("rollback", "retire") and not (found["env"] or found["all_environments"]):
        raise click.UsageError(f"{verb} wants --env NAME, or --all-environments")
    return found
