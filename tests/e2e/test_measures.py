"""What the stories measure with can say no."""

import random
from types import SimpleNamespace

import pytest

from tests.e2e.load import Answer, follows, within_bounds
from tests.e2e.prometheus import scrape, write
from tests.e2e.timeline import Event, Timeline, traffic


def answers(**counts: int) -> list[Answer]:
    return [
        Answer(0, 200, version, 0.01) for version, count in counts.items() for _ in range(count)
    ]


def test_a_share_is_judged_with_the_chance_that_it_has():
    assert within_bounds(40, 400, 10)
    assert within_bounds(62, 400, 10)  # 3.7 standard deviations
    assert not within_bounds(66, 400, 10)
    assert not within_bounds(1, 400, 0)
    assert within_bounds(0, 400, 0)
    chance = random.Random(7)
    rolls = [sum(chance.random() < 0.1 for _ in range(400)) for _ in range(500)]
    assert all(within_bounds(roll, 400, 10) for roll in rolls)


@pytest.mark.parametrize(
    "counts, weights, good",
    [
        ({"v1": 360, "v2": 40}, {"v1": 90, "v2": 10}, True),
        ({"v1": 200, "v2": 200}, {"v1": 90, "v2": 10}, False),
        ({"v1": 400}, {"v1": 90, "v2": 10}, False),
        ({"v1": 399, "v2": 1}, {"v1": 100}, False),
        ({"v1": 399, "v2": 1}, {"v1": 100, "v2": 0}, False),
        ({"v1": 400}, {"v1": 100, "v2": 0}, True),
    ],
)
def test_traffic_follows_weights_or_does_not(counts, weights, good):
    assert follows(answers(**counts), weights) is good


def timeline() -> Timeline:
    found = Timeline(
        "A canary & its end", SimpleNamespace(), SimpleNamespace(), ("shop", "handler-cart")
    )
    found.load = SimpleNamespace(answers=[])
    at = found.start
    found.events = [
        Event(at + 1, "commit", "0123456789 prod: add <shop/cart>"),
        Event(at + 2, "weights", "v1 90, v2 10"),
        Event(at + 9, "decision", "prod: roll back", "Gati-Evidence: 1 < 2"),
    ]
    found.weights = [(at + 2, {"handler-cart-v1": 90, "handler-cart-v2": 10})]
    found.load.answers += [Answer(at + 3 + n / 10, 200, "v1", 0.01) for n in range(20)]
    found.load.answers += [
        Answer(at + 4, 500, "v2", 0.01, "no"),
        Answer(at + 4.5, 0, "", 0.01, "refused"),
    ]
    return found


def test_people_read_what_happened_in_order():
    lines = timeline().lines()
    assert [line.split()[2] for line in lines[1:] if " s  " in line] == [
        "commit",
        "weights",
        "decision",
    ]
    assert "22 requests: v1 20 (91 %), 2 FAILED" in "\n".join(lines)
    assert traffic(answers(v1=3, v2=1)) == "4 requests: v1 3 (75 %), v2 1 (25 %)"


def test_the_page_stands_alone_and_hides_nothing(tmp_path):
    text = timeline().page(tmp_path / "pages" / "one.html").read_text()
    assert "A canary &amp; its end" in text
    assert "add &lt;shop/cart&gt;" in text and "<shop" not in text
    assert "Gati-Evidence: 1 &lt; 2" in text
    assert "handler-cart-v2: 10" in text
    assert text.count("failed: 2") == 1
    assert "http://" not in text.replace("http://www.w3.org", "") and "<script" not in text


MONITOR = {
    "kind": "ServiceMonitor",
    "metadata": {"name": "handler-cart", "namespace": "shop"},
    "spec": {
        "selector": {
            "matchLabels": {"gati.dev/unit": "handler-cart"},
            "matchExpressions": [{"key": "gati.dev/version", "operator": "Exists"}],
        },
        "endpoints": [
            {
                "port": "http",
                "interval": "5s",
                "scrapeTimeout": "4s",
                "relabelings": [
                    {
                        "action": "replace",
                        "sourceLabels": ["__meta_kubernetes_service_label_gati_dev_unit"],
                        "targetLabel": "gati_unit",
                    }
                ],
            }
        ],
    },
}


def test_a_monitor_becomes_a_job_as_its_operator_makes_it(tmp_path):
    (job,) = scrape(MONITOR, tmp_path)
    meta = "__meta_kubernetes_"
    assert job["job_name"] == "serviceMonitor/shop/handler-cart/0"
    assert job["file_sd_configs"] == [{"files": [str(tmp_path / "targets" / "service-shop.json")]}]
    rules = job["relabel_configs"]
    kept = {
        rule["source_labels"][0]: rule["regex"] for rule in rules if rule.get("action") == "keep"
    }
    assert kept == {
        f"{meta}service_label_gati_dev_unit": "handler\\-cart",
        f"{meta}service_labelpresent_gati_dev_version": "true",
        f"{meta}endpointslice_port_name": "http",
    }
    targets = {rule["target_label"] for rule in rules if "target_label" in rule}
    assert targets == {"namespace", "pod", "container", "service", "endpoint", "gati_unit"}


def test_the_configuration_is_written_when_it_changes(tmp_path):
    (tmp_path / "rules").mkdir()
    rule = {"metadata": {"namespace": "shop", "name": "signals"}, "spec": {"groups": []}}
    assert write(tmp_path, [MONITOR], [rule], "127.0.0.1:1", "2s")
    assert not write(tmp_path, [MONITOR], [rule], "127.0.0.1:1", "2s")
    assert write(tmp_path, [MONITOR], [], "127.0.0.1:1", "2s")
    assert not list((tmp_path / "rules").iterdir())
