"""The objects of a folder that we wrote, without building it.

Our kustomizations name files and release folders, patch objects by their full name and set
images; they rename nothing. So what is built can be read off the files, at a small part of what a
build costs. A folder that says anything else was edited by hand, and is built.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from gati_gitops.render import FileSystem, RenderError, render
from gati_gitops.tree import Changes, Snapshot

Fingerprints = dict["ObjectId", tuple[str, ...]]
"""What an object is made from: two that are made from the same are the same."""

_KEY = re.compile(r"^(\w+):(.*)$", re.MULTILINE)
_OURS = frozenset(("apiVersion", "kind", "resources", "patches", "images"))
_ITEM = re.compile(r"^- (.+)$", re.MULTILINE)
_API_VERSION = re.compile(r"^apiVersion: (.+)$", re.MULTILINE)
_KIND = re.compile(r"^kind: (.+)$", re.MULTILINE)
_METADATA = re.compile(r"^metadata:((?:\n(?:  .*)?)+)", re.MULTILINE)
_NAME = re.compile(r"^  name: (.+)$", re.MULTILINE)
# As almost every document of ours begins.
_USUAL = re.compile(
    r"apiVersion: (?:([a-z0-9.-]+)/)?[a-z0-9]+\nkind: (\w+)\nmetadata:"
    r"\n  name: ([a-z][a-z0-9.-]*)\n  namespace: ([a-z][a-z0-9-]*)\n"
)
_WHOLE = re.compile(r"^\$patch: (.+)$", re.MULTILINE)
_NAMESPACE = re.compile(r"^  namespace: (.+)$", re.MULTILINE)


class ObjectId(NamedTuple):
    """What no two objects of a cluster share."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        where = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind} {where}{self.name}"


class Overlaid:
    """Files as they are once changes have been written over a snapshot."""

    def __init__(self, before: Snapshot, changes: Changes | None = None) -> None:
        self._before = before
        self._changes = changes or {}

    def read(self, path: str) -> bytes | None:
        if path in self._changes:
            return self._changes[path]
        return self._before.read(path)

    def is_file(self, path: str) -> bool:
        return self.read(path) is not None

    def is_dir(self, path: str) -> bool:
        if self.is_file(f"{path}/kustomization.yaml"):
            return True
        standing = (p for p in self._before.paths(path) if self._changes.get(p, b"") is not None)
        new = (p for p, c in self._changes.items() if c is not None and p.startswith(f"{path}/"))
        return next(standing, None) is not None or next(new, None) is not None

    def real(self, path: str) -> str:
        return path


class Unusual(Exception):
    """A folder says something that we never write."""


def objects_in(files: FileSystem, folder: str) -> Fingerprints:
    """Every object that a folder builds; none if it is not there."""
    if files.read(f"{folder}/kustomization.yaml") is None:
        return {}
    try:
        return _read_off(files, folder)
    except Unusual:
        return built(files, folder)


def objects_of(files: FileSystem, folder: str, names: AbstractSet[str]) -> Fingerprints | None:
    """Those that some files of a folder bring; None if that can't be told by these alone."""
    try:
        sections = _sections(_text(files, f"{folder}/kustomization.yaml"))
        brought = names & set(_items(sections.get("resources", "")))
        found: Fingerprints = {}
        for name in brought:
            found |= {key: (text,) for key, text in _documents(_text(files, f"{folder}/{name}"))}
        patched = {_identity(patch) for patch in _patches(sections.get("patches", ""))}
        pulls = sections.get("images") and any("image: " in text for (text,) in found.values())
    except Unusual:
        return None
    return None if pulls or patched & found.keys() else found


def built(files: FileSystem, folder: str) -> Fingerprints:
    """The same by building it; none if that can't be done."""
    try:
        resources = render(files, folder).resources
    except RenderError:
        return {}  # nothing can be applied from it, so nothing can be lost with it
    found: Fingerprints = {}
    for item in resources:
        group, slash, _ = item.api_version.rpartition("/")
        key = ObjectId(group if slash else "", item.kind, item.namespace, item.name)
        found[key] = (item.text(),)
    return found


def _read_off(files: FileSystem, folder: str) -> Fingerprints:
    found: Fingerprints = {}
    sections = _sections(_text(files, f"{folder}/kustomization.yaml"))
    for name in _items(sections.get("resources", "")):
        path = posixpath.normpath(f"{folder}/{name}")
        if not name.endswith(".yaml"):
            parts = objects_in(files, path)
        else:
            parts = {key: (text,) for key, text in _documents(_text(files, path))}
        if not parts and not files.is_file(path):
            raise Unusual
        found |= parts
    for patch in _patches(sections.get("patches", "")):
        key = _identity(patch)
        whole = _WHOLE.search(patch)
        if key not in found or (whole and whole[1] != "delete"):
            raise Unusual
        found[key] = (*found[key], patch)
        if whole:
            del found[key]
    images = sections.get("images", "").strip()
    if images:
        return {
            key: (*made, images) if "image: " in made[0] else made for key, made in found.items()
        }
    return found


def _text(files: FileSystem, path: str) -> str:
    content = files.read(path)
    if content is None:
        raise Unusual
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise Unusual from error


def _sections(text: str) -> dict[str, str]:
    """What stands under each key of a kustomization."""
    marks = list(_KEY.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    found = {mark[1]: text[mark.start(2) : end] for mark, end in zip(marks, ends, strict=True)}
    if not found.keys() <= _OURS or len(found) != len(marks):
        raise Unusual
    return found


def _items(section: str) -> Iterator[str]:
    lines = section.strip("\n").split("\n") if section.strip() not in ("", "[]") else []
    for line in lines:
        item = _ITEM.fullmatch(line)
        if item is None:
            raise Unusual
        yield _plain(item[1])


def _patches(section: str) -> Iterator[str]:
    for item in section.split("\n- ")[1:]:
        head, _, body = item.partition("\n")
        if head != "patch: |":
            raise Unusual
        yield "\n".join(line.removeprefix("    ") for line in body.split("\n")) + "\n"


def _documents(text: str) -> Iterator[tuple[ObjectId, str]]:
    if text.startswith("#"):  # the first line, which says where the file came from
        text = text.partition("\n")[2]
    for document in text.split("\n---\n"):
        yield _identity(document), document.strip("\n")


def _identity(document: str) -> ObjectId:
    usual = _USUAL.match(document)
    if usual is not None:
        return ObjectId(usual[1] or "", usual[2], usual[4], usual[3])
    api_version, kind = _API_VERSION.search(document), _KIND.search(document)
    metadata = _METADATA.search(document)
    name = _NAME.search(metadata[1]) if metadata else None
    if api_version is None or kind is None or metadata is None or name is None:
        raise Unusual
    namespace = _NAMESPACE.search(metadata[1])
    group, slash, _ = _plain(api_version[1]).rpartition("/")
    return ObjectId(
        group if slash else "",
        _plain(kind[1]),
        _plain(namespace[1]) if namespace else "",
        _plain(name[1]),
    )


def _plain(text: str) -> str:
    quoted = len(text) > 1 and text[0] == text[-1] == '"'
    if quoted:
        text = text[1:-1]
    if "\\" in text or (not quoted and text[:1] in "'{[&*!|>"):
        raise Unusual
    return text
