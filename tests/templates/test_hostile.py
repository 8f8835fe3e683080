"""Templates that try to get out, to go on for ever or to write what they should not.

Every one must end in a clear problem at its line; none may raise, hang or be let through.
"""

from __future__ import annotations

import gc
import tracemalloc

import pytest

from gati_gitops.plan.templates.budget import BUDGET
from tests.compile.kit import handler
from tests.templates.kit import files, problems, refused, values, version_template

ESCAPES = [
    # Walks over classes.
    "{{ ''.__class__ }}",
    "{{ ''['__class__'] }}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ version.__class__ }}",
    "{{ version.name.__class__.__base__ }}",
    "{{ version['__init__'] }}",
    "{{ unit.labels.__class__.__init__.__globals__ }}",
    "{{ [].__class__ }}",
    "{{ ().__class__.__bases__[0] }}",
    "{{ 1 .__class__ }}",
    "{{ version | attr('__class__') }}",
    "{{ version | attr('\\x5f\\x5fclass\\x5f\\x5f') }}",
    "{% for x in [version] %}{{ loop.__class__ }}{% endfor %}",
    "{% for x in [version] %}{{ loop._iterator }}{% endfor %}",
    "{% for x in [version] %}{{ loop.changed }}{% endfor %}",
    "{% for x in [version] %}{{ loop }}{% endfor %}",
    "{% for x in [version] %}{{ loop.cycle('a', 'b') }}{% endfor %}",
    "{% for x in [version] %}{% set y = loop %}{{ y }}{% endfor %}",
    # What Jinja2 has in its globals, and what frameworks add.
    "{{ cycler }}",
    "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
    "{{ joiner.__init__.__globals__ }}",
    "{{ lipsum.__globals__['os'].popen('id').read() }}",
    "{{ namespace() }}",
    "{{ dict(a=1) }}",
    "{{ range(10) }}",
    "{{ self }}",
    "{{ self.__init__ }}",
    "{{ self._TemplateReference__context }}",
    "{{ request.application }}",
    "{{ config }}",
    "{{ get_flashed_messages }}",
    "{{ environment }}",
    "{{ context }}",
    "{{ _ }}",
    # Methods of plain values.
    "{{ version.name.upper() }}",
    "{{ version.env.items() }}",
    "{{ version.env.pop('A') }}",
    "{{ '{0.__class__}'.format(version) }}",
    "{{ '{0.__class__}'.format_map({'0': 1}) }}",
    "{{ '%s' % version }}",
    "{{ '{0.__class__}' | format(version) }}",
    "{{ ''.join(['a']) }}",
    "{{ ('a' if true else 'b')() }}",
    "{{ (version.name)() }}",
    # Filters that run other filters, or read attributes by name.
    "{{ [version] | map(attribute='__class__') | list }}",
    "{{ [version] | map('attr', '__class__') | list }}",
    "{{ [version] | selectattr('__class__') | list }}",
    "{{ [version] | groupby('__class__') }}",
    "{{ [version] | sum(attribute='__class__') }}",
    "{{ [version] | sort(attribute='__class__') }}",
    "{{ version | pprint }}",
    "{{ version | xmlattr }}",
    "{{ version | random }}",
    "{{ version is callable }}",
    "{{ version is sameas version }}",
    "{{ version.name | default(*[1]) }}",
    "{{ version.name | default(**{'a': 1}) }}",
    # Other files.
    "{% include '/etc/passwd' %}",
    "{% include 'extra.yaml.j2' %}",
    "{% import '/etc/passwd' as x %}",
    "{% from '/etc/passwd' import x %}",
    "{% extends 'extra.yaml.j2' %}",
    "{% block a %}{% endblock %}",
    # Other statements.
    "{% macro a() %}{{ a() }}{% endmacro %}",
    "{% macro a() %}x{% endmacro %}{{ a() }}",
    "{% call version.name() %}{% endcall %}",
    "{% filter upper %}x{% endfilter %}",
    "{% set x %}a{% endset %}",
    "{% set version = 1 %}",
    "{% set ns.x = 1 %}",
    "{% for version in [1] %}{% endfor %}",
    "{% with a = 1 %}{% endwith %}",
    "{% do version.env.clear() %}",
    "{% debug %}",
    "{% autoescape false %}{% endautoescape %}",
    "{% trans %}x{% endtrans %}",
    "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
    "{% for x in [1] %}{% break %}{% endfor %}",
    "{{ version.name[::-1] }}",
    "{{ version.port / 1 }}",
    # Not a template.
    "{{ version.name",
    "{% if %}",
    "{% endfor %}",
    "{{ 1 + }}",
    "{# open",
]


