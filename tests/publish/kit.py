"""What the tests of publish share: a specs repository, an output repository, and what happens to them.

Both are real: the specs are committed with git, the output is a bare repository that git reads back.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gati_gitops.cli.publish import committed_in, request_of
from gati_gitops.compiler import Narrowed
from gati_gitops.compiler.stored import recompile, stored_policy
from gati_gitops.disk.specs import read_specs
from gati_gitops.forge.model import Forge
from gati_gitops.ledger.fold import refold
from gati_gitops.ledger.model import Ledger
from gati_gitops.output import Output
from gati_gitops.publish.acts import Acted, act
from gati_gitops.publish.deciding import Wish
from gati_gitops.publish.describe import Describing
from gati_gitops.publish.guards import Allowed
from gati_gitops.publish.hand import Hand
from gati_gitops.publish.reverts import adopt
from gati_gitops.publish.run import Published, publish, undone_on
from gati_gitops.publish.verify import Verified, verify
from gati_gitops.repo.address import parse
from gati_gitops.repo.commit import Draft, Signature
from gati_gitops.repo.repository import Repository, Tip, open_repository
from gati_gitops.repo.specs import specs_repository
from gati_gitops.repo.writer import write
from gati_gitops.spec.load import Specs, load
from gati_gitops.tree import Overlay, Tree
from tests.compile import kit

AUTHOR = Signature("Robot", "robot@example.com")
QUIET = {
    **os.environ,
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.com",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.com",
}


def git(folder: Path, *arguments: str) -> str:
    """Run git as a person would; its output."""
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        env=QUIET, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@dataclass
class World:
    """One source of specs, and the repository that it publishes to."""

    root: Path
    name: str = "specs"
    clock: float = field(default_factory=time.time)
    specs: Path = field(init=False)
    output: Path = field(init=False)

    def __post_init__(self) -> None:
        self.specs = self.root / self.name
        self.output = self.root / "deploy.git"
        self.specs.mkdir(parents=True)
        git(self.specs, "init", "-q", "-b", "main")
        if not self.output.exists():
            git(self.root, "init", "-q", "--bare", "-b", "main", "deploy.git")

    # -- specs -----------------------------------------------------------------------------------

    def merge(self, files: Mapping[str, str | None], message: str = "Change specs") -> str:
        """Commit specs; None deletes a file."""
        for name, text in files.items():
            path = self.specs / name
            if text is None:
                path.unlink()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        git(self.specs, "add", "-A")
        git(self.specs, "commit", "-q", "--allow-empty", "-m", message)
        return git(self.specs, "rev-parse", "HEAD").strip()

    def loaded(self) -> Specs:
        return load(read_specs(str(self.specs)))

    # -- output ----------------------------------------------------------------------------------

    def open(self, branch: str | None = None) -> Repository:
        return open_repository(parse(str(self.output)), branch=branch)

    def publish(self, env: str = "", *, dry_run: bool = False, **options: Any) -> Published:
        allowed = Allowed(options.pop("removals", 0), frozenset(options.pop("deletes", ())))
        repository = committed_in(str(self.specs))
        assert repository is not None
        whole = options.pop("whole", False)
        request = replace(
            request_of(self.loaded(), repository, repository.commit),
            narrowed=Narrowed(frozenset([env] if env else [])),
            allowed=allowed,
            **options,
        )
        if whole:  # what Git says changed is not asked for
            request = replace(request, committed=None)
        self.clock = max(self.clock + 1, time.time())
        with self.open() as repository:
            hand = Hand(AUTHOR, clock=lambda: self.clock)
            describe = Describing(repository.branch)
            return publish(request, repository, hand, self.forge, describe, dry_run=dry_run)

    def forge(self) -> Forge:
        """Where pull requests are opened; a world without one fails."""
        raise AssertionError("no pull request is expected here")

    def release(self, files: Mapping[str, str | None], **options: Any) -> Published:
        """Merge specs and publish them."""
        self.merge(files)
        return self.publish(**options)

    def verify(self, branch: str | None = None) -> Verified:
        repository = specs_repository(self.specs)
        assert repository is not None
        specs = self.loaded()
        with self.open(branch) as output:
            at: Callable[[str], Specs] = lambda commit: load(repository.files(commit))  # noqa: E731
            return verify(specs, output.tip().snapshot(), at, Narrowed())

    def tree(self, revision: str = "main") -> Tree:
        """All files at a revision, as git tells them."""
        listed = git(self.output, "ls-tree", "-r", "-z", "--format=%(objectname) %(path)", revision)
        rows = [row.split(" ", 1) for row in listed.split("\0") if row]
        asked = "".join(f"{id}\n" for id, _ in rows).encode()
        done = subprocess.run(
            ["git", "-C", str(self.output), "cat-file", "--batch"],
            input=asked, capture_output=True, check=True,
        )  # fmt: skip
        found: Tree = {}
        rest = done.stdout
        for _, path in rows:
            head, _, rest = rest.partition(b"\n")
            size = int(head.split()[2])
            found[path], rest = rest[:size], rest[size + 1 :]
        return found

    def log(self, form: str = "%s", *arguments: str) -> list[str]:
        """The branch's commits, newest first."""
        return git(self.output, "log", f"--format={form}", *arguments, "main").splitlines()

    def tip(self, branch: str = "main") -> str:
        return git(self.output, "rev-parse", branch).strip()

    def phases(self, folder: str = kit.UNIT) -> dict[str, tuple[str, int]]:
        return kit.phases(self.tree(), folder)

    def ledger(self, folder: str = kit.UNIT) -> Ledger:
        return kit.ledger(self.tree(), folder)

    # -- the job ---------------------------------------------------------------------------------

    def job(self, folder: str = kit.UNIT, **phases: tuple[str, int]) -> str:
        """A decision of the job: the unit's ledger moves, and its manifests with it."""
        env, cluster, *key = folder.split("/")[1:]
        where = (env, cluster, (key[0], key[1]))

        with self.open() as repository:

            def propose(tip: Tip) -> list[Draft]:
                adopted = adopt(tip.snapshot(), undone_on(repository, tip, ""))
                output = Output(Overlay(tip.snapshot(), adopted.all()))
                stored = output.unit(*where)
                assert stored is not None and stored.ledger is not None
                ledger = kit.moved(**phases)(stored.ledger)
                outcome = refold(stored_policy(output, env), stored, ledger)
                changes = recompile(output, {where: outcome}).changes
                told = f"Gati-Compiler: test\nGati-Decision: {outcome.ledger.key}"
                drafts = [
                    Draft(found, f"{name}: what a person undid\n\n{told}\n")
                    for name, found in adopted.changes.items()
                ]
                step = Draft(changes, f"{env}: a step\n\n{told}\n")
                return [*drafts, step] if changes else drafts

            self.clock = max(self.clock + 1, time.time())
            return write(repository, propose, author=AUTHOR, clock=lambda: self.clock).tip

    def act(self, verb: Any, unit: str = "shop/users", **options: Any) -> Acted:
        """What a person decides."""
        wish = Wish(verb, unit, options.pop("reason", "because"), **options)
        self.clock = max(self.clock + 1, time.time())
        with self.open() as repository:
            hand = Hand(AUTHOR, clock=lambda: self.clock)
            return act(wish, repository, hand, self.forge, Describing(repository.branch))

    # -- people ----------------------------------------------------------------------------------

    def by_hand(self, edit: Callable[[Path], None], message: str = "Edit by hand") -> str:
        """A person's commit on the branch."""
        place = self.root / "hand"
        if not place.exists():
            git(self.root, "clone", "-q", str(self.output), "hand")
        git(place, "fetch", "-q", "origin")
        git(place, "checkout", "-q", "-B", "main", "origin/main")
        edit(place)
        git(place, "add", "-A")
        git(place, "commit", "-q", "--allow-empty", "-m", message)
        git(place, "push", "-q", "origin", "main")
        return self.tip()

    def forget(self) -> None:
        """The branch begins with what is there now, as where nobody kept the history."""
        place = self.root / "hand"
        git(place, "checkout", "-q", "--orphan", "new")
        git(place, "commit", "-q", "-m", "Begin anew")
        git(place, "push", "-q", "-f", "origin", "new:main")

    def revert(self, commit: str = "HEAD") -> str:
        """A person's ``git revert``."""
        place = self.root / "hand"
        if not place.exists():
            git(self.root, "clone", "-q", str(self.output), "hand")
        git(place, "fetch", "-q", "origin")
        git(place, "checkout", "-q", "-B", "main", "origin/main")
        git(place, "revert", "--no-edit", commit)
        git(place, "push", "-q", "origin", "main")
        return self.tip()
