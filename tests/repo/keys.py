"""Keys, commits and the programs that judge them: ssh-keygen, gpg and git themselves."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.tools import tool

WHO = "Ann Example <ann@example.org>"
TIME = 1_767_225_600  # 2026-01-01
QUIET = {
    "PATH": os.environ["PATH"],
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "Ann",
    "GIT_AUTHOR_EMAIL": "ann@example.org",
    "GIT_COMMITTER_NAME": "Ann",
    "GIT_COMMITTER_EMAIL": "ann@example.org",
    "GIT_AUTHOR_DATE": f"@{TIME} +0000",
    "GIT_COMMITTER_DATE": f"@{TIME} +0000",
}


def run(
    *command: str | Path,
    given: bytes = b"",
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    ok: bool = True,
) -> subprocess.CompletedProcess[bytes]:
    """Run a program by its name."""
    program, *rest = (str(word) for word in command)
    made = subprocess.run(
        [str(tool(program)), *rest],
        input=given,
        capture_output=True,
        env={**QUIET, **(env or {})},
        cwd=cwd,
        check=False,
    )
    if ok:
        assert made.returncode == 0, made.stderr.decode() + made.stdout.decode()
    return made


def ssh_key(folder: Path, kind: str = "ed25519", passphrase: str = "", *options: str) -> Path:
    path = folder / f"key-{kind}-{len(list(folder.iterdir()))}"
    run("ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", "ann", "-f", path, *options)
    return path


def allowed_line(key: Path, options: str = "", who: str = "ann@example.org") -> str:
    kind, blob, *_ = key.with_name(key.name + ".pub").read_text().split()
    return " ".join(word for word in (who, options, kind, blob) if word) + "\n"


def payload(message: str = "Start cart v2\n", time: int = TIME) -> bytes:
    """A commit without a signature."""
    lines = [
        "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        f"author {WHO} {time} +0000",
        f"committer {WHO} {time} +0000",
        "",
        message,
    ]
    return "\n".join(lines).encode()


def signed(content: bytes, signature: str) -> bytes:
    """The commit with its signature, as Git stores it."""
    head, _, message = content.partition(b"\n\n")
    lines = signature.rstrip("\n").encode().replace(b"\n", b"\n ")
    return head + b"\ngpgsig " + lines + b"\n\n" + message


def repository(folder: Path) -> Path:
    run("git", "init", "-q", "-b", "main", folder)
    return folder


def stored(repo: Path, raw: bytes) -> str:
    """Put a commit into a repository; its id."""
    run("git", "-C", repo, "hash-object", "-t", "tree", "-w", "--stdin")
    made = run("git", "-C", repo, "hash-object", "-t", "commit", "-w", "--stdin", given=raw)
    return made.stdout.decode().strip()


def raw_commit(repo: Path, rev: str = "HEAD") -> bytes:
    return run("git", "-C", repo, "cat-file", "commit", rev).stdout
