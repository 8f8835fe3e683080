"""What people leave in our folders: a stray file, a ledger that nobody can read."""

from __future__ import annotations

import pytest

from gati_gitops.errors import Refused
from tests.compile.kit import canary, handler

UNIT = "overlays/prod/east/shop/handler-users"
STRAY = f"{UNIT}/mine.yaml"


def two(settings=None):
    return {
        "gati.yaml": settings or canary(),
        "users.yaml": handler(),
        "carts.yaml": handler("carts"),
    }


def stray(place):
    (place / STRAY).write_text("kind: ConfigMap\n")


@pytest.mark.parametrize("whole", [False, True])
def test_a_file_beside_ours_is_refused_however_much_is_compiled(world, whole):
    world.release(two())
    world.by_hand(stray)
    world.merge({"users.yaml": handler(replicas=5)})
    with pytest.raises(Refused) as refused:
        world.publish(whole=whole)
    assert STRAY in refused.value.message
    assert "--discard" in refused.value.remedy
    world.publish(whole=whole, discard=True)
    assert STRAY not in world.tree()


def test_a_file_of_ours_without_its_first_line_is_a_persons(world):
    world.release(two())

    def behead(place):
        path = place / UNIT / "scaling.yaml"
        path.write_text(path.read_text().partition("\n")[2])

    world.by_hand(behead)
    with pytest.raises(Refused):
        world.publish()


def test_a_decision_leaves_a_file_beside_ours(world):
    world.release(two())
    world.by_hand(stray)
    world.act("hold")
    assert world.ledger(UNIT).hold == "because"
    assert world.tree()[STRAY] == b"kind: ConfigMap\n"


def test_a_ledger_that_nobody_can_read_stops_its_own_unit_alone(world):
    world.release(two())
    path = "overlays/prod/east/shop/handler-carts/rollout.yaml"
    world.by_hand(lambda place: (place / path).write_text("<<<<<<< HEAD\n"))
    world.act("hold", "shop/users")
    assert world.ledger(UNIT).hold == "because"
    assert world.tree()[path] == b"<<<<<<< HEAD\n"
    for decide in (lambda: world.act("hold", "shop/carts"), world.publish):
        with pytest.raises(Refused) as refused:
            decide()
        assert path in refused.value.message


def test_a_ledger_that_was_deleted_is_told_once_and_as_that(world):
    world.release(two())
    world.by_hand(lambda place: (place / UNIT / "rollout.yaml").unlink())
    (note,) = world.publish().prepared.notes
    assert note.startswith("shop/users in prod on east: held: its ledger was deleted by Ada in ")


def test_specs_without_any_unit_are_counted_by_units(world):
    world.release(two(canary({"prod": {"clusters": {"east": {}, "west": {}}}})))
    world.merge({"users.yaml": None, "carts.yaml": None})
    with pytest.raises(Refused, match="the output has 2 units of the source"):
        world.publish()
