"""What was seen of clusters, in a file: to look at it again, or where no cluster is.

Lines of JSON. A list says whether it was whole; what it lacked is lacking when it is read again,
too. Secrets are never recorded, so they are among what is not seen; other objects are kept as they
were, variables included, and only the owner may read the file.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TextIO

from gati_gitops.decide.drift.objects import MANAGED_BY, OURS, labels_of
from gati_gitops.decide.observation import Engine, Gap, Missing, Telemetry
from gati_gitops.errors import Misnamed, Outside, Place
from gati_gitops.observe.cluster_lists import Listed, Part
from gati_gitops.observe.recording import Replayed
from gati_gitops.observe.recording_codec import Shared, Tables, decoded, encoded
from gati_gitops.observe.wanted import MetricsSource, Telemetries, Wanted
from gati_gitops.output import UnitKey
from gati_gitops.plan.naming import MANAGER
from gati_gitops.preview.objects import identity
from gati_gitops.reconcile.drift.look import Object, Objects
from gati_gitops.reconcile.drift.run import EngineSource, Sight

FORMAT = 1
_KIND = "gati-gitops drift recording"
_ENGINES = Mapping[str, Engine | Missing]
_TELEMETRY = Mapping[str, Mapping[str, Telemetry | Missing]] | Missing
_UNREAD = Mapping[str, Missing]
_ALL = "*"
"""Where a list failed altogether."""
_SECRET = Missing(Gap.UNSUPPORTED, "Secrets are not recorded", "the recording")


# -- writing -------------------------------------------------------------------------------------


class Recorder:
    """Writes down what is seen through it; a context manager.

    An earlier recording is replaced, for this is one look; nothing else is.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._file: TextIO | None = None

    def __enter__(self) -> Self:
        _refuse_strange(Path(self._path))
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        except OSError as error:
            raise Outside(
                f"cannot write {self._path}: {error.strerror}", remedy="give another --record"
            ) from None
        self._file = os.fdopen(descriptor, "w", encoding="utf-8")
        self._file.write(json.dumps({"kind": _KIND, "format": FORMAT}) + "\n")
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def sight(self, cluster: str, sight: Sight) -> Sight:
        """The same sight, written down as it is used."""
        self.say(cluster, now=sight.now)
        objects = _Objects(self, cluster, sight.objects) if sight.objects is not None else None
        engine = _Engine(self, cluster, sight.engine) if sight.engine is not None else None
        metrics = _Metrics(self, cluster, sight.metrics) if sight.metrics is not None else None
        return Sight(objects, engine, metrics, sight.now)

    def say(self, cluster: str, **said: Any) -> None:
        line = json.dumps({"cluster": cluster, **said}, ensure_ascii=False)
        with self._lock:
            assert self._file is not None
            self._file.write(line + "\n")

    def tell(self, cluster: str, what: str, value: Any, declared: Any) -> None:
        """An observation."""
        tables = Tables()
        self.say(cluster, **{what: encoded(value, declared, tables)}, **tables.data())


def _refuse_strange(path: Path) -> None:
    """Leave alone what is no recording of drift. A device has nothing to lose."""
    try:
        if not path.is_file() or path.stat().st_size == 0:
            return
        with path.open("rb") as file:
            first = file.readline(1 << 16)
    except OSError as error:
        raise Outside(
            f"cannot write {path}: {error.strerror}", remedy="give another --record"
        ) from None
    try:
        head = json.loads(first)
    except (ValueError, RecursionError):
        head = None
    if not isinstance(head, dict) or head.get("kind") != _KIND:
        raise Misnamed(
            f"{path} is no recording of drift, and stays as it is",
            remedy="give --record a file that is not there yet, or one that drift has recorded",
        )


class _Objects:
    def __init__(self, recorder: Recorder, cluster: str, inner: Objects) -> None:
        self._recorder = recorder
        self._cluster = cluster
        self._inner = inner

    def lists(
        self, parts: Mapping[str, Part[Any]], namespaces: Iterable[str]
    ) -> Mapping[str, Listed[Any]]:
        def kept(part: Part[Any]) -> Part[Any]:
            def pick(item: Object) -> Any:
                if item.get("kind") != "Secret":
                    self._recorder.say(self._cluster, object=item)
                return part.pick(item)

            return replace(part, pick=pick)

        found = self._inner.lists({name: kept(part) for name, part in parts.items()}, namespaces)
        for name, listed in found.items():
            part = parts[name]
            gaps = {**listed.unread, **({_ALL: listed.failed} if listed.failed else {})}
            if part.kind == "Secret":
                gaps[_ALL] = _SECRET
            self._recorder.say(
                self._cluster,
                listed=[_group(part), part.kind],
                whole=listed.whole,
                unread=encoded(gaps, _UNREAD, Tables()),
            )
        return found

    def get(self, api_version: str, kind: str, name: str, namespace: str) -> Object | None:
        found = self._inner.get(api_version, kind, name, namespace)
        if found is not None and kind != "Secret":
            self._recorder.say(self._cluster, object=found)
        return found


