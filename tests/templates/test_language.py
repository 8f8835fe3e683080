"""What templates can say, and what is said of mistakes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.compile.kit import handler, module
from tests.templates.kit import files, problems, refused, values, version_template


@pytest.mark.parametrize(
    "expression, expected",
    [
        ("version.port", 3000),
        ("version.port + 1", 3001),
        ("version.port // 7 % 5 * 2 - 1", 5),
        ("-1", -1),
        ("version.env", {"A": "1", "B": "2"}),
        ("version.env.A", "1"),
        ("version.env['A']", "1"),
        ("version.env | keys", ["A", "B"]),
        ("version.env | values", ["1", "2"]),
        ("version.env | items | first | last", "1"),
        ("version.env | length", 2),
        ("version.env | keys | join(', ')", "A, B"),
        ("version.env | json", '{"A":"1","B":"2"}'),
        ("version.env.C | default('none')", "none"),
        ("version.env.A | int", 1),
        ("version.id | upper ~ '-' ~ version.port", "V1-3000"),
        ("version.name | replace('handler-', '')", "users-v1"),
        ("' x ' | trim", "x"),
        ("[3, 1, 2] | sort", [1, 2, 3]),
        ("'yes'", "yes"),
        ("'1'", "1"),
        ("1 == 1", True),
        ("'a' in 'abc' and not ('x' in ['y'])", True),
        ("version.env.C is defined", False),
        ("'a' if version.port > 80 else 'b'", "a"),
        ("[1, ['a', {'b': none is none}]]", [1, ["a", {"b": True}]]),
        ("unit.module is none", True),
        ("1.5", 1.5),
    ],
)
def test_expressions(expression, expected):
    data = values(f"  a: {{{{ {expression} }}}}")
    assert data == {"a": expected}
    assert type(data["a"]) is type(expected)


def test_quotes_make_text():
    body = "  a: \"{{ version.port }}\"\n  b: '{{ version.port }}'\n  c: {{ version.port }}/tcp\n"
    assert values(body) == {"a": "3000", "b": "3000", "c": "3000/tcp"}
    assert values("  a: |-\n    {{ version.port }}\n") == {"a": "3000"}
    assert values('  a: "{{ 1 == 1 }}"\n') == {"a": "true"}


def test_statements():
    body = (
        "{% set names = version.env | keys %}\n"
        "{% for key, value in version.env | items if key != 'B' %}\n"
        "  {{ key }}{{ loop.index }}: {{ value }}\n"
        "{% else %}\n"
        "  none: x\n"
        "{% endfor %}\n"
        "{% for name in names %}\n"
        "{% if loop.last %}\n"
        "  {# a comment #}\n"
        "  last: {{ name }}\n"
        "{% elif loop.first %}\n"
        "  first: {{ name }}\n"
        "{% endif %}\n"
        "{% endfor %}\n"
        "  raw: {% raw %}'{{ no }}'{% endraw %}\n"
    )
    assert values(body) == {"A1": "1", "first": "A", "last": "B", "raw": "{{ no }}"}


@pytest.mark.parametrize(
    "body, line, words",
    [
        ("  a: 1\n\n  b: {{ version.nme }}", 9, "there is no nme here; there is env, id, image"),
        ("  a: {{ vers.name }}", 7, "there is no vers here"),
        ("  a: {{ unit.labels.team.x }}", 7, "there is no team here"),
        ("  a: {{ version.name | uper }}", 7, "there is no filter uper"),
        ("  a: {{ version.name is strange }}", 7, "there is no test strange"),
        ("{% for x in version.env %}\n  {{ x }}: {{ x + 1 }}\n{% endfor %}", 8, "+ takes numbers"),
        ("{% for x in version.name %}\n{% endfor %}", 7, "a loop goes over a list or a mapping"),
        ("  a: {{ 1 < 'a' }}", 7, "'<' not supported"),
        ("  a: x{{ version.env }}", 7, "a mapping can't be part of a text"),
        ('  a: "{{ unit.module }}"', 7, "null can't be part of a text"),
        ("  a: 1\n  a: 2", 8, "a is set twice"),
        ("  A: 1\n  {{ 'A' }}: 2", 8, "A is set twice"),
        ("  a: *x", 7, "alias"),
        ("  a: !!str x", 7, "tag"),
        ("  a: 1\n b: 2", 8, "not YAML"),
        ("  a: [1", 8, "not YAML"),
        ("{% for x in [1, 2] %}\n  a: 1\n{% endfor %}", 8, "a is set twice"),
        ("  a: yes", 7, ""),
    ],
)
def test_mistakes_are_told_at_their_line(body, line, words):
    problem = refused(version_template(body))
    assert words in problem.message
    assert problem.place.line == line, problem


@pytest.mark.parametrize(
    "text, words",
    [
        ("apiVersion: v1\n", "it names no scope"),
        ("", "it names no scope"),
        ("{# gati: pod #}\n", "there is no scope pod"),
        ("{# gati: #}\n", "it names no scope"),
        ("\n{# gati: unit #}\n", "it names no scope"),
    ],
)
def test_a_template_says_what_it_is_for(text, words):
    problem = refused(text)
    assert words in problem.message
    assert "{# gati: unit #}" in problem.remedy


@pytest.mark.parametrize("scope", ["unit", "version", "environment"])
@pytest.mark.parametrize(
    "body", ["", "# nothing\n", "---\n---\n", "{% if false %}\na: 1\n{% endif %}"]
)
def test_a_template_may_give_nothing(scope, body):
    assert problems(files(f"{{# gati: {scope} #}}\n{body}")) == []


@pytest.mark.parametrize(
    "scope, name, known",
    [
        ("version", "environment", "project, unit, version"),
        ("version", "cluster", "project, unit, version"),
        ("unit", "version", "cluster, environment, project, unit"),
        ("environment", "unit", "cluster, environment, namespace, project"),
    ],
)
def test_a_scope_has_its_values_only(scope, name, known):
    problem = refused(f"{{# gati: {scope} #}}\n{{% if {name} %}}{{% endif %}}\n")
    assert problem.message == f"there is no {name} here"
    assert problem.remedy == f"this template has {known}"
    assert problem.place.line == 2


def test_a_template_that_fails_is_told_once():
    many = {f"u{n}.yaml": handler(f"u{n}") for n in range(5)}
    (problem,) = problems(files(version_template("  a: {{ version.x }}")) | many)
    assert problem.message.endswith("(for shop/u0 v1)")


def test_several_templates_are_all_told():
    bad = "{# gati: unit #}\n{{ x }}\n"
    found = problems(files(bad, other=bad))
    assert [p.place.file for p in found] == ["templates/extra.yaml.j2", "templates/other.yaml.j2"]


def test_a_module_has_its_own_values():
    body = "  a: {{ unit.module }}\n  b: {{ unit.portName }}\n  c: {{ unit.path }}"
    assert values(body, module(capabilities=["network"])) == {
        "a": {"name": "db", "type": "node", "runtime": "node:20", "capabilities": ["network"]},
        "b": "rpc",
        "c": "",
    }


@pytest.mark.parametrize("name", ["Upper", "a_b", "a b", "sub/a", "-a"])
def test_file_names(name):
    found = problems(
        files("{# gati: unit #}\n") | {f"templates/{name}.yaml.j2": "{# gati: unit #}"}
    )
    assert [p.place.file for p in found] == [f"templates/{name}.yaml.j2"]


def test_jinja_is_not_imported_without_templates():
    code = (
        "import sys; from gati_gitops.spec.load import load; from gati_gitops.tree import MemorySnapshot;"
        "from gati_gitops.compiler import compile_specs; from tests.compile.kit import handler;"
        "compile_specs(load([('a.yaml', handler().encode())]), MemorySnapshot());"
        "sys.exit('jinja2' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
