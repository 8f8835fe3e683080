"""Weights in the specs, and what each strategy makes of them."""

from __future__ import annotations

import pytest

from gati_gitops.errors import Problem
from gati_gitops.plan.check import check
from gati_gitops.spec.load import load
from tests.compile.kit import handler, project, version


def found(strategy: str, *weights: int | None) -> list[Problem]:
    documents = [handler("users", "v0", weight=weights[0])]
    documents += [
        version("users", f"v{n}", weight or 0, image=f"shop/users:{n}")
        for n, weight in enumerate(weights[1:], 1)
    ]
    files = {
        "gati.yaml": project(rollout={"strategy": strategy}),
        "s.yaml": "\n---\n".join(documents),
    }
    specs = load((name, text.encode()) for name, text in files.items())
    return [problem for problem in check(specs) if problem.code.startswith("weight")]


@pytest.mark.parametrize(
    ("strategy", "weights", "want"),
    [
        ("manual", (100,), []),
        ("manual", (90, 10), []),
        ("manual", (None, 10), []),
        ("manual", (90, 20), ["weights-sum error"]),
        ("manual", (40,), ["weights-sum error"]),
        ("manual", (0, 0), ["weights-sum error"]),
        ("canary", (90, 10), []),
        ("canary", (None, 10), []),
        ("canary", (50, 50), ["weights-tie error"]),
        ("canary", (90, 20), ["weights-sum error"]),
        ("canary", (40,), ["weight-unfollowed warning"]),
        ("direct", (60, 10), ["weight-unfollowed warning"]),
    ],
)
def test_what_a_strategy_says_of_weights(
    strategy: str, weights: tuple[int | None, ...], want: list[str]
) -> None:
    assert [f"{p.code} {p.severity}" for p in found(strategy, *weights)] == want


def test_the_warning_says_where_it_begins() -> None:
    (problem,) = found("direct", 60, 10)
    assert "begins with the rest, 90" in problem.message
    assert problem.field == "spec.timescape.routingWeight"