class _Engine:
    def __init__(self, recorder: Recorder, cluster: str, inner: EngineSource) -> None:
        self._recorder = recorder
        self._cluster = cluster
        self._inner = inner

    def look(
        self, keys: Iterable[UnitKey], now: float
    ) -> Mapping[UnitKey, Engine | Missing] | Missing:
        wanted = list(keys)
        found = self._inner.look(wanted, now)
        states = dict.fromkeys(wanted, found) if isinstance(found, Missing) else found
        said = {"/".join(key): state for key, state in states.items()}
        self._recorder.tell(self._cluster, "engine", said, _ENGINES)
        return found


class _Metrics:
    def __init__(self, recorder: Recorder, cluster: str, inner: MetricsSource) -> None:
        self._recorder = recorder
        self._cluster = cluster
        self._inner = inner

    def look(self, wanted: Wanted) -> Telemetries | Missing:
        found = self._inner.look(wanted)
        said = found if isinstance(found, Missing) else {"/".join(k): v for k, v in found.items()}
        self._recorder.tell(self._cluster, "telemetry", said, _TELEMETRY)
        return found


# -- reading -------------------------------------------------------------------------------------


def read_recording(path: str) -> Callable[[str], Sight]:
    """What was recorded, by cluster. Raises Misnamed if it is no recording, or half of one."""
    found: dict[str, _Recorded] = {}
    try:
        with Path(path).open("rb") as file:
            head = json.loads(file.readline())
            if (head["kind"], head["format"]) != (_KIND, FORMAT):
                raise ValueError("another kind of file, or of another version")
            for number, line in enumerate(file, 2):
                _take(found, line, Place(path, number, 1))
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        why = getattr(error, "strerror", None) or "it is no recording of drift"
        raise Misnamed(
            f"cannot read {path}: {why}", remedy="give a file that drift --record wrote"
        ) from None

    def sight(cluster: str) -> Sight:
        recorded = found.get(cluster) or _Recorded()
        return Sight(recorded, recorded.engine, recorded.metrics, recorded.now)

    return sight


def _take(found: dict[str, _Recorded], line: bytes, place: Place) -> None:
    try:
        said = json.loads(line)
        found.setdefault(said["cluster"], _Recorded()).take(said)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise Misnamed(
            "the recording is damaged: this line can't be understood",
            remedy="record again with drift --record",
            place=place,
        ) from None


class _Recorded:
    """One cluster, as it was."""

    def __init__(self) -> None:
        self.now = 0.0
        self.engine: _SeenEngine | None = None
        self.metrics: Replayed[Mapping[str, Telemetry | Missing]] | None = None
        self._objects: dict[tuple[str, str, str, str], Object] = {}
        self._listed: dict[tuple[str, str], Listed[Any]] = {}

    def take(self, said: Mapping[str, Any]) -> None:
        if "now" in said:
            self.now = float(said["now"])
        elif "object" in said:
            item = said["object"]
            id = identity(item)
            self._objects[id.group, id.kind, id.namespace, id.name] = item
        elif "listed" in said:
            gaps = dict(decoded(said["unread"], _UNREAD, Shared(Tables().data())))
            failed = gaps.pop(_ALL, None)
            group, kind = said["listed"]
            self._listed[group, kind] = Listed((), said["whole"], gaps, failed)
        elif "engine" in said:
            states = decoded(said["engine"], _ENGINES, Shared(said))
            self.engine = _SeenEngine({_key(name): state for name, state in states.items()})
        elif "telemetry" in said:
            seen = decoded(said["telemetry"], _TELEMETRY, Shared(said))
            known = seen if isinstance(seen, Missing) else {_key(n): v for n, v in seen.items()}
            self.metrics = Replayed(known, {})

    def lists(
        self, parts: Mapping[str, Part[Any]], namespaces: Iterable[str]
    ) -> Mapping[str, Listed[Any]]:
        return {name: self._list(part) for name, part in parts.items()}

    def _list(self, part: Part[Any]) -> Listed[Any]:
        kind = (_group(part), part.kind)
        listed = self._listed.get(kind)
        if listed is None:
            why = f"{part.kind} is not in the recording"
            return Listed(failed=Missing(Gap.NO_DATA, why, "the recording"))
        items = [item for key, item in self._objects.items() if key[:2] == kind]
        if part.labels == OURS:
            items = [item for item in items if labels_of(item).get(MANAGED_BY) == MANAGER]
        kept = tuple(one for item in items if (one := part.pick(item)) is not None)
        return Listed(kept, listed.whole, listed.unread, listed.failed)

    def get(self, api_version: str, kind: str, name: str, namespace: str) -> Object | None:
        group = api_version.rpartition("/")[0]
        return self._objects.get((group, kind, namespace, name))


class _SeenEngine:
    def __init__(self, states: Mapping[UnitKey, Engine | Missing]) -> None:
        self._states = states

    def look(
        self, keys: Iterable[UnitKey], now: float
    ) -> Mapping[UnitKey, Engine | Missing] | Missing:
        unknown = Missing(Gap.NO_DATA, "it is not in the recording", "the recording")
        return {key: self._states.get(key, unknown) for key in keys}


def _group(part: Part[Any]) -> str:
    """The group of a kind; one that need not be there is asked for by its group alone."""
    return part.api_version if part.optional else part.api_version.rpartition("/")[0]


def _key(name: str) -> UnitKey:
    namespace, _, folder = name.partition("/")
    return namespace, folder
