"""What a model sees of a result: a summary of at most 600 tokens, whatever the size (section 4.2 and appendix A.4 of the paper)."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from planners.calls.model_text import PromptTokens
from planners.graphseek.results.result import Cell, GraphPart, ResultColumn, ResultEdge, ResultNode

CUT = "…"
"""Stands behind what was cut."""
HEAD, TAIL = 25, 5
"""First and last rows that a summary may show."""
MOST_DISTINCT = 1_000
_MOST_TOKENS = 600
_LIKELY = 4  # characters of a token: a longer text is not counted at all
_TOKENS = PromptTokens()
_TITLE = 4  # a title may have as many characters as this number of cells
_SAMPLE_HEAD, _SAMPLE_TAIL = 8, 3
"""Rows of a table that does not stand whole: few, so that prompts are about as long for a graph a tenth as large."""
# From all to little; the first that fits is taken. Rows go before columns: a column that is not named cannot be asked for.
# Of a table: columns, rows of the head and of the tail, characters of a cell, notes.
_TABLE_DETAILS = (
    (40, 25, 5, 80, 6),
    (40, 12, 4, 60, 5),
    (40, 6, 3, 40, 4),
    (24, 4, 2, 32, 3),
    (14, 3, 2, 24, 3),
    (8, 3, 1, 20, 2),
    (5, 2, 1, 16, 2),
    (3, 1, 1, 12, 1),
    (1, 1, 0, 8, 0),
)
# Of a graph: nodes, properties of a node, characters of a text, types, notes.
_GRAPH_DETAILS = (
    (8, 4, 60, 20, 4),
    (5, 4, 40, 12, 3),
    (5, 2, 24, 8, 3),
    (3, 1, 16, 5, 2),
    (2, 1, 8, 3, 1),
    (0, 0, 8, 1, 0),
)


@dataclass(frozen=True, slots=True)
class ColumnStats:
    """Of the values of a column; ``distinct`` is None above :data:`MOST_DISTINCT`."""

    column: ResultColumn
    count: int
    distinct: int | None
    least: Cell
    greatest: Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class TableStats:
    """Of a table; ``head`` and ``tail`` are its first and last rows, and may overlap."""

    rows: int
    columns: Sequence[ColumnStats]
    head: Sequence[Sequence[Cell]]
    tail: Sequence[Sequence[Cell]]


def table_summary(handle: str, title: str, table: TableStats, *, cut: bool, notes: Sequence[str]) -> str:
    """Return the summary of a table: title, size, columns with counts and ranges, first and last rows."""
    text = ""
    for columns, head, tail, cell, most_notes in _TABLE_DETAILS:
        lines = [f"{handle}: {shown_text(title, _TITLE * cell)}"]
        lines += [f"rows: {table.rows}" + (" (cut: there were more)" if cut else ""), "columns:"]
        lines += [_column_line(each, cell) for each in table.columns[:columns]]
        if more := table.columns[columns:]:
            names = ", ".join(shown_text(each.column.name, cell) for each in more[: columns // 2])
            lines.append(f"and {len(more)} more columns" + (f": {names}, …" if names else ""))
        lines += _row_lines(table, columns, head, tail, cell)
        lines += [f"note: {shown_text(note, _TITLE * cell)}" for note in notes[:most_notes]]
        text = "\n".join(lines)
        if fits(text):
            break
    return text


def _column_line(each: ColumnStats, most: int) -> str:
    column = each.column
    kind = f"node of {shown_text(column.node_type, most)}" if column.node_type else column.type
    distinct = f"more than {MOST_DISTINCT}" if each.distinct is None else str(each.distinct)
    line = f"- {shown_text(column.name, most)}: {kind}, {each.count} values, {distinct} distinct"
    if column.type == "node" or not each.count:
        return line
    return f"{line}, {shown_cell(each.least, most)} to {shown_cell(each.greatest, most)}"


def _row_lines(table: TableStats, columns: int, head: int, tail: int, cell: int) -> Iterator[str]:
    """Show first and last rows, without the ids of nodes where there is something else to show."""
    shown = range(min(len(table.columns), columns))
    places = [at for at in shown if table.columns[at].column.type != "node"] or list(shown)
    if not table.rows or not places:
        return
    kept = len(table.head)
    whole = table.rows <= min(head + tail, kept)
    first = kept if whole else min(head, _SAMPLE_HEAD, kept)
    last = 0 if whole else min(tail, _SAMPLE_TAIL, table.rows - first, len(table.tail))
    yield f"rows 1 to {first} ({' | '.join(shown_text(table.columns[at].column.name, cell) for at in places)}):"
    yield from (shown_row(row, places, cell) for row in table.head[:first])
    if last:
        yield f"rows {table.rows - last + 1} to {table.rows}:"
        yield from (shown_row(row, places, cell) for row in table.tail[-last:])


def graph_summary(handle: str, title: str, part: GraphPart, *, cut: bool, notes: Sequence[str]) -> str:
    """Return the summary of a graph: counts by type and a small preview, as JSON."""
    text = ""
    for most, properties, chars, types, most_notes in _GRAPH_DETAILS:
        nodes, edges = _chosen(part, most)
        ids = {node.id: f"n{at}" for at, node in enumerate(nodes, 1)}
        stats = {
            "nodes": len(part.nodes),
            "relationships": len(part.edges),
            "node_types": _counts((each.type for each in part.nodes), types, chars),
            "relationship_types": _counts((each.type for each in part.edges), types, chars),
        }
        preview = {
            "nodes": [
                {"id": ids[each.id], "type": shown_text(each.type, chars), **_some(each, properties, chars)}
                for each in nodes
            ],
            "relationships": [
                {"type": shown_text(each.type, chars), "source": ids[each.source], "target": ids[each.target]}
                for each in edges
            ],
        }
        said = ["There was more: the graph is cut."] if cut else []
        fields = {
            "summary": shown_text(title, _TITLE * chars),
            "graph_handle": handle,
            "preview_graph_stats": stats,
            "preview_graph": preview,
            "notes": said + [shown_text(note, _TITLE * chars) for note in notes[:most_notes]],
        }
        text = _on_one_line(json.dumps(fields, ensure_ascii=False))
        if fits(text):
            break
    return text


def _counts(types: Iterable[str], most: int, chars: int) -> dict[str, int]:
    """Return the most frequent types with their counts; the others are counted together."""
    ranked = sorted(Counter(types).items(), key=lambda pair: (-pair[1], pair[0]))
    counts = {shown_text(name, chars): count for name, count in ranked[:most]}
    if rest := ranked[most:]:
        counts[f"{len(rest)} more types"] = sum(count for _, count in rest)
    return counts


def _chosen(part: GraphPart, most: int) -> tuple[list[ResultNode], list[ResultEdge]]:
    """Return nodes and as many relationships among them: first one of each kind of relationship, then in order."""
    known = {node.id: node for node in part.nodes}
    joined = [edge for edge in part.edges if edge.source in known and edge.target in known]
    first: dict[tuple[str, str, str], ResultEdge] = {}
    for edge in joined:
        first.setdefault((edge.type, known[edge.source].type, known[edge.target].type), edge)
    chosen: dict[str, None] = {}
    for edge in [*first.values(), *joined]:
        if len(chosen) == most:
            break
        ends = dict.fromkeys((edge.source, edge.target))
        if len(chosen | ends) <= most:
            chosen |= ends
    chosen |= dict.fromkeys([node.id for node in part.nodes if node.id not in chosen][: most - len(chosen)])
    inside = [edge for edge in joined if edge.source in chosen and edge.target in chosen]
    return [known[each] for each in chosen], inside[:most]


def _some(node: ResultNode, most: int, chars: int) -> dict[str, Any]:
    """Return a few properties, names first."""
    ranked = sorted(node.properties, key=lambda name: not name.casefold().endswith(("name", "title", "label")))
    found: dict[str, Any] = {}
    for name in ranked[:most]:
        value: Any = node.properties[name]
        if not isinstance(value, bool | int | float):
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
            value = text if len(text) <= chars else text[:chars] + CUT
        found[shown_text(f"{name}_" if name in ("id", "type") else name, chars)] = value
    return found


def fits(text: str) -> bool:
    """Whether a text is a summary that a model may see."""
    return len(text) <= _MOST_TOKENS * _LIKELY and _TOKENS.count(text) <= _MOST_TOKENS


def shown_row(row: Sequence[Cell], places: Sequence[int], most: int) -> str:
    """Return some cells of a row on one line, texts cut behind ``most`` characters."""
    return " | ".join(shown_cell(row[at], most) for at in places)


def shown_text(text: str, most: int) -> str:
    """Return a title or a name: at most ``most`` characters of it, on one line."""
    line = " ".join(text[: most * 2 + 1].split())
    return _on_one_line(line if len(line) <= most and len(text) <= most * 2 else line[:most] + CUT)


def shown_cell(cell: Cell, most: int) -> str:
    """Return a cell: a JSON string of at most ``most`` characters; numbers are never cut, so they can be read back."""
    if not isinstance(cell, str):
        return repr(cell) if type(cell) is float and math.isfinite(cell) else json.dumps(cell)
    text = _on_one_line(json.dumps(cell[:most], ensure_ascii=False))
    return text if len(cell) <= most else text + CUT


def _on_one_line(text: str) -> str:
    """Return a text with an escape in place of each character that is not printed: control, format, surrogate."""
    if text.isprintable():
        return text
    escaped = (
        each if each.isprintable() else json.dumps(each)[1:-1] if each <= "\uffff" else "\ufffd" for each in text
    )
    return "".join(escaped)
