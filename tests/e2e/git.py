"""The Git server of a world: https with a certificate of its own, and a token for everybody."""

import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.e2e.processes import Place
from tests.repo.gitkit import git
from tests.servers.certificates import Authority
from tests.servers.places import WEB_ENVIRON, new_repository
from tests.servers.web import Web

PORTS = (8418, 8443)


class GitServer:
    def __init__(self, place: Place) -> None:
        self._place = place
        folder = place.folder / "git"
        self.authority = Authority(folder / "authority")
        self.bare = new_repository(folder / "repositories" / "deploy.git", seed=False)
        with place.inside():
            self._web = Web(folder / "web", folder / "repositories", self.authority, PORTS)

    @property
    def url(self) -> str:
        return self._web.url("deploy.git", tls=True)

    @property
    def environ(self) -> dict[str, str]:
        """How our own commands reach it."""
        return {**WEB_ENVIRON, "SSL_CERT_FILE": str(self.authority.file)}

    def tip(self, branch: str = "main") -> str:
        return git(self.bare, "rev-parse", f"refs/heads/{branch}")

    def log(self, branch: str = "main") -> list[str]:
        """Subjects, oldest first."""
        return git(self.bare, "log", "--reverse", "--format=%s", branch).splitlines()

    def show(self, path: str, rev: str = "main") -> str:
        return git(self.bare, "show", f"{rev}:{path}")

    def tree(self, rev: str = "main") -> dict[str, bytes]:
        """Every file of a commit."""
        names = git(self.bare, "ls-tree", "-r", "--name-only", rev).splitlines()
        return {
            name: subprocess.run(
                ["git", "-C", str(self.bare), "cat-file", "blob", f"{rev}:{name}"],
                capture_output=True, check=True,
            ).stdout
            for name in names
        }  # fmt: skip

    def edit(self, path: str, change: Callable[[str], str], message: str) -> str:
        """A person's commit that changes one file; the branch is at it afterwards."""
        old = self.show(path)
        new = change(f"{old}\n")
        assert new != f"{old}\n", f"nothing to change in {path}"
        blob = git(self.bare, "hash-object", "-w", "--stdin", data=new.encode())
        index = {"GIT_INDEX_FILE": str(self.folder / "index")}
        git(self.bare, "read-tree", "main", **index)
        git(self.bare, "update-index", "--cacheinfo", f"100644,{blob},{path}", **index)
        tree = git(self.bare, "write-tree", **index)
        tip = self.tip()
        made = git(self.bare, "commit-tree", tree, "-p", tip, "-m", message)
        git(self.bare, "update-ref", "refs/heads/main", made, tip)
        return made

    def cut(self) -> None:
        """Nobody reaches it any more."""
        self._web.stop()

    def mend(self) -> None:
        with self._place.inside():
            self._web.go()

    def end(self) -> None:
        self._web.end()

    @property
    def folder(self) -> Path:
        return self._place.folder / "git"
