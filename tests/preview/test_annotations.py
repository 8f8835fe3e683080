"""Annotations stand beside the lines that caused something, and give a runner no commands."""

import json

import pytest

from gati_gitops.preview.model import Level
from gati_gitops.preview.writers.github import write_github
from gati_gitops.preview.writers.sarif import write_sarif
from tests.preview.samples import many, nothing, shop, spoiled


def test_github_names_file_line_and_title():
    first = write_github(shop(3)).splitlines()[0]
    assert first.startswith("::error file=specs/cart.yaml,line=14,col=3,title=Objects that are")
    assert first.endswith("fix: Give the version a new id, or leave the field as it is")


def test_github_says_dangers_first_and_notes_never():
    kinds = [line.split(" ")[0] for line in write_github(shop(3)).splitlines()]
    assert kinds == ["::error"] * 3 + ["::warning"] * 2


def test_github_says_what_many_units_share_once():
    lines = write_github(shop(57)).splitlines()
    (restart,) = (line for line in lines if "restart" in line)
    assert "57 units: pods of each unit 1.0.0 restart" in restart
    assert "and 45 more" in restart


def test_github_gives_the_runner_no_other_command():
    evil = "\n::set-output name=x::y\r\n::add-mask::a%0A::stop-commands::z,line=9:\u2028"
    text = write_github(spoiled(shop(3), lambda text: text + evil))
    assert {line.split(" ")[0] for line in text.splitlines()} == {"::error", "::warning"}
    for line in text.splitlines():
        properties = line.split("::")[1]
        assert properties.count("line=") <= 1 or "%2Cline=9%3A" in properties
    assert "%250A" in text


def test_nothing_says_nothing():
    assert write_github(nothing()) == ""
    assert json.loads(write_sarif(nothing()))["runs"][0]["results"] == []


def test_sarif_has_a_rule_and_a_place_for_each_result():
    (run,) = json.loads(write_sarif(shop(3)))["runs"]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    first = run["results"][0]
    assert first["level"] == "error"
    physical = first["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"]["uri"] == "specs/cart.yaml"
    assert physical["region"] == {"startLine": 14, "startColumn": 3}
    assert [result["level"] for result in run["results"]] == sorted(
        (result["level"] for result in run["results"]), key=["error", "warning", "note"].index
    )


def test_sarif_knows_a_finding_again_though_its_line_moved():
    def moved(text):
        return text

    review = shop(3)
    prints = [
        {
            result["partialFingerprints"]["gatiPreview/v1"]
            for result in json.loads(write_sarif(one))["runs"][0]["results"]
        }
        for one in (review, spoiled(review, moved), _later(review))
    ]
    assert prints[0] == prints[1] == prints[2]
    assert len(prints[0]) == 7


def _later(review):
    from dataclasses import replace

    return replace(
        review,
        findings=tuple(
            replace(f, place=f.place and replace(f.place, line=f.place.line and f.place.line + 40))
            for f in review.findings
        ),
    )


@pytest.mark.parametrize("write", [write_github, write_sarif])
def test_bytes_that_are_no_text_break_nothing(write):
    write(spoiled(shop(2), lambda text: text + "\udc80\x00")).encode()


def test_as_many_marks_as_lines():
    review = many(60)
    dangers = [finding for finding in review.findings if finding.level is Level.DANGER]
    assert write_github(review).count("::error ") == len(dangers)
