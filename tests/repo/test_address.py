"""Only what we know to be safe is taken for an address, and no secret gets into a message."""

import pytest

from gati_gitops.cli.main import run
from gati_gitops.errors import Misnamed, Refused
from gati_gitops.repo.address import parse


@pytest.mark.parametrize(
    "text, kind, url, host, port, user",
    [
        ("https://git.example.test/a/b.git", "https", None, "git.example.test", 0, ""),
        ("HTTPS://Git.Example.test/a", "https", "https://git.example.test/a", "git.example.test", 0, ""),
        ("https://git.example.test:8443/a", "https", None, "git.example.test", 8443, ""),
        ("https://[2001:db8::1]:8443/a", "https", None, "2001:db8::1", 8443, ""),
        ("http://127.0.0.1:3000/a.git", "http", None, "127.0.0.1", 3000, ""),
        ("http://localhost/a.git", "http", None, "localhost", 0, ""),
        ("http://[::1]:80/a.git", "http", None, "::1", 80, ""),
        ("ssh://git@example.test/a/b.git", "ssh", None, "example.test", 22, "git"),
        ("ssh://me@example.test:2222/a", "ssh", None, "example.test", 2222, "me"),
        ("ssh://example.test/a", "ssh", "ssh://git@example.test/a", "example.test", 22, "git"),
        ("ssh://git@example.test/~/a", "ssh", None, "example.test", 22, "git"),
        ("git@github.example:org/repo.git", "ssh", None, "github.example", 22, "git"),
        ("github.example:org/repo.git", "ssh", "git@github.example:org/repo.git", "github.example", 22, "git"),
        ("org-1234@github.example:org/repo", "ssh", None, "github.example", 22, "org-1234"),
    ],
)  # fmt: skip
def test_what_is_taken(text, kind, url, host, port, user):
    found = parse(text)
    assert (found.kind, found.url, found.host, found.port, found.user) == (
        kind, url or text, host, port, user,
    )  # fmt: skip
    assert found.is_remote
    assert str(found) == found.text


@pytest.mark.parametrize("text", ["deploy.git", "./a:b", "/srv/a", "../a", "a/b:c", "."])
def test_a_folder(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = parse(text)
    assert found.kind == "path"
    assert found.text == text
    assert found.url.startswith("/")
    assert not found.is_remote


def test_a_folder_in_my_home(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    assert parse("~/deploy").url == "/home/me/deploy"


@pytest.mark.parametrize(
    "text, words",
    [
        ("ext::sh -c touch% /tmp/x", "run a program"),
        ("fd::17/foo", "run a program"),
        ("file:///srv/a", "file://"),
        ("FILE:///srv/a", "file://"),
        ("http://example.test/a", "in the clear"),
        ("http://127.0.0.1.example.test/a", "in the clear"),
        ("http://localhost.example.test/a", "in the clear"),
        ("https://user:HUNTER2@example.test/a", "password"),
        ("https://:HUNTER2@example.test/a", "password"),
        ("https://HUNTER2@example.test/a", "user name"),
        ("ssh://git:HUNTER2@example.test/a", "password"),
    ],
)
def test_what_is_refused(text, words):
    with pytest.raises(Refused, match=words) as refused:
        parse(text)
    _said(refused.value, 5)


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "empty"),
        ("-u./x", "dash"),
        ("--upload-pack=touch /tmp/x", "dash"),
        ("git://example.test/a", "git://"),
        ("ftp://example.test/a", "ftp://"),
        ("git+ssh://example.test/a", r"git\+ssh://"),
        ("https://example.test/a?token=HUNTER2", "more in it"),
        ("https://example.test/a#HUNTER2", "more in it"),
        ("https://example.test", "no path"),
        ("https://example.test/", "no path"),
        ("https:///a", "no host"),
        ("https://exa mple.test/a", "more in it|no host"),
        ("https://example.test:99999/a", "no URL"),
        ("https://[::1/a", "no URL"),
        ("ssh://-oProxyCommand=touch/a", "no host"),
        ("ssh://-oProxyCommand=x@example.test/a", "malformed"),
        ("ssh://git@example.test/-x", "dash"),
        ("-oProxyCommand=x@example.test:a", "dash"),
        ("git@-oProxyCommand=x:a", "no host"),
        ("-x@example.test:a", "dash"),
        ("git@example.test:", "no path"),
        ("git@example.test:-x", "no path"),
        ("https://example.test/a\nb", "control"),
        ("https://example.test/a\x00b", "control"),
        ("https://example.test/a\\b", "more in it"),
    ],
)
def test_what_is_no_address(text, words):
    with pytest.raises(Misnamed, match=words) as misnamed:
        parse(text)
    _said(misnamed.value, 2)


def _said(error, code):
    assert error.exit_code == code
    assert error.remedy
    assert "HUNTER2" not in f"{error.message}{error.remedy}"


@pytest.mark.parametrize("repo", ["", "ftp://x/y"])
@pytest.mark.parametrize(
    "verb",
    [
        ["status"],
        ["drift"],
        ["hold", "a/b", "--reason", "x"],
        ["rollback", "a/b", "--env", "prod", "--reason", "x", "--break-glass"],
    ],
    ids=lambda verb: verb[0],
)
def test_every_verb_calls_that_wrong_usage(verb, repo, capsys, tmp_path, monkeypatch):
    (tmp_path / "overlays").mkdir()
    monkeypatch.chdir(tmp_path)
    assert run([*verb, "--repo", repo]) == 2
    assert "https://HOST/PATH" in capsys.readouterr().err


def test_an_odd_user_is_not_shown():
    with pytest.raises(Refused) as refused:
        parse("https://example.test@evil.test/a")
    assert "evil" not in refused.value.message
