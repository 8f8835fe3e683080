"""A procedure in the forms that people, programs and shells read."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from gati_gitops.report.clean import safe

if TYPE_CHECKING:
    from gati_gitops.decide.break_glass import Procedure, Stage
    from gati_gitops.tree import Snapshot


@dataclass(frozen=True, slots=True)
class Read:
    """What the commands are made from, and how old it is."""

    snapshot: Snapshot
    words: str
    committed: float = 0.0
    seen: float = 0.0
    """When the server last said so; 0: it does now."""
    commit: str = ""


def say(made: Sequence[Procedure], read: Read, format: str) -> None:
    age = _age(read, time.time())
    if format == "json":
        data = {"format": 1, "read": _data(read), "procedures": [_procedure_data(p) for p in made]}
        click.echo(json.dumps(data, indent=2, ensure_ascii=False))
    elif format == "sh":
        click.echo("\n".join(_script(made, f"{read.words}: {age}")))
    else:
        click.echo(safe(f"from {read.words}"))
        click.echo(safe(age))
        for one in made:
            click.echo("\n".join(["", *_lines(one)]))
    for one in made:
        if one.refused:
            click.echo(safe(f"refused: {one.refused}"), err=True)


def _age(read: Read, now: float) -> str:
    said = []
    if read.seen:
        said.append(f"last seen at the server {_since(now - read.seen)} ago")
    if read.committed:
        what = f"commit {read.commit[:12]}" if read.commit else "its newest ledger"
        said.append(f"{what} is {_since(now - read.committed)} old")
    return ", ".join(said)


def _since(seconds: float) -> str:
    for size, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {name}"
    return f"{max(seconds, 0):.0f} s"


def _lines(one: Procedure) -> Iterator[str]:
    from_ = f" {', '.join(one.left)} →" if one.left else ""
    yield safe(f"{one.unit} in {one.environment} on {one.cluster}:{from_} {one.to}")
    if one.refused:
        yield safe(f"  not yet: {one.refused}")
    for warning in one.warnings:
        yield safe(f"  note: {warning}")
    for number, stage in enumerate(one.stages, 1):
        yield ""
        yield safe(f"{number}. {stage.title}")
        yield from (safe(f"   {note}") for note in stage.notes)
        for command in stage.commands:
            yield f"   {command}"
            if command.why:
                yield safe(f"     # {command.why}")


def _script(made: Sequence[Procedure], read: str) -> Iterator[str]:
    yield "#!/bin/sh"
    yield safe(f"# Read from {read}")
    yield "set -eu"
    for one in made:
        yield ""
        yield safe(f"# {one.unit} in {one.environment} on {one.cluster}: to {one.to}")
        yield from (safe(f"# {warning}") for warning in one.warnings)
        for stage in one.stages:
            yield from _stage_script(stage)


def _stage_script(stage: Stage) -> Iterator[str]:
    yield ""
    yield safe(f"# {stage.title}")
    yield from (safe(f"# {note}") for note in stage.notes)
    for command in stage.commands:
        if stage.name == "hand back":
            yield f"# {command}"
        elif stage.name == "look":
            yield f'ready="$({command})"'
            said = shlex.quote("nothing was moved: it has no ready pod")
            yield f'[ "${{ready:-0}}" -ge 1 ] || {{ echo {said} >&2; exit 1; }}'
        else:
            yield str(command)


def _data(read: Read) -> dict[str, Any]:
    return {
        "from": read.words,
        "commit": read.commit,
        "committed": round(read.committed),
        "seen": round(read.seen),
    }


def _procedure_data(one: Procedure) -> dict[str, Any]:
    return {
        "unit": one.unit,
        "environment": one.environment,
        "cluster": one.cluster,
        "to": one.to,
        "left": list(one.left),
        "reason": one.reason,
        "refused": one.refused,
        "warnings": list(one.warnings),
        "stages": [
            {
                "name": stage.name,
                "title": stage.title,
                "notes": list(stage.notes),
                "commands": [
                    {"command": str(c), "arguments": [c.program, *c.arguments], "why": c.why}
                    for c in stage.commands
                ],
            }
            for stage in one.stages
        ],
    }
