"""What the kustomizations of a cluster name and nobody finds.

A unit is known by its ``unit.yaml``. Where that was deleted by hand the unit still serves: its
engine can't build the folder any more, and goes on with what it has. To write what stands around it
without it would take it out of the sync root, and the engine would remove it. So nobody writes that
while something is lost. Who removes a unit and its line, as a ``git revert`` does, has decided it.
"""

from __future__ import annotations

from collections.abc import Iterator

from gati_gitops.errors import Place, Refused
from gati_gitops.output import Output, UnitKey
from gati_gitops.plan.job import FOLDER as JOB
from gati_gitops.yamlio.goyaml_read import GoYamlError, decode, read_config

CRDS = "_crds"
_UNITS = ("handler-", "module-")
_PROOF = {JOB: "rights.yaml", CRDS: "kustomization.yaml"}
"""The file by which a folder that belongs to no unit is known."""
_LEDGER = "rollout.yaml"
"""What tells of a folder without a plan that a unit is there; one that awaits pruning has none."""


def lost_units(output: Output, env: str, cluster: str) -> list[UnitKey]:
    """Units that are named, or of which something is left, and whose plan is gone."""
    root = f"overlays/{env}/{cluster}"
    found: set[UnitKey] = set()
    for path in output.paths(root):
        namespace, *rest = path.removeprefix(f"{root}/").split("/")
        if rest == ["kustomization.yaml"]:
            found |= {(namespace, name) for name in named(output, path) if name.startswith(_UNITS)}
        elif len(rest) == 2 and rest[0].startswith(_UNITS) and rest[1] == _LEDGER:
            found.add((namespace, rest[0]))
    return sorted(found.difference(output.keys(env, cluster)))


def lost_folders(output: Output, env: str, cluster: str) -> Iterator[str]:
    """Other folders that the cluster's kustomization names: a namespace, the job, the CRDs."""
    root = f"overlays/{env}/{cluster}"
    for name in named(output, f"{root}/kustomization.yaml"):
        last = name.rpartition("/")[2]
        proof = _PROOF.get(last, "kustomization.yaml")
        if last != "_namespace" and output.read(f"{root}/{name}/{proof}") is None:
            yield f"{root}/{name}"


def named(output: Output, path: str) -> list[str]:
    """What a kustomization names; nothing where nobody can read it."""
    try:
        said = read_config(decode(output.read(path) or b""))
    except (GoYamlError, Refused):
        return []
    resources = said.get("resources") if isinstance(said, dict) else None
    return [name for name in resources or () if isinstance(name, str)]


def refuse_lost(output: Output, env: str, cluster: str, *, compiled: bool = False) -> None:
    """Refuse to write what stands around units while some of them are lost.

    ``compiled``: CRDs and the job are written anew, and need not be there.
    """
    root = f"overlays/{env}/{cluster}"
    units = [f"{root}/{'/'.join(key)}/unit.yaml" for key in lost_units(output, env, cluster)]
    folders = lost_folders(output, env, cluster)
    lost = [*units, *(f for f in folders if not compiled or f.rpartition("/")[2] not in _PROOF)]
    if lost:
        more = f" and {len(lost) - 3} more" if len(lost) > 3 else ""
        one = len(lost) == 1
        raise Refused(
            f"{', '.join(lost[:3])}{more} {'is' if one else 'are'} named in {root} and not there;"
            f" without {'it' if one else 'them'} an engine would remove what still serves",
            remedy="bring it back with drift --fix revert, or restore it from Git; to be rid of a"
            " unit, retire it",
            place=Place(lost[0]),
        )
