"""Tables and numbers of a report, as Markdown and HTML. Texts are escaped where they are rendered, never before."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from ontology.reporting import escape_line, escape_markdown, escape_title

__all__ = [
    "NOTHING",
    "Cell",
    "Column",
    "Markdown",
    "Table",
    "bytes_of",
    "counted",
    "make_table",
    "markdown_to_html",
    "milliseconds",
    "number_columns",
    "p_value",
    "percent",
    "points",
    "rank_of",
    "render",
    "table_to_markdown",
    "text_columns",
]

_MIN_P = 0.001
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def percent(share: float) -> str:
    """A share in [0, 1] in percent, one decimal."""
    return f"{100 * share:.1f}"


def points(difference: float) -> str:
    """A difference of shares in percentage points, signed, one decimal."""
    text = f"{100 * difference:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text


def p_value(p: float) -> str:
    """A p-value, three decimals."""
    return f"< {_MIN_P}" if p < _MIN_P else f"{p:.3f}"


def counted(count: int, noun: str) -> str:
    """A number of things: ``1 request``, ``2 requests``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def milliseconds(ms: float) -> str:
    """Milliseconds: three significant digits below 1,000, whole ones above."""
    return f"{ms:,.0f}" if ms >= 100 else f"{ms:.3g}"


def bytes_of(count: float) -> str:
    """A number of bytes in the unit that leaves fewest digits."""
    unit = 0
    while count >= 1024 and unit < len(_UNITS) - 1:
        count, unit = count / 1024, unit + 1
    return f"{count:.0f} {_UNITS[unit]}" if unit == 0 else f"{count:.1f} {_UNITS[unit]}"


def rank_of(rank: int | None) -> str:
    """A rank; a dash for none."""
    return "–" if rank is None else str(rank)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table.

    :param group: adjacent columns with the same group have one common heading; empty for a single column.
    :param number: whether its cells are aligned to the right.
    """

    name: str
    group: str = ""
    number: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell.

    :param best: shown in bold.
    :param detail: shown after the text: an interval.
    """

    text: str
    best: bool = False
    detail: str = ""


NOTHING = Cell(text="–")  # not measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table; every row has a cell for every column.

    :param caption: what it shows and of which snapshot, systems and configurations.
    :param averages: numbers of the rows, from 0, that are averages of others.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    averages: frozenset[int] = frozenset()


def text_columns(*names: str) -> tuple[Column, ...]:
    """Columns of text with these names."""
    return tuple(Column(name=name, number=False) for name in names)


def number_columns(*names: str, group: str = "") -> tuple[Column, ...]:
    """Columns of numbers with these names."""
    return tuple(Column(name=name, group=group) for name in names)


def make_table(
    columns: Iterable[Column],
    rows: Iterable[Iterable[str | Cell]],
    *,
    caption: str = "",
    averages: Iterable[int] = (),
) -> Table:
    """A table from rows of texts and cells."""
    cells = (tuple(Cell(text=value) if isinstance(value, str) else value for value in row) for row in rows)
    return Table(caption=caption, columns=tuple(columns), rows=tuple(cells), averages=frozenset(averages))


_JOINED = " / "  # between the values of columns with a common heading


def table_to_markdown(table: Table) -> str:
    """A table with its caption below; columns with a common heading are one column, their values joined by slashes."""
    numbered = list(enumerate(table.columns))
    spans = [[place for place, _ in run] for _, run in groupby(numbered, key=lambda item: item[1].group or item[0])]
    names = [_heading([table.columns[place] for place in span]) for span in spans]
    rules = ["---:" if table.columns[span[0]].number else "---" for span in spans]
    lines = [_line(names), _line(rules)]
    for number, row in enumerate(table.rows):
        cells = [_JOINED.join(_cell(row[place]) for place in span) for span in spans]
        if number in table.averages:
            cells[0] = f"*{cells[0]}*"
        lines.append(_line(cells))
    caption = f"\n\n{escape_line(table.caption)}" if table.caption else ""
    return "\n".join(lines) + caption


def _heading(columns: Sequence[Column]) -> str:
    names = _JOINED.join(escape_markdown(column.name) for column in columns)
    return f"{escape_markdown(columns[0].group)} {names}" if columns[0].group else names


def _cell(cell: Cell) -> str:
    text = escape_markdown(cell.text)
    if cell.best:
        text = f"**{text}**"
    return f"{text} {escape_markdown(cell.detail)}" if cell.detail else text


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


class Markdown(str):
    """Text that is Markdown already: a template shows it as it is, and every other text escaped."""

    __slots__ = ()


def render(template: str, **values: Any) -> str:
    """Return a template of this folder, filled in; a :class:`Table` is rendered, and no text can open markup."""
    text = _templates().get_template(template).render(values)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _shown(value: object) -> str:
    if isinstance(value, Table):
        return table_to_markdown(value)
    return value if isinstance(value, Markdown) else escape_line(str(value))


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
    environment.globals |= {"md": Markdown, "escape_title": escape_title}
    return environment


# No text of a catalogue can open any of these: the Markdown escapes it, and here they do not exist.
_OFF = ("autolink", "backticks", "code", "entity", "fence", "html_block", "html_inline", "link", "reference")


def markdown_to_html(text: str, *, title: str, pictures: Mapping[str, bytes]) -> str:
    """Return a page with a Markdown text, and with its pictures (PNG bytes by name) in it."""
    addresses = {
        name: f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}" for name, png in pictures.items()
    }
    body = _parser().render(text, {"pictures": addresses})
    page = Environment(loader=PackageLoader("eval.report", ""), autoescape=True).get_template("page.html")
    return page.render(title=title, body=body)


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "xhtmlOut": False}).enable("table").disable(_OFF)
    parser.add_render_rule("table_open", lambda *_: '<div class="scroll"><table>\n')
    parser.add_render_rule("table_close", lambda *_: "</table></div>\n")
    parser.add_render_rule("image", _image)
    return parser


def _image(renderer: RendererHTML, tokens: Sequence[Token], place: int, options: Any, env: dict[str, Any]) -> str:
    """A picture of the report; the address of any other is left empty."""
    token = tokens[place]
    token.attrs["src"] = env["pictures"].get(token.attrs["src"], "")
    return renderer.image(tokens, place, options, env)
