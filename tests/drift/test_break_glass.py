"""When Git is down: the commands that are printed move the traffic on a real API server."""

import json
import shutil
import subprocess
import time

import pytest

from gati_gitops.cli.main import run
from gati_gitops.compiler.stored import stored_policy
from gati_gitops.decide.absorb import absorbed
from gati_gitops.decide.moves import moved
from gati_gitops.decide.observation import Live, LiveRoute, Missing
from gati_gitops.emit.routes.stored import split_weights
from gati_gitops.ledger.model import Phase
from gati_gitops.observe.live_routes import live_route
from gati_gitops.output import Output
from gati_gitops.tree import MemorySnapshot
from tests.cli.typed import WITHIN, understood
from tests.drift.kit import content, published, sync
from tests.drift.kit import shop as shop_specs
from tests.e2e.processes import until
from tests.publish.kit import World, git
from tests.servers.places import WEB_ENVIRON
from tests.tools import engine

PROVIDERS = {
    "gateway-api": {"provider": "gateway-api", "hosts": ["shop.example"]},
    "istio": {
        "provider": "istio",
        "hosts": ["shop.example"],
        "istio": {"gateways": ["istio-system/shared"]},
    },
    "traefik": {"provider": "traefik", "hosts": ["shop.example"]},
    "ingress-nginx": {"provider": "ingress-nginx", "hosts": ["shop.example"]},
}
KINDS = {
    "gateway-api": ("HTTPRoute",),
    "istio": ("VirtualService",),
    "traefik": ("IngressRoute", "TraefikService"),
    "ingress-nginx": ("Ingress",),
}


@pytest.fixture(scope="module")
def cluster(control_plane):
    control_plane.install_crds(
        "gateway.networking.k8s.io_HTTPRoute",
        "networking.istio.io_VirtualService",
        "traefik.io_IngressRoute",
        "traefik.io_TraefikService",
        "argoproj.io_App*t",
        "argoproj.io_Application",
        "kustomize.toolkit.fluxcd.io_Kustomization",
        "source.toolkit.fluxcd.io_GitRepository",
    )
    return control_plane


def namespace_of(provider):
    return f"glass-{provider.replace('-', '')}"


@pytest.fixture(scope="module", params=PROVIDERS)
def shop(request, cluster, tmp_path_factory):
    """A shop with v1 at 90 and v2 at 10 %, synced, its engine at rest."""
    provider = request.param
    root = tmp_path_factory.mktemp(provider)
    world = published(root, namespace_of(provider), routing=PROVIDERS[provider])
    sync(cluster, world.tree())
    content(cluster, world.tree())
    return provider, world


def asked(world, *options):
    arguments = ["rollback", "--repo", str(world.output), "--env", "prod", "--break-glass"]
    return run([*arguments, "--reason", 'v2 "loses" items; $(rm -rf /)', *options])


def routes(cluster, provider):
    place = namespace_of(provider)
    versions = {
        "HTTPRoute": "gateway.networking.k8s.io/v1",
        "VirtualService": "networking.istio.io/v1",
        "IngressRoute": "traefik.io/v1alpha1",
        "TraefikService": "traefik.io/v1alpha1",
        "Ingress": "networking.k8s.io/v1",
    }
    return [
        item
        for kind in KINDS[provider]
        for item in cluster.api.items(versions[kind], kind, place)
        if item["metadata"]["labels"]["gati.dev/unit"] == "handler-cart"
    ]


def script(cluster, text, tmp_path):
    """Run a script as a person would, with the real kubectl first on the PATH."""
    folder = tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    (folder / "kubectl").write_text(f'#!/bin/sh\nexec {engine("kubectl")} "$@"\n')
    (folder / "kubectl").chmod(0o755)
    env = {
        "PATH": f"{folder}:/usr/bin:/bin",
        "KUBECONFIG": str(cluster.kubeconfig),
        "HOME": str(tmp_path),
    }
    return subprocess.run(
        ["sh", "-s"], input=text, env=env, capture_output=True, text=True, check=False, timeout=120
    )


def ready(cluster, place, name):
    """Let a version's pods be ready, as a kubelet would; there is none here."""
    version = name.rpartition("-")[2]
    asked = f"gati.dev/unit=handler-cart,gati.dev/version={version}"

    def is_ready():
        for pod in cluster.api.items("v1", "Pod", place, labelSelector=asked):
            status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
            cluster.api.patch(
                "v1", "Pod", place, pod["metadata"]["name"], {"status": status}, sub="status"
            )
        found = cluster.api.get("apps/v1", "Deployment", place, name)
        return found.get("status", {}).get("readyReplicas", 0) >= 1

    until(f"{name} is ready", is_ready, within=60)


