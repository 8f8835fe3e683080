"""A real Gitea on loopback: sqlite, one administrator, a bot whose token we use, and two people.

Built by scripts/tools.py. `world` gives one that runs for the whole session; each test makes a repository
of its own there.
"""

import base64
import json
import os
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote

from tests.servers.process import Process, free_port, started
from tests.tools import find, roots, tool

ADMIN = "root-of-all"
BOT = "gati-bot"
PEOPLE = ("ana", "ben")
PASSWORD = "not-a-Secret-1"

_INI = """
RUN_MODE = prod
RUN_USER = {user}
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
WORK_PATH = {folder}

[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = {port}
ROOT_URL = http://127.0.0.1:{port}/
STATIC_ROOT_PATH = {static}
DISABLE_SSH = true
OFFLINE_MODE = true
LFS_START_SERVER = false

[database]
DB_TYPE = sqlite3
PATH = {folder}/gitea.db
SQLITE_JOURNAL_MODE = WAL

[security]
INSTALL_LOCK = true
SECRET_KEY = for-tests
INTERNAL_TOKEN = eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJuYmYiOjE3MDAwMDAwMDB9.0hLb2pz3Qm4mH2Y4g0J6d3d6G2Hk0m0V8G3N0m0m0m0
PASSWORD_HASH_ALGO = pbkdf2$1$8

[log]
LEVEL = Warn
[repository]
DEFAULT_BRANCH = main
[indexer]
ISSUE_INDEXER_TYPE = db
[mailer]
ENABLED = false
[actions]
ENABLED = false
[cron.update_checker]
ENABLED = false
[queue]
TYPE = channel
[service]
DISABLE_REGISTRATION = true
"""


class Gitea:
    """The server, and what an administrator or a person does there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.program = tool("gitea")
        self.git = tool("git")
        self.static = _static()
        folder.mkdir(parents=True, exist_ok=True)
        self.url = ""
        self.tokens: dict[str, str] = {}
        self.process = started(3, self._start)
        self._made = 0

    def _start(self) -> Process | None:
        port = free_port()
        self.ini = self.folder / "app.ini"
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True)
        self.ini.write_text(
            _INI.format(user=user.stdout.strip(), folder=self.folder, port=port, static=self.static)
        )
        if not self.tokens:
            self._run("migrate")
            self._user(ADMIN, "--admin")
            for name in (BOT, *PEOPLE):
                self._user(name)
        self.url = f"http://127.0.0.1:{port}"
        process = Process(
            [self.program, "web", "-c", self.ini], self.folder / "log", env=self._env()
        )
        if not process.answers(("127.0.0.1", port)):
            process.end()
            return None
        return process

    def close(self) -> None:
        self.process.end()

    # ------------------------------------------------------------------------------ people at work

    def repository(self, owner: str = ADMIN) -> str:
        """A new repository with one commit on main, where the bot may write and the people read."""
        self._made += 1
        name = f"output-{self._made}"
        self.api(
            "POST",
            "/user/repos",
            {"name": name, "auto_init": True, "default_branch": "main"},
            owner,
        )
        path = f"/repos/{owner}/{name}"
        self.api("PUT", f"{path}/collaborators/{BOT}", {"permission": "write"}, owner)
        for person in PEOPLE:
            self.api("PUT", f"{path}/collaborators/{person}", {"permission": "write"}, owner)
        return f"{owner}/{name}"

    def commit(
        self, repository: str, branch: str, path: str, text: str, who: str = BOT, **more: Any
    ) -> str:
        """One commit on a branch, made by the web; `new_branch` makes one first."""
        body = {"content": base64.b64encode(text.encode()).decode(), "branch": branch, **more}
        made = self.api("POST", f"/repos/{repository}/contents/{quote(path)}", body, who)
        return made["commit"]["sha"]

    def branches(self, repository: str) -> dict[str, str]:
        found = self.api("GET", f"/repos/{repository}/branches?limit=50", None, ADMIN)
        return {branch["name"]: branch["commit"]["id"] for branch in found}

    def pull(self, repository: str, number: int) -> Any:
        return self.api("GET", f"/repos/{repository}/pulls/{number}", None, ADMIN)

    def settled(self, repository: str, number: int) -> Any:
        """The pull request, once Gitea has found out whether it can be merged."""
        for _ in range(100):
            pull = self.pull(repository, number)
            if pull["mergeable"] or pull["merged"]:
                return pull
            time.sleep(0.1)
        raise AssertionError(f"pull request {number} is not mergeable")

    def api(self, method: str, path: str, body: Any, who: str = ADMIN, patience: int = 100) -> Any:
        request = urllib.request.Request(
            f"{self.url}/api/v1{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"token {self.tokens[who]}",
                "Content-Type": "application/json",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                raw = answer.read()
        except HTTPError as error:
            told = error.read()
            if error.code == 405 and b"try again later" in told and patience:
                time.sleep(0.2)  # it still finds out whether the pull request can be merged
                return self.api(method, path, body, who, patience - 1)
            raise AssertionError(f"{method} {path}: {error.code} {told!r}") from None
        return json.loads(raw) if raw else None

    # ------------------------------------------------------------------------------ setting up

    def _user(self, name: str, *more: str) -> None:
        create = ["--username", name, "--email", f"{name}@example.com", "--password", PASSWORD]
        out = self._run(
            "admin", "user", "create", *create, "--must-change-password=false",
            "--access-token", "--access-token-name", "tests", "--access-token-scopes", "all", *more,
        )  # fmt: skip
        token = out.split("Access token was successfully created... ")[1].split()[0]
        self.tokens[name] = token

    def _run(self, *args: str) -> str:
        done = subprocess.run(
            [self.program, *args, "-c", self.ini],
            env={**os.environ, **self._env()},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def _env(self) -> dict[str, str]:
        # Gitea calls git by its name, and wants a home of its own.
        path = f"{self.git.parent}{os.pathsep}{os.environ.get('PATH', '')}"
        return {"PATH": path, "HOME": str(self.folder), "GITEA_WORK_DIR": str(self.folder)}


def _static() -> Path:
    for root in roots():
        if (root / "share/gitea/templates").is_dir():
            return root / "share/gitea"
    program = find("gitea")
    raise AssertionError(f"the templates of {program} are not beside it: run `make tools`")
