"""The forge and the token are known from the address and the environment, or it is said what to set."""

import pytest

from gati_gitops.errors import GatiError, Outside, Refused
from gati_gitops.forge.choose import forge_for
from gati_gitops.forge.gitea import Gitea
from gati_gitops.forge.github import GitHub
from gati_gitops.forge.gitlab import GitLab

TOKEN = {"GATI_FORGE_TOKEN": "t0ken"}


@pytest.mark.parametrize(
    "address, environ, kind, base, repository",
    [
        ("https://github.com/acme/output.git", {}, GitHub, "https://api.github.com", "/repos/acme/output"),
        ("git@github.com:acme/output.git", {}, GitHub, "https://api.github.com", "/repos/acme/output"),
        ("ssh://git@ssh.github.com:443/acme/output.git", {}, GitHub, "https://api.github.com", "/repos/acme/output"),
        ("https://acme.ghe.com/acme/output", {}, GitHub, "https://api.acme.ghe.com", "/repos/acme/output"),
        ("https://github.acme.com/a/b", {}, GitHub, "https://github.acme.com/api/v3", "/repos/a/b"),
        ("git@gitlab.com:acme/sub/output.git", {}, GitLab, "https://gitlab.com/api/v4", "/projects/acme%2Fsub%2Foutput"),
        ("https://gitlab.acme.com:8443/a/b.git", {}, GitLab, "https://gitlab.acme.com:8443/api/v4", "/projects/a%2Fb"),
        ("https://codeberg.org/a/b", {}, Gitea, "https://codeberg.org/api/v1", "/repos/a/b"),
        ("ssh://git@forgejo.acme.com:2222/a/b.git", {}, Gitea, "https://forgejo.acme.com/api/v1", "/repos/a/b"),
        ("git@git.acme.com:a/b.git", {"GATI_FORGE": "gitea"}, Gitea, "https://git.acme.com/api/v1", "/repos/a/b"),
        ("git@git.acme.com:a/b.git", {"GATI_FORGE": "GitHub"}, GitHub, "https://git.acme.com/api/v3", "/repos/a/b"),
        ("git@git.acme.com:a/b.git", {"GATI_FORGE_URL": "https://gitlab.acme.com/"}, GitLab,
         "https://gitlab.acme.com/api/v4", "/projects/a%2Fb"),
        ("https://acme.com/gitlab/a/b.git", {"GATI_FORGE": "gitlab", "GATI_FORGE_URL": "https://acme.com/gitlab"}, GitLab,
         "https://acme.com/gitlab/api/v4", "/projects/a%2Fb"),
        ("/srv/output.git", {"GATI_FORGE": "gitea", "GATI_FORGE_URL": "http://127.0.0.1:3000",
                             "GATI_FORGE_REPOSITORY": "a/b"}, Gitea, "http://127.0.0.1:3000/api/v1", "/repos/a/b"),
        ("https://git.acme.com/a/b", {"GITHUB_SERVER_URL": "https://git.acme.com"}, GitHub,
         "https://git.acme.com/api/v3", "/repos/a/b"),
        ("https://git.acme.com/a/b", {"GITHUB_SERVER_URL": "https://git.acme.com", "GITEA_ACTIONS": "true"}, Gitea,
         "https://git.acme.com/api/v1", "/repos/a/b"),
        ("https://git.acme.com/a/b", {"CI_SERVER_URL": "https://git.acme.com:443"}, GitLab,
         "https://git.acme.com/api/v4", "/projects/a%2Fb"),
    ],
)  # fmt: skip
def test_forges_are_known_by_their_hosts(address, environ, kind, base, repository):
    forge = forge_for(address, TOKEN | environ)
    assert type(forge) is kind
    assert forge._http._base == base
    assert (forge._project if kind is GitLab else forge._repo) == repository


