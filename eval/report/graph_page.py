"""The section on the tool graph, from what :mod:`eval.graph_quality` measured of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from eval.graph_quality.quality_tables import GraphTable, graph_quality_tables
from eval.report.document import Block, Cell, Column, Paragraph, Section, Table

__all__ = ["graph_section"]

_NUMBER = re.compile(r"[<+\-–]?\s?\d|–")


def graph_section(quality: Mapping[str, Any], *, title: str, snapshot_id: str) -> Section:
    """Everything measured of a snapshot's graph.

    :param quality: of :func:`eval.graph_quality.graph_quality`.
    """
    tables = graph_quality_tables(quality)
    inner = (Section(title=table.title, blocks=(_block(table, snapshot_id),)) for table in tables)
    return Section(title=title, sections=tuple(inner))


def _block(table: GraphTable, snapshot_id: str) -> Block:
    if not table.rows:
        return Paragraph(text=table.note)
    numbers = [all(_NUMBER.match(row[place]) for row in table.rows) for place in range(len(table.header))]
    return Table(
        caption=f"{table.note} Snapshot {snapshot_id}.".strip(),
        columns=tuple(Column(name=name, number=number) for name, number in zip(table.header, numbers, strict=True)),
        rows=tuple(tuple(Cell(text=text) for text in row) for row in table.rows),
    )
