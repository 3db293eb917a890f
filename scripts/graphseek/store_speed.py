"""Speed and memory of what graphs and results are kept in: loading, summaries of large tables, the catalog of a large tool graph."""

from __future__ import annotations

import asyncio
import csv
import itertools
import multiprocessing
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from planners.graphseek.draft import draft_by_rules

from benchmarks.ev_graph.ev_tables import ev_tables
from planners.graphseek.results import Cell, ResultColumn, ResultStore, TableRows
from planners.stores.graph_schema import GraphSchema, NodeType, RelationshipType
from planners.stores.ladybug import (
    ColumnType,
    NodeTable,
    RelationshipTable,
    csv_tables,
    load_graph,
    open_ladybug_reader,
    write_rows,
)
from planners.stores.ladybug_files import COPY_OPTIONS, open_ladybug
from planners.stores.property_graph import QueryLimits
from planners.stores.statements import quoted_name, quoted_text
from scripts.account.ratio import Ratio
from scripts.graphseek.account_graph import typed_pattern
from scripts.graphseek.csv_folder import write_csv_folder
from scripts.graphseek.timed_graph import read_all

__all__ = ["census_ratio", "loading_ratios", "memory_ratio"]

_MIB = 2**20
_TYPES = {"string": "STRING", "integer": "INT64", "number": "DOUBLE", "boolean": "BOOL", "date": "DATE"}
_COLUMNS = ("key", "name", "assemblyTier", "cost", "quantity", "year", "month")
"""Seven properties, as the nodes of the paper's graph have at most."""
_TOOLS = 44_435
"""Of the largest catalogue that this project is measured on; the graph has its number of tools and is synthetic."""


def loading_ratios(folder: Path, scale: float) -> list[Ratio]:
    """Load rows that a program has, and a folder of CSV files, against a bare COPY of the same rows from files that stand ready."""
    source = folder / "csv"
    write_csv_folder(ev_tables(scale), source)
    nodes, relationships = csv_tables(source)
    held_nodes = [replace(each, rows=_rows_of(each)) for each in nodes]
    held = [replace(each, rows=_rows_of(each)) for each in relationships]
    tables: list[NodeTable | RelationshipTable] = [*held_nodes, *held]
    ready = [folder / f"{at}.copy.csv" for at in range(len(tables))]
    for path, table in zip(ready, tables, strict=True):
        write_rows(path, table.rows)
    bare = _least(lambda: _bare_copy(folder / "bare.lbdb", held_nodes, held, ready))
    rows = _least(lambda: load_graph(folder / "loaded.lbdb", held_nodes, held))
    read = _least(lambda: load_graph(folder / "loaded.lbdb", *csv_tables(source)))
    note = f"EV graph, {scale:g} ×; the file is made durable too"
    return [
        Ratio(name="loading rows / bare COPY", above=rows, below=bare, most=1.5, note=note),
        Ratio(
            name="loading a folder of CSV / bare COPY", above=read, below=bare, most=1.5, note=f"{note}, cells checked"
        ),
    ]


def _rows_of(table: NodeTable | RelationshipTable) -> list[list[object]]:
    if table.file is None:
        return [list(row) for row in table.rows]
    with table.file.open(encoding="utf-8", newline="") as file:
        return [[cell or None for cell in row] for row in itertools.islice(csv.reader(file), 1, None)]


def _least(work: Callable[[], object]) -> float:
    """Return the seconds of the faster of two goes."""
    times = []
    for _ in range(2):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def _bare_copy(
    path: Path, nodes: Sequence[NodeTable], relationships: Sequence[RelationshipTable], ready: Sequence[Path]
) -> None:
    path.unlink(missing_ok=True)
    files = iter(ready)
    database, connection = open_ladybug(path)
    try:
        for node in nodes:
            columns = ", ".join(f"{quoted_name(name)} {_TYPES[kind]}" for name, kind in node.columns)
            connection.execute(f"CREATE NODE TABLE {node.type} ({columns}, PRIMARY KEY ({quoted_name(node.key)}))")
            connection.execute(f"COPY {node.type} FROM {quoted_text(str(next(files)))} ({COPY_OPTIONS})")
        for type_ in dict.fromkeys(each.type for each in relationships):
            of = [each for each in relationships if each.type == type_]
            pairs = ", ".join(f"FROM {each.source_type} TO {each.target_type}" for each in of)
            columns = "".join(f", {quoted_name(name)} {_TYPES[kind]}" for name, kind in of[0].columns)
            connection.execute(f"CREATE REL TABLE {type_} ({pairs}{columns})")
        for each in relationships:
            ends = f"from={quoted_text(each.source_type)}, to={quoted_text(each.target_type)}"
            connection.execute(f"COPY {each.type} FROM {quoted_text(str(next(files)))} ({ends}, {COPY_OPTIONS})")
        connection.execute("CHECKPOINT")
    finally:
        connection.close()
        database.close()


def memory_ratio(graph: Path) -> Ratio:
    """Keep and summarise all nodes of a graph as one table, in a process of its own; its memory against 64 MiB.

    :param graph: a Ladybug file. The engine is another process, which is not counted.
    """
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        rows, grown = pool.apply(_summarised, (graph,))
    note = f"{rows:,} rows of 7 columns"
    return Ratio(name="memory of a summary / 64 MiB", above=grown, below=64 * _MIB, most=1.0, note=note)