class TestTheScript:
    def test_it_moves_the_traffic_and_is_absorbed(self, cluster, shop, capsys, tmp_path):
        provider, world = shop
        place = namespace_of(provider)
        unit = f"{place}/cart"
        before = split_weights(routes(cluster, provider))
        assert before == {"handler-cart-v1": 90, "handler-cart-v2": 10}

        assert asked(world, unit, "--cluster", "eu", "--format", "sh") == 0
        text = capsys.readouterr().out
        without = script(cluster, text, tmp_path)
        assert without.returncode == 1 and "no ready pod" in without.stderr
        assert split_weights(routes(cluster, provider)) == before  # and nothing moved

        ready(cluster, place, "handler-cart-v1")
        done = script(cluster, text, tmp_path)
        assert done.returncode == 0, done.stderr
        live = routes(cluster, provider)
        now = {name: weight for name, weight in split_weights(live).items() if weight}
        assert now == {"handler-cart-v1": 100}
        application = cluster.api.get(
            "argoproj.io/v1alpha1", "Application", "argocd", f"prod.eu.{place}"
        )
        assert "automated" not in application["spec"]["syncPolicy"]

        # the next pass takes it over
        output = Output(MemorySnapshot(world.tree()))
        stored = output.unit("prod", "eu", (place, "handler-cart"))
        route = live_route(stored.plan, live)
        assert isinstance(route, LiveRoute)
        assert route.break_glass == 'v2 "loses" items; $(rm -rf /)'
        move = absorbed(stored, Live(1.0, {}, route, {}, Missing("no data", "")))
        outcome = moved(stored_policy(output, "prod"), stored, move)
        assert {e.id: (e.phase, e.weight) for e in outcome.ledger.entries} == {
            "v1": (Phase.ACTIVE, 100),
            "v2": (Phase.REJECTED, 0),
        }
        assert outcome.ledger.hold == 'break-glass: v2 "loses" items; $(rm -rf /)'

        # what is handed back is what the engine had
        assert asked(world, unit, "--cluster", "eu", "--format", "json") == 0
        stages = json.loads(capsys.readouterr().out)["procedures"][0]["stages"]
        back = next(stage for stage in stages if stage["name"] == "hand back")
        told = "\n".join(command["command"] for command in back["commands"])
        assert script(cluster, f"set -eu\n{told}", tmp_path).returncode == 0
        application = cluster.api.get(
            "argoproj.io/v1alpha1", "Application", "argocd", f"prod.eu.{place}"
        )
        assert application["spec"]["syncPolicy"]["automated"] == {
            "prune": True,
            "selfHeal": True,
            "allowEmpty": True,
        }
        assert "argocd.argoproj.io/skip-reconcile" not in application["metadata"].get(
            "annotations", {}
        )
        notes = [item["metadata"].get("annotations", {}) for item in routes(cluster, provider)]
        assert not any("gati.dev/break-glass" in note for note in notes)

    def test_the_next_pass_commits_it_and_drift_ends(self, cluster, tmp_path, capsys):
        """Git is down, a person types, Git is back: the job writes down what was done."""
        world = published(tmp_path / "world", "glass-absorbed", rollout={"strategy": "canary"})
        sync(cluster, world.tree())
        content(cluster, world.tree())
        ready(cluster, "glass-absorbed", "handler-cart-v1")
        assert asked(world, "glass-absorbed/cart", "--cluster", "eu", "--format", "sh") == 0
        assert script(cluster, capsys.readouterr().out, tmp_path).returncode == 0
        there = ["--repo", str(world.output), "--cluster", "eu"]
        there += ["--kubeconfig", str(cluster.kubeconfig)]
        tip = world.tip()
        assert run(["drift", *there, "--unit", "glass-absorbed/cart", "--fix", "revert"]) == 1
        said = capsys.readouterr()
        assert "traffic moved by hand" in said.out
        assert "apply Git again" not in said.err  # nobody undoes what a person did in need
        assert world.tip() == tip

        run(["reconcile", *there, "--clocks", str(tmp_path / "clocks.json")])
        said = capsys.readouterr()
        folder = "overlays/prod/eu/glass-absorbed/handler-cart"
        assert world.phases(folder) == {"v1": ("Active", 100), "v2": ("Rejected", 0)}, said
        ledger = world.ledger(folder)
        assert ledger.hold == 'break-glass: v2 "loses" items; $(rm -rf /)'
        tip = world.tip()
        run(["reconcile", *there, "--clocks", str(tmp_path / "clocks.json")])
        assert world.tip() == tip  # once is enough

    def test_another_route_than_was_read_is_left_alone(self, cluster, shop, capsys, tmp_path):
        """The patch tests what it changes: a stranger's route is refused as a whole."""
        provider, world = shop
        place = namespace_of(provider)
        sync(cluster, world.tree())
        live = routes(cluster, provider)
        strange = strangers(provider, live)
        for kind, name, patch in strange:
            cluster.kubectl(
                "--namespace", place, "patch", kind, name, "--type=json", "-p", json.dumps(patch)
            )
        before = [item["spec"] for item in routes(cluster, provider)]
        assert asked(world, f"{place}/cart", "--cluster", "eu", "--format", "sh") == 0
        ready(cluster, place, "handler-cart-v1")
        done = script(cluster, capsys.readouterr().out, tmp_path)
        assert done.returncode != 0
        assert [item["spec"] for item in routes(cluster, provider)] == before
        sync(cluster, world.tree())


