"""Graphs of tests, from files of their tables; one with whatever makes reading hard, as tables and as statements for a Neo4j."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from planners.stores.ladybug import NodeTable, RelationshipTable
from planners.stores.statements import quoted_name


def read_tables(path: Path) -> tuple[list[NodeTable], list[RelationshipTable]]:
    """Read the tables of a graph: types, whose first column is their key; and relationships, whose rows begin with their ends."""
    given: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    nodes = [
        NodeTable(type=type_, columns=tuple(of["columns"].items()), key=next(iter(of["columns"])), rows=of["rows"])
        for type_, of in given["nodes"].items()
    ]
    relationships = [
        RelationshipTable(
            type=each["type"],
            source_type=each["ends"][0],
            target_type=each["ends"][1],
            columns=tuple(each.get("columns", {}).items()),
            rows=each["rows"],
        )
        for each in given["relationships"]
    ]
    return nodes, relationships


NODES, RELATIONSHIPS = read_tables(Path(__file__).with_name("hard_to_read.yaml"))
ODD = NODES[-1].type


def _name(name: str) -> str:
    return quoted_name(name, "bolt")


def neo4j_statements(
    nodes: Sequence[NodeTable], relationships: Sequence[RelationshipTable]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the statements that make a graph."""
    for node in nodes:
        names = [name for name, _ in node.columns]
        dates = [name for name, type_ in node.columns if type_ == "date"]
        set_dates = "".join(f" SET n.{_name(name)} = date(row.{_name(name)})" for name in dates)
        rows = [dict(zip(names, row, strict=True)) for row in node.rows]
        yield f"UNWIND $rows AS row CREATE (n:{_name(node.type)}) SET n = row{set_dates}", {"rows": rows}
    keys = {node.type: node.key for node in nodes}
    for each in relationships:
        names = [name for name, _ in each.columns]
        rows = [{"ends": row[:2], "values": dict(zip(names, row[2:], strict=True))} for row in each.rows]
        ends = [
            f"MATCH ({at}:{_name(type_)}) WHERE {at}.{_name(keys[type_])} = row.ends[{place}]"
            for place, (at, type_) in enumerate((("a", each.source_type), ("b", each.target_type)))
        ]
        yield (
            f"UNWIND $rows AS row {' '.join(ends)} CREATE (a)-[r:{_name(each.type)}]->(b) SET r = row.values",
            {"rows": rows},
        )
