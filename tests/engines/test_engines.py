"""What both engines promise: which roots are synced, under which names, and what a switch changes."""

from __future__ import annotations

import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gati_gitops.check import check_objects, read_crds
from gati_gitops.emit.engines.roots import MAX_NAME, sync_roots
from gati_gitops.errors import Refused
from gati_gitops.render import MemoryFiles, render
from gati_gitops.spec.crds import crd_files
from tests.compile.kit import (
    after,
    below,
    compiled,
    dangling,
    handler,
    kustomize,
    objects,
    project,
    tree_of,
    write,
)
from tests.engines.kit import HOME, REPOSITORY, found, many, settings, specs
from tests.tools import crds_dir

ENGINES = ["argocd", "flux"]
SYNCED = {"argocd": "Application", "flux": "Kustomization"}


def roots(tree, engine, home=HOME):
    """The folders that are synced, by the name of what syncs them."""
    items = found(tree, SYNCED[engine], home)
    if engine == "argocd":
        return {name: item["spec"]["source"]["path"] for name, item in items.items()}
    return {name: item["spec"]["path"].removeprefix("./") for name, item in items.items()}


@pytest.mark.parametrize("engine", ENGINES)
def test_every_root_is_synced_and_the_whole_cluster_is_not(engine):
    assert roots(tree_of(specs(engine)), engine) == {
        "prod.east-crds": "overlays/prod/east/_crds",
        "prod.east.shop": "overlays/prod/east/shop",
        "prod.east.shop.namespace": "overlays/prod/east/shop/_namespace",
    }


@pytest.mark.parametrize("engine", ENGINES)
def test_every_root_is_a_folder_that_builds(engine):
    tree = tree_of(many(51, engine))
    for folder in roots(tree, engine).values():
        assert f"{folder}/kustomization.yaml" in tree


@pytest.mark.parametrize("engine", ENGINES)
def test_a_namespace_that_every_cluster_has_is_not_synced_itself(engine):
    files = {"gati.yaml": settings({"engine": engine}), "users.yaml": handler(namespace="default")}
    assert sorted(roots(tree_of(files), engine)) == ["prod.east-crds", "prod.east.default"]


def test_without_a_repository_there_is_nothing_to_sync():
    assert not below(tree_of({"users.yaml": handler()}), "clusters")


def test_argocd_is_the_engine_where_nothing_is_said():
    files = {"gati.yaml": settings(), "users.yaml": handler()}
    assert found(tree_of(files), "Application")


@pytest.mark.parametrize("engine", ENGINES)
def test_taking_the_repository_away_takes_the_objects_away(engine):
    tree = tree_of(specs(engine))
    files = {**specs(engine), "gati.yaml": project({"prod": ["east"]})}
    assert not below(tree_of(files, tree), "clusters")


@pytest.mark.parametrize("engine", ENGINES)
def test_the_output_root_stands_in_every_path(engine):
    cluster = {"east": {"sync": {"engine": engine}}}
    gati = project(
        {"prod": {"clusters": cluster}},
        sync={"repository": REPOSITORY},
        output={"root": "deploy/gati"},
    )
    paths = roots(tree_of({"gati.yaml": gati, "users.yaml": handler()}), engine).values()
    assert paths and all(path.startswith("deploy/gati/overlays/prod/east/") for path in paths)


def test_switching_the_engine_changes_nothing_but_the_clusters_folder():
    one, two = specs("argocd"), specs("flux")
    lines = zip(one["gati.yaml"].splitlines(), two["gati.yaml"].splitlines(), strict=True)
    assert sum(a != b for a, b in lines) == 1
    tree = tree_of(one)
    changes = compiled(two, tree).changes
    assert changes and all(path.startswith(f"{HOME}/") for path in changes)
    assert tree_of(two, tree) == tree_of(two)
    assert tree_of(one, tree_of(two)) == tree


def test_both_engines_in_one_project():
    clusters = {"east": {"sync": {"engine": "flux"}}, "west": {}}
    gati = project({"prod": {"clusters": clusters}}, sync={"repository": REPOSITORY})
    tree = tree_of({"gati.yaml": gati, "users.yaml": handler()})
    assert found(tree, "GitRepository") and not found(tree, "Application")
    assert found(tree, "Application", "clusters/west")
    assert not found(tree, "GitRepository", "clusters/west")


@pytest.mark.parametrize("engine", ENGINES)
def test_compiling_again_changes_nothing(engine):
    tree = tree_of(specs(engine))
    assert not compiled(specs(engine), tree).changes


# -- how large a root is ---------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_fifty_units_are_one_root_and_fifty_one_are_fifty_one(engine):
    few = roots(tree_of(many(50, engine)), engine)
    assert sorted(few) == ["prod.east-crds", "prod.east.shop", "prod.east.shop.namespace"]
    more = roots(tree_of(many(51, engine)), engine)
    assert "prod.east.shop" not in more
    units = {name: path for name, path in more.items() if ".handler-" in name}
    assert len(units) == 51
    assert units["prod.east.shop.handler-u07"] == "overlays/prod/east/shop/handler-u07"


