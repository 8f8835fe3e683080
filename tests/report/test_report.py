"""Each format of a report, on problems as nasty as specs can make them."""

import json

import pytest

from gati_gitops.errors import Place, Problem, Severity
from gati_gitops.report import FORMATS, counted, report
from gati_gitops.report.rules import RULES

SOURCE = b"apiVersion: x\nspec:\n  version: 1.10\n  other: 1\n"
WRONG = Problem(
    "wrong-type",
    "version must be text; 1.10 is a number",
    Place("a.yaml", 3, 12),
    "spec.version",
    'quote it: "1.10"',
)
TWICE = Problem(
    "duplicate-object",
    "a second document",
    Place("b.yaml", 4, 9),
    "metadata.name",
    "keep one",
    related=((Place("a.yaml", 4, 9), "the first one"),),
)
WARNING = Problem(
    "not-gati", "not ours", Place("c.yaml"), remedy="move it", severity=Severity.WARNING
)
HOSTILE = Problem(
    "bad-value",
    "50%\r\n::set-output name=x::y \x1b[31mred\x07 \u202etxt",
    Place("we,ird:na\nme.yaml", 1, 1),
    "spec.x\n::error::",
    "write 100%\n",
)
ALL = (WRONG, TWICE, WARNING)


def test_text() -> None:
    assert report(ALL, sources={"a.yaml": SOURCE}) == (
        "a.yaml:3:12: error[wrong-type] spec.version: version must be text; 1.10 is a number\n"
        "  3 |   version: 1.10\n"
        "    |            ^\n"
        '  fix: quote it: "1.10"\n'
        "\n"
        "b.yaml:4:9: error[duplicate-object] metadata.name: a second document\n"
        "  fix: keep one\n"
        "  see: a.yaml:4:9 the first one\n"
        "\n"
        "c.yaml: warning[not-gati] not ours\n"
        "  fix: move it\n"
        "\n"
    )


def test_text_in_colour_says_the_same() -> None:
    coloured = report(ALL, sources={"a.yaml": SOURCE}, colour=True)
    assert "\x1b[1;31merror[wrong-type]\x1b[0m" in coloured
    for code in ("\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[1;31m", "\x1b[1;33m"):
        coloured = coloured.replace(code, "")
    assert coloured == report(ALL, sources={"a.yaml": SOURCE})


@pytest.mark.parametrize(
    "source, column, shown",
    [
        (b"a:\tb", 4, "  1 | a: b\n    |    ^\n"),
        ("ä: é".encode(), 4, "  1 | ä: é\n    |    ^\n"),
        (b"a: \x1b[31m", 4, "  1 | a: \\x1b[31m\n    |    ^\n"),
        (b"\x07a: b", 5, "  1 | \\x07a: b\n    |        ^\n"),
        (b"DB_PASSWORD: hunter2", 14, "  1 | DB_PASSWORD: ***\n    |              ^\n"),
        (b"u: redis://me:hunter2@h", 4, "  1 | u: redis://me:***@h\n    |    ^\n"),
        (b"a: [", 9, "  1 | a: [\n    |     ^\n"),
    ],
)
def test_the_line_itself(source: bytes, column: int, shown: str) -> None:
    problem = Problem("x", "y", Place("a.yaml", 1, column))
    assert report([problem], sources={"a.yaml": source}).startswith(
        f"a.yaml:1:{column}: error[x] y\n{shown}"
    )


def test_a_long_line_is_cut_around_its_place() -> None:
    source = b"x" * 5000 + b" HERE " + b"y" * 5000
    text = report([Problem("x", "y", Place("a.yaml", 1, 5002))], sources={"a.yaml": source})
    _, line, caret, *_ = text.splitlines()
    assert len(line) < 120
    assert line[caret.index("^") :].startswith("HERE")


