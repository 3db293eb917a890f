"""Rows of a Ladybug graph: all of them read, and what typed operations changed written, many rows a statement."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from ontology.errors import StatementError
from planners.graphs.cypher_names import quoted_name
from planners.graphs.ladybug.column_types import ColumnType, column_value, kept_value, natural_type
from planners.graphs.ladybug.ladybug_process import LadybugProcess, WrittenCypher
from planners.graphs.ladybug.ladybug_tables import EXACT, KEY, LABEL, NODES, LadybugTables, RowKind, own_name
from planners.graphs.property_graph import Properties, Value
from planners.graphs.property_rows import EdgeRow, NodeRow, PropertyRows
from planners.graphs.property_values import checked_properties

__all__ = ["PropertyNames", "changed_rows", "properties_of", "read_rows", "values_of"]

PropertyNames: TypeAlias = set[tuple[RowKind, str]]
_STATEMENTS_FROM = 2**40
_BATCH = 500
"""Rows of one statement: more made none faster."""
_OWN = ("_ID", "_LABEL", "_SRC", "_DST", KEY, EXACT, LABEL)


async def read_rows(process: LadybugProcess, tables: LadybugTables) -> PropertyRows:
    """Read the whole graph.

    :raises StatementError: when it holds what stores do not keep: a statement can compute it.
    """
    rows = PropertyRows()
    nodes = await process.read(f"MATCH (n) RETURN n.`{KEY}`, n")
    for key, raw in sorted(nodes, key=lambda row: row[0]):
        if raw.get(LABEL) is None:
            raise StatementError("a new node has no label", subject="Cypher", remedy="Write (n:Label {…})")
        rows.nodes[key] = NodeRow(label=raw[LABEL], properties=properties_of(raw, tables, "NODE"))
    edges = await process.read(f"MATCH (a)-[r]->(b) RETURN r.`{KEY}`, a.`{KEY}`, b.`{KEY}`, r")
    for key, source, target, raw in sorted(edges, key=lambda row: row[0]):
        properties = properties_of(raw, tables, "REL")
        rows.edges[key] = EdgeRow(type=own_name(raw["_LABEL"]), source=source, target=target, properties=properties)
    given = [key for key in (*rows.nodes, *rows.edges) if key < _STATEMENTS_FROM]
    rows.next_key = max(given, default=0) + 1
    return rows


def properties_of(raw: Mapping[str, Any], tables: LadybugTables, kind: RowKind) -> Properties:
    """Return the properties of a node or edge as Ladybug gives it: exact, without what it keeps for itself.

    :raises StatementError: when a value is none that stores keep.
    """
    exact = json.loads(raw.get(EXACT) or "{}")
    found: dict[str, Value] = {}
    for name in sorted((name for name in raw if name not in _OWN), key=len):
        if raw[name] is not None:
            own = own_name(name)
            found[own] = _exact_value(raw[name], exact.get(own), tables.type_of(kind, name))
    return checked_properties(found)


def _exact_value(raw: Any, exact: Any, type_: ColumnType) -> Value:
    """Return the exact value where it is still the one that the column shows: a statement may have set another."""
    if exact is not None and column_value(kept_value(exact), type_) == raw:
        return kept_value(exact)
    return kept_value(raw)


def values_of(rows: PropertyRows) -> PropertyNames:
    """Return the properties that have a value."""
    nodes: PropertyNames = {("NODE", name) for row in rows.nodes.values() for name in row.properties}
    return nodes | {("REL", name) for row in rows.edges.values() for name in row.properties}


def changed_rows(
    old: PropertyRows, new: PropertyRows, tables: LadybugTables, moved: PropertyNames
) -> Iterator[WrittenCypher]:
    """Yield the statements that make the old graph the new one, with their parameters.

    :param moved: properties whose values another column takes over.
    """
    yield from _deletions(old, new, tables)
    inserted: list[_Row] = []
    updated: list[_Row] = []
    for key, row in new.nodes.items():
        before = old.nodes.get(key)
        if before is None:
            inserted.append(({"k": key, "l": row.label}, row.properties, {}))
        elif before is not row or any(("NODE", name) in moved for name in row.properties):
            updated.append(({"k": key}, row.properties, before.properties))
    yield from _node_writes(inserted, updated, tables)
    edges: dict[tuple[str, bool], list[_Row]] = defaultdict(list)
    for key, edge in new.edges.items():
        former = old.edges.get(key)
        place = {"k": key, "s": edge.source, "t": edge.target}
        if former is None:
            edges[edge.type, True].append((place, edge.properties, {}))
        elif former is not edge or any(("REL", name) in moved for name in edge.properties):
            edges[edge.type, False].append((place, edge.properties, former.properties))
    for (type_, new_), found in sorted(edges.items()):
        yield from _edge_writes(type_, found, tables, new=new_)


_Row: TypeAlias = tuple[dict[str, Any], Properties, Properties]
"""Keys, properties, and those before."""


def _deletions(old: PropertyRows, new: PropertyRows, tables: LadybugTables) -> Iterator[WrittenCypher]:
    edges: dict[str, list[int]] = defaultdict(list)
    for key, edge in old.edges.items():
        if key not in new.edges and edge.source in new.nodes and edge.target in new.nodes:
            edges[edge.type].append(key)
    for type_, keys in sorted(edges.items()):
        table = quoted_name(tables.edges(type_))
        yield f"MATCH ()-[r:{table}]->() WHERE r.`{KEY}` IN $keys DELETE r", {"keys": keys}
    gone = [key for key in old.nodes if key not in new.nodes]
    if gone:
        yield f"MATCH (n:{NODES}) WHERE n.`{KEY}` IN $keys DETACH DELETE n", {"keys": gone}


def _node_writes(inserted: Sequence[_Row], updated: Sequence[_Row], tables: LadybugTables) -> Iterator[WrittenCypher]:
    for names, rows in _batches(inserted, tables, "NODE", ""):
        values = f"`{KEY}`: row.k, `{LABEL}`: row.l{_as_map(names)}"
        yield f"UNWIND $rows AS row CREATE (:{NODES} {{{values}}})", {"rows": rows}
    for names, rows in _batches(updated, tables, "NODE", ""):
        yield f"UNWIND $rows AS row MATCH (x:{NODES} {{`{KEY}`: row.k}}) SET {_as_sets(names)}", {"rows": rows}


def _edge_writes(type_: str, found: Sequence[_Row], tables: LadybugTables, *, new: bool) -> Iterator[WrittenCypher]:
    table = quoted_name(tables.edges(type_))
    match = f"UNWIND $rows AS row MATCH (a:{NODES} {{`{KEY}`: row.s}})"
    for names, rows in _batches(found, tables, "REL", type_):
        if new:
            edge = f"(a)-[:{table} {{`{KEY}`: row.k{_as_map(names)}}}]->(b)"
            # Two MATCH: in one, Ladybug 0.22 joins whole tables, and 500 edges among 8,000 nodes take 0.35 s instead of 0.01 s.
            yield f"{match} MATCH (b:{NODES} {{`{KEY}`: row.t}}) CREATE {edge}", {"rows": rows}
        else:
            edge = f"{match}-[x:{table}]->(b:{NODES} {{`{KEY}`: row.t}}) WHERE x.`{KEY}` = row.k"
            yield f"{edge} SET {_as_sets(names)}", {"rows": rows}


_Names: TypeAlias = tuple[tuple[str, str], ...]
"""Columns with what stands for each: a field of a row, or a value that all rows of the batch share."""


def _batches(
    found: Sequence[_Row], tables: LadybugTables, kind: RowKind, owner: str
) -> Iterator[tuple[_Names, list[dict[str, Any]]]]:
    """Yield rows with the same columns: a field is never empty, since Ladybug guesses its type from the values."""
    groups: dict[_Names, list[dict[str, Any]]] = defaultdict(list)
    for keys, properties, before in found:
        names, row = _written(properties, before, tables, kind, owner)
        groups[names].append({**keys, **row})
    for names, rows in groups.items():
        for at in range(0, len(rows), _BATCH):
            yield names, rows[at : at + _BATCH]


def _written(
    properties: Properties, before: Properties, tables: LadybugTables, kind: RowKind, owner: str
) -> tuple[_Names, dict[str, Any]]:
    names: list[tuple[str, str]] = []
    row: dict[str, Any] = {}
    exact: dict[str, Value] = {}
    for name in properties:
        column = _column(tables, kind, name)
        value = column_value(properties[name], column.type)
        if value == []:
            names.append((column.name, f"CAST([] AS {column.type})"))
        else:
            field = f"v{len(row)}"
            names.append((column.name, f"row.{field}"))
            row[field] = value
        if not _shows(properties[name], column.type):
            exact[name] = properties[name]
    for name in sorted(before):
        names += [(older, "NULL") for older in tables.older(kind, owner, name)]
        if name not in properties:
            names.append((_column(tables, kind, name).name, "NULL"))
    if exact:
        row["x"] = json.dumps(exact, ensure_ascii=False)
    if exact or before:
        names.append((EXACT, "row.x" if exact else "NULL"))
    return tuple(names), row


def _shows(value: Value, type_: ColumnType) -> bool:
    natural = natural_type(value)
    return natural == type_ or (natural == "[]" and type_.endswith("[]"))


def _column(tables: LadybugTables, kind: RowKind, name: str) -> Any:
    column = tables.column(kind, name)
    if column is None:
        raise KeyError(name)
    return column


def _as_map(names: Iterable[tuple[str, str]]) -> str:
    return "".join(f", {quoted_name(name)}: {value}" for name, value in names)


def _as_sets(names: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"x.{quoted_name(name)} = {value}" for name, value in names) or f"x.`{EXACT}` = NULL"
