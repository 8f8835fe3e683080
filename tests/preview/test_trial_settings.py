"""A change of gati.yaml in a fleet: said once, at the line of gati.yaml that says it."""

from __future__ import annotations

import pytest

from gati_gitops.preview.model import Level, Review
from gati_gitops.preview.quantities import show_memory
from gati_gitops.preview.writers.gather import by_code
from gati_gitops.preview.writers.markdown import write_markdown
from gati_gitops.preview.writers.page_data import Bodies, page_data
from gati_gitops.preview.writers.text import write_text
from tests.compile.kit import handler, module, project, tree_of
from tests.preview.sides import found, reviewed

NAMES = [f"unit-{number}" for number in range(8)]
UNITS = {
    f"{name}.yaml": handler(
        name, f"v1.{number}.0", image=f"ghcr.io/acme/{name}:1.{number}.0", replicas=1 + number % 2
    )
    for number, name in enumerate(NAMES)
}
MIRROR = {"ghcr.io": "mirror.example"}


def changed(before: dict[str, object], after: dict[str, object], **options: object) -> Review:
    sides = [
        {"gati.yaml": project({"prod": {"clusters": {"east": {}, "west": {}}, **more}}), **UNITS}
        for more in (before, after)
    ]
    return reviewed(sides[0], sides[1], tree_of(sides[0]), **options)  # type: ignore[arg-type]


def line_of(text: str, wanted: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if wanted in line)


def test_another_registry_is_one_change_of_all_units() -> None:
    result = changed({}, {"registries": MIRROR})
    (only,) = result.classes
    assert only.units == len(NAMES) and not only.outliers
    (image,) = only.fields
    assert image.after == "mirror.example/acme/{unit}:{number}"


def test_another_registry_is_said_once_for_all_units() -> None:
    result = changed({}, {"registries": MIRROR})
    told = {code: len(said) for code, said in by_code(result, Level.WARNING)}
    # one and two pods restart: that is all in which units differ
    assert told == {"image-registry": 1, "pods-restart": 2, "settings": 1}
    assert not found(result, "image"), "the registry is all that changed, and that is said"


def test_another_registry_is_the_doing_of_gati_yaml() -> None:
    result = changed({}, {"registries": MIRROR})
    places = {str(one.place) for one in result.findings if one.code != "blast-radius"}
    assert len(places) == 1 and places.pop().startswith("gati.yaml:")


@pytest.mark.parametrize(
    "where", ["environment", "cluster"], ids=lambda where: f"hosts-of-the-{where}"
)
def test_hosts_of_the_settings_are_located_there(where: str) -> None:
    routing = [
        {"routing": {"hosts": hosts}} for hosts in (["a.example"], ["a.example", "b.example"])
    ]
    if where == "environment":
        result = changed(*routing)
    else:
        result = changed(*({"clusters": {"east": one, "west": {}}} for one in routing))
    places = {one.place for one in found(result, "host-added")}
    (place,) = places
    assert place is not None and place.file == "gati.yaml"
    head = project({"prod": {"clusters": {"east": {}, "west": {}}, **routing[1]}})
    if where == "environment":
        assert place.line == line_of(head, "hosts:")
    ((_, (said,)),) = by_code(result, Level.WARNING)
    assert said.place == place and len(said.units) == len(NAMES)


def test_hosts_of_the_unit_are_located_there() -> None:
    settings = {
        "gati.yaml": project(
            {"prod": {"clusters": {"east": {}}, "routing": {"hosts": ["a.example"]}}}
        )
    }
    base = {**settings, "users.yaml": handler()}
    head = {**settings, "users.yaml": handler(hosts=["b.example"])}
    result = reviewed(base, head, tree_of(base))
    (one,) = found(result, "host-added")
    assert str(one.place) == f"users.yaml:{line_of(head['users.yaml'], 'hosts')}:3"
    back = reviewed(head, base, tree_of(head))
    (one,) = found(back, "host-removed")
    assert one.place is not None and one.place.file == "users.yaml"


def test_a_cluster_that_comes_is_located_at_its_own_line() -> None:
    result = changed({}, {"clusters": {"east": {}, "west": {}, "south": {}}})
    (one,) = found(result, "cluster-added")
    head = project({"prod": {"clusters": {"east": {}, "west": {}, "south": {}}}})
    assert one.place is not None and one.place.line == line_of(head, "south")


def test_settings_alone_leave_no_empty_headings() -> None:
    result = changed({}, {"onDelete": "immediate"})
    lines = write_text(result, width=100, colour=False).splitlines()
    assert "0 units" not in lines[1]
    assert lines[-1].strip() not in ("", "prod")


def test_a_policy_that_only_lets_a_caller_in_opens_nothing_by_going() -> None:
    settings = project({"prod": ["east"]})
    base = {
        "gati.yaml": settings,
        "users.yaml": handler(modules=["db"]),
        "db.yaml": module("db").replace("name: db\n", "name: db\n  namespace: shop\n", 1),
    }
    head = {**base, "users.yaml": handler()}
    result = reviewed(base, head, tree_of(base))
    gone = [
        c.id.name
        for _, _, unit in result.units()
        for _, c in unit.all_objects()
        if c.action == "delete"
    ]
    assert any("-from-users" in name for name in gone)
    assert not found(result, "network-policy-removed")


