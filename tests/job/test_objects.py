"""What the job compiles to: restricted, with its Secrets as files, and with no more than it needs."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from gati_gitops.check.custom import read_crds
from gati_gitops.check.objects import check_objects
from gati_gitops.errors import SpecsInvalid
from gati_gitops.render import MemoryFiles, render
from gati_gitops.tree import Tree
from tests.compile.kit import compiled, handler
from tests.job.kit import NAME, PROJECT, built, container, job, pod, tree
from tests.network.restricted import violations
from tests.tools import crds_dir

HOME = "overlays/prod/eu/gati-system/_reconciler"


def one(found: Tree, path: str) -> dict[str, Any]:
    (item,) = yaml.safe_load_all(found[path])
    return item


def refused(**spec: Any) -> str:
    with pytest.raises(SpecsInvalid) as caught:
        tree(**spec)
    return " ".join(f"{p.message} {p.remedy}" for p in caught.value.problems)


# -- where it is -----------------------------------------------------------------------------------


def test_without_the_section_nothing_is_written():
    spec = {name: value for name, value in PROJECT.items() if name != "job"}
    head = {"apiVersion": "gati.dev/v1alpha1", "kind": "GatiProject", "metadata": {"name": "shop"}}
    text = json.dumps({**head, "spec": spec})
    found = compiled({"gati.yaml": text, "u.yaml": handler()}).tree
    assert not [path for path in found if "reconciler" in path or "gati-system" in path]


def test_it_is_a_release_folder_and_a_folder_of_the_cluster():
    found = tree()
    (release,) = {path.rpartition("/")[0] for path in found if path.startswith("base/gati-system")}
    assert re.fullmatch(r"base/gati-system/reconciler/1-2-3-[0-9a-f]{8}", release)
    kustomization = one(found, f"{HOME}/kustomization.yaml")
    assert f"../../../../../{release}" in kustomization["resources"]
    cluster = one(found, "overlays/prod/eu/kustomization.yaml")
    assert "gati-system/_reconciler" in cluster["resources"]


def test_the_whole_cluster_builds_with_it():
    kinds = [o["kind"] for o in render(MemoryFiles(tree()), "overlays/prod/eu").objects()]
    assert kinds.count("Deployment") == 2, "the unit and the job"


def test_what_clusters_share_is_one_folder():
    clusters = {"eu": {}, "us": {"job": {"replicas": 2, "interval": "30s"}}}
    found = tree(environments={"prod": {"clusters": clusters}, "dev": {"clusters": {"dev": {}}}})
    folders = {path.split("/")[3] for path in found if path.startswith("base/gati-system/")}
    assert len(folders) == 1
    us = built(found, "overlays/prod/us/gati-system/_reconciler")
    assert us["Deployment"]["spec"]["replicas"] == 2
    assert "--interval=30s" in container(us)["args"]
    assert "--interval=60s" in container(built(found))["args"]


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("r.example.com/g:1.4.0", "1-4-0"),
        ("r.example.com:5000/g", "latest"),
        ("r.example.com/g@sha256:" + "ab" * 32, "abababababab"),
        ("r.example.com/g:V1_x@sha256:" + "ab" * 32, "v1-x-"),
    ],
)
def test_the_folder_is_named_by_the_image_s_version(image, version):
    folders = [p for p in tree(job=job(image=image)) if p.startswith("base/gati-system/")]
    assert all(path.split("/")[3].startswith(version) for path in folders)


@pytest.mark.parametrize(
    "spec",
    [
        {"environments": {"prod": {"clusters": {"eu": {}}, "job": {"enabled": False}}}},
        {"environments": {"prod": {"clusters": {"eu": {"job": {"enabled": False}}}}}},
        {"job": job(enabled=False)},
    ],
)
def test_it_can_be_switched_off(spec):
    assert not [path for path in tree(**spec) if "reconciler" in path]


def test_an_environment_may_have_one_alone():
    environments = {
        "prod": {"clusters": {"eu": {}}, "job": job()},
        "dev": {"clusters": {"dev": {}}},
    }
    found = tree(job=None, environments=environments)
    assert f"{HOME}/rights.yaml" in found
    assert not [path for path in found if "overlays/dev" in path and "reconciler" in path]


# -- the namespace ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("routing", "namespace", "ours"),
    [
        ({}, "gati-system", False),
        ({"gateway": {"namespace": "edge"}}, "gati-system", True),
        ({"provider": "traefik"}, "gati-system", True),
        ({}, "watchers", True),
        ({}, "kube-system", False),
    ],
)
def test_a_namespace_that_holds_a_gateway_is_not_ours_to_restrict(routing, namespace, ours):
    environments = {"prod": {"clusters": {"eu": {}}, "routing": routing}}
    found = tree(environments=environments, job=job(namespace=namespace))
    path = f"overlays/prod/eu/{namespace}/_namespace/namespace.yaml"
    assert (path in found) is ours
    assert (f"clusters/eu/{namespace}.namespace.yaml" in found) is ours
    if ours:
        enforced = one(found, path)["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]
        assert enforced == "restricted"


# -- what runs -------------------------------------------------------------------------------------

MODES = pytest.mark.parametrize("mode", ["deployment", "cronjob"])


@MODES
def test_the_pod_is_restricted(mode):
    objects = built(tree(job=job(mode=mode)))
    assert list(violations(pod(objects))) == []
    assert container(objects)["securityContext"]["readOnlyRootFilesystem"] is True
    assert pod(objects)["securityContext"]["runAsUser"] == 65532
    assert "command" not in container(objects), "there is no shell to run one with"


@MODES
def test_every_object_is_valid(mode):
    found = tree(job=job(mode=mode, replicas=2), monitoring={})
    objects = list(render(MemoryFiles(found), HOME).objects())
    kinds = read_crds({p.name: p.read_bytes() for p in crds_dir().glob("monitoring*.yaml")})
    assert list(check_objects([(o["kind"], o) for o in objects], kinds)) == []


def test_a_deployment_stays_and_is_asked_how_it_fares():
    objects = built(tree())
    spec = objects["Deployment"]["spec"]
    assert spec["replicas"] == 1
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    box = container(objects)
    assert box["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert box["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert {"--watch", "--listen=0.0.0.0:8080", f"--lease=gati-system/{NAME}"} <= set(box["args"])
    assert "Service" in objects and "PodDisruptionBudget" not in objects


def test_two_pods_have_a_disruption_budget():
    budget = built(tree(job=job(replicas=2)))["PodDisruptionBudget"]
    assert budget["spec"]["maxUnavailable"] == 1


def test_a_cron_job_never_runs_beside_itself_and_never_tries_again():
    objects = built(tree(job=job(mode="cronjob", deadline="5m", timeZone="Europe/Berlin")))
    spec = objects["CronJob"]["spec"]
    assert spec["concurrencyPolicy"] == "Forbid"
    assert spec["startingDeadlineSeconds"] == 60
    assert spec["timeZone"] == "Europe/Berlin"
    assert spec["jobTemplate"]["spec"]["backoffLimit"] == 0
    assert spec["jobTemplate"]["spec"]["activeDeadlineSeconds"] == 300
    assert pod(objects)["restartPolicy"] == "Never"
    args = container(objects)["args"]
    assert not [a for a in args if a.startswith(("--watch", "--lease", "--listen"))]
    assert "Service" not in objects


def test_it_is_told_for_whom_it_works():
    found = tree(
        output={"root": "deploy"},
        sync={"repository": "https://git.example.com/a/b.git", "branch": "live"},
    )
    args = container(built(found))["args"]
    told = ("--repo=https://git.example.com/a/b.git", "--branch=live", "--root=deploy", "--env=prod",
            "--cluster=eu")  # fmt: skip
    assert set(told) <= set(args)
    release = next(p for p in found if p.startswith("base/gati-") and p.endswith("deployment.yaml"))
    base = one(found, release)["spec"]["template"]["spec"]["containers"][0]["args"]
    assert not [argument for argument in base if argument in told], "the base knows no cluster"


def test_its_arguments_are_those_that_the_verb_takes():
    """Every argument of a compiled job is understood by `reconcile`; only `--help` is added."""
    from click.testing import CliRunner

    from gati_gitops.cli.reconcile import command

    environments = {
        "prod": {
            "clusters": {
                "eu": {"sync": {"name": "eu", "hub": "hub"}, "job": {"secrets": {"engine": "k"}}}
            }
        }
    }
    for mode in ("deployment", "cronjob"):
        args = container(built(tree(environments=environments, job=job(mode=mode))))["args"]
        assert args[0] == "reconcile"
        assert "--context=hub=hub" in args
        done = CliRunner().invoke(command, [*args[1:], "--help"])
        assert done.exit_code == 0, done.output
        known = {opt for param in command.params for opt in param.opts}
        assert {arg.partition("=")[0] for arg in args[1:]} <= known


def test_a_registry_that_serves_the_image_here():
    environments = {
        "prod": {"clusters": {"eu": {}}, "registries": {"registry.example.com": "mirror.example/x"}}
    }
    image = container(built(tree(environments=environments)))["image"]
    assert image == "mirror.example/x/gati-gitops:1.2.3"


# -- Secrets ---------------------------------------------------------------------------------------


def mounts(objects: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Where each Secret's files are."""
    secrets = {
        v["name"]: v["secret"]["secretName"] for v in pod(objects)["volumes"] if "secret" in v
    }
    return {
        m["mountPath"]: (secrets[m["name"]], str(m.get("readOnly")))
        for m in container(objects)["volumeMounts"]
        if m["name"] in secrets
    }


