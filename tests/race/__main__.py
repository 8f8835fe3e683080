"""The race at full size: `make race`, or `python -m tests.race --writers 8 --commits 10 http`."""

import argparse
import os
import signal
import sys
import tempfile
from pathlib import Path

from tests.race.harness import Size, run
from tests.servers.certificates import Authority
from tests.servers.places import new_repository, place
from tests.servers.ssh import Ssh
from tests.servers.web import Web


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("roads", nargs="*", default=["http", "ssh", "path"])
    parser.add_argument("--writers", type=int, default=32)
    parser.add_argument("--commits", type=int, default=50, help="of each writer")
    parser.add_argument("--by-people", type=int, default=20)
    parser.add_argument("--resets", type=int, default=20)
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # Servers and writers end with us.
    os.nice(10)  # Others may be at work on this machine.
    size = Size(args.writers, args.commits, args.by_people, args.resets, attempts=2000, cap=1)
    with tempfile.TemporaryDirectory(prefix="race-") as name:
        folder = Path(name)
        repositories = folder / "repositories"
        web = Web(folder / "web", repositories, Authority(folder / "ca"))
        ssh = Ssh(folder / "ssh")
        try:
            return max(one(road, size, folder, web, ssh) for road in args.roads)
        finally:
            web.end()
            ssh.end()


def one(road: str, size: Size, folder: Path, web: Web, ssh: Ssh) -> int:
    target = place(road, new_repository(web.repositories / f"{road}.git"), web=web, ssh=ssh)
    outcome = run(target, size, folder / road)
    done, wanted = len(outcome.acknowledged), size.writers * size.commits
    print(
        f"{road:5} {size.writers} writers x {size.commits} commits: {done} of {wanted} acknowledged,"
        f" {outcome.attempts / max(done, 1):.2f} attempts each, {outcome.verdict.withdrawn} withdrawn"
        f" by the operator, {len(outcome.verdict.faults)} faults, {outcome.seconds:.0f} s",
        flush=True,
    )
    for line in (*outcome.verdict.faults[:20], *outcome.given_up[:5]):
        print(f"      {line}")
    return 1 if outcome.verdict.faults or done != wanted else 0


if __name__ == "__main__":
    sys.exit(main())