def test_a_cluster_that_comes_does_not_drown_in_classes() -> None:
    """Objects that come are a class where that folds whole units, not where it only adds lines."""
    other = {
        "storefront.yaml": handler("other", modules=["db"], env={"A": "1"}),
        "db.yaml": module("db"),
    }
    sides = [
        {"gati.yaml": project({"prod": clusters}), "users.yaml": handler(), **other}
        for clusters in (["east"], ["east", "west"])
    ]
    result = reviewed(sides[0], sides[1], tree_of(sides[0]))
    assert not result.classes
    alike = changed({}, {"clusters": {"east": {}, "west": {}, "south": {}}})
    assert {one.units for one in alike.classes} >= {4}, "units that come alike are still folded"
    notes = {code: len(said) for code, said in by_code(alike, Level.NOTE)}
    assert notes["image"] == notes["rollout"] == 1


def test_whatever_settings_do_to_units_is_told_at_their_line() -> None:
    """Also where the finding is about something else: objects that go, who may call."""
    routes = [{"routing": {"hosts": ["a.example"], **more}} for more in ({}, {"provider": "istio"})]
    result = changed(*routes)
    head = project({"prod": {"clusters": {"east": {}, "west": {}}, **routes[1]}})
    line = line_of(head, "provider:")
    told = [one for one in result.findings if any(target.unit for target in one.targets)]
    assert {one.code for one in told} >= {"gateway-changed", "ingress-opened", "object-pruned"}
    assert {(one.place.file, one.place.line) for one in told if one.place} == {("gati.yaml", line)}
    (opened,) = {one.message for one in found(result, "ingress-opened")}
    assert opened == "pods may be called from namespace istio-system on port 3000"


def test_a_few_units_keep_their_own_lines() -> None:
    """A danger has its line; only of many units the lines are too much."""
    base = {"gati.yaml": project({"prod": ["east"]}), **UNITS}
    for count in (2, 8):
        moved = {
            file: text.replace(f'"/{file[:-5]}"', f'"/new/{file[:-5]}"')
            for file, text in list(UNITS.items())[:count]
        }
        result = reviewed(base, base | moved, tree_of(base))
        told = dict(by_code(result, Level.DANGER))["path-changed"]
        assert len(told) == (2 if count == 2 else 1)
        assert all(one.place is not None for one in told) == (count == 2)
        if count == 8:
            assert told[0].message == "answers on /new/{name} instead of /{name}"
            assert told[0].finding.before == "", "what one of them had would be taken for all"


def test_an_outlier_that_is_alike_on_all_clusters_is_shown_once() -> None:
    named = {**UNITS, "odd.yaml": handler("odd", image="ghcr.io/acme/other:7.1.0")}
    environment = {"clusters": {"east": {}, "west": {}}}
    base = {"gati.yaml": project({"prod": environment}), **named}
    head = {"gati.yaml": project({"prod": {**environment, "registries": MIRROR}}), **named}
    result = reviewed(base, head, tree_of(base))
    (only,) = result.classes
    assert {one.target.cluster for one in only.outliers} == {"east", "west"}
    text = write_text(result, width=100, colour=False)
    assert "1 outlier\n" in text and text.count("otherwise, in prod") == 1
    assert write_markdown(result).count("@@ shop/odd in prod @@") == 1


def test_the_page_of_a_unit_says_what_is_said_of_it() -> None:
    """Placeholders are for what is said of many."""
    result = changed({}, {"registries": MIRROR})
    (group,) = [
        one for one in page_data(result, Bodies())["findings"] if one["code"] == "image-registry"
    ]
    (told,) = group["told"]
    assert "{version}" in told["message"]
    new = "mirror.example/acme/unit-3"
    assert told["own"]["shop/unit-3"] == [
        [
            f"the image of version v1.3.0 comes from {new} instead of ghcr.io/acme/unit-3",
            told["place"],
        ]
    ]


def test_sums_add_up_as_they_are_shown() -> None:
    assert show_memory(1280 * 2**20) == "1.25Gi"
    sides = [
        {
            "gati.yaml": project({"prod": ["east"]}),
            "users.yaml": handler(resources={"requests": {"memory": size}}),
        }
        for size in ("640Mi", "1280Mi")
    ]
    text = write_text(reviewed(sides[0], sides[1], tree_of(sides[0])), width=200, colour=False)
    assert "memory 1.25Gi → 2.5Gi (+1.25Gi)" in text


def test_what_a_template_adds_to_all_units_is_one_change() -> None:
    """Units have labels of their own, and that makes what they get no other object."""
    body = "{# gati: unit #}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ unit.object }}-x'}\ndata: {a: b}\n"
    owned = {
        file: text.replace('"namespace"', f'"labels": {{"team": "t{number}"}}, "namespace"', 1)
        for number, (file, text) in enumerate(UNITS.items())
    }
    base = {"gati.yaml": project({"prod": ["east"]}), **owned}
    result = reviewed(base, {**base, "templates/x.yaml.j2": body}, tree_of(base))
    (only,) = result.classes
    assert (only.kind, only.units) == ("ConfigMap", len(NAMES))
