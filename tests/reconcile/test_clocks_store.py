"""Clocks between two passes: kept, found again, and begun anew when they are lost."""

from __future__ import annotations

import base64
import gzip
import json
from copy import deepcopy

import pytest

from gati_gitops.decide.clocks import Tally, UnitClock, VersionClock
from gati_gitops.errors import Misnamed, Outside
from gati_gitops.observe.kube_errors import KubeConflict, KubeError
from gati_gitops.reconcile.clocks_store import (
    KEY,
    LIMIT,
    ConfigMapClocks,
    FileClocks,
    MemoryClocks,
)

WHERE = ("prod", "east", ("shop", "handler-users"))
OTHER = ("prod", "east", ("shop", "handler-carts"))
CLOCK = UnitClock("7 abc", {"v1@d": VersionClock(shown=5.0, tally=Tally(until=9.0, requests=3))})
CLOCKS = {WHERE: CLOCK}


class Api:
    """ConfigMaps of an API server that compares versions, as a real one does."""

    def __init__(self) -> None:
        self.items: dict[str, dict] = {}
        self.fails: KubeError | None = None
        self.writes = 0

    def get(self, _version, _kind, name, namespace):
        if self.fails:
            raise self.fails
        return deepcopy(self.items.get(f"{namespace}/{name}"))

    def create(self, item):
        key = f"{item['metadata']['namespace']}/{item['metadata']['name']}"
        if key in self.items:
            raise KubeConflict("it exists", status=409)
        return self._put(key, item)

    def replace(self, item):
        key = f"{item['metadata']['namespace']}/{item['metadata']['name']}"
        there = self.items[key]["metadata"]["resourceVersion"]
        if item["metadata"]["resourceVersion"] != there:
            raise KubeConflict("it has changed", status=409)
        return self._put(key, item)

    def _put(self, key, item):
        self.writes += 1
        stored = deepcopy(item)
        stored["metadata"]["resourceVersion"] = str(self.writes)
        self.items[key] = stored
        return deepcopy(stored)


@pytest.fixture(params=["file", "configmap", "memory"])
def store(request, tmp_path):
    if request.param == "file":
        return FileClocks(tmp_path / "clocks.json")
    if request.param == "configmap":
        return ConfigMapClocks(Api(), "gati-system", "clocks")
    return MemoryClocks()


def test_what_is_kept_is_found_again(store):
    assert store.read().clocks == {}
    store.write(CLOCKS)
    found = store.read()
    assert (found.clocks, found.lost) == (CLOCKS, "")
    store.write({})
    assert store.read().clocks == {}


def test_units_of_which_nothing_is_remembered_take_no_room(tmp_path):
    path = tmp_path / "clocks.json"
    FileClocks(path).write({WHERE: CLOCK, OTHER: UnitClock()})
    assert list(json.loads(path.read_bytes())["units"]) == ["prod/east/shop/handler-users"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"\0\0\0\0",
        b"{",
        b'{"form',
        b'{"format":1,"un',
        b'{"format":1,"units":{"prod/east/shop/handler-users":{"ver',
        b'{"format":2,"units":{"prod/ea',
        b'{"format":1,"units":{\xff',
        b"{}",
        b'{"format": 99, "units": {}}',
        b'{"format": 1, "units": {"a": {}}}',
        b'{"format": 1, "units": []}',
    ],
)
def test_a_broken_file_begins_anew_and_says_so(tmp_path, content):
    path = tmp_path / "clocks.json"
    path.write_bytes(content)
    store = FileClocks(path)
    store.check()
    found = store.read()
    assert found.clocks == {} and str(path) in found.lost
    store.write(CLOCKS)
    assert store.read().clocks == CLOCKS


@pytest.mark.parametrize(
    "content",
    [
        b"apiVersion: gati.dev/v1alpha1\n",
        b"hello",
        b"[]",
        b"3",
        b"\xff",
        b'{"kind": "gati-gitops recording", "format": 1, "by": "0.1.0"}\n',
        b'{"format": 1, "branch": "main", "rows": []}',
        b'{"format": 1,',
    ],
)
def test_what_never_was_ours_stays_as_it_is(tmp_path, content):
    path = tmp_path / "theirs"
    path.write_bytes(content)
    store = FileClocks(path)
    with pytest.raises(Misnamed, match="no file of clocks") as error:
        store.check()
    assert error.value.remedy
    # and one that turns up later costs the clocks, not the pass
    assert "no file of clocks" in store.read().lost
    with pytest.raises(Outside, match="no file of clocks"):
        store.write(CLOCKS)
    assert path.read_bytes() == content
    path.unlink()
    assert store.read().lost == ""
    store.write(CLOCKS)
    assert store.read().clocks == CLOCKS


