"""Judges what writers did to a branch, by the server's own record of every move of it.

The branch is played through from its reflog. A writer's move must stand on exactly what was there
before: that is compare and swap, and no commit can get lost behind it. An operator's move takes
commits away; those never come back. Whatever was told to be done is on the branch once, or was taken
away by the operator after it had been there.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.repo.gitkit import git

OPERATOR = "operator"
"""What an operator gives as the reason of a move."""


@dataclass
class Verdict:
    faults: list[str] = field(default_factory=list)
    commits: int = 0
    withdrawn: int = 0
    """Commits that the operator took away."""


def judge(
    bare: Path,
    acknowledged: Mapping[str, str],
    by_people: Iterable[str] = (),
    *,
    branch: str = "main",
) -> Verdict:
    """``acknowledged``: the commit that was said to have done each operation."""
    verdict = Verdict()
    parents, subjects = _commits(bare)
    line: list[str] = []
    withdrawn: set[str] = set()
    ever: set[str] = set()
    for old, new, reason in _moves(bare, branch):
        if (line[-1] if line else "") != old:
            verdict.faults.append(f"the record has a gap before {new[:8]}")
        if reason == OPERATOR:
            while line and line[-1] != new:
                withdrawn.add(line.pop())
            continue
        added = _between(parents, old, new)
        if added is None:
            verdict.faults.append(
                f"{subjects.get(new)!r} does not stand on what was there before it"
            )
            added = [new]
        for commit in set(added) & withdrawn:
            verdict.faults.append(f"{subjects.get(commit)!r} came back after it was withdrawn")
        line += added
        ever.update(added)
    final = set(line)
    for name, commit in acknowledged.items():
        if commit not in ever:
            verdict.faults.append(f"{name} was acknowledged, and has never been on the branch")
        elif commit not in final and commit not in withdrawn:
            verdict.faults.append(f"{name} was acknowledged, and is lost")
    for commit in by_people:
        if commit not in final and commit not in withdrawn:
            verdict.faults.append(f"the commit {commit[:8]} of a person is lost")
    counted = Counter(subjects[commit] for commit in line)
    verdict.faults += [f"{name!r} is there {n} times" for name, n in counted.items() if n > 1]
    if line and line[-1] != git(bare, "rev-parse", branch):
        verdict.faults.append("the branch is not where its record ends")
    try:
        git(bare, "fsck", "--full", "--strict", "--no-dangling")
    except AssertionError as error:
        verdict.faults.append(f"fsck: {error}")
    verdict.commits, verdict.withdrawn = len(line), len(withdrawn)
    return verdict


def _commits(bare: Path) -> tuple[dict[str, list[str]], dict[str, str]]:
    lines = git(bare, "log", "--all", "--reflog", "--format=%H%x09%P%x09%s").splitlines()
    rows = [line.split("\t") for line in lines]
    return {id: above.split() for id, above, _ in rows}, {id: subject for id, _, subject in rows}


def _moves(bare: Path, branch: str) -> list[tuple[str, str, str]]:
    """Oldest first; the first has no commit before it."""
    moves = []
    for line in (bare / "logs/refs/heads" / branch).read_text().splitlines():
        head, _, reason = line.partition("\t")
        old, new = head.split()[:2]
        moves.append(("" if set(old) == {"0"} else old, new, reason))
    return moves


def _between(parents: Mapping[str, list[str]], old: str, new: str) -> list[str] | None:
    """What a move added, oldest first; None if it does not stand on what was there."""
    added: list[str] = []
    while new != old:
        above = parents.get(new, [])
        if len(above) > 1 or (not above and old):
            return None
        added.append(new)
        new = above[0] if above else ""
    return added[::-1]
