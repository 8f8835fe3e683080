"""Requests that fail, are slowed, cut and redirected: what is repeated, what is not, what is said."""

import json
import pickle
import socket
import ssl
import threading

import pytest

from gati_gitops.errors import Refused
from gati_gitops.forge.answers import next_page, retry_after, said
from gati_gitops.forge.http import Http
from gati_gitops.forge.model import ForgeError, Unanswered
from gati_gitops.web.connect import Limits
from gati_gitops.web.secret import Secret
from tests.forge.worlds import Pauses
from tests.servers.certificates import Authority
from tests.servers.contract import ContractServer, Reply, endpoint

TOKEN = "not-the-real-thing-4711"


class Things(ContractServer):
    """Lists, makes and changes things."""

    def __init__(self, tls=None):
        self.made = []
        super().__init__(tls)

    @endpoint("GET", "/things")
    def list(self, seen):
        return self.page(seen, [{"n": n} for n in range(7)], 3)

    @endpoint("POST", "/things")
    def make(self, seen):
        self.made.append(json.loads(seen.raw))
        return Reply(201, {"n": len(self.made)})

    @endpoint("PATCH", "/things")
    def change(self, seen):
        self.made[:] = [json.loads(seen.raw)]
        return Reply(200, {})

    @endpoint("GET", "/old")
    def moved(self, seen):
        return Reply(301, None, {"Location": "/things?per_page=100"})

    @endpoint("POST", "/old")
    def moved_too(self, seen):
        return Reply(307, None, {"Location": f"{self.url}/things"})

    @endpoint("GET", "/round")
    def round(self, seen):
        return Reply(302, None, {"Location": "/round"})

    @endpoint("GET", "/away")
    def away(self, seen):
        return Reply(
            302, None, {"Location": f"http://127.0.0.2:{self.url.rpartition(':')[2]}/things"}
        )


@pytest.fixture
def server():
    with Things() as server:
        yield server


@pytest.fixture
def pauses():
    return Pauses()


def client(url, pauses, environ=None, **limits):
    limits = {"connect": 2, "read": 2, "answer": 4, "attempts": 4, "patience": 600} | limits
    return Http(
        url,
        "Forge",
        {"Authorization": f"Bearer {TOKEN}"},
        Secret(TOKEN),
        environ=environ or {},
        limits=Limits(**limits),
        pause=pauses,
        clock=lambda: 1_000_000.0,
    )


@pytest.fixture
def http(server, pauses):
    return client(server.url, pauses)


# ------------------------------------------------------------------------------ plain talk


def test_pages_are_followed_to_the_last(http, server):
    assert [item["n"] for item in http.pages("/things", "list things")] == list(range(7))
    assert len(server.seen) == 3
    assert {s.headers["authorization"] for s in server.seen} == {f"Bearer {TOKEN}"}


def test_every_request_says_who_we_are(http, server):
    http.some("/things", "list things")
    assert server.seen[0].headers["user-agent"].startswith("gati-gitops/")


def test_redirects_within_the_forge_are_followed(http, server):
    assert len(http.some("/old", "list things")) == 7
    assert http.send("POST", "/old", "make a thing", {"a": 1}) == {"n": 1}
    assert server.made == [{"a": 1}]


def test_the_token_is_not_taken_elsewhere(http, server):
    with pytest.raises(ForgeError, match="points to another place"):
        http.get("/away", "list things")
    server.fail(
        "GET",
        "/things",
        status=200,
        body=[],
        headers={"Link": '<http://evil.example/x>; rel="next"'},
    )
    with pytest.raises(ForgeError, match=r"evil\.example"):
        list(http.pages("/things", "list things"))
    assert all(s.headers["host"].startswith("127.0.0.1") for s in server.seen)


def test_circles_end(http):
    with pytest.raises(ForgeError, match="in circles"):
        http.get("/round", "go round")


# ------------------------------------------------------------------------------ trying again


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_reads_and_whole_updates_are_repeated(http, server, pauses, status):
    server.fail("GET", "/things", times=2, status=status, body="<html>oops</html>")
    assert http.some("/things", "list things")
    server.fail("PATCH", "/things", times=3, status=status)
    http.send("PATCH", "/things", "change a thing", {"b": 2})
    assert len(pauses) == 5 and all(0 < p <= 30 for p in pauses)


