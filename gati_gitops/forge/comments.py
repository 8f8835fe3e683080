"""What the forges do alike: the one comment of ours, and who was asked already."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gati_gitops.forge.http import Http
from gati_gitops.forge.model import ForgeError
from gati_gitops.forge.text import fit, same


def keep_comment(
    http: Http,
    path: str,
    address: Callable[[Any], str],
    method: str,
    mark: str,
    body: str,
    limit: int,
) -> None:
    """Write the comment that begins with a mark, or put the one that is there right.

    A comment that merely quotes the mark, or that belongs to somebody whose words we may not
    change, is not ours.
    """
    wanted = fit(f"{mark}\n{body}", limit)
    for comment in list(http.pages(path, "list comments", per_page=100)):
        text = comment.get("body") or ""
        if not text.lstrip().startswith(mark):
            continue
        if same(text, wanted):
            return
        try:
            http.send(method, address(comment), "update our comment", {"body": wanted})
        except ForgeError as error:
            if error.status not in (403, 404):
                raise
            continue
        return
    http.send("POST", path, "comment", {"body": wanted})


def was_asked(reviewer: str, known: Iterable[str]) -> bool:
    """Names of people and teams are the same in any case."""
    return reviewer.lower() in {name.lower() for name in known}