def test_what_breaks_where_clocks_were_kept_is_ours(tmp_path):
    """A job that goes on does not lose its clocks for good over a disk that failed once."""
    path = tmp_path / "clocks.json"
    store = FileClocks(path)
    store.write(CLOCKS)
    path.write_bytes(b"\xff no clocks")
    assert "is broken" in store.read().lost
    store.write(CLOCKS)
    assert store.read().clocks == CLOCKS


def test_clocks_are_not_kept_in_a_folder(tmp_path):
    with pytest.raises(Misnamed, match="is a folder"):
        FileClocks(tmp_path).check()


def test_a_clock_that_is_not_understood_is_that_one_alone(tmp_path):
    path = tmp_path / "clocks.json"
    store = FileClocks(path)
    store.write({WHERE: CLOCK, OTHER: CLOCK})
    data = json.loads(path.read_bytes())
    data["units"]["prod/east/shop/handler-carts"] = {"versions": 3}
    path.write_text(json.dumps(data))
    assert store.read().clocks == {WHERE: CLOCK, OTHER: UnitClock()}


def test_the_same_clocks_are_not_written_again(tmp_path):
    path = tmp_path / "clocks.json"
    store = FileClocks(path)
    store.write(CLOCKS)
    before = path.stat().st_mtime_ns, path.stat().st_ino
    store.write(dict(CLOCKS))
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == before
    api = Api()
    kept = ConfigMapClocks(api, "gati-system", "clocks")
    kept.read()
    kept.write(CLOCKS)
    kept.write(CLOCKS)
    kept.read()
    kept.write(CLOCKS)
    assert api.writes == 1


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    store = FileClocks(tmp_path / "nowhere" / "clocks.json")
    with pytest.raises(Outside, match="clocks cannot be kept") as error:
        store.write(CLOCKS)
    assert "--clocks" in error.value.remedy
    assert list(tmp_path.iterdir()) == []


def test_a_config_map_keeps_what_others_wrote_on_it():
    api = Api()
    head = {"name": "clocks", "namespace": "gati-system", "labels": {"team": "shop"}}
    api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": head})
    store = ConfigMapClocks(api, "gati-system", "clocks")
    assert store.read().clocks == {}
    store.write(CLOCKS)
    assert api.items["gati-system/clocks"]["metadata"]["labels"] == {"team": "shop"}
    assert store.read().clocks == CLOCKS


def test_of_two_jobs_the_second_does_not_write_over_the_first():
    api = Api()
    one, two = (ConfigMapClocks(api, "gati-system", "clocks") for _ in range(2))
    one.read(), two.read()
    one.write(CLOCKS)
    with pytest.raises(KubeConflict):
        two.write({OTHER: CLOCK})
    assert two.read().clocks == CLOCKS


@pytest.mark.parametrize("packed", ["%", base64.b64encode(b"no gzip").decode(), base64.b64encode(gzip.compress(b"{")).decode()], ids=["no base64", "no gzip", "no json"])  # fmt: skip
def test_a_broken_config_map_begins_anew(packed):
    api = Api()
    store = ConfigMapClocks(api, "gati-system", "clocks")
    store.write(CLOCKS)
    api.items["gati-system/clocks"]["binaryData"][KEY] = packed
    found = store.read()
    assert found.clocks == {} and "gati-system/clocks" in found.lost
    store.write(CLOCKS)
    assert store.read().clocks == CLOCKS


def test_a_config_map_that_cannot_be_read_begins_anew():
    api = Api()
    api.fails = KubeError("the API server would not get configmaps: 403", status=403)
    found = ConfigMapClocks(api, "gati-system", "clocks").read()
    assert found.clocks == {} and "403" in found.lost


def test_thousands_of_units_fit_and_more_are_told_where_to_go():
    api = Api()
    store = ConfigMapClocks(api, "gati-system", "clocks")
    versions = {
        f"v{n}@{n:032x}": VersionClock("Active", 1.9e9 + n, 1.9e9, ready=1.9e9, checked=1.9e9 + n)
        for n in range(3)
    }
    store.write({("prod", "east", ("shop", f"handler-{n}")): UnitClock("1 x", versions) for n in range(5000)})  # fmt: skip
    assert len(api.items["gati-system/clocks"]["binaryData"][KEY]) < LIMIT / 5