def env(objects: dict[str, Any]) -> dict[str, Any]:
    return {e["name"]: e.get("value", e.get("valueFrom")) for e in container(objects)["env"]}


def test_secrets_are_files_and_no_value_stands_anywhere():
    secrets = {"git": "a", "metrics": "b", "forge": "c", "signing": "d"}
    objects = built(tree(job=job(secrets=secrets)))
    root = "/var/run/secrets/gati-gitops"
    assert mounts(objects) == {
        f"{root}/git": ("a", "True"),
        f"{root}/metrics": ("b", "True"),
        f"{root}/forge": ("c", "True"),
        f"{root}/signing": ("d", "True"),
    }
    said = env(objects)
    assert said["GATI_GIT_TOKEN_FILE"] == f"{root}/git/password"
    assert said["GATI_FORGE_TOKEN_FILE"] == f"{root}/forge/token"
    assert said["GATI_SIGNING_KEY"] == f"{root}/signing/key"
    assert said["GATI_GIT_USERNAME"] == {
        "secretKeyRef": {"name": "a", "key": "username", "optional": True}
    }
    modes = [v["secret"]["defaultMode"] for v in pod(objects)["volumes"] if "secret" in v]
    assert set(modes) == {0o440}


def test_over_ssh_it_has_a_key_and_knows_its_hosts():
    objects = built(tree(sync={"repository": "ssh://git@git.example.com/a/b.git"}))
    said = env(objects)
    assert said["GATI_SSH_KEY"].endswith("/git/identity")
    assert said["GATI_SSH_KNOWN_HOSTS"].endswith("/git/known_hosts")
    assert "GATI_GIT_TOKEN_FILE" not in said and "GATI_GIT_USERNAME" not in said


