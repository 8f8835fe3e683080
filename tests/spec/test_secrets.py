"""Secrets in specs: refused where they are certain or look like it, and never printed."""

from __future__ import annotations

import pytest

from gati_gitops.errors import Problem, SpecsInvalid
from gati_gitops.redact import redact
from gati_gitops.spec.load import load
from tests.compile.kit import handler

B36 = "a1B2c3D4e5F6" * 6


def found(**spec: object) -> list[Problem]:
    try:
        return list(load([("a.yaml", handler(**spec).encode())]).warnings)
    except SpecsInvalid as error:
        return list(error.problems)


TOKENS = [
    f"ghp_{B36[:36]}",
    f"github_pat_{B36[:40]}",
    f"glpat-{B36[:20]}",
    f"gldt-{B36[:20]}",
    "AKIA" + "A1B2C3D4" * 2,
    f"xoxb-{B36[:24]}",
    f"https://hooks.slack.com/services/T0AB/B0AB/{B36[:24]}",
    f"sk_live_{B36[:24]}",
    f"sk-ant-{B36[:40]}",
    f"sk-proj-{B36[:40]}",
    f"AIza{B36[:35]}",
    f"GOCSPX-{B36[:28]}",
    f"ya29.{B36[:40]}",
    f"SG.{B36[:22]}.{B36[:43]}",
    f"hvs.{B36[:30]}",
    "dop_v1_" + "0123456789abcdef" * 4,
    f"dckr_pat_{B36[:27]}",
    f"hf_{B36[:34]}",
    "shpat_" + "0123456789abcdef" * 2,
    f"DefaultEndpointsProtocol=https;AccountName=a;AccountKey={B36[:64]}==",
    "AGE-SECRET-KEY-1" + "A1B2C3D4" * 8,
    f"eyJ{B36[:20]}.eyJ{B36[:20]}.{B36[:20]}",
    "-----BEGIN EC PRIVATE KEY-----\nMHc\n-----END EC PRIVATE KEY-----\n",
    "postgres://app:hunter2@db:5432/app",
    "amqp://:hunter2@mq",
    "mongodb+srv://app:hunter2@a.example.com,b.example.com/app?x=1",
]


@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize("where", ["env", "args", "file", "text"])
def test_a_secret_is_refused_wherever_it_stands(token, where):
    spec = {
        "env": {"env": {"SETTING": token}},
        "args": {"args": ["--x", f"--setting={token}"]},
        "file": {"volumes": [{"name": "a", "mountPath": "/a", "files": {"b": f"c: {token}\n"}}]},
        "text": {"env": {"SETTING": f"before {token} after"}},
    }[where]
    (problem,) = found(**spec)
    assert problem.code == "secret-in-spec"
    assert problem.is_error
    for shown in (problem.message, problem.remedy, redact(f"x: {token}".split("\n")[0])):
        assert "hunter2" not in shown
        assert B36[:16] not in shown


@pytest.mark.parametrize(
    "name, value",
    [
        ("DB_PASSWORD", "Tr0ub4dor"),
        ("dbPassword", "correct7Horse"),
        ("API_KEY", "0123456789abcdef0123456789abcdef"),
        ("API_TOKEN", "p@ssw0rd"),
        ("CLIENT_SECRET", "q8X~zz0-aa_bb.cc"),
    ],
)
def test_a_name_and_a_value_that_both_look_like_it_are_refused(name, value):
    for spec in (
        {"env": {name: value}},
        {"args": [f"--{name}={value}"]},
        {"args": [f"--{name}", value]},
    ):
        (problem,) = found(**spec)
        assert (problem.code, problem.severity.value) == ("secret-in-spec", "error")
        assert value not in f"{problem.message}{problem.remedy}"


@pytest.mark.parametrize(
    "value",
    [
        "disabled", "changeme", "users-token-v2", "/run/secrets/token", "file:///run/secrets/token",
        "vault:secret/data/users#key", "$(DB_PASSWORD)", "${DB_PASSWORD}", "<password>", "4711",
        "a sentence with 1 number", "x",
    ],
)  # fmt: skip
def test_a_suspicious_name_alone_is_a_warning(value):
    (problem,) = found(env={"DB_PASSWORD": value})
    assert (problem.code, problem.severity.value) == ("secret-in-spec", "warning")
    assert found(args=["--password", value]) == []


@pytest.mark.parametrize(
    "name, value",
    [
        ("DATABASE_URL", "postgres://app:$(DB_PASSWORD)@db/app"),
        ("DATABASE_URL", "postgres://app:${DB_PASSWORD}@db/app"),
        ("DATABASE_URL", "postgres://app@db/app"),
        ("DATABASE_URL", "postgres://db:5432/app"),
        ("DOC", "write postgres://user:<password>@host/name"),
        ("EMAIL", "me:you@example.com"),
        ("BUILD", "0123456789abcdef0123456789abcdef"),
        ("TOKEN_TTL", "A1b2C3d4E5f6"),
        ("DB_PASSWORD", ""),
        ("IMAGE", "ghcr.io/acme/users@sha256:" + "a1" * 32),
    ],
)
def test_honest_values_pass(name, value):
    assert found(env={name: value}) == []


def test_a_reference_passes():
    assert found(envRefs={"DB_PASSWORD": {"secret": "users-db", "key": "password"}}) == []


def test_a_secret_is_told_once():
    (problem,) = found(env={"API_TOKEN": f"ghp_{B36[:36]}"})
    assert "key or token" in problem.message
