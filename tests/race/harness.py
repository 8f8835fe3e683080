"""Writers, a person and an operator on one branch, all at once."""

import os
import random
import shutil
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gati_gitops.errors import GatiError
from gati_gitops.repo.commit import Draft
from gati_gitops.repo.retry import Retry
from gati_gitops.repo.writer import write
from tests.race.checker import OPERATOR, Verdict, judge
from tests.repo.gitkit import git
from tests.servers.places import US, Place


@dataclass(frozen=True)
class Size:
    writers: int
    commits: int
    """Of each writer."""
    by_people: int = 3
    resets: int = 2
    attempts: int = 100
    cap: float = 0.5


def operation(name: str):
    """A change that looks at nothing, so doing it twice shows."""
    return lambda _: [Draft({f"base/{name}.yaml": name.encode()}, f"Do {name}\n")]


def writer(place: Place, number: int, size: Size, log: Path) -> None:
    # Who has lost often must not wait long as well, or those who have just won would win for ever.
    chance = random.Random(number).random
    retry = Retry(attempts=size.attempts, first=0.05, cap=size.cap, budget=3600, random=chance)
    with place.open() as repository, log.open("w", buffering=1) as said:
        for count in range(size.commits):
            name = f"w{number}-{count}"
            try:
                done = write(repository, operation(name), author=US, retry=retry)
                said.write(f"{name} {done.commits[-1]} {done.attempts}\n")
            except GatiError as error:
                said.write(f"# {name}: {error}\n")


def person(place: Place, size: Size, folder: Path, log: Path) -> None:
    """The git command line, with a lease: what a person takes back may then be told from a loss."""
    git(folder.parent, "clone", "-q", place.url, str(folder), **place.git_environ)
    with log.open("w", buffering=1) as said:
        for count in range(size.by_people):
            for _ in range(200):
                git(folder, "fetch", "-q", "origin", "main", **place.git_environ)
                git(folder, "reset", "-q", "--hard", "FETCH_HEAD")
                base = git(folder, "rev-parse", "HEAD")
                (folder / f"person-{count}.txt").write_text("by hand\n")
                git(folder, "add", "-A")
                git(folder, "commit", "-qm", f"By hand {count}")
                lease = f"--force-with-lease=refs/heads/main:{base}"
                with suppress(AssertionError):
                    git(folder, "push", "-q", lease, "origin", "HEAD:main", **place.git_environ)
                    said.write(f"{git(folder, 'rev-parse', 'HEAD')}\n")
                    break


def operator(place: Place, size: Size, end: Path) -> None:
    """Takes the last commits away, now and then, and tidies up, until all others are done."""
    chance = random.Random(4711)
    for _ in range(size.resets):
        for _ in range(100):
            if end.exists():
                return
            time.sleep(chance.uniform(0.05, 0.15) * size.commits / max(1, size.resets))
            tip = place.tip()
            back = f"{tip}~{chance.randint(1, 3)}"
            with suppress(AssertionError):  # Too few commits yet, or somebody was faster.
                new = git(place.bare, "rev-parse", "--verify", "-q", back)
                git(place.bare, "update-ref", "-m", OPERATOR, "refs/heads/main", new, tip)
                git(place.bare, "pack-refs", "--all", "--prune")
                break


def start(work) -> int:
    """A process of its own; its id."""
    child = os.fork()
    if child:
        return child
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        work()
        os._exit(0)
    except BaseException as error:  # noqa: BLE001
        os.write(2, f"{error!r}\n".encode())
    os._exit(1)


@dataclass
class Outcome:
    verdict: Verdict
    acknowledged: dict[str, str]
    attempts: int
    given_up: list[str]
    seconds: float


def run(place: Place, size: Size, folder: Path) -> Outcome:
    """Let all of them loose and judge what came of it."""
    logs = folder / "logs"
    logs.mkdir(parents=True)
    begun = time.monotonic()
    jobs = [
        start(lambda n=number: writer(place, n, size, logs / f"w{n}"))
        for number in range(size.writers)
    ]
    if size.by_people:
        jobs.append(start(lambda: person(place, size, folder / "person", logs / "person")))
    end = folder / "end"
    guard = start(lambda: operator(place, size, end))
    try:
        failed = [job for job in jobs if os.waitpid(job, 0)[1]]
        end.touch()
        os.waitpid(guard, 0)
    except BaseException:
        for job in (*jobs, guard):
            with suppress(ProcessLookupError):
                os.kill(job, signal.SIGTERM)
        raise
    seconds = time.monotonic() - begun
    assert not failed, f"{len(failed)} processes failed; the output above says why"
    lines = [line for log in logs.glob("w*") for line in log.read_text().splitlines()]
    rows = [line.split() for line in lines if not line.startswith("#")]
    acknowledged = {name: commit for name, commit, _ in rows}
    hands = (logs / "person").read_text().split() if size.by_people else []
    verdict = judge(place.bare, acknowledged, hands)
    shutil.rmtree(folder)
    return Outcome(
        verdict,
        acknowledged,
        sum(int(attempts) for *_, attempts in rows),
        [line for line in lines if line.startswith("#")],
        seconds,
    )
