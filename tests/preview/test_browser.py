"""The page in a real Chromium: what a reader does with it, and what a hostile spec can't."""

import json
import os
from pathlib import Path

import pytest

from gati_gitops.preview.writers.html import write_html
from tests.preview.browser import Browser
from tests.preview.samples import many, nothing, shop, spoiled
from tests.tools import tool

CART = "#/prod/eu/shop/cart"
NODES = "document.querySelectorAll('*').length"
ROWS = "#list .row a"


@pytest.fixture(scope="module")
def browser():
    with Browser(tool("chromium")) as browser:
        yield browser


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Pages, written once."""
    folder = tmp_path_factory.mktemp("pages")

    def told(change):
        return {"spec.rules[0].backendRefs[0].weight": "the ledger gives 90 (rollout.yaml:7)"}

    made = {
        "shop": write_html(shop(12), origins=told),
        "same": write_html(nothing()),
    }
    for name, text in made.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def opened(browser, files):
    """Opens a page; at the end nothing may have been logged, thrown, refused or fetched."""
    pages = []

    def open_(name="shop", **options):
        page = browser.open(files / f"{name}.html", **options)
        pages.append(page)
        return page

    yield open_
    for page in pages:
        assert page.seen() == []
        assert page.said == []
        assert {url.rpartition("/")[2] for url in page.requests} <= {"shop.html", "same.html"}
        page.close()


# -- finding one's way -----------------------------------------------------------------------------


def test_overview_says_what_matters_first(opened):
    page = opened()
    assert page.texts("h1") == ["3 dangers, 2 warnings"]
    titles = page.texts(".finding .what")
    assert titles[0] == "Objects that are deleted and made again"
    assert page.texts(".card .title")[0] == "Deployment: memory of app 256Mi → 320Mi"
    assert "12 units" in page.text(".card .reach")
    assert page.texts(".card .line .text")[:2] == ["256Mi", "320Mi"]
    assert page.texts(".totals tbody th") == ["staging", "prod"]
    assert page.js("document.title").startswith("Preview of HEAD: 3 dangers")


def test_search_narrows_units_and_marks_words(opened):
    page = opened()
    page.key("/")
    assert page.js("document.activeElement.id") == "search"
    page.type("retries")
    assert page.texts(f"{ROWS} .name") == ["shop/cart"]
    assert page.text("#count") == "1 unit found"
    page.key("Enter")
    page.wait("location.hash.startsWith('#/prod/eu/shop/cart')")
    page.wait("CSS.highlights.get('searched')?.size > 1")
    page.key("Escape")
    assert page.js("document.querySelector('#search').value") == ""
    assert page.js("document.activeElement.id") == "main"
    assert len(page.texts(ROWS)) > 10


def test_search_finds_what_a_class_says(opened):
    page = opened(fragment="#/?q=memory+of+app")
    assert "shop/basket-000" in page.texts(f"{ROWS} .name")
    assert "shop/cart" not in page.texts(f"{ROWS} .name")


def test_filters_by_environment_and_severity(opened):
    page = opened()
    page.click("[data-env=staging]")
    assert page.texts(".row.env") == ["staging"]
    assert page.js("location.hash") == "#/?env=staging"
    page.click("[data-level=danger]")
    assert page.texts(f"{ROWS} .name") == ["shop/legacy"]
    assert page.texts(".finding .what") == ["Units that go"]
    assert page.js("document.querySelector('[data-level=danger]').ariaPressed") == "true"
    page.key("0")
    assert page.texts(".row.env") == ["staging", "prod"]
    page.key("2")
    assert page.js("location.hash") == "#/?env=prod"


def test_a_link_leads_to_the_same_sight(opened):
    page = opened(fragment=f"{CART}?view=split&env=prod&level=danger&q=cart")
    assert page.texts("h1") == ["~ shop/cart"]
    assert page.texts(".row.env") == ["prod"]
    assert page.js("document.querySelector('#search').value") == "cart"
    page.wait("document.querySelector('.code.split .pair')")
    assert page.texts(".row.current .name") == ["shop/cart"]


def test_a_link_to_nothing_leads_to_the_overview(opened):
    page = opened(fragment="#/no/such/unit?env=none&level=none&view=none")
    assert page.texts("h1") == ["3 dangers, 2 warnings"]


def test_links_of_findings_and_classes(opened):
    page = opened()
    page.click(".finding .about a")
    page.wait("document.querySelector('h1').innerText.includes('shop/cart')")
    assert page.js("document.title").startswith("shop/cart")
    page.js("location.hash = '#/class/C1'")
    page.wait("document.querySelector('h1').innerText.startsWith('Deployment')")


# -- one unit --------------------------------------------------------------------------------------


def test_a_unit_has_findings_versions_rollout_and_objects(opened):
    page = opened(fragment=CART)
    assert page.texts(".findings .what")[0] == "Objects that are deleted and made again"
    assert page.texts(".crumbs .chip") == ["prod", "eu", "us"]
    assert page.texts(".versions tbody th") == ["1.2.0restarts", "1.3.0new"]
    assert page.texts(".track")[0] == "1.2.0 · 100 %"
    assert page.texts(".rollout li")[0].startswith("1.3.0 waits Pending")
    assert page.texts(".object .title b") == [
        "HTTPRoute",
        "ConfigMap",
        "Service",
        "Deployment",
        "Service",
    ]
    assert page.texts(".field .path b")[0] == "weight"
    assert page.texts(".lines .line.del .text")[0] == "100"


def test_unified_shows_whole_objects_with_what_is_alike_folded(opened):
    page = opened(fragment=CART)
    page.key("u")
    page.wait("document.querySelectorAll('.code').length === 3")
    assert page.texts(".code .del .text")[:2] == ["      weight: 100", "    retries: 3"]
    folded = len(page.texts(".code .line"))
    page.click(".code .unfold")
    assert len(page.texts(".code .line")) == folded + 9
    assert page.texts(".code .line .text")[0] == "apiVersion: gateway.networking.k8s.io/v1"


def test_split_shows_both_sides(opened):
    page = opened(fragment=f"{CART}?view=split")
    page.wait("document.querySelectorAll('.code.split').length === 3")
    assert page.texts(".half.del .text")[0].strip() == "weight: 100"
    assert page.texts(".half.add .text")[0].strip() == "weight: 90"
    assert page.js("document.querySelector('.half.del mark').innerText") == "100"


def test_objects_fold(opened):
    page = opened(fragment=CART)
    expanded = "[...document.querySelectorAll('.object > .head')].map((one) => one.ariaExpanded)"
    assert page.js(expanded) == ["true", "true", "true", "false", "false"]
    page.click(".object .head")
    assert page.js(expanded)[0] == "false"
    page.key("x")
    assert page.js(expanded) == ["true"] * 5
    page.wait("document.querySelectorAll('.object .code .line.add').length > 40")
    page.key("x")
    assert page.js(expanded) == ["false"] * 5


def test_the_pointer_shows_where_a_field_came_from(opened):
    page = opened(fragment=CART)
    page.wait("document.querySelector('[data-origin]')")
    page.hover(".field .path")
    page.wait("!document.querySelector('#tip').hidden")
    assert "the ledger gives 90 (rollout.yaml:7)" in page.text("#tip")
    page.key("u")
    page.wait("document.querySelector('.code .line.add[data-origin]')")
    page.hover(".code .line.add")
    page.wait("document.querySelector('#tip').innerText.includes('ledger gives')")
    assert page.text("#tip").startswith("spec.rules[0].backendRefs[0].weight")


# -- keyboard, colours, paper ----------------------------------------------------------------------


def test_keyboard(opened):
    page = opened()

    def at():
        return page.js("location.hash.split('?')[0]")

    page.key("j")
    page.wait("location.hash !== ''")
    first = at()
    page.key("j")
    page.wait(f"!location.hash.startsWith({json.dumps(first)})")
    page.key("k")
    page.wait(f"location.hash.startsWith({json.dumps(first)})")
    page.key("o")
    page.wait("location.hash === '#/'")
    page.key("n")
    page.wait("location.hash.includes('shop/legacy')")
    page.key("n")
    page.wait("location.hash.includes('shop/cart')")
    page.key("p")
    page.wait("location.hash.includes('shop/legacy')")
    page.key("v")
    page.wait("document.querySelector('.review').ariaPressed === 'true'")
    assert page.texts(".row .done") == ["✓"]
    page.key("?")
    assert page.js("document.querySelector('#keys').open")
    assert "next, previous unit" in page.text("#keys")
    page.key("j")  # the help is modal
    assert "legacy" in at()
    page.key("Escape")
    page.wait("!document.querySelector('#keys').open")


def test_keys_are_text_while_somebody_types(opened):
    page = opened()
    page.key("/")
    for key in "jvx":
        page.key(key)
    assert page.js("document.querySelector('#search').value") == "jvx"
    assert page.js("location.hash") == "#/?q=jvx"


def test_dark_as_the_system_says_and_as_the_reader_says(opened):
    colour = "getComputedStyle(document.body).backgroundColor"
    page = opened()
    light = page.js(colour)
    page.media(dark=True)
    dark = page.js(colour)
    assert light == "rgb(248, 248, 246)" and dark == "rgb(19, 20, 23)"
    for wanted in (dark, light, dark):  # dark, light, and as the system says again
        page.key("d")
        assert page.js(colour) == wanted
    page.media(dark=False)
    assert page.js(colour) == light
    page.click("#theme")
    assert page.js("document.querySelector('#theme').ariaLabel") == "Colours: dark"
    again = opened()
    assert again.js(colour) == dark  # it is remembered
    again.js("localStorage.clear()")


CONTRAST = """(() => {
  const light = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).map((one) => one / 255);
    const part = (c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const found = getComputedStyle(at).backgroundColor;
      if (!/, 0\\)$|transparent|color\\(/.test(found)) return found;
    }
    return "rgb(255, 255, 255)";
  };
  const bad = new Set();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !node.checkVisibility() || node.closest("[aria-hidden=true], script, style")) continue;
    const [one, two] = [light(getComputedStyle(node).color), light(behind(node))].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (two + 0.05);
    if (ratio < 4.5) bad.add(`${node.className || node.tagName} ${ratio.toFixed(2)}`);
  }
  return [...bad];
})()"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("fragment", ["#/?level=danger", f"{CART}?view=unified"])
def test_every_text_can_be_read(opened, dark, fragment):
    page = opened(dark=dark, fragment=fragment)
    page.key("x")
    page.wait("document.querySelector('.card .content')")
    assert page.js(CONTRAST) == []


