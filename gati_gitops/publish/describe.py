"""The text of a pull request: the preview of what merging it would change."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from gati_gitops.preview.mask import Mask
from gati_gitops.preview.model import Compared
from gati_gitops.preview.review import review
from gati_gitops.preview.side import stored_side
from gati_gitops.preview.writers.markdown import write_markdown
from gati_gitops.publish.model import Offer
from gati_gitops.repo.trees import GitSnapshot
from gati_gitops.tree import Overlay


@dataclass(frozen=True, slots=True)
class Describing:
    """Writes the text for a branch of an output repository."""

    branch: str
    limit: int = 65_536
    mask: Mask = field(default_factory=lambda: Mask(secrets.token_bytes(32)))

    def __call__(self, before: GitSnapshot, offer: Offer) -> str:
        changes = offer.step.changes
        found = review(
            stored_side(before, Compared(self.branch), changes),
            stored_side(Overlay(before, changes), Compared("this pull request"), changes),
            self.mask,
            ledger=self.branch,
            touched=changes.keys(),
        )
        return write_markdown(found, limit=self.limit)