def test_an_end_is_found_to_trying(http, server):
    server.fail("GET", "/things", times=99, status=502)
    with pytest.raises(ForgeError, match="Forge would not list things: 502"):
        http.some("/things", "list things")
    assert len(server.seen) == 4


@pytest.mark.parametrize("cut", ["before", "inside", "after"])
def test_cut_connections(http, server, cut):
    server.fail("GET", "/things", cut=cut)
    assert len(http.some("/things", "list things")) == 3
    server.fail("POST", "/things", cut=cut)
    with pytest.raises(Unanswered, match="whether it was done is not known"):
        http.send("POST", "/things", "make a thing", {"a": 1})
    assert len(server.made) == (0 if cut == "before" else 1), "a POST is never repeated blindly"


def test_a_server_that_never_answers(server, pauses):
    server.fail("GET", "/things", times=2, stall=1)
    http = client(server.url, pauses, read=0.2, attempts=2)
    with pytest.raises(ForgeError, match="took too long to answer"):
        http.some("/things", "list things")


def test_an_answer_that_drips(pauses):
    """Each byte comes within the time-out, the whole never does."""
    listener = socket.create_server(("127.0.0.1", 0))
    stop = threading.Event()

    def drip():
        connection, _ = listener.accept()
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while not stop.wait(0.02):
            try:
                connection.sendall(b" ")
            except OSError:
                break
        connection.close()

    threading.Thread(target=drip, daemon=True).start()
    http = client(f"http://127.0.0.1:{listener.getsockname()[1]}", pauses, answer=0.3, attempts=1)
    with pytest.raises(ForgeError, match="could not list things"):
        http.some("/things", "list things")
    stop.set()
    listener.close()


def test_nobody_there(pauses):
    http = client("http://127.0.0.1:1", pauses, attempts=3)
    with pytest.raises(ForgeError, match="no way to its address") as error:
        http.send("POST", "/things", "make a thing", {})
    assert not isinstance(error.value, Unanswered), "what was never sent was not done"
    assert len(pauses) == 2


# ------------------------------------------------------------------------------ rate limits