def _summarised(path: Path) -> tuple[int, int]:
    """Return how many rows were kept, and by how many bytes the process grew at most, after a small result had loaded everything."""

    async def run() -> tuple[int, int]:
        async with open_ladybug_reader(path) as graph:
            shown = ", ".join(f"n.{name} AS {name}" for name in _COLUMNS)
            columns = tuple(ResultColumn(name=name, type="string") for name in _COLUMNS[:2])
            columns += tuple(ResultColumn(name=name, type="number") for name in _COLUMNS[2:])
            counts, before = [], 0
            for limit in (100, 1_000_000):
                before = _peak()
                text, limits = f"MATCH (n) RETURN {shown} LIMIT {limit}", QueryLimits(rows=limit, seconds=300.0)
                with tempfile.TemporaryDirectory() as folder:
                    results = ResultStore(Path(folder))
                    async with graph.read(text, None, limits) as stream:
                        table = TableRows(columns=columns, batches=_cells(stream.batches()))
                        counts.append((await results.keep_table(table, title="all nodes", most=limit)).size)
                    results.close()
            return counts[-1], _peak() - before

    return asyncio.run(run())


async def _cells(batches: AsyncIterator[Sequence[tuple[object, ...]]]) -> AsyncIterator[Sequence[tuple[Cell, ...]]]:
    async for batch in batches:
        yield [tuple(each if isinstance(each, str | int | float) else None for each in row) for row in batch]


def _peak() -> int:
    """Return the most memory that this process has held, in bytes; ``ru_maxrss`` would have that of its parent in it."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


async def census_ratio(folder: Path, tools: int = _TOOLS) -> Ratio:
    """Count and draft the catalog of a tool graph, against one query for each of its types, written by hand."""
    path = folder / "tools.lbdb"
    load_graph(path, *_tool_tables(tools))
    async with open_ladybug_reader(path) as graph:
        schema = await graph.schema()
        queries = [*map(_node_query, schema.nodes), *map(_relationship_query, schema.relationships)]
        times: dict[str, list[float]] = {"census": [], "queries": []}
        for _ in range(3):
            started = time.perf_counter()
            draft_by_rules(await graph.census())
            times["census"].append(time.perf_counter() - started)
            started = time.perf_counter()
            for text in queries:
                await read_all(graph, text)
            times["queries"].append(time.perf_counter() - started)
    nodes = _count(schema)
    note = f"synthetic graph of {tools:,} tools, {nodes}; the query counts a type, its different values, ranges and degrees"
    return Ratio(
        name="catalog / one census query for each type",
        above=min(times["census"]),
        below=min(times["queries"]),
        most=1.0,
        note=note,
    )


def _count(schema: GraphSchema) -> str:
    return f"{len(schema.nodes)} types of nodes, {len(schema.relationships)} of relationships"


def _node_query(type_: NodeType) -> str:
    shown = [
        f"{of}n.{quoted_name(each.name)})"
        for each in type_.properties
        for of in ("count(", "count(DISTINCT ", "min(", "max(")
    ]
    return f"MATCH {typed_pattern('n', type_)} RETURN count(*), {', '.join(shown)}"


def _relationship_query(type_: RelationshipType) -> str:
    name = quoted_name(type_.name)
    return f"MATCH (a)-[:{name}]->(b) WITH a, b.type AS t, count(*) AS d RETURN a.type, t, count(*), sum(d), max(d)"


def _tool_tables(tools: int) -> tuple[list[NodeTable], list[RelationshipTable]]:
    """Return a graph with the marks, the columns and about the proportions of the shipped company's: a label for all, a column of types."""
    random, label = Random(7), "EgotoolsNode"
    sizes = {
        "tool": tools,
        "parameter": 2 * tools,
        "value": tools // 4,
        "business_object": tools // 10,
        "topic": 400,
        "system": 120,
        "user_role": 60,
        "line_of_business": 24,
    }
    texts = ("key", "type", "id", "name", "text", "surface_forms", "effect")
    columns: tuple[tuple[str, ColumnType], ...] = (*((name, "string") for name in texts), ("degree", "integer"))

    def nodes() -> Iterator[tuple[object, ...]]:
        for type_, count in sizes.items():
            for at in range(count):
                text = f"The {type_} number {at}, as its system describes it." if type_ == "tool" else None
                effect = random.choice(("read", "change")) if type_ == "tool" else None
                yield f"{type_}:{at}", type_, str(at), f"{type_} {at}", text, None, effect, at % 50

    def edges(source: str, target: str, count: int) -> list[tuple[object, ...]]:
        return [
            (f"{source}:{random.randrange(sizes[source])}", f"{target}:{random.randrange(sizes[target])}")
            for _ in range(count)
        ]

    ends = {
        "has_parameter": ("tool", "parameter", 4),
        "returns": ("tool", "parameter", 3),
        "supplies": ("tool", "tool", 2),
        "depends_on": ("tool", "tool", 1),
        "has_topic": ("tool", "topic", 1),
        "has_system": ("tool", "system", 1),
        "has_user_role": ("tool", "user_role", 1),
        "has_line_of_business": ("tool", "line_of_business", 1),
        "has_value": ("parameter", "value", 1),
        "identifies": ("parameter", "business_object", 1),
    }
    node_table = NodeTable(type=label, columns=columns, key="key", rows=list(nodes()))
    return [node_table], [
        RelationshipTable(type=name, source_type=label, target_type=label, rows=edges(source, target, each * tools))
        for name, (source, target, each) in ends.items()
    ]
