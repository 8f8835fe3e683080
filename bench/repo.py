"""Committing beside the git command line doing the same, in one run: ratios.

1. One changed file in a repository of 100,000 files: read the tip, build the tree, commit, move the
   branch. git does it with its plumbing (the index kept between runs), and by add and commit.
2. The same on 1,000 and on 1,000,000 commits of history: it must stay flat.
3. The first commit of a compiled fleet, beside `git fast-import` of the same files.

Neither waits for the disk, but for packs: that is git's default. git is a program that must be
started, ours is not: what starting costs is printed, too.

python bench/repo.py [--smoke]
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pygit2

sys.path.insert(0, str(Path(__file__).parent))
import project

from gati_gitops.compiler import compile_specs
from gati_gitops.disk.specs import read_specs
from gati_gitops.repo.commit import Signature, create_commit, read_commit
from gati_gitops.repo.objects import COMMIT, Objects, object_id
from gati_gitops.repo.packs import write_pack
from gati_gitops.repo.trees import GitSnapshot, write_tree
from gati_gitops.spec.load import load
from gati_gitops.tree import Changes, MemorySnapshot

SMOKE = "--smoke" in sys.argv
ROUNDS = 3 if SMOKE else 20
WHO = Signature("bench", "bench@example.test")
BRANCH = "refs/heads/main"
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    **{
        f"GIT_{who}_{what}": "bench@x"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    },
}


def git(where: Path, *arguments: str, data: bytes | None = None, **more: str) -> str:
    command = ["git", "-C", str(where), *arguments]
    environment = {**ENVIRONMENT, **more}
    done = subprocess.run(command, input=data, capture_output=True, check=True, env=environment)
    return done.stdout.decode().strip()


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def best(action: Callable[[int], object], rounds: int = ROUNDS) -> float:
    """Seconds of the fastest round; each round changes something else."""
    return min(seconds(lambda n=number: action(n)) for number in range(rounds))


def repository(where: Path) -> Path:
    pygit2.init_repository(str(where), bare=True, initial_head="main")
    return where


def commit(where: Path, changes: Changes) -> None:
    """What publishing does once it knows what changes."""
    repo = pygit2.Repository(str(where))
    objects = Objects(repo)
    branch = repo.references.get(BRANCH)
    parents = [str(branch.target)] if branch else []
    base = read_commit(objects, parents[0]).tree if parents else ""
    snapshot = GitSnapshot(objects, base) if base else MemorySnapshot()
    changed = {path: text for path, text in changes.items() if snapshot.read(path) != text}
    tree = write_tree(objects, base, changed)
    made = create_commit(
        objects, tree, parents, "Bench", author=WHO, committer=WHO, time=int(time.time())
    )
    objects.flush(durable=len(changed) > 1)
    repo.references.create(BRANCH, made, force=True)


def plumbing(where: Path, path: str, content: bytes) -> None:
    """The fewest commands that make the same commit; the index is kept from run to run."""
    index = str(where / "kept-index")
    tip = git(where, "rev-parse", BRANCH)
    blob = git(where, "hash-object", "-w", "--stdin", data=content)
    entry = f"100644,{blob},{path}"
    git(where, "update-index", "--add", "--cacheinfo", entry, GIT_INDEX_FILE=index)
    tree = git(where, "write-tree", GIT_INDEX_FILE=index)
    made = git(where, "commit-tree", tree, "-p", tip, "-m", "Bench")
    git(where, "update-ref", BRANCH, made, tip)


def one_file(home: Path, files: int) -> None:
    tree: Changes = {
        f"overlays/prod/eu/team-{n % 100}/unit-{n // 500}/file-{n // 100 % 5}.yaml": b"# %d\n"
        % n
        * 40
        for n in range(files)
    }
    where = repository(home / "files")
    commit(where, tree)
    path = next(iter(tree))
    ours = best(lambda n: commit(where, {path: b"ours %d\n" % n}))
    git(where, "read-tree", BRANCH, GIT_INDEX_FILE=str(where / "kept-index"))
    theirs = best(lambda n: plumbing(where, path, b"theirs %d\n" % n))
    work = home / "work"
    git(home, "clone", "-q", str(where), str(work))

    def people(number: int) -> None:
        (work / path).write_bytes(b"people %d\n" % number)
        git(work, "add", path)
        git(work, "commit", "-qm", "Bench")

    porcelain = best(people)
    start = best(
        lambda _: subprocess.run(["git", "version"], check=True, stdout=subprocess.DEVNULL)
    )
    print(
        f"one file of {files:,}: ours {ours * 1e3:.1f} ms; starting git alone {start * 1e3:.1f} ms"
    )
    print(f"  plumbing {theirs * 1e3:.1f} ms: {theirs / ours:.1f} times as long")
    print(f"  add and commit {porcelain * 1e3:.1f} ms: {porcelain / ours:.1f} times as long")


def with_history(where: Path, commits: int) -> None:
    """A chain of commits, each changing one ledger of fifty; in one pack."""
    objects = Objects(pygit2.Repository(str(repository(where))))
    trees: list[str] = []
    base = ""
    for state in range(400):
        ledger = f"overlays/prod/eu/shop/handler-{state % 50}/rollout.yaml"
        base = write_tree(objects, base, {ledger: b'seq: "%d x"\n' % (state // 50)})
        trees.append(base)
    objects.flush()
    chain: dict[bytes, tuple[int, bytes]] = {}
    parent = ""
    for number in range(commits):
        above = f"parent {parent}\n" if parent else ""
        who = f"bench <bench@example.test> {1_600_000_000 + number} +0000"
        payload = (
            f"tree {trees[number % 400]}\n{above}author {who}\ncommitter {who}\n\n"
            f"Move {number}\n\nGati-Compiler: 0\nGati-Base: {parent}\n"
        ).encode()
        id = object_id(COMMIT, payload)
        chain[id] = COMMIT, payload
        parent = id.hex()
    write_pack(where / "objects/pack", chain, durable=False)
    git(where, "update-ref", BRANCH, parent)
    git(where, "read-tree", BRANCH, GIT_INDEX_FILE=str(where / "kept-index"))


def history(home: Path, sizes: tuple[int, int]) -> None:
    path = "overlays/prod/eu/shop/handler-7/rollout.yaml"
    places = [home / f"history-{size}" for size in sizes]
    for where, size in zip(places, sizes, strict=True):
        with_history(where, size)
    # In turns: on a busy machine one minute is not like the next.
    ours, theirs = ([float("inf")] * 2 for _ in range(2))
    for number in range(ROUNDS):
        for n, where in enumerate(places):
            changes: Changes = {path: b"ours %d\n" % number}
            ours[n] = min(ours[n], seconds(lambda w=where, c=changes: commit(w, c)))
            text = b"theirs %d\n" % number
            theirs[n] = min(theirs[n], seconds(lambda w=where, t=text: plumbing(w, path, t)))
    for n, size in enumerate(sizes):
        print(f"{size:>9,} commits: ours {ours[n] * 1e3:.1f} ms, plumbing {theirs[n] * 1e3:.1f} ms")
    more = sizes[1] // sizes[0]
    print(f"  {more:,} times the history costs {ours[1] / ours[0]:.2f} times the time", end="")
    print(f" (plumbing: {theirs[1] / theirs[0]:.2f})")


def bulk(home: Path, units: int) -> None:
    specs = project.write(home / "specs", units)
    tree = compile_specs(load(read_specs(str(specs))), MemorySnapshot()).tree
    stream = home / "stream"
    with stream.open("wb") as file:
        file.write(b"commit refs/heads/main\ncommitter b <b@x> 1 +0000\ndata 5\nBench\n")
        for path, content in tree.items():
            file.write(b"M 644 inline %b\ndata %d\n%b\n" % (path.encode(), len(content), content))
    rounds = 1 if units > 1_000 else 3
    places = [repository(home / f"{who}-{n}") for n in range(rounds) for who in ("ours", "theirs")]

    def fast_import(number: int) -> None:
        with stream.open("rb") as file:
            command = ["git", "-C", str(places[2 * number + 1]), "fast-import", "--quiet"]
            subprocess.run(command, stdin=file, check=True, env=ENVIRONMENT)

    ours = best(lambda n: commit(places[2 * n], dict(tree)), rounds)
    theirs = best(fast_import, rounds)
    one, other = (git(place, "rev-parse", f"{BRANCH}^{{tree}}") for place in places[:2])
    if one != other:
        raise SystemExit(f"the trees differ: {one} and {other}")
    sizes = [sum(f.stat().st_size for f in place.rglob("*.pack")) >> 10 for place in places[:2]]
    print(f"first commit of {units:,} units × 3 environments, {len(tree):,} files:")
    print(
        f"  ours {ours:.2f} s and {sizes[0]:,} KiB, fast-import {theirs:.2f} s and {sizes[1]:,} KiB"
    )
    print(f"  ours takes {ours / theirs:.2f} of its time; the trees are the same")


def main() -> None:
    home = Path(tempfile.mkdtemp(prefix="gati-bench-"))
    try:
        one_file(home, 2_000 if SMOKE else 100_000)
        history(home, (100, 1_000) if SMOKE else (1_000, 1_000_000))
        bulk(home, 20 if SMOKE else 10_000)
    finally:
        shutil.rmtree(home)


if __name__ == "__main__":
    main()
