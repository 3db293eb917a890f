"""A small graph of captains and ships in a Ladybug file, whose catalog is drafted by rules as it is of a graph nobody has seen."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from planners.graphseek.catalog.catalog import SemanticCatalog
from planners.graphseek.catalog.draft import draft_by_rules
from planners.stores.loading.graph_loading import load_graph
from planners.stores.loading.loaded_tables import ColumnType, NodeTable, RelationshipTable
from planners.stores.open_readable import open_readable

__all__ = ["CAPTAIN", "COMPANY", "HARBOUR", "NODES", "RELATIONSHIPS", "SHIP", "drafted_catalog", "write_harbours"]

_Row = tuple[object, ...]
_Columns = tuple[tuple[str, ColumnType], ...]

CAPTAIN: _Columns = (
    ("key", "string"),
    ("name", "string"),
    ("age", "integer"),
    ("wage", "number"),
    ("licensed", "date"),
    ("grade", "string"),
)
SHIP: _Columns = (
    ("key", "string"),
    ("name", "string"),
    ("tonnage", "number"),
    ("launched", "date"),
    ("state", "string"),
)
HARBOUR: _Columns = (("key", "string"), ("name", "string"), ("depth", "integer"), ("country", "string"))
COMPANY: _Columns = (("key", "string"), ("name", "string"), ("staff", "integer"))
_DAYS: _Columns = (("days", "integer"),)

NODES: dict[str, tuple[_Columns, list[_Row]]] = {
    "Captain": (
        CAPTAIN,
        [
            ("c1", "Mia Holm", 44, 6400.0, "2009-04-02", "first"),
            ("c2", "Jon Reed", 31, 4300.0, "2021-03-14", "third"),
            ("c3", "Ida Voss", 57, 7200.0, "1999-10-30", "first"),
            ("c4", "Leo Kamp", 27, 3800.0, "2022-08-19", "third"),
            ("c5", "Nina Falk", 38, None, "2014-06-11", "second"),
            ("c6", "Tom Berg", 62, 5900.0, "2021-11-05", "second"),
            ("c7", "Ada Winter", 49, 5100.0, "2006-01-23", "first"),
        ],
    ),
    "Ship": (
        SHIP,
        [
            ("s1", "Kestrel", 900.0, "2012-05-01", "sailing"),
            ("s2", "Heron", 2600.0, "2021-02-17", "docked"),
            ("s3", "Osprey", 450.0, "2022-09-09", "sailing"),
            ("s4", "Plover", 700.0, "2019-12-01", "sold"),
            ("s5", "Curlew", None, "2023-03-21", "sailing"),
        ],
    ),
    "Harbour": (
        HARBOUR,
        [
            ("h1", "Varna", 12, "Bulgaria"),
            ("h2", "Gdynia", 16, "Poland"),
            ("h3", "Burgas", 9, "Bulgaria"),
            ("h4", "Gdansk", 17, "Poland"),
        ],
    ),
    "Company": (
        COMPANY,
        [("f1", "Norline", 300), ("f2", "Seaways", 120), ("f3", "Bluefleet", 45), ("f4", "Ostmar", 80)],
    ),
}
RELATIONSHIPS: dict[str, tuple[str, str, _Columns, list[_Row]]] = {
    "STEERS": (
        "Captain",
        "Ship",
        _DAYS,
        [
            ("c1", "s1", 90),
            ("c1", "s2", 40),
            ("c2", "s1", 70),
            ("c3", "s2", 150),
            ("c3", "s3", 25),
            ("c4", "s4", 12),
            ("c6", "s1", 55),
            ("c6", "s2", 35),
        ],
    ),
    "INSPECTS": ("Captain", "Ship", (), [("c1", "s1"), ("c3", "s2"), ("c3", "s3"), ("c5", "s4")]),
    "TRAINS": (
        "Captain",
        "Captain",
        (),
        [("c3", "c1"), ("c3", "c6"), ("c1", "c2"), ("c7", "c3"), ("c7", "c5"), ("c5", "c4")],
    ),
    "EMPLOYED_BY": (
        "Captain",
        "Company",
        (),
        [("c1", "f1"), ("c2", "f1"), ("c3", "f3"), ("c4", "f2"), ("c5", "f2"), ("c6", "f1"), ("c7", "f3")],
    ),
    "LIVES_IN": (
        "Captain",
        "Harbour",
        (),
        [("c1", "h1"), ("c2", "h1"), ("c3", "h2"), ("c4", "h4"), ("c5", "h3"), ("c6", "h3"), ("c7", "h2")],
    ),
    "REGISTERED_IN": ("Company", "Harbour", (), [("f1", "h1"), ("f2", "h4"), ("f3", "h2"), ("f4", "h1")]),
}


def write_harbours(path: Path) -> None:
    """Write the graph into a new file."""
    nodes = [NodeTable(type=name, columns=columns, key="key", rows=rows) for name, (columns, rows) in NODES.items()]
    relationships = [
        RelationshipTable(type=name, source_type=source, target_type=target, columns=columns, rows=rows)
        for name, (source, target, columns, rows) in RELATIONSHIPS.items()
    ]
    load_graph(path, nodes, relationships)


def drafted_catalog(path: Path, folder: Path) -> SemanticCatalog:
    """Return the draft of the file, accepted as it is."""

    async def drafted() -> SemanticCatalog:
        async with open_readable(f"ladybug:{path}", folder) as graph:
            return replace(draft_by_rules(await graph.census()), accepted=True)

    return asyncio.run(drafted())
