"""The page's text: one file, nothing fetched, data that can't leave its place, no secret."""

import base64
import hashlib
import json
import re
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from gati_gitops.compiler import compile_specs
from gati_gitops.preview.explain import Explainer
from gati_gitops.preview.model import Compared
from gati_gitops.preview.review import review
from gati_gitops.preview.writers.github import write_github
from gati_gitops.preview.writers.html import write_html
from gati_gitops.preview.writers.markdown import write_markdown
from gati_gitops.preview.writers.page_data import Bodies, page_data
from gati_gitops.preview.writers.page_origins import page_origins
from gati_gitops.preview.writers.readable import readable
from gati_gitops.preview.writers.sarif import write_sarif
from gati_gitops.preview.writers.text import write_text
from gati_gitops.spec.link import link_all
from gati_gitops.tree import MemorySnapshot
from tests.preview.samples import many, nothing, shop, spoiled
from tests.preview.sides import MASK, both_sides, specs_of


class Reader(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.inside = [], {}, None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = dict(attrs).get("id") or tag

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        self.texts[self.inside] = self.texts.get(self.inside, "") + data


def unpacked(text):
    """Everything the page holds, with its chunks opened."""
    read = Reader(text)
    chunks = json.loads(read.texts["bodies"])
    bodies = [zlib.decompress(base64.b64decode(chunk["data"])).decode() for chunk in chunks]
    return read.texts["data"] + "".join(bodies)


def test_one_file_and_no_address():
    read = Reader(write_html(shop(3)))
    assert [tag for tag, _ in read.tags if tag in {"link", "img", "iframe", "base", "object"}] == []
    assert {key for _, attrs in read.tags for key in attrs} & {"src", "srcset", "style"} == set()
    assert {attrs["href"] for _, attrs in read.tags if "href" in attrs} == {"#/"}
    assert "http://" not in read.texts["style"] and "https://" not in read.texts["style"]
    assert "url(" not in read.texts["style"] and "@import" not in read.texts["style"]


def test_policy_allows_the_one_program_and_nothing_else():
    read = Reader(write_html(shop(3)))
    (policy,) = (a["content"] for _, a in read.tags if a.get("http-equiv"))
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    for element in ("script", "style"):
        digest = hashlib.sha256(read.texts[element].encode()).digest()
        assert rules[f"{element}-src"] == f"'sha256-{base64.b64encode(digest).decode()}'"
    assert rules["require-trusted-types-for"] == "'script'"
    assert rules["trusted-types"] == "'none'"


def test_the_program_makes_no_markup_of_text():
    program = Reader(write_html(nothing())).texts["script"]
    for sink in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
                 "new Function", "srcdoc", "DOMParser", "XMLHttpRequest", "fetch(", "import("):  # fmt: skip
        assert sink not in program


@pytest.mark.parametrize(
    "evil",
    [
        "</script><script>alert(1)</script>",
        "</script ",
        "</SCRIPT/",
        "<!--<script>",
        "-->",
        "]]>",
        "{{script}}",
        "{{data}}",
    ],
)
def test_data_can_not_leave_its_place(evil):
    plain = write_html(shop(2))
    text = write_html(spoiled(shop(2), lambda text: text + evil))
    assert [tag for tag, _ in Reader(text).tags] == [tag for tag, _ in Reader(plain).tags]
    assert Reader(text).texts["script"] == Reader(plain).texts["script"]
    raw = text.partition('id="data">')[2].partition("</script>\n")[0]
    assert set(raw) & set("<>&") == set()  # no sign that any parser of HTML would act on
    assert json.loads(raw)["base"].startswith(f"origin/main{evil}")


def test_any_bytes_are_a_page():
    odd = Compared("\udcff\x00\u2028🙈", "\udc80")
    write_html(replace(shop(2), base=odd, head=odd, notes=("\udcff",))).encode()


def test_an_object_is_stored_once_however_many_clusters_have_it():
    sizes = [
        len(write_html(shop(20, clusters=clusters)))
        for clusters in (("eu", "us"), ("eu", "us", "ap", "af", "sa", "oz"))
    ]
    assert sizes[1] < sizes[0] * 1.35


def test_five_hundred_units_stay_small():
    assert len(write_html(many(500))) < 2_500_000


