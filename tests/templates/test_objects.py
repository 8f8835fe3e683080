"""Objects that templates make: which are refused, and where the others end up."""

from __future__ import annotations

import pytest

from gati_gitops.check import check_objects
from gati_gitops.errors import SpecsInvalid
from gati_gitops.render import MemoryFiles, render
from tests.compile.kit import (
    UNIT,
    after,
    compiled,
    decide,
    document,
    handler,
    kustomizations,
    kustomize,
    ledger,
    moved,
    objects,
    project,
    tree_of,
    version,
    write,
)
from tests.templates.kit import HEAD, files, problems, refused, values, version_template

UNIT_HEAD = HEAD.replace("version.name", "unit.object")


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, line, words",
    [
        ("kind: ConfigMap\nmetadata: {name: x}", 2, "no valid apiVersion"),
        ("apiVersion: v1\nmetadata: {name: x}", 2, "no valid kind"),
        ("apiVersion: v1\nkind: ConfigMap", 2, "no metadata.name"),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: Upper", 5, "no name of an object"),
        ("- a\n- b", 2, "no object"),
        ("just text", 2, "no object"),
        (UNIT_HEAD + "status: {}", 6, "status"),
        (UNIT_HEAD + "  namespace: other", 6, "another namespace"),
        (UNIT_HEAD + "  finalizers: [a]", 6, "metadata.finalizers"),
        (UNIT_HEAD + "  ownerReferences: []", 6, "metadata.ownerReferences"),
        (UNIT_HEAD + "  generateName: a", 6, "metadata.generateName"),
        (UNIT_HEAD + "  labels: {gati.dev/unit: x}", 6, "gati.dev/unit"),
        (UNIT_HEAD + "  labels:\n    app.kubernetes.io/managed-by: me", 7, "managed-by"),
        (UNIT_HEAD + "  labels: {a: 1}", 6, "label a"),
        (UNIT_HEAD + "  labels: {'a b': x}", 6, "'a b' is no label"),
        (UNIT_HEAD + "  labels: [a]", 6, "labels are a mapping"),
        (UNIT_HEAD + "  annotations: {a: true}", 6, "annotation a is no text"),
        (
            UNIT_HEAD + "  annotations:\n    config.kubernetes.io/local-config: 'true'",
            7,
            "kustomize",
        ),
        (UNIT_HEAD + "  annotations:\n    argocd.argoproj.io/hook: PreSync", 7, "commits"),
        (UNIT_HEAD + "  annotations:\n    argocd.argoproj.io/sync-wave: '1'", 7, "commits"),
        (UNIT_HEAD + "data:\n  $patch: delete", 7, "$patch"),
        (UNIT_HEAD + "data:\n  a:\n  - null", 8, "null"),
        (UNIT_HEAD.replace("{{ unit.object }}", "other"), 5, "does not begin with handler-users"),
        (UNIT_HEAD.replace("{{ unit.object }}-x", "{{ unit.object }}x"), 5, "does not begin"),
        (UNIT_HEAD.replace("ConfigMap", "Namespace"), 3, "not an object of a namespace"),
        (UNIT_HEAD.replace("ConfigMap", "ClusterRoleBinding"), 3, "not an object of a namespace"),
        (UNIT_HEAD.replace("ConfigMap", "CustomResourceDefinition"), 3, "not an object"),
        (UNIT_HEAD.replace("ConfigMap", "Secret") + "data: {a: eA==}", 3, "Secret"),
        (UNIT_HEAD.replace("ConfigMap", "Secret") + "stringData: {a: x}", 3, "Secret"),
        (UNIT_HEAD.replace("ConfigMap", "ConfigMapList") + "items: []", 3, "ConfigMapList"),
        (
            UNIT_HEAD.replace("v1\n", "gati.dev/v1alpha1\n").replace("ConfigMap", "GatiHandler"),
            3,
            "Gati",
        ),
        (
            UNIT_HEAD.replace("v1\n", "kustomize.config.k8s.io/v1beta1\n").replace(
                "ConfigMap", "Kustomization"
            ),
            3,
            "Kustomization",
        ),
    ],
)
def test_objects_that_are_refused(text, line, words):
    problem = refused(f"{{# gati: unit #}}\n{text}\n")
    assert words in problem.message
    assert problem.place.line == line, problem


