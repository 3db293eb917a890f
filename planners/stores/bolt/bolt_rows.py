"""A graph behind Bolt as rows: the whole of it read in a transaction, and the difference that operations make written back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ontology.errors import StatementError
from planners.stores.cypher_names import quoted_name
from planners.stores.property_graph import Properties, Value
from planners.stores.property_rows import MAX_EDGES, MAX_NODES, EdgeRow, NodeRow, PropertyRows
from planners.stores.property_values import checked_name, checked_properties
from planners.stores.result_rows import json_value

__all__ = [
    "BoltRows",
    "bolt_parameters",
    "driver_text",
    "is_driver_value",
    "read_rows",
    "write_difference",
]

_NODES = "MATCH (n) RETURN elementId(n), labels(n), properties(n) ORDER BY id(n)"
_EDGES = (
    "MATCH (a)-[r]->(b) RETURN elementId(r), type(r), elementId(a), elementId(b), properties(r) ORDER BY elementId(r)"
)


@dataclass(slots=True, kw_only=True)
class BoltRows:
    """Rows, and the identities that the server has for them.

    :param ids: key of a row → ``elementId`` of its node or edge; new rows have none.
    """

    rows: PropertyRows
    ids: dict[int, str] = field(default_factory=dict)

    def node_ids(self) -> set[str]:
        """Return the identities of the nodes."""
        return {self.ids[key] for key in self.rows.nodes if key in self.ids}

    def copy(self) -> BoltRows:
        """Return a copy that shares the rows."""
        return BoltRows(rows=self.rows.copy(), ids=dict(self.ids))


def bolt_parameters(values: Mapping[str, Value | None]) -> dict[str, Any]:
    """Return values as the driver takes them, without those that are None.

    :raises StatementError: when one is none that stores keep.
    """
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in checked_properties(values).items()
    }


def is_driver_value(value: Any) -> bool:
    """Say whether a value has a class of the driver: a time, a duration, a point; some of these are tuples too."""
    return type(value).__module__.startswith("neo4j.")


def driver_text(value: Any) -> str:
    """Return such a value as text, times as ISO 8601."""
    return str(value.iso_format()) if hasattr(value, "iso_format") else str(value)


async def read_rows(transaction: Any) -> BoltRows:
    """Read the whole graph.

    Values that are none of the seam (dates, points), which a statement can write, are read as text.

    :raises StatementError: when the graph is too large, or a node has no label or several.
    """
    await _check_size(transaction, "MATCH (n) RETURN count(n)", MAX_NODES, "nodes")
    await _check_size(transaction, "MATCH ()-[r]->() RETURN count(r)", MAX_EDGES, "edges")
    read = BoltRows(rows=PropertyRows())
    keys: dict[str, int] = {}
    async for identity, labels, properties in await transaction.run(_NODES):
        key = read.rows.add_node(NodeRow(label=_one_label(labels), properties=_properties(properties)))
        keys[identity], read.ids[key] = key, identity
    async for identity, kind, source, target, properties in await transaction.run(_EDGES):
        row = EdgeRow(
            type=checked_name(kind, "a type"),
            source=keys[source],
            target=keys[target],
            properties=_properties(properties),
        )
        read.ids[read.rows.add_edge(row)] = identity
    return read


async def write_difference(transaction: Any, before: BoltRows, after: BoltRows) -> None:
    """Write what differs; the identities of new rows are added to ``after``."""
    old, new = before.rows, after.rows
    await _delete(
        transaction,
        "MATCH ()-[r]->() WHERE elementId(r) IN $ids DELETE r",
        [after.ids[key] for key in old.edges.keys() - new.edges.keys()],
    )
    await _delete(
        transaction,
        "MATCH (n) WHERE elementId(n) IN $ids DETACH DELETE n",
        [after.ids[key] for key in old.nodes.keys() - new.nodes.keys()],
    )
    changed = [
        {"id": after.ids[key], "properties": bolt_parameters(row.properties)}
        for key, row in new.nodes.items()
        if key in old.nodes and old.nodes[key] is not row
    ]
    await _run(transaction, "UNWIND $rows AS row MATCH (n) WHERE elementId(n) = row.id SET n = row.properties", changed)
    await _insert_nodes(transaction, after, new.nodes.keys() - old.nodes.keys())
    await _insert_edges(transaction, after, new.edges.keys() - old.edges.keys())


async def _insert_nodes(transaction: Any, after: BoltRows, keys: Iterable[int]) -> None:
    by_label: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for key in sorted(keys):
        row = after.rows.nodes[key]
        by_label[row.label].append({"key": key, "properties": bolt_parameters(row.properties)})
    for label, rows in by_label.items():
        text = f"UNWIND $rows AS row CREATE (n:{quoted_name(label, 'bolt')}) SET n = row.properties RETURN row.key, elementId(n)"
        async for key, identity in await transaction.run(text, {"rows": rows}):
            after.ids[key] = identity


async def _insert_edges(transaction: Any, after: BoltRows, keys: Iterable[int]) -> None:
    by_type: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for key in sorted(keys):
        row = after.rows.edges[key]
        ends = {"source": after.ids[row.source], "target": after.ids[row.target]}
        by_type[row.type].append({"key": key, **ends, "properties": bolt_parameters(row.properties)})
    for kind, rows in by_type.items():
        text = (
            "UNWIND $rows AS row MATCH (a) WHERE elementId(a) = row.source MATCH (b) WHERE elementId(b) = row.target "
            f"CREATE (a)-[r:{quoted_name(kind, 'bolt')}]->(b) SET r = row.properties RETURN row.key, elementId(r)"
        )
        async for key, identity in await transaction.run(text, {"rows": rows}):
            after.ids[key] = identity


async def _delete(transaction: Any, text: str, ids: Sequence[str]) -> None:
    if ids:
        await (await transaction.run(text, {"ids": ids})).consume()


async def _run(transaction: Any, text: str, rows: Sequence[dict[str, Any]]) -> None:
    if rows:
        await (await transaction.run(text, {"rows": rows})).consume()


async def _check_size(transaction: Any, text: str, most: int, what: str) -> None:
    count = (await (await transaction.run(text)).single())[0]
    if count > most:
        raise StatementError(f"the graph has more than {most:,} {what}", subject=what, remedy="Write fewer at once")


def _one_label(labels: Sequence[str]) -> str:
    if len(labels) == 1:
        return checked_name(labels[0], "a label")
    shown = f"the labels {', '.join(sorted(labels))}" if labels else "no label"
    raise StatementError(f"a node has {shown}", subject="label", remedy="Give each node exactly one label")


def _properties(properties: Mapping[str, Any]) -> Properties:
    return checked_properties({name: _value(value) for name, value in properties.items()})


def _value(value: Any) -> Any:
    if isinstance(value, list):
        return [_value(member) for member in value]
    if is_driver_value(value):
        return driver_text(value)
    return value if isinstance(value, str | int | float | bool) else json_value(value)