def test_a_secret_in_the_settings_is_refused():
    assert "token" in refused(job=job(env={"API_TOKEN": "ghp_" + "a1B2" * 9}))


# -- what is wrong with settings -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"job": {}}, "the job on eu has no image"),
        ({"sync": None}, "no repository to write to"),
        ({"job": job(schedule="* * * *")}, "five fields"),
        ({"job": job(schedule="61 * * * *")}, "is no minute"),
        ({"job": job(schedule="* * * * MON-FOO")}, "is no day of the week"),
        ({"job": job(schedule="5-1 * * * *")}, "is no minute"),
        ({"job": job(schedule="@daily")}, "five fields"),
        ({"job": job(timeZone="Europe/Nowhere")}, "no time zone"),
        ({"job": job(interval="1s")}, "below 10s"),
        ({"job": job(deadline="2h")}, "from 30s to 1h"),
        ({"job": job(replicas=3)}, "2"),
        ({"job": job(image="a b")}, "image"),
        ({"job": job(repository="ssh://git@h:99999/x.git")}, "no port 99999"),
        (
            {"environments": {"prod": {"clusters": {"eu": {"sync": {"name": "eu"}}}}}},
            "sync.hub",
        ),
        (
            {"environments": {"prod": {"clusters": {"eu": {"sync": {"name": "eu", "hub": "h"}}}}}},
            "job.secrets.engine",
        ),
    ],
)
def test_what_cannot_work_is_refused_with_a_remedy(spec, words):
    assert words in refused(**spec)


@pytest.mark.parametrize(
    "schedule", ["*/2 * * * *", "0,30 6-20/2 1 JAN-MAR mon-fri", "0 0 1 1 0", "59 23 31 12 6"]
)
def test_schedules(schedule):
    found = built(tree(job=job(mode="cronjob", schedule=schedule)))
    assert found["CronJob"]["spec"]["schedule"] == schedule


def test_an_engine_that_nobody_shall_ask_needs_no_hub():
    sync = {"name": "eu", "unseen": True}
    objects = built(tree(environments={"prod": {"clusters": {"eu": {"sync": sync}}}}))
    assert "Role argocd" not in objects
    assert "--context" not in " ".join(container(objects)["args"])