def test_landmarks_names_and_focus(opened):
    page = opened(fragment=CART)
    assert page.js(
        "['header', 'nav', 'main'].map((n) => document.querySelectorAll(`body > ${n}`).length)"
    ) == [1, 1, 1]
    nameless = """[...document.querySelectorAll("button, a, input, [role=img]")].filter((one) =>
        !(one.innerText || one.ariaLabel || (one.labels?.length ? "labelled" : "")).trim()).map((one) => one.outerHTML)"""
    assert page.js(nameless) == []
    assert page.js("document.querySelectorAll('h1').length") == 1
    assert page.js("document.querySelectorAll('[aria-current=page]').length") == 1
    page.key("Tab")
    assert page.js("document.activeElement.id") == "skip"
    page.key("Enter")
    assert page.js("document.activeElement.id") == "main"
    assert page.js(
        "[...document.querySelectorAll('[id]')].length === new Set([...document.querySelectorAll('[id]')].map((n) => n.id)).size"
    )


def test_narrow_screens_scroll_only_down(opened):
    page = opened(width=400, fragment=CART)
    assert page.js("document.documentElement.scrollWidth") == 400


def test_paper_has_everything(opened):
    page = opened(fragment="#/?env=prod", dark=True)
    assert page.pdf().startswith(b"%PDF")
    page.js("dispatchEvent(new Event('beforeprint'))")
    page.media(dark=True, kind="print")
    assert (
        page.js("getComputedStyle(document.querySelector('#print .card')).backgroundColor")
        == "rgb(255, 255, 255)"
    )
    assert page.texts("#print .more") == []
    text = page.text("#print")
    assert "3 dangers" in text and "+ None".replace(" ", "\n") in text and "basket-011" in text
    assert page.js("document.querySelector('main').checkVisibility()") is False
    page.js("dispatchEvent(new Event('afterprint'))")
    assert page.js("document.querySelector('#print').childNodes.length") == 0


