"""Recordings: what is read back is what was seen, and what can't be read is refused with words."""

import json
import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gati_gitops.decide.observation import (
    EdgeSeries,
    Engine,
    EngineState,
    Gap,
    Live,
    LiveRoute,
    Missing,
    Pod,
    PodSeries,
    Sent,
    Series,
    Telemetry,
    Window,
    Workload,
)
from gati_gitops.errors import Misnamed, Outside
from gati_gitops.observe.recording import Look, Recorder, passes, read_recording, sources
from tests.observe.kit import USERS, units, wanted

WINDOW = Window(1_700_000_360.5, 360.0, 15.0, "Prometheus at http://here")
TIMES = tuple(1_700_000_000.123 + 15 * n for n in range(24))
UP = Series((), TIMES, (1.0,) * 24)
REQUESTS = Series((("route", "/"), ("status_code", "200")), TIMES, tuple(map(float, range(7, 31))))
GAUGE = Series((), TIMES, tuple(0.1 * n for n in range(24)))
TELEMETRY = Telemetry(
    WINDOW,
    {"a": PodSeries(UP, (REQUESTS,), (), GAUGE), "b": PodSeries()},
    EdgeSeries((REQUESTS,), Missing(Gap.UNSUPPORTED, "not counted"), (UP,)),
    (Sent(1.5, 200, 0.01),),
)
LIVE = Live(
    1_700_000_300.0,
    {"handler-users-v1": Workload(2, 1, settled=True, pods=(Pod("a", ready=True), Pod("b")))},
    LiveRoute({"handler-users-v1": 100}, current=True, pins=frozenset(("v2", "v1"))),
    {"handler-users-v1": ("HTTPRoute shop/other",)},
    Engine(EngineState.BEHIND, "slow"),
)
LOOK = Look(
    "east",
    1_700_000_361.25,
    {USERS: LIVE, ("shop", "handler-gone"): Missing(Gap.PARTIAL, "half")},
    {USERS: {"handler-users-v1": TELEMETRY, "handler-users-v2": Missing(Gap.NO_DATA, "none")}},
)


def recorded(path, *looks):
    recorder = Recorder(path)
    for look in looks:
        recorder.write(look)
    return list(read_recording(path))


def test_an_empty_file_is_begun(tmp_path):
    path = tmp_path / "looks.jsonl"
    path.touch()
    recorded(path, LOOK)
    assert list(read_recording(path)) == [LOOK]


def test_what_is_read_back_is_what_was_seen(tmp_path):
    nothing = Look("west", 7.0, Missing(Gap.ERROR, "403", "the API"), Missing(Gap.STALE, "old"))
    assert recorded(tmp_path / "r", LOOK, nothing) == [LOOK, nothing]


texts = st.text(max_size=8)
numbers = st.floats(allow_nan=False, allow_infinity=False)
moments = st.floats(0, 1e11) | st.integers(0, 10**13).map(lambda stamp: stamp / 1000)


@st.composite
def some_series(draw):
    values = draw(st.lists(numbers | st.integers(0, 2**60).map(float), min_size=1, max_size=5))
    times = draw(
        st.lists(moments, min_size=len(values), max_size=len(values), unique=True).map(sorted)
    )
    labels = draw(st.dictionaries(texts, texts, max_size=3))
    return Series(tuple(sorted(labels.items())), tuple(times), tuple(values))


st.register_type_strategy(Series, some_series())
st.register_type_strategy(float, numbers)
st.register_type_strategy(str, texts)


@given(live=st.from_type(Live | Missing), seen=st.from_type(Telemetry | Missing))
def test_whatever_is_seen_is_read_back(tmp_path_factory, live, seen):
    look = Look("c", 0.1, {USERS: live}, {USERS: {"v": seen}})
    assert recorded(tmp_path_factory.mktemp("r") / "r", look) == [look]


def test_labels_times_and_shared_series_are_said_once(tmp_path):
    many = {
        f"v{number}": Telemetry(
            WINDOW, {"p": PodSeries(UP, (REQUESTS,))}, EdgeSeries((), (), (UP,))
        )
        for number in range(1000)
    }
    recorded(tmp_path / "r", Look("east", 1.0, Missing(Gap.ERROR, ""), {USERS: many}))
    assert (tmp_path / "r").stat().st_size < 110_000  # 100 bytes a version


def test_a_recording_is_continued_and_a_torn_line_is_cut_off(tmp_path):
    path = tmp_path / "r"
    recorded(path, LOOK)
    with path.open("ab") as file:
        file.write(b'{"cluster":"east","at":1,"li')
    assert list(read_recording(path)) == [LOOK]
    assert recorded(path, LOOK) == [LOOK, LOOK]


