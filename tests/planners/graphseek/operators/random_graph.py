"""Random graphs with cycles, parallel edges, nulls, odd names and values; written to Ladybug and to Neo4j."""

from __future__ import annotations

import datetime
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import ladybug

TYPES: Final = ("Person", "Bau-Teil é", "alpha'x", "Gamma")
COLUMNS: Final = {
    "key": "STRING",
    "name": "STRING",
    "score": "INT64",
    "price": "DOUBLE",
    "odd key": "STRING",
    "flag": "BOOL",
    "born": "DATE",
    "n0": "INT64",
}
EDGE_COLUMNS: Final = {"weight": "DOUBLE", "year": "INT64", "plan": "STRING"}
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


def write_ladybug(graph: RandomGraph, path: Path) -> None:
    """Write a graph to a new file."""
    database = ladybug.Database(str(path), buffer_pool_size=1 << 26, max_db_size=1 << 30, max_num_threads=1)
    connection = ladybug.Connection(database)
    columns = ", ".join(f"`{name}` {type_}" for name, type_ in COLUMNS.items())
    for name in TYPES:
        connection.execute(f"CREATE NODE TABLE `{name}`({columns}, PRIMARY KEY (`key`))")
    edge_columns = ", ".join(f"`{name}` {type_}" for name, type_ in EDGE_COLUMNS.items())
    for name, pairs in ENDS.items():
        ends = ", ".join(f"FROM `{source}` TO `{target}`" for source, target in pairs)
        connection.execute(f"CREATE REL TABLE `{name}`({ends}, {edge_columns})")
    for statement, values in _statements(graph):
        connection.execute(statement, values)
    connection.close()
    database.close()


def write_neo4j(graph: RandomGraph, address: str) -> None:
    """Write a graph to a database, instead of what is there."""
    import neo4j

    with neo4j.GraphDatabase.driver(address) as driver, driver.session() as session:
        session.run("MATCH (n) DETACH DELETE n").consume()
        for statement, values in _statements(graph):
            session.run(statement, values).consume()


def _statements(graph: RandomGraph) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for key, properties in graph.properties.items():
        found.append((f"CREATE (:`{graph.types[key]}` {{{_listed(properties)}}})", _named(properties)))
    for edge in graph.edges:
        ends = f"(a:`{graph.types[edge.source]}` {{key: $a}}), (b:`{graph.types[edge.target]}` {{key: $b}})"
        made = f"CREATE (a)-[:`{edge.type}` {{{_listed(edge.properties)}}}]->(b)"
        found.append((f"MATCH {ends} {made}", {"a": edge.source, "b": edge.target} | _named(edge.properties)))
    return found


def _listed(properties: Mapping[str, Any]) -> str:
    return ", ".join(f"`{name}`: $x{at}" for at, name in enumerate(properties))


def _named(properties: Mapping[str, Any]) -> dict[str, Any]:
    dated = [datetime.date.fromisoformat(v) if name == "born" else v for name, v in properties.items()]
    return {f"x{at}": value for at, value in enumerate(dated)}
