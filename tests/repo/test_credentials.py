"""We say who we are once, to the right host, over a line we trust; and secrets stay where they are."""

import base64
import hmac
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from pygit2.enums import CredentialType

from gati_gitops.errors import GatiError, Outside, Refused
from gati_gitops.repo.address import parse
from gati_gitops.repo.credentials import Credentials, credentials
from gati_gitops.repo.exchange import Exchange, Line, Timeouts
from tests.servers.places import add, hasty
from tests.servers.process import Process
from tests.servers.proxy import Answer, Proxy
from tests.servers.ssh import new_key
from tests.servers.web import TOKEN, USER
from tests.tools import tool

WEB = parse("https://git.example.test/a")
SSH = parse("git@git.example.test:a")


# -- the environment ---------------------------------------------------------------------------------


def test_a_token_by_value_or_by_file(tmp_path):
    file = tmp_path / "token"
    file.write_text("s3cret\n")
    for environ in ({"GATI_GIT_TOKEN": "s3cret"}, {"GATI_GIT_TOKEN_FILE": str(file)}):
        found = credentials(WEB, environ)
        assert (found.username, found.token) == ("x-access-token", "s3cret")
        assert "s3cret" not in repr(found)
    named = credentials(WEB, {"GATI_GIT_TOKEN": "s3cret", "GATI_GIT_USERNAME": "robot"})
    assert named.username == "robot"
    assert credentials(WEB, {"GATI_GIT_TOKEN": ""}).token == ""


def test_a_key_and_what_opens_it(tmp_path):
    new_key(tmp_path / "key")
    (tmp_path / "known").write_text("x y z\n")
    environ = {
        "GATI_SSH_KEY": str(tmp_path / "key"),
        "GATI_SSH_PASSPHRASE": "s3cret",
        "GATI_SSH_KNOWN_HOSTS": str(tmp_path / "known"),
        "GATI_GIT_TOKEN": "not for ssh",
    }
    found = credentials(SSH, environ)
    assert (found.username, found.key, found.passphrase) == ("git", tmp_path / "key", "s3cret")
    assert found.known_hosts == (tmp_path / "known",)
    assert found.token == ""
    assert "s3cret" not in repr(found)


def test_hosts_that_my_home_knows(tmp_path):
    assert (
        tmp_path / ".ssh/known_hosts" not in credentials(SSH, {"HOME": str(tmp_path)}).known_hosts
    )
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/known_hosts").touch()
    assert credentials(SSH, {"HOME": str(tmp_path)}).known_hosts[0] == tmp_path / ".ssh/known_hosts"


def test_a_folder_needs_none():
    assert credentials(parse("/srv/a"), {"GATI_GIT_TOKEN": "s3cret"}) == Credentials()


@pytest.mark.parametrize(
    "address, environ, words",
    [
        (WEB, {"GATI_GIT_TOKEN": "s3cret", "GATI_GIT_TOKEN_FILE": "/x"}, "both"),
        (WEB, {"GATI_GIT_TOKEN_FILE": "/nowhere/s"}, "cannot be read: No such file"),
        (WEB, {"GATI_GIT_TOKEN_FILE": os.devnull}, "is empty"),
        (WEB, {"GATI_GIT_TOKEN": "s3cret\nX-Header: 1"}, "line break"),
        (SSH, {"GATI_SSH_KEY": "/nowhere/key"}, "cannot be read"),
        (SSH, {"GATI_SSH_KEY": os.devnull}, "holds no private key"),
        (SSH, {"GATI_SSH_KNOWN_HOSTS": "/nowhere/hosts"}, "no such file"),
    ],
)
def test_settings_that_cannot_be(address, environ, words):
    with pytest.raises(GatiError, match=words) as refused:
        credentials(address, environ)
    assert refused.value.exit_code in (4, 5)
    assert "s3cret" not in refused.value.message


def test_scrubbing_takes_out_what_is_ours_and_what_looks_like_a_secret():
    own = Credentials(token="t0ken", passphrase="passphrase")
    text = own.scrub("t0ken and passphrase at https://a:b@c.test and ghp_" + "a" * 36)
    assert text == "*** and *** at https://a:***@c.test and ***"


# -- a web server ------------------------------------------------------------------------------------


def told(place, **options):
    """The error of a run that must fail, as all a user sees of it."""
    with pytest.raises(GatiError) as failed:
        place.write(add("one"), retry=hasty(3), **options)
    text = f"{failed.value.message} {failed.value.remedy} {failed.value!r}"
    for secret in (TOKEN, "wrong-token", base64.b64encode(f"{USER}:{TOKEN}".encode()).decode()):
        assert secret not in text
    assert failed.value.remedy
    assert failed.value.__cause__ is None or TOKEN not in str(failed.value.__cause__)
    return failed.value


