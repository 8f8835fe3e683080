"""``gati-gitops explain``."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gati_gitops.cli.main import run

ROOT = Path(__file__).parents[2]
CART = "overlays/prod/eu-1/storefront/handler-cart"


@pytest.fixture(autouse=True)
def _in_the_repository(monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("NO_COLOR", "1")


def explain(capsys, *arguments: str) -> tuple[int, str, str]:
    code = run(["explain", *arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_a_field_of_a_file(capsys):
    code, out, err = explain(
        capsys, f"{CART}/scaling.yaml", "spec.minReplicas", "--specs", "examples/shop"
    )
    assert (code, err) == (0, "")
    assert "spec.minReplicas: 2\n" in out
    assert "spec     spec.autoscaling.min  examples/shop/storefront/cart.yaml:" in out


def test_a_folder_is_explained_as_a_cluster_gets_it(capsys):
    code, out, _ = explain(
        capsys, CART, "spec.template.spec.containers[0].image", "--specs", "examples/shop"
    )
    assert code == 0
    assert out.startswith("Deployment storefront/handler-cart-v1-12-0")
    assert "mirror.prod.shop.example" in out and "registries" in out


def test_all_fields_of_a_file_as_json(capsys):
    code, out, _ = explain(
        capsys, f"{CART}/route.yaml", "--specs", "examples/shop", "--format", "json"
    )
    assert code == 0
    (page,) = json.loads(out)["objects"]
    by_path = {field["path"]: field for field in page["fields"]}
    host = by_path["spec.hostnames[0]"]
    assert (host["kind"], host["value"]) == ("spec", "www.shop.example")
    assert host["file"] == "examples/shop/gati.yaml" and host["line"] > 1
    assert {field["kind"] for field in by_path.values()} == {"spec", "default", "rule", "ledger"}
    ledger = next(field for field in by_path.values() if field["kind"] == "ledger")
    assert ledger["file"] == f"{CART}/rollout.yaml" and ledger["line"] > 1


def test_one_of_several_objects(capsys):
    code, out, _ = explain(
        capsys, f"{CART}/scaling.yaml", "kind", "--object", "poddisruptionbudget",
        "--specs", "examples/shop",
    )  # fmt: skip
    assert code == 0 and "HorizontalPodAutoscaler" not in out


@pytest.mark.parametrize(
    "arguments, code, words",
    [
        ([f"{CART}/scaling.yaml", "spec.minReplica"], 2, "did you mean minReplicas?"),
        ([f"{CART}/scaling.yaml", "kind", "--object", "Secret"], 2, "there is no Secret in"),
        ([f"{CART}/none.yaml"], 4, "there is no file or folder"),
        (["pyproject.toml"], 2, "is no part of an output"),
        ([f"{CART}/scaling.yaml", "spec["], 2, "is no field"),
        ([f"{CART}/scaling.yaml", "kind", "--specs", "nowhere"], 4, "nowhere"),
    ],
)
def test_what_cannot_be_explained(capsys, arguments, code, words):
    found, out, err = explain(capsys, *arguments)
    assert (found, out) == (code, "")
    assert words in err and "Traceback" not in err


def test_a_broken_manifest_is_named(capsys, tmp_path):
    file = tmp_path / "overlays" / "x.yaml"
    file.parent.mkdir()
    file.write_text("a: [\n")
    code, _, err = explain(capsys, str(file), "a")
    assert code in (3, 4) and "x.yaml" in err and "bug" not in err


def test_without_specs_it_says_so(capsys):
    code, out, err = explain(capsys, f"{CART}/scaling.yaml", "spec.minReplicas")
    assert code == 0 and "storefront/cart.yaml" in out
    assert "--specs" in err


def test_secrets_are_not_shown(capsys, tmp_path):
    folder = tmp_path / "base" / "shop" / "handler-users" / "v1-00000000"
    folder.mkdir(parents=True)
    (folder / "deployment.yaml").write_text(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: handler-users-v1}\nspec:\n"
        "  template:\n    spec:\n      containers:\n      - env:\n"
        "        - {name: DB_PASSWORD, value: hunter2-Zebra9}\n"
    )
    for form in ("text", "json"):
        code, out, _ = explain(capsys, str(folder / "deployment.yaml"), "--format", form)
        assert code == 0 and "DB_PASSWORD" in out
        assert "Zebra9" not in out


def test_help_pays_for_neither_pydantic_nor_yaml():
    code = (
        "import sys; from gati_gitops.cli.explain import command\n"
        "assert not {'pydantic', 'yaml', 'ruamel'} & sys.modules.keys(), sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
