"""Policies: each rule kept and broken, at its line, with the severity of each environment."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from gati_gitops.compiler import compile_specs
from gati_gitops.errors import Problem, SpecsInvalid
from gati_gitops.plan.check import check
from gati_gitops.plan.policies import reference
from gati_gitops.spec.load import load
from gati_gitops.tree import MemorySnapshot

SHA = "sha256:" + "a" * 64
PINNED = f"ghcr.io/acme/users:1@{SHA}"


def gati(policies: str = "", prod: str = "", staging: str = "") -> str:
    """Two environments; policies as YAML text for all of them and for each."""

    def block(text: str, depth: int) -> str:
        return indent("policies:\n" + indent(dedent(text).strip(), "  "), " " * depth) + "\n"

    text = "apiVersion: gati.dev/v1alpha1\nkind: GatiProject\nmetadata: {name: shop}\nspec:\n"
    text += block(policies, 2) if policies else ""
    text += "  environments:\n    staging:\n      clusters: {s1: {}}\n"
    text += block(staging, 6) if staging else ""
    text += "    prod:\n      clusters: {p1: {}, p2: {}}\n"
    text += block(prod, 6) if prod else ""
    return text


def handler(image: str = PINNED, more: str = "", labels: str = "{team: shop}") -> str:
    return dedent(f"""\
        apiVersion: gati.dev/v1alpha1
        kind: GatiHandler
        metadata:
          name: users
          namespace: shop
          labels: {labels}
        spec:
          handlerPath: /users
          version: v1
          replicas: 2
          image: {image}
          port: 3000
        """) + indent(dedent(more), "  ")


def found(project: str, unit: str, **partials: str) -> list[Problem]:
    files = {"gati.yaml": project, "users.yaml": unit}
    for env, text in partials.items():
        head = "kind: GatiHandler\nmetadata: {name: users, namespace: shop}\n"
        files[f"environments/{env}/users.yaml"] = head + dedent(text)
    specs = load((name, text.encode()) for name, text in files.items())
    return [p for p in check(specs) if p.code.startswith(("policy-", "bad-value"))]


def told(problem: Problem) -> tuple[str, str, str]:
    return (problem.code, str(problem.place), problem.severity.value)


IMAGE = "users.yaml:11:10"


# -- each rule -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "image, broken",
    [
        ("users", True),
        ("ghcr.io/acme/users", True),
        ("ghcr.io/acme/users:latest", True),
        ("localhost:5000/users", True),
        ("ghcr.io/acme/users:1.0.0", False),
        ("ghcr.io/acme/users:latest-2", False),
        (f"ghcr.io/acme/users@{SHA}", False),
        (f"ghcr.io/acme/users:latest@{SHA}", False),
    ],
)
def test_latest_is_a_warning_without_any_setting(image, broken):
    expected = [("policy-latest", IMAGE, "warning")] if broken else []
    assert [told(p) for p in found(gati(), handler(image))] == expected


def test_without_a_gati_yaml_the_defaults_hold():
    specs = load([("users.yaml", handler("users").encode())])
    (problem,) = check(specs)
    assert told(problem) == ("policy-latest", IMAGE, "warning")
    assert "(in default)" in problem.message
    assert problem.related == ()


def test_digest():
    project = gati("digest: {}")
    assert found(project, handler()) == []
    (problem,) = found(project, handler("ghcr.io/acme/users:1"))
    assert told(problem) == ("policy-digest", IMAGE, "error")
    assert problem.field == "spec.image"


@pytest.mark.parametrize(
    "image, allowed",
    [
        (PINNED, True),
        ("ghcr.io/acme/team/users:1", True),
        ("ghcr.io/acmeevil/users:1", False),
        ("ghcr.io/users:1", False),
        ("users:1", False),
        ("eu.registry.example.com/users:1", True),
        ("registry.example.com/users:1", False),
        ("evil.io/eu.registry.example.com/users:1", False),
        ("docker.io/acme/users:1", True),
        ("acme/users:1", True),
        ("other/users:1", False),
        ("localhost:5000/users:1", True),
        ("localhost:5001/users:1", False),
    ],
)
def test_allowed_registries(image, allowed):
    policies = """
        registries:
          allow: [ghcr.io/acme, "*.registry.example.com", docker.io/acme, "localhost:5000"]
    """
    problems = found(gati(policies), handler(image))
    assert [told(p) for p in problems] == (
        [] if allowed else [("policy-registries", IMAGE, "error")]
    )


@pytest.mark.parametrize(
    "name", ["acme", "acme/users", "Ghcr.io/Acme", "ghcr.io/", "https://ghcr.io"]
)
def test_a_registry_has_a_host(name):
    with pytest.raises(SpecsInvalid) as caught:
        found(gati(f'registries: {{allow: ["{name}"]}}'), handler())
    (problem,) = caught.value.problems
    assert problem.field == "spec.policies.registries.allow[0]"
    assert problem.place.line == 6


def test_a_registry_is_judged_as_nodes_pull_from_it():
    project = gati("registries: {allow: [mirror.example.com]}").replace(
        "      clusters: {p1: {}, p2: {}}\n",
        "      clusters: {p1: {}, p2: {}}\n      registries: {ghcr.io: mirror.example.com/gh}\n",
    )
    (problem,) = found(project, handler())
    assert problem.message.endswith("(in staging)")
    (other,) = found(project.replace("[mirror.example.com]", "[ghcr.io]"), handler())
    assert other.message.startswith(f"mirror.example.com/gh/acme/users:1@{SHA} ({PINNED} in the ")


@pytest.mark.parametrize(
    "pattern, image, broken",
    [
        ("docker.io/library/*", "node:20", True),
        ("docker.io/library/*", "acme/node:20", False),
        ("node:*-alpine", "docker.io/library/node:20-alpine", True),
        ("node:*-alpine", "node:20", False),
        ("node", f"node@{SHA}", True),
        ("*/users:1", PINNED, True),
        (f"*@{SHA}", PINNED, True),
        ("users*", PINNED, False),
    ],
)
def test_forbidden_images(pattern, image, broken):
    problems = found(gati(f'images: {{forbid: ["{pattern}"]}}'), handler(image))
    assert [told(p) for p in problems] == ([("policy-images", IMAGE, "error")] if broken else [])


def test_limits_count_what_is_given_when_a_spec_is_silent():
    project = gati("limits: {require: [cpu, memory], severity: error}")
    assert found(project, handler()) == []
    (problem,) = found(project, handler(more="resources:\n  limits:\n    memory: 1Gi\n"))
    assert told(problem) == ("policy-limits", "users.yaml:14:5", "error")
    assert problem.field == "spec.resources.limits.cpu"


def test_a_memory_limit_is_wanted_without_any_setting():
    (problem,) = found(gati(), handler(more="resources:\n  requests:\n    memory: 1Gi\n"))
    assert told(problem) == ("policy-limits", "users.yaml:13:3", "warning")


@pytest.mark.parametrize(
    "more, place",
    [
        ("", None),
        ("autoscaling:\n  min: 2\n  max: 5\n", None),
        ("autoscaling:\n  min: 1\n  max: 5\n", "users.yaml:14:10"),
        ("autoscaling:\n  min: 2\n  max: 6\n", "users.yaml:15:10"),
        ("autoscaling:\n  min: 2\n", "users.yaml:13:3"),  # at most 6, by default
    ],
)
def test_replicas(more, place):
    problems = found(gati("replicas: {min: 2, max: 5}"), handler(more=more))
    assert [told(p) for p in problems] == ([("policy-replicas", place, "error")] if place else [])


@pytest.mark.parametrize("number, broken", [(1, True), (2, False), (5, False), (6, True)])
def test_fixed_replicas(number, broken):
    unit = handler().replace("replicas: 2", f"replicas: {number}")
    problems = found(gati("replicas: {min: 2, max: 5}"), unit)
    assert [told(p)[1] for p in problems] == ["users.yaml:10:13"] * broken


@pytest.mark.parametrize(
    "labels, place, message",
    [
        ("{team: shop, tier: gold}", None, ""),
        ("{team: shop}", "users.yaml:6:3", "the label tier is missing"),
        ("{team: shop, tier: lead}", "users.yaml:6:30", "the label tier must not be 'lead'"),
        ("{team: shop, tier: silver-2}", None, ""),
    ],
)
def test_labels(labels, place, message):
    project = gati('labels: {require: {team: [], tier: [gold, "silver-*"]}}')
    problems = found(project, handler(labels=labels))
    assert [str(p.place) for p in problems] == ([place] if place else [])
    assert all(p.message.startswith(message) for p in problems)


def test_a_label_that_the_compiler_writes_is_there():
    assert found(gati("labels: {require: {app.kubernetes.io/part-of: [shop]}}"), handler()) == []


# -- environments ----------------------------------------------------------------------------------


def test_severity_per_environment():
    project = gati("digest: {severity: warning}", prod="digest: {severity: error}")
    problems = found(project, handler("ghcr.io/acme/users:1"))
    assert [told(p)[2] for p in problems] == ["error", "warning"]
    assert problems[0].message.endswith("(in prod)")
    assert problems[1].message.endswith("(in staging)")


@pytest.mark.parametrize("prod", ["digest: {severity: none}", "digest: null"])
def test_an_environment_can_switch_a_rule_off(prod):
    (problem,) = found(gati("digest: {}", prod=prod), handler("ghcr.io/acme/users:1"))
    assert problem.message.endswith("(in staging)")


def test_the_defaults_can_be_switched_off():
    assert found(gati("latest: {severity: none}"), handler("users")) == []
    assert found(gati("latest: null"), handler("users")) == []


def test_two_environments_are_one_problem():
    (problem,) = found(gati("digest: {}"), handler("ghcr.io/acme/users:1"))
    assert problem.message.endswith("(in staging, prod)")


def test_a_partial_document_alone_can_break_a_rule():
    problems = found(
        gati("replicas: {min: 2}"), handler(), prod="spec:\n  replicas: 1\n  port: 3001\n"
    )
    (problem,) = problems
    assert told(problem) == ("policy-replicas", "environments/prod/users.yaml:4:13", "error")
    assert problem.message.endswith("(in prod)")


def test_a_partial_document_can_put_it_right():
    unit = handler().replace("replicas: 2", "replicas: 1")
    (problem,) = found(gati("replicas: {min: 2}"), unit, prod="spec:\n  replicas: 3\n")
    assert problem.message.endswith("(in staging)")


def test_rules_of_an_environment_are_laid_over_those_of_the_project():
    project = gati("replicas: {min: 1, max: 3}", prod="replicas: {max: 9}")
    unit = handler().replace("replicas: 2", "replicas: 5")
    (problem,) = found(project, unit)
    assert problem.message.endswith("(in staging)")
    low = found(project, unit.replace("replicas: 5", "replicas: 0"))
    assert [p.message[-18:] for p in low] == ["(in staging, prod)"]


def test_rules_that_do_not_fit_together():
    (problem,) = found(gati("replicas: {max: 2}", prod="replicas: {min: 3}"), handler())
    assert problem.code == "bad-value"
    assert str(problem.place).startswith("gati.yaml:13:")
    assert "min 3 is above max 2" in problem.message


def test_a_violation_names_the_policy():
    (problem,) = found(gati("digest: {}"), handler("ghcr.io/acme/users:1"))
    assert [(str(place), note) for place, note in problem.related] == [
        ("gati.yaml:6:5", "the policy")
    ]
    (problem,) = found(gati(prod="digest: {}"), handler("ghcr.io/acme/users:1"))
    assert str(problem.related[0][0]) == "gati.yaml:11:9"


# -- versions --------------------------------------------------------------------------------------


def test_a_version_is_judged_where_it_says_it():
    version = dedent("""\
        apiVersion: gati.dev/v1alpha1
        kind: GatiVersion
        metadata: {name: users-v2, namespace: shop}
        spec:
          handler: users
          versionId: v2
          breaking: false
          routingWeight: 0
          image: ghcr.io/acme/users:2
          replicas: 1
        """)
    project = gati("digest: {}\nreplicas: {min: 2}\nlimits: {require: [cpu], severity: error}")
    unit = handler(more="resources:\n  limits:\n    memory: 1Gi\n")
    files = {"gati.yaml": project, "users.yaml": unit, "v2.yaml": version}
    specs = load((name, text.encode()) for name, text in files.items())
    assert [told(p)[:2] for p in check(specs)] == [
        ("policy-limits", "users.yaml:14:5"),  # of both versions: v2 has it from the handler
        ("policy-limits", "users.yaml:14:5"),
        ("policy-digest", "v2.yaml:9:10"),
        ("policy-replicas", "v2.yaml:10:13"),
    ]


def test_an_error_stops_a_compile_and_a_warning_does_not():
    def compiled(policies: str) -> object:
        files = {"gati.yaml": gati(policies), "users.yaml": handler("ghcr.io/acme/users:1")}
        specs = load((name, text.encode()) for name, text in files.items())
        return compile_specs(specs, MemorySnapshot())

    with pytest.raises(SpecsInvalid):
        compiled("digest: {}")
    assert [p.code for p in compiled("digest: {severity: warning}").warnings] == ["policy-digest"]


@pytest.mark.parametrize(
    "image, name, tag",
    [
        ("node", "docker.io/library/node", "latest"),
        ("acme/node:1", "docker.io/acme/node", "1"),
        ("localhost/node:1", "localhost/node", "1"),
        ("host:5000/node", "host:5000/node", "latest"),
        (f"ghcr.io/a/b/c@{SHA}", "ghcr.io/a/b/c", ""),
    ],
)
def test_references(image, name, tag):
    assert (reference(image).name, reference(image).tag) == (name, tag)
