"""A small graph with whatever makes reading hard, as tables, and as nodes and relationships of a Neo4j."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planners.stores.ladybug import NodeTable, RelationshipTable
from planners.stores.statements import quoted_name

ODD = "O`dd: t\\ype"
NODES = (
    NodeTable(
        type="Person",
        columns=(
            ("key", "string"),
            ("name", "string"),
            ("age", "integer"),
            ("weight", "number"),
            ("ok", "boolean"),
            ("born", "date"),
        ),
        key="key",
        rows=[
            ("a", "Ann", 30, 1.5, True, "1990-01-02"),
            ("b", 'say "hi",\nÉmile 😀', 40, 2.0, None, None),
            ("c:1", None, None, None, False, "2001-12-31"),
            ("d", "", 7, -0.25, None, "1990-01-02"),
            ("e", "x" * 100, 7, 1e300, True, None),
        ],
    ),
    NodeTable(
        type="City",
        columns=(("id", "integer"), ("name", "string")),
        key="id",
        rows=[(1, "Rome"), (2, "Bonn")],
    ),
    NodeTable(type=ODD, columns=(("k e`y", "string"), ("name", "integer")), key="k e`y", rows=[("x", 1), ("y", 2)]),
)
RELATIONSHIPS = (
    RelationshipTable(
        type="KNOWS",
        source_type="Person",
        target_type="Person",
        columns=(("since", "integer"),),
        rows=[("a", "b", 1), ("a", "b", 2), ("b", "c:1", None), ("c:1", "a", 3), ("d", "d", 3)],
    ),
    RelationshipTable(type="LIVES", source_type="Person", target_type="City", rows=[("a", 1), ("b", 1), ("c:1", 2)]),
    RelationshipTable(type="LIVES", source_type="City", target_type="City", rows=[(1, 2)]),
    RelationshipTable(type="i`n", source_type=ODD, target_type="City", rows=[("x", 1)]),
)


def _name(name: str) -> str:
    return quoted_name(name, "bolt")


def neo4j_statements() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the statements that make the graph."""
    for node in NODES:
        names = [name for name, _ in node.columns]
        dates = [name for name, type_ in node.columns if type_ == "date"]
        set_dates = "".join(f" SET n.{_name(name)} = date(row.{_name(name)})" for name in dates)
        rows = [dict(zip(names, row, strict=True)) for row in node.rows]
        yield f"UNWIND $rows AS row CREATE (n:{_name(node.type)}) SET n = row{set_dates}", {"rows": rows}
    keys = {node.type: node.key for node in NODES}
    for each in RELATIONSHIPS:
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
    yield "CREATE CONSTRAINT person_key IF NOT EXISTS FOR (n:Person) REQUIRE n.key IS UNIQUE", {}