@pytest.mark.parametrize(
    "address, environ, words, remedy",
    [
        ("https://git.acme.com/a/b", {}, "git.acme.com", "GATI_FORGE"),
        ("/srv/output.git", {}, "on no forge", "GATI_FORGE_URL"),
        ("../output", {}, "on no forge", "mode to direct"),
        ("https://github.com/", {}, "which repository", "GATI_FORGE_REPOSITORY"),
        ("https://github.com/a/b", {"GATI_FORGE": "bitbucket"}, "'bitbucket'", ""),
        ("https://github.com/a/b", {"GATI_FORGE_URL": "github.com"}, "GATI_FORGE_URL", ""),
        (
            "https://github.com/a/b",
            {"GATI_FORGE_URL": "https://me:pw@github.com"},
            "without a user",
            "",
        ),
        (
            "git@git.acme.com:a/b",
            {"GATI_FORGE": "gitea", "GATI_FORGE_URL": "http://git.acme.com"},
            "not https",
            "",
        ),
    ],
)
def test_what_cannot_be_known_is_said(address, environ, words, remedy):
    with pytest.raises(Refused) as error:
        forge_for(address, TOKEN | environ)
    assert words in error.value.message
    assert remedy in error.value.remedy
    assert "pw" not in error.value.message


def sent(address: str, environ: dict[str, str]) -> dict[str, str]:
    names = ("Authorization", "JOB-TOKEN", "PRIVATE-TOKEN")
    headers = forge_for(address, environ)._http._headers
    return {name: headers[name] for name in names if name in headers}


@pytest.mark.parametrize(
    "address, environ, want",
    [
        (
            "https://github.com/a/b",
            {"GATI_FORGE_TOKEN": "one", "GITHUB_TOKEN": "two"},
            {"Authorization": "Bearer one"},
        ),
        ("https://github.com/a/b", {"GITHUB_TOKEN": "two"}, {"Authorization": "Bearer two"}),
        ("https://gitlab.com/a/b", {"CI_JOB_TOKEN": "job"}, {"JOB-TOKEN": "job"}),
        (
            "https://gitlab.com/a/b",
            {"GITLAB_TOKEN": "own", "CI_JOB_TOKEN": "job"},
            {"Authorization": "Bearer own"},
        ),
        ("https://codeberg.org/a/b", {"GITEA_TOKEN": "tea"}, {"Authorization": "token tea"}),
        ("https://github.com/a/b", {"GATI_GIT_TOKEN": "git"}, {"Authorization": "Bearer git"}),
    ],
)
def test_where_tokens_come_from(address, environ, want):
    assert sent(address, environ) == want


@pytest.mark.parametrize(
    "address, environ",
    [
        ("https://github.com/a/b", {}),
        # A token that CI made for one host is not for another.
        (
            "https://github.com/a/b",
            {"GITHUB_TOKEN": "x", "GITHUB_SERVER_URL": "https://ghe.acme.com"},
        ),
        ("https://github.evil.com/a/b", {"GITHUB_TOKEN": "x"}),
        (
            "https://gitlab.evil.com/a/b",
            {"CI_JOB_TOKEN": "x", "CI_SERVER_URL": "https://gitlab.acme.com"},
        ),
        ("https://gitlab.com/a/b", {"GITHUB_TOKEN": "x"}),
        ("https://a.com/a/b", {"GATI_GIT_TOKEN": "x", "GATI_FORGE_URL": "https://gitlab.b.com"}),
    ],
)
def test_no_token_and_none_that_belongs_elsewhere(address, environ):
    with pytest.raises(Outside, match="no token") as error:
        forge_for(address, environ)
    assert "GATI_FORGE_TOKEN_FILE" in error.value.remedy


def test_a_token_in_a_file(tmp_path):
    file = tmp_path / "token"
    file.write_text("from-file\n")
    environ = {"GATI_FORGE_TOKEN_FILE": str(file)}
    assert sent("https://github.com/a/b", environ) == {"Authorization": "Bearer from-file"}
    file.write_text("")
    with pytest.raises(Outside, match="which is empty"):
        forge_for("https://github.com/a/b", environ)
    file.unlink()
    with pytest.raises(Outside, match="can't be read"):
        forge_for("https://github.com/a/b", environ)


@pytest.mark.parametrize("value", ["two words", "line\nbreak", "smörgås", "a\x7fb"])
def test_what_cannot_be_a_token_is_refused_and_not_quoted(value):
    with pytest.raises(GatiError) as error:
        forge_for("https://github.com/a/b", {"GATI_FORGE_TOKEN": value})
    assert value not in error.value.message
