"""GitLab, by its REST API, version 4: merge requests of one project."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from gati_gitops.forge.answers import understood
from gati_gitops.forge.comments import keep_comment, was_asked
from gati_gitops.forge.http import Http, segment
from gati_gitops.forge.model import (
    CheckState,
    Done,
    ForgeError,
    PullRequest,
    State,
    Text,
    Unanswered,
)
from gati_gitops.forge.text import fit, marker, one_line, same

_DRAFT = "Draft: "
_CHECKS = {"pending": "pending", "success": "success", "failure": "failed", "error": "failed"}
_STATES: dict[str, State] = {"opened": "open", "locked": "open", "merged": "merged"}
# GitLab finds out in the background whether a merge request could be merged.
_UNDECIDED = frozenset(("unchecked", "checking", "preparing", "approvals_syncing"))


class GitLab:
    """One project on GitLab."""

    name = "GitLab"
    body_limit = 1_000_000
    """A description may have 1,048,576 characters, a note a million."""

    def __init__(self, http: Http, repository: str) -> None:
        self._http = http
        self._project = f"/projects/{segment(repository)}"
        self._pulls = f"{self._project}/merge_requests"

    # ------------------------------------------------------------------------------ finding

    def find(self, branch_prefix: str) -> list[PullRequest]:
        items = self._http.pages(
            self._pulls,
            "list merge requests",
            state="opened",
            order_by="created_at",
            sort="asc",
            per_page=100,
        )
        return [
            _pull(item) for item in items if _branch(item).startswith(branch_prefix) and _own(item)
        ]

    def closed(self, branch: str) -> list[PullRequest]:
        return [pull for pull in self._of_branch(branch, "all") if pull.state != "open"]

    def _of_branch(self, branch: str, state: str) -> list[PullRequest]:
        found = self._http.some(
            self._pulls,
            "list merge requests",
            state=state,
            source_branch=branch,
            order_by="created_at",
            sort="desc",
            per_page=30,
        )
        return [_pull(item) for item in found if _branch(item) == branch and _own(item)]

    def _get(self, number: int) -> Any:
        return self._http.get(f"{self._pulls}/{number}", f"show merge request {number}")

    # ------------------------------------------------------------------------------ writing

    def open(self, branch: str, base: str, text: Text) -> Done:
        reviewers, notes = self._ids(text.reviewers)
        body = {
            "source_branch": branch,
            "target_branch": base,
            "title": _title(text),
            "description": fit(text.body, self.body_limit),
            "labels": ",".join(text.labels),
            "remove_source_branch": True,
        }
        if reviewers:
            body["reviewer_ids"] = reviewers
        try:
            item = self._http.send("POST", self._pulls, f"open a merge request for {branch}", body)
        except ForgeError as error:
            # there already is one, made by a run beside us or by one whose answer was lost
            if not isinstance(error, Unanswered) and error.status != 409:
                raise
            there = [pull for pull in self._of_branch(branch, "opened") if pull.base == base]
            if not there:
                raise
            return self.update(there[0], text)
        return Done(_pull(item), notes)

    def update(self, pull: PullRequest, text: Text) -> Done:
        change: dict[str, object] = {}
        if not same(pull.title, one_line(text.title, 240)) or pull.draft != text.draft:
            change["title"] = _title(text)
        if not same(pull.body, body := fit(text.body, self.body_limit)):
            change["description"] = body
        if missing := [label for label in text.labels if label not in pull.labels]:
            change["add_labels"] = ",".join(missing)
        new = [name for name in text.reviewers if not was_asked(name, pull.reviewers)]
        ids, notes = self._ids(new)
        if ids:
            known = [user["id"] for user in self._get(pull.number).get("reviewers") or ()]
            change["reviewer_ids"] = [*known, *ids]
        if change:
            path = f"{self._pulls}/{pull.number}"
            doing = f"update merge request {pull.number}"
            pull = _pull(self._http.send("PUT", path, doing, change))
        return Done(pull, notes)

    def _ids(self, names: Iterable[str]) -> tuple[list[int], tuple[str, ...]]:
        """GitLab wants numbers of users; groups can't be asked for a review."""
        ids, notes = [], []
        for name in names:
            found = self._http.some("/users", f"look up {name}", username=name)
            if found:
                ids.append(found[0]["id"])
            else:
                notes.append(f"{self.name} knows no user {name} who could be asked for a review")
        return ids, tuple(notes)

    def close(self, pull: PullRequest, comment: str, body: str | None = None) -> None:
        self.comment_in_place(pull.number, "closed", comment)
        change = {"state_event": "close"}
        if body is not None:
            change["description"] = fit(body, self.body_limit)
        path = f"{self._pulls}/{pull.number}"
        self._http.send("PUT", path, f"close merge request {pull.number}", change)

    def comment_in_place(self, number: int, marker_name: str, body: str) -> None:
        path = f"{self._pulls}/{number}/notes"
        keep_comment(
            self._http,
            path,
            lambda note: f"{path}/{note['id']}",
            "PUT",
            marker("comment", marker_name),
            body,
            self.body_limit,
        )

    # ------------------------------------------------------------------------------ merging, checks

    def merge_when_ready(self, pull: PullRequest, head: str) -> str:
        settings = self._http.get(self._project, "show the project")
        # without this setting GitLab merges at once whatever has no pipeline yet
        if not settings.get("only_allow_merge_if_pipeline_succeeds"):
            return (
                "the project does not demand that pipelines succeed, so auto-merge could not wait"
            )
        item = self._get(pull.number)
        for _ in range(5):
            if item.get("merge_when_pipeline_succeeds"):
                return ""
            if item.get("detailed_merge_status") not in _UNDECIDED or not self._http.pause(2):
                break
            item = self._get(pull.number)
        body = {"auto_merge": True, "merge_when_pipeline_succeeds": True, "sha": head}
        try:
            path = f"{self._pulls}/{pull.number}/merge"
            self._http.send("PUT", path, "merge it when its pipeline succeeds", body)
        except ForgeError as error:
            if error.status not in (401, 403, 404, 405, 406, 409, 422):
                raise
            return error.message
        return ""

    def set_check(
        self, head: str, name: str, state: CheckState, description: str, url: str = ""
    ) -> None:
        body = {"state": _CHECKS[state], "name": name, "description": one_line(description, 255)}
        path = f"{self._project}/statuses/{segment(head)}"
        try:
            self._http.send(
                "POST", path, f"set the check {name}", body | ({"target_url": url} if url else {})
            )
        except ForgeError as error:
            # GitLab refuses to set the state that is there already
            if error.status != 400 or "cannot transition" not in error.message.lower():
                raise


@understood
def _branch(item: Any) -> str:
    return str(item["source_branch"])


@understood
def _own(item: Any) -> bool:
    """Whether the branch is in the project itself: anybody may name a branch of a fork."""
    return bool(item["source_project_id"] == item["target_project_id"])


def _title(text: Text) -> str:
    return f"{_DRAFT if text.draft else ''}{one_line(text.title, 240)}"


@understood
def _pull(item: Any) -> PullRequest:
    draft = bool(item.get("draft"))
    return PullRequest(
        number=item["iid"],
        url=item["web_url"],
        branch=item["source_branch"],
        base=item["target_branch"],
        head=item["sha"] or "",
        title=item["title"].removeprefix(_DRAFT) if draft else item["title"],
        body=item["description"] or "",
        labels=tuple(item["labels"]),
        reviewers=tuple(user["username"] for user in item.get("reviewers") or ()),
        state=_STATES.get(item["state"], "closed"),
        draft=draft,
        auto_merge=bool(item.get("merge_when_pipeline_succeeds")),
        updated=datetime.fromisoformat(item["updated_at"]),
    )
