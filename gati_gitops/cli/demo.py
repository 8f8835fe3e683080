"""``demo``: the whole story on embedded specs, told by running the verbs themselves.

Every command is shown as a user would type it and then run in this process, so the story cannot
say anything that the program does not do.
"""

from __future__ import annotations

import difflib
import io
import os
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

import click

from gati_gitops.cli.common import wants_colour

SPECS, DEPLOY, BEFORE, REPO = "specs", "deploy", "specs-before", "deploy.git"
CART, CHECKOUT = f"{SPECS}/shop/cart.yaml", f"{SPECS}/shop/checkout.yaml"
OVERLAY = f"{DEPLOY}/overlays/prod/eu-1/shop"
_STYLES = {"step": "1;36", "command": "1", "plain": "0", "dim": "2", "add": "32", "remove": "31"}


@click.command(
    "demo",
    epilog="""\b
Examples:
  gati-gitops demo
  gati-gitops demo --output /tmp/gati-demo""",
)
@click.option(
    "--output", metavar="DIR", help="Keep the specs and what they compile to in this new folder."
)
def command(output: str | None) -> None:
    """Show the whole story on embedded specs: nothing to install or to configure."""
    with _folder(output):
        told = _Story(wants_colour(sys.stdout))
        told.write_specs()
        told.tell()
    if output is not None:
        told_of = f"{output}/{DEPLOY} and, as commits, in {output}/{REPO}"
        click.echo(f"\nThe specs are in {output}/{SPECS}, their output is in {told_of}.")


@contextmanager
def _folder(output: str | None) -> Iterator[None]:
    """Stand in the demo's folder: a new one that stays, or one that goes with the demo."""
    import tempfile

    from gati_gitops.errors import Refused

    here = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="gati-demo-") as temporary:
        folder = Path(output) if output is not None else Path(temporary)
        if output is not None and folder.exists() and (folder.is_file() or any(folder.iterdir())):
            raise Refused(f"{output} is not empty", remedy="name a new folder for the demo")
        folder.mkdir(parents=True, exist_ok=True)
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(here)


