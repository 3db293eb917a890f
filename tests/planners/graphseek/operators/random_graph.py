"""Random graphs with cycles, parallel edges, nulls, odd names and values; as tables, and written to Neo4j."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from planners.stores.ladybug import ColumnType, NodeTable, RelationshipTable
from tests.planners.stores.reading_tables import neo4j_statements

TYPES: Final = ("Person", "Bau-Teil é", "alpha'x", "Gamma")
COLUMNS: Final[dict[str, ColumnType]] = {
    "key": "string",
    "name": "string",
    "score": "integer",
    "price": "number",
    "odd key": "string",
    "flag": "boolean",
    "born": "date",
    "n0": "integer",
}
EDGE_COLUMNS: Final[dict[str, ColumnType]] = {"weight": "number", "year": "integer", "plan": "string"}
ENDS: Final = {
    "KNOWS": (("Person", "Person"), ("Person", "Bau-Teil é")),
    "MADE-OF": (("Bau-Teil é", "Gamma"), ("Gamma", "alpha'x"), ("alpha'x", "alpha'x"), ("Person", "Gamma")),
}
TEXTS: Final = (
    "Ann",
    "ann",
    "Annette",
    "O'Neill",
    "'; MATCH (n) DETACH DELETE n; //",
    'two "quotes"',
    "Ünïcode 日本",
    "$p0",
    "\\",
    "x" * 60,
)


@dataclass(frozen=True)
class Edge:
    """An edge; ends are keys of nodes."""

    type: str
    source: str
    target: str
    properties: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RandomGraph:
    """Nodes by key, which is unique among all."""

    types: Mapping[str, str]
    properties: Mapping[str, Mapping[str, Any]]
    edges: tuple[Edge, ...]


def random_graph(draw: random.Random) -> RandomGraph:
    """Make a graph; each type has a node with all properties, and each pair of types an edge."""
    types = {f"{name[:1]}{at}": name for name in TYPES for at in range(draw.randint(1, 5))}
    properties = {key: _properties(draw, key, key.endswith("0")) for key in types}
    by_type: dict[str, list[str]] = {}
    for key, name in types.items():
        by_type.setdefault(name, []).append(key)
    edges = []
    for name, pairs in ENDS.items():
        for source, target in pairs:
            for _ in range(draw.randint(1, 7)):
                ends = draw.choice(by_type[source]), draw.choice(by_type[target])
                edges += [Edge(name, *ends, _edge_properties(draw)) for _ in range(draw.choice((1, 1, 1, 2)))]
    return RandomGraph(types, properties, tuple(edges))


def _properties(draw: random.Random, key: str, is_whole: bool) -> dict[str, Any]:
    values = {
        "name": draw.choice(TEXTS),
        "score": draw.randint(-2, 3),
        "price": draw.randint(-8, 8) / 4,
        "odd key": draw.choice(("red", "Red", "green")),
        "flag": draw.random() < 0.5,
        "born": f"20{draw.randint(20, 23)}-{draw.randint(1, 12):02d}-15",
        "n0": draw.randint(1, 12),
    }
    return {"key": key} | {name: value for name, value in values.items() if is_whole or draw.random() < 0.8}


def _edge_properties(draw: random.Random) -> dict[str, Any]:
    values = {
        "weight": draw.randint(0, 8) / 4,
        "year": draw.choice((2022, 2023)),
        "plan": draw.choice(("Plan", "Actuals")),
    }
    return {name: value for name, value in values.items() if draw.random() < 0.8}


def graph_tables(graph: RandomGraph) -> tuple[list[NodeTable], list[RelationshipTable]]:
    """Return a graph as tables."""
    nodes = [
        NodeTable(
            type=name,
            columns=tuple(COLUMNS.items()),
            key="key",
            rows=[[graph.properties[key].get(at) for at in COLUMNS] for key, of in graph.types.items() if of == name],
        )
        for name in TYPES
    ]
    rows = defaultdict[tuple[str, str, str], list[list[Any]]](list)
    for edge in graph.edges:
        values = (edge.properties.get(at) for at in EDGE_COLUMNS)
        rows[edge.type, graph.types[edge.source], graph.types[edge.target]].append([edge.source, edge.target, *values])
    columns = tuple(EDGE_COLUMNS.items())
    relationships = [
        RelationshipTable(type=name, source_type=one, target_type=two, columns=columns, rows=rows[name, one, two])
        for name, pairs in ENDS.items()
        for one, two in pairs
    ]
    return nodes, relationships


def write_neo4j(graph: RandomGraph | None, address: str) -> None:
    """Write a graph to a database, instead of what is there."""
    import neo4j

    with neo4j.GraphDatabase.driver(address) as driver, driver.session() as session:
        session.run("MATCH (n) DETACH DELETE n").consume()
        for statement, values in neo4j_statements(*graph_tables(graph)) if graph else ():
            session.run(statement, values).consume()