@pytest.mark.parametrize(
    "status, headers, body, waited",
    [
        (429, {"Retry-After": "7"}, None, 7),
        (403, {"Retry-After": "9"}, {"message": "You have exceeded a secondary rate limit"}, 9),
        (
            403,
            {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1000030"},
            {"message": "no"},
            31,
        ),
        (429, {"RateLimit-Remaining": "0", "RateLimit-Reset": "1000012"}, "Retry later", 13),
        (403, {}, {"message": "You have triggered an abuse detection mechanism."}, 60),
        (429, {}, None, 60),
        (503, {"Retry-After": "4"}, None, 4),
    ],
)
def test_the_forge_says_when_to_come_back(http, server, pauses, status, headers, body, waited):
    if status != 503:  # that a POST was limited says that it was not done
        server.fail("POST", "/things", status=status, headers=headers, body=body)
        http.send("POST", "/things", "make a thing", {"a": 1})
        assert server.made == [{"a": 1}]
        assert waited <= pauses.pop() <= waited + 1
    server.fail("GET", "/things", status=status, headers=headers, body=body)
    http.some("/things", "list things")
    assert waited <= pauses[0] <= waited + 1


def test_waiting_without_a_word_grows(server, pauses):
    server.fail("GET", "/things", times=3, status=429)
    client(server.url, pauses).some("/things", "list things")
    assert pauses == [60, 120, 240]


def test_patience_is_bounded_for_the_whole_run(server, pauses):
    http = client(server.url, pauses, patience=100)
    server.fail("GET", "/things", status=429, headers={"Retry-After": "80"})
    http.some("/things", "list things")
    server.fail("GET", "/things", status=429, headers={"Retry-After": "80"})
    with pytest.raises(ForgeError, match="asks to wait 80 s") as error:
        http.some("/things", "list things")
    assert "run again later" in error.value.remedy
    assert len(pauses) == 1


def test_a_plain_403_is_not_a_rate_limit(http, server, pauses):
    server.fail("GET", "/things", status=403, body={"message": "Forbidden"},
                headers={"X-Accepted-GitHub-Permissions": "pull_requests=write"})  # fmt: skip
    with pytest.raises(ForgeError, match="403 Forbidden") as error:
        http.some("/things", "list things")
    assert "pull_requests=write" in error.value.remedy
    assert pauses == []


# ------------------------------------------------------------------------------ what is said


def test_no_error_shows_the_token(http, server):
    server.fail(
        "GET", "/things", status=422, body={"message": f"Bearer {TOKEN} is no good\n\x1b[31m"}
    )
    with pytest.raises(ForgeError) as error:
        http.some("/things", "list things")
    assert error.value.message == "Forge would not list things: 422 Bearer *** is no good \\x1b[31m"
    assert TOKEN not in repr(vars(error.value))


def test_the_token_is_in_no_repr(http):
    secret = Secret(TOKEN)
    assert TOKEN not in f"{secret} {secret!r} {[secret]}"
    assert TOKEN not in repr(http)
    with pytest.raises(TypeError):
        pickle.dumps(secret)


def test_a_login_page_is_not_an_answer(http, server):
    server.fail(
        "GET", "/things", status=200, body="<html>Log in", headers={"Content-Type": "text/html"}
    )
    with pytest.raises(ForgeError, match="text/html instead of JSON") as error:
        http.some("/things", "list things")
    assert "GATI_FORGE_URL" in error.value.remedy


@pytest.mark.parametrize(
    "body, words",
    [
        ({"message": "Validation Failed", "errors": [{"resource": "PullRequest", "field": "head", "code": "invalid"}]},
         "Validation Failed: PullRequest head invalid"),
        ({"message": "Validation Failed", "errors": [{"code": "custom", "message": "It exists."}]},
         "Validation Failed: It exists."),
        ({"message": ["Another one exists: !1"]}, "Another one exists: !1"),
        ({"message": {"title": ["is too long"]}}, "title is too long"),
        ({"error": "insufficient_scope", "error_description": "More is needed."}, "More is needed."),
        ({"error": "title is missing"}, "title is missing"),
        ({"message": "m", "errors": ["a", None, 3]}, "m: a"),
        (None, ""), ([], ""), (5, ""), ({}, ""),
    ],
)  # fmt: skip
def test_error_bodies_of_all_forges_become_a_sentence(body, words):
    assert said(body) == words


def test_long_errors_are_cut(http, server):
    server.fail("GET", "/things", status=400, body={"message": "x" * 5000})
    with pytest.raises(ForgeError) as error:
        http.some("/things", "list things")
    assert len(error.value.message) < 400


def test_401_and_404_say_what_to_do(http, server):
    server.fail("GET", "/things", status=401, body={"message": "Bad credentials"})
    with pytest.raises(ForgeError) as error:
        http.some("/things", "list things")
    assert "GATI_FORGE_TOKEN" in error.value.remedy
    with pytest.raises(ForgeError) as error:
        http.get("/nothing", "show a thing")
    assert "may not see it" in error.value.remedy


@pytest.mark.parametrize("body", ["[]", "[1]", "null", "7", '"x"', '{"message": "hm"}'])
def test_answers_of_another_kind_are_the_forges_failure(http, server, body):
    server.fail("GET", "/things", times=2, status=200, body=body)
    if body != "[]":
        with pytest.raises(ForgeError, match="no list of objects"):
            list(http.pages("/things", "list things"))
    if not body.startswith("{"):
        with pytest.raises(ForgeError, match="no object"):
            http.get("/things", "show things")


# ------------------------------------------------------------------------------ small parts


@pytest.mark.parametrize(
    "link, want",
    [
        ("", ""),
        (
            '<https://a/x?page=2>; rel="next", <https://a/x?page=9>; rel="last"',
            "https://a/x?page=2",
        ),
        ('<https://a/x?page=1>; rel="prev",<https://a/x?page=3>;rel="next"', "https://a/x?page=3"),
        ('<https://a/x?page=1>; rel="prev", <https://a/x?page=9>; rel="last"', ""),
        ("nonsense", ""),
    ],
)
def test_next_page(link, want):
    assert next_page(link) == want


def test_retry_after_may_be_a_date():
    headers = {"retry-after": "Mon, 12 Jan 1970 13:47:00 GMT"}
    assert retry_after(headers, 1_000_000.0) == pytest.approx(20.0)
    assert retry_after({"retry-after": "soon"}, 0) is None


# ------------------------------------------------------------------------------ TLS, proxies


def test_plain_http_only_to_this_machine(pauses):
    with pytest.raises(Refused, match="not https"):
        client("http://forge.example.com", pauses)


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path / "authority")