def test_a_wrong_token_is_offered_once(behind, proxy):
    error = told(behind, environ={"GATI_GIT_TOKEN": "wrong-token"})
    assert type(error) is Outside
    assert "did not take our token" in error.message
    assert behind.url in error.message
    assert sum(request.has_credentials for request in proxy.requests) == 1


def test_a_server_that_always_asks_again(behind, proxy):
    proxy.rule = lambda _: Answer(401, ('WWW-Authenticate: Basic realm="x"',))
    assert "did not take our token" in told(behind).message
    assert len(proxy.requests) <= 3


def test_no_token_where_one_is_asked_for(behind):
    error = told(behind, environ={})
    assert "no token was given" in error.message
    assert "GATI_GIT_TOKEN" in error.remedy


def test_no_token_is_offered_where_none_is_asked_for(behind, proxy):
    """So a server that lets everybody read never sees it."""
    assert behind.write(add("one")).commits
    assert not proxy.requests[0].has_credentials


def test_a_token_does_not_follow_to_another_host(behind, proxy, web):
    other = Proxy(web.port)
    try:
        where = f"{other.url(behind.bare.name)}/info/refs?service=git-upload-pack"
        proxy.rule = lambda _: Answer(301, (f"Location: {where}",))
        error = told(behind)
        assert isinstance(error, Refused)
        assert "sends us on to 127.0.0.1" in error.message
        assert not any(request.has_credentials for request in other.requests)
    finally:
        other.end()


@pytest.mark.parametrize(
    "given, asks, gets",
    [
        ("https://git.test/a", "https://git.test/a", True),
        ("https://git.test/a", "https://git.test:443/a", True),
        ("https://git.test:443/a", "https://GIT.test/a", True),
        ("https://git.test/a", "https://git.test/moved", True),
        ("https://git.test/a", "http://git.test/a", False),
        ("https://git.test/a", "https://git.test:8443/a", False),
        ("https://git.test/a", "https://git.test.evil.test/a", False),
        ("https://git.test/a", "https://evil.test/git.test/a", False),
    ],
)
def test_who_gets_the_token(given, asks, gets):
    line = Line(parse(given), Credentials(token="t0ken"), Timeouts(), lambda _: None)
    if gets:
        found = Exchange(line).credentials(asks, None, CredentialType.USERPASS_PLAINTEXT)
        assert found.credential_tuple == ("x-access-token", "t0ken")
    else:
        with pytest.raises(Refused, match="sends us on to"):
            Exchange(line).credentials(asks, None, CredentialType.USERPASS_PLAINTEXT)


def test_a_server_that_repeats_the_token_to_us(places):
    place = places("http")
    place.hook("pre-receive", f'echo "your token {TOKEN} is no good" >&2; exit 1')
    heard = []
    error = told(place, progress=heard.append)
    assert "your token *** is no good" in error.message
    assert TOKEN not in "".join(heard)