def test_objects_of_a_namespace_keep_off_the_units_names():
    text = HEAD.replace("{{ version.name }}-x", "handler-users")
    problem = refused(f"{{# gati: environment #}}\n{text}")
    assert "could be a unit's" in problem.message


def test_a_version_names_its_version():
    problem = refused(
        "{# gati: version #}\n" + HEAD.replace("{{ version.name }}", "{{ unit.object }}")
    )
    assert "does not begin with handler-users-v1" in problem.message


def test_two_templates_can_not_make_the_same_object():
    text = f"{{# gati: unit #}}\n{UNIT_HEAD}"
    (problem,) = problems(files(text, other=text))
    assert problem.code == "template-collision"
    assert problem.place.file == "templates/other.yaml.j2"
    assert "templates/extra.yaml.j2" in problem.message
    (twice,) = problems(files(f"{text}---\n{UNIT_HEAD}"))
    assert twice.code == "template-collision"


@pytest.mark.parametrize(
    "scope, api, kind, name",
    [
        ("version", "apps/v1", "Deployment", "version.name"),
        ("version", "apps/v1beta1", "Deployment", "version.name"),
        ("version", "v1", "Service", "version.name"),
        ("unit", "gateway.networking.k8s.io/v1", "HTTPRoute", "unit.object"),
    ],
)
def test_a_template_can_not_make_what_we_make(scope, api, kind, name):
    text = f"{{# gati: {scope} #}}\napiVersion: {api}\nkind: {kind}\nmetadata:\n  name: {{{{ {name} }}}}\n"
    with pytest.raises(SpecsInvalid) as caught:
        tree_of(files(text))
    (problem,) = caught.value.problems
    assert problem.code == "template-collision"
    assert "the compiler's own, of shop/users" in problem.message


def test_the_same_name_for_another_kind_is_fine():
    text = "{# gati: version #}\napiVersion: a.example/v1\nkind: Service\nmetadata:\n  name: {{ version.name }}\n"
    assert tree_of(files(text))


def test_units_whose_names_begin_alike_can_not_share_an_object():
    text = (
        "{# gati: unit #}\n{% if unit.name == 'users' %}\n"
        + UNIT_HEAD.replace("-x", "-admin-x")
        + "{% else %}\n"
        + UNIT_HEAD
        + "{% endif %}\n"
    )
    with pytest.raises(SpecsInvalid) as caught:
        tree_of(files(text) | {"admin.yaml": handler("users-admin")})
    assert {p.code for p in caught.value.problems} == {"template-collision"}


def test_argo_cd_must_be_allowed_to_apply_it():
    text = "{# gati: unit #}\napiVersion: a.example/v1\nkind: Thing\nmetadata:\n  name: {{ unit.object }}\n"
    sync = {"repository": "https://git.example.com/acme/deploy.git"}
    specs = files(text)

    def codes(**argocd):
        specs["gati.yaml"] = project({"prod": ["east"]}, sync={**sync, **argocd})
        try:
            tree_of(specs)
        except SpecsInvalid as error:
            return [(p.code, p.remedy) for p in error.problems]
        return []

    ((code, remedy),) = codes()
    assert code == "template-kind"
    assert "{group: a.example, kind: Thing}" in remedy
    assert codes(argocd={"kinds": [{"group": "a.example", "kind": "Thing"}]}) == []


# -- where they go ---------------------------------------------------------------------------------

