"""What is decided for a whole environment or cluster: settings, namespaces, what engines sync."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from gati_gitops.preview.compare import compare
from gati_gitops.preview.meaning.rbac import BINDINGS, ROLES, of_object
from gati_gitops.preview.meaning.scene import ClusterScene, Scene
from gati_gitops.preview.model import Action, FieldChange, Finding, Level, ObjectChange, Op, Target
from gati_gitops.preview.words import change_words, counted, listed, short

_ENGINES = ("argoproj.io", "kustomize.toolkit.fluxcd.io", "source.toolkit.fluxcd.io")
_OF_PROJECT = frozenset(("commits", "pullRequests", "deletionBudget", "monitoring", "rollout"))
_KNOWN_ELSEWHERE = frozenset(("format", "file", "owner", "environment"))


def environments(scene: Scene) -> Iterator[Finding]:
    """Environments and clusters that come, or that the project no longer names."""
    before, after = scene.before.environments, scene.after.environments
    if not before or not after:
        return
    for env in (*after, *(name for name in before if name not in after)):
        was, now = before.get(env, ()), after.get(env, ())
        for name, code, level, message in _places(env, was, now):
            own = ("clusters", name) if name in now else ()
            place = scene.after.locate((env, "", "", ""), "", ("spec", "environments", env, *own))
            yield Finding(code, level, message, (Target(env, name),), place)


def _places(
    env: str, was: tuple[str, ...], now: tuple[str, ...]
) -> Iterator[tuple[str, str, Level, str]]:
    stays = "what is there stays as it is, and goes on being synced"
    if not was:
        yield "", "environment-added", Level.NOTE, f"{env} is new, with {listed(now)}"
    elif not now:
        yield (
            "",
            "environment-removed",
            Level.WARNING,
            f"the project no longer names {env}: {stays}",
        )
    else:
        for name in now:
            if name not in was:
                message = f"{env} gets the cluster {name}: it gets what its siblings run"
                yield name, "cluster-added", Level.NOTE, message
        for name in was:
            if name not in now:
                message = f"{env} no longer has the cluster {name}: {stays}"
                yield name, "cluster-removed", Level.WARNING, message


def settings(scene: Scene) -> Iterator[Finding]:
    """How an environment rolls out, promotes and deletes."""
    for env in scene.differing.settings:
        before, after = (dict(side.get(env) or {}) for side in scene.settings)
        if not before or not after:
            continue
        for change in compare(_whole_lists(before), _whole_lists(after)):
            if change.path[0] in _KNOWN_ELSEWHERE or change.path[:1] == ("clusters",):
                continue
            top = str(change.path[0])
            inside = () if top in _OF_PROJECT else ("environments", env)
            steps = [str(step) for step in change.path if isinstance(step, str)]
            if top == "promotion":
                inside, steps = (), ["promotion", env, *steps[1:]]
            place = scene.after.locate((env, "", "", ""), "", ("spec", *inside, *steps))
            yield Finding(
                "settings",
                Level.WARNING,
                f"{env}: {change_words(change)}",
                (Target(env),),
                place,
                change.shown,
                _value(change, Op.ADD, change.before),
                _value(change, Op.REMOVE, change.after),
            )


def _whole_lists(value: Any) -> Any:
    """Lists as texts: of steps people want to see all."""
    if isinstance(value, dict):
        return {key: _whole_lists(item) for key, item in value.items()}
    return ", ".join(map(str, value)) if isinstance(value, list) else value


def _value(change: FieldChange, absent: Op, value: object) -> str:
    return "" if change.op is absent else short(value)


def namespaces(cluster: ClusterScene) -> Iterator[Finding]:
    first = cluster.scene.first
    for change in cluster.review.objects:
        if change.id.kind != "Namespace" or change.id.group:
            continue
        if change.action is Action.CREATE:
            yield cluster.finding(
                "namespace-added", Level.NOTE, f"namespace {change.id.name} is new", [change]
            )
        elif change.action is Action.DELETE and not first:
            yield cluster.finding(
                "namespace-removed",
                Level.DANGER,
                f"namespace {change.id.name} goes from Git; engines are told to keep it, and who"
                " deletes it deletes all that is in it",
                [change],
            )


def rights(cluster: ClusterScene) -> Iterator[Finding]:
    """Rights that a namespace as a whole is given, by templates."""
    for change in cluster.review.objects:
        if change.id.kind in (*ROLES, *BINDINGS, "ServiceAccount"):
            for code, level, message in of_object(change):
                yield cluster.finding(code, level, message, [change])


def engines(cluster: ClusterScene) -> Iterator[Finding]:
    """Objects that Argo CD or Flux follow."""
    found = [change for change in cluster.review.objects if change.id.group in _ENGINES]
    if found:
        yield cluster.finding(
            "sync",
            Level.NOTE,
            f"what syncs the cluster changes: {_summed(found)}",
            found[:1] if len(found) == 1 else (),
        )


def _summed(changes: Iterable[ObjectChange]) -> str:
    verbs = {
        Action.CREATE: "comes", Action.DELETE: "goes", Action.CHANGE: "changes",
        Action.RECREATE: "is made again", Action.RENAME: "gets another name",
    }  # fmt: skip
    count = Counter((change.id.kind, change.action) for change in changes)
    return listed(
        f"{counted(number, kind)} {verbs[action] if number == 1 else _plural(verbs[action])}"
        for (kind, action), number in sorted(count.items())
    )


def _plural(verb: str) -> str:
    return {"comes": "come", "goes": "go", "changes": "change", "is made again": "are made again",
            "gets another name": "get another name"}[verb]  # fmt: skip