def strangers(provider, live):
    """What a person may have done to a route since: its first backend is another one."""
    replace = lambda path: [{"op": "replace", "path": path, "value": "someone-else"}]  # noqa: E731
    for item in live:
        name, kind = item["metadata"]["name"], item["kind"]
        if kind == "HTTPRoute":
            at = [r["name"] for r in item["spec"]["rules"]].index("split")
            yield kind, name, replace(f"/spec/rules/{at}/backendRefs/0/name")
        elif kind == "VirtualService":
            at = [r["name"] for r in item["spec"]["http"]].index("split")
            yield kind, name, replace(f"/spec/http/{at}/route/0/destination/host")
        elif kind == "TraefikService":
            yield kind, name, replace("/spec/weighted/services/0/name")
        elif kind == "Ingress" and "canary" in name:
            path = "/spec/rules/0/http/paths/0/backend/service/name"
            yield kind, name, replace(path)


class TestFlux:
    def test_its_kustomization_is_suspended_and_goes_on(self, cluster, tmp_path, capsys):
        world = published(tmp_path / "world", "glass-flux")
        sync(cluster, world.tree(), "us")
        content(cluster, world.tree(), "us")
        ready(cluster, "glass-flux", "handler-cart-v1")
        assert asked(world, "glass-flux/cart", "--cluster", "us", "--format", "sh") == 0
        done = script(cluster, capsys.readouterr().out, tmp_path)
        assert done.returncode == 0, done.stderr
        at = ("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "flux-system")
        found = cluster.api.get(*at, "prod.us.glass-flux")
        assert found["spec"]["suspend"] is True
        # Flux takes away what kubectl wrote, so this was written under another name
        writers = {entry["manager"] for entry in found["metadata"]["managedFields"]}
        assert "gati-break-glass" in writers and not any(w.startswith("kubectl") for w in writers)


class TestModules:
    def test_their_service_chooses_the_other_version(self, cluster, tmp_path, capsys):
        world = published(tmp_path / "world", "glass-module", rollout={"strategy": "canary"})
        newer = (world.specs / "db.yaml").read_text().replace("acme/db:v1", "acme/db:v2")
        world.release({"db.yaml": newer})
        folder = "overlays/prod/eu/glass-module/module-db"
        world.job(folder, v1=("Draining", 0), v2=("Active", 100))
        sync(cluster, world.tree())
        content(cluster, world.tree())
        at = ("v1", "Service", "glass-module", "module-db")
        assert cluster.api.get(*at)["spec"]["selector"]["gati.dev/version"] == "v2"
        assert asked(world, "glass-module/module-db", "--cluster", "eu", "--format", "json") == 0
        stages = json.loads(capsys.readouterr().out)["procedures"][0]["stages"]
        told = [c["command"] for stage in stages[1:-1] for c in stage["commands"]]
        done = script(cluster, "set -eu\n" + "\n".join(told), tmp_path)
        assert done.returncode == 0, done.stderr
        live = cluster.api.get(*at)
        assert live["spec"]["selector"] == {"gati.dev/unit": "module-db", "gati.dev/version": "v1"}
        stored = Output(MemorySnapshot(world.tree())).unit(
            "prod", "eu", ("glass-module", "module-db")
        )
        route = live_route(stored.plan, [live])
        move = absorbed(stored, Live(1.0, {}, route, {}, Missing("no data", "")))
        assert move.weights == (("v1", 100),)


class TestRevisions:
    def test_the_pods_go_back_where_the_version_stays(self, tmp_path, capsys):
        world = published(tmp_path / "world", rollout={"strategy": "canary"})
        specs = (world.specs / "users.yaml").read_text()
        world.release({"users.yaml": specs.replace('"port"', '"env": {"A": "2"}, "port"')})
        assert asked(world, "shop/users", "--cluster", "eu") == 0
        said = capsys.readouterr().out
        assert "rollout undo deployment/handler-users-v1" in said
        assert "Nothing of this is absorbed" in said and "break-glass=" not in said


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """A shop on two clusters, to be read only."""
    return published(tmp_path_factory.mktemp("two"))


class TestWords:
    def test_a_namespace_that_is_synced_as_a_whole_is_said(self, tmp_path, capsys):
        world = published(tmp_path / "world")
        assert asked(world, "shop/cart", "--cluster", "eu", "--context", "prod eu") == 0
        said = capsys.readouterr().out
        assert "prod.eu.shop syncs the whole namespace: 2 other units stand still with it" in said
        assert said.count("'--context=prod eu'") == said.count("kubectl")

    def test_nothing_to_go_back_to_is_refused(self, tmp_path, capsys):
        world = published(tmp_path / "world")
        assert asked(world, "shop/users", "--cluster", "eu") == 5
        assert "no other version of shop/users can take the traffic" in capsys.readouterr().err

    def test_one_script_for_two_clusters_wants_both_contexts(self, tmp_path, capsys):
        world = published(tmp_path / "world")
        assert asked(world, "shop/cart", "--format", "sh") == 2
        contexts = ("--context", "eu=a", "--context", "us=b")
        assert asked(world, "shop/cart", "--format", "sh", *contexts) == 0
        said = capsys.readouterr().out
        commands = [line for line in said.splitlines() if "kubectl" in line]
        assert commands and all("--context=" in line for line in commands)
        assert said.count("--context=a") and said.count("--context=b")

    @pytest.mark.parametrize("format", ["sh", "text", "json"])
    @pytest.mark.parametrize(
        "said,words",
        [
            (["eu=a", "u=b"], "--context u=b names none of eu, us"),
            (["eu=a", "b"], "--context b names none of eu, us"),
            (["eu=a", "us="], "--context us= names no context of us"),
            (["eu=a"], "need a context for each: --context us=NAME"),
            (["eu=a", "eu=b"], "need a context for each: --context us=NAME"),
        ],
    )
    def test_no_context_is_passed_over(self, two, said, words, format, capsys):
        contexts = [option for one in said for option in ("--context", one)]
        assert asked(two, "shop/cart", "--format", format, *contexts) == 2
        out, err = capsys.readouterr()
        assert words in err
        assert "kubectl" not in out

    def test_a_context_of_the_only_cluster_may_not_be_one_of_another(self, two, capsys):
        assert asked(two, "shop/cart", "--cluster", "eu", "--context", "e=a") == 2
        assert "names none of eu" in capsys.readouterr().err
        assert asked(two, "shop/cart", "--cluster", "eu", "--context", "eu=arn:aws=x") == 0
        assert "--context=arn:aws=x" in capsys.readouterr().out

    def test_a_script_wants_the_context_of_the_hub(self, tmp_path, capsys):
        """Else what stops the engine runs wherever the shell is."""
        clusters = {"eu": {"sync": {"server": "https://eu.example.com", "hub": "center"}}}
        world = published(tmp_path / "world", clusters=clusters)
        assert asked(world, "shop/cart", "--format", "sh", "--context", "eu=a") == 2
        assert "--context center=NAME" in capsys.readouterr().err
        contexts = ("--context", "eu=a", "--context", "center=c")
        assert asked(world, "shop/cart", "--format", "sh", *contexts) == 0
        lines = [line for line in capsys.readouterr().out.splitlines() if "kubectl" in line]
        assert all("--context=" in line for line in lines)
        argocd = [line for line in lines if "--namespace=argocd" in line]
        assert argocd and all("--context=c" in line for line in argocd)

    def test_it_belongs_to_break_glass(self, tmp_path):
        world = published(tmp_path / "world")
        arguments = ["rollback", "shop/cart", "--repo", str(world.output), "--env", "prod"]
        assert run([*arguments, "--reason", "x", "--format", "sh"]) == 2

    def test_nothing_is_written(self, tmp_path, capsys):
        world = published(tmp_path / "world")
        before = world.tip()
        assert asked(world, "shop/cart", "--cluster", "eu") == 0
        assert world.tip() == before


class TestOurOwnCommands:
    """What is printed for later is whole: who copies it is understood."""

    @pytest.fixture(autouse=True)
    def bare(self, monkeypatch):
        monkeypatch.delenv("GATI_REPO", raising=False)

    @pytest.mark.parametrize("format", ["text", "sh", "json"])
    def test_of_handing_back(self, two, format, capsys):
        assert asked(two, "shop/cart", "--cluster", "eu", "--format", format) == 0
        commands = {text.split()[1]: text for text in WITHIN.findall(capsys.readouterr().out)}
        assert set(commands) == {"status", "release"}
        for command in commands.values():
            found = understood(command)
            assert found["repo"] == "https://git.example.com/acme/deploy.git"
            assert (found["env"], found["cluster"]) == (("prod",), ("eu",))
        assert understood(commands["status"])["unit"] == ("shop/cart",)
        assert understood(commands["release"])["reason"] == "break-glass is over"

    @pytest.mark.parametrize("version", [[], ["v1"]])
    def test_of_going_back_within_a_version(self, tmp_path, capsys, version):
        world = published(tmp_path / "world", rollout={"strategy": "canary"})
        specs = (world.specs / "users.yaml").read_text()
        world.release({"users.yaml": specs.replace('"port"', '"env": {"A": "2"}, "port"')})
        assert asked(world, "shop/users", *version, "--cluster", "eu", "--branch", "main") == 0
        (command,) = WITHIN.findall(capsys.readouterr().out)
        found = understood(command)
        assert (found["unit"], found["version"]) == ("shop/users", (version or [None])[0])
        assert found["reason"] == 'v2 "loses" items; $(rm -rf /)'
        assert found["branch"] == "main"

    def test_of_a_server(self, git_server, capsys):
        url, _ = git_server
        options = ["shop/cart", "--repo", url, "--env", "prod", "--cluster", "eu"]
        assert run(["rollback", *options, "--reason", "x", "--break-glass"]) == 0
        commands = WITHIN.findall(capsys.readouterr().out)
        assert commands and all(understood(text)["repo"] == url for text in commands)

    @pytest.mark.parametrize("folder", [False, True])
    def test_where_no_engine_is_known(self, tmp_path, capsys, folder):
        """A repository is named by where it is, and what is only a folder cannot be."""
        settings = json.loads(shop_specs()["gati.yaml"])
        del settings["spec"]["sync"]
        for cluster in settings["spec"]["environments"]["prod"]["clusters"].values():
            cluster.pop("sync", None)
        world = World(tmp_path)
        world.release({**shop_specs(), "gati.yaml": json.dumps(settings)})
        expected = str(world.output)
        if folder:
            for path, data in world.tree().items():
                (tmp_path / "folder" / path).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / "folder" / path).write_bytes(data)
            world.output, expected = tmp_path / "folder", "URL"
        assert asked(world, "shop/cart", "--cluster", "eu") == 0
        commands = WITHIN.findall(capsys.readouterr().out)
        assert commands and all(understood(text)["repo"] == expected for text in commands)


