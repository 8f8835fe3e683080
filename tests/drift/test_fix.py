"""What follows from drift: what was decided comes back, or Git says what people did."""

import json

import pytest

from gati_gitops.cli.main import run
from tests.compile import kit
from tests.drift.kit import content, named, published, shop, sync
from tests.publish.kit import git
from tests.servers.gitea import BOT

NAMESPACE = "fixing"
CART = f"overlays/prod/eu/{NAMESPACE}/handler-cart"


def by_hand(path, old, new):
    def edit(root):
        file = root / path
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))

    return edit


def fix(world, *options):
    return run(["drift", "--repo", str(world.output), "--env", "prod", "--fix", *options])


class TestRevert:
    @pytest.fixture
    def world(self, tmp_path):
        world = published(tmp_path, NAMESPACE, drift="revert")
        world.by_hand(by_hand(f"{CART}/route.yaml", "weight: 90", "weight: 50"))
        return world

    def test_files_become_what_plan_and_ledger_say(self, world, capsys):
        before = world.tree("main~1")
        assert fix(world, "--git-only") == 1
        assert world.tree() == before
        assert world.log()[0] == "prod: revert what was changed by hand"
        body = "\n".join(world.log("%b", "-1"))
        assert "edited by hand in the repository" in body and "Gati-Decision:" in body
        assert run(["drift", "--repo", str(world.output), "--git-only"]) == 0
        tip = world.tip()
        assert fix(world, "--git-only") == 0
        assert world.tip() == tip  # and nothing more follows

    def test_it_can_be_tried(self, world, capsys):
        tip = world.tip()
        assert fix(world, "--git-only", "--dry-run") == 1
        assert world.tip() == tip
        assert "would commit  prod: revert what was changed by hand" in capsys.readouterr().err

    def test_by_schedule_drift_is_no_failure(self, world, capsys):
        before = world.tree("main~1")
        assert fix(world, "--git-only", "--unattended") == 0
        assert world.tree() == before
        assert "1 of" in capsys.readouterr().err  # it is told all the same

    def test_by_schedule_what_failed_is_a_failure(self, world, capsys):
        config = ["--kubeconfig", "nowhere", "--cluster", "eu"]
        assert fix(world, *config) == 1
        world.by_hand(by_hand(f"{CART}/route.yaml", "weight: 90", "weight: 50"))
        assert fix(world, *config, "--unattended") == 4  # though files were mended
        assert b"weight: 90" in world.tree()[f"{CART}/route.yaml"]
        assert fix(world, "--env", "nowhere", "--unattended") == 2

    def test_a_schedule_without_a_follow_up_makes_no_sense(self, world, capsys):
        assert run(["drift", "--repo", str(world.output), "--git-only", "--unattended"]) == 2
        assert "--unattended belongs to --fix" in capsys.readouterr().err

    def test_a_held_unit_is_only_told(self, world, capsys):
        world.act("hold", f"{NAMESPACE}/cart")
        world.by_hand(by_hand(f"{CART}/route.yaml", "weight: 90", "weight: 50"))
        tip = world.tip()
        assert fix(world, "--git-only") == 1
        assert world.tip() == tip
        assert "held, so it is only told" in capsys.readouterr().err

    def test_a_stranger_s_file_stays(self, world, capsys):
        world.by_hand(lambda root: (root / CART / "mine.yaml").write_text("a: 1\n"))
        assert fix(world, "--git-only") == 1
        assert f"{CART}/mine.yaml" in world.tree()
        assert b"weight: 50" not in world.tree()[f"{CART}/route.yaml"]

    def test_where_publishing_needs_an_approval_it_is_offered(self, tmp_path, capsys):
        world = published(tmp_path / "approved", NAMESPACE, drift="revert")
        world.by_hand(by_hand(f"{CART}/route.yaml", "weight: 90", "weight: 50"))
        world.by_hand(
            by_hand("overlays/prod/project.yaml", "publish: direct", "publish: pull-request")
        )
        tip = world.tip()
        assert fix(world, "--git-only", "--dry-run") == 1
        assert "would offer  prod: revert" in capsys.readouterr().err
        assert world.tip() == tip

    def test_what_a_person_reverted_is_adopted_first(self, world):
        """A ledger that was set back is a decision; a commit of ours must not hide it."""
        world.act("hold", f"{NAMESPACE}/users")
        world.revert()
        assert fix(world, "--git-only") == 1
        ledger = kit.ledger(world.tree(), f"overlays/prod/eu/{NAMESPACE}/handler-users")
        assert ledger.hold.startswith("reverted by Ada")