@pytest.fixture
def secured(authority, tmp_path):
    """A server whose certificate is for 127.0.0.1 and 127.0.0.2; its authority is a test's own."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue("127.0.0.1", tmp_path / "certificate", tmp_path / "key")
    context.load_cert_chain(tmp_path / "certificate", tmp_path / "key")
    with Things(context) as server:
        yield server


def test_only_known_authorities_are_trusted(secured, authority, pauses):
    with pytest.raises(ForgeError, match="certificate is not trusted") as error:
        client(secured.url, pauses).some("/things", "list things")
    assert "SSL_CERT_FILE" in error.value.remedy
    assert (secured.seen, pauses) == ([], []), "nothing was sent, nothing tried again"
    environ = {"SSL_CERT_FILE": str(authority.file)}
    assert client(secured.url, pauses, environ).some("/things", "list things")


def test_a_certificate_for_another_host(secured, authority, pauses):
    environ = {"SSL_CERT_FILE": str(authority.file)}
    url = secured.url.replace("127.0.0.1", "localhost")
    with pytest.raises(ForgeError, match="certificate is not trusted"):
        client(url, pauses, environ).some("/things", "list things")


def test_a_file_of_authorities_that_is_none(pauses, tmp_path):
    with pytest.raises(Refused, match="SSL_CERT_FILE"):
        client("https://forge.example.com", pauses, {"SSL_CERT_FILE": str(tmp_path / "none")})


class Proxy:
    """Tunnels for whoever logs in; every name leads to one port of this machine."""

    def __init__(self, port):
        self.port, self.asked = port, []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            head = connection.recv(65536).decode()
            self.asked.append(head)
            if "proxy-authorization: basic" not in head.lower():
                connection.sendall(b"HTTP/1.1 407 Who are you?\r\nContent-Length: 0\r\n\r\n")
                connection.close()
                continue
            target = socket.create_connection(("127.0.0.1", self.port))
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            for one, other in ((connection, target), (target, connection)):
                threading.Thread(target=self._pump, args=(one, other), daemon=True).start()

    @staticmethod
    def _pump(one, other):
        try:
            while data := one.recv(65536):
                other.sendall(data)
        except OSError:
            pass
        finally:
            one.close()
            other.close()

    def close(self):
        self._listener.close()


@pytest.fixture
def proxied(authority, tmp_path):
    """A server that only a proxy leads to, under the name 127.0.0.9."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue("127.0.0.9", tmp_path / "certificate9", tmp_path / "key9")
    context.load_cert_chain(tmp_path / "certificate9", tmp_path / "key9")
    with Things(context) as server:
        proxy = Proxy(int(server.url.rpartition(":")[2]))
        yield proxy
        proxy.close()


def test_the_environments_proxy_is_used_with_its_login(proxied, authority, pauses):
    environ = {
        "SSL_CERT_FILE": str(authority.file),
        "HTTPS_PROXY": f"http://me:pass@{proxied.address}",
    }
    assert client("https://127.0.0.9:443", pauses, environ).some("/things", "list things")
    assert proxied.asked[0].startswith("CONNECT 127.0.0.9:443")
    assert TOKEN not in proxied.asked[0]


def test_a_proxy_that_refuses(proxied, authority, pauses):
    environ = {"SSL_CERT_FILE": str(authority.file), "https_proxy": proxied.address}
    with pytest.raises(ForgeError, match="proxy does not let us through"):
        client("https://127.0.0.9:443", pauses, environ, attempts=1).some("/things", "list things")


def test_no_proxy(proxied, authority, pauses):
    environ = {"HTTPS_PROXY": proxied.address, "NO_PROXY": "example.org, .0.0.9"}
    with pytest.raises(ForgeError):
        client("https://127.0.0.9:1", pauses, environ, attempts=1).some("/things", "list things")
    assert proxied.asked == []


def test_a_kind_of_proxy_that_we_do_not_have(pauses):
    with pytest.raises(Refused, match="socks5"):
        client("https://forge.example.com", pauses, {"ALL_PROXY": "socks5://127.0.0.1:9"})
