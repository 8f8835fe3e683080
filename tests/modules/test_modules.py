"""Modules: one name for callers, discovery, runtime classes, capabilities."""

from __future__ import annotations

import re
from typing import Any

import pytest

from gati_gitops.errors import SpecsInvalid
from gati_gitops.plan.capabilities import (
    CACHE_PORTS,
    CAPABILITIES,
    DATABASE_PORTS,
    STORAGE,
    STORAGE_SIZE,
)
from tests.compile.kit import (
    canary,
    compiled,
    decide,
    document,
    handler,
    ledger,
    module,
    moved,
    objects,
    project,
    tree_of,
)
from tests.docs.blocks import ROOT

MODULE = "overlays/prod/east/shop/module-db"


def pod(tree: dict[str, bytes], unit: str) -> dict[str, Any]:
    (path,) = [p for p in tree if p.endswith("/deployment.yaml") and f"/{unit}/" in p]
    return objects(tree, path)[0]["spec"]["template"]["spec"]


def env(tree: dict[str, bytes], unit: str) -> dict[str, str]:
    return {e["name"]: e["value"] for e in pod(tree, unit)["containers"][0]["env"]}


def problems(*documents: str, **settings: Any) -> list[Any]:
    files = {f"{number}.yaml": text for number, text in enumerate(documents)}
    with pytest.raises(SpecsInvalid) as caught:
        compiled({"gati.yaml": project(**settings), **files})
    return [problem for problem in caught.value.problems if problem.is_error]


# -- the Service of the module ---------------------------------------------------------------------


def test_callers_go_to_the_active_version():
    files = {"gati.yaml": canary(), "db.yaml": module(version="1")}
    tree = tree_of(files)
    (service,) = objects(tree, f"{MODULE}/service.yaml")
    assert service["metadata"]["name"] == "module-db"
    assert service["spec"]["selector"] == {"gati.dev/unit": "module-db", "gati.dev/version": "1"}
    files["db.yaml"] = module(version="2", image="ghcr.io/acme/db:2", port=50052)
    tree = tree_of(files, tree)
    assert {e.id: e.phase.value for e in ledger(tree, MODULE).entries} == {
        "1": "Active",
        "2": "Starting",
    }
    assert objects(tree, f"{MODULE}/service.yaml") == [service], "the new one only starts"
    change = moved(**{"1": ("Draining", 0), "2": ("Active", 100)})
    tree = tree_of(files, decide(tree, change, MODULE))
    (service,) = objects(tree, f"{MODULE}/service.yaml")
    assert service["spec"]["selector"]["gati.dev/version"] == "2"
    assert [(p["port"], p["targetPort"]) for p in service["spec"]["ports"]] == [(50052, 50052)]


def test_a_module_named_like_a_version_of_another_is_refused():
    (problem,) = problems(module("db", version="pool"), module("db-pool"))
    assert problem.code == "name-collision"
    assert "module-db-pool" in problem.message and problem.place.line


def test_a_module_named_like_a_version_that_still_drains_is_refused():
    files = {"gati.yaml": canary(), "db.yaml": module("db", version="pool")}
    tree = tree_of(files)
    files["db.yaml"] = module("db", version="2", image="ghcr.io/acme/db:2")
    tree = tree_of(files, tree)
    files["pool.yaml"] = module("db-pool")
    with pytest.raises(SpecsInvalid) as caught:
        compiled(files, tree)
    (problem,) = caught.value.problems
    assert problem.code == "name-collision" and "module-db-pool" in problem.message


# -- discovery -------------------------------------------------------------------------------------


def test_callers_find_a_module_by_variables_and_others_do_not():
    files = {
        "gati.yaml": project(),
        "users.yaml": handler(modules=["db-pool", "other/render"]),
        "carts.yaml": handler("carts"),
        "pool.yaml": module("db-pool", probes={"type": "grpc"}),
        "render.yaml": document(
            "GatiModule",
            "render",
            {
                "moduleName": "render",
                "moduleType": "oci",
                "runtime": "oci",
                "replicas": 1,
                "image": "r.example/render:1",
                "port": 8080,
                "probes": {"type": "http"},
                "modules": ["shop/db-pool"],
            },
            "other",
        ),
    }
    tree = tree_of(files)
    pool = {
        "GATI_MODULE_DB_POOL_HOST": "module-db-pool.shop.svc",
        "GATI_MODULE_DB_POOL_PORT": "50051",
        "GATI_MODULE_DB_POOL_URL": "grpc://module-db-pool.shop.svc:50051",
    }
    found = {k: v for k, v in env(tree, "handler-users").items() if k.startswith("GATI_MODULE")}
    assert found == pool | {
        "GATI_MODULE_RENDER_HOST": "module-render.other.svc",
        "GATI_MODULE_RENDER_PORT": "8080",
        "GATI_MODULE_RENDER_URL": "http://module-render.other.svc:8080",
    }
    assert pool.items() <= env(tree, "module-render").items(), "modules call modules, too"
    for unit in ("handler-carts", "module-db-pool"):
        assert not [name for name in env(tree, unit) if name.startswith("GATI_MODULE")]
    for host in (name for name in found.values() if name.endswith(".svc")):
        name, namespace, _ = host.split(".")
        path = f"overlays/prod/east/{namespace}/{name}/service.yaml"
        assert objects(tree, path)[0]["metadata"]["name"] == name, "the name leads somewhere"