@pytest.mark.parametrize("engine", ENGINES)
def test_growing_and_shrinking_end_as_if_it_had_always_been_so(engine):
    few, more = tree_of(many(50, engine)), tree_of(many(51, engine))
    assert roots(tree_of(many(51, engine), few), engine) == roots(more, engine)
    # The 51st unit retires through its ledger, so that the namespace stays as large as it was.
    assert roots(tree_of(many(50, engine), more), engine) == roots(more, engine)


# -- what was synced is pruned before its root goes ------------------------------------------------


def immediate(engine):
    cluster = {"east": {"sync": {"engine": engine}}}
    return project(
        {"prod": {"clusters": cluster, "onDelete": "immediate"}}, sync={"repository": REPOSITORY}
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_the_root_of_a_namespace_outlives_its_last_unit(engine, tmp_path):
    gati = immediate(engine)
    kept = handler("orders", namespace="other")
    tree = tree_of({"gati.yaml": gati, "users.yaml": handler(), "orders.yaml": kept})
    files = {"gati.yaml": gati, "orders.yaml": kept}
    tree = tree_of(files, tree)
    assert not below(tree, "overlays/prod/east/shop/handler-users")
    assert roots(tree, engine)["prod.east.shop"] == "overlays/prod/east/shop"
    assert render(MemoryFiles(tree), "overlays/prod/east/shop").objects() == []
    write(tree, tmp_path)
    assert kustomize(tmp_path, "overlays/prod/east/shop") == []
    # Its Namespace stays on the cluster: nobody is left to prune it.
    assert "prod.east.shop.namespace" not in roots(tree, engine)
    if engine == "argocd":
        spaces = found(tree, "AppProject")["prod.east.units"]["spec"]["destinations"]
        assert [item["namespace"] for item in spaces] == ["other", "shop"]
        assert found(tree, "Application")["prod.east.shop"]["spec"]["syncPolicy"]["automated"] == {
            "prune": True, "selfHeal": True, "allowEmpty": True,
        }  # fmt: skip
    assert not compiled(files, tree).changes


@pytest.mark.parametrize("engine", ENGINES)
def test_the_root_of_a_unit_outlives_it(engine):
    gati = immediate(engine)
    tree = tree_of({**many(52, engine), "gati.yaml": gati})
    tree = tree_of({**many(52, engine, without=3), "gati.yaml": gati}, tree)
    name = "prod.east.shop.handler-u03"
    assert roots(tree, engine)[name] == "overlays/prod/east/shop/handler-u03"
    assert below(tree, "overlays/prod/east/shop/handler-u03").keys() == {
        "overlays/prod/east/shop/handler-u03/kustomization.yaml"
    }
    # Back at 50 the namespace takes the living over, and only the dead keeps a root of its own.
    tree = tree_of({**many(51, engine, without=3), "gati.yaml": gati}, tree)
    left = [root for root in roots(tree, engine) if ".handler-" in root]
    assert left == [name, "prod.east.shop.handler-u51"]
    assert not dangling(tree)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_person_ends_an_empty_root_by_removing_its_file(engine):
    gati = immediate(engine)
    kept = {"gati.yaml": gati, "orders.yaml": handler("orders", namespace="other")}
    tree = tree_of(kept, tree_of({**kept, "users.yaml": handler()}))
    del tree[f"{HOME}/shop.units.yaml"]
    tree = tree_of(kept, tree)
    assert "prod.east.shop" not in roots(tree, engine)
    assert not below(tree, "overlays/prod/east/shop")


# -- Flux's own folder -----------------------------------------------------------------------------

FLUX = {
    f"{HOME}/flux-system/gotk-components.yaml": b"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: flux-system\n",
    f"{HOME}/flux-system/kustomization.yaml": b"resources:\n- gotk-components.yaml\n",
}


@pytest.mark.parametrize("engine", ENGINES)
def test_the_folder_of_flux_is_left_alone_and_stays_in_the_build(engine, tmp_path):
    compilation = compiled(specs(engine), FLUX)
    tree = after(FLUX, compilation)
    assert not compilation.changes.keys() & FLUX.keys()
    assert objects(tree, f"{HOME}/kustomization.yaml")[0]["resources"][-1] == "flux-system"
    write(tree, tmp_path)
    kinds = [item["kind"] for item in kustomize(tmp_path, HOME)]
    assert "Namespace" in kinds and SYNCED[engine] in kinds
    assert not compiled(specs(engine), tree).changes


def test_the_folder_of_flux_is_left_alone_where_nothing_is_synced():
    assert not compiled({"users.yaml": handler()}, FLUX).foreign
    tree = tree_of(specs("flux"), FLUX)
    files = {**specs("flux"), "gati.yaml": project({"prod": ["east"]})}
    assert below(tree_of(files, tree), "clusters") == FLUX


def test_other_files_beside_ours_are_foreign():
    with pytest.raises(Refused, match=r"clusters/east/mine\.yaml"):
        compiled(specs("flux"), {f"{HOME}/mine.yaml": b"a: b\n"})


# -- several sources -------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_a_source_that_does_not_own_the_settings_adds_its_roots(engine):
    first = specs(engine, branch="live")
    tree = tree_of(first)
    second = {
        "gati.yaml": project({"prod": ["east"]}, name="pay"),
        "pay.yaml": handler("pay", namespace="payments"),
    }
    both = tree_of(second, tree)
    assert roots(both, engine).keys() - roots(tree, engine).keys() == {
        "prod.east.payments",
        "prod.east.payments.namespace",
    }
    assert both[f"{HOME}/sync.yaml"] == tree[f"{HOME}/sync.yaml"]
    assert not compiled(second, both).changes
    assert not compiled(first, both).changes


def test_a_spoilt_record_is_refused():
    tree = tree_of(specs())
    second = {"gati.yaml": project({"prod": ["east"]}, name="pay"), "pay.yaml": handler("pay")}
    path = f"{HOME}/sync.yaml"
    tree[path] = tree[path].replace(b"format: 1", b"format: 2")
    with pytest.raises(Refused, match="format 2"):
        compiled(second, tree)
    tree[path] = tree[path].replace(b"repository: https", b"repository: ftp")
    with pytest.raises(Refused, match=re.escape(path)):
        compiled(second, tree)


# -- what is built is valid ------------------------------------------------------------------------


@pytest.mark.kustomize
@pytest.mark.parametrize("engine", ENGINES)
def test_kustomize_builds_the_clusters_folder_and_every_object_is_valid(engine, tmp_path):
    here = {"engine": engine}
    here |= {"name": "east"} if engine == "argocd" else {"kubeConfig": {"name": "east"}}
    gati = settings(here, flux={"interval": "1d", "secret": "deploy-key"})
    tree = tree_of({**specs(), "gati.yaml": gati})
    write(tree, tmp_path)
    built = kustomize(tmp_path, HOME)
    assert render(MemoryFiles(tree), HOME).objects() == built
    crds = read_crds({path.name: path.read_bytes() for path in crds_dir().glob("*.yaml")})
    assert len(built) == 5 if engine == "argocd" else 4
    problems = check_objects([(HOME, item) for item in built], crds)
    assert not problems, [(p.field, p.message) for p in problems]
    assert all("finalizers" not in item["metadata"] for item in built)


# -- names -----------------------------------------------------------------------------------------

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
labels = st.one_of(
    st.from_regex(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True),
    st.sampled_from(["a", "a-b", "b", "b-c", "c", "crds", "namespace", "units", "flux-system"]),
    st.integers(40, 63).map(lambda length: "x" * length),
)
units = st.tuples(labels, st.tuples(st.sampled_from(["handler", "module"]), labels).map("-".join))


@given(
    st.lists(st.tuples(labels, labels), min_size=1, max_size=3, unique_by=lambda pair: pair[1]),
    st.lists(units, min_size=1, max_size=8, unique=True),
    st.booleans(),
)
def test_names_are_legal_and_unique_whatever_things_are_called(places, pairs, large):
    if large:
        pairs = [*pairs, *((pairs[0][0], f"handler-{n:02}") for n in range(51))]
    seen = {}
    for env, cluster in places:
        files = set()
        for root in sync_roots(env, cluster, set(pairs), {n: True for n, _ in pairs}, ()):
            assert len(root.name) <= MAX_NAME
            assert all(LABEL.fullmatch(part) for part in root.name.split(".")), root.name
            assert seen.setdefault(root.name, root.folder) == root.folder
            assert root.file not in files and len(root.file) < 256
            files.add(root.file)
            assert root.file not in (
                "kustomization.yaml",
                "sync.yaml",
                "project.yaml",
                "source.yaml",
            )
    assert len(set(seen.values())) == len(seen)


def test_a_cut_name_is_legal_and_tells_its_whole_identity():
    (one,) = [r for r in sync_roots("e", "c", [("n" * 50, "module-a")], {}, ()) if r.base]
    assert one.name == f"e.c.{'n' * 50}"
    cut = {
        root.name
        for unit in ("handler-a", "handler-b")
        for root in sync_roots(
            "e" * 40,
            "c",
            [("n" * 12, unit), *[("n" * 12, f"handler-{n}") for n in range(60)]],
            {},
            (),
        )
        if root.unit == unit
    }
    assert len(cut) == 2
    for name in cut:
        assert len(name) <= 63 and ".-" not in name and "-." not in name


def test_names_do_not_depend_on_folders():
    tree = tree_of(specs())
    moved = project(
        {"prod": {"clusters": {"east": {}}}}, sync={"repository": REPOSITORY}, output={"root": "x"}
    )
    other = tree_of({**specs(), "gati.yaml": moved})
    assert roots(tree, "argocd").keys() == roots(other, "argocd").keys()


def test_the_crds_in_the_folder_are_those_that_are_written():
    names = {
        yaml.safe_load(data)["metadata"]["name"]
        for file, data in crd_files().items()
        if file != "kustomization.yaml"
    }
    listed = found(tree_of(specs()), "AppProject")["prod.east.cluster"]["spec"]
    assert {
        i["name"] for i in listed["clusterResourceWhitelist"] if i["kind"] != "Namespace"
    } == names
