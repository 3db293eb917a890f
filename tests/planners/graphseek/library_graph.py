"""A small graph of libraries in a Ladybug file, with its catalog: of another domain than the graphs that the rules were made on."""

from __future__ import annotations

from pathlib import Path

from planners.graphseek.catalog import read_catalog
from planners.stores.ladybug import ColumnType, NodeTable, RelationshipTable, load_graph

BOOKS: list[tuple[object, ...]] = [
    # key, title, pages, price, fee, genre, published, rare, quotes
    ("B-1", "The Long Winter", 320, 30.5, 1.0, "novel", "2019-03-01", True, 9),
    ("B-2", "Rivers", 120, 12.0, 2.5, "poems", "2021-05-09", False, 0),
    ("B-3", "Stone and Sand", 410, 45.25, 0.5, "novel", "2021-11-30", False, 4),
    ("B-4", "BK-77", 80, 8.0, 0.25, "poems", "2018-01-01", False, 7),
    ("B-5", "Short Days", 200, 22.0, 2.5, "novel", "2020-07-07", True, 3),
]
_WROTE = [("B-1", "W-1"), ("B-2", "W-1"), ("B-3", "W-2"), ("B-4", "W-3"), ("B-5", "W-1")]
_CITES = [("B-1", "B-2"), ("B-3", "B-1"), ("B-3", "B-2"), ("B-5", "B-1")]
_STANDS = [("B-1", "R-1"), ("B-2", "R-1"), ("B-3", "R-2"), ("B-4", "R-3")]
_LOANS = [
    ("B-1", "P-1", "Planned", 2023, 1, 3.0),
    ("B-1", "P-2", "Done", 2022, 4, 7.0),
    ("B-2", "P-1", "Done", 2023, 2, 1.0),
    ("B-3", "P-1", "Done", 2022, 11, 9.5),
]


_BOOK: tuple[tuple[str, ColumnType], ...] = (
    ("key", "string"),
    ("title", "string"),
    ("pages", "integer"),
    ("price", "number"),
    ("fee", "number"),
    ("genre", "string"),
    ("published", "date"),
    ("rare", "boolean"),
    ("quotes", "integer"),
)
_LOAN: tuple[tuple[str, ColumnType], ...] = (
    ("kind", "string"),
    ("year", "integer"),
    ("month", "integer"),
    ("charge", "number"),
)


def write_library(path: Path) -> None:
    """Write the graph into a new file."""
    nodes = [
        NodeTable(type="Book", columns=_BOOK, key="key", rows=BOOKS),
        NodeTable(
            type="Writer",
            columns=(("key", "string"), ("name", "string"), ("country", "string")),
            key="key",
            rows=[("W-1", "Ada Stern", "Norland"), ("W-2", "Bo Lind", "Rivera"), ("W-3", "Cleo Park", "Norland")],
        ),
        _named("Room", ("R-1", "Blue Room"), ("R-2", "Attic"), ("R-3", "Springfield")),
        _named("Library", ("L-1", "Old Library"), ("L-2", "Springfield"), ("L-3", "New Library")),
        _named("Reader", ("P-1", "Dora Ek"), ("P-2", "Emil Fuchs")),
    ]
    relationships = [
        _between("WRITTEN_BY", "Book", "Writer", _WROTE),
        _between("CITES", "Book", "Book", _CITES),
        _between("STANDS_IN", "Book", "Room", _STANDS),
        _between("STANDS_IN", "Room", "Library", [("R-1", "L-1"), ("R-2", "L-1"), ("R-3", "L-2")]),
        RelationshipTable(type="LENT_TO", source_type="Book", target_type="Reader", columns=_LOAN, rows=_LOANS),
    ]
    load_graph(path, nodes, relationships)


def _named(type_: str, *rows: tuple[object, ...]) -> NodeTable:
    return NodeTable(type=type_, columns=(("key", "string"), ("name", "string")), key="key", rows=rows)


def _between(type_: str, source: str, target: str, rows: list[tuple[str, str]]) -> RelationshipTable:
    return RelationshipTable(type=type_, source_type=source, target_type=target, columns=(), rows=rows)


CATALOG = read_catalog(Path(__file__).parent / "library.yaml")
