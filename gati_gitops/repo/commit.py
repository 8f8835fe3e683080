"""Commits: what is to become one, how it is made, how one is read, and whether it is ours.

Ours has our trailers and one parent at most. One that was rebased, squashed or picked elsewhere
still has the trailers; that it stands elsewhere is told by one of them, `Gati-Base`, the parent for
which it was made.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from gati_gitops.errors import Refused
from gati_gitops.repo.objects import COMMIT, Objects
from gati_gitops.tree import Changes

OURS = ("Gati-Compiler", "Gati-Decision")
"""Trailers of which each commit of ours has one."""

_BASE = "Gati-Base"
CHECKED = "Gati-Checked"
"""The trailer of a commit that was made on checked signatures."""
_TRAILER = re.compile(r"([A-Za-z0-9][A-Za-z0-9-]*):[ \t]+(\S.*)")
_NOT_IN_NAMES = re.compile(r"[\x00-\x1f\x7f<>]+")


@dataclass(frozen=True, slots=True)
class Signature:
    """Who commits."""

    name: str
    email: str


class Signer(Protocol):
    """Signs the bytes of a commit; the armoured signature is what it gives."""

    def sign(self, payload: bytes) -> str: ...


@dataclass(frozen=True, slots=True)
class Draft:
    """One commit to be."""

    changes: Changes
    message: str
    environment: str = ""
    note: bytes | None = None
    root: str = ""
    """The folder that the paths of the changes are relative to."""
    tree: str = ""
    """The tree that the changes make, if it was built already."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit as it is in the repository."""

    id: str
    tree: str
    parents: tuple[str, ...]
    author: Signature
    committer: Signature
    time: int
    """When it was committed, in seconds since 1970."""
    message: str


def create_commit(
    objects: Objects,
    tree: str,
    parents: Sequence[str],
    message: str,
    *,
    author: Signature,
    committer: Signature,
    time: int,
    signer: Signer | None = None,
) -> str:
    """Make a commit; its id. It is on disk after the next flush."""
    if "\0" in message:
        raise Refused("a commit message holds a NUL character", remedy="take it out")
    head = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
    head.append(f"author {_identity(author)} {time} +0000")
    head.append(f"committer {_identity(committer)} {time} +0000")
    text = message.rstrip("\n") + "\n"
    if parents and not trailers(text).keys().isdisjoint(OURS):
        text += f"{_BASE}: {parents[0]}\n"
    payload = "\n".join([*head, "", text]).encode()
    if signer is not None:
        lines = signer.sign(payload).rstrip("\n").split("\n")
        head.append("gpgsig " + "\n ".join(lines))
        payload = "\n".join([*head, "", text]).encode()
    return objects.add(COMMIT, payload).hex()


def read_commit(objects: Objects, id: str) -> Commit:
    """A commit of the repository."""
    head, _, message = objects.read(bytes.fromhex(id), COMMIT).partition(b"\n\n")
    fields: dict[bytes, list[bytes]] = {}
    for line in head.split(b"\n"):
        key, _, value = line.partition(b" ")
        fields.setdefault(key, []).append(value)
    author, _ = _person(fields.get(b"author", [b""])[0])
    committer, time = _person(fields.get(b"committer", [b""])[0])
    return Commit(
        id=id,
        tree=fields[b"tree"][0].decode(),
        parents=tuple(parent.decode() for parent in fields.get(b"parent", ())),
        author=author,
        committer=committer,
        time=time,
        message=message.decode(errors="replace"),
    )


def is_ours(commit: Commit) -> bool:
    """Whether we made a commit, where it stands now."""
    base = trailers(commit.message).get(_BASE, "")
    return has_our_trailers(commit) and base == "".join(commit.parents)


def has_our_trailers(commit: Commit) -> bool:
    """Whether a commit is ours, or a copy of one of ours."""
    return not trailers(commit.message).keys().isdisjoint(OURS)


def trailers(message: str) -> dict[str, str]:
    """The trailers of a message: its last paragraph, if it has nothing else in it."""
    *text, last = message.rstrip().split("\n\n")
    found: dict[str, str] = {}
    for line in last.split("\n") if text else ():
        match = _TRAILER.fullmatch(line.rstrip())
        if match is None:
            return {}
        found[match[1]] = match[2]
    return found


def _identity(who: Signature) -> str:
    name = _NOT_IN_NAMES.sub(" ", who.name).strip() or "unknown"
    return f"{name} <{_NOT_IN_NAMES.sub('', who.email).strip()}>"


def _person(line: bytes) -> tuple[Signature, int]:
    name, _, rest = line.decode(errors="replace").partition("<")
    email, _, when = rest.partition(">")
    seconds = when.split()[:1]
    time = int(seconds[0]) if seconds and seconds[0].isdigit() else 0
    return Signature(name.strip(), email.strip()), time