def test_a_certificate_of_an_authority_that_nobody_trusts(places, authority):
    place = places("https")
    script = (
        "import os, sys\n"
        "from gati_gitops.repo.address import parse\n"
        "from gati_gitops.repo.credentials import credentials\n"
        "from gati_gitops.repo.repository import open_repository\n"
        "at = parse(sys.argv[1])\n"
        "try: open_repository(at, credentials=credentials(at, os.environ)).tip(); print('in')\n"
        "except Exception as e: print(type(e).__name__, e, e.remedy)\n"
    )

    def run(**environ):
        done = subprocess.run(
            [sys.executable, "-c", script, place.url],
            env={**os.environ, **place.environ, **environ}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout

    refused = run()
    assert refused.startswith("Refused the certificate of https://")
    assert "SSL_CERT_FILE" in refused
    assert run(SSL_CERT_FILE=str(authority.file)) == "in\n"


# -- an ssh server -----------------------------------------------------------------------------------


@pytest.fixture
def shell(places):
    return places("ssh")


def with_hosts(place, path, text):
    path.write_text(text)
    return {**place.environ, "GATI_SSH_KNOWN_HOSTS": str(path)}


def hashed(host):
    salt = b"0123456789abcdefghij"
    parts = (salt, hmac.new(salt, host.encode(), "sha1").digest())
    return "|1|" + "|".join(base64.b64encode(part).decode() for part in parts)


@pytest.mark.parametrize("form", ["plain", "hashed", "one key", "among others"])
def test_a_host_that_is_known(shell, ssh, tmp_path, form):
    text = {
        "plain": f"{ssh.host} {ssh.host_keys[0]}\n",
        "hashed": f"{hashed(ssh.host)} {ssh.host_keys[0]}\n",
        "one key": f"{ssh.host} {ssh.host_keys[1]}\n",
        "among others": f"# mine\n\nother.test {new_key(tmp_path / 'other')}\n"
        f"@cert-authority * {new_key(tmp_path / 'ca')}\n{ssh.host} {ssh.host_keys[0]}\n",
    }[form]
    assert shell.write(add("one"), environ=with_hosts(shell, tmp_path / "hosts", text)).commits


@pytest.mark.parametrize("form", ["empty", "other host", "changed", "revoked", "marker"])
def test_a_host_that_is_not_known_is_refused_before_our_key_is_shown(shell, ssh, tmp_path, form):
    other = new_key(tmp_path / "other")
    own = "".join(f"{ssh.host} {key}\n" for key in ssh.host_keys)
    text = {
        "empty": "",
        "other host": f"[127.0.0.1]:{ssh.port + 1} {ssh.host_keys[0]}\n",
        "changed": f"{ssh.host} {other}\n",
        "revoked": own + "".join(f"@revoked * {key}\n" for key in ssh.host_keys),
        "marker": f"@cert-authority {ssh.host} {ssh.host_keys[0]}\n",
    }[form]
    before = ssh.log().count("Accepted publickey")
    with pytest.raises(Refused, match="not among its known keys") as refused:
        shell.write(add("one"), environ=with_hosts(shell, tmp_path / "hosts", text))
    assert "GATI_SSH_KNOWN_HOSTS" in refused.value.remedy
    assert ssh.log().count("Accepted publickey") == before
    assert (tmp_path / "hosts").read_text() == text  # No trust on first use.


@pytest.mark.parametrize(
    "kind, passphrase", [("ed25519", ""), ("ecdsa", ""), ("rsa", ""), ("ed25519", "s3same")]
)
def test_keys_of_all_kinds(shell, ssh, tmp_path, kind, passphrase):
    public = new_key(tmp_path / "key", kind, passphrase)
    with (ssh.folder / "authorized").open("a") as file:
        file.write(f"{public}\n")
    environ = {
        **shell.environ,
        "GATI_SSH_KEY": str(tmp_path / "key"),
        "GATI_SSH_PASSPHRASE": passphrase,
    }
    assert shell.write(add("one"), environ=environ).commits


def test_a_key_that_the_server_does_not_know(shell, tmp_path):
    new_key(tmp_path / "stranger")
    environ = {**shell.environ, "GATI_SSH_KEY": str(tmp_path / "stranger")}
    with pytest.raises(Outside, match="did not take our key") as refused:
        shell.write(add("one"), environ=environ)
    assert "GATI_SSH_KEY" in refused.value.remedy


def test_a_passphrase_that_does_not_fit(shell, ssh, tmp_path):
    new_key(tmp_path / "key", passphrase="right")
    environ = {
        **shell.environ,
        "GATI_SSH_KEY": str(tmp_path / "key"),
        "GATI_SSH_PASSPHRASE": "wr0ng",
    }
    with pytest.raises(Outside, match=r"key could not be used: .*Wrong passphrase") as refused:
        shell.write(add("one"), environ=environ)
    assert "GATI_SSH_PASSPHRASE" in refused.value.remedy
    assert "wr0ng" not in f"{refused.value.message}{refused.value.remedy}"


def test_the_agent_is_asked_when_there_is_no_key(shell, ssh, tmp_path, monkeypatch):
    environ = {"GATI_SSH_KNOWN_HOSTS": str(ssh.known_hosts)}
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    with pytest.raises(Outside, match="did not take our key"):
        shell.write(add("one"), environ=environ)
    socket = str(tmp_path / "agent")
    agent = Process([tool("ssh-agent"), "-D", "-a", socket], tmp_path / "log")
    try:
        assert agent.answers(socket)
        monkeypatch.setenv("SSH_AUTH_SOCK", socket)
        subprocess.run([tool("ssh-add"), "-q", ssh.key], check=True, stderr=subprocess.DEVNULL)
        assert shell.write(add("one"), environ=environ).commits
    finally:
        agent.end()


def test_my_own_home_is_used_again_afterwards(shell):
    import pygit2

    before = pygit2.settings.homedir
    shell.write(add("one"))
    assert pygit2.settings.homedir == before


def test_a_configuration_that_rewrites_the_address(behind, tmp_path, monkeypatch):
    import pygit2
    from pygit2.enums import ConfigLevel

    before = pygit2.settings.search_path[ConfigLevel.GLOBAL]
    (tmp_path / ".gitconfig").write_text(f'[url "/srv/"]\n\tinsteadOf = {behind.url[:20]}\n')
    pygit2.settings.search_path[ConfigLevel.GLOBAL] = str(tmp_path)
    try:
        with pytest.raises(Refused, match="insteadOf"):
            replace(behind).write(add("one"))
    finally:
        pygit2.settings.search_path[ConfigLevel.GLOBAL] = before
