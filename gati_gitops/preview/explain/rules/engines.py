"""What Argo CD and Flux sync a cluster by."""

from __future__ import annotations

from typing import Any

from gati_gitops.preview.explain.rule import Sources, chosen, rule
from gati_gitops.preview.explain.scope import Scope

_SYNC = "project:spec.sync"
_ENGINE_DEFAULT = "a cluster without an engine has Argo CD"
_NAMED = "<environment>.<cluster>.<what is synced>: names come from identity, never from a path"
_KIND = tuple(
    rule(name, "the engine that syncs the cluster", "cluster:sync.engine", default=_ENGINE_DEFAULT)
    for name in ("apiVersion", "kind")
)
_LABELS = (
    rule('metadata.labels["app.kubernetes.io/managed-by"]', "who writes these manifests"),
    rule(
        'metadata.labels["app.kubernetes.io/part-of"]', "the project's name",
        "project:metadata.name", default="without gati.yaml the project is called default",
    ),
    rule('metadata.labels["gati.dev/cluster"]', "the cluster's name", "cluster:"),
    rule('metadata.labels["gati.dev/environment"]', "the environment's name", "env:"),
    rule('metadata.labels["gati.dev/namespace"]', "the namespace that is synced", "namespace:"),
    rule('metadata.labels["gati.dev/unit"]', "the unit that is synced", "namespace:"),
)  # fmt: skip
_NAME = rule("metadata.name", _NAMED, "env:", also=("cluster:", "namespace:"))
_REPOSITORY = "the repository that engines read"
_ROOT = "the folder that is synced on its own"


def _watched(scope: Scope, value: Any) -> Sources:
    """CRDs and namespaces build on nothing outside of their own folder."""
    return () if value == "." else ("project:spec.output.root",)


_ARGOCD = (
    *_KIND,
    _NAME,
    rule(
        "metadata.namespace", "where Argo CD lives", f"{_SYNC}.argocd.namespace",
        default="Argo CD lives in argocd",
    ),
    *_LABELS,
)  # fmt: skip

_APPLICATION = (
    *_ARGOCD,
    chosen(
        "metadata.annotations.$k", "which folders matter to it, so that others cause no work",
        _watched,
        "the output is the repository's root",
    ),
    rule("spec.project", "the AppProject with its rights", "env:", also=("cluster:",)),
    rule("spec.source.repoURL", _REPOSITORY, f"{_SYNC}.repository"),
    rule(
        "spec.source.targetRevision", "the branch that is synced",
        f"{_SYNC}.branch", default="the branch main is synced",
    ),
    rule("spec.source.path", _ROOT, "project:spec.output.root",
         default="the output is the repository's root", also=("env:", "cluster:", "namespace:")),
    rule("spec.destination.name", "the cluster's name in Argo CD", "cluster:sync.name"),
    rule(
        "spec.destination.server", "the cluster's address in Argo CD",
        "cluster:sync.server", default="Argo CD runs on the cluster itself",
    ),
    rule("spec.destination.namespace", "the namespace that is synced", "namespace:"),
    rule("spec.syncPolicy.automated.**", "what Git says is applied, mended and pruned"),
    rule("spec.syncPolicy.syncOptions[]", "Namespaces and CRDs go only when somebody confirms it"),
    rule("spec.syncPolicy.retry.**", "a retry takes the newest commit"),
)  # fmt: skip

_APP_PROJECT = (
    *_ARGOCD,
    rule("spec.description", "what it is for", "project:metadata.name", also=("env:", "cluster:")),
    rule("spec.sourceRepos[]", _REPOSITORY, f"{_SYNC}.repository"),
    rule("spec.destinations[].name", "the cluster's name in Argo CD", "cluster:sync.name"),
    rule(
        "spec.destinations[].server", "the cluster's address in Argo CD",
        "cluster:sync.server", default="Argo CD runs on the cluster itself",
    ),
    rule("spec.destinations[namespace=$namespace].namespace",
         "a namespace that it may write to: of units, or of routes",
         "namespace:", "routing:routeNamespace", "project:spec.monitoring.namespace",
         default="a namespace that it may write to"),
    chosen(
        "spec.clusterResourceWhitelist[kind=Namespace].name", "a namespace of units",
        lambda _, value: (f"namespace/{value}:",),
    ),
    rule("spec.clusterResourceWhitelist[].$k", "our CRDs and namespaces, each by its name"),
    rule("spec.namespaceResourceWhitelist[].$k",
         "every kind that the compiler can write, and those of templates", f"{_SYNC}.argocd.kinds"),
    rule("spec.namespaceResourceBlacklist[].$k", "nothing that belongs to a namespace"),
)  # fmt: skip

# -- Flux ----------------------------------------------------------------------------------------

_FLUX = (
    *_KIND,
    _NAME,
    rule(
        "metadata.namespace", "where Flux lives", f"{_SYNC}.flux.namespace",
        default="Flux lives in flux-system",
    ),
    *_LABELS,
)  # fmt: skip

_GIT_REPOSITORY = (
    *_FLUX,
    rule("spec.url", _REPOSITORY, f"{_SYNC}.repository"),
    rule("spec.ref.branch", "the branch that is synced", f"{_SYNC}.branch",
         default="the branch main is synced"),
    rule("spec.interval", "how often Flux looks for commits", f"{_SYNC}.flux.interval",
         default="every minute"),
    rule("spec.secretRef.name", "the Secret with the repository's credentials",
         f"{_SYNC}.flux.secret"),
    rule("spec.timeout", "Flux's own default, written out"),
)  # fmt: skip

_KUSTOMIZATION = (
    *_FLUX,
    rule("spec.path", _ROOT, "project:spec.output.root",
         default="the output is the repository's root", also=("env:", "cluster:", "namespace:")),
    rule("spec.sourceRef.name", "the cluster's GitRepository", "env:", also=("cluster:",)),
    rule("spec.sourceRef.kind", "engines read Git"),
    rule("spec.serviceAccountName", "whom Flux acts as", "cluster:sync.serviceAccount"),
    rule("spec.kubeConfig.secretRef.name", "how Flux reaches the cluster",
         "cluster:sync.kubeConfig.name"),
    rule("spec.kubeConfig.secretRef.key", "the key of that Secret", "cluster:sync.kubeConfig.key"),
    rule("spec.prune", "units are pruned; Namespaces and CRDs never are"),
    rule("spec.wait", "a sick unit must not delay the commit that mends it"),
    rule("spec.deletionPolicy", "deleting a Kustomization deletes nothing that it applied"),
    rule("spec.$k", "how soon drift is mended and a failure is tried again"),
)  # fmt: skip

RULES = {
    "Application": _APPLICATION,
    "AppProject": _APP_PROJECT,
    "GitRepository": _GIT_REPOSITORY,
    "flux": _KUSTOMIZATION,
}
