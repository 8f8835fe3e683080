"""Telling the engine of a commit: what is sent, and that nothing hangs on it."""

import hashlib
import hmac
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from gati_gitops.reconcile.nudge import nudge
from tests.compile.kit import handler
from tests.observe.kube_api import KubeApi, status
from tests.observe.world import DB, NOW, REPOSITORY, USERS, World, engines, files

COMMIT = "c0ffee" * 6 + "c0de"


@pytest.fixture
def api():
    server = KubeApi()
    yield server
    server.end()


@pytest.fixture
def told(api, tmp_path):
    """Notes of a nudge in a world with these settings."""

    def told(sync: dict, *keys, more=(), **environ: str) -> tuple[str, ...]:
        world = World(files("gateway-api", *more, cluster={"sync": sync}))
        api.objects = world.objects
        kube = api.kube(tmp_path)
        found = engines(world, kube)
        assert found is not None
        notes = nudge(found, keys or (USERS,), COMMIT, now=NOW, environ=environ)
        kube.close()
        return notes

    return told


class Hook:
    """Whoever is called."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, str], bytes]] = []
        self.status = 200
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                pass

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {key.lower(): value for key, value in self.headers.items()}
                hook.calls.append((self.path, headers, body))
                self.send_response(hook.status)
                self.send_header("Location", "http://127.0.0.1:1/")
                self.send_header("Content-Length", "0")
                self.end_headers()

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/api/webhook"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        )
        self._thread.start()

    def end(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


@pytest.fixture
def hook():
    server = Hook()
    yield server
    server.end()


def patches(api) -> list:
    return [request for request in api.requests if request.method == "PATCH"]


@pytest.mark.parametrize("sync", [{}, {"nudge": "none"}, {"engine": "flux"}])
def test_nobody_is_told_unless_it_is_asked_for(api, told, sync):
    assert told(sync) == ()
    assert not patches(api)


def test_the_applications_of_the_units_are_refreshed(api, told):
    more = [handler("far", namespace="far"), handler("away", namespace="away")]
    keys = (USERS, DB, ("far", "handler-far"))
    assert told({"nudge": "annotation"}, *keys, more=more) == ()
    sent = patches(api)
    # two units of one folder are one Application, and the one that did not change is left alone
    assert [request.path.rpartition("/")[2] for request in sent] == [
        "prod.east.far",
        "prod.east.shop",
    ]
    change = {"metadata": {"annotations": {"argocd.argoproj.io/refresh": "normal"}}}
    assert all(request.body == change for request in sent)


def test_flux_is_asked_to_look_at_the_repository(api, told):
    assert told({"engine": "flux", "nudge": "annotation"}) == ()
    (sent,) = patches(api)
    assert sent.path.endswith("/namespaces/flux-system/gitrepositories/prod.east")
    stamp = sent.body["metadata"]["annotations"]["reconcile.fluxcd.io/requestedAt"]
    assert stamp == "2027-01-15T08:00:00.000+00:00"


def test_a_refusal_is_a_note(api, told):
    api.rule = lambda r: status(403, "no") if r.method == "PATCH" else None
    (note,) = told({"nudge": "annotation"})
    assert note.startswith("east: prod.east.shop was not told: ") and "403" in note
    (note,) = told({"engine": "flux", "nudge": "annotation"})
    assert note.startswith("east: the engine was not told: ")


def test_an_engine_that_cannot_be_seen_is_a_note(told):
    sync = {"nudge": "annotation", "server": "https://east.example.com"}
    (note,) = told(sync)
    assert "sync.hub does not say on which" in note


class TestWebhook:
    def sync(self, hook: Hook) -> dict:
        return {"nudge": "webhook", "nudgeUrl": hook.url}

    def test_a_push_as_github_tells_of_it(self, told, hook):
        assert told(self.sync(hook)) == ()
        ((path, headers, body),) = hook.calls
        assert path == "/api/webhook"
        assert headers["x-github-event"] == "push"
        assert "x-hub-signature-256" not in headers
        data = json.loads(body)
        assert (data["ref"], data["after"]) == ("refs/heads/main", COMMIT)
        assert data["repository"]["html_url"] == REPOSITORY.removesuffix(".git")

    def test_it_is_signed_where_there_is_a_secret(self, told, hook, tmp_path):
        secret = tmp_path / "secret"
        secret.write_text("hush\n")
        assert told(self.sync(hook), GATI_NUDGE_SECRET_FILE=str(secret)) == ()
        ((_, headers, body),) = hook.calls
        signed = "sha256=" + hmac.new(b"hush", body, hashlib.sha256).hexdigest()
        assert headers["x-hub-signature-256"] == headers["x-signature"] == signed
        assert b"hush" not in body

    @pytest.mark.parametrize("status", [302, 401, 500])
    def test_a_refusal_is_a_note(self, told, hook, status):
        hook.status = status
        (note,) = told(self.sync(hook))
        assert note == f"east: the engine was not told: 127.0.0.1 answered {status}"
        assert len(hook.calls) == 1  # neither repeated nor followed elsewhere

    def test_nobody_there_is_a_note(self, told):
        (note,) = told({"nudge": "webhook", "nudgeUrl": "http://127.0.0.1:1/hook"})
        assert note.startswith("east: the engine was not told: 127.0.0.1 could not be called")
