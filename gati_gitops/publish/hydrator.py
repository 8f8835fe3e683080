"""What gitops-promoter reads: which commit of the specs a commit of the output was made from.

`hydrator.metadata` is a file beside the output, and a note on the commit says the same in short, so
that a later commit of the specs that changed nothing is known, too. Field by field as in Argo CD's
source hydrator (util/hydrator/hydrator.go) and in the contract that gitops-promoter publishes for
others (docs/advanced-usage/custom-hydrator.md).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from gati_gitops.publish.message import REFERENCE, Reference, address, line, text

FILE = "hydrator.metadata"
_SHA = re.compile(r"[0-9a-f]{5,40}\Z")
_ADDRESS = re.compile(r"[^<>]*<[^<>\s]+@[^<>\s]+>\Z")


def hydrator_metadata(reference: Reference, commands: Iterable[str] = ()) -> bytes:
    """The file. ``commands`` are what a person would run to get the same."""
    related, body = _related(reference.body)
    data = {
        "repoURL": line(reference.repo_url),
        "drySha": line(reference.sha),
        "commands": [line(command) for command in commands],
        "author": address(reference.author, reference.email),
        "date": line(reference.date),
        "subject": line(reference.subject),
        "body": text(body),
        "references": [{"commit": related}] if related else [],
    }
    return _dumped(data) + b"\n"


def hydrator_note(reference: Reference) -> bytes:
    """The note on the commit."""
    return json.dumps({"drySha": line(reference.sha)}).encode()


def _dumped(data: Mapping[str, Any]) -> bytes:
    kept = {name: value for name, value in data.items() if value}
    return json.dumps(kept, indent=2, ensure_ascii=False).encode()


def _related(body: str) -> tuple[dict[str, str], str]:
    """The commit that the specs' own commit refers to, and the rest of its text.

    An image's repository puts these trailers into the commit by which it bumps a spec. The last
    of a kind counts, and one that is not as it should be is just text.
    """
    found: dict[str, str] = {}
    rest: list[str] = []
    for written in body.splitlines():
        key, colon, value = written.partition(": ")
        name = key.removeprefix(REFERENCE)
        read = _read(name, value) if colon and name != key else None
        if read is None:
            rest.append(written)
        else:
            found["repoURL" if name == "repourl" else name] = read
    return found, "\n".join(rest)


def _read(name: str, value: str) -> str | None:
    """A trailer's value; None if it is not one."""
    match name:
        case "subject":
            return line(value)
        case "repourl":
            return line(value) if " " not in value else None
        case "sha":
            return value if _SHA.match(value) else None
        case "author":
            return line(value) if _ADDRESS.match(value) else None
        case "date":
            return value if _is_time(value) else None
        case "body":
            return _string(value)
    return None


def _is_time(value: str) -> bool:
    try:
        return datetime.fromisoformat(value).tzinfo is not None and "T" in value
    except ValueError:
        return False


def _string(value: str) -> str | None:
    try:
        read = json.loads(value)
    except ValueError:
        return None
    return text(read) if isinstance(read, str) else None
