"""By which context each cluster is reached: said, or the only one there is; never guessed."""

import click
import pytest

from gati_gitops.cli.clusters import accesses


@pytest.fixture(autouse=True)
def outside(monkeypatch):
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)


def contexts(clusters, said, hubs=()):
    return {name: access.context for name, access in accesses(clusters, None, said, hubs).items()}


@pytest.mark.parametrize(
    "clusters,said,hubs,found",
    [
        (["eu"], [], [], {"eu": ""}),
        (["eu"], ["prod"], [], {"eu": "prod"}),
        (["eu"], ["eu=prod"], [], {"eu": "prod"}),
        (["eu"], ["arn:aws=x"], [], {"eu": "arn:aws=x"}),  # a context may hold a =
        (["eu", "us"], ["eu=a", "us=b"], [], {"eu": "a", "us": "b"}),
        (["eu"], ["a", "hub=h"], ["hub"], {"eu": "a", "hub": "h"}),
        (["eu"], ["a"], ["hub"], {"eu": "a"}),  # then the engine is not seen, and that is said
        (["eu"], ["eu=a"], ["eu"], {"eu": "a"}),
    ],
)
def test_contexts(clusters, said, hubs, found):
    assert contexts(clusters, said, hubs) == found


@pytest.mark.parametrize("said", [[], ["a"], ["eu=a"], ["eu=a", "asia=b"]])
def test_several_clusters_are_never_guessed(said):
    with pytest.raises(click.UsageError):
        contexts(["eu", "us"], said)


def test_inside_a_pod_it_is_the_pods_own_account(monkeypatch):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert accesses(["eu"], None, [])["eu"].in_cluster
    assert not accesses(["eu"], "file", [])["eu"].in_cluster
    assert not accesses(["eu"], None, ["a"])["eu"].in_cluster