def test_a_place_outside_the_source_shows_no_line() -> None:
    text = report([Problem("x", "y", Place("a.yaml", 99, 1))], sources={"a.yaml": SOURCE})
    assert text == "a.yaml:99:1: error[x] y\n\n"


def test_json() -> None:
    found = json.loads(report(ALL, "json"))
    assert found["schemaVersion"] == 1
    assert found["summary"] == {"errors": 2, "warnings": 1}
    assert found["problems"][1] == {
        "severity": "error",
        "code": "duplicate-object",
        "file": "b.yaml",
        "line": 4,
        "column": 9,
        "field": "metadata.name",
        "message": "a second document",
        "remedy": "keep one",
        "related": [{"file": "a.yaml", "line": 4, "column": 9, "message": "the first one"}],
    }
    assert found["problems"][2]["line"] == 0


def test_github() -> None:
    assert report(ALL, "github").splitlines() == [
        "::error file=a.yaml,line=3,col=12,title=wrong-type spec.version::"  # noqa: ISC004
        'version must be text; 1.10 is a number%0Aquote it: "1.10"',
        "::error file=b.yaml,line=4,col=9,title=duplicate-object metadata.name::"  # noqa: ISC004
        "a second document%0Akeep one%0Asee a.yaml:4:9: the first one",
        "::warning file=c.yaml,title=not-gati::not ours%0Amove it",
    ]


def test_sarif() -> None:
    log = json.loads(report(ALL, "sarif"))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        rule = rules[result["ruleIndex"]]
        assert rule["id"] == result["ruleId"]
        assert rule["help"]["text"]
    wrong, twice, warning = run["results"]
    assert wrong["level"] == "error"
    assert wrong["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "a.yaml"},
        "region": {"startLine": 3, "startColumn": 12},
    }
    assert "quote it" in wrong["message"]["text"]
    assert twice["relatedLocations"][0]["message"]["text"] == "the first one"
    assert warning["level"] == "warning"
    assert "region" not in warning["locations"][0]["physicalLocation"]


def test_sarif_of_a_code_without_a_rule() -> None:
    odd = Problem("some-code", "x", Place("a b.yaml", 1, 1), remedy="make it 100")
    (run,) = json.loads(report([odd], "sarif"))["runs"]
    assert run["tool"]["driver"]["rules"] == [
        {
            "id": "some-code",
            "shortDescription": {"text": "some code"},
            "help": {"text": "make it 100"},
        }
    ]
    uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "a%20b.yaml"


@pytest.mark.parametrize("format", ["text", "github"])
def test_user_text_gives_no_commands(format: str) -> None:
    text = report([HOSTILE], format, sources={HOSTILE.place.file: b"\x1b]0;title\x07"})
    assert not set(text) & {"\x1b", "\x07", "\r", "\u202e"}
    if format == "github":
        assert text.count("\n") == 1
        assert text.startswith("::error file=we%2Cird%3Ana\\x0ame.yaml,line=1,col=1,title=")
        assert "50%25" in text
    else:
        assert "\n::" not in text


@pytest.mark.parametrize("format", FORMATS)
def test_tokens_are_in_no_format(format: str) -> None:
    token = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
    problem = Problem("x", f"bad {token}", Place("a.yaml", 1, 4), "spec", f"write {token}")
    text = report([problem], format, sources={"a.yaml": f"a: {token}".encode()})
    assert token not in text
    assert "***" in text


@pytest.mark.parametrize("format", FORMATS)
def test_nothing_found(format: str) -> None:
    text = report([], format)
    assert json.loads(text) if format in ("json", "sarif") else text == ""


def test_counted() -> None:
    assert counted(ALL) == "2 errors and 1 warning"
    assert counted([WRONG]) == "1 error"
    assert counted([WARNING, WARNING]) == "2 warnings"
    assert counted([]) == "no problems"


def test_rules_are_sentences() -> None:
    for code, (summary, remedy) in RULES.items():
        assert code == code.lower()
        assert summary[0].isupper() and remedy.endswith(".")
