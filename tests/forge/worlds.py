"""The three forges, each with a repository, a bot, and people who do what people do.

GitHub and GitLab are servers of ours that hold to their published contracts; Gitea is real.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

from gati_gitops.forge.choose import forge_for
from gati_gitops.forge.model import Forge
from gati_gitops.web.connect import Limits
from tests.servers.gitea import Gitea
from tests.servers.github import TOKEN as GITHUB_TOKEN
from tests.servers.github import GitHubServer
from tests.servers.gitlab import TOKEN as GITLAB_TOKEN
from tests.servers.gitlab import GitLabServer

LIMITS = Limits(connect=5, read=10, answer=20, attempts=4, patience=600)


class Pauses(list[float]):
    """Takes the place of sleep and remembers how long it would have been."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


@dataclass
class World:
    kind: str
    forge: Forge
    server: Any
    pauses: Pauses
    repository: str = "acme/output"

    def push(self, branch: str, text: str = "one") -> str:
        """A branch with a commit on main; its id."""
        if self.kind == "gitea":
            old = self.server.branches(self.repository)
            at, more = (branch, {}) if branch in old else ("main", {"new_branch": branch})
            path = f"{hashlib.sha1(text.encode()).hexdigest()}.txt"
            return self.server.commit(self.repository, at, path, text, **more)
        sha = hashlib.sha1(f"{branch} {text}".encode()).hexdigest()
        self.server.branches()[branch] = sha
        return sha

    def labels(self, number: int) -> set[str]:
        if self.kind == "gitea":
            return {label["name"] for label in self.server.pull(self.repository, number)["labels"]}
        found = self.server.pull(number)["labels"]
        return {label if isinstance(label, str) else label["name"] for label in found}

    def label_by_hand(self, number: int, label: str) -> None:
        if self.kind == "gitea":
            path = f"/repos/{self.repository}"
            made = self.server.api("POST", f"{path}/labels", {"name": label, "color": "#ff0000"})
            self.server.api("POST", f"{path}/issues/{number}/labels", {"labels": [made["id"]]})
        elif self.kind == "gitlab":
            self.server.pull(number)["labels"].append(label)
        else:
            self.server.pull(number)["labels"].append({"name": label})

    def comments(self, number: int) -> list[str]:
        if self.kind == "gitea":
            path = f"/repos/{self.repository}/issues/{number}/comments"
            return [comment["body"] for comment in self.server.api("GET", path, None)]
        kept = self.server.comments if self.kind == "github" else self.server.notes
        return [comment["body"] for comment in kept.get(number, [])]

    def say(self, number: int, body: str, who: str = "ana") -> None:
        if self.kind == "gitea":
            path = f"/repos/{self.repository}/issues/{number}/comments"
            self.server.api("POST", path, {"body": body}, who)
        else:
            self.server.say(number, body, who)

    def check(self, sha: str, name: str) -> str:
        """The state of a check as the forge shows it."""
        if self.kind == "gitea":
            path = f"/repos/{self.repository}/commits/{sha}/status"  # the latest of each
            found = self.server.api("GET", path, None)["statuses"]
            return next(s["status"] for s in found if s["context"] == name)
        if self.kind == "gitlab":
            return self.server.statuses[sha, name]
        return next(s["state"] for s in reversed(self.server.statuses[sha]) if s["context"] == name)

    def protect(self, *checks: str) -> None:
        """Main wants these checks to pass; without any, it wants none."""
        if self.kind == "gitea" and checks:
            rule = {
                "rule_name": "main",
                "enable_status_check": True,
                "status_check_contexts": checks,
            }
            self.server.api("POST", f"/repos/{self.repository}/branch_protections", rule)
        elif self.kind == "gitlab":
            self.server.pipelines_must_succeed = bool(checks)
        elif self.kind == "github":
            self.server.required_checks = list(checks)


def github() -> World:
    server = GitHubServer({"main": "a" * 40})
    pauses = Pauses()
    environ = {
        "GATI_FORGE": "github",
        "GATI_FORGE_URL": server.url,
        "GATI_FORGE_TOKEN": GITHUB_TOKEN,
    }
    forge = forge_for("git@git.example.com:acme/output.git", environ, limits=LIMITS, pause=pauses)
    return World("github", forge, server, pauses)


def gitlab() -> World:
    server = GitLabServer({"main": "a" * 40})
    pauses = Pauses()
    environ = {
        "GATI_FORGE_URL": server.url,
        "GATI_FORGE": "gitlab",
        "GATI_FORGE_TOKEN": GITLAB_TOKEN,
    }
    address = "https://git.example.com/acme/platform/output.git"
    forge = forge_for(address, environ, limits=LIMITS, pause=pauses)
    return World("gitlab", forge, server, pauses, "acme/platform/output")


def gitea(server: Gitea) -> World:
    repository = server.repository()
    pauses = Pauses()
    environ = {"GATI_FORGE": "forgejo", "GATI_FORGE_TOKEN": server.tokens["gati-bot"]}
    forge = forge_for(f"{server.url}/{repository}.git", environ, limits=LIMITS, pause=pauses)
    return World("gitea", forge, server, pauses, repository)
