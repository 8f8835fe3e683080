"""Texts fit, close what they open, and keep hidden marks."""

from hypothesis import given
from hypothesis import strategies as st

from gati_gitops.forge.text import fit, marked, marker, one_line, same, unmarked


def test_what_fits_is_left_alone():
    assert fit("abc", 3) == "abc"


def test_whole_lines_are_kept_and_the_rest_is_told():
    text = "\n".join(f"line {n}" for n in range(1000))
    short = fit(text, 1000)
    kept, _, rest = short.partition("\n\n*Cut here: ")
    assert text.startswith(kept + "\n")
    assert rest.startswith(f"{len(text) - len(kept)} more characters")


def test_open_code_and_folds_are_closed():
    text = (
        "<details><summary>diff</summary>\n\n````diff\n" + "+ ```\n" * 1000 + "````\n</details>\n"
    )
    short = fit(text, 2000)
    assert "\n````\n\n</details>\n\n*Cut here" in short


def test_closed_code_is_not_closed_again():
    text = "```\nx\n```\n" + "y\n" * 1000
    assert fit(text, 500).count("```") == 2


@given(st.text("ab`~\n<details></details>", max_size=600), st.integers(150, 400))
def test_never_longer_than_the_limit(text, limit):
    assert len(fit(text, limit)) <= limit


def test_marks_are_read_back_and_taken_out():
    body = f"Hello\n\n{marker('wants', 'abc123')}"
    assert marked(body, "wants") == "abc123"
    assert marked(body, "other") == ""
    assert unmarked(body) == "Hello"


def test_forges_may_change_line_ends_and_outer_space():
    assert same("a\r\nb\n", " a\nb")
    assert not same("a\nb", "a b")


def test_one_line():
    assert one_line(" a\n b ", 10) == "a b"
    assert one_line("a" * 20, 10) == "a" * 9 + "…"
