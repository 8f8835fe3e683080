"""Telling the sync engine that there is a new commit, so that a rollback need not wait for a poll.

A nudge is a courtesy. Without it the engine comes by itself, so a nudge that fails is a note in the
pass's report and nothing else; and it names a commit, never what is to be done.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from urllib.parse import urlsplit

from gati_gitops.decide.observation import Missing
from gati_gitops.emit.engines.flux import source_name
from gati_gitops.errors import GatiError
from gati_gitops.observe.engines import Engines
from gati_gitops.observe.engines_argocd import API as ARGOCD
from gati_gitops.observe.engines_flux import SOURCE_API as FLUX
from gati_gitops.output import UnitKey
from gati_gitops.web.connect import Limits
from gati_gitops.web.secret import secret_of

REFRESH = "argocd.argoproj.io/refresh"
REQUESTED = "reconcile.fluxcd.io/requestedAt"
SECRET = "GATI_NUDGE_SECRET"  # noqa: S105 - the name of a variable
_LIMITS = Limits(connect=5, read=10, answer=15, attempts=1, patience=15)
_ANSWER = 1 << 20


def nudge(
    engines: Engines,
    keys: Iterable[UnitKey],
    commit: str,
    *,
    now: float,
    environ: Mapping[str, str],
) -> tuple[str, ...]:
    """Tell the engine of a cluster that units of it have changed; notes about what failed."""
    here = engines.target.here
    try:
        if here.nudge == "annotation":
            return _annotate(engines, keys, now)
        if here.nudge == "webhook" and here.nudge_url is not None:
            _call(engines, here.nudge_url, commit, environ)
    except GatiError as error:
        return (f"{engines.target.cluster}: the engine was not told: {error.message}",)
    return ()


def _annotate(engines: Engines, keys: Iterable[UnitKey], now: float) -> tuple[str, ...]:
    target = engines.target
    kube = engines.kube
    if isinstance(kube, Missing):
        return (f"{target.cluster}: the engine was not told: {kube.why}",)
    if engines.engine == "flux":
        # what syncs folders follows the repository by itself
        at = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds")
        change = {"metadata": {"annotations": {REQUESTED: at}}}
        name = source_name(target)
        kube.patch(FLUX, "GitRepository", name, target.sync.flux.namespace, change)
        return ()
    change = {"metadata": {"annotations": {REFRESH: "normal"}}}
    names = sorted({root.name for key in keys if (root := engines.root(key)) is not None})
    notes = []
    for name in names:
        try:
            kube.patch(ARGOCD, "Application", name, target.sync.argocd.namespace, change)
        except GatiError as error:
            notes.append(f"{target.cluster}: {name} was not told: {error.message}")
    return tuple(notes)


def _call(engines: Engines, url: str, commit: str, environ: Mapping[str, str]) -> None:
    """A push as GitHub tells of it: Argo CD and Flux's receivers both understand that."""
    import urllib3

    from gati_gitops.errors import Outside
    from gati_gitops.web.connect import connections
    from gati_gitops.web.read import whole

    sync = engines.target.sync
    body = json.dumps(
        {
            "ref": f"refs/heads/{sync.branch}",
            "after": commit,
            "repository": {
                "html_url": sync.repository.removesuffix(".git"),
                "clone_url": sync.repository,
                "default_branch": sync.branch,
            },
            "commits": [],
        },
        sort_keys=True,
    ).encode()
    headers = {"Content-Type": "application/json", "X-GitHub-Event": "push"}
    secret, _ = secret_of(environ, (SECRET,))
    if secret:
        signed = hmac.new(secret.reveal().encode(), body, hashlib.sha256).hexdigest()
        headers |= {"X-Hub-Signature-256": f"sha256={signed}", "X-Signature": f"sha256={signed}"}
    parts = urlsplit(url)
    pool = connections(parts.scheme, parts.hostname or "", environ, _LIMITS)
    try:
        response = pool.request(
            "POST",
            url,
            body=body,
            headers=headers,
            retries=False,
            redirect=False,
            preload_content=False,
        )
        try:
            whole(response, _ANSWER, _LIMITS.answer)
        finally:
            response.release_conn()
    except urllib3.exceptions.HTTPError as error:
        raise Outside(f"{parts.hostname} could not be called: {type(error).__name__}") from None
    finally:
        pool.clear()
    if response.status >= 300:
        raise Outside(f"{parts.hostname} answered {response.status}")