class TestParked:
    @pytest.fixture
    def world(self, tmp_path):
        world = published(tmp_path / "world", "glass-parked", rollout={"strategy": "canary"})
        world.job(
            "overlays/prod/eu/glass-parked/handler-cart", v1=("Parked", 0), v2=("Active", 100)
        )
        return world

    def test_it_is_refused_with_what_comes_first(self, cluster, world, capsys, tmp_path):
        assert asked(world, "glass-parked/cart", "--cluster", "eu") == 5
        said = capsys.readouterr()
        assert "v1 of glass-parked/cart is Parked" in said.err
        assert "scale deployment/handler-cart-v1 --replicas=" in said.out
        assert said.out.index("scale deployment") < said.out.index("rollout status")
        assert said.out.index("rollout status") < said.out.index("patch httproutes")

    def test_its_commands_work_in_their_order(self, cluster, world, capsys, tmp_path):
        sync(cluster, world.tree())
        content(cluster, world.tree())
        assert asked(world, "glass-parked/cart", "--cluster", "eu", "--format", "json") == 5
        stages = json.loads(capsys.readouterr().out)["procedures"][0]["stages"]
        names = [stage["name"] for stage in stages]
        assert names == ["stop", "start", "move", "check", "hand back"]
        commands = [c["command"] for stage in stages[:3] for c in stage["commands"]]
        told = [command for command in commands if "rollout status" not in command]
        done = script(cluster, "set -eu\n" + "\n".join(told), tmp_path)
        assert done.returncode == 0, done.stderr
        route = cluster.api.get(
            "gateway.networking.k8s.io/v1", "HTTPRoute", "glass-parked", "handler-cart"
        )
        assert split_weights([route]) == {"handler-cart-v2": 0, "handler-cart-v1": 100}

    def test_what_is_gone_has_no_way_back(self, tmp_path, capsys):
        world = published(tmp_path / "gone", "glass-gone", rollout={"strategy": "canary"})
        world.job("overlays/prod/eu/glass-gone/handler-cart", v1=("Removed", 0), v2=("Active", 100))
        assert asked(world, "glass-gone/cart", "v1", "--cluster", "eu") == 5
        assert "nothing of it is left" in capsys.readouterr().err


