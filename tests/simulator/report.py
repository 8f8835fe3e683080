"""What the schedules came to, for people."""

from __future__ import annotations

from tests.simulator.tally import Sum

ENOUGH = 0.6
"""The share of schedules that must come to an end: standing still is safe, and no use."""


def report(sums: dict[str, Sum], seed: int, seconds: float, processes: int) -> str:
    """Ours first, with all its numbers; the others beside it."""
    ours = next(iter(sums.values()))
    lines = [
        (
            f"{ours.schedules:,} schedules, seed {seed}, {processes} processes, {seconds:.0f} s,"
            f" {1000 * seconds * processes / max(1, _all(sums)):.1f} ms each"
        ),
        "",
        f"{'rules':24} {'schedules':>10} {'unsafe':>9} {'':>8} {'decided':>9}",
    ]
    for name, found in sums.items():
        lines.append(
            f"{name:24} {found.schedules:>10,} {found.unsafe:>9,}"
            f" {found.unsafe / found.schedules:>8.2%} {found.decided / found.schedules:>9.1%}"
        )
    if not ours.unsafe:
        lines += ["", (f"0 unsafe of {ours.schedules:,}: with 95 % certainty fewer than"
                  f" {3 / ours.schedules:.1e} of all schedules of this world are")]  # fmt: skip
    lines += ["", f"{'story':24} {'schedules':>10} {'decided':>9} {'unsafe':>9}"]
    for story, number in ours.stories.most_common():
        share = ours.ended[story] / number
        lines.append(f"{story:24} {number:>10,} {share:>9.1%} {ours.harmed[story]:>9,}")
    if ours.rollbacks:
        number = sum(ours.rollbacks.values())
        soon = sum(n for took, n in ours.rollbacks.items() if took <= 2) / number
        lines += ["", (f"{number:,} clearly bad releases rolled back in worlds without other faults,"
                  " intervals from the first request to the commit:"),
                  (f"  half within {ours.within(0.5):g}, 90 % {ours.within(0.9):g},"
                  f" 99 % {ours.within(0.99):g}, all {ours.within(1):g};"
                  f" {soon:.1%} within 2")]  # fmt: skip
    lines += ["", "what the rules name as their cost, and what nobody can help:"]
    lines += [f"  {number:>10,} {name}" for name, number in ours.costs.most_common()]
    if ours.unsafe:
        lines += ["", "unsafe:"]
        lines += [f"  {number:>10,} {kind}" for kind, number in ours.kinds.most_common()]
        lines += [f"  schedule {n}: {kind}: {text}" for n, kind, text in ours.named]
    return "\n".join(lines)


def passed(ours: Sum) -> bool:
    return not ours.unsafe and ours.decided >= ENOUGH * ours.schedules


def _all(sums):
    return sum(found.schedules for found in sums.values())
