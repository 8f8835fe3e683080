"""What somebody has to approve, as pull requests: offered, kept fresh, and taken back.

An environment's rollout is one pull request; a way back or a hold, where the project wants even
that approved, one for each unit. What a pass does not decide any more is closed: nobody should
approve what rests on evidence that has expired.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gati_gitops.decide.rules import Rules
from gati_gitops.forge.model import Forge
from gati_gitops.output import Output
from gati_gitops.preview.writers.escape import prose
from gati_gitops.publish.branches import PREFIX, branch_name, environment_of
from gati_gitops.publish.deciding import known
from gati_gitops.publish.hand import Hand
from gati_gitops.publish.pulls import Pull, Wanted, offer
from gati_gitops.publish.run import Describe
from gati_gitops.reconcile.commit import Batch, Offered
from gati_gitops.reconcile.evidence import NOTES, Judged
from gati_gitops.reconcile.places import Scene
from gati_gitops.repo.repository import Repository, Tip
from gati_gitops.repo.writer import write_notes
from gati_gitops.spec.publishing import PullRequests

Scopes = Mapping[str, str]
"""Environments, and what each is called in branches."""
_MODES = ("rollout", "rollback", "hold")
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Offering:
    """How pull requests are made."""

    repository: Repository
    hand: Hand
    forge: Callable[[], Forge]
    describe: Describe

    def stands(self, output: Output, scopes: Scopes) -> bool:
        """Whether anything of these is open, as far as was seen."""
        return any(
            self._standing(f"{output.settings(env).get('owner', '')}.{mode}", scope)
            for env, scope in scopes.items()
            for mode in _MODES
        )

    def offer(
        self, base: Tip, root: str, offers: Sequence[Offered], scopes: Scopes
    ) -> tuple[Pull, ...]:
        """Make what is open be what is decided, in all that was judged."""
        output = Output(base.snapshot(root))
        pulls: list[Pull] = []
        for env, scope in sorted(scopes.items()):
            owner = str(output.settings(env).get("owner", ""))
            said = known(output, env, "pullRequests", PullRequests)
            settings = PullRequests.model_validate(said)
            for mode in _MODES:
                mine = [one for one in offers if _is(one.batch, env, mode)]
                # a name that no source can have: what a publish offers is another matter
                source = f"{owner}.{mode}"
                stands = self._standing(source, scope)
                if not mine and not stands:
                    continue
                named = {_name(one.batch, scope): one for one in mine}
                wanted = [self._wanted(base, root, one, name) for name, one in named.items()]
                found = offer(
                    self.repository, self.forge, base, wanted, settings, self.hand,
                    source=source, environments={*stands, *named}, root=root,
                )  # fmt: skip
                self._note(found, {branch_name(source, name): one for name, one in named.items()})
                pulls += found
        return tuple(pulls)

    def _standing(self, source: str, scope: str) -> set[str]:
        """What is open of a scope, by the names that branches have for it."""
        named = (environment_of(b, source) for b in self.repository.seen(f"{PREFIX}{source}/"))
        return {name for name in named if name == scope or name.startswith(f"{scope}.")}

    def _wanted(self, base: Tip, root: str, one: Offered, name: str) -> Wanted:
        step, batch = one.offer.step, one.batch
        return Wanted(
            name,
            "",
            step.changes,
            step.message,
            step.message.partition("\n")[0],
            f"{_why(batch.decided)}\n\n{self.describe(base.snapshot(root), one.offer)}",
        )

    def _note(self, pulls: Sequence[Pull], offers: Mapping[str, Offered]) -> None:
        """Put the evidence on what was pushed."""
        notes: dict[str, bytes] = {}
        for pull in pulls:
            one = offers.get(pull.branch)
            if one is not None and pull.commit and pull.outcome in ("opened", "updated"):
                notes[pull.commit] = one.offer.step.note or b""
        if notes:
            hand = self.hand
            write_notes(
                self.repository, NOTES, notes,
                author=hand.author, retry=hand.retry, clock=hand.clock,
            )  # fmt: skip


def scopes_of(scene: Scene) -> Scopes:
    """What each environment is called in branches: a job of some of its clusters names them too.

    Where nothing could be judged, what is offered stays as it is.
    """
    found: dict[str, str] = {}
    for env in {env for env, _ in scene.chosen if isinstance(scene.rules[env], Rules)}:
        mine = sorted(cluster for name, cluster in scene.chosen if name == env)
        whole = set(mine) == set(scene.found.environments[env])
        found[env] = env if whole else f"{env}@{'+'.join(mine)}"
    return found


def _name(batch: Batch, scope: str) -> str:
    """What stands where a branch names the environment; no environment or cluster has a dot."""
    return scope if batch.mode == "rollout" else ".".join((scope, *batch.decided[0].where[2]))


def _is(batch: Batch, env: str, mode: str) -> bool:
    return (batch.environment, batch.mode) == (env, mode)


def _why(decided: Sequence[Judged]) -> str:
    """Reasons, for whoever has to approve."""
    rows = [f"- {one.unit} on {one.where[1]}: {prose(one.decision.reason)}" for one in decided]
    more = len(rows) - _SHOWN
    return "\n".join([*rows[:_SHOWN], *([f"- and {more} more"] if more > 0 else [])])