def test_nothing_changes(opened):
    page = opened("same")
    assert page.texts("h1") == ["Nothing changes"]


# -- five hundred units ----------------------------------------------------------------------------


def test_only_what_is_seen_is_in_the_document(browser, tmp_path):
    """Numbers of elements, not of seconds: they are what makes a page slow."""
    path = tmp_path / "many.html"
    path.write_text(write_html(many(500)), encoding="utf-8")
    page = browser.open(path)
    assert page.js("document.querySelectorAll('#list .row').length") < 60
    assert page.js(NODES) < 2500
    page.js("document.querySelector('#list').scrollTop = 1e9")
    page.wait("document.querySelector('#list').innerText.includes('unit-0499')")
    assert page.js("document.querySelectorAll('#list .row').length") < 60
    page.key("/")
    page.type("unit-0250")
    assert page.texts(f"{ROWS} .name") == ["shop/unit-0250"] * 3
    page.key("Enter")
    page.wait("document.querySelector('h1').innerText.includes('unit-0250')")
    page.key("Escape")
    page.key("u")
    page.wait("document.querySelector('.code .add')")
    assert page.texts(".code .add .text") == ["        image: registry.shop.dev/unit-0250:1.1.250"]
    page.wait("document.querySelector('.row.current')")  # it has been scrolled to
    assert page.js(NODES) < 2500
    assert page.seen() == [] and page.said == []
    page.close()


