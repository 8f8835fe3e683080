"""The report as text, data and a page."""

import json
import re
from dataclasses import replace

import pytest

from gati_gitops.decide.drift.fields import FieldDrift
from gati_gitops.decide.drift.model import (
    FileDrift,
    ObjectDrift,
    PlaceDrift,
    Report,
    Share,
    Split,
    UnitDrift,
    What,
)
from gati_gitops.decide.drift.owners import Who
from gati_gitops.decide.observation import Engine, EngineState, Gap, Missing
from gati_gitops.plan.naming import UnitId
from gati_gitops.preview.model import Keyed, ObjectId, Op
from gati_gitops.reconcile.drift.data import report_data
from gati_gitops.reconcile.drift.page import write_page
from gati_gitops.reconcile.drift.text import report_lines
from gati_gitops.reconcile.drift.told import summary

ROUTE = ObjectId("gateway.networking.k8s.io", "HTTPRoute", "shop", "handler-cart")
SPLIT = Split((Share("v1", 90, 700, 0.65, 0.75), Share("v2", 10, 300, 0.25, 0.35)), 900.0, "p")
HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e"


def report(**unit):
    field = FieldDrift(
        ("spec", "rules", Keyed((("name", "split"),)), "weight"),
        Op.REPLACE,
        100,
        3,
        (Who("kubectl-patch", "Update", "2026-05-04T10:11:12Z"),),
    )
    base = UnitDrift(
        UnitId("shop", "handler", "cart"),
        (
            ObjectDrift(ROUTE, What.CHANGED, (field,)),
            ObjectDrift(replace(ROUTE, kind="Service"), What.MISSING, version="v1"),
        ),
        (FileDrift("overlays/prod/eu/shop/handler-cart/route.yaml", What.CHANGED),),
    )
    quiet = UnitDrift(UnitId("shop", "handler", "users"))
    place = PlaceDrift("prod", "eu", "report", (replace(base, **unit), quiet))
    return Report("main", "abc123def456789", (place,))


def test_text_says_field_value_and_who():
    assert report_lines(report()) == [
        "prod on eu",
        "  shop/cart",
        "    HTTPRoute shop/handler-cart",
        "      spec.rules[name=split].weight",
        "        Git 100, live 3 (kubectl-patch at 2026-05-04T10:11:12Z)",
        "    Service shop/handler-cart is missing",
        "    overlays/prod/eu/shop/handler-cart/route.yaml is changed",
    ]


def test_text_says_engine_traffic_holds_and_broken_glass():
    engine = Engine(EngineState.SUSPENDED, "automatic sync is switched off")
    lines = report_lines(
        report(engine=engine, split=SPLIT, held="we look at it", broken_glass="v2 is bad")
    )
    text = "\n".join(lines)
    assert "engine   suspended: automatic sync is switched off" in text
    assert "v1 has 90 %, and got 70.0 % (65.0 to 75.0) of 1,000 requests in 900 s" in text
    assert "held, so it is only told: we look at it" in text
    assert "traffic moved by hand: v2 is bad; the next pass takes that over" in text


def test_nothing_to_tell_is_no_line():
    quiet = Report(
        "main", "abc", (PlaceDrift("prod", "eu", units=(UnitDrift(UnitId("a", "handler", "b")),)),)
    )
    assert report_lines(quiet) == [] and quiet.exit_code == 0
    assert summary(quiet) == "no drift in 1 unit"


def test_what_was_not_seen_is_told_and_is_no_success():
    gap = Missing(Gap.ERROR, "403", "the cluster")
    place = PlaceDrift("prod", "eu", unseen=(gap,))
    blind = Report("main", "abc", (place,))
    assert blind.exit_code == 4 and not report_data(blind)["complete"]
    assert report_lines(blind) == ["prod on eu", "  not seen  error: 403 (the cluster)"]
    seen = report()
    both = replace(seen, places=(*seen.places, place))
    assert both.exit_code == 1  # what is certain counts


def test_data_has_all_of_it():
    data = json.loads(json.dumps(report_data(report(split=SPLIT))))
    (unit,) = data["places"][0]["units"]
    assert data["places"][0]["looked"] == 2 and data["drifted"]
    assert unit["objects"][0]["fields"][0] == {
        "path": "spec.rules[name=split].weight",
        "op": "replace",
        "git": 100,
        "live": 3,
        "who": [
            {"manager": "kubectl-patch", "operation": "Update", "time": "2026-05-04T10:11:12Z"}
        ],
    }
    assert unit["traffic"]["versions"][0]["declared"] == 90


@pytest.mark.parametrize("make", [lambda r: "\n".join(report_lines(r)), write_page])
def test_nobody_s_text_does_anything(make):
    field = FieldDrift(("spec", HOSTILE), Op.ADD, live=HOSTILE, who=(Who(HOSTILE),))
    odd = report(objects=(ObjectDrift(replace(ROUTE, name=HOSTILE), What.CHANGED, (field,)),))
    text = make(odd)
    assert "\x1b" not in text and "\u202e" not in text
    if make is write_page:
        assert "<script" not in text


class TestPage:
    def test_it_stands_alone(self):
        page = write_page(report(split=SPLIT))
        assert page.startswith("<!doctype html>")
        assert "shop/cart" in page and "kubectl-patch" in page and "shop/users" not in page
        assert not re.search(r"(?:src|href)=|url\(|<script|@import", page)

    def test_its_policy_allows_its_style_and_nothing_else(self):
        from base64 import b64encode
        from hashlib import sha256

        page = write_page(report())
        policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]
        style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
        digest = b64encode(sha256(style.encode()).digest()).decode()
        assert f"style-src 'sha256-{digest}'" in policy and "default-src 'none'" in policy
        assert "--danger" in style  # the look of our other pages

    def test_it_says_when_there_is_nothing(self):
        page = write_page(Report("main", "abc", (PlaceDrift("prod", "eu"),)))
        assert "No drift." in page