def test_what_a_spec_says_itself_wins():
    files = {
        "gati.yaml": project(),
        "users.yaml": handler(modules=["db"], env={"GATI_MODULE_DB_URL": "postgres://x"}),
        "db.yaml": module(),
    }
    found = env(tree_of(files), "handler-users")
    assert found["GATI_MODULE_DB_URL"] == "postgres://x"
    assert found["GATI_MODULE_DB_PORT"] == "50051"


def test_a_module_that_moves_to_another_port_is_a_revision_of_its_callers():
    files = {"gati.yaml": project(), "users.yaml": handler(modules=["db"]), "db.yaml": module()}
    tree = tree_of(files)
    old = ledger(tree).entries[0].digest
    files["db.yaml"] = module(port=50052)
    tree = tree_of(files, tree)
    (entry,) = ledger(tree).entries
    assert entry.digest != old and entry.previous == old
    again = compiled(files, tree)
    assert again.changes == {}


def test_an_environment_that_moves_a_module_moves_its_callers_there_only():
    environments = {"dev": ["d"], "prod": ["east"]}
    files = {
        "gati.yaml": project(environments),
        "users.yaml": handler(modules=["db"]),
        "db.yaml": module(),
        "environments/dev/db.yaml": (
            "kind: GatiModule\nmetadata: {name: db, namespace: shop}\nspec: {port: 6000}\n"
        ),
    }
    tree = tree_of(files)
    users = "shop/handler-users/kustomization.yaml"
    assert b'value: "6000"' in tree[f"overlays/dev/d/{users}"]
    assert b"6000" not in tree[f"overlays/prod/east/{users}"]
    assert b"port: 6000" in tree["overlays/dev/d/shop/handler-users/network.yaml"]


@pytest.mark.parametrize(
    ("reference", "remedy"),
    [
        ("databse", "did you mean database?"),
        ("other/database", "did you mean database?"),
        ("zzz", "add its GatiModule"),
    ],
)
def test_a_module_that_is_not_there(reference, remedy):
    (problem,) = problems(handler(modules=["database", reference]), module("database"))
    assert (problem.code, problem.field) == ("unknown-module", "spec.modules[1]")
    assert remedy in problem.remedy and problem.place.line > 10


def test_two_modules_that_would_share_their_variables():
    other = document(
        "GatiModule",
        "db",
        {
            "moduleName": "db",
            "moduleType": "oci",
            "runtime": "oci",
            "replicas": 1,
            "image": "r.example/db:1",
            "port": 1,
        },
        "other",
    )
    (problem,) = problems(handler(modules=["db", "other/db"]), module(), other)
    assert problem.code == "duplicate-entry" and "GATI_MODULE_DB_*" in problem.message


# -- types -----------------------------------------------------------------------------------------


def test_a_runtime_class_for_wasm():
    wasm = {"moduleType": "wasm", "runtime": "spin"}
    own = {"placement": {"runtimeClass": "wasmtime"}}
    files = {
        "gati.yaml": project(defaults={"wasmRuntimeClass": "wasmtime-spin-v2"}),
        "a.yaml": module("a", **wasm),
        "b.yaml": module("b", **wasm, **own),
        "c.yaml": module("c"),
    }
    tree = tree_of(files)
    assert pod(tree, "module-a")["runtimeClassName"] == "wasmtime-spin-v2"
    assert pod(tree, "module-b")["runtimeClassName"] == "wasmtime"
    assert "runtimeClassName" not in pod(tree, "module-c")
    (container,) = pod(tree, "module-a")["containers"]
    actions = [container[f"{kind}Probe"] for kind in ("startup", "readiness", "liveness")]
    assert all("exec" not in action for action in [*actions, container["lifecycle"]["preStop"]])


