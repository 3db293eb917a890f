"""Documents as one self-contained HTML page: no script, no request to anywhere, readable in light, dark and on paper."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterator
from itertools import groupby

from eval.report.document import (
    Block,
    Cell,
    Column,
    Document,
    Listing,
    Paragraph,
    Picture,
    Quotation,
    Section,
    Table,
)

__all__ = ["document_to_html"]

# Nothing may be fetched, whatever a name or a text of the catalogue says.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --soft: #59636e; --line: #d1d9e0;
  --stripe: #f6f8fa; --warn: #fff8c5; --warn-line: #d4a72c; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #0d1117; --soft: #9198a1; --line: #3d444d;
  --stripe: #151b23; --warn: #272115; --warn-line: #9e6a03; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 78rem; padding: 1.5rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1, h2, h3, h4 { line-height: 1.25; margin: 1.8em 0 .6em; overflow-wrap: anywhere; }
h1 { margin-top: 0; } h2 { border-bottom: 1px solid var(--line); padding-bottom: .2em; }
p, li, blockquote { overflow-wrap: anywhere; }
blockquote { margin: .6em 0; padding-left: 1em; border-left: .25em solid var(--line); color: var(--soft); }
figure { margin: 1em 0 1.6em; } figcaption { color: var(--soft); font-size: .85em; margin-top: .4em;
  overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85em; font-variant-numeric: tabular-nums; }
th, td { border: 1px solid var(--line); padding: .25em .55em; text-align: left; vertical-align: top; }
th { background: var(--stripe); } td.n, th.n { text-align: right; } th.g { text-align: center; }
td.w { min-width: 14em; overflow-wrap: anywhere; }
tr.average td { background: var(--stripe); font-style: italic; }
small { color: var(--soft); white-space: nowrap; }
img { max-width: 100%; height: auto; background: #ffffff; border: 1px solid var(--line); }
.warning { background: var(--warn); border: 1px solid var(--warn-line); border-radius: .4em; padding: .6em .9em; }
@media print { body { max-width: none; padding: 0; font-size: 10px; } .scroll { overflow: visible; }
  table { font-size: 8px; } th, td { padding: .1em .3em; } small { white-space: normal; }
  tr, figure img, .warning { break-inside: avoid; } h2, h3, h4 { break-after: avoid; } thead { display: table-header-group; } }
"""
_LONG = 40  # characters beyond which a cell of text may break


def document_to_html(document: Document) -> str:
    """The whole page; pictures lie in it."""
    title = html.escape(document.title)
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(_POLICY)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title>",
        f"<style>{_STYLE}</style>",
        "</head>",
        "<body>",
        f"<h1>{title}</h1>",
    ]
    parts += [f'<p class="warning"><strong>Attention</strong>: {html.escape(one)}</p>' for one in document.warnings]
    for section in document.sections:
        parts += _section(section, 2)
    return "\n".join([*parts, "</body>", "</html>", ""])


def _section(section: Section, level: int) -> Iterator[str]:
    heading = f"h{min(level, 6)}"
    yield f"<{heading}>{html.escape(section.title)}</{heading}>"
    yield from map(_block, section.blocks)
    for inner in section.sections:
        yield from _section(inner, level + 1)


def _block(block: Block) -> str:
    match block:
        case Table():
            return _table(block)
        case Picture():
            data = base64.b64encode(block.png).decode("ascii")
            caption = html.escape(block.caption)
            return (
                f'<figure><img alt="{html.escape(block.title)}" src="data:image/png;base64,{data}">'
                f"<figcaption>{caption}</figcaption></figure>"
            )
        case Listing():
            return f"<ul>{''.join(f'<li>{html.escape(item)}</li>' for item in block.items)}</ul>"
        case Quotation():
            return f"<blockquote>{html.escape(block.text)}</blockquote>"
        case Paragraph():
            return f"<p>{html.escape(block.text)}</p>"


def _table(table: Table) -> str:
    lines = ['<figure><div class="scroll"><table>', "<thead>", *_head(table.columns), "</thead>", "<tbody>"]
    for number, row in enumerate(table.rows):
        cells = "".join(_cell(cell, column) for cell, column in zip(row, table.columns, strict=True))
        start = '<tr class="average">' if number in table.averages else "<tr>"
        lines.append(f"{start}{cells}</tr>")
    lines += ["</tbody>", "</table></div>"]
    if table.caption:
        lines.append(f"<figcaption>{html.escape(table.caption)}</figcaption>")
    return "\n".join([*lines, "</figure>"])


def _head(columns: tuple[Column, ...]) -> Iterator[str]:
    """One row of headings, or two where columns share one."""
    if not any(column.group for column in columns):
        yield f"<tr>{''.join(_heading(column) for column in columns)}</tr>"
        return
    above = []
    for group, run in groupby(enumerate(columns), key=lambda item: item[1].group or item[0]):
        members = [column for _, column in run]
        if isinstance(group, str):
            above.append(f'<th class="g" scope="colgroup" colspan="{len(members)}">{html.escape(group)}</th>')
        else:
            above.append(_heading(members[0], ' rowspan="2"'))
    yield f"<tr>{''.join(above)}</tr>"
    yield f"<tr>{''.join(_heading(column) for column in columns if column.group)}</tr>"


def _heading(column: Column, more: str = "") -> str:
    kind = ' class="n"' if column.number else ""
    return f'<th{kind} scope="col"{more}>{html.escape(column.name)}</th>'


def _cell(cell: Cell, column: Column) -> str:
    text = html.escape(cell.text)
    if cell.best:
        text = f"<strong>{text}</strong>"
    if cell.detail:
        text += f" <small>{html.escape(cell.detail)}</small>"
    kind = "n" if column.number else "w" if len(cell.text) > _LONG else ""
    return f'<td class="{kind}">{text}</td>' if kind else f"<td>{text}</td>"
