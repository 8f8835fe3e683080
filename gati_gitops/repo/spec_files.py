"""The spec files of a Git tree."""

from __future__ import annotations

from collections.abc import Iterator

from gati_gitops.errors import Place, Refused
from gati_gitops.repo.objects import FOLDER, LINK, SUBMODULE, Entry
from gati_gitops.repo.trees import GitSnapshot
from gati_gitops.spec.files import is_entered, is_skipped, is_spec
from gati_gitops.tree import shown

_MOST_LINKS = 40  # as Linux follows


def is_plain(entry: Entry) -> bool:
    """Whether an entry of a tree is a regular file."""
    return entry[0] not in (FOLDER, LINK, SUBMODULE)


def spec_entries(snapshot: GitSnapshot, where: str) -> dict[str, Entry]:
    """The specs in a folder, by their names in it; of a file, the file itself."""
    top = snapshot.entry(where)
    if top is None:
        return {}
    if top[0] != FOLDER:
        return {where.rpartition("/")[2]: top} if is_plain(top) else {}
    found: dict[str, Entry] = {}
    links: list[str] = []
    for name, entry in _walk(snapshot, where, ""):
        if entry[0] == LINK:
            links.append(name)
        elif entry[0] == SUBMODULE:
            raise Refused(
                f"{shown(name)} is a submodule; its specs are not in this repository's commits",
                remedy="move the specs into the repository, or publish them from their own",
                place=Place(shown(name)),
            )
        elif is_spec(name):
            found[name] = entry
    for name in links:
        target = _follow(snapshot, where, name)
        if is_spec(name) and target not in found and not _is_folder(snapshot, where, target):
            # Left out, it would look like a spec that was deleted.
            raise _bad_link(name, "to something that is no spec of this commit")
    return found


def _walk(snapshot: GitSnapshot, where: str, folder: str) -> Iterator[tuple[str, Entry]]:
    for name, entry in snapshot.folder(_join(where, folder)).items():
        path = _join(folder, name)
        if entry[0] == FOLDER:
            if is_entered(path):
                yield from _walk(snapshot, where, path)
        elif not is_skipped(path):
            yield path, entry


def _follow(snapshot: GitSnapshot, where: str, name: str) -> str:
    """Where a link leads, from the folder of the specs; refused if that is outside of it."""
    done: list[str] = []
    waiting = _join(where, name).split("/")[::-1]
    links = 0
    while waiting:
        part = waiting.pop()
        if part in ("", "."):
            continue
        if part == "..":
            if not done:
                raise _bad_link(name, "that leads out of the specs")
            done.pop()
            continue
        target = snapshot.link("/".join((*done, part)))
        if target is None:
            done.append(part)
            continue
        links += 1
        if target.startswith("/"):
            raise _bad_link(name, "that leads out of the specs")
        if links > _MOST_LINKS:
            raise _bad_link(name, "that leads in a circle")
        waiting += target.split("/")[::-1]
    path = "/".join(done)
    if where and path != where and not path.startswith(f"{where}/"):
        raise _bad_link(name, "that leads out of the specs")
    return path[len(where) + 1 :] if where else path


def _is_folder(snapshot: GitSnapshot, where: str, path: str) -> bool:
    entry = snapshot.entry(_join(where, path))
    return entry is not None and entry[0] == FOLDER


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder and name else folder or name


def _bad_link(name: str, what: str) -> Refused:
    return Refused(
        f"{shown(name)} is a symbolic link {what}",
        remedy="commit a file in its place, or remove the link",
        place=Place(shown(name)),
    )
