"""One change in many units is said once, what strays from it apart, and names do not matter."""

from __future__ import annotations

from tests.compile.kit import canary, handler, project, tree_of
from tests.preview.cases import CASES
from tests.preview.sides import reviewed

ONE = canary({"prod": ["east"]})


def fleet(count: int, **spec: object) -> dict[str, str]:
    return {f"unit-{n:02}.yaml": handler(f"unit-{n:02}", **spec) for n in range(count)}


def memory(amount: str) -> dict[str, object]:
    return {"resources": {"requests": {"memory": amount}}}


def test_one_change_in_57_units_with_3_outliers():
    base = {"gati.yaml": ONE, **fleet(60, **memory("128Mi"))}
    head = {"gati.yaml": ONE, **fleet(60, **memory("256Mi"))}
    for number in (7, 20):
        head[f"unit-{number:02}.yaml"] = handler(f"unit-{number:02}", **memory("512Mi"))
    head["unit-33.yaml"] = handler("unit-33", **memory("1Gi"))
    review = reviewed(base, head, tree_of(base))
    (found,) = review.classes
    assert found.units == len(found.targets) == 57
    assert found.title == "Deployment: resources.requests.memory 128Mi → 256Mi"
    assert [outlier.target.unit for outlier in found.outliers] == [
        "shop/unit-07",
        "shop/unit-20",
        "shop/unit-33",
    ]
    assert [outlier.fields[0].after for outlier in found.outliers] == ["512Mi", "512Mi", "1Gi"]


def test_what_a_unit_has_beside_the_class_stays_its_own():
    review = reviewed(
        CASES["many-units"].base, CASES["many-units"].head, CASES["many-units"].ledger()
    )
    (unit,) = [u for _, cluster, u in review.units() if u.name == "unit-00" and cluster == "d1"]
    fields = {field.shown: field.change_class for _, c in unit.all_objects() for field in c.fields}
    own = {path for path, name in fields.items() if "OWN" in path}
    shared = {name for path, name in fields.items() if "memory" in path}
    (of_unit,) = {c.id for c in review.classes if c.units == 1}
    (of_all,) = {c.id for c in review.classes if c.units > 1}
    assert {fields[path] for path in own} == {of_unit}
    assert shared == {of_all}


def test_names_of_units_and_versions_do_not_tell_changes_apart():
    base, head = {"gati.yaml": ONE}, {"gati.yaml": ONE}
    for number, name in enumerate(("users", "orders", "stock")):
        was, now = f"v1.{number}.0", f"v2.{number}.0"
        base[f"{name}.yaml"] = handler(name, was, image=f"ghcr.io/acme/{name}:1")
        head[f"{name}.yaml"] = handler(name, now, image=f"ghcr.io/acme/{name}:2")
    review = reviewed(base, head, tree_of(base))
    assert {found.units for found in review.classes} == {3}
    assert {found.kind for found in review.classes} == {
        "Deployment",
        "HTTPRoute",
        "PodDisruptionBudget",
        "Service",
        "ServiceAccount",
    }
    deployment = next(found for found in review.classes if found.kind == "Deployment")
    assert deployment.title.endswith("image ghcr.io/acme/{unit}:1 → ghcr.io/acme/{unit}:2")
    for _, _, unit in review.units():
        assert all(
            change.change_class or all(field.change_class for field in change.fields)
            for _, change in unit.all_objects()
        )


def test_one_unit_on_several_clusters_is_a_class_too():
    settings = project({"dev": ["d1"], "prod": ["east", "west"]})
    base = {"gati.yaml": settings, "users.yaml": handler(replicas=2)}
    head = {"gati.yaml": settings, "users.yaml": handler(replicas=3)}
    (found,) = reviewed(base, head, tree_of(base)).classes
    assert (found.units, len(found.targets)) == (1, 3)


def test_a_class_has_the_same_id_on_every_run():
    case = CASES["many-units"]
    one, two = (reviewed(case.base, case.head, case.ledger()) for _ in range(2))
    assert [found.id for found in one.classes] == [found.id for found in two.classes]
    assert len({found.id for found in one.classes}) == len(one.classes)


def test_every_class_that_a_change_names_is_there():
    for case in CASES.values():
        review = reviewed(case.base, case.head, case.ledger())
        known = {found.id for found in review.classes}
        used = {
            name
            for _, _, unit in review.units()
            for _, change in unit.all_objects()
            for name in (change.change_class, *(field.change_class for field in change.fields))
            if name
        }
        assert used <= known


def test_an_image_that_is_named_like_its_version_is_no_noise():
    base, head = {"gati.yaml": ONE}, {"gati.yaml": ONE}
    for name in ("users", "orders"):
        base[f"{name}.yaml"] = handler(name, "v1.2.0", image=f"ghcr.io/acme/{name}:v1.2.0")
        head[f"{name}.yaml"] = handler(name, "v1.3.0", image=f"ghcr.io/acme/{name}:v1.3.0")
    for before in (tree_of(base), None):
        review = reviewed(base, head, before)
        (found,) = [found for found in review.classes if found.kind == "Deployment"]
        assert found.title.endswith(
            "image ghcr.io/acme/{unit}:{previous} → ghcr.io/acme/{unit}:{version}"
        )
        images = [
            (field.before, field.after)
            for _, _, unit in review.units()
            for _, change in unit.all_objects()
            for field in change.fields
            if field.path[-1] == "image"
        ]
        assert ("ghcr.io/acme/users:v1.2.0", "ghcr.io/acme/users:v1.3.0") in images
