"""CRDs of others, between releases of theirs: what their release notes say is found."""

import pytest

from gati_gitops.preview.crds import CrdChange, Level, compare_crds
from gati_gitops.preview.crds.read import Located, read_definitions
from tests.tools import crds_dir


def read(release: str, names: str) -> list[Located]:
    return read_definitions(
        (path.name, path.read_bytes()) for path in crds_dir(release).glob(f"{names}.yaml")
    )


def compared(old: list[Located], new: list[Located]) -> tuple[CrdChange, ...]:
    return compare_crds([one.document for one in old], [one.document for one in new])


def test_every_crd_is_as_it_is():
    all_of_them = read("", "*")
    assert len(all_of_them) > 50
    assert compared(all_of_them, read("", "*")) == ()


@pytest.fixture(scope="module")
def gateway() -> tuple[CrdChange, ...]:
    """From Gateway API v1.3 to v1.6."""
    names = "gateway.networking.k8s.io_*"
    before = read("before", names)
    known = {one.document["metadata"]["name"] for one in before}
    return compared(before, [o for o in read("", names) if o.document["metadata"]["name"] in known])


def told(changes: tuple[CrdChange, ...], crd: str, path: str) -> set[tuple[str, str]]:
    found = [c for c in changes if c.crd.startswith(f"{crd}.") and c.version == "v1"]
    return {(str(c.rule), str(c.level)) for c in found if c.path == path}


def test_gateway_api(gateway):
    redirect = "spec.rules[].filters[].requestRedirect.statusCode"
    assert told(gateway, "httproutes", "spec.rules[].name") == {("field-added", "safe")}
    assert told(gateway, "httproutes", redirect) == {("enum", "risky")}
    assert told(gateway, "httproutes", "spec.rules[].filters[].cors") == {("field-added", "safe")}
    assert ("required-added", "breaking") in told(
        gateway, "httproutes", "status.parents[].conditions"
    )
    assert {c.version for c in gateway if c.crd.startswith("referencegrants.")} >= {"v1", "v1beta1"}


def test_prometheus_operator():
    """From v0.85 to v0.93."""
    names = "monitoring.coreos.com_*"
    changes = compared(read("", names), read("after", names))
    path = "spec.receivers[].emailConfigs[].smarthost"
    found = [c for c in changes if c.crd.startswith("alertmanagerconfigs.")]
    assert {(str(c.rule), c.new) for c in found if c.path == path} == {("bound", "minLength 1")}
    assert not any(c.rule == "field-removed" for c in changes if c.crd.startswith("servicemonit"))
    assert all(c.why for c in changes)


def test_a_release_that_goes_back_loses_fields():
    names = "monitoring.coreos.com_ServiceMonitor"
    forth = compared(read("", names), read("after", names))
    back = compared(read("after", names), read("", names))
    added = {c.path for c in forth if c.rule == "field-added"}
    lost = {c.path for c in back if c.rule == "field-removed"}
    assert added == lost != set()
    assert all(c.level is Level.BREAKING for c in back if c.rule == "field-removed")
