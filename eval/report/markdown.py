"""Markdown and HTML of a report. Texts are escaped where they are rendered, never before; numbers have one form each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt

from ontology.reporting import Proportion, escape_line, escape_markdown


class Markdown(str):
    """Text that is Markdown already: it is shown as it is, and every other text escaped."""

    __slots__ = ()


NOTHING = Markdown("–")  # not measured


def percent(share: float | None) -> Markdown:
    """A share in [0, 1] in percent, one decimal."""
    return NOTHING if share is None else Markdown(f"{100 * share:.1f}")


def points(difference: float) -> Markdown:
    """A difference of shares in percentage points, signed, one decimal."""
    text = f"{100 * difference:+.1f}"
    return Markdown("0.0" if text in ("+0.0", "-0.0") else text)


def difference(value: float, low: float, high: float, p: float) -> Markdown:
    """A difference of shares with its interval and p, bold where the interval excludes 0."""
    told = "< 0.001" if p < 0.001 else f"{p:.3f}"
    return Markdown(f"{bold(points(value), low > 0 or high < 0)} [{points(low)}, {points(high)}], p {told}")


def share_of(found: Proportion) -> Markdown:
    """``81.2 [75.8, 85.7] (195 of 240)``."""
    within = f" [{percent(found.low)}, {percent(found.high)}]" if found.of else ""
    return Markdown(f"{percent(found.value)}{within} ({found.hits:,} of {found.of:,})")


def counted(count: int, noun: str) -> str:
    """A number of things: ``1 request``, ``2 requests``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def milliseconds(ms: float) -> str:
    """Milliseconds: three significant digits below 1,000, whole ones above."""
    return f"{ms:,.0f}" if ms >= 100 else f"{ms:.3g}"


def bold(text: str, when: bool) -> Markdown:
    """Markdown, in bold where it should be."""
    return Markdown(f"**{text}**" if when else text)


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], *, texts: int = 1) -> Markdown:
    """A table; an empty cell for None. ``texts``: number of columns, the first ones, that are aligned to the left."""
    rules = ["---" if place < texts else "---:" for place in range(len(heads))]
    lines = [list(map(_cell, heads)), rules, *(list(map(_cell, row)) for row in rows)]
    return Markdown("\n".join(f"| {' | '.join(line)} |" for line in lines))


def _cell(value: object) -> str:
    return value if isinstance(value, Markdown) else escape_markdown("" if value is None else str(value))


def render(template: str, **values: Any) -> str:
    """Return a template of this folder, filled in; no text can open markup."""
    text = _templates().get_template(template).render(values)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("eval.report", ""),
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    filters = {each.__name__: each for each in (counted, difference, percent, share_of)}
    environment.filters |= {**filters, "md": Markdown, "as": lambda value, form: Markdown(format(value, form))}
    return environment


def _shown(value: object) -> str:
    """What a template shows of a value that is no Markdown: escaped, a number with commas."""
    if isinstance(value, Markdown):
        return value
    return f"{value:,}" if isinstance(value, int) else escape_line(str(value))


# No text of a catalogue can open any of these: the Markdown escapes it, and here they do not exist.
_OFF = ("autolink", "backticks", "code", "entity", "fence", "html_block", "html_inline", "image", "link", "reference")


def markdown_to_html(text: str, *, title: str) -> str:
    """Return a page with a Markdown text."""
    parser = MarkdownIt("commonmark", {"html": False, "xhtmlOut": False}).enable("table").disable(_OFF)
    parser.add_render_rule("table_open", lambda *_: '<div class="scroll"><table>\n')
    parser.add_render_rule("table_close", lambda *_: "</table></div>\n")
    page = Environment(loader=PackageLoader("eval.report", ""), autoescape=True).get_template("page.html")
    return page.render(title=title, body=parser.render(text))
