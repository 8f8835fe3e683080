"""Reading a folder of specs, one file of them, or standard input.

Which files count is said in spec/files.py. Nothing is followed out of the folder: what a symlink
there points to is not what the author of the specs wrote.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from gati_gitops.errors import Outside, Refused
from gati_gitops.spec.files import is_entered, is_skipped, is_spec
from gati_gitops.yamlio.text import MAX_BYTES

STDIN = "-"

Files = list[tuple[str, bytes]]


def read_specs(where: str) -> Files:
    """Names (relative, with forward slashes) and bytes of the spec files; sorted by name."""
    if where == STDIN:
        return [("stdin", sys.stdin.buffer.read(MAX_BYTES + 1))]
    path = Path(where)
    try:
        if path.is_file():
            return [(_name(path.name), _read(path))]
        if path.is_dir():
            return sorted((_name(name), _read(path / name)) for name in _spec_files(path))
    except OSError as error:
        raise Outside(
            f"cannot read {error.filename or where}: {error.strerror}",
            remedy="check that the folder and its files can be read",
        ) from error
    raise Outside(
        f"there is no folder or file {where}",
        remedy="name the folder that holds the specs, a file, or - for standard input",
    )


def _spec_files(root: Path) -> Iterator[str]:
    """Paths below the root: regular files, then links to files that have not been met yet."""
    home = os.path.realpath(root)
    met: set[str] = set()
    links: list[tuple[str, str]] = []
    folders = [""]
    while folders:
        folder = folders.pop()
        with os.scandir(root / folder) as entries:
            for entry in entries:
                name = f"{folder}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    if is_entered(name):
                        folders.append(f"{name}/")
                elif entry.is_symlink():
                    if not is_skipped(name):
                        links.append((name, _inside(entry.path, name, home)))
                elif is_spec(name) and entry.is_file():
                    met.add(os.path.join(home, name))  # noqa: PTH118 - thousands of them
                    yield name
    for name, target in sorted(links):
        # A mounted ConfigMap is a folder of links into a hidden one.
        if is_spec(name) and target not in met and Path(target).is_file():
            met.add(target)
            yield name


def _inside(link: str, name: str, home: str) -> str:
    target = os.path.realpath(link)
    if target != home and not target.startswith(home + os.sep):
        raise Refused(
            f"{name} is a symbolic link that leads out of the specs",
            remedy="copy what it points to into the folder, or remove the link",
        )
    if is_spec(name) and not Path(target).exists():
        # Left out, it would look like a spec that was deleted.
        raise Refused(
            f"{name} is a symbolic link to nothing",
            remedy="restore the file that it points to, or remove the link",
        )
    return target


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        # One byte more than the limit is enough for the reader to see that it is too much.
        return file.read(MAX_BYTES + 1)


def _name(name: str) -> str:
    return os.fsencode(name).decode(errors="replace")
