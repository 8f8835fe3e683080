"""What the verbs share that look at clusters: how each of them is reached.

A wrong context is worse than none: a cluster that is asked for another one's objects has none of
them. So with several clusters each gets its context by name, and nothing is guessed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from gati_gitops.observe.kube_config import Access


def cluster_options(command: Any) -> Any:
    """``--kubeconfig``, ``--context`` and ``--engine-context``."""
    for option in (
        click.option(
            "--engine-context",
            "engine_contexts",
            multiple=True,
            metavar="[CLUSTER=]NAME",
            help="Where a cluster's sync engine runs; default: in the cluster itself.",
        ),
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


def accesses(
    clusters: Iterable[str], kubeconfig: str | None, contexts: Iterable[str]
) -> dict[str, Access]:
    """How each of these clusters is reached. A usage error where that is not certain."""
    from gati_gitops.observe.kube_config import Access

    wanted = sorted(set(clusters))
    named = _named(wanted, contexts, "--context")
    inside = not kubeconfig and not named and "KUBERNETES_SERVICE_HOST" in os.environ
    if len(wanted) > 1 and (lacking := [name for name in wanted if name not in named]):
        raise click.UsageError(
            f"{', '.join(wanted)} are several clusters; say which context is whose:"
            f" --context {lacking[0]}=NAME, or narrow with --cluster"
        )
    return {
        name: Access(kubeconfig or "", named.get(name, ""), in_cluster=inside) for name in wanted
    }


def engine_accesses(
    own: Mapping[str, Access], kubeconfig: str | None, contexts: Iterable[str]
) -> dict[str, Access]:
    """How the sync engine of each cluster is reached: where it was said, else beside the units."""
    from gati_gitops.observe.kube_config import Access

    named = _named(sorted(own), contexts, "--engine-context")
    return {
        name: Access(kubeconfig or "", named[name]) if name in named else access
        for name, access in own.items()
    }


def _named(clusters: list[str], contexts: Iterable[str], option: str) -> dict[str, str]:
    """Contexts by cluster; a name alone is for all of them."""
    found: dict[str, str] = {}
    for text in contexts:
        # names of contexts may hold anything, and some hold a =
        cluster, equals, context = text.partition("=")
        if equals and cluster in clusters:
            found[cluster] = context
        elif option == "--context" and len(clusters) > 1:
            raise click.UsageError(
                f"{option} {text} names none of {', '.join(clusters)}; write CLUSTER=NAME"
            )
        else:
            found |= dict.fromkeys(clusters, text)
    return found
