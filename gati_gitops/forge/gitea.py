"""Gitea and Forgejo, by their REST API, version 1."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from gati_gitops.forge.answers import understood
from gati_gitops.forge.http import segment
from gati_gitops.forge.model import (
    Done,
    ForgeError,
    PullRequest,
    Text,
    Unanswered,
)
from gati_gitops.forge.pulls import Pulls
from gati_gitops.forge.text import fit, one_line, same

_DRAFT = "WIP: "
_METHODS = (
    ("allow_merge_commits", "merge"),
    ("allow_rebase", "rebase"),
    ("allow_squash_merge", "squash"),
    ("allow_fast_forward_only_merge", "fast-forward-only"),
)


class Gitea(Pulls):
    """One repository on Gitea or Forgejo."""

    name = "Gitea"
    body_limit = 65_535
    """What a text of MySQL holds, the least of the databases that Gitea runs on."""
    check_limit = 255

    # ------------------------------------------------------------------------------ finding

    def find(self, branch_prefix: str) -> list[PullRequest]:
        items = self._http.pages(
            f"{self._repo}/pulls", "list pull requests", state="open", sort="oldest", limit=50
        )
        return [
            _pull(item) for item in items if _branch(item).startswith(branch_prefix) and _own(item)
        ]

    def closed(self, branch: str) -> list[PullRequest]:
        items = self._http.some(
            f"{self._repo}/pulls", "list pull requests", state="closed", limit=50
        )
        found = [_pull(item) for item in items if _branch(item) == branch and _own(item)]
        return sorted(found, key=lambda pull: -pull.number)

    # ------------------------------------------------------------------------------ writing

    def open(self, branch: str, base: str, text: Text) -> Done:
        body = {
            "title": _title(text),
            "head": branch,
            "base": base,
            "body": fit(text.body, self.body_limit),
        }
        path = f"{self._repo}/pulls"
        try:
            item = self._http.send("POST", path, f"open a pull request for {branch}", body)
        except ForgeError as error:
            # there already is one, made by a run beside us or by one whose answer was lost
            if not isinstance(error, Unanswered) and error.status != 409:
                raise
            found = self.find(branch)
            there = [pull for pull in found if (pull.branch, pull.base) == (branch, base)]
            if not there:
                raise
            return self.update(there[0], text)
        return self._dress(_pull(item), text)

    def update(self, pull: PullRequest, text: Text) -> Done:
        change = {}
        if not same(pull.title, one_line(text.title, 240)) or pull.draft != text.draft:
            change["title"] = _title(text)
        if not same(pull.body, body := fit(text.body, self.body_limit)):
            change["body"] = body
        if change:
            path = f"{self._repo}/pulls/{pull.number}"
            doing = f"update pull request {pull.number}"
            pull = _pull(self._http.send("PATCH", path, doing, change))
        return self._dress(pull, text)

    def _dress(self, pull: PullRequest, text: Text) -> Done:
        """Labels and reviewers; those that people have added stay."""
        notes: tuple[str, ...] = ()
        if missing := [label for label in text.labels if label not in pull.labels]:
            path = f"{self._repo}/issues/{pull.number}/labels"
            try:
                ids = self._labels(missing)
                self._http.send("POST", path, "add labels", {"labels": ids})
            except ForgeError as error:
                if error.status not in (403, 404, 422):
                    raise
                notes = (error.message,)
        return Done(pull, (*notes, *self._ask(pull, text.reviewers)))

    def _labels(self, names: list[str]) -> list[int]:
        """The numbers of labels; those that are not there yet are made."""
        path = f"{self._repo}/labels"
        known = {
            item["name"]: item["id"] for item in self._http.pages(path, "list labels", limit=50)
        }
        for name in names:
            if name not in known:
                made = self._http.send(
                    "POST", path, f"make the label {name}", {"name": name, "color": "#0e8a16"}
                )
                known[name] = made["id"]
        return [known[name] for name in names]

    def _ask(self, pull: PullRequest, reviewers: tuple[str, ...]) -> tuple[str, ...]:
        if not set(reviewers) - set(pull.reviewers):
            return ()
        path = f"{self._repo}/pulls/{pull.number}"
        known = list(pull.reviewers)
        for review in self._http.pages(f"{path}/reviews", "list reviews", limit=50):
            known.append((review.get("user") or {}).get("login", ""))
            known.append(f"{self._owner}/{(review.get('team') or {}).get('name', '')}")
        return self._request(pull.number, reviewers, known)

    # ------------------------------------------------------------------------------ merging, checks

    def merge_when_ready(self, pull: PullRequest, head: str) -> str:
        branch = self._http.get(
            f"{self._repo}/branches/{segment(pull.base)}", f"show branch {pull.base}"
        )
        if not branch.get("enable_status_check"):
            return f"{pull.base} demands no check, so auto-merge would not wait for any"
        settings = self._http.get(self._repo, "show the repository")
        method = next((name for key, name in _METHODS if settings.get(key, True)), "merge")
        body = {"Do": method, "merge_when_checks_succeed": True, "head_commit_id": head}
        for _ in range(5):
            # Gitea itself compares heads only when it merges at once
            if self._get(pull.number)["head"]["sha"] != head:
                return f"pull request {pull.number} is no longer at {head[:8]}"
            try:
                path = f"{self._repo}/pulls/{pull.number}/merge"
                self._http.send("POST", path, "merge it when its checks pass", body)
            except ForgeError as error:
                if error.status == 409 and "schedul" in error.message.lower():
                    return ""  # by an earlier run
                if error.status not in (403, 404, 405, 409, 422, 423):
                    raise
                # it is still finding out whether there are conflicts
                if "try again later" not in error.message or not self._http.pause(1):
                    return error.message
            else:
                return ""
        return f"{self.name} has not found out yet whether it can be merged"


@understood
def _branch(item: Any) -> str:
    """Its name, also when the branch is gone: `ref` is something else then."""
    return str(item["head"]["label"] or item["head"]["ref"])


@understood
def _own(item: Any) -> bool:
    """Whether the branch is in the repository itself: anybody may name a branch of a fork."""
    return bool(item["head"]["repo_id"] == item["base"]["repo_id"])


def _title(text: Text) -> str:
    return f"{_DRAFT if text.draft else ''}{one_line(text.title, 240)}"


@understood
def _pull(item: Any) -> PullRequest:
    draft = bool(item.get("draft"))
    people = [user["login"] for user in item.get("requested_reviewers") or () if user]
    owner = ((item["base"].get("repo") or {}).get("owner") or {}).get("login", "")
    teams = [f"{owner}/{team['name']}" for team in item.get("requested_reviewers_teams") or ()]
    return PullRequest(
        number=item["number"],
        url=item["html_url"],
        branch=_branch(item),
        base=item["base"]["ref"],
        head=item["head"]["sha"],
        title=item["title"].removeprefix(_DRAFT) if draft else item["title"],
        body=item["body"] or "",
        labels=tuple(label["name"] for label in item["labels"] or ()),
        reviewers=(*people, *teams),
        state="merged" if item["merged"] else "open" if item["state"] == "open" else "closed",
        draft=draft,
        auto_merge=False,
        updated=datetime.fromisoformat(item["updated_at"]),
    )
