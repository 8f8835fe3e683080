"""Wrong settings are named at their line, with what to write instead, and without secrets."""

from __future__ import annotations

import pytest

from gati_gitops.errors import SpecsInvalid
from gati_gitops.spec.load import load
from tests.compile.kit import handler

HEAD = """\
apiVersion: gati.dev/v1alpha1
kind: GatiProject
metadata:
  name: shop
spec:
  sync:
    repository: {repository}
    {more}
  environments:
    prod:
      clusters:
        east:
          sync: {here}
"""
GOOD = "https://git.example.com/acme/deploy.git"


def problems(repository=GOOD, more="branch: main", here="{}"):
    text = HEAD.format(repository=repository, more=more, here=here)
    try:
        load([("gati.yaml", text.encode()), ("users.yaml", handler().encode())])
    except SpecsInvalid as error:
        return [(p.place.line, p.field, p.message, p.remedy) for p in error.problems]
    return []


@pytest.mark.parametrize(
    "repository",
    [
        GOOD,
        "https://git.example.com:8443/a/b",
        "ssh://git@github.com/acme/deploy.git",
        "ssh://git.example.com:2222/~/deploy",
        "http://127.0.0.1:3000/a/b.git",
    ],
)
def test_addresses_that_engines_read(repository):
    assert not problems(repository)


@pytest.mark.parametrize(
    "repository, says",
    [
        ("https://me:hunter2@git.example.com/a/b", "user name or password"),
        ("https://hunter2@git.example.com/a/b", "user name or password"),
        ("https://me:p@hunter2@git.example.com/a/b", "user name or password"),
        ("ssh://git:hunter2@git.example.com/a/b", "user name or password"),
        ("http://git.example.com/a/b", "read over http"),
        ("file:///srv/deploy.git", "not an https:// or ssh://"),
        ("git://git.example.com/a/b", "read over git"),
        ("git@github.com:acme/deploy.git", "not an https:// or ssh://"),
        ("deploy", "not an https:// or ssh://"),
        ("https://git.example.com", "no plain path"),
        ("'https://git.example.com/*'", "no plain path"),
        ("https://git.example.com/a?token=hunter2", "no plain path"),
        ("'https://git.example.com/a b'", "no plain path"),
        ("'https://git.example.com/${X}'", "no plain path"),
    ],
)
def test_addresses_that_are_refused(repository, says):
    ((line, field, message, remedy),) = problems(repository)
    assert (line, field) == (7, "spec.sync.repository")
    assert says in message and remedy
    assert "hunter2" not in message + remedy


def test_the_short_ssh_form_is_spelt_out():
    ((*_, remedy),) = problems("git@github.com:acme/deploy.git")
    assert "ssh://git@github.com/acme/deploy.git" in remedy


@pytest.mark.parametrize(
    "here, field, says",
    [
        ("{engine: flxu}", "engine", "flux"),
        ("{server: 'https://a:6443', name: a}", "name", "both server and name"),
        ("{kubeConfig: {name: a}}", "kubeConfig", "Flux's"),
        ("{engine: argocd, serviceAccount: a}", "serviceAccount", "Flux's"),
        ("{engine: flux, server: 'https://a'}", "server", "the engine here is flux"),
        ("{engine: flux, name: a}", "name", "the engine here is flux"),
        ("{server: 'http://a'}", "server", "https://"),
        ("{server: 'https://*'}", "server", "plain"),
        ("{server: 'https://me:hunter2@a'}", "server", "plain"),
        ("{name: '*'}", "name", '"*" is not'),
        ("{name: '!a'}", "name", '"!a" is not'),
        ("{engine: flux, kubeConfig: {}}", "kubeConfig.name", "missing"),
    ],
)
def test_settings_of_a_cluster_that_are_refused(here, field, says):
    ((line, where, message, remedy),) = problems(here=here)
    assert line == 13
    assert where == f"spec.environments.prod.clusters.east.sync.{field}"
    assert says in f"{message} {remedy}" and remedy
    assert "hunter2" not in message + remedy


@pytest.mark.parametrize(
    "more, field",
    [
        ("branch: a..b", "branch"),
        ("branch: -x", "branch"),
        ("branch: a.lock", "branch"),
        ("flux: {interval: 1s}", "flux.interval"),
        ("flux: {interval: soon}", "flux.interval"),
        ("argocd: {namespace: Argo}", "argocd.namespace"),
        ("argocd: {kinds: [{kind: '*'}]}", "argocd.kinds[0].kind"),
        ("argocd: {kinds: [{group: '*', kind: Pod}]}", "argocd.kinds[0].group"),
    ],
)
def test_settings_of_the_project_that_are_refused(more, field):
    ((line, where, *_),) = problems(more=more)
    assert (line, where) == (8, f"spec.sync.{field}")


def test_an_engine_without_a_repository():
    text = HEAD.format(repository=GOOD, more="branch: main", here="{engine: flux}")
    text = text.replace(f"  sync:\n    repository: {GOOD}\n    branch: main\n", "", 1)
    with pytest.raises(SpecsInvalid) as error:
        load([("gati.yaml", text.encode()), ("users.yaml", handler().encode())])
    (problem,) = error.value.problems
    assert "cluster east" in problem.message and "spec.sync.repository" in problem.remedy


@pytest.mark.parametrize(
    "here, says",
    [
        ("{hub: Hub}", "hub"),
        ("{nudge: shout}", "nudge"),
        ("{nudge: webhook}", "names nobody to call"),
        ("{nudgeUrl: 'https://a.example.com/x'}", "nobody calls it"),
        ("{nudge: annotation, nudgeUrl: 'https://a.example.com/x'}", "nobody calls it"),
        ("{nudge: webhook, nudgeUrl: 'ftp://a.example.com/x'}", "not a plain address"),
        ("{nudge: webhook, nudgeUrl: 'https://me:hunter2@a.example.com/'}", "not a plain address"),
    ],
)
def test_what_the_job_cannot_do_with_an_engine(here, says):
    found = problems(here=here)
    assert len(found) == 1
    assert says in " ".join(map(str, found[0]))
    assert "hunter2" not in str(found)
    assert found[0][3]


@pytest.mark.parametrize(
    "here",
    [
        "{server: 'https://a.example.com', hub: management}",
        "{unseen: true}",
        "{nudge: none}",
        "{engine: flux, nudge: annotation}",
        "{nudge: webhook, nudgeUrl: 'http://argocd-server.argocd.svc/api/webhook'}",
    ],
)
def test_what_the_job_can_do_with_an_engine(here):
    assert not problems(here=here)
