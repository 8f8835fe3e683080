"""The comment fits, folds whole, and is read by GitHub's own parser as we mean it."""

import re
from html.parser import HTMLParser
from pathlib import Path

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hypothesis import example, given
from hypothesis import strategies as st

from gati_gitops.preview.writers import escape
from gati_gitops.preview.writers.budget import Piece, fit, units
from gati_gitops.preview.writers.markdown import MARKER, write_markdown
from tests.preview.samples import many, nothing, shop, spoiled

GOLDEN = Path(__file__).parent / "golden"
EVIL = (
    "@everyone #12 !7 ~bug org/repo#3 GH-4 a@b.example",
    "<img src=x onerror=alert(1)><script>alert(1)</script></details></summary>",
    "[a](javascript:alert(1)) ![b](https://evil.example/t.png) <https://evil.example>",
    "https://evil.example www.evil.example",
    "`` ` ``` ~~~ ``",
    "\n\n# heading\n- item\n</details>\n```\n",
    "a | b | c \\| d",
    "*a* **b** _c_ ~~d~~ $e$ [^1] [x]: y",
    "&lt;b&gt; &#60;i&#62; &amp;",
    "\n/close\n/assign @me",
    "-->\n<!-- gati-gitops:preview -->",
)


class Reader(HTMLParser):
    """Elements and text as a browser would see them."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.attributes, self.prose, self.folds = [], [], [], [], 0
        self.comments = []
        html = cmarkgfm.github_flavored_markdown_to_html(text, options=Options.CMARK_OPT_UNSAFE)
        self.feed(html)
        assert self.open == [], f"left open: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *attr) for attr in attrs]
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_comment(self, data):
        self.comments.append(data)

    def handle_data(self, data):
        if not {"code", "pre"} & set(self.open):
            self.prose.append(data)


OURS = {
    "blockquote", "br", "code", "details", "em", "h3", "h4", "li", "p", "pre", "strong", "b",
    "summary", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip


def test_golden(update_golden):
    found = write_markdown(shop(3), artifact="https://ci.example/runs/1")
    if update_golden:
        GOLDEN.mkdir(exist_ok=True)
        (GOLDEN / "shop.md").write_text(found)
    assert found == (GOLDEN / "shop.md").read_text()


def test_marker_then_summary_then_dangers_then_the_rest():
    text = write_markdown(shop(12))
    assert text.startswith(f"{MARKER}\n### Preview: 3 dangers and 2 warnings")
    parts = [
        "| environment |",
        "> [!CAUTION]",
        "2 warnings</b>",
        "The same change",
        "#### `staging`",
        "#### `prod`",
        "2 notes",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_the_same_review_is_the_same_text():
    assert write_markdown(shop(30)) == write_markdown(shop(30))


@pytest.mark.parametrize("evil", EVIL)
def test_users_text_stays_text(evil):
    review = spoiled(shop(2), lambda text: text + evil)
    shape = Reader(write_markdown(shop(2)))
    for limit in (65536, 9000):
        read = Reader(write_markdown(review, limit=limit))
        assert set(read.tags) <= OURS
        if limit == 65536:
            assert read.tags.count("details") == shape.tags.count("details")
            assert read.tags.count("tr") == shape.tags.count("tr")
            assert read.tags.count("td") == shape.tags.count("td")
        assert {a for a in read.attributes if a[0] not in {"th", "td", "pre", "code"}} == set()
        assert read.comments == [" gati-gitops:preview "]
        prose = re.sub(r"\[!(CAUTION|NOTE)\]", "", "".join(read.prose))
        # What a forge links in text that it has parsed.
        assert re.findall(r"[@#!~%$&][\w\"']", prose) == []
        assert re.findall(r"GH-\d|://|www\.\w", prose, re.IGNORECASE) == []


def test_users_text_can_be_read():
    read = Reader(write_markdown(spoiled(shop(1), lambda text: text + " a*b_c|d <e> & [f]")))
    assert "a*b_c|d <e> & [f]" in "".join(read.prose)
    assert "\\" not in "".join(read.prose)


@pytest.mark.parametrize("sign", ["", "日本", "🙈"], ids=["ascii", "two bytes", "two units"])
@pytest.mark.parametrize("review", [shop(100), many(80)], ids=["one class", "each its own"])
def test_never_longer_than_the_limit_and_always_whole(review, sign):
    review = spoiled(review, lambda text: text + sign)
    for limit in (400, 1500, 4000, 12000, 30000, 65536):
        text = write_markdown(review, limit=limit)
        assert len(text) <= limit
        assert len(text.encode("utf-16-le")) // 2 <= limit
        Reader(text)


def test_what_is_left_out_is_the_least_important_and_said():
    text = write_markdown(many(600), artifact="https://ci.example/runs/1")
    assert "Too long for one comment: details of" in text
    assert "[The whole review](https://ci.example/runs/1) has them." in text
    assert len(text) > 60_000  # what fits is there
    for each in range(0, 600, 50):  # each danger, and the difference that it is about
        assert f"shop/unit-{each:04}`" in text
        assert f"+   registry.shop.dev/unit-{each:04}:1.1.{each}" in text


def test_nothing_is_left_out_where_there_is_room():
    text = write_markdown(shop(12), artifact="https://ci.example/a b)c")
    assert "left out" not in text
    assert text.endswith("[The whole review](https://ci.example/a%20b%29c)\n")


def test_an_address_that_is_none_is_no_link():
    text = write_markdown(shop(1), artifact="javascript:alert(1)")
    assert "](" not in text


def test_nothing_changes():
    text = write_markdown(nothing())
    assert text.startswith(f"{MARKER}\n### Preview: nothing changes")


@given(st.text(max_size=60))
def test_any_text_is_one_line_of_code(text):
    read = Reader(f"x {escape.code(text)} y")
    assert set(read.tags) <= {"p", "code"}


@given(st.lists(st.text("`~ a\n", max_size=8), max_size=6))
@example(["```", "text"])
def test_any_lines_are_one_block(lines):
    read = Reader(f"{escape.block(lines)}\n\nafter")
    assert read.tags == ["pre", "code", "p"]
    assert "".join(read.prose).strip() == "after"


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_text_is_prose(text):
    assert set(Reader(f"- x {escape.prose(text)} y").tags) <= {"ul", "li"}
    fold = Reader(escape.fold(f"{escape.html(text)}", "inside"))
    assert set(fold.tags) == {"details", "summary", "p"}


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 5), st.text("ab🙈", max_size=30)), max_size=4), max_size=8
    ),
    st.integers(0, 200),
)
def test_pieces_fit(lists, limit):
    pieces = [Piece(tuple(lengths), about="thing") for lengths in lists]
    fitted = fit(pieces, limit)
    assert units(fitted.text) <= limit
    if not fitted.missing:
        for piece in pieces:
            assert not piece.lengths or piece.lengths[-1][1] in fitted.text
