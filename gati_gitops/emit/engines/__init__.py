"""Sync engines: ``clusters/<cluster>/``, the objects that let an engine sync our folders.

The files have the same names under both engines, so switching changes their content and nothing
outside of this folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gati_gitops.emit.engines.argocd import argocd_objects
from gati_gitops.emit.engines.flux import flux_objects
from gati_gitops.emit.engines.roots import sync_roots
from gati_gitops.emit.engines.target import RECORD, Target
from gati_gitops.emit.release import KUSTOMIZATION
from gati_gitops.tree import Tree, header
from gati_gitops.yamlio.emit import dump, dump_all

FLUX_SYSTEM = "flux-system"


def sync_files(
    target: Target,
    units: Iterable[tuple[str, str]],
    crds: Iterable[str],
    wide: Mapping[str, bool],
    before: Mapping[str, bytes],
    source_file: str,
    jobs: Iterable[str] = (),
) -> Tree:
    """Everything in ``clusters/<cluster>``, and the empty folders of roots that await pruning.

    ``units`` are (namespace, folder) pairs, ``crds`` the names of our CRDs on the cluster, ``wide``
    the namespaces with objects of their own, ``before`` what stood in ``clusters/<cluster>``, and
    ``jobs`` the namespaces with a job.
    """
    line = header([source_file])
    home = f"clusters/{target.cluster}"
    stood = {path.removeprefix(f"{home}/") for path in before}
    roots = sync_roots(target.env, target.cluster, units, wide, stood, jobs)
    if target.here.engine == "flux":
        objects = flux_objects(target, roots)
    else:
        objects = argocd_objects(target, roots, crds)
    resources = sorted(objects)
    # Flux syncs this folder from its own one in it, which must stay part of the build: what leaves
    # the build is pruned, and that would be Flux itself.
    if f"{FLUX_SYSTEM}/kustomization.yaml" in stood:
        resources.append(FLUX_SYSTEM)
    tree = {f"{home}/{file}": dump_all(items, line) for file, items in objects.items()}
    tree[f"{home}/{RECORD}"] = dump(target.record(), line)
    tree[f"{home}/kustomization.yaml"] = dump({**KUSTOMIZATION, "resources": resources}, line)
    for root in roots:
        if root.empty:
            kustomization = {**KUSTOMIZATION, "resources": []}
            tree[f"{root.folder}/kustomization.yaml"] = dump(kustomization, line)
    return tree
