"""``rollback --break-glass``: what moves the traffic by hand, for people, programs and shells.

It writes nothing and asks no cluster. What it reads may be a clone, a folder, or what an earlier
run kept while the server was still there; how old that is stands above everything else.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gati_gitops.cli.break_glass_words import Read, say
from gati_gitops.report.clean import safe

if TYPE_CHECKING:
    from gati_gitops.decide.break_glass import Procedure
    from gati_gitops.output import Output
    from gati_gitops.publish.places import Places
    from gati_gitops.repo.repository import Tip
    from gati_gitops.spec.sync import Sync

EXIT_REFUSED = 5


def say_how(
    options: dict[str, Any], version: str, contexts: tuple[str, ...], *, everywhere: bool
) -> int:
    """Print the procedure of each cluster; the exit code."""
    from gati_gitops.output import Output
    from gati_gitops.reconcile.drift.sights import hubs

    if not options["reason"].strip():
        raise click.UsageError("--reason is empty; say why, for whoever finds the route like that")
    if not everywhere and not options["env"]:
        raise click.UsageError("rollback wants --env NAME, or --all-environments")
    with ExitStack() as stack:
        read = _read(stack, options)
        output = Output(read.snapshot)
        found = _places(output)
        key = found.find(options["unit"])
        chosen = sorted(found.chosen(options["env"], options["cluster"]) & found.units[key])
        if not chosen:
            from gati_gitops.errors import Misnamed

            known = ", ".join(f"{env} on {cluster}" for env, cluster in sorted(found.units[key]))
            raise Misnamed(f"{options['unit']} is not there", remedy=f"it is in {known}")
        named = _contexts(
            [cluster for _, cluster in chosen],
            sorted(hubs(output, chosen)),
            contexts,
            script=options["format"] == "sh",
        )
        made = [_procedure(output, at, key, version, options, named) for at in chosen]
    say(made, read, options["format"])
    return EXIT_REFUSED if any(one.refused for one in made) else 0


def _procedure(
    output: Output,
    at: tuple[str, str],
    key: tuple[str, str],
    version: str,
    options: dict[str, Any],
    contexts: dict[str, str],
) -> Procedure:
    from gati_gitops.compiler.stored import stored_policy
    from gati_gitops.decide.break_glass.procedure import Contexts, Setting, break_glass
    from gati_gitops.errors import Refused
    from gati_gitops.ledger.decided import NoVersion
    from gati_gitops.reconcile.drift.sights import target_at

    env, cluster = at
    stored = output.unit(env, cluster, key)
    assert stored is not None
    target = target_at(output, env, cluster)
    hub = (target.here.hub or "") if target is not None else ""
    setting = Setting(
        stored_policy(output, env),
        output.keys(env, cluster),
        target,
        Contexts(contexts.get(cluster, ""), contexts.get(hub, "")),
        hub,
        _git(options, target.sync if target is not None else None),
    )
    try:
        return break_glass(stored, setting, version, options["reason"])
    except Refused as error:
        kind = type(error) if isinstance(error, NoVersion) else Refused
        raise kind(f"{env} on {cluster}: {error.message}", remedy=error.remedy) from error


def _git(options: dict[str, Any], sync: Sync | None) -> tuple[str, ...]:
    """How our verbs find the repository when it is back.

    What is read from this machine may be a copy, and a decision in a copy moves nothing: then it is
    the repository that the engine syncs.
    """
    from gati_gitops.repo.address import parse

    address = parse(options["repo"])
    folder = not address.is_remote and not _is_repository(Path(options["repo"]))
    branch = options["branch"]
    if address.is_remote:
        found = str(address)
    elif sync is not None:
        found = sync.repository
        branch = branch or (sync.branch if sync.branch != "main" else "")
    else:
        found = "URL" if folder else address.url
    root = options["root"] if not folder else ""
    named = (("--repo", found), ("--branch", branch), ("--root", root))
    return tuple(word for name, value in named if value for word in (name, value))


def _contexts(
    clusters: list[str], hubs: list[str], contexts: tuple[str, ...], *, script: bool
) -> dict[str, str]:
    """Contexts by cluster, hubs included; one without a cluster is for the only one there is.

    Nobody reads a command again before it runs, and one without a context runs wherever the shell
    happens to be. So no name is passed over, and where one of several clusters has a context, all
    have; in a script, hubs are among them.
    """
    found: dict[str, str] = {}
    known = list(dict.fromkeys((*clusters, *hubs)))
    for text in contexts:
        cluster, equals, context = text.partition("=")
        if not equals and len(clusters) == 1:
            cluster, context = clusters[0], text
        if cluster not in known:
            raise click.UsageError(
                f"--context {text} names none of {', '.join(known)}; write CLUSTER=NAME"
            )
        if not context:
            raise click.UsageError(f"--context {text} names no context of {cluster}")
        found[cluster] = context
    touched = known if script else clusters
    lacking = [name for name in touched if name not in found]
    if lacking and len(touched) > 1 and (script or found):
        raise click.UsageError(
            f"{', '.join(touched)} are several clusters; commands for them need a context for each:"
            f" --context {lacking[0]}=NAME, or narrow with --cluster"
        )
    return found


# -- reading -------------------------------------------------------------------------------------


def _read(stack: ExitStack, options: dict[str, Any]) -> Read:
    """What the options name: a folder, a repository, or what was kept of one."""
    from gati_gitops.errors import Outside
    from gati_gitops.repo.address import parse
    from gati_gitops.repo.credentials import credentials
    from gati_gitops.repo.exchange import Timeouts
    from gati_gitops.repo.failures import NoRepository
    from gati_gitops.repo.repository import open_repository

    repo, root = options["repo"], options["root"]
    address = parse(repo)
    folder = Path(repo) / (root or "")
    if (folder / "overlays").is_dir() and not _is_repository(Path(repo)):
        return _of_folder(folder)
    cache = Path(options["cache"]) if options["cache"] else None
    try:
        opened = open_repository(
            address,
            branch=options["branch"],
            credentials=credentials(address, os.environ),
            cache=cache,
            timeouts=Timeouts(connect=5, idle=10, total=60),  # somebody waits
        )
        return _of_tip(stack.enter_context(opened).tip(), root, str(address))
    except Outside as error:
        if isinstance(error, NoRepository):
            remedy = "give a clone, or a folder that holds a compiled output"
            raise Outside(error.message, remedy=remedy) from None
        if not address.is_remote:
            raise
        if cache is None:
            more = "or give a clone on this machine as --repo, or what was kept as --cache"
            raise Outside(
                error.message, remedy="; ".join(filter(None, (error.remedy, more)))
            ) from None
        from gati_gitops.repo.kept import kept_tip

        kept = kept_tip(address, cache, options["branch"])
        click.echo(safe(f"{error.message}; what was kept in {cache} is used"), err=True)
        return _of_tip(kept.tip, root, f"{cache}, a copy of {address}", kept.seen)


def _of_tip(tip: Tip, root: str | None, words: str, seen: float = 0.0) -> Read:
    from gati_gitops.publish.places import find_root

    snapshot = tip.snapshot(find_root(tip, root))
    return Read(snapshot, f"{words}, branch {tip.branch}", tip.time, seen, tip.commit)


def _of_folder(folder: Path) -> Read:
    from gati_gitops.disk.snapshot import DiskSnapshot

    newest = max(
        (path.stat().st_mtime for path in (folder / "overlays").rglob("rollout.yaml")), default=0.0
    )
    return Read(DiskSnapshot(folder), f"the folder {folder}", newest)


def _is_repository(path: Path) -> bool:
    return (path / ".git").exists() or (path / "objects").is_dir()


def _places(output: Output) -> Places:
    from gati_gitops.publish.places import Places

    units: dict[tuple[str, str], set[tuple[str, str]]] = {}
    environments: dict[str, set[str]] = {}
    for env, cluster in output.clusters():
        environments.setdefault(env, set()).add(cluster)
        for key in output.keys(env, cluster):
            units.setdefault(key, set()).add((env, cluster))
    return Places(
        {key: frozenset(at) for key, at in units.items()},
        {env: frozenset(clusters) for env, clusters in environments.items()},
    )