class _Story:
    """The steps, one after the other."""

    def __init__(self, colour: bool) -> None:
        self._colour = colour
        self._number = 0

    def write_specs(self) -> None:
        from gati_gitops.scaffold import demo_specs

        for folder in (SPECS, BEFORE):
            for path, content in demo_specs().items():
                file = Path(folder, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)

    def tell(self) -> None:
        self._specs()
        self._check_and_plan()
        self._compile()
        self._render()
        self._new_version()
        self._again()
        self._typo()
        self._publish()
        self._decide()
        self._watch()
        self._bad_release()
        self._leave()
        self._step("Your turn")
        self._command("gati-gitops init my-project")

    def _specs(self) -> None:
        self._step("Specs: what a team writes. Two handlers, a module, two environments")
        self._command(f"cat {SPECS}/shop/checkout.yaml")
        self._lines(Path(SPECS, "shop", "checkout.yaml").read_text().splitlines())

    def _check_and_plan(self) -> None:
        self._step("Validate: every problem at once")
        self._run("validate", SPECS)
        self._step("Plan: what the specs come to. 90 and 10 percent are how checkout begins")
        self._run("plan", SPECS)

    def _compile(self) -> None:
        self._step("Compile: a repository that Argo CD or Flux syncs")
        self._run("compile", SPECS, "--output", DEPLOY)
        self._line("")
        self._command(f"ls {OVERLAY}/handler-checkout")
        owners = {
            "kustomization.yaml": "which releases live here, and what prod changes in them",
            "monitoring.yaml": "what Prometheus scrapes",
            "network.yaml": "who may talk to the pods, and whom they may call",
            "rollout.yaml": "the ledger: phases and weights, by people and rollouts",
            "route.yaml": "weights and version pins",
            "scaling.yaml": "autoscalers and disruption budgets",
            "unit.yaml": "the plan, stored: rollouts need no specs",
        }
        for file in sorted(Path(OVERLAY, "handler-checkout").iterdir()):
            self._line(f"{file.name.ljust(20)}{self._paint('dim', owners.get(file.name, ''))}")

    def _render(self) -> None:
        self._step("Render: what kustomize build prints, in process. Here the split of the traffic")
        arguments = ("render", f"{OVERLAY}/handler-checkout")
        self._command(f"gati-gitops {' '.join(arguments)}")
        lines = _captured(arguments).splitlines()
        kinds = Counter(line.partition(": ")[2] for line in lines if line.startswith("kind: "))
        counted = ", ".join(f"{number} {kind}" for kind, number in kinds.items())
        told = textwrap.wrap(f"({len(lines)} lines: {counted}. The end of its route:)", 88)
        self._lines([self._paint("dim", line) for line in told])
        self._lines(_rule_with(lines, "name: split"))

    def _new_version(self) -> None:
        self._step("A new version: two lines change in a spec")
        self._edit(CART, ("v1.0.0", "v1.1.0"), ("cart:1.0.0", "cart:1.1.0"))
        self._line(self._paint("dim", "What would that change? (a pull request gets this)"))
        self._run("preview", "--base", BEFORE, "--head", SPECS, "--ledger", DEPLOY, expected=1)
        self._line("")
        before = _texts(Path(DEPLOY))
        self._run("compile", SPECS, "--output", DEPLOY)
        self._line("")
        self._say(
            "v1.1.0 is deployed beside v1.0.0, at weight 0: a weight never arrives together with",
            "what it leads to. v1.0.0 has left the specs, and goes on serving until the ledger",
            "says otherwise. In prod these lines change:",
        )
        self._line("")
        for name in ("rollout.yaml", "kustomization.yaml"):
            path = f"{OVERLAY}/handler-cart/{name}"
            self._diff(path, before[path], Path(path).read_text())
            self._line("")
        self._say("Only the ledger moves a weight. A compile never does.")

    def _again(self) -> None:
        self._step("Compile again: same input, same bytes")
        self._run("compile", SPECS, "--output", DEPLOY)

    def _typo(self) -> None:
        self._step("A mistake: file, line, and what to do. Nothing is written")
        right = Path(CART).read_text()
        self._edit(CART, ("replicas:", "replica:"))
        self._run("compile", SPECS, "--output", DEPLOY, expected=3)
        self._line(self._paint("dim", "(exit code 3)"))
        Path(CART).write_text(right)

    def _publish(self) -> None:
        from gati_gitops.repo.repository import create_repository

        inside = self._inside()
        self._step("Publish: the same as commits on a branch, one for each environment")
        create_repository(Path(REPO))
        self._run("publish", BEFORE, "--repo", REPO, *inside)
        self._line("")
        self._say("Then the new version of the cart is merged:")
        self._line("")
        self._run("publish", SPECS, "--repo", REPO, *inside)
        self._line("")
        self._say("The branch is exactly what the specs and its ledgers compile to:")
        self._line("")
        self._run("verify", SPECS, "--repo", REPO)

    def _decide(self) -> None:
        self._step("Decide: what a person says at three in the morning is a commit, too")
        reason = ("--reason", "'timeouts since the release'")
        self._run("reject", "shop/cart", "v1.1.0", "--env", "prod", "--repo", REPO, *reason)
        self._line("")
        self._run("status", "--repo", REPO, "--unit", "shop/cart")
        self._line("")
        self._say(
            "The next merge can't bring it back. Only a person, or other pods under a new id."
        )

    def _watch(self) -> None:
        self._step("Watch: the job looks at a cluster and its metrics, decides, and commits")
        self._say(
            "Here a recording stands for the cluster: 14 looks, a minute apart, in which checkout",
            "v2.1.0 answers well. The clock is the recording's.",
        )
        self._line("")
        self._replay("release.jsonl")
        self._line("")
        self._say("Each decision is a commit, with what it rests on:")
        self._line("")
        self._log()

    def _bad_release(self) -> None:
        self._step("A bad release: rolled back by itself, and never tried again")
        self._edit(CART, ("v1.1.0", "v1.2.0"), ("cart:1.1.0", "cart:1.2.0"))
        self._say("And the old checkout leaves the specs.")
        self._line("")
        from gati_gitops.scaffold import demo_checkout_alone

        Path(CHECKOUT).write_text(demo_checkout_alone())
        self._run("publish", SPECS, "--repo", REPO, *self._inside())
        self._line("")
        self._say("Now 30 % of the requests to cart v1.2.0 fail:")
        self._line("")
        self._replay("bad-release.jsonl")
        self._line("")
        self._log()

    def _leave(self) -> None:
        self._step("Leave: what nobody calls drains, parks and goes, in an hour of the recording")
        self._replay("quiet.jsonl")
        self._line("")
        self._run("status", "--repo", REPO, "--env", "prod")

    def _replay(self, name: str) -> None:
        from gati_gitops.scaffold import demo_looks

        Path(name).write_bytes(demo_looks(name))
        self._run(
            "reconcile", "--repo", REPO, "--env", "prod", "--replay", name,
            "--clocks", "clocks.json", "--quiet",
        )  # fmt: skip

    def _log(self) -> None:
        """The last commit as Git tells it, but for the ends of long lines."""
        from gati_gitops.repo.address import parse
        from gati_gitops.repo.commit import read_commit
        from gati_gitops.repo.repository import open_repository

        self._command(f"git -C {REPO} log -1 --format=%B")
        with open_repository(parse(REPO)) as repository:
            tip = repository.tip()
            message = read_commit(tip.objects, tip.commit).message
        self._lines([textwrap.shorten(line, 96, placeholder=" …") if len(line) > 96 else line
                     for line in message.rstrip().splitlines()])  # fmt: skip

    def _inside(self) -> tuple[str, ...]:
        """In a folder of somebody's own repository the demo's specs are files not yet committed."""
        from gati_gitops.repo.specs import specs_repository

        return ("--allow-dirty",) if specs_repository(SPECS) is not None else ()

    # -- how it is told ------------------------------------------------------------------------

    def _step(self, title: str) -> None:
        self._number += 1
        lead = "\n" if self._number > 1 else ""
        self._line(f"{lead}{self._paint('step', f'{self._number}. {title}')}\n")

    def _run(self, *arguments: str, expected: int = 0) -> None:
        """Show a command and run it; the story ends where it does not end as expected."""
        from gati_gitops.cli.main import run

        self._command(f"gati-gitops {' '.join(arguments)}")
        with _one_stream():
            code = run([argument.strip("'") for argument in arguments])
        if code != expected:
            raise click.exceptions.Exit(code or 1)

    def _edit(self, path: str, *changes: tuple[str, str]) -> None:
        old = new = Path(path).read_text()
        for before, after in changes:
            new = new.replace(before, after, 1)
        Path(path).write_text(new)
        self._diff(path, old, new)
        self._line("")

    def _diff(self, path: str, old: str, new: str) -> None:
        lines = old.splitlines(), new.splitlines()
        for row in list(difflib.unified_diff(*lines, path, path, lineterm="", n=1))[1:]:
            style = {"+": "add", "-": "remove", "@": "dim"}.get(row[0], "plain")
            self._line(self._paint("command" if row.startswith("+++") else style, row))

    def _command(self, text: str) -> None:
        self._line(self._paint("command", f"$ {text}"))

    def _say(self, *lines: str) -> None:
        self._lines(lines)

    def _lines(self, lines: Sequence[str]) -> None:
        for line in lines:
            self._line(line)

    def _line(self, text: str) -> None:
        click.echo(text, color=self._colour)

    def _paint(self, style: str, text: str) -> str:
        if not self._colour or style == "plain":
            return text
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


@contextmanager
def _one_stream() -> Iterator[None]:
    """Errors among the rest, in their place: a pipe would give them first or last."""
    errors, sys.stderr = sys.stderr, sys.stdout
    try:
        yield
    finally:
        sys.stderr = errors


def _captured(arguments: Sequence[str]) -> str:
    from gati_gitops.cli.main import run

    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with redirect_stdout(stream):
        code = run(arguments)
    if code:
        raise click.exceptions.Exit(code)
    return stream.buffer.getvalue().decode()


def _rule_with(lines: Sequence[str], mark: str) -> Sequence[str]:
    """The item of a route's rules that has a line in it."""
    at = next(number for number, line in enumerate(lines) if mark in line)
    begin = max(number for number in range(at + 1) if lines[number].startswith("  - "))
    ends = (number for number in range(at, len(lines)) if lines[number].startswith(("  - ", "---")))
    return lines[begin : next(ends, len(lines))]


def _texts(folder: Path) -> dict[str, str]:
    return {
        path.as_posix(): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()
    }
