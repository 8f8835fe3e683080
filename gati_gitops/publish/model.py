"""What a publish is asked, and what it comes to: values that the parts of it hand on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256

from gati_gitops.compiler import Narrowed
from gati_gitops.errors import Problem
from gati_gitops.publish.changes import ChangeSet
from gati_gitops.publish.guards import Allowed
from gati_gitops.publish.message import Origin, Reference
from gati_gitops.repo.commit import Draft
from gati_gitops.repo.repository import Repository, Tip
from gati_gitops.repo.specs import SpecsRepository
from gati_gitops.spec.load import Specs
from gati_gitops.spec.project import GatiProject
from gati_gitops.tree import Changes


@dataclass(frozen=True, slots=True)
class Committed:
    """Specs as a commit of their repository has them."""

    repository: SpecsRepository
    commit: str

    def read(self, name: str) -> bytes | None:
        return self.repository.at(self.commit).read(name)


@dataclass(frozen=True, slots=True)
class Request:
    """What a publish is asked to do."""

    project: GatiProject
    file: str
    """Where the project's settings stand."""
    load: Callable[[], Specs]
    """All specs; asked for only when everything is compiled."""
    reference: Reference | None = None
    """The specs' commit; None where they are in no repository."""
    committed: Committed | None = None
    """The same, to be read; None where the specs are not as committed."""
    narrowed: Narrowed = field(default_factory=Narrowed)
    upgrade: bool = False
    discard: bool = False
    allowed: Allowed = field(default_factory=Allowed)
    trust: Callable[[Repository, Tip], None] | None = None
    """Refuses a tip that was not signed by somebody who counts."""

    @property
    def source(self) -> str:
        return self.project.spec.source or self.project.metadata.name

    @property
    def root(self) -> str:
        root = self.project.spec.output.root
        return "" if root == "." else root

    @property
    def environments(self) -> list[str]:
        """Those that it is about."""
        chosen = self.narrowed.environments
        return [env for env in self.project.spec.environments if not chosen or env in chosen]

    def origin(self, decision: str) -> Origin:
        wants = self.project.spec.commits.argocd
        return Origin(
            self.source,
            self.reference.sha if self.reference else "",
            decision,
            reference=self.reference if wants else None,
            checked=self.trust is not None,
        )


@dataclass(frozen=True, slots=True)
class Step:
    """One commit to be, and what it does."""

    environment: str
    changes: Changes
    changed: ChangeSet
    message: str
    tree: str = ""
    """The tree of the commit, which is in the object database already."""
    note: bytes | None = None

    def draft(self, root: str) -> Draft:
        return Draft(self.changes, self.message, self.environment, self.note, root, self.tree)


@dataclass(frozen=True, slots=True)
class Offer:
    """What waits for an approval: one pull request."""

    environment: str
    group: str
    """Empty where one pull request holds the whole environment."""
    step: Step
    folders: tuple[str, ...] = ()
    """Release folders that it names."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """All that a publish comes to on one tip."""

    steps: tuple[Step, ...]
    offers: tuple[Offer, ...]
    warnings: tuple[Problem, ...]
    notes: tuple[str, ...]
    whole: bool = True
    """Whether everything was compiled, and not only what changed."""
    offering: tuple[str, ...] = ()
    """Environments that have pull requests: what they do not offer any more is closed."""


def decision_key(changes: Changes) -> str:
    """What a commit decides, without its time or parent: the same decision has the same key."""
    digest = sha256()
    for path, content in sorted(changes.items()):
        digest.update(f"{path}\0{'' if content is None else len(content)}\0".encode())
        digest.update(content or b"")
    return digest.hexdigest()[:16]
