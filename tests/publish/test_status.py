"""``status``: what is told of units, since when, and how it looks."""

from __future__ import annotations

import json
import os
import pty
import re

import pytest

from gati_gitops.cli.main import run
from gati_gitops.ledger.model import Entry, Ledger, Phase
from gati_gitops.plan.naming import UnitId
from gati_gitops.publish.places import places
from gati_gitops.publish.status import HOLD, Since, Standing, dated, standings
from gati_gitops.publish.status_table import status_lines
from tests.compile.kit import UNIT, canary, decide, handler, module, moved
from tests.publish.kit import World

ENVIRONMENTS = {"prod": ["east", "west"], "staging": ["stage"]}
NOW = 1_900_000_000


@pytest.fixture
def told(world, capsys):
    def told(*options: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(["status", "--repo", str(world.output), *options])
        out, err = capsys.readouterr()
        return code, out, err

    return told


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def published(world: World) -> None:
    settings = canary(ENVIRONMENTS, promotion={"prod": {"after": "staging"}})
    files = {"gati.yaml": settings, "users.yaml": handler(version="v1"), "db.yaml": module()}
    world.release(files)
    world.release({"users.yaml": handler(version="v2")})


def edited(world: World, change, folder: str = UNIT) -> str:
    path = f"{folder}/rollout.yaml"
    content = decide(world.tree(), change, folder)[path]
    return world.by_hand(lambda place: (place / path).write_bytes(content))


def test_units_by_environment_in_order_of_promotion(world, told):
    published(world)
    code, out, err = told()
    assert code == 0
    assert out.splitlines()[0].split() == [
        "UNIT", "ENV", "CLUSTERS", "VERSION", "PHASE", "WEIGHT", "SINCE",
    ]  # fmt: skip
    table = [[*row[:-1]] for row in rows(out)[1:]]
    assert table == [
        ["shop/users", "staging", "stage", "v1", "Active", "100"],
        ["v2", "Starting", "0"],
        ["prod", "east,", "west", "v1", "Pending", "0"],
        ["v2", "Pending", "0"],
        ["shop/module-db", "staging", "stage", "1.0.0", "Active", "-"],
        ["prod", "east,", "west", "1.0.0", "Pending", "-"],
    ]
    assert "2 units, 0 held" in err


def test_clusters_that_differ_stand_apart(world, told):
    published(world)
    run(
        ["release", "shop/users", "--repo", str(world.output), "--cluster", "east", "--reason", "x"]
    )
    _, out, _ = told("--unit", "shop/users", "--env", "prod")
    assert re.search(r"prod +east +v\d", out)
    assert re.search(r"prod +west +v\d", out)


def test_holds_are_told_with_reason_and_alone_where_wanted(world, told):
    published(world)
    run(["hold", "shop/users", "--repo", str(world.output), "--env", "prod", "--reason", "audit"])
    _, out, err = told("--held")
    assert "held: audit (since " in out
    assert "staging" not in out and "module-db" not in out
    assert "1 unit, 1 held" in err
    _, out, _ = told("--held", "--env", "staging")
    assert out == ""


def test_narrowing(world, told):
    published(world)
    _, out, _ = told("--unit", "shop/db", "--cluster", "east")
    assert [row[0] for row in rows(out)] == ["UNIT", "shop/module-db"]
    assert "west" not in out
    for options, word in (
        (("--unit", "shop/usres"), "did you mean shop/users"),
        (("--env", "qa"), "prod, staging"),
        (("--cluster", "north"), "east, stage, west"),
    ):
        code, _, err = told(*options)
        assert code == 2
        assert word in err


def test_json_has_a_format_and_everything(world, told):
    published(world)
    run(["hold", "shop/users", "--repo", str(world.output), "--env", "prod", "--reason", "audit"])
    code, out, _ = told("--format", "json")
    data = json.loads(out)
    assert code == 0
    assert (data["format"], data["branch"], data["commit"]) == (1, "main", world.tip())
    assert len(data["units"]) == 6
    unit = next(u for u in data["units"] if (u["unit"], u["cluster"]) == ("shop/users", "west"))
    assert unit["hold"] == "audit"
    assert unit["held"]["commit"] == world.tip()
    assert [(v["id"], v["phase"], v["weight"]) for v in unit["versions"]] == [
        (e.id, e.phase, e.weight) for e in world.ledger(UNIT.replace("east", "west")).entries
    ]
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", unit["versions"][0]["since"]["time"])


def test_since_is_when_phase_and_weight_came_not_when_the_file_changed(world):
    settings = canary({"prod": ["east"]})
    world.release({"gati.yaml": settings, "users.yaml": handler(version="v1")})
    first = world.tip()
    world.release({"users.yaml": handler(version="v2")})
    second = world.tip()
    third = edited(world, moved(v1=("Active", 90), v2=("Canary", 10)))
    world.publish(whole=True)
    world.release({"users.yaml": handler(version="v2", replicas=7)})
    assert since(world) == {"v1": third, "v2": third}
    fourth = edited(world, moved(v1=("Active", 100), v2=("Draining", 0)))
    assert since(world) == {"v1": fourth, "v2": fourth}
    world.release({"users.yaml": handler(version="v3")})
    assert since(world) == {"v1": fourth, "v2": fourth, "v3": world.tip()}
    assert len({first, second, third, fourth}) == 4


def test_a_version_that_never_moved_is_as_old_as_its_first_commit(world):
    world.release({"gati.yaml": canary({"prod": ["east"]}), "users.yaml": handler()})
    first = world.tip()
    for replicas in (3, 4, 5):
        world.release({"users.yaml": handler(replicas=replicas)})
    assert since(world) == {"v1": first}
    # further back than was looked: at least so long
    with world.open() as repository:
        tip = repository.tip()
        (row,) = dated(tip, all_of(tip), root="", deepen=None, limit=2)
    assert not row.since_of(row.ledger.entries[0]).exact


def all_of(tip) -> list[Standing]:
    before = tip.snapshot()
    found = places(before)
    return standings(before, found, found.chosen((), ()))


def since(world: World) -> dict[str, str]:
    with world.open() as repository:
        tip = repository.tip()
        (row,) = dated(tip, all_of(tip), root="", deepen=repository.deepen, limit=100)
    found = {}
    for entry in row.ledger.entries:
        when = row.since_of(entry)
        assert when is not None and when.exact
        found[entry.id] = when.commit
    return found


def test_history_can_be_left_out(world, told):
    published(world)
    _, out, _ = told("--history", "0")
    assert {row[-1] for row in rows(out)[1:]} == {"-"}


def test_over_http_history_is_fetched_as_far_as_it_matters(world, places, monkeypatch, capsys):
    place = places("http", seed=False)
    world.output = place.bare
    published(world)
    for name, value in place.environ.items():
        monkeypatch.setenv(name, value)
    assert run(["status", "--repo", place.url, "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    versions = [v for u in data["units"] for v in u["versions"]]
    assert all(v["since"]["exact"] for v in versions)
    assert len({v["since"]["commit"] for v in versions}) > 1


def test_ledgers_that_cannot_be_read_are_told_and_hide_nothing(world, told):
    published(world)
    path = f"{UNIT}/rollout.yaml"
    world.by_hand(lambda place: (place / path).write_text("versions: ["))
    code, out, _ = told()
    assert code == 0
    assert "unreadable" in out
    assert f"{path} can't be read" in out
    assert "shop/module-db" in out


def test_a_ledger_that_was_deleted_counts_as_held(world, told):
    world.release({"gati.yaml": canary({"prod": ["east"]}), "users.yaml": handler()})
    world.by_hand(lambda place: (place / f"{UNIT}/rollout.yaml").unlink())
    _, out, _ = told("--held")
    assert "held: the ledger was deleted by hand" in out
    assert re.search(r"v1 +Active +100", out)


def test_retiring_units_and_rejected_ones_that_still_serve():
    ledger = Ledger(
        retiring=True,
        entries=(
            Entry("v1", "a", Phase.STARTING),
            Entry("v2", "b", Phase.ACTIVE, 100, rejected=True),
        ),
    )
    text = "\n".join(status_lines([standing(ledger)], NOW))
    assert "Active (rejected)" in text
    assert "retiring" in text


def test_ages():
    for seconds, word in ((30, "now"), (90, "1m"), (7200, "2h"), (200_000, "2d")):
        row = standing(Ledger(entries=(Entry("v1", "a", Phase.ACTIVE, 100),)), NOW - seconds)
        assert status_lines([row], NOW)[1].split()[-1] == word


def standing(ledger: Ledger, time: int = NOW, name: str = "users") -> Standing:
    parts = {(e.id, e.phase is Phase.PENDING): Since(time, "c") for e in ledger.entries}
    return Standing(
        UnitId("shop", "handler", name),
        "prod",
        "east",
        ledger,
        since={**parts, HOLD: Since(time, "c")},
    )


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_table_fits_the_terminal(width):
    ledger = Ledger(
        hold="a reason that is longer than anybody wants to read on a terminal of eighty columns",
        entries=(Entry("tsv:1761904800-recommendations-003", "a", Phase.ACTIVE, 100),),
    )
    lines = status_lines([standing(ledger, name="n" * 50)], NOW, width=width)
    assert all(len(line) <= max(width, 80) for line in lines)
    assert any("…" in line for line in lines)
    plain = status_lines([standing(ledger, name="n" * 50)], NOW)
    assert not any("…" in line for line in plain)


def test_text_of_others_cannot_steer_a_terminal():
    ledger = Ledger(hold="\x1b[2J\u202egone", entries=(Entry("v\x1b[1m", "a", Phase.ACTIVE, 100),))
    text = "\n".join(status_lines([standing(ledger)], NOW, colour=False))
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_colour_on_a_terminal_and_none_in_a_pipe(world, told, monkeypatch):
    published(world)
    monkeypatch.delenv("NO_COLOR", raising=False)
    _, out, _ = told()
    assert "\x1b" not in out
    monkeypatch.setenv("FORCE_COLOR", "1")
    _, out, _ = told()
    assert "\x1b[32mActive" in out
    plain = re.sub(r"\x1b\[[\d;]*m", "", out)
    monkeypatch.delenv("FORCE_COLOR")
    assert rows(plain) == rows(told()[1])


def test_on_a_real_terminal(world):
    import subprocess
    import sys

    published(world)
    mine, theirs = pty.openpty()
    environ = {**os.environ, "COLUMNS": "70", "TERM": "xterm", "NO_COLOR": ""}
    with subprocess.Popen(
        [sys.executable, "-m", "gati_gitops", "status", "--repo", str(world.output)],
        stdout=theirs, stderr=subprocess.DEVNULL, env=environ,
    ) as process:  # fmt: skip
        os.close(theirs)
        seen = b""
        while True:
            try:
                piece = os.read(mine, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            seen += piece
        assert process.wait() == 0
    os.close(mine)
    text = seen.decode()
    assert "\x1b[32m" in text
    plain = re.sub(r"\x1b\[[\d;]*m", "", text)
    assert all(len(line) <= 70 for line in plain.splitlines())
