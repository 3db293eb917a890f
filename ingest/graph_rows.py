"""The graph as flat rows of plain values, as file formats and databases hold it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["EDGE_COLUMNS", "NODE_COLUMNS", "batches", "clean", "edge_rows", "node_rows", "relation", "relations"]

Row = TypeVar("Row")

NODE_COLUMNS = {"key": str, "type": str, "id": str, "name": str, "text": str, "degree": int, "surface_forms": str}
"""Columns of a node, with their types; ``surface_forms`` is JSON: a list of [form, count]."""
EDGE_COLUMNS = {
    "key": str,
    "predicate": str,
    "confidence": float,
    "evidence_count": int,
    "parameter": str,
    "output": str,
    "entity": str,
    "field": str,
    "phrases": str,
    "provenance": str,
}
"""Columns of an edge beside ``head`` and ``tail``; ``phrases`` and ``provenance`` are JSON."""

# Not in XML, not in UTF-8, or the end of a text in C: databases and files differ in how they fail on these.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def clean(text: str) -> str:
    """The text with characters that files and databases cannot hold replaced by U+FFFD."""
    return _UNPRINTABLE.sub("\ufffd", text) if _UNPRINTABLE.search(text) else text


def node_rows(graph: nx.MultiDiGraph[str]) -> Iterator[dict[str, Any]]:
    """One flat row for each node, in the graph's order. Keys stay apart also where cleaning makes them equal."""
    keys = _keys(graph)
    for node, data in graph.nodes(data=True):
        yield {"key": keys[node], **_flat(data, NODE_COLUMNS)}


def edge_rows(graph: nx.MultiDiGraph[str], of: str = "") -> Iterator[dict[str, Any]]:
    """One flat row for each edge, with the keys of its ``head`` and ``tail``, in the graph's order.

    :param of: only the edges of this relation (see :func:`relation`).
    """
    keys = _keys(graph)
    for head, tail, key, data in graph.edges(keys=True, data=True):
        if of and relation(data["predicate"]) != of:
            continue
        yield {"head": keys[head], "tail": keys[tail], "key": clean(key), **_flat(data, EDGE_COLUMNS)}


def relations(graph: nx.MultiDiGraph[str]) -> list[str]:
    """The names of all relations of a graph, sorted."""
    return sorted({relation(data["predicate"]) for _, _, data in graph.edges(data=True)})


@cache
def relation(predicate: str) -> str:
    """The name of a predicate as Cypher's relationship types are written: ``HAS_PARAMETER``."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", predicate).strip("_").upper() or "RELATED"
    return name if name[0].isalpha() else f"P_{name}"


def batches(rows: Iterable[Row], size: int) -> Iterator[Sequence[Row]]:
    """The rows in lists of at most ``size``."""
    batch: list[Row] = []
    for row in rows:
        batch.append(row)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def _keys(graph: nx.MultiDiGraph[str]) -> dict[str, str]:
    keys: dict[str, str] = {}
    taken: set[str] = set()
    for node in graph:
        key = clean(node)
        while key in taken:
            key += "~"
        taken.add(key)
        keys[node] = key
    return keys


def _flat(data: dict[str, Any], columns: dict[str, type]) -> dict[str, Any]:
    return {column: _value(data.get(column), type_) for column, type_ in columns.items() if column != "key"}


def _value(value: Any, type_: type) -> Any:
    if type_ is not str:
        return type_(value or 0)
    if value is None:
        return ""
    if isinstance(value, str):
        return clean(value)
    return clean(json.dumps([_json(item) for item in value], ensure_ascii=False))


def _json(item: Any) -> Any:
    """A provenance as a list, anything else as it is."""
    slots = getattr(item, "__slots__", None)
    return [getattr(item, slot) for slot in slots] if slots else item
