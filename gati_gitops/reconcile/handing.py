"""Who holds the number of pods while a version gets its first scaler.

Git may let go of the number only when somebody else holds it, or all pods but one are lost. So at
the end of a pass the job takes hold of it, with the number that is live; the next pass sees that in
the cluster, and only then is it decided. Nothing changes for the pods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gati_gitops.compiler.stored import Where
from gati_gitops.decide.observation import Live
from gati_gitops.errors import GatiError
from gati_gitops.ledger.handover import awaits_hand_over
from gati_gitops.reconcile.evidence import Judged

Hold = Callable[[Where, str], int]
"""Takes hold of the number of pods of a Deployment, and gives that number."""


def take_hold(judged: Iterable[Judged], hold: Hold) -> tuple[str, ...]:
    """Hold what awaits it; a note for each."""
    notes = []
    for one in judged:
        for name in awaiting(one):
            try:
                count = hold(one.where, name)
            except GatiError as error:
                notes.append(f"{one.unit}: nobody holds the pods of {name}: {error.message}")
            else:
                notes.append(f"{one.unit}: the {count} pods of {name} are held for its scaler")
    return tuple(notes)


def awaiting(judged: Judged) -> tuple[str, ...]:
    """Deployments that are seen to run, and whose number of pods only Git holds."""
    stored = judged.stored
    live = judged.seen.live if judged.seen is not None else None
    if stored is None or stored.ledger is None or not isinstance(live, Live):
        return ()
    if stored.ledger.hold or live.frozen:
        return ()
    found = []
    for entry in stored.ledger.entries:
        version = stored.plan.version(*entry.key)
        workload = live.workloads.get(version.name) if version is not None else None
        if version is None or workload is None or workload.replicas_owner:
            continue
        if workload.desired and awaits_hand_over(stored.plan, entry):
            found.append(version.name)
    return tuple(found)