def test_wasm_that_nothing_runs_is_worth_a_warning():
    files = {"gati.yaml": project(), "a.yaml": module("a", moduleType="wasm")}
    (warning,) = compiled(files).warnings
    assert warning.code == "wasm-without-runtime-class" and not warning.is_error


# -- capabilities ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("capability", "remedy", "is_error"),
    [
        ("databse:read", "did you mean database:read?", True),
        ("Network", "did you mean network?", True),
        ("NET_ADMIN", "use one of: network, ", False),
        ("gpu", "use one of: network, ", False),
    ],
)
def test_a_misspelt_capability_is_an_error_and_another_word_a_warning(capability, remedy, is_error):
    db = module(capabilities=["storage", capability])
    if is_error:
        (problem,) = problems(db)
    else:
        (problem,) = compiled({"gati.yaml": project(), "0.yaml": db}).warnings
    assert (problem.code, problem.field) == ("unknown-capability", "spec.capabilities[1]")
    assert remedy in problem.remedy and problem.place.line > 10


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_no_capability_is_a_linux_capability(capability):
    tree = tree_of({"gati.yaml": project(), "db.yaml": module(capabilities=[capability])})
    found = pod(tree, "module-db")["containers"][0]["securityContext"]["capabilities"]
    assert found == {"drop": ["ALL"]}


@pytest.mark.parametrize(
    ("capabilities", "volumes", "size"),
    [
        ([], [], None),
        (["filesystem:read"], [], None),
        (["storage"], [], STORAGE_SIZE),
        (["filesystem.write"], [], STORAGE_SIZE),
        (
            ["storage"],
            [{"name": "v", "mountPath": STORAGE, "emptyDir": {"sizeLimit": "9Gi"}}],
            "9Gi",
        ),
    ],
)
def test_storage_is_a_sized_folder(capabilities, volumes, size):
    spec = {"capabilities": capabilities, "volumes": volumes}
    found = pod(tree_of({"gati.yaml": project(), "db.yaml": module(**spec)}), "module-db")
    mounts = {m["mountPath"]: m["name"] for m in found["containers"][0]["volumeMounts"]}
    sizes = {v["name"]: v["emptyDir"].get("sizeLimit") for v in found["volumes"]}
    assert sizes.get(mounts.get(STORAGE, "")) == size


def test_a_claim_may_be_the_storage():
    volumes = [{"name": "data", "mountPath": STORAGE, "claim": "db-data"}]
    spec = {"capabilities": ["storage"], "volumes": volumes}
    found = pod(tree_of({"gati.yaml": project(), "db.yaml": module(**spec)}), "module-db")
    assert [v["name"] for v in found["volumes"] if "persistentVolumeClaim" in v] == ["data"]
    paths = [m["mountPath"] for m in found["containers"][0]["volumeMounts"]]
    assert paths.count(STORAGE) == 1


def test_what_a_module_lists_narrows_its_capabilities():
    egress = [{"cidr": "10.1.0.0/16", "ports": [5432]}]
    tree = tree_of(
        {"gati.yaml": project(), "db.yaml": module(capabilities=["network"], egress=egress)}
    )
    (policy,) = objects(tree, f"{MODULE}/network.yaml")
    assert [rule["to"] for rule in policy["spec"]["egress"][1:]] == [
        [{"ipBlock": {"cidr": "10.1.0.0/16"}}]
    ]


# -- the document ----------------------------------------------------------------------------------

ROW = re.compile(r"(?m)^\| ((?:`[a-z:]+`(?:, )?)+) \| (.+?) \| (.+?) \| (.+?) \|$")


def test_the_table_of_capabilities_is_the_code():
    text = (ROOT / "docs/modules.md").read_text()
    said = {}
    for names, calls, called, folder in (m.groups() for m in ROW.finditer(text)):
        for name in re.findall(r"`([a-z:]+)`", names):
            said[name] = (calls, called, folder)
    assert said.keys() == CAPABILITIES.keys()
    ports = {DATABASE_PORTS: "databases", CACHE_PORTS: "caches", (): "anywhere"}
    for name, grant in CAPABILITIES.items():
        calls = ports[grant.ports] if grant.egress else "–"
        called = "any pod" if grant.ingress else "–"
        folder = f"`{STORAGE}`, {STORAGE_SIZE}" if grant.storage else "–"
        assert said[name] == (calls, called, folder), name
    for listed, what in ((DATABASE_PORTS, "databases"), (CACHE_PORTS, "caches")):
        assert f"{what}: ports {', '.join(map(str, listed))}" in " ".join(
            text.replace("*", "").split()
        )
