"""Where every unit stands: versions, phases, weights and holds, and since when.

Only ledgers are read, and no plan unless a ledger was lost. Since when a version stands where it
stands is told by the branch's history: by the commit that gave it its phase and weight, however
often the file has changed since.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from gati_gitops.errors import Refused
from gati_gitops.ledger.model import Entry, Ledger, Phase
from gati_gitops.ledger.store import ledger_from
from gati_gitops.ledger.stored import recovered
from gati_gitops.output import Output, UnitKey
from gati_gitops.plan.naming import UnitId
from gati_gitops.publish.places import Places, unit_id
from gati_gitops.repo.commit import Commit
from gati_gitops.repo.history import Deepen, walk
from gati_gitops.repo.objects import BLOB
from gati_gitops.repo.objects import Entry as TreeEntry
from gati_gitops.repo.repository import Tip
from gati_gitops.repo.trees import GitSnapshot
from gati_gitops.yamlio.goyaml_read import GoYamlError, decode, read_config

Part = tuple[str, bool]
"""A version, and whether it only waits; or, as HOLD, the hold of a unit."""
HOLD: Part = ("", False)


@dataclass(frozen=True, slots=True)
class Since:
    """The commit that made it so."""

    time: int
    commit: str
    exact: bool = True
    """False: it was so already, as far back as was looked."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One unit on one cluster."""

    unit: UnitId
    environment: str
    cluster: str
    ledger: Ledger
    problem: str = ""
    """Why its ledger cannot be read."""
    since: Mapping[Part, Since] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return "/".join(
            ("overlays", self.environment, self.cluster, *self.unit.key, "rollout.yaml")
        )

    def since_of(self, entry: Entry) -> Since | None:
        return self.since.get(_part(entry))


def standings(
    before: GitSnapshot,
    found: Places,
    chosen: Iterable[tuple[str, str]],
    units: Iterable[UnitKey] | None = None,
    *,
    held: bool = False,
) -> list[Standing]:
    """Units on the chosen clusters, in order; those that are held, if only they are wanted."""
    output = Output(before)
    clusters = frozenset(chosen)
    keys = found.units.keys() if units is None else units
    order = _order(output, found.environments)
    every = (
        _standing(before, output, env, cluster, key)
        for key in sorted(keys, key=unit_id)
        for env, cluster in sorted(found.units[key] & clusters, key=lambda at: (order[at[0]], at))
    )
    return [s for s in every if s is not None and (not held or s.ledger.hold or s.problem)]


def _order(output: Output, environments: Iterable[str]) -> dict[str, int]:
    """Environments in the order in which versions are promoted through them."""
    after = {env: _after(output, env) for env in environments}

    def steps(env: str) -> int:
        seen: list[str] = []
        while env in after and env not in seen:
            seen.append(env)
            env = after[env]
        return len(seen)

    return {env: steps(env) for env in after}


def _after(output: Output, env: str) -> str:
    try:
        promotion = output.settings(env).get("promotion") or {}
    except Refused:  # where it stands in a list is all that hangs on it here
        return ""
    return str(promotion.get("after", ""))


def _standing(
    before: GitSnapshot, output: Output, env: str, cluster: str, key: UnitKey
) -> Standing | None:
    folder = "/".join(("overlays", env, cluster, *key))
    content = before.read(f"{folder}/rollout.yaml")
    unit = unit_id(key)
    try:
        if content is None:
            stored = output.unit(env, cluster, key)
            return Standing(unit, env, cluster, recovered(stored)) if stored is not None else None
        return Standing(unit, env, cluster, _ledger(content, f"{folder}/rollout.yaml"))
    except Refused as error:
        return Standing(unit, env, cluster, Ledger(), error.message)


def _ledger(content: bytes, path: str) -> Ledger:
    try:
        return ledger_from(read_config(decode(content)), path)
    except GoYamlError as error:
        raise Refused(f"{path} can't be read: {error}") from error


# -- since when ----------------------------------------------------------------------------------


def dated(
    tip: Tip, found: Iterable[Standing], *, root: str, deepen: Deepen | None, limit: int
) -> list[Standing]:
    """The same, with since when, as far as ``limit`` commits tell."""
    rows = list(found)
    dating = _Dating(tip, {row.path: dict(_parts(row.ledger)) for row in rows if not row.problem})
    last = walk(
        tip.objects, tip.commit, dating.now, dating.visit, root=root, deepen=deepen, limit=limit
    )
    end = Since(last.time, last.id, exact=False)
    return [row if row.problem else replace(row, since=dating.since(row.path, end)) for row in rows]


@dataclass(slots=True)
class _Dating:
    tip: Tip
    now: dict[str, dict[Part, object]]
    found: dict[str, dict[Part, Since]] = field(init=False)

    def __post_init__(self) -> None:
        self.found = {path: {} for path in self.now}

    def visit(
        self, commit: Commit, path: str, before: TreeEntry | None, _after: TreeEntry | None
    ) -> bool:
        """Date what was otherwise before this commit; done when all of a ledger is dated."""
        now, found = self.now[path], self.found[path]
        was = self._parts(path, before)
        since = Since(commit.time, commit.id)
        for part in now.keys() - found.keys():
            if was.get(part) != now[part]:
                found[part] = since
        return len(found) == len(now)

    def since(self, path: str, end: Since) -> dict[Part, Since]:
        return {part: self.found[path].get(part, end) for part in self.now[path]}

    def _parts(self, path: str, entry: TreeEntry | None) -> dict[Part, object]:
        if entry is None:
            return {}
        try:
            return dict(_parts(_ledger(self.tip.objects.read(entry[1], BLOB), path)))
        except Refused:  # a person's slip, put right since
            return {}


def _parts(ledger: Ledger) -> Iterator[tuple[Part, object]]:
    """What may change by itself in a ledger."""
    if ledger.hold:
        yield HOLD, ledger.hold
    for entry in ledger.entries:
        yield _part(entry), (entry.phase, entry.weight, entry.barred)


def _part(entry: Entry) -> Part:
    return (entry.id, entry.phase is Phase.PENDING)
