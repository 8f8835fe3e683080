"""Every fault of the list has tests that bear its number, and each of those tests can run."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).parent
NUMBERED = re.compile(r"test_([TK])([0-9]{2})_[a-z0-9_]*[a-z]\w*")
FAULTS = {"T": range(1, 27), "K": range(1, 22)}
"""Of telemetry, and of delivery."""
# What one judgement or one look can't promise: these need a job, a repository and a cluster.
WHOLE = {"T01", "K05", "K06", "K13", "K15", "K16", "K17", "K18", "K19", "K20", "K21"}


def numbered() -> list[tuple[str, str, ast.FunctionDef]]:
    """File, number (or nothing) and test."""
    found = []
    for path in sorted(HERE.glob("test_*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                number = NUMBERED.fullmatch(node.name)
                found.append((path.name, f"{number[1]}{number[2]}" if number else "", node))
    return found


def test_every_number_of_the_list_is_there_and_no_other():
    wanted = {f"{kind}{number:02}" for kind, numbers in FAULTS.items() for number in numbers}
    assert {number for _, number, _ in numbered() if number} == wanted


def test_no_number_is_misspelt():
    loose = [node.name for _, number, node in numbered() if not number]
    assert not [name for name in loose if re.match(r"test_[tkTK]_?[0-9]", name)]


def test_what_needs_a_whole_job_is_tested_with_one():
    told = {number for file, number, _ in numbered() if file == "test_delivery_stories.py"}
    assert told - {""} == WHOLE


def test_names_are_not_used_twice_in_a_file():
    names = defaultdict(list)
    for file, _, node in numbered():
        names[file, node.name].append(node.lineno)
    assert not {at: lines for at, lines in names.items() if len(lines) > 1}


def test_each_of_them_asserts_something():
    """By itself, or by what it calls: a helper of its file, or one of the shared ones."""
    silent = []
    for path in sorted(HERE.glob("test_*.py")):
        module = ast.parse(path.read_text())
        functions = {n.name: n for n in module.body if isinstance(n, ast.FunctionDef)}
        asserting = {"missing"} | {n for n, f in functions.items() if _asserts(f)}
        for name, function in functions.items():
            if NUMBERED.fullmatch(name) and name not in asserting:
                called = {
                    node.func.id
                    for node in ast.walk(function)
                    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
                }
                if not called & asserting:
                    silent.append(f"{path.name}: {name}")
    assert silent == []


def _asserts(function: ast.FunctionDef) -> bool:
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Attribute) and node.attr == "raises":
            return True
    return False
