"""What a real Prometheus says of versions, sorted by unit, version and pod."""

from gati_gitops.decide.observation import Telemetry
from gati_gitops.observe.prometheus import Prometheus
from gati_gitops.spec.metrics import MetricSource
from tests.observe.kit import USERS, labels, units, wanted


def test_raw_samples_are_sorted_by_version_and_pod(prometheus):
    old = prometheus.pod("users-v1-a", **labels("v1"))
    new = prometheus.pod("users-v2-a", **labels("v2"))
    old.request()
    new.request(500)
    prometheus.publish()
    prometheus.scraped(3, "users-v2-a")
    new.request(times=5, seconds=0.7)
    prometheus.scraped(2, "users-v2-a")
    found = Prometheus(MetricSource(url=prometheus.url)).look(wanted(units()))
    assert isinstance(found, dict)
    assert set(found[USERS]) == {"handler-users-v1", "handler-users-v2"}
    seen = found[USERS]["handler-users-v2"]
    assert isinstance(seen, Telemetry)
    assert set(seen.pods) == {"users-v2-a"}
    pod = seen.pods["users-v2-a"]
    codes = {dict(series.labels)["status_code"]: series.values[-1] for series in pod.requests}
    assert codes == {"200": 5, "500": 1}
    bounds = {
        dict(s.labels)["le"]: s.values[-1] for s in pod.faster if ("status_code", "200") in s.labels
    }
    assert bounds == {"0.5": 0, "+Inf": 5}
