"""A repository for one test, and how to reach it: as a folder, or on one of the servers."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gati_gitops.repo.address import Address, parse
from gati_gitops.repo.commit import Draft, Signature
from gati_gitops.repo.credentials import credentials
from gati_gitops.repo.exchange import Timeouts
from gati_gitops.repo.repository import Repository, open_repository
from gati_gitops.repo.retry import Retry
from gati_gitops.repo.writer import Written, write
from tests.repo.gitkit import git
from tests.servers.ssh import Ssh
from tests.servers.web import TOKEN, USER, Web

US = Signature("Robot", "robot@example.test")
QUICK = Timeouts(connect=5, idle=20, total=60)


def hasty(attempts: int = 10, **more) -> Retry:
    """Kargo's numbers, in less time."""
    return Retry(attempts=attempts, first=0.01, cap=0.1, **more)


@dataclass(frozen=True)
class Place:
    kind: str
    bare: Path
    url: str
    environ: Mapping[str, str] = field(default_factory=dict)
    git_environ: Mapping[str, str] = field(default_factory=dict)
    cache: Path | None = None

    @property
    def address(self) -> Address:
        return parse(self.url)

    def open(self, **options) -> Repository:
        options = {"timeouts": QUICK, "cache": self.cache, **options}
        environ = options.pop("environ", self.environ)
        return open_repository(
            self.address, credentials=credentials(self.address, environ), **options
        )

    def write(self, propose, *, retry: Retry | None = None, **options) -> Written:
        """One run of a publisher, from opening to closing."""
        with self.open(**options) as repository:
            return write(repository, propose, author=US, retry=retry or hasty())

    def git(self, *arguments: str) -> str:
        """git in the repository itself, as an operator."""
        return git(self.bare, *arguments)

    def tip(self, branch: str = "main") -> str:
        return self.git("rev-parse", f"refs/heads/{branch}")

    def subjects(self, branch: str = "main") -> list[str]:
        """Oldest first."""
        return self.git("log", "--reverse", "--format=%s", branch).splitlines()

    def commit(self, subject: str, *, branch: str = "main", parent: str | None = None) -> str:
        """An operator's commit, straight into the repository; the branch is moved by force."""
        above = self.tip(branch) if parent is None else parent
        tree = self.git("rev-parse", f"{above}^{{tree}}") if above else self.git("mktree")
        made = self.git("commit-tree", tree, *(["-p", above] if above else []), "-m", subject)
        self.git("update-ref", f"refs/heads/{branch}", made)
        return made

    def hook(self, name: str, script: str) -> None:
        path = self.bare / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)


def add(name: str, *, also: str = ""):
    """Propose a file, unless it is there: what every publisher does, in small."""

    def propose(tip):
        path = f"base/{name}.yaml"
        if tip.commit and tip.snapshot().read(path) is not None:
            return []
        return [Draft({path: name.encode()}, f"Add {name}{also}\n")]

    return propose


def place(kind: str, bare: Path, *, web: Web | None = None, ssh: Ssh | None = None) -> Place:
    """Reach a bare repository by one of four roads."""
    if kind == "path":
        return Place(kind, bare, str(bare))
    if kind == "ssh":
        assert ssh is not None
        return Place(kind, bare, ssh.url(bare), ssh.environ, ssh.git_environ)
    assert web is not None
    url = web.url(str(bare.relative_to(web.repositories)), tls=kind == "https")
    return Place(kind, bare, url, WEB_ENVIRON, web_git_environ())


WEB_ENVIRON = {"GATI_GIT_TOKEN": TOKEN, "GATI_GIT_USERNAME": USER}


def web_git_environ() -> dict[str, str]:
    basic = base64.b64encode(f"{USER}:{TOKEN}".encode()).decode()
    return {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "http.extraHeader",
        "GIT_CONFIG_VALUE_0": f"Authorization: Basic {basic}",
        "GIT_TERMINAL_PROMPT": "0",
    }


def new_repository(path: Path, *, seed: bool = True) -> Path:
    """A bare repository, with a person's commit unless it shall be empty."""
    path.mkdir(parents=True)
    git(path, "init", "-q", "--bare", "-b", "main", ".")
    git(path, "config", "core.logAllRefUpdates", "always")
    git(path, "config", "gc.auto", "0")
    if seed:
        blob = git(path, "hash-object", "-w", "--stdin", data=b"by people\n")
        tree = git(path, "mktree", data=f"100644 blob {blob}\tREADME.md\n".encode())
        first = git(path, "commit-tree", tree, "-m", "By a person")
        git(path, "update-ref", "refs/heads/main", first)
    return path


def history(place: Place, count: int) -> None:
    """Many commits of a person, made quickly."""
    lines = []
    for number in range(count):
        lines += [
            "commit refs/heads/main",
            f"committer A <a@b.test> {1_700_000_000 + number} +0000",
            f"data <<E\nNumber {number}\nE",
            *(["from refs/heads/main^0"] if number == 0 else []),
            f"M 100644 inline n/{number % 7}\ndata <<E\n{number}\nE",
        ]
    git(place.bare, "fast-import", "--quiet", data="\n".join([*lines, ""]).encode())