def test_on_a_real_forge_it_is_a_pull_request(gitea_server, tmp_path, monkeypatch, capsys):
    world = published(tmp_path, NAMESPACE, drift="revert", modes={"publish": "direct"})
    edits = by_hand(f"{CART}/route.yaml", "weight: 90", "weight: 50")
    world.by_hand(by_hand("overlays/prod/project.yaml", "publish: direct", "publish: pull-request"))
    world.by_hand(edits)
    name = gitea_server.repository()
    token = gitea_server.tokens[BOT]
    address = f"{gitea_server.url}/{name}.git"
    git(world.output, "push", "-q", "--force", address.replace("://", f"://{BOT}:{token}@"), "main")
    for variable, value in {
        "GATI_FORGE": "gitea",
        "GATI_GIT_TOKEN": token,
        "GATI_GIT_USERNAME": BOT,
    }.items():
        monkeypatch.setenv(variable, value)
    arguments = ["drift", "--repo", address, "--env", "prod", "--git-only", "--fix"]
    assert run(arguments) == 1
    assert "opened" in capsys.readouterr().err
    (pull,) = gitea_server.api("GET", f"/repos/{name}/pulls?state=open", None)
    assert pull["title"] == "prod: revert what was changed by hand"
    assert pull["head"]["ref"].startswith("gati/") and "drift" in pull["head"]["ref"]
    # once more there is nothing new to offer
    assert run(arguments) == 1
    assert "unchanged" in capsys.readouterr().err


class TestReport:
    def test_where_nobody_wants_more_nothing_follows(self, tmp_path):
        world = published(tmp_path, NAMESPACE)
        world.by_hand(by_hand(f"{CART}/route.yaml", "weight: 90", "weight: 50"))
        tip = world.tip()
        assert fix(world, "--git-only") == 1
        assert world.tip() == tip

    def test_a_person_may_want_it_once(self, tmp_path):
        world = published(tmp_path, NAMESPACE)
        world.by_hand(by_hand(f"{CART}/route.yaml", "weight: 90", "weight: 50"))
        assert fix(world, "revert", "--git-only") == 1
        assert b"weight: 90" in world.tree()[f"{CART}/route.yaml"]


@pytest.fixture(scope="module")
def cluster(control_plane):
    control_plane.install_crds(
        "gateway.networking.k8s.io_HTTPRoute",
        "argoproj.io_App*t",
        "argoproj.io_Application",
        "kustomize.toolkit.fluxcd.io_Kustomization",
        "source.toolkit.fluxcd.io_GitRepository",
    )
    return control_plane


