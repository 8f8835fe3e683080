"""Where units stand in an output repository: found by the names of folders alone."""

from __future__ import annotations

import difflib
import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from gati_gitops.errors import Misnamed, Outside
from gati_gitops.output import UnitKey
from gati_gitops.plan.naming import UnitId
from gati_gitops.repo.objects import FOLDER
from gati_gitops.repo.repository import Tip
from gati_gitops.repo.trees import GitSnapshot

DEPTH = 4
"""So deep an output is looked for; deeper ones are named."""


def find_root(tip: Tip, given: str | None = None) -> str:
    """The folder of the repository that holds the output; as given, or the only one there is.

    Outside where there is none: of an output that is not there all would be well.
    """
    top = tip.snapshot()
    if given is not None:
        named = posixpath.normpath(given).strip("/")
        root = "" if named == "." else named
        if not _is_output(top, root):
            known = [name or "." for name in _outputs(top)]
            raise Outside(
                f"there is no compiled output in {root or '.'} on {tip.branch}",
                remedy=f"there is one in {', '.join(known)}: name that as --root, or another"
                " --branch"
                if known
                else "publish first, or give another --branch",
            )
        return root
    found = _outputs(top)
    if not found:
        raise Outside(
            f"there is no compiled output on {tip.branch}",
            remedy="publish first, give another --branch, or the folder of the output as --root",
        )
    if len(found) > 1:
        several = ", ".join(name or "." for name in found)
        raise Misnamed(f"there are several outputs: {several}", remedy="name one of them as --root")
    return found[0]


def _outputs(top: GitSnapshot) -> list[str]:
    """Folders that hold an output, as deep as it is looked for."""
    found: list[str] = []
    waiting = [""]
    while waiting:
        here = waiting.pop()
        if _is_output(top, here):
            found.append(here)
        elif here.count("/") < DEPTH - 1:
            prefix = f"{here}/" if here else ""
            waiting += [
                f"{prefix}{n}" for n, (mode, _) in top.folder(here).items() if mode == FOLDER
            ]
    return sorted(found)


def _is_output(top: GitSnapshot, here: str) -> bool:
    overlays = f"{here}/overlays" if here else "overlays"
    return any(top.id(f"{overlays}/{env}/project.yaml") for env in top.folder(overlays))


@dataclass(frozen=True, slots=True)
class Places:
    """Which clusters have which units."""

    units: Mapping[UnitKey, frozenset[tuple[str, str]]]
    """Environment and cluster of each."""
    environments: Mapping[str, frozenset[str]]
    """Every environment, with its clusters."""

    def with_lost(self, clusters: Iterable[tuple[str, str]]) -> Places:
        """With clusters that people deleted, each with its environment."""
        known = {env: set(names) for env, names in self.environments.items()}
        for env, cluster in clusters:
            known.setdefault(env, set()).add(cluster)
        return replace(self, environments={env: frozenset(names) for env, names in known.items()})

    def find(self, text: str) -> UnitKey:
        """The unit that a person means; Misnamed with what is like it."""
        namespace, slash, name = text.partition("/")
        exact = [key for key in self.units if text in unit_id(key).spellings]
        found = exact or [k for k in self.units if k == (namespace, f"module-{name}") and slash]
        if len(found) == 1:
            return found[0]
        if found:
            both = " or ".join(sorted("/".join(key) for key in found))
            raise Misnamed(f"{text} may be two units", remedy=f"say {both}")
        raise Misnamed(f"there is no unit {text}", remedy=self._like(text))

    def _like(self, text: str) -> str:
        names = sorted(str(unit_id(key)) for key in self.units)
        if not names:
            return "the output has none at all"
        last = text.rpartition("/")[2]
        same = [name for name in names if name.rpartition("/")[2] in (last, f"module-{last}")]
        close = same or difflib.get_close_matches(text, names, n=3)
        if close:
            return f"did you mean {' or '.join(close[:3])}?"
        shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        return f"a unit is named NAMESPACE/NAME; there are {shown}"

    def chosen(
        self, environments: Iterable[str], clusters: Iterable[str]
    ) -> frozenset[tuple[str, str]]:
        """The places that options narrow to; Misnamed if one of them is not there."""
        every = {(env, c) for env, names in self.environments.items() for c in names}
        wanted, named = list(environments), list(clusters)
        homes: dict[str, set[str]] = {}
        for env, cluster in every:
            homes.setdefault(cluster, set()).add(env)
        for what, given, known in (
            ("environment", wanted, sorted(self.environments)),
            ("cluster", named, sorted(homes)),
        ):
            for name in given:
                if name not in known:
                    has = ", ".join(known) or "none"
                    raise Misnamed(f"there is no {what} {name}", remedy=f"the output has {has}")
        for cluster in named:
            if wanted and homes[cluster].isdisjoint(wanted):
                raise Misnamed(
                    f"cluster {cluster} is not in {' or '.join(wanted)}",
                    remedy=f"it is in {' and '.join(sorted(homes[cluster]))}",
                )
        return frozenset(
            (env, cluster)
            for env, cluster in every
            if (not wanted or env in wanted) and (not named or cluster in named)
        )


def places(output: GitSnapshot) -> Places:
    """All units of an output. Reads the folders above them, and none of their own."""
    units: dict[UnitKey, set[tuple[str, str]]] = {}
    environments: dict[str, frozenset[str]] = {}
    for env in output.folder("overlays"):
        clusters = [
            name
            for name, (mode, _) in output.folder(f"overlays/{env}").items()
            if mode == FOLDER and name != "sources"
        ]
        environments[env] = frozenset(clusters)
        for cluster in clusters:
            root = f"overlays/{env}/{cluster}"
            for namespace in output.folder(root):
                for folder in output.folder(f"{root}/{namespace}"):
                    if folder.startswith(("handler-", "module-")):
                        units.setdefault((namespace, folder), set()).add((env, cluster))
    return Places({key: frozenset(found) for key, found in units.items()}, environments)


def unit_id(key: UnitKey) -> UnitId:
    namespace, folder = key
    kind, _, name = folder.partition("-")
    return UnitId(namespace, kind, name)
