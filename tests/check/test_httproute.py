"""The rules of an HTTPRoute that its CRD says in CEL."""

import pytest

from gati_gitops.check.httproute import check_httproute
from tests.check.samples import put, route

PATH = "spec.rules.1.matches.0.path.value"
PREFIX = {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}
REWRITE = {"type": "URLRewrite", "urlRewrite": {"path": PREFIX}}
REDIRECT = {"type": "RequestRedirect", "requestRedirect": {"statusCode": 301}}
MIRROR = {"type": "RequestMirror", "requestMirror": {"backendRef": {"name": "a", "port": 80}}}
TWICE = [{"path": {"value": "/a"}}, {"path": {"value": "/b"}}]


def mirror(**share):
    return {"type": "RequestMirror", "requestMirror": {**MIRROR["requestMirror"], **share}}


def found(value) -> list[str]:
    return [f"{finding.path[-1]} {finding.message}" for finding in check_httproute(value)]


@pytest.mark.parametrize(
    "path, new",
    [
        (PATH, "/"),
        (PATH, "/users/:id"),
        (PATH, "/a%20b/..c/.d"),
        ("spec.rules.1.matches.0.path", {"type": "RegularExpression", "value": "//(a|b)#"}),
        ("spec.rules.1.matches", ...),
        ("spec.rules.1.backendRefs", [{"group": "x.y", "kind": "Z", "name": "a"}]),
        ("spec.rules.1.filters", [MIRROR, MIRROR]),
        ("spec.rules.1.filters", [REWRITE]),
        ("spec.parentRefs", [{"name": "a", "sectionName": "x"}, {"name": "a", "sectionName": "y"}]),
        ("spec.parentRefs", [{"name": "a"}, {"name": "a", "namespace": "b"}]),
        ("spec.rules.1.timeouts", {"request": "1m", "backendRequest": "59s1000ms"}),
        ("spec.rules.1.timeouts", {"request": "0s", "backendRequest": "1h"}),
        # What the schema refuses is left to it.
        ("spec.rules", "text"),
        ("spec", None),
        ("spec.rules.1.matches.0.path", "text"),
        (PATH, 5),
    ],
)
def test_passes(path, new):
    assert found(put(route(), path, new)) == []


@pytest.mark.parametrize(
    "path, new, message",
    [
        (PATH, "users", "must start with '/'"),
        (PATH, "", "must start with '/'"),
        (PATH, "/a//b", "must not contain '//'"),
        (PATH, "/a/./b", "must not contain '/./'"),
        (PATH, "/a/../b", "must not contain '/../'"),
        (PATH, "/a%2fb", "must not contain '%2f'"),
        (PATH, "/a%2Fb", "must not contain '%2F'"),
        (PATH, "/a#b", "must not contain '#'"),
        (PATH, "/a/..", "must not end with '/..'"),
        (PATH, "/a/.", "must not end with '/.'"),
        (PATH, "/a b", "may only have the characters"),
        (PATH, "/a%zz", "may only have the characters"),
        (PATH, "/ä", "may only have the characters"),
        (PATH, "/a\n", "may only have the characters"),
        ("spec.rules.1.backendRefs.0.port", ..., "port is missing"),
        ("spec.rules.1.name", "pin-v1", "name pin-v1 is also the name of rule 0"),
        ("spec.rules.1.timeouts.backendRequest", "31s", "backendRequest longer than request"),
        ("spec.parentRefs", [{"name": "a"}, {"name": "a"}], "names a again"),
        ("spec.parentRefs", [{"name": "a"}, {"name": "a", "sectionName": "x"}], "names a again"),
        ("spec.rules.1.filters", [REWRITE, REWRITE], "only one filter of type URLRewrite"),
        ("spec.rules.1.filters", [REDIRECT], "must be empty in a rule that redirects"),
        ("spec.rules.1.filters", [{"type": "CORS"}], "cors is missing"),
        ("spec.rules.1.filters", [{**MIRROR, "cors": {}}], "cors does not belong to a filter"),
        (
            "spec.rules.1.filters",
            [{"type": "RequestMirror", "requestMirror": {"backendRef": {"name": "a"}}}],
            "port is missing",
        ),
        (
            "spec.rules.1.filters",
            [{"type": "URLRewrite", "urlRewrite": {"path": {"type": "ReplaceFullPath"}}}],
            "replaceFullPath is missing",
        ),
        (
            "spec.rules.1.filters",
            [
                {
                    "type": "URLRewrite",
                    "urlRewrite": {
                        "path": {**PREFIX, "type": "ReplaceFullPath", "replaceFullPath": "/"}
                    },
                }
            ],
            "replacePrefixMatch belongs to a path of type ReplacePrefixMatch",
        ),
        (
            "spec.rules.1.filters",
            [{"type": "CORS", "cors": {"allowOrigins": ["*", "https://a.b"]}}],
            "must not have '*' beside other values",
        ),
        ("spec.rules.1.filters", [mirror(fraction={"numerator": 101})], "numerator above"),
        (
            "spec.rules.1.filters",
            [mirror(percent=5, fraction={"numerator": 5})],
            "only one of percent and fraction",
        ),
        (
            "spec.rules.1.backendRefs.0.filters",
            [REWRITE, REDIRECT],
            "must not have both RequestRedirect and URLRewrite",
        ),
    ],
)
def test_finds(path, new, message):
    (said,) = found(put(route(), path, new))
    assert message in said


def test_a_prefix_is_replaced_only_with_one_prefix_match():
    value = put(route(), "spec.rules.1.filters", [REWRITE])
    (said,) = found(put(value, "spec.rules.1.matches", TWICE))
    assert "exactly one match" in said


def test_matches_are_counted_over_all_rules():
    def with_matches(count: int):
        rules = [{"matches": [{"path": {"value": "/a"}}] * 64} for _ in range(count // 64)]
        return put(route(), "spec.rules", [*rules, {}] if count % 64 else rules)

    assert found(with_matches(128)) == []
    (said,) = found(with_matches(129))
    assert "129 matches together; at most 128" in said