class TestLive:
    """Against a real API server."""

    def start(self, cluster, tmp_path, name, policy, at="eu"):
        world = published(tmp_path / name, name, drift=policy)
        items = sync(cluster, world.tree(), at)
        content(cluster, world.tree(), at)
        return world, items

    def fix(self, cluster, world, *options, at="eu"):
        return fix(world, "--cluster", at, "--kubeconfig", str(cluster.kubeconfig), *options)

    def test_traffic_that_a_person_moved_is_adopted_and_held(self, cluster, tmp_path, capsys):
        world, items = self.start(cluster, tmp_path, "adopt-traffic", "adopt")
        route = named(items, "HTTPRoute", "handler-cart")
        rules = route["spec"]["rules"]
        at = next(i for i, rule in enumerate(rules) if rule["name"] == "split")
        patch = [
            {"op": "replace", "path": f"/spec/rules/{at}/backendRefs/{n}/weight", "value": weight}
            for n, weight in enumerate((60, 40))
        ]
        cluster.kubectl(
            "-n", "adopt-traffic", "patch", "httproute", "handler-cart", "--type=json",
            "-p", json.dumps(patch),
        )  # fmt: skip
        assert self.fix(cluster, world) == 1
        ledger = kit.ledger(world.tree(), "overlays/prod/eu/adopt-traffic/handler-cart")
        assert {e.id: (str(e.phase), e.weight) for e in ledger.entries} == {
            "v1": ("Active", 60),
            "v2": ("Canary", 40),
        }
        assert ledger.hold.startswith("adopted: traffic v1 60 %, v2 40 %, by kubectl-patch at 20")
        assert world.log()[0] == "prod: adopt what was changed by hand"
        capsys.readouterr()
        # now Git and cluster agree
        arguments = ["--cluster", "eu", "--kubeconfig", str(cluster.kubeconfig)]
        assert run(["drift", "--repo", str(world.output), *arguments]) == 0

    def test_pods_are_adopted_and_an_image_is_not(self, cluster, tmp_path, capsys):
        world, _ = self.start(cluster, tmp_path, "adopt-pods", "adopt")
        kubectl = lambda *words: cluster.kubectl("-n", "adopt-pods", *words)  # noqa: E731
        kubectl("scale", "deployment/handler-cart-v1", "--replicas=6")
        kubectl("set", "image", "deployment/handler-cart-v2", "handler=evil:1")
        assert self.fix(cluster, world) == 1
        said = capsys.readouterr().err
        assert (
            "Deployment adopt-pods/handler-cart-v2 is changed, and only specs can say that" in said
        )
        folder = "overlays/prod/eu/adopt-pods/handler-cart"
        assert b"replicas: 6" in world.tree()[f"{folder}/kustomization.yaml"]
        assert "pods of v1 2 → 6" in kit.ledger(world.tree(), folder).hold
        assert b"evil" not in b"".join(world.tree().values())
        # the specs have the word again once the hold ends
        world.publish()
        assert b"replicas: 6" in world.tree()[f"{folder}/kustomization.yaml"]
        world.act("release", "adopt-pods/cart")
        assert b"replicas: 6" not in world.tree()[f"{folder}/kustomization.yaml"]

    @pytest.mark.parametrize("at", ["eu", "us"], ids=["argocd", "flux"])
    def test_a_commit_that_waits_for_the_engine_is_not_undone(self, cluster, tmp_path, capsys, at):
        """Between a commit and its sync the cluster has what Git said before."""
        name = f"adopt-early-{at}"
        world, _ = self.start(cluster, tmp_path, name, "adopt", at)
        more = shop(name, drift="adopt")
        for file, old, new in (
            ("cart.yaml", '"routingWeight": 10', '"routingWeight": 50'),
            ("cart-v1.yaml", '"routingWeight": 90', '"routingWeight": 50'),
            ("db.yaml", '"replicas": 2', '"replicas": 3'),
        ):
            assert old in more[file], more[file]
            more[file] = more[file].replace(old, new)
        world.release(more)
        tip = world.tip()
        assert self.fix(cluster, world, at=at) == 1
        said = capsys.readouterr()
        assert "weight" in said.out and "spec.replicas" in said.out
        assert said.err.count("waits for the engine") >= 2
        assert world.tip() == tip
        # what a person does meanwhile is another matter
        cluster.kubectl("-n", name, "scale", "deployment/module-db-v1", "--replicas=7")
        assert self.fix(cluster, world, at=at) == 1
        hold = kit.ledger(world.tree(), f"overlays/prod/{at}/{name}/module-db").hold
        assert hold.startswith("adopted: pods of ") and "3 → 7, by kubectl" in hold
        cart = kit.ledger(world.tree(), f"overlays/prod/{at}/{name}/handler-cart")
        assert not cart.hold and {e.weight for e in cart.entries} == {50}

    def test_no_pods_at_all_are_never_adopted(self, cluster, tmp_path, capsys):
        world, _ = self.start(cluster, tmp_path, "adopt-none", "adopt")
        cluster.kubectl("-n", "adopt-none", "scale", "deployment/handler-cart-v1", "--replicas=0")
        tip = world.tip()
        assert self.fix(cluster, world) == 1
        assert world.tip() == tip

    @pytest.mark.parametrize("at", ["eu", "us"], ids=["argocd", "flux"])
    def test_the_engine_is_asked_to_apply_git_again(self, cluster, tmp_path, capsys, at):
        name = f"revert-{at}"
        world, _ = self.start(cluster, tmp_path, name, "revert", at)
        cluster.kubectl("-n", name, "set", "image", "deployment/handler-cart-v2", "handler=evil:1")
        tip = world.tip()
        assert self.fix(cluster, world, at=at) == 1
        assert "was asked to apply Git again" in capsys.readouterr().err
        assert world.tip() == tip  # Git says what it should already
        if at == "eu":
            where = ("argoproj.io/v1alpha1", "Application", "argocd", f"prod.eu.{name}")
            note = "argocd.argoproj.io/refresh"
        else:
            where = ("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "flux-system")
            where = (*where, f"prod.us.{name}")
            note = "reconcile.fluxcd.io/requestedAt"
        assert note in cluster.api.get(*where)["metadata"]["annotations"]

    def test_an_engine_that_was_stopped_is_left_alone(self, cluster, tmp_path, capsys):
        world, _ = self.start(cluster, tmp_path, "revert-stopped", "revert")
        at = ("application", "prod.eu.revert-stopped", "--namespace=argocd", "--type=merge")
        cluster.kubectl("patch", *at, "-p", '{"spec":{"syncPolicy":{"automated":null}}}')
        cluster.kubectl(
            "-n", "revert-stopped", "set", "image", "deployment/handler-cart-v2", "handler=evil:1"
        )
        assert self.fix(cluster, world) == 1
        assert "was not asked to apply Git again: automatic sync is switched off" in (
            capsys.readouterr().err
        )
