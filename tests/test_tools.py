"""Tests find their tools by fixed rules, and scripts/tools.py installs them whole or not at all."""

import importlib.util
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import tools as lookup

ROOT = Path(__file__).parent.parent


def program(path: Path, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with nothing on it: empty cache, empty PATH, no settings."""
    (tmp_path / "path").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.delenv("GATI_TOOLS", raising=False)
    for name in ("GATI_REQUIRE_TOOLS", "GATI_REQUIRE_ENGINES", "KUBEBUILDER_ASSETS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_own_folder_beats_cache_beats_path(machine, monkeypatch):
    on_path = program(machine / "path/thing")
    assert lookup.tool("thing") == on_path
    cached = program(machine / "cache/gati-gitops/tools/bin/thing")
    assert lookup.tool("thing") == cached
    own = program(machine / "own/thing")
    monkeypatch.setenv("GATI_TOOLS", str(machine / "own"))
    assert lookup.tool("thing") == own
    own_bin = program(machine / "own/bin/thing")
    assert lookup.tool("thing") == own_bin


def test_what_cannot_run_is_not_found(machine):
    program(machine / "cache/gati-gitops/tools/bin/thing", mode=0o644)
    (machine / "path/thing").mkdir()
    assert lookup.find("thing") is None


@pytest.mark.parametrize("look", [lambda: lookup.tool("thing"), lookup.crds_dir])
def test_missing_skips_for_a_user_and_fails_in_ci(machine, monkeypatch, look):
    # Not `raises(fail.Exception)`: a skip inside it would skip this test instead of failing it.
    outcomes = (pytest.skip.Exception, pytest.fail.Exception)
    with pytest.raises(outcomes, match="make tools") as skipped:
        look()
    monkeypatch.setenv("GATI_REQUIRE_TOOLS", "1")
    with pytest.raises(outcomes, match="make tools") as failed:
        look()
    assert (skipped.type, failed.type) == outcomes


def test_crds_come_from_the_first_folder_that_has_some(machine, monkeypatch):
    cached = machine / "cache/gati-gitops/tools/crds"
    cached.mkdir(parents=True)
    (cached / "a.dev_Thing.yaml").touch()
    monkeypatch.setenv("GATI_TOOLS", str(machine / "own"))
    assert lookup.crds_dir() == cached


def test_kubectl_serves_where_kustomize_is_missing(machine):
    kubectl = program(machine / "path/kubectl")
    assert lookup.kustomize_build() == [str(kubectl), "kustomize"]
    kustomize = program(machine / "path/kustomize")
    assert lookup.kustomize_build() == [str(kustomize), "build"]


def test_engines_come_from_envtest_where_a_user_has_it(machine, monkeypatch):
    built = program(machine / "cache/gati-gitops/tools/bin/etcd")
    assert lookup.engine("etcd") == built
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(machine / "assets"))
    assert lookup.engine("etcd") == built
    own = program(machine / "assets/etcd")
    assert lookup.engine("etcd") == own


def test_a_missing_engine_fails_only_who_asked_for_engines(machine, monkeypatch):
    outcomes = (pytest.skip.Exception, pytest.fail.Exception)
    monkeypatch.setenv("GATI_REQUIRE_TOOLS", "1")
    with pytest.raises(outcomes, match="make e2e") as skipped:
        lookup.engine("etcd")
    monkeypatch.setenv("GATI_REQUIRE_ENGINES", "1")
    with pytest.raises(outcomes, match="make e2e") as failed:
        lookup.engine("etcd")
    assert (skipped.type, failed.type) == outcomes


# --------------------------------------------------------------------------------- scripts/tools.py


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("gati_tools_script", ROOT / "scripts/tools.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up there.
    sys.path.insert(0, str(ROOT / "scripts"))  # As for whoever runs it.
    yield (spec.loader.exec_module(module), module)[1]
    sys.path.remove(str(ROOT / "scripts"))
    for name in (spec.name, *(name for name in sys.modules if name.split(".")[0] == "toolkit")):
        del sys.modules[name]


@dataclass
class Fake:
    """A component that needs no network."""

    name: str
    files: dict[str, str]
    pin: str = "fake@v1"
    group: str = "fakes"
    error: Exception | None = None
    runs: int = 0

    def fill(self, stage):
        self.runs += 1
        for name, text in self.files.items():
            (stage / name).parent.mkdir(parents=True, exist_ok=True)
            (stage / name).write_text(text)
        if self.error:
            raise self.error


@pytest.fixture
def cache(script, machine):
    return script.Cache(script.cache_root())


def content(cache) -> dict[str, str]:
    return {
        str(p.relative_to(cache.root)): p.read_text()
        for p in cache.root.rglob("*")
        if p.is_file() and p.name != ".lock" and p.parent != cache.stamps
    }


def test_installs_once_where_tests_look(script, cache):
    fake = Fake("thing", {"bin/thing": "one", "crds/a.dev_Thing.yaml": "kind"})
    assert script.install(cache, [fake]) == []
    assert script.install(cache, [fake]) == []
    assert fake.runs == 1
    assert content(cache) == fake.files
    assert lookup.crds_dir() == cache.root / "crds"


def test_a_new_pin_replaces_and_removes_what_is_gone(script, cache):
    script.install(cache, [Fake("thing", {"crds/a": "1", "crds/b": "1"})])
    script.install(cache, [Fake("thing", {"crds/b": "2"}, pin="fake@v2")])
    assert content(cache) == {"crds/b": "2"}


def test_a_lost_file_is_installed_again(script, cache):
    fake = Fake("thing", {"bin/thing": "one"})
    script.install(cache, [fake])
    (cache.root / "bin/thing").unlink()
    assert not cache.has(fake)
    script.install(cache, [fake])
    assert content(cache) == fake.files


def test_a_failure_keeps_the_old_and_goes_on_with_the_next(script, cache, capsys):
    script.install(cache, [Fake("thing", {"bin/thing": "old"})])
    broken = Fake(
        "thing", {"bin/thing": "half"}, pin="fake@v2", error=script.ToolError("no such version")
    )
    other = Fake("other", {"bin/other": "fine"})
    assert script.install(cache, [broken, other]) == [broken]
    assert content(cache) == {"bin/thing": "old", "bin/other": "fine"}
    assert not cache.has(broken)
    assert "no such version" in capsys.readouterr().out


@pytest.mark.parametrize(
    "args, require, code",
    [([], "", 1), (["--optional"], "", 0), (["--optional"], "1", 1), (["--check"], "", 1)],
)
def test_exit_code_without_go(script, machine, monkeypatch, capsys, args, require, code):
    monkeypatch.setenv("GATI_REQUIRE_TOOLS", require)
    assert script.main(["kustomize", *args]) == code
    said = capsys.readouterr().out
    assert "missing" in said
    assert ("https://go.dev/dl" in said) == ("--check" not in args)


def test_an_unreadable_stamp_means_not_installed(script, cache):
    fake = Fake("thing", {"bin/thing": "one"})
    script.install(cache, [fake])
    for text in ("", "[]", "{}", json.dumps({"pin": "fake@v1"})):
        (cache.stamps / "thing.json").write_text(text)
        assert not cache.has(fake)


def test_splits_files_of_crds(script):
    from toolkit.go import crds_of

    crd = "kind: CustomResourceDefinition\nspec:\n  group: a.dev\n  names:\n    kind: {}\n"
    policy = "kind: ValidatingAdmissionPolicy\n"
    text = f"# Copyright\n---\n{crd.format('One')}---\n{policy}--- # two\n{crd.format('Two')}"
    assert [found[:2] for found in crds_of(text)] == [("a.dev", "One"), ("a.dev", "Two")]
    assert [found[2] for found in crds_of(text)] == [crd.format("One"), crd.format("Two")]


@pytest.mark.parametrize(
    "said, remedy",
    [
        ("dial tcp: lookup proxy.golang.org: no such host", "check the network"),
        ("reading https://…/v9.info: 404 Not Found", "pin another"),
        ("go: x@v5.8.3 requires go >= 1.27.0 (running go 1.26.8)", "newer Go"),
        ("something else", "by hand"),
    ],
)
def test_explains_what_go_said(script, said, remedy):
    from toolkit.go import explain

    text = explain("x@v1", "", said)
    assert said in text
    assert remedy in text
    assert remedy in explain("x@v1", json.dumps({"Error": said}), "")


def test_names_of_components_are_unique(script):
    names = [c.name for c in script.COMPONENTS]
    assert len(set(names)) == len(names)
    assert not {c.group for c in script.COMPONENTS} & set(names)


def test_engines_are_built_on_demand_only(script):
    assert not [c.name for c in script.chosen(()) if c.group == "engines"]
    assert {c.name for c in script.chosen(["engines"])} >= {"etcd", "kube-apiserver", "argocd"}
    grouped = {c.group for c in script.COMPONENTS}
    assert grouped == {*script.DEFAULT, "engines"}


def test_what_envtest_has_is_not_built(script, machine, monkeypatch, capsys):
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(machine / "assets"))
    program(machine / "assets/kubectl")
    assert script.main(["kubectl"]) == 0
    assert script.main(["etcd", "kubectl"]) == 1
    assert capsys.readouterr().out.rstrip().endswith("missing: etcd")


def test_engines_have_the_versions_of_their_crds(script):
    """One release of an engine, wherever it is named."""
    crds = {c.module: c.version for c in script.chosen(["crds"]) if c.folder == "crds"}
    engines = dict(c.module for c in script.chosen(["engines"]) if hasattr(c, "program"))
    shared = crds.keys() & engines.keys()
    assert len(shared) == 4
    assert {name: crds[name] for name in shared} == {name: engines[name] for name in shared}


def test_an_engine_is_pinned_by_its_module(script, tmp_path, monkeypatch):
    from toolkit import go

    monkeypatch.setattr(go, "MODULES", tmp_path)
    (tmp_path / "x").mkdir()
    (tmp_path / "x/go.sum").write_text("")
    text = (
        "module y\n\nrequire a.dev/tool v1.2.3\n\nrequire (\n\ta.dev/other v0.1.0 // indirect\n)\n"
    )
    (tmp_path / "x/go.mod").write_text(text)
    found = go.GoEngine("tool", "x", "a.dev/tool/cmd/tool", "tool")
    assert found.module == ("a.dev/tool", "v1.2.3")
    before = found.pin
    assert before.startswith("a.dev/tool/cmd/tool@v1.2.3 ")
    (tmp_path / "x/go.sum").write_text("another")
    assert found.pin != before
    with pytest.raises(script.ToolError, match="requires no module"):
        go.GoEngine("tool", "x", "a.dev/toolbox", "tool").module  # noqa: B018
