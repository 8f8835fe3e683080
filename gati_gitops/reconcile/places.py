"""One tip as the job sees it: which units stand where, by which rules, and what is around them.

Everything comes from the branch: stored plans, ledgers and settings. What cannot be read of one
unit or of one environment stops that one alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from pydantic import ValidationError

from gati_gitops.compiler.lost import lost_units
from gati_gitops.compiler.stored import Where, stored_policy
from gati_gitops.decide.rules import Rules, rules_from
from gati_gitops.errors import Refused
from gati_gitops.ledger.fold import Policy
from gati_gitops.ledger.stored import Stored
from gati_gitops.output import Output, UnitKey
from gati_gitops.publish.places import Places, find_root, places
from gati_gitops.publish.reverts import Adopted, Undone, adopt
from gati_gitops.reconcile.fence import fence_path, read_terms
from gati_gitops.repo.repository import Tip
from gati_gitops.repo.trees import GitSnapshot
from gati_gitops.spec.project import Cluster
from gati_gitops.tree import Overlay

At = tuple[str, str]
"""Environment and cluster."""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """Which part of an output a pass is about; empty means all of it."""

    environments: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    """As people name them."""
    root: str | None = None


@dataclass
class Scene:
    """What a pass is about, on one tip."""

    tip: Tip
    root: str
    before: GitSnapshot
    adopted: Adopted
    """What people have undone since our last commit; it is as if it were written already."""
    output: Output
    found: Places
    chosen: frozenset[At]
    keys: frozenset[UnitKey] | None = None
    """Units that it is narrowed to; None: all."""
    broken: dict[Where, str] = field(default_factory=dict)
    """What cannot be read, and why."""

    @cached_property
    def units(self) -> Mapping[At, Mapping[UnitKey, Stored]]:
        """What is stored of every unit, by place."""
        every: dict[At, dict[UnitKey, Stored]] = {}
        for at in sorted(self.chosen):
            here: dict[UnitKey, Stored] = {}
            for key in self.output.keys(*at):
                if self.keys is not None and key not in self.keys:
                    continue
                try:
                    stored = self.output.unit(*at, key)
                except Refused as error:
                    self.broken[(*at, key)] = error.message
                else:
                    if stored is not None:
                        here[key] = stored
            for key in lost_units(self.output, *at):
                if self.keys is None or key in self.keys:
                    plan = "/".join(("overlays", *at, *key, "unit.yaml"))
                    self.broken[(*at, key)] = f"{plan} is not there; drift --fix revert restores it"
            every[at] = here
        return every

    @cached_property
    def rules(self) -> Mapping[str, Rules | Refused]:
        """How each environment judges, or why that is not known."""
        found: dict[str, Rules | Refused] = {}
        for env in sorted({env for env, _ in self.chosen}):
            try:
                found[env] = rules_from(self.output.settings(env), env)
                read_terms(self.output.record(fence_path(env)), env)
            except Refused as error:
                found[env] = error
        return found

    def policy(self, env: str) -> Policy:
        return stored_policy(self.output, env)

    def cluster(self, env: str, name: str) -> Cluster:
        """What is set for a cluster. Raises Refused."""
        said = (self.output.settings(env).get("clusters") or {}).get(name) or {}
        try:
            return Cluster.model_validate(said, by_alias=True)
        except ValidationError as error:
            where = ".".join(str(part) for part in error.errors()[0]["loc"])
            raise Refused(
                f"overlays/{env}/project.yaml has settings of {name} that this version does not"
                f" know: {where}",
                remedy="use the version of gati-gitops that published it, or a newer one",
            ) from None

    def total(self, env: str) -> int:
        """How many units an environment has, each once however many clusters have it."""
        return len({key for key, at in self.found.units.items() if any(e == env for e, _ in at)})


def scene_on(
    tip: Tip,
    narrowing: Narrowing,
    undone: Callable[[str], Mapping[str, Undone]],
    lost: Iterable[tuple[str, str]] = (),
) -> Scene:
    """Look at a tip. Raises Misnamed where the narrowing names what is not there.

    ``lost``: clusters that are known all the same, though their environment may be gone.
    """
    root = find_root(tip, narrowing.root)
    before = tip.snapshot(root)
    adopted = adopt(before, undone(root))
    found = places(before).with_lost(lost)
    chosen = found.chosen(narrowing.environments, narrowing.clusters)
    keys = frozenset(found.find(name) for name in narrowing.units) or None
    output = Output(Overlay(before, adopted.all()))
    return Scene(tip, root, before, adopted, output, found, chosen, keys)