SETTINGS = version_template(
    "{% for key, value in version.env | items %}\n  {{ key }}: {{ value }}\n{% endfor %}"
)
MONITOR = """\
{# gati: unit #}
apiVersion: a.example/v1
kind: Watch
metadata:
  name: {{ unit.object }}-watch
  annotations:
    where: {{ environment.name }}/{{ cluster.name }}
spec:
  selector: {{ unit.selector }}
  ports: [{ name: {{ unit.portName }} }]
  every: {{ 15 if environment.name == "prod" else 60 }}
"""
QUOTA = """\
{# gati: environment #}
apiVersion: v1
kind: ResourceQuota
metadata:
  name: team
spec:
  hard:
    pods: {{ 100 if environment.name == "prod" else 20 }}
---
apiVersion: v1
kind: LimitRange
metadata:
  name: {{ namespace.name }}-limits
spec:
  limits:
  - type: Container
    default: {memory: 1Gi}
"""


def shop(**more: str) -> dict[str, str]:
    return files(SETTINGS, watch=MONITOR, quota=QUOTA) | more


def test_objects_of_a_version_are_part_of_its_release():
    tree = tree_of(shop())
    (path,) = [p for p in tree if p.endswith("/template-extra.yaml")]
    assert path.startswith("base/shop/handler-users/v1-")
    (made,) = objects(tree, path)
    assert made["data"] == {"A": "1", "B": "2"}
    assert made["metadata"]["namespace"] == "shop"
    assert made["metadata"]["labels"]["gati.dev/version"] == "v1"
    assert tree[path].startswith(
        b"# Generated by gati-gitops from users.yaml, templates/extra.yaml.j2."
    )


