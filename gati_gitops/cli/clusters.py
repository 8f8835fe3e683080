"""What the verbs share that look at clusters: how each of them is reached.

A wrong context is worse than none: a cluster that is asked for another one's objects has none of
them. So with several clusters each gets its context by name, and nothing is guessed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from gati_gitops.redact import redact

if TYPE_CHECKING:
    from gati_gitops.observe.kube_config import Access


def cluster_options(command: Any) -> Any:
    """``--kubeconfig`` and ``--context``."""
    for option in (
        click.option(
            "--context",
            "contexts",
            multiple=True,
            metavar="[CLUSTER=]NAME",
            help="The context of the kubeconfig by which a cluster is reached; may be repeated.",
        ),
        click.option(
            "--kubeconfig",
            metavar="FILE",
            help="Default: KUBECONFIG, ~/.kube/config, or the service account inside a pod.",
        ),
    ):
        command = option(command)
    return command


def prometheus_of(texts: Iterable[str]) -> dict[str, str]:
    """Addresses of metrics by cluster, as ``--prometheus`` says them."""
    from gati_gitops.spec.address import web_address

    found: dict[str, str] = {}
    for text in texts:
        cluster, equals, url = text.partition("=")
        if not (equals and cluster) or not url.startswith(("http://", "https://")):
            raise click.UsageError(f"--prometheus {redact(text)} is not CLUSTER=URL")
        try:
            found[cluster] = web_address(url)
        except ValueError as error:
            raise click.UsageError(f"--prometheus {cluster}={redact(url)}: {error}") from None
    return found


def only_of(prometheus: Iterable[str], clusters: Iterable[str]) -> None:
    """A usage error for metrics of a cluster that is not looked at."""
    known = sorted(set(clusters))
    for name in prometheus:
        if name not in known:
            raise click.UsageError(
                f"--prometheus names {name}, which is not looked at; {', '.join(known)} will be"
            )


def accesses(
    clusters: Iterable[str],
    kubeconfig: str | None,
    contexts: Iterable[str],
    hubs: Iterable[str] = (),
) -> dict[str, Access]:
    """How each of these clusters is reached. A usage error where that is not certain.

    ``hubs`` are clusters on which sync engines live: they are reached if a context is said to be
    theirs, and left out if none is.
    """
    from gati_gitops.observe.kube_config import Access

    wanted = sorted(set(clusters))
    others = sorted(set(hubs) - set(wanted))
    named = _named(wanted, others, contexts)
    # A kubeconfig that only leads to a hub says nothing of the cluster that we run in.
    said = bool(kubeconfig) and not named
    inside = "KUBERNETES_SERVICE_HOST" in os.environ and not said
    if len(wanted) > 1 and (lacking := [name for name in wanted if name not in named]):
        raise click.UsageError(
            f"{', '.join(wanted)} are several clusters; say which context is whose:"
            f" --context {lacking[0]}=NAME, or narrow with --cluster"
        )
    return {
        name: Access(kubeconfig or "", named.get(name, ""), in_cluster=inside and name not in named)
        for name in (*wanted, *(hub for hub in others if hub in named))
    }


def _named(clusters: list[str], hubs: list[str], contexts: Iterable[str]) -> dict[str, str]:
    """Contexts by cluster; one without a cluster is for the only one there is."""
    found: dict[str, str] = {}
    for text in contexts:
        # names of contexts may hold anything, and some hold a =
        cluster, equals, context = text.partition("=")
        if equals and cluster in (*clusters, *hubs):
            found[cluster] = context
        elif len(clusters) == 1:
            found[clusters[0]] = text
        else:
            known = ", ".join((*clusters, *hubs))
            raise click.UsageError(f"--context {text} names none of {known}; write CLUSTER=NAME")
    return found
