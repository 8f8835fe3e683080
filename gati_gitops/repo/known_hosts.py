"""Which ssh hosts are who they say they are.

libgit2 compares a host's key with `.ssh/known_hosts` in what it takes for the home folder, names of
hosts in the clear or hashed. So it gets a home of its own for the time of an exchange, with the
lines of the files that the user chose. Nothing is ever added: a host that is not in them is
refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gati_gitops.errors import Outside


def write_known_hosts(home: Path, files: Sequence[Path]) -> Path:
    """Fill a home folder with all that the files know, but for keys that were revoked."""
    lines: list[str] = []
    for file in files:
        try:
            lines += file.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError as error:
            raise Outside(
                f"cannot read {file}: {error.strerror}",
                remedy="give GATI_SSH_KNOWN_HOSTS a file that this user may read",
            ) from None
    folder = home / ".ssh"
    folder.mkdir(mode=0o700, parents=True)
    (folder / "known_hosts").write_text("".join(f"{line}\n" for line in _sound(lines)))
    return home


def _sound(lines: Sequence[str]) -> list[str]:
    """Lines that libssh2 understands: it knows no markers, and would take one for a host."""
    fields = [line.split() for line in lines]
    revoked = {words[3] for words in fields if words[:1] == ["@revoked"] and len(words) > 3}
    return [
        line
        for line, words in zip(lines, fields, strict=True)
        if len(words) > 2 and words[0][0] not in "@#" and words[2] not in revoked
    ]
