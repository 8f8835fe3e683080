"""Files that are no objects: kustomizations, plans, ledgers, and what is remembered of settings."""

from __future__ import annotations

from typing import Any

from gati_gitops.preview.explain.rule import Sources, chosen, rule
from gati_gitops.preview.explain.rules.head import KIND
from gati_gitops.preview.explain.scope import Scope


def _released(scope: Scope, value: Any) -> Sources:
    """Which release folders live is the ledger's business."""
    text = str(value)
    if "/base/" in text and scope.plan is not None:
        return ("ledger:digest",)
    return ()


def _patched(scope: Scope, value: Any) -> Sources:
    """Versions by partial documents, the job by the settings of its cluster."""
    return ("partial:",) if scope.plan is not None else ("job:",)


_BUILD = (
    *KIND,
    chosen(
        "resources[]",
        "a release folder that is live here, or a file or folder beside this one", _released,
    ),
    chosen("patches[].patch", "what is not as everywhere else here, and the number of pods",
           _patched, "no partial document changes it; the number of pods stands here"),
    rule("images[].name", "an image whose registry is another one here", ".image"),
    rule("images[].newName", "the registry that serves the image here", "mirror:",
         "env:registries"),
)  # fmt: skip

_UNIT_FILE = (
    rule("format", "the version of this file's form"),
    rule("namespace", "the unit's namespace", "unit:metadata.namespace",
         default="a document without a namespace is in default"),
    rule("kind", "handler or module"),
    rule("name", "the unit's name", "unit:metadata.name"),
    rule("environment", "the environment's name", "env:"),
    rule("cluster", "the cluster's name", "cluster:"),
    rule("project", "the project's name", "project:metadata.name",
         default="without gati.yaml the project is called default"),
    rule("source", "who published it", "project:spec.source", "project:metadata.name",
         default="the source is called as the project"),
    rule("target", "the version that the rollout aims at", "unit:spec.version", "unit:spec.image"),
    rule("labels.$k", "a label of the unit's document", "unit:metadata.labels.$k"),
    rule("route.path", "the path that the handler answers on", "unit:spec.handlerPath"),
    rule("route.hosts[]", "the host names of the unit, else those of the cluster",
         "unit:spec.hosts[$0]", "routing:hosts[$0]"),
    rule("route.**", "how traffic reaches the cluster's units", "routing:provider",
         default="routes are those of Gateway API"),
    rule("metrics.**", "how Prometheus reads the unit's metrics", "unit:spec.metrics",
         "project:spec.monitoring"),
    rule("network.**", "what holds for all pods of the cluster", "env:network",
         "project:spec.network", default="NetworkPolicies as the compiler has them"),
    rule("added[].**", "a template of the project made the object"),
    rule("versions[id=$id].id", "the version id", "id", "ledger:id"),
    rule("versions[id=$id].name", "what its objects are called", "unit:metadata.name",
         also=("id",)),
    rule("versions[id=$id].image", "the image that runs", ".image"),
    rule("versions[id=$id].port", "the port that the container listens on", ".port"),
    rule("versions[id=$id].weight", "the share that the specs want", "weight",
         default="the version without a weight gets what the others leave"),
    rule("versions[id=$id].breaking", "whether clients of the version before it break",
         ".breaking", ".timescape.breaking"),
    rule("versions[id=$id].transformers[]", "transformers from and to its neighbours",
         "transformers"),
    rule("versions[id=$id].scaling.**", "how many pods, and who decides it",
         ".autoscaling", ".replicas"),
    rule("versions[id=$id].images[].newName", "the registry that serves the image here", "mirror:"),
    rule("versions[id=$id].images[].name", "an image whose registry is another one here", ".image"),
    rule("versions[id=$id].calls[].**", "a module that it calls", ".modules"),
    rule("versions[id=$id].egress[].**", "what else it calls", ".egress", "unit:spec.capabilities"),
    rule("versions[id=$id].**", "the release folder, and what the environment changes in it",
         "partial:", default="made from the version's documents"),
    rule("next.**", "the plan that a hold keeps waiting", "ledger:hold"),
)  # fmt: skip

_LEDGER = (
    rule("format", "the version of this file's form"),
    rule("seq", "counts the changes of this file; it never falls"),
    rule("hold", "why everything stands still, written by a person", "ledger:hold"),
    rule("retiring", "its last spec is gone", "ledger:retiring"),
    rule("target", "the version that the rollout aims at", "unit:spec.version", "unit:spec.image",
         "ledger:target"),
    rule("versions[id=$id].id", "the version id", "id", "ledger:id"),
    rule("versions[id=$id].**", "decided by the rollout, or by a person", "ledger:phase"),
)  # fmt: skip


