"""What was seen, written down and seen again."""

import json

import pytest

from gati_gitops.decide.observation import Engine, EngineState, Gap, Missing
from gati_gitops.errors import Misnamed, Outside
from gati_gitops.observe.cluster_lists import Listed, Part
from gati_gitops.observe.wanted import Wanted
from gati_gitops.reconcile.drift.recording import Recorder, read_recording
from gati_gitops.reconcile.drift.run import Sight
from tests.drift.test_traffic import counted

KEY = ("shop", "handler-cart")
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "s", "namespace": "shop"},
    "data": {"k": "aHVudGVyMg=="},
}
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {
        "name": "x",
        "namespace": "shop",
        "labels": {"app.kubernetes.io/managed-by": "gati-gitops"},
    },
}
STRANGE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "y", "namespace": "shop"}}


class Seen:
    """A cluster of three objects, one of whose namespaces may not be read."""

    def lists(self, parts, namespaces):
        found = {}
        for name, part in parts.items():
            items = [item for item in (SECRET, SERVICE, STRANGE) if item["kind"] == part.kind]
            kept = tuple(one for item in items if (one := part.pick(item)) is not None)
            unread = {"other": Missing(Gap.ERROR, "403", "the cluster")}
            found[name] = Listed(kept, False, unread)
        return found

    def get(self, api_version, kind, name, namespace):
        return None


class Engines:
    def look(self, keys, now):
        return dict.fromkeys(keys, Engine(EngineState.STUCK, "it fails", "abc"))


class Metrics:
    def look(self, wanted):
        return {
            KEY: {"handler-cart-v1": counted(900), "handler-cart-v2": Missing(Gap.STALE, "old")}
        }


PARTS = {
    "services": Part("v1", "Service", lambda item: item["metadata"]["name"]),
    "secrets": Part("v1", "Secret", lambda item: item["metadata"]["name"]),
}


@pytest.fixture
def recorded(tmp_path):
    path = tmp_path / "seen.jsonl"
    with Recorder(str(path)) as recorder:
        sight = recorder.sight("eu", Sight(Seen(), Engines(), Metrics(), 12.5))
        first = sight.objects.lists(PARTS, ())
        engine = sight.engine.look([KEY], 0.0)
        telemetry = sight.metrics.look(Wanted("eu", {}))
    return path, first, engine, telemetry


def test_it_is_seen_again(recorded):
    path, first, engine, telemetry = recorded
    again = read_recording(str(path))("eu")
    assert again.now == 12.5
    listed = again.objects.lists(PARTS, ())["services"]
    assert sorted(listed.items) == ["x", "y"]
    assert (listed.whole, listed.unread) == (first["services"].whole, first["services"].unread)
    assert again.engine.look([KEY], 0.0) == engine
    assert again.metrics.look(Wanted("eu", {KEY: None})) == telemetry


def test_labels_are_heeded_and_names_are_found(recorded):
    again = read_recording(str(recorded[0]))("eu").objects
    ours = Part(
        "v1", "Service", lambda i: i["metadata"]["name"], "app.kubernetes.io/managed-by=gati-gitops"
    )
    assert again.lists({"s": ours}, ())["s"].items == ("x",)
    assert again.get("v1", "Service", "y", "shop") == STRANGE
    assert again.get("v1", "Service", "z", "shop") is None


def test_secrets_are_not_recorded_and_not_seen(recorded):
    path = recorded[0]
    assert "aHVudGVyMg" not in path.read_text()
    listed = read_recording(str(path))("eu").objects.lists(PARTS, ())["secrets"]
    assert listed.items == () and "not recorded" in listed.failed.why


def test_what_was_not_recorded_is_not_nothing(recorded):
    again = read_recording(str(recorded[0]))
    other = {"c": Part("v1", "ConfigMap", lambda item: item)}
    assert again("eu").objects.lists(other, ())["c"].failed is not None
    assert again("us").objects.lists(PARTS, ())["services"].failed is not None


def test_only_the_owner_may_read_it(recorded):
    assert recorded[0].stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json\n",
        '{"kind": "gati-gitops recording", "format": 1}\n',
        '{"kind": "gati-gitops drift recording", "format": 2}\n',
        '{"kind": "gati-gitops drift recording", "format": 1}\n{"no": "cluster"}\n',
        '{"kind": "gati-gitops drift recording", "format": 1}\n[1]\n',
    ],
)
def test_another_file_is_no_recording(tmp_path, text):
    path = tmp_path / "other.jsonl"
    path.write_text(text)
    with pytest.raises(Misnamed):
        read_recording(str(path))
    with pytest.raises(Misnamed, match="No such file"):
        read_recording(str(tmp_path / "nowhere.jsonl"))


def test_half_a_recording_is_none(recorded):
    """What it would lack cannot be told from what was not there."""
    path = recorded[0]
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]) + lines[2][:-9])
    with pytest.raises(Misnamed, match="damaged") as caught:
        read_recording(str(path))
    assert str(caught.value.place) == f"{path}:3:1"


def test_a_place_that_can_t_be_written_is_said(tmp_path):
    with pytest.raises(Outside), Recorder(str(tmp_path / "no" / "such" / "folder")):
        pass


@pytest.mark.parametrize(
    "text",
    [
        "kind: GatiProject\n",
        '{"kind": "gati-gitops recording", "format": 1}\n',
        '{"format": 1, "units": {}}\n',
        "\0",
    ],
)
def test_what_is_no_recording_of_drift_stays_as_it_is(tmp_path, text):
    path = tmp_path / "theirs"
    path.write_text(text)
    with pytest.raises(Misnamed, match="no recording of drift") as error, Recorder(str(path)):
        pass
    assert "--record" in error.value.remedy
    assert path.read_text() == text


def test_an_earlier_recording_and_an_empty_file_are_replaced(recorded, tmp_path):
    empty = tmp_path / "empty"
    empty.touch()
    for path in (recorded[0], empty):
        with Recorder(str(path)) as recorder:
            recorder.say("us", now=7.0)
        assert read_recording(str(path))("us").now == 7.0
        assert read_recording(str(path))("eu").now == 0.0


def test_every_line_is_json(recorded):
    lines = recorded[0].read_text().splitlines()
    assert all(json.loads(line) for line in lines)
