"""What the schedules came to, for people."""

from __future__ import annotations

from collections import Counter

from tests.simulator.tally import Sum

FAMILIES = {
    "scrape gaps": ("gap", "dead"),
    "numbers that are none": ("nan", "inf", "leak", "below", "twice"),
    "label loss": ("renamed", "mute"),
    "the metric server": ("metrics", "far clock"),
    "the API server": ("api error", "route missing", "references missing", "engine missing"),
    "resets and restarts": ("restart", "unlucky call", "gateway"),
    "pods and nodes lost": ("eviction", "node", "outage"),
    "scalers": ("scaler",),
    "a gateway that is slow": ("slow gateway",),
    "bursts and silence": ("burst", "silence"),
    "late traffic": ("client straggler", "client pinned", "client late", "client direct"),
    "long requests": ("client long",),
    "partial syncs": ("sync",),
    "a suspended engine": ("engine suspended",),
    "crashes between steps": ("job dies", "job forgets"),
    "a slow job": ("job slow", "job waits"),
    "skew": ("job skew",),
    "two controllers": ("two jobs",),
    "operators who edit": ("person",),
    "windows, other clusters, other units": ("window", "rejected", "reference", "ledger"),
    "Git that does not answer": ("Git cut",),
}
"""What goes wrong, by how the names of faults begin."""
ENOUGH = 0.6
"""The share of schedules that must come to an end: standing still is safe, and no use."""


def report(sums: dict[str, Sum], seed: int, seconds: float, processes: int) -> str:
    """Ours first, with all its numbers; the others beside it."""
    ours = next(iter(sums.values()))
    lines = [
        (
            f"{ours.schedules:,} schedules of seed {seed}, {_all(sums):,} in all, in {seconds:.0f} s on"
            f" {processes} cores: {1000 * seconds * processes / max(1, _all(sums)):.1f} ms each"
        ),
        "",
        f"{'rules':24} {'schedules':>10} {'unsafe':>9} {'':>8} {'met nobody':>11} {'decided':>9}",
    ]
    for name, found in sums.items():
        number = found.schedules
        lines.append(
            f"{name:24} {number:>10,} {found.unsafe:>9,} {found.unsafe / number:>8.2%}"
            f" {found.met_nobody / number:>11.2%} {found.decided / number:>9.1%}"
        )
    if not ours.unsafe:
        lines += [
            "",
            (
                f"0 unsafe of {ours.schedules:,}: with 95 % certainty fewer than"
                f" {3 / ours.schedules:.1e} of all schedules of this world are"
            ),
        ]
    lines += ["", f"{'story':24} {'schedules':>10} {'decided':>9} {'unsafe':>9}"]
    for story, number in ours.stories.most_common():
        share = ours.ended[story] / number
        lines.append(f"{story:24} {number:>10,} {share:>9.1%} {ours.harmed[story]:>9,}")
    if ours.rollbacks:
        lines += _rollbacks(ours)
    lines += ["", "what went wrong, in how many of them:"]
    lines += [f"  {number:>10,} {family}" for family, number in families(ours).most_common()]
    lines += ["", "what the rules name as their cost, and what nobody can help:"]
    lines += [f"  {number:>10,} {name}" for name, number in ours.costs.most_common()]
    if ours.unsafe:
        lines += ["", "unsafe:"]
        lines += [f"  {number:>10,} {kind}" for kind, number in ours.kinds.most_common()]
        lines += [f"  schedule {n}: {kind}: {text}" for n, kind, text in ours.named]
    return "\n".join(lines)


def families(ours: Sum) -> Counter[str]:
    """How many faults of each kind there were; what belongs to none of them stands for itself."""
    found = Counter(dict.fromkeys(FAMILIES, 0))
    for fault, number in ours.faults.items():
        kinds = [name for name, begins in FAMILIES.items() if fault.startswith(begins)]
        found[kinds[0] if kinds else fault] += number
    return found


def _rollbacks(ours: Sum) -> list[str]:
    number = sum(ours.rollbacks.values())
    soon = sum(n for took, n in ours.rollbacks.items() if took <= 2) / number
    return [
        "",
        (
            f"{number:,} clearly bad releases rolled back where nothing else was wrong;"
            " intervals from the first look that shows the step:"
        ),
        (
            f"  half within {ours.within(0.5):g}, 90 % {ours.within(0.9):g},"
            f" 99 % {ours.within(0.99):g}, all {ours.within(1):g}; {soon:.1%} within 2"
        ),
    ]


def passed(ours: Sum) -> bool:
    return not ours.unsafe and ours.decided >= ENOUGH * ours.schedules


def _all(sums):
    return sum(found.schedules for found in sums.values())
