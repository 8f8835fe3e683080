"""GitHub's REST API (2022-11-28) and three GraphQL mutations, as far as pull requests need them.

From which document each rule comes, below https://docs.github.com/en:
  rest/using-the-rest-api/getting-started-with-the-rest-api   Accept and X-GitHub-Api-Version headers
  rest/using-the-rest-api/troubleshooting-the-rest-api        User-Agent required; 400 for bad JSON and for an unknown
      version; 404 for what a token may not see; 422 "Invalid request" and "Validation Failed" with errors[].code;
      slashes in a path parameter are coded
  rest/using-the-rest-api/rate-limits-for-the-rest-api        403 or 429, retry-after, x-ratelimit-remaining 0 and -reset
  rest/using-the-rest-api/using-pagination-in-the-rest-api    30 a page, at most 100, Link header
  rest/pulls/pulls            list (state, head=owner:branch, base, sort, direction), create, get, update, merge (405, 409)
  rest/pulls/review-requests  reviewers and team_reviewers; 422 for who is no collaborator
  rest/pulls/reviews          list
  rest/issues/labels          add labels
  rest/issues/comments        list, create, update
  rest/commits/statuses       state, target_url, description, context; 422 after 1000 per commit and context
  rest/branches/branches      protection.required_status_checks
  rest/repos/rules            rules of a branch
  rest/repos/repos            allow_auto_merge, allow_merge_commit, allow_squash_merge, allow_rebase_merge
  graphql/reference/mutations enablePullRequestAutoMerge, markPullRequestReadyForReview, convertPullRequestToDraft
Sentences of errors are those that users report: "A pull request already exists for o:b.", "body is too long (maximum is
65536 characters)" (a limit of 65,536 characters), "Base branch was modified. Review and try the merge again." (405),
"Pull request is in clean status". Stricter than GitHub: unknown fields are refused, not ignored.
"""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.servers.contract import ContractServer, Reply, Seen, endpoint, fields

TOKEN = "ghp_" + "c" * 36
TEXT, MAYBE = str, (str, type(None))


def invalid(resource: str) -> Callable[[str, str], Reply]:
    def refuse(name: str, code: str) -> Reply:
        if code in ("unknown field", "wrong type"):
            return Reply(422, {"message": f"Invalid request.\n\n{code}: {name}", "status": "422"})
        return failed(resource, code, name)

    return refuse


def failed(resource: str, code: str, name: str = "", message: str = "") -> Reply:
    error = {"resource": resource, "code": code}
    error |= {"field": name} if name else {}
    error |= {"message": message} if message else {}
    return Reply(
        422,
        {
            "message": "Validation Failed",
            "errors": [error],
            "documentation_url": "https://docs.github.com/rest/pulls/pulls",
            "status": "422",
        },
    )