def _remembered(where: str, source: str) -> Any:
    return rule(
        where, "what the environment remembers of gati.yaml", source,
        default="the default of the setting",
    )  # fmt: skip


_PROJECT = (
    rule("format", "the version of this file's form"),
    rule(
        "project",
        "the project's name",
        "project:metadata.name",
        default="without gati.yaml the project is called default",
    ),
    rule(
        "owner",
        "who may change the environment's settings",
        "project:spec.source",
        "project:metadata.name",
        default="the source is called as the project",
    ),
    rule("environment", "the environment's name", "env:"),
    rule("file", "where the settings stand"),
    _remembered("rollout.steps[]", "laid:rollout.steps[$0]"),
    _remembered("rollout.$k[].$l", "laid:rollout.$k[$0].$l"),
    _remembered("rollout.$k.$l.$m", "laid:rollout.$k.$l.$m"),
    _remembered("rollout.$k.$l", "laid:rollout.$k.$l"),
    _remembered("rollout.$k", "laid:rollout.$k"),
    _remembered("decommission.$k", "laid:decommission.$k"),
    _remembered("revisions", "env:revisions"),
    _remembered("onDelete", "env:onDelete"),
    _remembered("protected", "env:protected"),
    _remembered("drift", "env:drift"),
    _remembered("modes.$k", "env:modes.$k"),
    _remembered("deletionBudget.$k", "over:deletionBudget.$k"),
    _remembered("commits.author.$k", "project:spec.commits.author.$k"),
    _remembered("commits.$k", "project:spec.commits.$k"),
    _remembered("pullRequests.$k[]", "project:spec.pullRequests.$k[$0]"),
    _remembered("pullRequests.$k", "project:spec.pullRequests.$k"),
    _remembered("promotion.$k", "project:spec.promotion.$environment.$k"),
    _remembered("registries.$k", "env:registries.$k"),
    _remembered("monitoring.$k", "project:spec.monitoring.$k"),
    _remembered("monitoring.$k.$l", "project:spec.monitoring.$k.$l"),
    _remembered("clusters.$c.role", "env:clusters.$c.role"),
    _remembered("clusters.$c.routing.$a.$b[]", "routed:$a.$b[$0]"),
    _remembered("clusters.$c.routing.$a[]", "routed:$a[$0]"),
    _remembered("clusters.$c.routing.$a.$b", "routed:$a.$b"),
    _remembered("clusters.$c.routing.$a", "routed:$a"),
    _remembered("clusters.$c.$a[].$b", "env:clusters.$c.$a[$0].$b"),
    _remembered("clusters.$c.$a.$b.$d[]", "env:clusters.$c.$a.$b.$d[$0]"),
    _remembered("clusters.$c.$a.$b.$d", "env:clusters.$c.$a.$b.$d"),
    _remembered("clusters.$c.$a.$b", "env:clusters.$c.$a.$b"),
    _remembered("clusters.$c.$a", "env:clusters.$c.$a"),
    rule("**", "what the environment remembers of gati.yaml", "env:"),
)

_SYNC = (
    rule("format", "the version of this file's form"),
    _remembered("root", "project:spec.output.root"),
    _remembered("routeNamespaces[]", "routing:routeNamespace"),
    _remembered("sync.$k.$l", "project:spec.sync.$k.$l"),
    _remembered("sync.$k.$l[].$m", "project:spec.sync.$k.$l[$0].$m"),
    _remembered("sync.$k", "project:spec.sync.$k"),
    _remembered("cluster.$k.$l", "cluster:sync.$k.$l"),
    _remembered("cluster.$k", "cluster:sync.$k"),
)

_RECORD = (
    rule("source", "who published this", "project:spec.source", "project:metadata.name",
         default="the source is called as the project"),
    rule("**", "what was published here, by which compiler, from which commit"),
)  # fmt: skip

_JOB = (rule("**", "which job writes here, by which process and in which term"),)

RULES = {
    "job.yaml": _JOB,
    "Kustomization": _BUILD,
    "unit.yaml": _UNIT_FILE,
    "rollout.yaml": _LEDGER,
    "project.yaml": _PROJECT,
    "sync.yaml": _SYNC,
    "record": _RECORD,
}