class TestReading:
    """Where it is read from, and how old that is."""

    def test_a_folder_that_is_no_repository(self, tmp_path, capsys):
        world = published(tmp_path / "world")
        folder = tmp_path / "folder"
        for path, data in world.tree().items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
        arguments = ["rollback", "shop/cart", "--repo", str(folder), "--env", "prod"]
        assert run([*arguments, "--reason", "x", "--break-glass", "--cluster", "eu"]) == 0
        said = capsys.readouterr().out
        assert f"the folder {folder}" in said and "its newest ledger is" in said

    def test_a_work_tree(self, tmp_path, capsys):
        world = published(tmp_path / "world")
        git(tmp_path, "clone", "-q", str(world.output), "clone")
        world.output = tmp_path / "clone"
        assert asked(world, "shop/cart", "--cluster", "eu") == 0
        assert " old" in capsys.readouterr().out

    def test_what_was_kept_when_the_server_is_gone(self, git_server, tmp_path, capsys):
        url, stop = git_server
        cache = str(tmp_path / "cache")
        options = ["shop/cart", "--repo", url, "--cache", cache, "--env", "prod", "--cluster", "eu"]
        assert (
            run(["rollback", *options, "--reason", "x", "--break-glass", "--format", "json"]) == 0
        )
        fresh = json.loads(capsys.readouterr().out)
        assert fresh["read"]["seen"] == 0
        stop()
        assert (
            run(["rollback", *options, "--reason", "x", "--break-glass", "--format", "json"]) == 0
        )
        said = capsys.readouterr()
        kept = json.loads(said.out)
        assert kept["procedures"] == fresh["procedures"]
        assert kept["read"]["commit"] == fresh["read"]["commit"]
        assert abs(kept["read"]["seen"] - time.time()) < 120
        assert "is used" in said.err

    def test_without_anything_kept_it_says_what_to_do(self, git_server, tmp_path, capsys):
        url, stop = git_server
        stop()
        options = ["shop/cart", "--repo", url, "--cache", str(tmp_path / "none"), "--env", "prod"]
        assert run(["rollback", *options, "--reason", "x", "--break-glass"]) == 4
        assert "give a clone on this machine as --repo" in capsys.readouterr().err

    def test_without_a_cache_it_says_so_too(self, git_server, capsys, monkeypatch):
        url, stop = git_server
        stop()
        monkeypatch.delenv("GATI_CACHE", raising=False)
        options = ["shop/cart", "--repo", url, "--env", "prod", "--reason", "x", "--break-glass"]
        assert run(["rollback", *options]) == 4
        said = capsys.readouterr().err
        assert "check the address and the network" in said
        assert "or give a clone on this machine as --repo, or what was kept as --cache" in said


@pytest.fixture
def git_server(web, proxy, repositories, names, tmp_path, monkeypatch):
    """The shop's repository over http, and how to make the server go away."""
    world = published(tmp_path / "served")
    name = f"glass{next(names)}.git"
    shutil.copytree(world.output, repositories / name)
    for variable, value in WEB_ENVIRON.items():
        monkeypatch.setenv(variable, value)
    return f"http://127.0.0.1:{proxy.port}/{name}", proxy.end
