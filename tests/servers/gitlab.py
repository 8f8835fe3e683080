"""GitLab's REST API, version 4, as far as merge requests need it.

From which document each rule comes, below https://docs.gitlab.com:
  api/rest/authentication      PRIVATE-TOKEN, Authorization: Bearer, JOB-TOKEN; 401 {"message": "401 Unauthorized"}
  api/rest (pagination)        20 a page, at most 100, Link header
  api/rest/troubleshooting     400 {"error": "x is missing"} or {"message": {...}}; 404 for what a token may not see
  security/rate_limits, administration/settings/user_and_ip_rate_limits   429, Retry-After, body "Retry later" in plain text
  api/merge_requests           list (state, source_branch, order_by, sort), create (409 for a second one), update with
      add_labels and state_event, description at most 1,048,576 characters, merge: auto_merge (merge_when_pipeline_succeeds
      before 17.11), sha; 401, 405, 409 and 422 as its table says; detailed_merge_status is found out in the background
  api/notes                    list, create, update; at most 1,000,000 characters
  api/users                    ?username= gives a list
  api/commits                  statuses: pending, running, success, failed, canceled, skipped; 255 characters
  api/projects                 only_allow_merge_if_pipeline_succeeds
A request to merge that names no pipeline to wait for merges at once (gitlab-org/gitlab issue 37292), and one that comes
while the status is still checked is refused with 405 (issue 353984). Stricter than GitLab: unknown fields are refused.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.servers.contract import ContractServer, Reply, Seen, endpoint, fields

TOKEN = "glpat-" + "c" * 20
JOB_TOKEN = "glcbt-" + "d" * 20
PROJECT = "/projects/acme%2Fplatform%2Foutput"


def refuse(name: str, code: str) -> Reply:
    return Reply(400, {"error": f"{name} is {'missing' if code == 'missing_field' else 'invalid'}"})


class GitLabServer(ContractServer):
    """One project, acme/platform/output."""

    prefix = "/api/v4"

    def __init__(self, branches: Callable[[], dict[str, str]] | dict[str, str]) -> None:
        self.rights = "write"
        self.branches = branches if callable(branches) else lambda: branches
        self.time = datetime(2026, 3, 1, tzinfo=UTC)
        self.pulls: list[dict[str, Any]] = []
        self.notes: dict[int, list[dict[str, Any]]] = {}
        self.users = {"ana": 11, "ben": 12}
        self.statuses: dict[tuple[str, str], str] = {}
        self.pipelines_must_succeed = True
        self.pipeline: dict[str, Any] | None = {"id": 1, "status": "running"}
        self.checking = 0  # how many more requests find the merge status undecided
        self.merged: list[int] = []
        super().__init__()

    def tick(self, **by: float) -> None:
        self.time += timedelta(**(by or {"seconds": 1}))

    def pull(self, number: int) -> dict[str, Any]:
        return self._find(str(number))

    def open_from_fork(self, branch: str) -> None:
        self._new(branch, "main", "from a fork", "", source=99)

    # ------------------------------------------------------------------------------ the contract

    def admit(self, seen: Seen) -> None:
        headers = seen.headers
        good = (
            headers.get("authorization") == f"Bearer {TOKEN}"
            or headers.get("private-token") == TOKEN
            or headers.get("job-token") == JOB_TOKEN
        )
        if not good:
            raise Reply(401, {"message": "401 Unauthorized"})
        if self.rights == "none":
            raise Reply(404, {"message": "404 Project Not Found"})
        if seen.method != "GET" and self.rights == "read":
            raise Reply(403, {"message": "403 Forbidden"})
        if seen.method in ("POST", "PUT"):
            if headers.get("content-type") != "application/json":
                raise Reply(415, {"error": "The provided content-type is not supported."})
            try:
                seen.body = json.loads(seen.raw)
            except ValueError:
                raise Reply(400, {"message": "400 Bad request"}) from None

    def unknown(self, seen: Seen) -> Reply:
        return Reply(404, {"error": "404 Not Found"})

    @endpoint("GET", PROJECT)
    def project(self, seen: Seen) -> Reply:
        return Reply(
            200, {"id": 5, "only_allow_merge_if_pipeline_succeeds": self.pipelines_must_succeed}
        )

    @endpoint("GET", "/users")
    def user(self, seen: Seen) -> Reply:
        name = seen.query["username"]
        return Reply(
            200, [{"id": self.users[name], "username": name}] if name in self.users else []
        )

    @endpoint("GET", f"{PROJECT}/merge_requests")
    def list_pulls(self, seen: Seen) -> Reply:
        known = {
            "state",
            "source_branch",
            "target_branch",
            "order_by",
            "sort",
            "per_page",
            "page",
            "scope",
        }
        if set(seen.query) - known:
            raise Reply(400, {"error": f"unknown query {set(seen.query) - known}"})
        found = self.pulls
        if (state := seen.query.get("state", "all")) != "all":
            if state not in ("opened", "closed", "locked", "merged"):
                raise Reply(400, {"error": "state does not have a valid value"})
            found = [p for p in found if p["state"] == state]
        if branch := seen.query.get("source_branch"):
            found = [p for p in found if p["source_branch"] == branch]
        down = seen.query.get("sort", "desc") == "desc"
        shown = sorted(found, key=lambda p: p["iid"], reverse=down)
        return self.page(seen, [self._shown(p) for p in shown], 20)

    @endpoint("POST", f"{PROJECT}/merge_requests")
    def create(self, seen: Seen) -> Reply:
        body = fields(
            seen.body,
            refuse,
            {"source_branch": str, "target_branch": str, "title": str},
            {
                "description": str,
                "labels": str,
                "reviewer_ids": list,
                "remove_source_branch": bool,
                "squash": bool,
            },
        )
        self._check_text(body)
        if body["source_branch"] not in self.branches():
            words = f'Source branch "{body["source_branch"]}" does not exist'
            raise Reply(422, {"message": [words]})
        for pull in self.pulls:
            same = (
                pull["source_branch"] == body["source_branch"]
                and pull["target_branch"] == body["target_branch"]
            )
            if same and pull["state"] == "opened" and pull["source_project_id"] == 5:
                words = f"Another open merge request already exists for this source branch: !{pull['iid']}"
                raise Reply(409, {"message": [words]})
        pull = self._new(
            body["source_branch"], body["target_branch"], body["title"], body.get("description", "")
        )
        pull["labels"] = [label for label in body.get("labels", "").split(",") if label]
        pull["reviewers"] = self._people(body.get("reviewer_ids", []))
        return Reply(201, self._shown(pull))

    @endpoint("GET", PROJECT + "/merge_requests/{iid}")
    def show(self, seen: Seen, iid: str) -> Reply:
        shown = self._shown(self._find(iid))
        self.checking = max(self.checking - 1, 0)
        return Reply(200, shown)

    @endpoint("PUT", PROJECT + "/merge_requests/{iid}")
    def edit(self, seen: Seen, iid: str) -> Reply:
        kinds = {
            "title": str, "description": str, "labels": str, "add_labels": str, "remove_labels": str,
            "reviewer_ids": list, "state_event": str,
        }  # fmt: skip
        body = fields(seen.body, refuse, {}, kinds)
        if not body:
            raise Reply(400, {"error": "at least one parameter must be provided"})
        self._check_text(body)
        pull = self._find(iid)
        if event := body.get("state_event"):
            if event not in ("close", "reopen"):
                raise Reply(400, {"error": "state_event does not have a valid value"})
            pull["state"] = "closed" if event == "close" else "opened"
        pull["title"] = body.get("title", pull["title"])
        pull["description"] = body.get("description", pull["description"])
        added = [label for label in body.get("add_labels", "").split(",") if label]
        pull["labels"] = list(dict.fromkeys([*pull["labels"], *added]))
        if "reviewer_ids" in body:
            pull["reviewers"] = self._people(body["reviewer_ids"])
        self._touch(pull)
        return Reply(200, self._shown(pull))

    @endpoint("PUT", PROJECT + "/merge_requests/{iid}/merge")
    def merge(self, seen: Seen, iid: str) -> Reply:
        kinds = {"auto_merge": bool, "merge_when_pipeline_succeeds": bool, "sha": str}
        body = fields(seen.body, refuse, {}, kinds)
        pull = self._find(iid)
        shown = self._shown(pull)
        if pull["state"] != "opened" or pull["title"].startswith("Draft:") or self.checking:
            raise Reply(405, {"message": "405 Method Not Allowed"})
        if body.get("sha", shown["sha"]) != shown["sha"]:
            raise Reply(409, {"message": "SHA does not match HEAD of source branch"})
        waits = body.get("auto_merge") or body.get("merge_when_pipeline_succeeds")
        running = self.pipeline and self.pipeline["status"] in ("running", "pending", "created")
        if waits and running:
            pull["merge_when_pipeline_succeeds"] = True
            self._touch(pull)
            return Reply(200, self._shown(pull))
        if self.pipelines_must_succeed and (
            not self.pipeline or self.pipeline["status"] != "success"
        ):
            raise Reply(405, {"message": "405 Method Not Allowed"})
        pull["state"] = "merged"
        self.merged.append(pull["iid"])
        return Reply(200, self._shown(pull))

    @endpoint("GET", PROJECT + "/merge_requests/{iid}/notes")
    def list_notes(self, seen: Seen, iid: str) -> Reply:
        return self.page(seen, self.notes.get(self._find(iid)["iid"], []), 20)

    @endpoint("POST", PROJECT + "/merge_requests/{iid}/notes")
    def note(self, seen: Seen, iid: str) -> Reply:
        body = fields(seen.body, refuse, {"body": str}, {})
        if len(body["body"]) > 1_000_000:
            raise Reply(400, {"message": "note is too long"})
        return Reply(201, self.say(int(iid), body["body"], "gati-bot"))

    @endpoint("PUT", PROJECT + "/merge_requests/{iid}/notes/{id}")
    def edit_note(self, seen: Seen, iid: str, id: str) -> Reply:
        body = fields(seen.body, refuse, {"body": str}, {})
        for made in self.notes.get(int(iid), []):
            if made["id"] == int(id):
                if made["author"]["username"] != "gati-bot":
                    raise Reply(403, {"message": "403 Forbidden"})
                made["body"] = body["body"]
                return Reply(200, made)
        raise Reply(404, {"message": "404 Note Not Found"})

    @endpoint("POST", PROJECT + "/statuses/{sha}")
    def status(self, seen: Seen, sha: str) -> Reply:
        kinds = {"name": str, "description": str, "target_url": str, "ref": str, "context": str}
        body = fields(seen.body, refuse, {"state": str}, kinds)
        if sha not in self.branches().values():
            raise Reply(404, {"message": "404 Commit Not Found"})
        if body["state"] not in ("pending", "running", "success", "failed", "canceled", "skipped"):
            raise Reply(400, {"error": "state does not have a valid value"})
        if len(body.get("description", "")) > 255:
            raise Reply(
                400, {"message": {"description": ["is too long (maximum is 255 characters)"]}}
            )
        key = (sha, body.get("name", "default"))
        if self.statuses.get(key) == body["state"] == "pending":
            words = 'Cannot transition status via :enqueue from :pending (Reason(s): Status cannot transition via "enqueue")'
            raise Reply(400, {"message": words})
        self.statuses[key] = body["state"]
        return Reply(201, {"id": 1, "sha": sha, "status": body["state"]})

    # ------------------------------------------------------------------------------ state

    def say(self, number: int, body: str, who: str) -> dict[str, Any]:
        id = 9000 + sum(map(len, self.notes.values()))
        made = {"id": id, "body": body, "author": {"username": who}}
        self.notes.setdefault(number, []).append(made)
        self._touch(self.pull(number))
        return made

    def _new(
        self, branch: str, base: str, title: str, body: str, source: int = 5
    ) -> dict[str, Any]:
        iid = len(self.pulls) + 1
        pull = {
            "id": 1000 + iid,
            "iid": iid,
            "project_id": 5,
            "source_project_id": source,
            "target_project_id": 5,
            "source_branch": branch,
            "target_branch": base,
            "title": title,
            "description": body,
            "state": "opened",
            "labels": [],
            "reviewers": [],
            "merge_when_pipeline_succeeds": False,
            "web_url": f"https://gitlab.example.com/acme/platform/output/-/merge_requests/{iid}",
        }
        self.pulls.append(pull)
        self._touch(pull)
        return pull

    def _touch(self, pull: dict[str, Any]) -> None:
        self.tick()
        pull["updated_at"] = self.time.strftime("%Y-%m-%dT%H:%M:%S.000Z")

    def _shown(self, pull: dict[str, Any]) -> dict[str, Any]:
        branches = self.branches()
        if pull["state"] == "opened" and pull["source_branch"] in branches:
            pull["sha"] = branches[pull["source_branch"]]
        return {
            "sha": None,
            **pull,
            "draft": pull["title"].startswith("Draft:"),
            "detailed_merge_status": "checking" if self.checking else "ci_still_running",
            "head_pipeline": self.pipeline,
        }

    def _people(self, ids: list[int]) -> list[dict[str, Any]]:
        names = {id: name for name, id in self.users.items()}
        if set(ids) - set(names):
            raise Reply(400, {"message": {"reviewers": ["are invalid"]}})
        return [{"id": id, "username": names[id]} for id in ids]

    def _find(self, iid: str) -> dict[str, Any]:
        for pull in self.pulls:
            if str(pull["iid"]) == iid:
                return pull
        raise Reply(404, {"message": "404 Merge Request Not Found"})

    def _check_text(self, body: dict[str, Any]) -> None:
        if len(body.get("description", "")) > 1_048_576:
            raise Reply(
                422, {"message": ["Description is too long (maximum is 1048576 characters)"]}
            )
        if len(body.get("title", "")) > 255:
            raise Reply(400, {"message": {"title": ["is too long (maximum is 255 characters)"]}})
