"""Decisions on trees in memory, as ``hold`` and its siblings make them: recompiled without specs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gati_gitops.compiler.stored import recompile, stored_policy
from gati_gitops.ledger.outcome import Outcome
from gati_gitops.output import Output
from gati_gitops.tree import MemorySnapshot, Tree

Act = Callable[..., Outcome]


def acted(
    tree: Mapping[str, bytes],
    act: Act,
    *arguments: Any,
    env: str = "prod",
    cluster: str = "",
    unit: str = "handler-users",
    namespace: str = "shop",
    **options: Any,
) -> Tree:
    """The tree after a decision about a unit on all clusters of an environment, or on one."""
    output = Output(MemorySnapshot(tree))
    policy = stored_policy(output, env)
    outcomes = {}
    for name, at in output.clusters():
        if name == env and cluster in ("", at):
            stored = output.unit(env, at, (namespace, unit))
            if stored is not None:
                outcomes[env, at, (namespace, unit)] = act(policy, stored, *arguments, **options)
    assert outcomes, f"{env} has no {namespace}/{unit}"
    return written(tree, recompile(output, outcomes).changes)


def written(tree: Mapping[str, bytes], changes: Mapping[str, bytes | None]) -> Tree:
    after = dict(tree)
    for path, content in changes.items():
        assert after.get(path) != content, f"{path} is named as a change, and is none"
        if content is None:
            del after[path]
        else:
            after[path] = content
    return after


def outcome(
    tree: Mapping[str, bytes], act: Act, *arguments: Any, env: str = "prod", cluster: str = "east"
) -> Outcome:
    """What a decision about shop/users gives on one cluster."""
    output = Output(MemorySnapshot(tree))
    stored = output.unit(env, cluster, ("shop", "handler-users"))
    assert stored is not None
    return act(stored_policy(output, env), stored, *arguments)