def test_a_full_disk_leaves_the_looks_before(tmp_path, monkeypatch):
    path = tmp_path / "r"
    recorder = Recorder(path)
    recorder.write(LOOK)
    real = os.write
    monkeypatch.setattr(os, "write", lambda file, data: real(file, data[:100]))
    with pytest.raises(Outside, match="the disk is full"):
        recorder.write(LOOK)
    monkeypatch.undo()
    recorder.write(LOOK)
    assert list(read_recording(path)) == [LOOK, LOOK]


def test_unknown_formats_are_refused(tmp_path):
    path = tmp_path / "r"
    path.write_text(json.dumps({"kind": "gati-gitops recording", "format": 2, "by": "9.0"}) + "\n")
    for read in (lambda: list(read_recording(path)), lambda: Recorder(path)):
        with pytest.raises(Misnamed, match="format 2, and only 1") as caught:
            read()
        assert "9.0" in caught.value.remedy


@pytest.mark.parametrize("content", [b"", b"{}\n", b"[1]\n", b"<html>", b"\xff\xfe\n"])
def test_what_is_no_recording_is_named_so(tmp_path, content):
    path = tmp_path / "r"
    path.write_bytes(content)
    with pytest.raises(Misnamed, match="is no recording"):
        list(read_recording(path))


def test_a_recording_that_is_not_there_is_named(tmp_path):
    with pytest.raises(Misnamed, match="No such file"):
        list(read_recording(tmp_path / "r"))


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.pop("live"),
        lambda data: data["series"].clear(),
        lambda data: data["telemetry"].update({"no-slash": {}}),
        lambda data: data["live"]["shop/handler-users"].update(unknown=1),
        lambda data: data["live"]["shop/handler-users"].update({"is": "Nobody"}),
        lambda data: data.update(at="soon"),
        lambda data: data["windows"].__setitem__(0, [1]),
    ],
)
def test_a_damaged_line_is_refused_with_its_number(tmp_path, change):
    path = tmp_path / "r"
    recorded(path, LOOK)
    first, second = path.read_text().splitlines()
    data = json.loads(second)
    change(data)
    path.write_text("\n".join([first, json.dumps(data), ""]))
    with pytest.raises(Misnamed, match="damaged") as caught:
        list(read_recording(path))
    assert str(caught.value.place) == f"{path}:2:1"
    assert str(path) not in caught.value.message


def test_secrets_are_never_recorded(tmp_path):
    token = "ghp_" + "a1B2" * 9
    why = f"could not ask http://me:hunter2secret@host/ with {token}"
    recorded(tmp_path / "r", Look("c", 1.0, Missing(Gap.ERROR, why), Missing(Gap.ERROR, why)))
    text = (tmp_path / "r").read_text()
    assert token not in text and "hunter2secret" not in text


class Fixed:
    def __init__(self, seen):
        self.seen = seen

    def look(self, wanted):
        return self.seen


def test_sources_are_recorded_as_they_are_asked_and_replayed(tmp_path):
    recorder = Recorder(tmp_path / "r", clock=lambda: 5.0)
    live, metrics = recorder.over("east", Fixed(LOOK.live), Fixed(LOOK.telemetry))
    asked = wanted(units())
    for _ in range(2):
        assert live.look(asked) is LOOK.live
        assert metrics.look(asked) is LOOK.telemetry
    found = list(read_recording(tmp_path / "r"))
    assert found == [Look("east", 5.0, LOOK.live, LOOK.telemetry)] * 2
    again, counted = sources(found[0])
    assert again.look(asked) == {USERS: LIVE}
    assert counted.look(asked) == LOOK.telemetry


def test_a_unit_that_nobody_recorded_is_missing():
    live, metrics = sources(Look("east", 1.0, {}, {}))
    asked = wanted(units())
    (seen,) = live.look(asked).values()
    assert isinstance(seen, Missing) and seen.gap is Gap.NO_DATA
    assert metrics.look(asked) == {USERS: {}}


def test_a_pass_looks_at_each_cluster_once():
    east, west = (Look(name, 1.0, {}, {}) for name in ("east", "west"))
    assert list(passes([east, west, west, east, east])) == [(east, west), (west, east), (east,)]
    assert list(passes([])) == []


def test_a_thousand_units_are_written_and_read_in_a_second_or_two(tmp_path):
    def telemetry():
        series = [
            Series((("status_code", code),), TIMES, tuple(map(float, range(24))))
            for code in ("200", "404", "500", "le")
        ]
        pods = {f"p{n}": PodSeries(UP, tuple(series[:3]), (series[3],)) for n in range(2)}
        return Telemetry(WINDOW, pods)

    look = Look(
        "east",
        1.0,
        Missing(Gap.ERROR, ""),
        {("ns", f"u{u}"): {f"v{v}": telemetry() for v in range(3)} for u in range(1000)},
    )
    start = time.perf_counter()
    assert recorded(tmp_path / "r", look) == [look]
    assert time.perf_counter() - start < 15  # 1.5 on a quiet machine
