"""Who writes, and how: the one way from publish to a branch."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gati_gitops.repo.commit import Draft, Signature, Signer
from gati_gitops.repo.repository import Repository, Tip
from gati_gitops.repo.retry import Retry
from gati_gitops.repo.writer import Propose, Still, Written, push_branch, write


@dataclass(frozen=True, slots=True)
class Hand:
    """An author with a key, patience and a clock."""

    author: Signature
    signer: Signer | None = None
    retry: Retry = field(default_factory=Retry)
    clock: Callable[[], float] = time.time

    def write(
        self,
        repository: Repository,
        propose: Propose,
        note_ref: str | None = None,
        still: Still | None = None,
    ) -> Written:
        """Put what is proposed onto the repository's branch, while it may still be done."""
        return write(
            repository,
            propose,
            author=self.author,
            signer=self.signer,
            retry=self.retry,
            clock=self.clock,
            note_ref=note_ref,
            still=still,
        )

    def push(
        self, repository: Repository, branch: str, drafts: Sequence[Draft], base: Tip, stands: str
    ) -> str:
        """Make a branch of our own these drafts on a base, if it still is at ``stands``."""
        return push_branch(
            repository,
            branch,
            drafts,
            base=base,
            expected_old=stands,
            author=self.author,
            signer=self.signer,
            retry=self.retry,
            clock=self.clock,
        )