def test_objects_of_a_unit_are_part_of_its_overlay():
    tree = tree_of(shop())
    every = {}
    for env, cluster in (("prod", "east"), ("staging", "stage")):
        (made,) = objects(tree, f"overlays/{env}/{cluster}/shop/handler-users/templates.yaml")
        every[made["metadata"]["annotations"]["where"]] = made["spec"]["every"]
        assert made["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "gati-gitops"
    assert every == {"prod/east": 15, "staging/stage": 60}
    assert tree[f"{UNIT}/templates.yaml"].startswith(
        b"# Generated by gati-gitops from templates/watch"
    )


def test_objects_of_an_environment_are_part_of_its_namespaces():
    more = document("GatiHandler", "cart", {"handlerPath": "/cart", "version": "v1", "replicas": 1,
                    "image": "ghcr.io/acme/cart:1", "port": 80}, "other")  # fmt: skip
    tree = tree_of(shop(**{"cart.yaml": more}))
    for namespace in ("shop", "other"):
        quota, limits = objects(
            tree, f"overlays/prod/east/{namespace}/_namespace/template-quota.yaml"
        )
        assert quota["metadata"]["namespace"] == namespace
        assert quota["spec"]["hard"] == {"pods": 100}
        assert limits["metadata"]["name"] == f"{namespace}-limits"
    assert b"pods: 20" in tree["overlays/staging/stage/shop/_namespace/template-quota.yaml"]


def test_a_field_that_is_null_is_left_out():
    body = "  a: {{ unit.module }}\n  b:\n{% for x in [] %}\n    c: d\n{% endfor %}"
    assert values(body + "\n  e: f") == {"e": "f"}
    tree = tree_of(files(version_template("")))
    assert "data" not in objects(tree, next(p for p in tree if "template-extra" in p))[0]


def test_a_built_in_namespace_gets_them_too():
    unit = handler(namespace="default")
    tree = tree_of(files(QUOTA, unit))
    assert "overlays/prod/east/default/_namespace/template-extra.yaml" in tree
    assert "default/_namespace" in tree["overlays/prod/east/kustomization.yaml"].decode()


def partial(**spec) -> str:
    return document("GatiHandler", "users", spec)


def test_an_environment_changes_the_objects_of_its_versions():
    specs = shop(**{"environments/prod/users.yaml": partial(env={"A": "changed", "C": "3"})})
    tree = tree_of(specs)
    made = {
        env: [i for i in render(MemoryFiles(tree), folder).objects() if i["kind"] == "ConfigMap"]
        for env, folder in (
            ("prod", UNIT),
            ("staging", "overlays/staging/stage/shop/handler-users"),
        )
    }
    assert made["prod"][0]["data"] == {"A": "changed", "B": "2", "C": "3"}
    assert made["staging"][0]["data"] == {"A": "1", "B": "2"}


def test_an_environment_can_have_objects_that_the_base_has_not():
    text = f"{{# gati: version #}}\n{{% if version.env.A == 'x' %}}\n{HEAD}{{% endif %}}\n"
    specs = files(text) | {"environments/prod/users.yaml": partial(env={"A": "x"})}
    tree = tree_of(specs)
    assert [i["metadata"]["name"] for i in objects(tree, f"{UNIT}/extra.yaml")] == [
        "handler-users-v1-x"
    ]
    # and the other way round
    specs["users.yaml"] = handler(env={"A": "x"})
    specs["environments/prod/users.yaml"] = partial(env={"A": "y"})
    kinds = [i["kind"] for i in render(MemoryFiles(tree_of(specs)), UNIT).objects()]
    assert "ConfigMap" not in kinds


def test_annotations_of_one_environment_reach_templates():
    body = '  a: {{ unit.annotations["acme.com/x"] | default("none") }}'
    text = "kind: GatiHandler\nmetadata:\n  name: users\n  namespace: shop\n  annotations: {acme.com/x: here}\n"
    tree = tree_of(files(version_template(body)) | {"environments/prod/users.yaml": text})
    (made,) = [i for i in render(MemoryFiles(tree), UNIT).objects() if i["kind"] == "ConfigMap"]
    assert made["data"] == {"a": "here"}


@pytest.mark.kustomize
def test_kustomize_builds_what_we_render(tmp_path):
    specs = shop(
        **{"environments/prod/users.yaml": partial(env={"A": "changed: [x", "B": None})},
        **{"templates/watch2.yaml.j2": MONITOR.replace("unit #", "version #").replace(
            "unit.object", "version.name").replace(
            "{{ environment.name }}/{{ cluster.name }}", "x").replace(
            '{{ 15 if environment.name == "prod" else 60 }}', "{{ version.env | length }}")},
    )  # fmt: skip
    tree = tree_of(specs)
    write(tree, tmp_path)
    for folder in kustomizations(tree):
        if folder.startswith("overlays/") and "_crds" not in folder:
            assert kustomize(tmp_path, folder) == list(render(MemoryFiles(tree), folder).objects())
    checked = check_objects(
        ("x", item)
        for item in render(MemoryFiles(tree), UNIT).objects()
        if item["kind"] in ("ConfigMap", "ResourceQuota", "LimitRange")
    )
    assert checked == []


@pytest.mark.kustomize
def test_lists_of_a_kind_that_nobody_knows_are_replaced(tmp_path):
    text = """\
{# gati: version #}
apiVersion: a.example/v1
kind: Thing
metadata:
  name: {{ version.name }}
  annotations: {{ version.env }}
spec:
  env:
{% for key, value in version.env | items %}
  - {name: {{ key }}, value: {{ value }}}
{% endfor %}
  resources: {{ version.env }}
top: {{ version.env | keys }}
"""
    specs = files(text) | {"environments/prod/users.yaml": partial(env={"A": None, "C": "3"})}
    tree = tree_of(specs)
    write(tree, tmp_path)
    (made,) = [item for item in kustomize(tmp_path, UNIT) if item["kind"] == "Thing"]
    assert made["spec"]["env"] == [{"name": "B", "value": "2"}, {"name": "C", "value": "3"}]
    assert made["spec"]["resources"] == made["metadata"]["annotations"] == {"B": "2", "C": "3"}
    assert made["top"] == ["B", "C"]
    assert made in list(render(MemoryFiles(tree), UNIT).objects())


# -- over time -------------------------------------------------------------------------------------


def test_compiling_again_changes_nothing():
    tree = tree_of(shop())
    assert compiled(shop(), tree).changes == {}


def test_a_template_that_goes_takes_its_objects_along():
    tree = tree_of(shop())
    left = {k: v for k, v in shop().items() if not k.startswith("templates/")}
    gone = tree_of(left, tree)
    # the release folder stays as the way back
    assert {p.split("/")[0] for p in gone if "template" in p} == {"base"}
    assert b"template" not in b"".join(
        gone[p] for p in gone if p.endswith("/kustomization.yaml") and "base" not in p
    )


def test_a_changed_template_of_versions_is_a_revision():
    """So that it passes promotion and can be refused, as other changes of a release."""
    before = tree_of(shop())
    changed = shop(**{"templates/extra.yaml.j2": SETTINGS.replace("\ndata:", "\ndata:\n  new: x")})
    old, new = ledger(before).entries[0], ledger(tree_of(changed, before)).entries[0]
    assert old.digest != new.digest
    assert new.previous == old.digest
    changed["gati.yaml"] = project({"prod": {"clusters": {"east": {}}, "revisions": "refuse"}})
    with pytest.raises(SpecsInvalid) as caught:
        tree_of(changed, tree_of(shop(**{"gati.yaml": changed["gati.yaml"]})))
    assert {p.code for p in caught.value.problems} == {"revision-refused"}


def test_templates_are_not_part_of_other_versions_digests():
    bare = {k: v for k, v in shop().items() if not k.startswith("templates/")}
    nothing = bare | {"templates/no.yaml.j2": "{# gati: version #}\n"}
    assert tree_of(nothing) == tree_of(bare)


def test_the_overlay_is_made_from_the_stored_plan_alone():
    """A rollout has no specs: what a unit's templates gave is in unit.yaml."""
    tree = tree_of(shop())
    retired = {
        k: v for k, v in shop().items() if k not in {"users.yaml", "templates/watch.yaml.j2"}
    }
    retired["other.yaml"] = handler("other")
    kept = tree_of(retired, tree)
    assert kept[f"{UNIT}/templates.yaml"] == tree[f"{UNIT}/templates.yaml"]


def test_a_held_unit_keeps_its_objects():
    from dataclasses import replace

    tree = decide(tree_of(shop()), lambda found: replace(found, hold="wait"))
    changed = shop(**{"templates/watch.yaml.j2": MONITOR.replace("every:", "often:")})
    assert tree_of(changed, tree)[f"{UNIT}/templates.yaml"] == tree[f"{UNIT}/templates.yaml"]


def test_a_version_without_a_spec_keeps_its_objects():
    one = shop(**{"users.yaml": handler(version="v1", weight=100)})
    two = one | {"users.yaml": handler(version="v2", weight=100)}
    tree = decide(tree_of(two, tree_of(one)), moved(v1=("Active", 90), v2=("Canary", 10)))
    made = [p for p in tree_of(two, tree) if p.endswith("template-extra.yaml")]
    assert sorted(p.split("/")[3][:3] for p in made) == ["v1-", "v2-"]


def test_each_version_has_its_own():
    specs = shop(**{"v2.yaml": version("users", "v2", 10, image="ghcr.io/acme/users:2"),
                    "users.yaml": handler(weight=90)})  # fmt: skip
    names = [
        i["metadata"]["name"]
        for i in render(MemoryFiles(tree_of(specs)), UNIT).objects()
        if i["kind"] == "ConfigMap"
    ]
    assert sorted(names) == ["handler-users-v1-x", "handler-users-v2-x"]


def test_another_source_keeps_what_the_owner_gave_the_namespaces():
    tree = tree_of(shop())
    other = {
        "gati.yaml": project({"staging": ["stage"], "prod": ["east"]}, name="other"),
        "cart.yaml": handler("cart"),
        "templates/quota.yaml.j2": QUOTA.replace("100", "999"),
    }
    second = after(tree, compiled(other, tree))
    path = "overlays/prod/east/shop/_namespace/template-quota.yaml"
    assert second[path] == tree[path]
    assert compiled(shop(), second).changes == {}


def test_wrong_templates_write_nothing():
    for bad in (
        MONITOR + "{{ x }}",
        QUOTA + "{{ x }}",
        SETTINGS + "{{ x }}",
        QUOTA.replace("team", "handler-a"),
    ):
        with pytest.raises(SpecsInvalid):
            compiled(files(bad))
