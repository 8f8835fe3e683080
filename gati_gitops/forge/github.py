"""GitHub, by its REST API, version 2022-11-28; github.com, ghe.com and Enterprise Server.

Only auto-merge and leaving or entering draft go by GraphQL, since REST has no words for them.
Checks are commit statuses: check runs can be written by GitHub Apps only.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from gati_gitops.forge.answers import understood
from gati_gitops.forge.http import Http, segment
from gati_gitops.forge.model import (
    Done,
    ForgeError,
    PullRequest,
    Text,
    Unanswered,
)
from gati_gitops.forge.pulls import Pulls
from gati_gitops.forge.text import fit, one_line, same

_METHODS = (
    ("allow_merge_commit", "MERGE"),
    ("allow_rebase_merge", "REBASE"),
    ("allow_squash_merge", "SQUASH"),
)
_AUTO_MERGE = """mutation($input: EnablePullRequestAutoMergeInput!) {
  enablePullRequestAutoMerge(input: $input) { clientMutationId } }"""
_READY = """mutation($input: MarkPullRequestReadyForReviewInput!) {
  markPullRequestReadyForReview(input: $input) { clientMutationId } }"""
_DRAFT = """mutation($input: ConvertPullRequestToDraftInput!) {
  convertPullRequestToDraft(input: $input) { clientMutationId } }"""


class GitHub(Pulls):
    """One repository on GitHub."""

    name = "GitHub"
    body_limit = 65_536
    check_limit = 140

    def __init__(self, http: Http, repository: str, graphql: str) -> None:
        super().__init__(http, repository)
        self._graphql = graphql

    # ------------------------------------------------------------------------------ finding

    def find(self, branch_prefix: str) -> list[PullRequest]:
        items = self._http.pages(
            f"{self._repo}/pulls",
            "list pull requests",
            state="open",
            sort="created",
            direction="asc",
            per_page=100,
        )
        return [
            _pull(item) for item in items if _branch(item).startswith(branch_prefix) and _own(item)
        ]

    def closed(self, branch: str) -> list[PullRequest]:
        return self._of_branch(branch, "closed")

    def _of_branch(self, branch: str, state: str) -> list[PullRequest]:
        found = self._http.some(
            f"{self._repo}/pulls",
            "list pull requests",
            state=state,
            head=f"{self._owner}:{branch}",
            sort="created",
            direction="desc",
            per_page=30,
        )
        return [_pull(item) for item in found if _branch(item) == branch and _own(item)]

    # ------------------------------------------------------------------------------ writing

    def open(self, branch: str, base: str, text: Text) -> Done:
        try:
            item, notes = self._create(branch, base, text, tries=4)
        except ForgeError as error:
            # there already is one, made by a run beside us or by one whose answer was lost
            if not isinstance(error, Unanswered) and error.status != 422:
                raise
            there = [pull for pull in self._of_branch(branch, "open") if pull.base == base]
            if not there:
                raise
            return self.update(there[0], text)
        return self._dress(_pull(item), text, notes)

    def _create(
        self, branch: str, base: str, text: Text, tries: int
    ) -> tuple[Any, tuple[str, ...]]:
        body = {
            "title": one_line(text.title, 256),
            "head": branch,
            "base": base,
            "body": fit(text.body, self.body_limit),
            "draft": text.draft,
        }
        path, doing = f"{self._repo}/pulls", f"open a pull request for {branch}"
        notes: tuple[str, ...] = ()
        while True:
            try:
                return self._http.send("POST", path, doing, body), notes
            except ForgeError as error:
                words = error.message.lower()
                tries -= 1
                if error.status == 422 and body["draft"] and "draft" in words:
                    body["draft"] = False
                    notes = ("this repository has no drafts, so it is open for review at once",)
                # a branch that was pushed a moment ago may not be known everywhere yet
                elif not (
                    error.status == 422
                    and ("head invalid" in words or "no commits between" in words)
                    and tries
                    and self._http.pause(1)
                ):
                    raise

    def update(self, pull: PullRequest, text: Text) -> Done:
        change = {}
        if not same(pull.title, title := one_line(text.title, 256)):
            change["title"] = title
        if not same(pull.body, body := fit(text.body, self.body_limit)):
            change["body"] = body
        if change:
            path = f"{self._repo}/pulls/{pull.number}"
            pull = _pull(
                self._http.send("PATCH", path, f"update pull request {pull.number}", change)
            )
        notes: tuple[str, ...] = ()
        if pull.draft != text.draft:
            notes = self._set_draft(pull.number, draft=text.draft)
        return self._dress(pull, text, notes)

    def _dress(self, pull: PullRequest, text: Text, notes: tuple[str, ...]) -> Done:
        """Labels and reviewers; those that people have added stay."""
        if missing := [label for label in text.labels if label not in pull.labels]:
            path = f"{self._repo}/issues/{pull.number}/labels"
            try:
                self._http.send("POST", path, "add labels", {"labels": missing})
            except ForgeError as error:
                if error.status not in (403, 404, 422):
                    raise
                notes += (error.message,)
        return Done(pull, (*notes, *self._ask(pull, text.reviewers)))

    def _ask(self, pull: PullRequest, reviewers: tuple[str, ...]) -> tuple[str, ...]:
        if not set(reviewers) - set(pull.reviewers):
            return ()
        path = f"{self._repo}/pulls/{pull.number}"
        answered = {
            (review.get("user") or {}).get("login", "")
            for review in self._http.pages(f"{path}/reviews", "list reviews", per_page=100)
        }
        return self._request(pull.number, reviewers, (*pull.reviewers, *answered))

    # ------------------------------------------------------------------------------ merging, checks

    def merge_when_ready(self, pull: PullRequest, head: str) -> str:
        settings = self._http.get(self._repo, "show the repository")
        method = next((name for key, name in _METHODS if settings.get(key, True)), "MERGE")
        if settings.get("allow_auto_merge") is False:
            return "auto-merge is off in the settings of the repository"
        if not self._demands_checks(pull.base):
            return f"{pull.base} demands no check, so auto-merge would not wait for any"
        item = self._get(pull.number)
        if item.get("auto_merge"):
            return ""
        wanted = {"pullRequestId": item["node_id"], "mergeMethod": method, "expectedHeadOid": head}
        words = self._mutate(_AUTO_MERGE, wanted, "merge it when its checks pass")
        if "in clean status" in words or "in unstable status" in words:  # nothing left to wait for
            return self._merge_now(pull.number, head, method)
        return words

    def _merge_now(self, number: int, head: str, method: str) -> str:
        body = {"sha": head, "merge_method": method.lower()}
        for _ in range(3):
            try:
                path = f"{self._repo}/pulls/{number}/merge"
                self._http.send("PUT", path, f"merge pull request {number}", body)
            except ForgeError as error:
                if error.status not in (403, 404, 405, 409, 422):
                    raise
                if (
                    error.status != 405
                    or "modified" not in error.message
                    or not self._http.pause(1)
                ):
                    return error.message
            else:
                return ""
        return f"{self.name} is busy merging others; the next run tries again"

    def _demands_checks(self, branch: str) -> bool:
        name = segment(branch)
        shown = self._http.get(f"{self._repo}/branches/{name}", f"show branch {branch}")
        checks = (shown.get("protection") or {}).get("required_status_checks") or {}
        if checks.get("contexts") or checks.get("checks"):
            return True
        try:
            rules = self._http.pages(
                f"{self._repo}/rules/branches/{name}", "show the branch's rules", per_page=100
            )
            return any(rule.get("type") == "required_status_checks" for rule in rules)
        except ForgeError as error:
            if error.status in (403, 404):  # Enterprise Server before rule sets
                return False
            raise

    def _set_draft(self, number: int, *, draft: bool) -> tuple[str, ...]:
        node = {"pullRequestId": self._get(number)["node_id"]}
        words = self._mutate(_DRAFT if draft else _READY, node, "change whether it is a draft")
        return (words,) if words else ()

    def _mutate(self, query: str, variables: dict[str, str], doing: str) -> str:
        """Run a mutation; what GitHub has against it, or nothing."""
        body = {"query": query, "variables": {"input": variables}}
        answer = self._http.send("POST", self._graphql, doing, body)
        problems = [str(e.get("message", "")) for e in answer.get("errors") or ()]
        return one_line(f"{self.name} would not {doing}: " + "; ".join(problems), 300) * bool(
            problems
        )


@understood
def _branch(item: Any) -> str:
    return str(item["head"]["ref"])


@understood
def _own(item: Any) -> bool:
    """Whether the branch is in the repository itself: anybody may name a branch of a fork."""
    head, base = item["head"].get("repo") or {}, item["base"]["repo"]
    return bool(head.get("id") == base["id"])


@understood
def _pull(item: Any) -> PullRequest:
    owner = item["base"]["repo"]["owner"]["login"]
    people = [user["login"] for user in item.get("requested_reviewers") or ()]
    teams = [f"{owner}/{team['slug']}" for team in item.get("requested_teams") or ()]
    merged = item.get("merged_at") is not None
    return PullRequest(
        number=item["number"],
        url=item["html_url"],
        branch=item["head"]["ref"],
        base=item["base"]["ref"],
        head=item["head"]["sha"],
        title=item["title"],
        body=item["body"] or "",
        labels=tuple(label["name"] for label in item["labels"]),
        reviewers=(*people, *teams),
        state="merged" if merged else "open" if item["state"] == "open" else "closed",
        draft=bool(item.get("draft")),
        auto_merge=bool(item.get("auto_merge")),
        updated=datetime.fromisoformat(item["updated_at"]),
    )
