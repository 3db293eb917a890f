"""HTML as text: what a reader sees, in time that grows with the length only."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planners.kgot.tools.html_text import decoded_text, html_text
from tests.harness.waiting import bounded_work

_PAGE = """<!doctype html><html><head><title>Prices &amp; stock</title><style>p{}</style></head><body>
<h2>Stock</h2><p>See <a href='/list?a=1&amp;b=2'>the <b>list</b></a>, 3 < 4.<!-- hidden --></p>
<ul><li>one<li>two</ul><table><tr><th>Part<th>Left<tr><td>bolt<td>7</table>
<script>if (a < b) { document.write("<p>no</p>") }</script><a href="javascript:x()">stays words</a></body>"""


def test_a_page_reads_as_a_reader_sees_it() -> None:
    found = html_text(_PAGE, "https://shop.example/home")
    assert found.title == "Prices & stock"
    assert found.text.splitlines() == [
        "## Stock",
        "",
        "See [the list](https://shop.example/list?a=1&b=2), 3 < 4.",
        "",
        "- one",
        "- two",
        "",
        "| Part | Left",
        "| bolt | 7",
        "",
        "stays words",
    ]


_CRAFTED = {
    "open tags": "<a " * 300_000,
    "signs": "<" * 1_000_000,
    "comments": "<!--" * 300_000,
    "scripts": "<script>" * 200_000,
    "links": "<a href=x>" * 100_000,
    "quotes": "<a href='http://a' " + "'" * 1_000_000 + ">x",
    "blanks": " \n" * 500_000,
    "entities": "&" * 1_000_000,
}


@pytest.mark.parametrize("page", _CRAFTED.values(), ids=_CRAFTED.keys())
def test_crafted_pages_take_no_quadratic_time(page: str) -> None:
    with bounded_work():
        html_text(page, "http://a.example")


@given(
    st.lists(
        st.sampled_from(
            [
                "<",
                ">",
                "</",
                "<!--",
                "-->",
                "<a href=",
                "'",
                '"',
                "<script>",
                "</script",
                "<p>",
                "<td>",
                "x",
                " ",
                "&lt;",
                "\n",
                "İ",
            ]
        )
    )
)
def test_any_page_has_a_text(parts: list[str]) -> None:
    found = html_text("".join(parts), "http://a.example")
    assert "\n\n\n" not in found.text
    assert found.text == found.text.strip()


@given(st.text(alphabet=st.characters(exclude_characters="<&", exclude_categories=["Cs"])))
def test_no_word_of_a_text_without_markup_is_lost(text: str) -> None:
    assert html_text(text).text.split() == text.split()


@pytest.mark.parametrize(
    ("content", "charset", "text"),
    [
        ("é".encode("latin-1"), "iso-8859-1", "é"),
        (b'<meta charset="windows-1252">\x80', "", '<meta charset="windows-1252">€'),
        ("é".encode(), "no-such-encoding", "é"),
        (b"\xffx", "", "\ufffdx"),
        (b"+AGE-", "utf-7", "+AGE-"),
        (b"abc", "rot13", "abc"),
        ("\ufeffa".encode(), "", "a"),
    ],
    ids=["header", "meta", "unknown", "damaged", "utf-7", "no encoding", "mark"],
)
def test_pages_are_decoded_as_they_say(content: bytes, charset: str, text: str) -> None:
    assert decoded_text(content, charset, is_html=True) == text
