"""The world at full size: `make simulate`, or `python -m tests.simulator --schedules 50000`."""

from __future__ import annotations

import argparse
import os
import sys
import time

from tests.simulator.crowd import all_of
from tests.simulator.naive import NAIVE
from tests.simulator.report import passed, report
from tests.simulator.rules import OURS, rules_named
from tests.simulator.schedule import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="simulate", description=__doc__)
    parser.add_argument("--schedules", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--naive", type=int, help="schedules of the naive rules; default: a 50th")
    parser.add_argument("--rules", default=OURS, help=f"ours, {', '.join(NAIVE)}, or without GUARD")
    parser.add_argument("--schedule", type=int, help="play this one alone")
    parser.add_argument("--trace", action="store_true", help="tell it from beginning to end")
    parser.add_argument("--mutate", action="store_true", help="remove each guard in turn")
    parser.add_argument("--guard", action="append", help="with --mutate: only this one; repeatable")
    parser.add_argument("--write", action="store_true", help="with --mutate: keep what was found")
    args = parser.parse_args()
    if args.schedule is not None:
        return one(args)
    if args.mutate:
        from tests.simulator.mutate import mutations

        return mutations(args.seed, args.processes, args.guard, write=args.write)
    began = time.monotonic()
    sums = {args.rules: all_of(args.seed, args.schedules, args.rules, args.processes)}
    naive = args.schedules // 50 if args.naive is None else args.naive
    for name in NAIVE if naive else ():
        sums[name] = all_of(args.seed, naive, name, args.processes)
    print(report(sums, args.seed, time.monotonic() - began, args.processes))
    return 0 if passed(sums[args.rules]) else 1


def one(args) -> int:
    """One schedule, told so that a person can follow it."""
    with rules_named(args.rules) as decide:
        result = run(args.seed, args.schedule, decide, tells=args.trace)
    for line in result.told:
        print(line)
    print(f"schedule {args.schedule} of seed {args.seed}: {result.story}")
    print(f"faults:  {', '.join(result.faults) or 'none'}")
    print(f"decided: {'yes' if result.decided else 'no'}, after {result.passes} passes")
    for kind, text in result.unsafe:
        print(f"unsafe:  {kind}: {text}")
    return 1 if result.unsafe else 0


if __name__ == "__main__":
    sys.exit(main())