# -- hostile specs ---------------------------------------------------------------------------------

EVIL = (
    "</script><script>pwned(1)</script>",
    "<img src=x onerror=pwned(2)>",
    '"><svg onload=pwned(3)><a href=javascript:pwned(4)>x</a>',
    "javascript:pwned(5)",
    "<!--<script>pwned(6)</script>-->",
    "${pwned(7)}{{script}}`'\"\\",
    "__proto__",
    "\u2028\u202e\x00</style><style>*{background:url(https://evil.example)}</style>",
)


def test_no_text_of_a_spec_runs(browser, tmp_path):
    number = 0

    def spoil(text):
        nonlocal number
        number += 1
        # Names must stay the same wherever they stand, or nothing would be found by them.
        return text + EVIL[sum(map(ord, text)) % len(EVIL)]

    told = {"spec": "<img src=x onerror=pwned(8)>", "constructor": "x"}
    path = tmp_path / "evil.html"
    review = spoiled(shop(3), spoil)
    path.write_text(write_html(review, origins=lambda _: told), encoding="utf-8")
    assert number > 1000
    page = browser.open(path)
    count = page.js("document.querySelectorAll('#list .row a').length")
    assert count >= 9
    for view in ("fields", "unified", "split"):
        page.js("location.hash = '#/'")
        page.wait("document.querySelector('h1').innerText.includes('danger')")
        page.key("x")
        page.key(view[0])
        for _ in range(count):
            before = page.js("location.hash")
            page.key("j")
            page.wait(f"location.hash !== {json.dumps(before)} || {json.dumps(_ == count - 1)}")
            page.key("x")
            page.wait("!document.querySelector('.content .wait')")
            page.hover("main h1")
            page.js(
                "document.querySelector('[data-path]')?.dispatchEvent(new Event('mouseover', {bubbles: true}))"
            )
            links = page.js(
                "[...document.querySelectorAll('a')].map((one) => one.getAttribute('href'))"
            )
            assert all(link.startswith("#") for link in links)
    page.key("/")
    page.type(EVIL[1])
    page.key("Enter")
    page.js("dispatchEvent(new Event('beforeprint'))")
    strange = """[...document.querySelectorAll("*")].filter((one) =>
        ["IMG", "IFRAME", "OBJECT", "EMBED", "BASE", "FORM", "LINK"].includes(one.tagName)
        || [...one.attributes].some((a) => a.name.startsWith("on") || a.name === "srcdoc")).length"""
    assert page.js(strange) == 0
    assert page.js("document.querySelectorAll('script').length") == 3
    assert page.js("document.querySelectorAll('style').length") == 1
    assert page.js("document.querySelectorAll('svg').length") == 1
    assert page.seen() == []
    assert page.said == []
    assert len(set(page.requests)) == 1
    page.close()


def test_the_policy_would_stop_what_the_program_let_through(browser, files):
    """The watch itself works: were there a hole, this is how it would show."""
    page = browser.open(files / "shop.html")
    page.js("""(() => {
        const script = document.createElement("script");
        try { script.textContent = "pwned(9)"; } catch {}
        const image = new Image();
        image.src = "https://evil.example/x.png";
        const made = document.createElement("a");
        made.setAttribute("href", "javascript:pwned(10)");
        document.body.append(script, image, made);
        made.click();
        try { document.body.innerHTML = "<img src=x onerror=pwned(11)>"; } catch {}
    })()""")
    page.wait("__seen.length >= 3")
    seen = " ".join(page.seen())
    assert "pwned" not in seen.replace("pwned(", "")
    assert "img-src" in seen and "require-trusted-types-for" in seen
    page.close()


# -- looking -----------------------------------------------------------------------------------------


def test_screens(browser, files, tmp_path):
    """For people: GATI_SCREENS=/tmp/screens pytest -k screens"""
    folder = Path(os.environ.get("GATI_SCREENS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    for dark in (False, True):
        for name, fragment in (("overview", ""), ("unit", CART), ("split", f"{CART}?view=split")):
            page = browser.open(files / "shop.html", dark=dark, fragment=fragment, height=1400)
            page.wait("document.querySelector('h1')")
            page.screenshot(folder / f"{name}-{'dark' if dark else 'light'}.png")
            page.close()
    shots = [path.read_bytes() for path in sorted(folder.glob("*-*.png"))]
    assert len(set(shots)) == 6 and min(map(len, shots)) > 10_000, (
        "none is blank, and none like another"
    )