class GitHubServer(ContractServer):
    """One repository, acme/output, private; its branches are given by the test."""

    def __init__(self, branches: Callable[[], dict[str, str]] | dict[str, str]) -> None:
        self.token = TOKEN
        self.rights = "write"  # write, read or none
        self.branches = branches if callable(branches) else lambda: branches
        self.lag: dict[str, int] = {}  # branch: how many more requests do not see it yet
        self.time = datetime(2026, 3, 1, tzinfo=UTC)
        self.pulls: list[dict[str, Any]] = []
        self.comments: dict[int, list[dict[str, Any]]] = {}
        self.reviews: dict[int, list[dict[str, Any]]] = {}
        self.statuses: dict[str, list[dict[str, Any]]] = {}
        self.collaborators = {"ana", "ben"}
        self.teams = {"platform"}
        self.drafts = True
        self.settings = {
            "allow_auto_merge": True,
            "allow_merge_commit": True,
            "allow_squash_merge": True,
            "allow_rebase_merge": True,
        }
        self.required_checks: list[str] = []
        self.rules: list[dict[str, Any]] = []
        self.merge_state = "blocked"  # blocked until checks pass, then clean
        self.merged: list[tuple[int, str, str]] = []
        super().__init__()

    prefix = "/api/v3"

    # ------------------------------------------------------------------------------ people at work

    def tick(self, **by: float) -> None:
        self.time += timedelta(**(by or {"seconds": 1}))

    def pull(self, number: int) -> dict[str, Any]:
        return next(p for p in self.pulls if p["number"] == number)

    def open_ones(self) -> list[dict[str, Any]]:
        return [p for p in self.pulls if p["state"] == "open"]

    def close_by_hand(self, number: int) -> None:
        self._change(self.pull(number), state="closed")

    def merge_by_hand(self, number: int) -> None:
        self._change(self.pull(number), state="closed", merged_at=self._now())

    def open_from_fork(self, branch: str, base: str = "main") -> dict[str, Any]:
        pull = self._new(branch, base, "from a fork", "", draft=False)
        pull["head"]["repo"] = {"id": 666, "owner": {"login": "mallory"}}
        pull["head"]["fixed"] = "f" * 40
        return pull

    # ------------------------------------------------------------------------------ the contract

    def admit(self, seen: Seen) -> None:
        if not seen.headers.get("user-agent"):
            raise Reply(403, {"message": "Request forbidden by administrative rules."})
        given = seen.headers.get("authorization", "")
        if given != f"Bearer {self.token}":
            raise Reply(401, {"message": "Bad credentials", "status": "401"})
        if seen.path != "/api/graphql":
            if seen.headers.get("x-github-api-version") != "2022-11-28":
                raise Reply(400, {"message": "Unsupported API version"})
            if "application/vnd.github+json" not in seen.headers.get("accept", ""):
                raise Reply(415, {"message": "Must accept 'application/vnd.github+json'"})
        if self.rights == "none":
            raise Reply(404, {"message": "Not Found", "status": "404"})
        if seen.method != "GET" and self.rights == "read":
            raise Reply(
                403,
                {"message": "Resource not accessible by integration", "status": "403"},
                {"X-Accepted-GitHub-Permissions": "pull_requests=write"},
            )
        if seen.method in ("POST", "PATCH", "PUT"):
            try:
                seen.body = json.loads(seen.raw)
            except ValueError:
                raise Reply(400, {"message": "Problems parsing JSON"}) from None
            if not isinstance(seen.body, dict):
                raise Reply(400, {"message": "Body should be a JSON object"})

    def answer(self, seen: Seen) -> Reply:
        if seen.path == "/api/graphql":
            with self.lock:
                self.seen.append(seen)
                try:
                    self.admit(seen)
                    return self._graphql(seen)
                except Reply as reply:
                    return reply
        return super().answer(seen)

    @endpoint("GET", "/repos/acme/output")
    def repository(self, seen: Seen) -> Reply:
        return Reply(200, {"id": 7, "full_name": "acme/output", **self.settings})

    @endpoint("GET", "/repos/acme/output/pulls")
    def list_pulls(self, seen: Seen) -> Reply:
        known = {"state", "head", "base", "sort", "direction", "per_page", "page"}
        if set(seen.query) - known:
            raise Reply(422, {"message": f"unknown query {set(seen.query) - known}"})
        found = self.pulls
        if (state := seen.query.get("state", "open")) != "all":
            found = [p for p in found if p["state"] == state]
        if head := seen.query.get("head"):
            if ":" not in head:
                raise Reply(422, {"message": "head wants user:branch"})
            owner, _, branch = head.partition(":")
            found = [
                p
                for p in found
                if p["head"]["ref"] == branch
                and (p["head"]["repo"] or {}).get("owner", {}).get("login") == owner
            ]
        if base := seen.query.get("base"):
            found = [p for p in found if p["base"]["ref"] == base]
        down = seen.query.get("direction", "desc") == "desc"
        shown = sorted(found, key=lambda p: p["number"], reverse=down)
        return self.page(seen, [self._shown(p) for p in shown], 30)

    @endpoint("POST", "/repos/acme/output/pulls")
    def create(self, seen: Seen) -> Reply:
        body = fields(
            seen.body,
            invalid("PullRequest"),
            {"title": TEXT, "head": TEXT, "base": TEXT},
            {"body": MAYBE, "draft": bool, "maintainer_can_modify": bool},
        )
        self._check_text(body)
        branches, head, base = self._visible(), body["head"], body["base"]
        if base not in branches:
            raise failed("PullRequest", "invalid", "base")
        if head not in branches:
            raise failed("PullRequest", "invalid", "head")
        if branches[head] == branches[base]:
            words = f"No commits between {base} and {head}"
            raise failed("PullRequest", "custom", message=words)
        own = [p for p in self.open_ones() if p["head"]["repo"]["id"] == 7]
        if any(p["head"]["ref"] == head and p["base"]["ref"] == base for p in own):
            words = f"A pull request already exists for acme:{head}."
            raise failed("PullRequest", "custom", message=words)
        if body.get("draft") and not self.drafts:
            words = "Draft pull requests are not supported in this repository."
            raise Reply(422, {"message": words, "status": "422"})
        pull = self._new(
            head, base, body["title"], body.get("body"), draft=body.get("draft", False)
        )
        return Reply(201, self._shown(pull))

    @endpoint("GET", "/repos/acme/output/pulls/{number}")
    def show(self, seen: Seen, number: str) -> Reply:
        return Reply(200, self._shown(self._find(number)))

    @endpoint("PATCH", "/repos/acme/output/pulls/{number}")
    def edit(self, seen: Seen, number: str) -> Reply:
        kinds = {"title": TEXT, "body": MAYBE, "state": TEXT, "base": TEXT}
        body = fields(seen.body, invalid("PullRequest"), {}, kinds)
        self._check_text(body)
        if body.get("state", "open") not in ("open", "closed"):
            raise failed("PullRequest", "invalid", "state")
        pull = self._find(number)
        if body.get("state") == "open" and pull["state"] == "closed":
            words = "state cannot be changed. The branch was force-pushed or recreated."
            raise failed("PullRequest", "custom", message=words)
        self._change(pull, **body)
        return Reply(200, self._shown(pull))

    @endpoint("PUT", "/repos/acme/output/pulls/{number}/merge")
    def merge(self, seen: Seen, number: str) -> Reply:
        kinds = {"sha": TEXT, "merge_method": TEXT, "commit_title": TEXT, "commit_message": TEXT}
        body = fields(seen.body, invalid("PullRequest"), {}, kinds)
        pull = self._find(number)
        shown = self._shown(pull)
        if pull["state"] != "open" or self.merge_state not in ("clean", "unstable"):
            raise Reply(405, {"message": "Pull Request is not mergeable"})
        if body.get("sha", shown["head"]["sha"]) != shown["head"]["sha"]:
            raise Reply(
                409, {"message": "Head branch was modified. Review and try the merge again."}
            )
        self.merged.append(
            (pull["number"], shown["head"]["sha"], body.get("merge_method", "merge"))
        )
        self._change(pull, state="closed", merged_at=self._now())
        return Reply(200, {"sha": shown["head"]["sha"], "merged": True, "message": "merged"})

    @endpoint("GET", "/repos/acme/output/pulls/{number}/reviews")
    def list_reviews(self, seen: Seen, number: str) -> Reply:
        self._find(number)
        return self.page(seen, self.reviews.get(int(number), []), 30)

    @endpoint("POST", "/repos/acme/output/pulls/{number}/requested_reviewers")
    def ask(self, seen: Seen, number: str) -> Reply:
        kinds = {"reviewers": list, "team_reviewers": list}
        body = fields(seen.body, invalid("PullRequest"), {}, kinds)
        pull = self._find(number)
        if "gati-bot" in body.get("reviewers", ()):
            raise Reply(422, {"message": "Review cannot be requested from pull request author."})
        if (
            set(body.get("reviewers", ())) - self.collaborators
            or set(body.get("team_reviewers", ())) - self.teams
        ):
            words = (
                "Reviews may only be requested from collaborators. One or more of the users or teams"
                " you specified is not a collaborator of the acme/output repository."
            )
            raise Reply(422, {"message": words, "status": "422"})
        people = [{"login": n} for n in body.get("reviewers", ())]
        teams = [{"slug": n} for n in body.get("team_reviewers", ())]
        self._change(
            pull,
            requested_reviewers=[*pull["requested_reviewers"], *people],
            requested_teams=[*pull["requested_teams"], *teams],
        )
        return Reply(201, self._shown(pull))

    @endpoint("POST", "/repos/acme/output/issues/{number}/labels")
    def add_labels(self, seen: Seen, number: str) -> Reply:
        body = fields(seen.body, invalid("Label"), {"labels": list}, {})
        pull = self._find(number)
        names = [label["name"] for label in pull["labels"]]
        self._change(pull, labels=[{"name": n} for n in dict.fromkeys([*names, *body["labels"]])])
        return Reply(200, pull["labels"])

    @endpoint("GET", "/repos/acme/output/issues/{number}/comments")
    def list_comments(self, seen: Seen, number: str) -> Reply:
        self._find(number)
        return self.page(seen, self.comments.get(int(number), []), 30)

    @endpoint("POST", "/repos/acme/output/issues/{number}/comments")
    def comment(self, seen: Seen, number: str) -> Reply:
        body = fields(seen.body, invalid("IssueComment"), {"body": TEXT}, {})
        self._check_text(body, "IssueComment")
        return Reply(201, self.say(int(number), body["body"], "gati-bot"))

    @endpoint("PATCH", "/repos/acme/output/issues/comments/{id}")
    def edit_comment(self, seen: Seen, id: str) -> Reply:
        body = fields(seen.body, invalid("IssueComment"), {"body": TEXT}, {})
        self._check_text(body, "IssueComment")
        for number, comments in self.comments.items():
            for comment in comments:
                if comment["id"] == int(id):
                    if comment["user"]["login"] != "gati-bot":
                        raise Reply(403, {"message": "Must have admin rights to Repository."})
                    comment["body"] = body["body"]
                    self._change(self.pull(number))
                    return Reply(200, comment)
        raise Reply(404, {"message": "Not Found"})

    @endpoint("POST", "/repos/acme/output/statuses/{sha}")
    def status(self, seen: Seen, sha: str) -> Reply:
        kinds = {"target_url": MAYBE, "description": MAYBE, "context": TEXT}
        body = fields(seen.body, invalid("Status"), {"state": TEXT}, kinds)
        if not re.fullmatch("[0-9a-f]{40}", sha) or sha not in self.branches().values():
            raise Reply(422, {"message": f"No commit found for SHA: {sha}"})
        if body["state"] not in ("error", "failure", "pending", "success"):
            raise failed("Status", "custom", "state", "state is not included in the list")
        if len(body.get("description") or "") > 140:
            raise failed(
                "Status",
                "custom",
                "description",
                "description is too long (maximum is 140 characters)",
            )
        mine = [s for s in self.statuses.get(sha, []) if s.get("context") == body.get("context")]
        if len(mine) >= 1000:
            raise failed(
                "Status",
                "custom",
                message="This SHA and context has reached the maximum number of statuses.",
            )
        self.statuses.setdefault(sha, []).append(body)
        return Reply(201, body)

    @endpoint("GET", "/repos/acme/output/branches/{branch}")
    def branch(self, seen: Seen, branch: str) -> Reply:
        if branch not in self.branches():
            raise Reply(404, {"message": "Branch not found"})
        checks = {"enforcement_level": "off", "contexts": self.required_checks, "checks": []}
        protection = {"enabled": bool(self.required_checks), "required_status_checks": checks}
        return Reply(
            200, {"name": branch, "protected": bool(self.required_checks), "protection": protection}
        )

    @endpoint("GET", "/repos/acme/output/rules/branches/{branch}")
    def branch_rules(self, seen: Seen, branch: str) -> Reply:
        return self.page(seen, self.rules, 30)

    def _graphql(self, seen: Seen) -> Reply:
        fields(seen.body, invalid("GraphQL"), {"query": TEXT, "variables": dict}, {})
        given = seen.body["variables"].get("input", {})
        node = str(given.get("pullRequestId"))
        pull = next((p for p in self.pulls if p["node_id"] == node), None)
        if not pull:
            return _problem(f"Could not resolve to a node with the global id of '{node}'")
        name = re.search(r"\{\s*(\w+)\(input: \$input\)", seen.body["query"])[1]
        if name == "enablePullRequestAutoMerge":
            return self._auto_merge(pull, given)
        if name == "markPullRequestReadyForReview":
            self._change(pull, draft=False)
        elif name == "convertPullRequestToDraft":
            self._change(pull, draft=True)
        else:
            return _problem(f"Field '{name}' doesn't exist on type 'Mutation'")
        return Reply(200, {"data": {name: {"clientMutationId": None}}})

    def _auto_merge(self, pull: dict[str, Any], given: dict[str, Any]) -> Reply:
        known = {"pullRequestId", "mergeMethod", "expectedHeadOid", "commitHeadline", "commitBody"}
        if set(given) - known:
            return _problem(f"unknown argument {set(given) - known}")
        if given.get("mergeMethod", "MERGE") not in ("MERGE", "SQUASH", "REBASE"):
            return _problem("mergeMethod is none of MERGE, REBASE, SQUASH")
        if not self.settings["allow_auto_merge"]:
            return _problem("Pull request Auto merge is not allowed for this repository")
        if given.get("expectedHeadOid") not in (None, self._shown(pull)["head"]["sha"]):
            return _problem("Head branch was modified. Review and try the merge again.")
        if self.merge_state in ("clean", "unstable"):
            return _problem(f"Pull request Pull request is in {self.merge_state} status")
        self._change(pull, auto_merge={"merge_method": given.get("mergeMethod", "MERGE").lower()})
        return Reply(200, {"data": {"enablePullRequestAutoMerge": {"clientMutationId": None}}})

    # ------------------------------------------------------------------------------ state

    def say(self, number: int, body: str, who: str) -> dict[str, Any]:
        self.tick()
        id = 9000 + sum(map(len, self.comments.values()))
        made = {"id": id, "body": body, "user": {"login": who}}
        self.comments.setdefault(number, []).append(made)
        self._change(self.pull(number))
        return made

    def _new(self, head: str, base: str, title: str, body: Any, *, draft: bool) -> dict[str, Any]:
        self.tick()
        number = len(self.pulls) + 1
        here = {"id": 7, "owner": {"login": "acme"}}
        pull = {
            "number": number,
            "node_id": f"PR_{number}",
            "html_url": f"https://github.com/acme/output/pull/{number}",
            "state": "open",
            "title": title,
            "body": body,
            "draft": draft,
            "labels": [],
            "requested_reviewers": [],
            "requested_teams": [],
            "auto_merge": None,
            "merged_at": None,
            "head": {"ref": head, "repo": here},
            "base": {"ref": base, "repo": here},
            "updated_at": self._now(),
        }
        self.pulls.append(pull)
        return pull

    def _change(self, pull: dict[str, Any], **to: Any) -> None:
        self.tick()
        if to.get("state") == "closed":
            pull["head"]["fixed"] = self._shown(pull)["head"]["sha"]
        pull.update(to, updated_at=self._now())

    def _shown(self, pull: dict[str, Any]) -> dict[str, Any]:
        head, base = pull["head"], pull["base"]
        branches = self.branches()
        if not head.get("fixed") and head["ref"] in branches:
            head["last"] = branches[head["ref"]]
        sha = head.get("fixed") or head.get("last", "")
        return {
            **pull,
            "head": {"ref": head["ref"], "repo": head["repo"], "sha": sha},
            "base": {**base, "sha": branches.get(base["ref"], "")},
        }

    def _find(self, number: str) -> dict[str, Any]:
        for pull in self.pulls:
            if str(pull["number"]) == number:
                return pull
        raise Reply(404, {"message": "Not Found", "status": "404"})

    def _visible(self) -> dict[str, str]:
        """Branches as this replica knows them."""
        found = dict(self.branches())
        for branch, left in self.lag.items():
            if left:
                self.lag[branch] = left - 1
                found.pop(branch, None)
        return found

    def _check_text(self, body: dict[str, Any], resource: str = "PullRequest") -> None:
        if len(body.get("body") or "") > 65_536:
            words = "body is too long (maximum is 65536 characters)"
            raise failed(resource, "custom", "body", words)
        if len(body.get("title", "x")) > 256:
            words = "title is too long (maximum is 256 characters)"
            raise failed(resource, "custom", "title", words)
        if not body.get("title", "x"):
            raise failed(resource, "missing_field", "title")

    def _now(self) -> str:
        return self.time.strftime("%Y-%m-%dT%H:%M:%SZ")


def _problem(message: str) -> Reply:
    return Reply(200, {"data": None, "errors": [{"type": "UNPROCESSABLE", "message": message}]})
