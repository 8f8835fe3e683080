"""What Git says changed, compiled alone, gives the tree that compiling everything gives."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from gati_gitops.ledger.model import Phase
from tests.compile.kit import canary, decide, handler, module, moved, tree_of
from tests.publish.kit import World, git

ENVIRONMENTS = {"dev": ["dev-1"], "prod": {"clusters": {"east": {}, "west": {}}}}


def files(**specs: str) -> dict[str, str]:
    return {"gati.yaml": canary(ENVIRONMENTS), **{f"{n}.yaml": text for n, text in specs.items()}}


@pytest.fixture
def published(world):
    world.release(
        files(
            users=handler(modules=["pool"]),
            carts=handler("carts"),
            orders=handler("orders", hosts=["orders.example"]),
            pool=module("pool"),
        )
    )
    return world


def both(world: World) -> bool:
    """Publish incrementally and whole, from the same tip; whether Git could say what changed."""
    tip = world.tip()
    done = world.publish()
    tree = world.tree()
    ends = world.tip()
    git(world.output, "update-ref", "refs/heads/main", tip)
    assert world.publish(whole=True).prepared.whole
    assert world.tree() == tree
    git(world.output, "update-ref", "refs/heads/main", ends)
    return not done.prepared.whole


def test_a_new_version_is_compiled_alone(published):
    published.merge({"users.yaml": handler(version="v2", modules=["pool"])})
    assert both(published)
    assert published.phases("overlays/prod/west/shop/handler-users")["v2"] == ("Starting", 0)


def test_nothing_changed_is_seen_at_once(published):
    published.merge({"README.md": "no spec"})
    assert both(published)


def test_a_change_in_one_environment_only(published):
    published.release({"environments/prod/users.yaml": handler(replicas=5, modules=["pool"])})
    published.merge({"environments/prod/users.yaml": handler(replicas=6, modules=["pool"])})
    assert both(published)


def test_what_others_depend_on_compiles_everything(published):
    for changed in (
        {"users.yaml": handler(handlerPath="/people", modules=["pool"])},
        {"pool.yaml": module("pool", port=9999)},
        {"users.yaml": handler(modules=[])},
        {
            "gati.yaml": canary(
                {**ENVIRONMENTS, "dev": {"clusters": {"dev-1": {}}, "revisions": "any"}}
            )
        },
        {"more.yaml": handler("more")},
        {"carts.yaml": None},
    ):
        published.merge(changed)
        assert not both(published)


def test_a_hand_edit_of_a_unit_is_put_right_alone(published):
    def edit(place: Path) -> None:
        file = place / "overlays/prod/east/shop/handler-carts/route.yaml"
        file.write_text(file.read_text().replace("/carts", "/elsewhere"))

    published.by_hand(edit)
    assert both(published)
    assert b"/elsewhere" not in published.tree()["overlays/prod/east/shop/handler-carts/route.yaml"]


def test_a_hand_edit_around_units_compiles_everything(published):
    def edit(place: Path) -> None:
        file = place / "overlays/prod/east/shop/kustomization.yaml"
        file.write_text(file.read_text() + "# more\n")

    published.by_hand(edit)
    assert not both(published)


def test_a_ledger_that_the_job_moved_compiles_its_unit(published):
    published.release({"users.yaml": handler(version="v2", modules=["pool"])})
    folder = "overlays/prod/east/shop/handler-users"
    tree = decide(published.tree(), moved(v1=("Active", 90), v2=("Canary", 10)), folder)

    def edit(place: Path) -> None:
        path = f"{folder}/rollout.yaml"
        (place / path).write_bytes(tree[path])

    published.by_hand(edit)
    published.merge({"carts.yaml": handler("carts", env={"A": "1"})})
    assert both(published)
    assert published.phases(folder)["v2"] == ("Canary", 10)


def test_a_squashed_history_is_no_hindrance(published):
    published.merge({"users.yaml": handler(version="v2", modules=["pool"])})
    place = published.specs
    git(place, "reset", "-q", "--soft", "HEAD~1")
    git(place, "commit", "-q", "-m", "Squashed")
    assert both(published)


def test_without_the_recorded_commit_everything_is_compiled(published):
    place = published.specs
    git(place, "checkout", "-q", "--orphan", "fresh")
    git(place, "commit", "-q", "-m", "A new history")
    git(place, "branch", "-q", "-M", "fresh", "main")
    git(place, "reflog", "expire", "--expire=now", "--all")
    git(place, "gc", "-q", "--prune=now")
    assert not both(published)


def test_a_template_compiles_everything(published):
    text = (
        "{# gati: environment #}\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: extra\n"
        "  namespace: {{ namespace.name }}\ndata:\n  a: b\n"
    )
    published.merge({"templates/extra.yaml.j2": text})
    assert not both(published)
    # and goes on doing so while there is one
    published.merge({"users.yaml": handler(version="v2", modules=["pool"])})
    assert not both(published)


NAMES = ("users", "carts", "orders")


@dataclass
class Story:
    """A project as the test knows it."""

    world: World
    versions: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NAMES, 1))
    values: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NAMES, 0))
    paths: dict[str, str] = field(default_factory=lambda: {n: f"/{n}" for n in NAMES})

    def spec(self, name: str) -> dict[str, str]:
        env = {"VALUE": str(self.values[name])}
        spec = handler(name, f"v{self.versions[name]}", env=env, handlerPath=self.paths[name])
        return {f"{name}.yaml": spec}


ACTIONS = st.sampled_from(
    ["bump", "env", "env", "path", "scale", "drop", "advance", "hold", "edit"]
)


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(ACTIONS, st.sampled_from(NAMES)), min_size=1, max_size=6))
def test_any_history_gives_the_same_tree_both_ways(steps):
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        story = Story(world)
        first = {"gati.yaml": canary(ENVIRONMENTS)}
        for name in NAMES:
            first |= story.spec(name)
        world.release(first)
        gone: set[str] = set()
        for action, name in steps:
            act(story, action, name, gone)
            event(f"{action}: {'alone' if both(world) else 'whole'}")
        assert not world.verify().differences


def act(story: Story, action: str, name: str, gone: set[str]) -> None:
    world, unit = story.world, f"overlays/prod/east/shop/handler-{name}"
    if action in ("advance", "hold", "edit"):
        tree = world.tree()
        if f"{unit}/rollout.yaml" not in tree:
            return
        world.by_hand(lambda place: by_hand(place, tree, unit, action))
        return
    if action == "drop":
        if name not in gone and len(gone) < 2:
            gone.add(name)
            partial = f"environments/prod/{name}.yaml"
            world.merge(
                {
                    f"{name}.yaml": None,
                    **dict.fromkeys([partial] * (world.specs / partial).exists()),
                }
            )
        return
    if action == "bump":
        story.versions[name] += 1
    elif action == "env":
        story.values[name] += 1
    elif action == "path":
        story.paths[name] += "x"
    gone.discard(name)
    if action == "scale":
        partial = handler(name, f"v{story.versions[name]}", replicas=3 + story.values[name],
                          env={"VALUE": str(story.values[name])}, handlerPath=story.paths[name])  # fmt: skip
        world.merge({**story.spec(name), f"environments/prod/{name}.yaml": partial})
        return
    partial_file = world.specs / f"environments/prod/{name}.yaml"
    world.merge(
        {
            **story.spec(name),
            **({f"environments/prod/{name}.yaml": None} if partial_file.exists() else {}),
        }
    )


def by_hand(place: Path, tree: dict[str, bytes], unit: str, action: str) -> None:
    if action == "edit":
        file = place / unit / "kustomization.yaml"
        file.write_text(file.read_text() + "# by hand\n")
        return

    def change(ledger):
        if action == "hold":
            return replace(ledger, hold="by hand", seq=ledger.seq + 1)
        rolling = ledger.rolling
        if rolling is None:
            return replace(ledger, seq=ledger.seq + 1)
        entries = [
            replace(e, phase=Phase.CANARY, weight=10) if e == rolling
            else replace(e, weight=90) if e.phase is Phase.ACTIVE
            else e
            for e in ledger.entries
        ]  # fmt: skip
        return replace(ledger, seq=ledger.seq + 1).with_entries(entries)

    path = f"{unit}/rollout.yaml"
    (place / path).write_bytes(decide(tree, change, unit)[path])


def test_the_tree_of_both_ways_is_that_of_a_compile(published):
    changed = handler(version="v2", modules=["pool"])
    before = {p: c for p, c in published.tree().items() if "/sources/" not in p}
    published.merge({"users.yaml": changed})
    assert both(published)
    specs = {p.name: p.read_text() for p in published.specs.glob("*.yaml")}
    made = tree_of(specs, before)
    assert {p: c for p, c in published.tree().items() if "/sources/" not in p} == {
        p: c for p, c in made.items() if "/sources/" not in p
    }