@pytest.mark.parametrize("body", ESCAPES)
def test_there_is_no_way_out(body):
    problem = refused(version_template(f"  a: 1\n  b: {body}"))
    assert problem.code == "template-invalid"
    assert problem.place.line == 8 or "{# open" in body, problem
    assert "Traceback" not in problem.message
    assert "object at 0x" not in problem.message


NINES = "9" * 5000
ENDLESS = [
    # Work.
    "{% for a in L %}{% for b in L %}{% for c in L %}{% for d in L %}{% for e in L %}{{ a }}{% endfor %}{% endfor %}{% endfor %}{% endfor %}{% endfor %}",
    "{% for a in L %}{% for b in L %}{% for c in L %}{% for d in L %}{% for e in L %}{% endfor %}{% endfor %}{% endfor %}{% endfor %}{% endfor %}",
    "{% for a in L %}{% for b in L %}{% for c in L %}{% for d in L %}{% if a == b %}{% endif %}{% endfor %}{% endfor %}{% endfor %}{% endfor %}",
    "{% for a in L if a > 99 %}{% endfor %}{% for a in L %}{% for b in L %}{% for c in L %}{% for d in L if d in L %}{% endfor %}{% endfor %}{% endfor %}{% endfor %}",
    # Texts.
    "{{ 'a' * 1000000000 }}",
    "{{ 1000000000 * 'a' }}",
    "{{ [1] * 1000000000 }}",
    "{{ 'a' + 'a' }}",
    "{{ '%1000000000d' % 1 }}",
    "{{ 'a' | center(1000000000) }}",
    "{{ 'a' | indent(1000000000) }}",
    "{{ 'a' | ljust(1000000000) }}",
    "{% set a = 'aaaaaaaaaaaaaaaa' %}" + "{% set a = a ~ a ~ a ~ a %}" * 60 + "{{ a }}",
    "{% set a = 'aaaaaaaaaaaaaaaa' %}" + "{% set a = a | replace('a', a) %}" * 20 + "{{ a }}",
    "{% set a = 'aaaaaaaaaaaaaaaa' %}" + "{% set a = [a, a, a, a] | join(a) %}" * 60 + "{{ a }}",
    "{% set a = ['a'] %}" + "{% set a = [a | json, a | json] %}" * 60 + "{{ a }}",
    # Numbers.
    "{{ 9 ** 9 ** 9 }}",
    "{{ 2 ** 1000000 }}",
    "{% set a = 999999999 %}" + "{% set a = a * a %}" * 60 + "{{ a }}",
    "{{ 1 // 0 }}",
    "{{ 1 % 0 }}",
    "{{ 1e308 * 10 }}",
    "{{ " + NINES + " }}",
    "{{ 0x" + "f" * 5000 + " }}",
    "{{ 1e999 }}",
    "{{ '" + NINES + "' | int }}",
    # Lists that share their parts: small in memory, endless to walk.
    "{% set a = [1] %}" + "{% set a = [a, a] %}" * 60 + "{{ a }}",
    "{% set a = [1] %}" + "{% set a = {'a': a, 'b': a} %}" * 60 + "{{ a }}",
    "{% set a = [1] %}{% set b = [1] %}"
    + "{% set a = [a, a] %}{% set b = [b, b] %}" * 60
    + "{{ a == b }}",
    "{% set a = [1] %}" + "{% set a = (a, a) %}" * 60 + "{{ a | json }}",
    # Depth.
    "{{ " + "(" * 500 + "1" + ")" * 500 + " }}",
    "{{ " + "[" * 500 + "1" + "]" * 500 + " }}",
    "{{ " + "not " * 2000 + "1 }}",
    "{{ " + "-" * 2000 + "1 }}",
    "{{ 1" + " + 1" * 5000 + " }}",
    "{{ version" + ".a" * 5000 + " }}",
    "{{ version" + " | string" * 5000 + " }}",
    "{{ 1" + " if 1 else 1" * 2000 + " }}",
    "{% if 1 %}" * 500 + "{% endif %}" * 500,
    "{% for a in [1] %}" * 30 + "{% endfor %}" * 30,
    "{{ 1" + " ~ 1" * 30000 + " }}",
    "{% if 1 %}{% elif 1 %}" + "{% elif 1 %}" * 3000 + "{% endif %}",
    "x" * 70_000,
]


