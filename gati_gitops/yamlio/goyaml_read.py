"""Reading YAML the way kustomize does.

`read_resources` is how kustomize reads manifests and patches (go-yaml v3 behind kyaml's reader),
and `read_config` is how it reads a kustomization or a JSON patch (go-yaml v2, on its way to
JSON). Both try the fast reader first and fall back on libyaml's events: Go's libraries are ports
of libyaml, so the two agree on what the text says, and what each scalar means is decided by our
own rules.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import Any, Final

from gati_gitops.yamlio.goyaml_fast import config_row, read_block_style
from gati_gitops.yamlio.goyaml_patterns import Documents
from gati_gitops.yamlio.goyaml_scalars import (
    BLANK,
    Odd,
    Quoted,
    go_float,
    is_null,
    resolve,
    resolve_config,
)

_SEPARATOR: Final = re.compile(r"\n---.*\n")
_COMMENT: Final = re.compile(r"#[#\s]*(\{.*)")
_STR_TAG: Final = "tag:yaml.org,2002:str"
_COLLECTION_TAGS: Final = (None, "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
_MERGE: Final = object()
_COPIED_NODES: Final = 1_000_000


class GoYamlError(ValueError):
    """The text is no YAML that kustomize could read, or needs what we do not support."""

    def __init__(self, message: str, line: int = 0, *, unsupported: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.unsupported = unsupported


def decode(data: bytes) -> str:
    """The text of a file."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise GoYamlError("UTF-16 is not supported; save the file as UTF-8", unsupported=True)
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise GoYamlError("the file is not UTF-8", line) from error


def read_resources(text: str) -> Documents:
    """The documents of a manifest or patch; empty ones are left out."""
    if "\r\n" in text:
        text = text.replace("\r\n", "\n")
    documents = read_block_style(text)
    if documents is None:
        documents = _read_slowly(text)
    return _unwrap(documents)


def read_config(text: str) -> Any:
    """The first document, as it would look after a trip through JSON."""
    documents = read_block_style(text, config_row)
    if documents is not None and len(documents) < 2:
        return documents[0] if documents else None
    builder = _Builder(text, 0, config=True)
    return builder.document()


def _read_slowly(text: str) -> Documents:
    documents = Documents()
    documents.blank = True  # perhaps
    line = 0
    for chunk in _split(text):
        value = _Builder(chunk, line, config=False).document()
        if not is_null(value):
            documents.append(value)
        line += chunk.count("\n") + 1
    return documents


def _split(text: str) -> Iterator[str]:
    start = 0
    for match in _SEPARATOR.finditer(text):
        rest = match[0][4:].strip()
        if rest and not rest.startswith("#"):
            line = text.count("\n", 0, match.start()) + 2
            raise GoYamlError(f"invalid document separator: {match[0].strip()}", line)
        yield text[start : match.start()] + "\n"
        start = match.end()
    yield text[start:]


def _unwrap(documents: Documents) -> Documents:
    """A lone List or ResourceList stands for its items."""
    if len(documents) != 1 or not isinstance(documents[0], dict):
        return documents
    only = documents[0]
    if only.get("kind") not in ("List", "ResourceList"):
        return documents
    if "items" not in only and "functionConfig" not in only:
        return documents
    items = only.get("items")
    unwrapped = Documents(items if isinstance(items, list) else ())
    unwrapped.blank = documents.blank
    return unwrapped


def steering_comment(text: str) -> str:
    """A comment in which kustomize would look for a schema, or nothing."""
    for match in _COMMENT.finditer(text):
        try:
            if isinstance(json.loads(match[1]), dict):
                return match[0]
        except ValueError:
            continue
    return ""


