"""HTML as text: what a reader sees, in time that grows with the length only."""

from __future__ import annotations

from planners.kgot.tools.html_text import html_text

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