@pytest.mark.parametrize("body", ENDLESS, ids=lambda body: body[:40])
def test_nothing_goes_on_for_ever(body):
    numbers = ", ".join(map(str, range(100)))
    text = version_template("  a: " + body.replace("L", f"[{numbers}]"))
    tracemalloc.start()
    problem = refused(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert problem.code in ("template-invalid", "file-too-large")
    assert peak < 40_000_000
    gc.collect()


def test_a_text_has_a_limit():
    grow = "{% set a = 'aaaaaaaaaaaaaaaa' %}" + "{% set a = a ~ a ~ a ~ a %}" * 7
    problem = refused(version_template(f"  b: {grow}{{{{ a | length }}}}"))
    assert problem.message.startswith("a text is longer than 64 KiB")


def test_the_budget_counts_the_same_every_time():
    def outcome(times: int) -> bool:
        numbers = "[" + ", ".join("1" * times) + "]"
        loops = f"{{% for a in {numbers} %}}{{% for b in {numbers} %}}{{{{ a }}}}{{% endfor %}}{{% endfor %}}"
        return not problems(files(version_template(f"  a: x{loops}")))

    found = [outcome(times) for times in range(86, 96)]
    assert sorted(found, reverse=True) == found
    assert found == [outcome(times) for times in range(86, 96)]
    assert (found[0], found[-1]) == (True, False), BUDGET


NASTY = [
    "a: b",
    "a\nb: c",
    "---",
    "\n---\nkind: Secret\n",
    "...",
    "# no comment",
    " # no comment",
    "'",
    '"',
    '"\nmore: evil\nx: "',
    "*alias",
    "&anchor x",
    "!!python/object:os.system",
    "{{ version }}",
    "{% include 'x' %}",
    "{evil: true}",
    "[1, 2]",
    "|",
    ">-",
    "yes",
    "null",
    "~",
    "1e3",
    "0x10",
    "2024-01-01",
    "- a",
    "? a",
    "",
    " ",
    "\t",
    "\ue000" + "0" + "\ue001",
    "\ue0021\ue002",
    "$(HOME) ${HOME}",
    "\\n\\u0000",
]


@pytest.mark.parametrize("value", NASTY)
@pytest.mark.parametrize(
    "body, around",
    [
        ("  a: {{ version.env.A }}", "{}"),
        ('  a: "{{ version.env.A }}"', "{}"),
        ("  a: '{{ version.env.A }}'", "{}"),
        ("  a: x{{ version.env.A }}y", "x{}y"),
        ("  a: |-\n    {{ version.env.A }}", "{}"),
        ("  a: >-\n    x{{ version.env.A }}", "x{}"),
        ("  {a: {{ version.env.A }}}", "{}"),
    ],
)
def test_a_value_is_never_syntax(value, body, around):
    body = body.replace("  {a:", "  z: {a:") if body.startswith("  {") else body
    data = values(f"{body}\n  last: here", handler(env={"A": value}))
    data = data.get("z", data) | {"last": data["last"]}
    assert data == {"a": around.format(value), "last": "here"}


def test_a_value_can_be_a_key():
    assert values('  "{{ version.env.A }}": x', handler(env={"A": "a: b\n"})) == {"a: b\n": "x"}


def test_private_characters_are_refused_in_a_template():
    for sign in "\ue000\ue001\ue002":
        assert refused(version_template(f"  a: x{sign}")).place.line == 7


@pytest.mark.parametrize("token", ["ghp_" + "a1B2" * 9, "AKIA" + "A1B2" * 4])
def test_a_secret_is_refused_and_not_printed(token):
    problem = refused(version_template(f"  a: 1\n  b: {token}"))
    assert problem.place.line == 8
    assert token not in str(problem)