def test_origins_come_with_their_objects():
    asked = []

    def origins(change):
        asked.append(change.id)
        return {"spec.template.spec.containers[0].image": "spec.image of specs/cart.yaml:9"}

    text = write_html(shop(1), origins=origins)
    assert "spec.image of specs/cart.yaml:9" in unpacked(text)
    assert len(asked) == len(set(asked)) + 1  # on both clusters once, in both environments twice
    data = json.loads(Reader(text).texts["data"])
    (prod,) = (one for one in data["environments"] if one["name"] == "prod")
    (field, _) = prod["groups"][0]["units"][1]["objects"][0]["fields"]
    assert field[0] == "spec.rules[0].backendRefs[name=handler-cart-1-2-0].weight"
    assert field[3] == "spec.rules[0].backendRefs[0].weight"


def test_nothing_changes():
    data = page_data(nothing(), Bodies())
    assert data["same"] and data["environments"] == []


def test_without_scripts_the_text_stands_there():
    read = Reader(write_html(shop(3)))
    assert "3 dangers" in read.texts["pre"]
    assert read.texts["pre"].startswith("preview origin/main")


# ----------------------------------------------------------------------------------- a real review

SHOP = Path(__file__).parents[2] / "examples/shop"


def test_a_real_review_in_every_form():
    base = {str(path.relative_to(SHOP)): path.read_text() for path in SHOP.rglob("*.yaml")}
    cart, catalog = "storefront/cart.yaml", "storefront/catalog.yaml"
    head = base | {
        cart: base[cart].replace("1.12.0", "1.13.0"),
        catalog: base[catalog].replace('"300"', '"600"'),
        "gati.yaml": base["gati.yaml"].replace("10.40.0.0/16", "10.41.0.0/16"),
    }
    ledger = compile_specs(specs_of(base), MemorySnapshot({})).tree
    sides = both_sides(base, head, ledger, whole=True)
    found = review(*sides, MASK, ledger="output")
    assert [change.id for change in readable(found).classes][:1] == ["C1"]
    for width in (60, 120):
        text = write_text(found, width=width)
        assert max(map(len, text.splitlines())) <= width
        assert "C1" in text
    assert "registry.shop.example/cart:1.13.0" in write_markdown(found)
    write_github(found)
    json.loads(write_sarif(found))
    specs = specs_of(head)
    origins = page_origins(Explainer(specs, link_all(specs)), MemorySnapshot(sides[1].files))
    page = write_html(found, origins=origins)
    assert "spec.env.CACHE_TTL_SECONDS storefront/catalog.yaml:20:24" in unpacked(page)
    data = json.loads(Reader(page).texts["data"])
    known = {change["id"] for change in data["classes"]}
    units = [u for e in data["environments"] for group in e["groups"] for u in group["units"]]
    assert {name for unit in units for name in unit["classes"]} == known
    assert all(change["fields"] and change["fields"][0][1] for change in data["classes"])


# ------------------------------------------------------------------------------------------ secrets

TOKENS = [
    token
    for number in range(100)
    for token in (
        f"ghp_{number:036d}",
        f"AKIA{number:016d}",
        f"glpat-{number:020d}",
        f"sk_live_{number:016d}",
        f"xoxb-{number:012d}",
    )
]


def test_planted_tokens_are_in_no_form():
    """Whoever lets one through, no writer prints it: five hundred in every text of a review."""
    left = iter(TOKENS)
    used = set()

    def plant(text):
        token = next(left, TOKENS[0])
        used.add(token)
        return f"{text}\nx={token}" if len(used) % 2 else f"{text} {token}"

    review = spoiled(shop(12), plant)
    assert len(used) == 500
    page = write_html(review)
    forms = {
        "text": write_text(review, width=200),
        "colour": write_text(review, width=60, colour=True),
        "markdown": write_markdown(review, limit=10**7),
        "html": page,
        "html, unpacked": unpacked(page),
        "github": write_github(review),
        "sarif": write_sarif(review),
    }
    for name, text in forms.items():
        joined = re.sub(r"\s+|\x1b\[[0-9;]*m", "", text)
        assert [token for token in TOKENS if token in joined] == [], name
