"""What answers drift: a CronJob beside the job, where an environment wants more than to be told."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from gati_gitops.check.custom import read_crds
from gati_gitops.check.objects import check_objects
from gati_gitops.emit.job.rbac import COMPARED, plural
from gati_gitops.render import MemoryFiles, render
from gati_gitops.tree import Tree
from tests.job.kit import NAME, built, job, pod, tree
from tests.network.restricted import violations

HOME = "overlays/prod/eu/gati-system/_reconciler"
DRIFT = "gati-drift-shop"
INSTANCE, COMPONENT = "app.kubernetes.io/instance", "app.kubernetes.io/component"
MODES = pytest.mark.parametrize("mode", ["deployment", "cronjob"])
ANSWERS = pytest.mark.parametrize("policy", ["revert", "adopt"])


def answering(policy: str | None = "revert", cluster: Any = None, **spec: Any) -> Tree:
    said = {} if policy is None else {"drift": policy}
    return tree(environments={"prod": {"clusters": {"eu": cluster or {}}, **said}}, **spec)


def cron_job(found: Tree, home: str = HOME) -> dict[str, Any]:
    items = render(MemoryFiles(found), home).objects()
    (item,) = (i for i in items if i["metadata"]["name"] == DRIFT)
    assert item["kind"] == "CronJob"
    return item


def template(item: dict[str, Any]) -> dict[str, Any]:
    return item["spec"]["jobTemplate"]["spec"]["template"]


def container(item: dict[str, Any]) -> dict[str, Any]:
    (found,) = template(item)["spec"]["containers"]
    return found


def rules(found: Tree) -> set[tuple[str, str, str, str]]:
    """Kind of role, group, resource and verb."""
    return {
        (item["kind"], group, resource, verb)
        for item in render(MemoryFiles(found), HOME).objects()
        for rule in item.get("rules", ())
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


# -- where it is -----------------------------------------------------------------------------------


@MODES
def test_where_drift_is_only_told_nothing_is_there(mode):
    said = answering("report", job=job(mode=mode), monitoring={})
    assert said == answering(None, job=job(mode=mode), monitoring={}), "the default"
    home = {path: text for path, text in said.items() if "reconciler" in path}
    assert DRIFT.encode() not in b"".join(home.values())
    assert f"{HOME}/drift.yaml" not in home


@MODES
@ANSWERS
def test_nothing_else_of_the_job_is_another(mode, policy):
    """The release folder is the same, and what the cluster has of its own gets longer."""
    before, after = (answering(p, job=job(mode=mode), monitoring={}) for p in ("report", policy))
    changed = {path for path in after if after[path] != before.get(path)}
    assert before.keys() <= after.keys()
    assert changed == {
        *(f"{HOME}/{name}.yaml" for name in ("drift", "kustomization", "monitoring", "network")),
        f"{HOME}/rights.yaml",
        "overlays/prod/project.yaml",
    }


def test_each_cluster_answers_for_itself_and_only_where_its_environment_wants_it():
    environments = {
        "prod": {"clusters": {"eu": {}, "us": {}}, "drift": "revert"},
        "dev": {"clusters": {"dev": {}}},
    }
    found = tree(environments=environments)
    assert [path for path in sorted(found) if path.endswith("/drift.yaml")] == [
        f"overlays/prod/{cluster}/gati-system/_reconciler/drift.yaml" for cluster in ("eu", "us")
    ]
    us = cron_job(found, "overlays/prod/us/gati-system/_reconciler")
    assert "--cluster=us" in container(us)["args"]


def test_without_a_job_nobody_answers():
    assert not [path for path in answering(job=job(enabled=False)) if "reconciler" in path]


# -- what runs -------------------------------------------------------------------------------------


@MODES
def test_it_runs_as_the_job_does(mode):
    secrets = {"git": "a", "metrics": "b", "forge": "c", "signing": "d"}
    said = job(mode=mode, secrets=secrets, deadline="5m", timeZone="Europe/Berlin",
               imagePullSecrets=["p"], env={"A": "b"})  # fmt: skip
    found = answering(job=said, monitoring={})
    item, watching = cron_job(found), pod(built(found))
    assert item["spec"]["schedule"] == "*/10 * * * *"
    assert item["spec"]["concurrencyPolicy"] == "Forbid"
    assert item["spec"]["timeZone"] == "Europe/Berlin"
    assert item["spec"]["jobTemplate"]["spec"]["activeDeadlineSeconds"] == 300
    assert item["spec"]["jobTemplate"]["spec"]["backoffLimit"] == 0
    mine = template(item)["spec"]
    assert mine["restartPolicy"] == "Never"
    for field in ("serviceAccountName", "securityContext", "imagePullSecrets"):
        assert mine[field] == watching[field]
    (theirs,) = watching["containers"]
    for field in ("image", "env", "securityContext", "resources"):
        assert container(item)[field] == theirs[field]
    assert [v for v in mine["volumes"] if "secret" in v] == [
        v for v in watching["volumes"] if "secret" in v
    ]
    assert not container(item).keys() & {"ports", "livenessProbe", "readinessProbe", "command"}


def test_its_schedule_is_a_setting_of_its_own():
    clusters = {"eu": {"job": {"driftSchedule": "0 * * * *"}}}
    found = tree(
        environments={"prod": {"clusters": clusters, "drift": "adopt"}},
        job=job(mode="cronjob", schedule="*/5 * * * *"),
    )
    assert cron_job(found)["spec"]["schedule"] == "0 * * * *"
    (other,) = (i for i in built(found).values() if i["metadata"]["name"] == NAME
                and i["kind"] == "CronJob")  # fmt: skip
    assert other["spec"]["schedule"] == "*/5 * * * *"


def test_the_pod_is_restricted_and_every_object_is_valid():
    found = answering()
    assert list(violations(template(cron_job(found))["spec"])) == []
    assert container(cron_job(found))["securityContext"]["readOnlyRootFilesystem"] is True
    objects = [(o["kind"], o) for o in render(MemoryFiles(found), HOME).objects()]
    assert list(check_objects(objects, read_crds({}))) == []


def test_a_registry_that_serves_the_image_here():
    mirrors = {"registry.example.com": "mirror.example/x"}
    prod = {"clusters": {"eu": {}}, "drift": "revert", "registries": mirrors}
    item = cron_job(tree(environments={"prod": prod}))
    assert container(item)["image"] == "mirror.example/x/gati-gitops:1.2.3"


def test_its_arguments_are_those_that_the_verb_takes():
    from gati_gitops.cli.drift import command

    cluster = {"sync": {"name": "eu", "hub": "hub"}, "job": {"secrets": {"engine": "k"}}}
    args = container(cron_job(answering(cluster=cluster)))["args"]
    assert args[0] == "drift"
    assert {"--fix=policy", "--unattended", "--env=prod", "--cluster=eu"} <= set(args)
    assert {"--context=hub=hub", "--kubeconfig=/var/run/secrets/gati-gitops/engine/kubeconfig"} <= (
        set(args)
    )
    done = CliRunner().invoke(command, [*args[1:], "--help"])
    assert done.exit_code == 0, done.output
    known = {opt for param in command.params for opt in param.opts}
    assert {arg.partition("=")[0] for arg in args[1:]} <= known


@pytest.mark.parametrize("project", ["s", "shop", "a" * 63])
def test_its_name_leaves_room_for_the_number_of_a_run(project):
    from gati_gitops.plan.job import drift_name, job_name

    assert len(drift_name(project)) <= 52, "the CronJob controller adds eleven characters"
    assert drift_name(project) != job_name(project)


# -- its labels ------------------------------------------------------------------------------------


def matches(selector: dict[str, str], item: dict[str, Any]) -> bool:
    return selector.items() <= item["metadata"]["labels"].items()


def test_the_network_policy_is_for_both_and_the_service_for_the_job_alone():
    found = answering(job=job(replicas=2), monitoring={})
    objects = built(found)
    mine = template(cron_job(found))
    theirs = objects["Deployment"]["spec"]["template"]
    policy = objects["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"]
    assert matches(policy, mine) and matches(policy, theirs)
    for selector in (
        objects["Service"]["spec"]["selector"],
        objects["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
        objects["Deployment"]["spec"]["selector"]["matchLabels"],
    ):
        assert matches(selector, theirs) and not matches(selector, mine)
    assert mine["metadata"]["labels"][COMPONENT] == "drift"
    assert mine["metadata"]["labels"][INSTANCE] == NAME


# -- rights ----------------------------------------------------------------------------------------


@ANSWERS
def test_it_may_read_what_it_compares_and_nothing_more(policy):
    more = rules(answering(policy)) - rules(answering("report"))
    reads = {rule for rule in more if rule[3] in ("get", "list")}
    wanted = {("ClusterRole", g, plural(k), verb) for g, k in COMPARED for verb in ("get", "list")}
    assert reads <= wanted <= rules(answering(policy))
    assert not [rule for rule in wanted if "*" in "".join(rule) or rule[2] == "secrets"]


@pytest.mark.parametrize("engine", ["argocd", "flux"])
@pytest.mark.parametrize("nudge", ["none", "annotation"])
def test_only_who_reverts_may_ask_the_engine_to_apply_again(engine, nudge):
    cluster = {"sync": {"engine": engine, "nudge": nudge}}
    asked = {
        "argocd": ("Role", "argoproj.io", "applications", "patch"),
        "flux": ("Role", "kustomize.toolkit.fluxcd.io", "kustomizations", "patch"),
    }[engine]
    told = {rule for rule in rules(answering("report", cluster)) if rule[0] == "Role"}
    assert {rule for rule in rules(answering("adopt", cluster)) if rule[0] == "Role"} == told
    assert {rule for rule in rules(answering("revert", cluster)) if rule[0] == "Role"} == {
        *told,
        asked,
    }


def test_kinds_of_the_team_s_own_are_read_too_and_secrets_never():
    sync = {
        "repository": "https://git.example.com/acme/deploy.git",
        "argocd": {
            "kinds": [
                {"group": "cert-manager.io", "kind": "Certificate"},
                {"group": "example.com", "kind": "Policy"},
                {"kind": "Secret"},
            ]
        },
    }
    found = rules(answering(sync=sync))
    assert ("ClusterRole", "cert-manager.io", "certificates", "list") in found
    assert ("ClusterRole", "example.com", "policies", "get") in found
    assert not [rule for rule in found if rule[2] == "secrets"]
    told = rules(answering("report", sync=sync))
    assert not [rule for rule in told if rule[1] == "cert-manager.io"]


def test_what_is_compared_is_all_that_the_job_writes_of_itself():
    """A kind that comes to the folders of the job must be one that a look may read."""
    found = answering(job=job(replicas=2), monitoring={})
    kinds = {
        (item["apiVersion"].rpartition("/")[0], item["kind"])
        for item in render(MemoryFiles(found), "overlays/prod/eu").objects()
    }
    assert kinds <= COMPARED
    text = yaml.safe_load(found["overlays/prod/eu/kustomization.yaml"])
    assert "gati-system/_reconciler" in text["resources"]