class _Builder:
    """Events of one document to values."""

    def __init__(self, text: str, first_line: int, *, config: bool) -> None:
        self.text = text
        self.first_line = first_line
        self.config = config
        self.anchors: dict[str, Any] = {}
        self.copied = 0
        self.flow = 0

    def document(self) -> Any:
        import yaml

        if not self.config and (comment := steering_comment(self.text)):
            raise GoYamlError(
                f"a comment that steers merging is not supported: {comment}", unsupported=True
            )
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            self.events = yaml.parse(self.text, Loader=loader)
            next(self.events)  # stream start
            if isinstance(next(self.events), yaml.StreamEndEvent):
                return None if self.config else BLANK
            return self._node(next(self.events), depth=0)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            line = self.first_line + mark.line + 1 if mark else 0
            problem = getattr(error, "problem", None) or str(error)
            raise GoYamlError(str(problem), line) from error
        except RecursionError as error:
            raise GoYamlError("nested too deeply", unsupported=True) from error

    def _line(self, event: Any) -> int:
        return self.first_line + int(event.start_mark.line) + 1

    def _node(self, event: Any, depth: int) -> Any:
        import yaml

        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self.anchors:
                raise GoYamlError(f"unknown anchor '{event.anchor}' referenced", self._line(event))
            return self._copy(self.anchors[event.anchor], event)
        if isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event)
        elif isinstance(event, yaml.MappingStartEvent):
            value = self._mapping(event, depth)
        else:
            value = self._sequence(event, depth)
        if event.anchor is not None:
            self.anchors[event.anchor] = value
        return value

    def _copy(self, value: Any, event: Any) -> Any:
        self.copied += _size(value)
        if self.copied > _COPIED_NODES:
            raise GoYamlError("too many aliases", self._line(event), unsupported=True)
        return copy.deepcopy(value)

    def _scalar(self, event: Any) -> Any:
        if event.tag is not None:
            if event.tag != _STR_TAG:
                raise GoYamlError(
                    f"the tag {event.tag} is not supported", self._line(event), unsupported=True
                )
            return str(event.value) if self.config else Quoted(event.value)
        if not event.implicit[0]:
            return str(event.value) if self.config else Quoted(event.value)
        if event.value == "<<":
            return _MERGE
        if self.config:
            return resolve_config(event.value)
        value = resolve(event.value)
        if self.flow and (value is BLANK or (isinstance(value, Odd) and ":" in event.value)):
            # In [] and {} kustomize writes these in quotes halfway, and reads them back as strings.
            raise GoYamlError(
                "an empty value or a time inside of [] or {} is not supported: quote it",
                self._line(event),
                unsupported=True,
            )
        return value

    def _sequence(self, event: Any, depth: int) -> list[Any]:
        import yaml

        self._check_tag(event)
        items = []
        flow = bool(event.flow_style)
        self.flow += flow
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            item = self._node(event, depth + 1)
            items.append("<<" if item is _MERGE else item)
        self.flow -= flow
        return items

    def _mapping(self, event: Any, depth: int) -> dict[str, Any]:
        import yaml

        self._check_tag(event)
        result: dict[str, Any] = {}
        merges: list[dict[str, Any]] | None = None
        flow = bool(event.flow_style)
        self.flow += flow
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key = self._node(event, depth + 1)
            value = self._node(next(self.events), depth + 1)
            value = "<<" if value is _MERGE else value
            if key is _MERGE:
                if merges is not None and not self.config:
                    raise GoYamlError("duplicate merge key", self._line(event))
                merges = self._merged(value, event)
                if self.config:
                    for source in merges:
                        result.update(source)
                continue
            name = self._key(key, event, depth)
            if name in result and not self.config:
                raise GoYamlError(
                    f"mapping key {name!r} already defined", self._line(event), unsupported=True
                )
            result[name] = value
        self.flow -= flow
        if merges and not self.config:
            for source in reversed(merges):
                for name, value in source.items():
                    result.setdefault(name, value)
        return result

    def _merged(self, value: Any, event: Any) -> list[dict[str, Any]]:
        sources = [value] if isinstance(value, dict) else value
        if not isinstance(sources, list) or not all(isinstance(s, dict) for s in sources):
            raise GoYamlError("map merge requires map or sequence of maps", self._line(event))
        return sources[::-1]

    def _key(self, key: Any, event: Any, depth: int) -> str:
        if isinstance(key, str):
            return str(key)
        if isinstance(key, (dict, list)) or is_null(key):
            raise GoYamlError("a mapping key must be a string", self._line(event))
        if self.config:
            if isinstance(key, float):
                return go_float(key)
            return str(key).lower() if isinstance(key, bool) else str(key)
        if depth:
            raise GoYamlError("a mapping key must be a string: quote it", self._line(event))
        return str(event.value)

    def _check_tag(self, event: Any) -> None:
        if event.tag not in _COLLECTION_TAGS:
            raise GoYamlError(
                f"the tag {event.tag} is not supported", self._line(event), unsupported=True
            )


def _size(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + sum(_size(item) for item in value.values())
    if isinstance(value, list):
        return 1 + sum(_size(item) for item in value)
    return 1


def from_json(value: Any) -> Any:
    """A JSON value as kustomize reads it back from JSON text, where every string is quoted."""
    if isinstance(value, dict):
        return {key: from_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if isinstance(value, str):
        return Quoted(value)
    return Odd(go_float(value), "float", value) if isinstance(value, float) else value
