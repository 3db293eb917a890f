"""Export the graph to a file: GraphML, JSON, Cypher or Turtle. Each format has the same nodes and edges."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias, TypeVar, cast
from urllib.parse import quote

from ontology.errors import InvalidArgumentError
from ontology.files import disk_errors, replacing
from ontology.tool_graph import EdgeAttributes, NodeAttributes

if TYPE_CHECKING:
    import networkx as nx

__all__ = [
    "EDGE_COLUMNS",
    "EXPORT_FORMATS",
    "NODE_COLUMNS",
    "NODE_LABEL",
    "batches",
    "clean",
    "edge_rows",
    "export_graph",
    "node_rows",
    "relations",
]

Row: TypeAlias = dict[str, Any]
"""Map from column name to a text or a number."""
_Row = TypeVar("_Row")
_EdgeItem = tuple[str, str, str, EdgeAttributes]

# Characters that XML or UTF-8 does not allow, and NUL, which ends a C string.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


NODE_COLUMNS = {"key": str, "type": str, "id": str, "name": str, "text": str, "degree": int, "surface_forms": str}
"""Map from node column to its type; ``surface_forms`` is JSON: a list of [form, count]."""
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
"""Map from edge column to its type, without ``head`` and ``tail``; ``phrases`` and ``provenance`` are JSON."""


def clean(text: str) -> str:
    """Return the text with U+FFFD in place of characters that files and databases cannot store."""
    return _UNPRINTABLE.sub("\ufffd", text) if _UNPRINTABLE.search(text) else text


def node_rows(graph: nx.MultiDiGraph[str]) -> Iterator[Row]:
    """Yield one row for each node, in the graph's order. Keys that cleaning makes equal get ``~`` at their end."""
    keys = _keys(graph)
    for node in graph:
        data = cast("NodeAttributes", graph.nodes[node])
        yield dict(
            key=keys[node],
            type=clean(data["type"]),
            id=clean(data["id"]),
            name=clean(data["name"]),
            text=clean(data["text"]),
            degree=data["degree"],
            surface_forms=_json_text(data["surface_forms"]),
        )


def edge_rows(graph: nx.MultiDiGraph[str], relation_name: str = "") -> Iterator[Row]:
    """Yield one row for each edge, in the graph's order.

    :param relation_name: only the edges of this relation (see :func:`relation`); all edges when it is empty.
    """
    keys = _keys(graph)
    for head, tail, key, data in _edges(graph):
        if not relation_name or relation(data["predicate"]) == relation_name:
            yield dict(
                head=keys[head],
                tail=keys[tail],
                key=clean(key),
                predicate=clean(data["predicate"]),
                confidence=data["confidence"],
                evidence_count=data["evidence_count"],
                parameter=clean(data.get("parameter", "")),
                output=clean(data.get("output", "")),
                entity=clean(data.get("entity", "")),
                field=clean(data.get("field", "")),
                phrases=_json_text(data["phrases"]),
                provenance=_json_text(
                    (one.tool_id, one.field, one.extractor, one.start, one.end) for one in data["provenance"]
                ),
            )


def relations(graph: nx.MultiDiGraph[str]) -> list[str]:
    """Return the names of all relations of a graph, sorted."""
    return sorted({relation(data["predicate"]) for *_, data in _edges(graph)})


@cache
def relation(predicate: str) -> str:
    """Return a predicate's name as a Cypher relationship type: ``HAS_PARAMETER``."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", predicate).strip("_").upper() or "RELATED"
    return name if name[0].isalpha() else f"P_{name}"


def batches(rows: Iterable[_Row], size: int) -> Iterator[Sequence[_Row]]:
    """Yield the rows in lists of at most ``size``."""
    batch: list[_Row] = []
    for row in rows:
        batch.append(row)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def _edges(graph: nx.MultiDiGraph[str]) -> Iterator[_EdgeItem]:
    return cast("Iterator[_EdgeItem]", iter(graph.edges(keys=True, data=True)))


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


def _json_text(items: Iterable[Any]) -> str:
    return clean(json.dumps(list(items), ensure_ascii=False))


NODE_LABEL = "EgotoolsNode"
"""The Cypher label of the graph's nodes. It separates them from other data in the same database."""
_ROWS_PER_STATEMENT = 200
_JSON_COLUMNS = ("surface_forms", "phrases", "provenance")


def export_graph(graph: nx.MultiDiGraph[str], path: Path, format: str) -> None:
    """Write the graph to ``path``; an existing file is replaced only when the new one is complete.

    Characters that the formats cannot represent (control characters, lone surrogates) become U+FFFD.

    :param format: ``graphml``, ``json``, ``cypher`` or ``turtle``.
    :raises InvalidArgumentError: for another format.
    :raises StorageError: when the file cannot be written.
    """
    write = _WRITERS.get(format)
    if write is None:
        raise InvalidArgumentError(
            f"the format {format!r} is not known",
            subject="format",
            remedy=f"Choose one of: {', '.join(EXPORT_FORMATS)}",
        )
    remedy = "Check that the folder exists, can be written and has free space"
    with (
        disk_errors(path, remedy=remedy),
        replacing(path) as temporary,
        temporary.open("w", encoding="utf-8", newline="\n") as file,
    ):
        write(graph, file)


def _graphml(graph: nx.MultiDiGraph[str], file: TextIO) -> None:
    import networkx as nx
    from networkx.readwrite.graphml import GraphMLWriter

    flat: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    for row in node_rows(graph):
        flat.add_node(row["key"], **{column: row[column] for column in NODE_COLUMNS if column != "key"})
    for number, row in enumerate(edge_rows(graph)):
        # GraphML requires edge ids that are unique in the file. The key of the ToolGraph edge is an attribute.
        flat.add_edge(row["head"], row["tail"], f"e{number}")
        flat.edges[row["head"], row["tail"], f"e{number}"].update((column, row[column]) for column in EDGE_COLUMNS)
    file.flush()
    GraphMLWriter(graph=flat, encoding="utf-8", prettyprint=False).dump(file.buffer)


def _json(graph: nx.MultiDiGraph[str], file: TextIO) -> None:
    """Write the node-link form, one node or edge per line."""
    attributes = {str(key): value for key, value in sorted(graph.graph.items())}
    file.write(
        f'{{"directed": true, "multigraph": true, "graph": {json.dumps(attributes, ensure_ascii=False)},\n"nodes": [\n'
    )
    _json_lines(({"key": row["key"], **row} for row in node_rows(graph)), file)
    file.write('],\n"edges": [\n')
    _json_lines(({"source": row.pop("head"), "target": row.pop("tail"), **row} for row in edge_rows(graph)), file)
    file.write("]}\n")


def _json_lines(rows: Iterator[dict[str, Any]], file: TextIO) -> None:
    separator = ""
    for row in rows:
        for column in _JSON_COLUMNS:
            if column in row:
                row[column] = json.loads(row[column] or "[]")
        file.write(f"{separator} {json.dumps(row, ensure_ascii=False)}")
        separator = ",\n"
    file.write("\n")


def _cypher(graph: nx.MultiDiGraph[str], file: TextIO) -> None:
    """Write CREATE statements for an empty database, one per line."""
    properties = ", ".join(f"{column}: row.{column}" for column in NODE_COLUMNS)
    for batch in batches(node_rows(graph), _ROWS_PER_STATEMENT):
        file.write(f"UNWIND {_literal(batch)} AS row CREATE (:{NODE_LABEL} {{{properties}}});\n")
    properties = ", ".join(f"{column}: row.{column}" for column in EDGE_COLUMNS)
    for name in relations(graph):
        for batch in batches(edge_rows(graph, name), _ROWS_PER_STATEMENT):
            file.write(
                f"UNWIND {_literal(batch)} AS row MATCH (head:{NODE_LABEL} {{key: row.head}}), "
                f"(tail:{NODE_LABEL} {{key: row.tail}}) CREATE (head)-[:{name} {{{properties}}}]->(tail);\n"
            )


def _literal(value: Any) -> str:
    """Return a value as a Cypher literal."""
    if isinstance(value, str):
        return f"'{value.translate(_CYPHER_ESCAPES)}'"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_literal(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return repr(value)


def _turtle(graph: nx.MultiDiGraph[str], file: TextIO) -> None:
    """Write each edge as a triple, and as an ``rdf:Statement`` with its confidence and evidence."""
    file.write(
        "@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .\n"
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
        "@prefix et: <urn:egotools:vocabulary:> .\n\n"
    )
    for row in node_rows(graph):
        properties = [f"a {_iri('type', row['type'])}", f"rdfs:label {_turtle_text(row['name'])}"]
        properties += [
            f"et:{column} {_turtle_value(row[column])}" for column in NODE_COLUMNS if column not in ("type", "name")
        ]
        file.write(f"{_iri('node', row['key'])} {' ; '.join(properties)} .\n")
    for row in edge_rows(graph):
        head, predicate, tail = (
            _iri("node", row["head"]),
            _iri("predicate", row["predicate"]),
            _iri("node", row["tail"]),
        )
        digest = hashlib.sha256("\0".join((row["head"], row["tail"], row["key"])).encode()).hexdigest()[:32]
        properties = ["a rdf:Statement", f"rdf:subject {head}", f"rdf:predicate {predicate}", f"rdf:object {tail}"]
        properties += [f"et:{column} {_turtle_value(row[column])}" for column in EDGE_COLUMNS if column != "predicate"]
        file.write(f"{head} {predicate} {tail} .\n{_iri('edge', digest)} {' ; '.join(properties)} .\n")


def _iri(kind: str, name: str) -> str:
    return f"<urn:egotools:{kind}:{quote(name, safe='')}>"


def _turtle_value(value: Any) -> str:
    if isinstance(value, str):
        return _turtle_text(value)
    if isinstance(value, float):
        return f'"{value!r}"^^xsd:double'
    return f'"{value}"^^xsd:integer'


def _turtle_text(text: str) -> str:
    return f'"{text.translate(_TURTLE_ESCAPES)}"'


_CYPHER_ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"})
_TURTLE_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})
_WRITERS: dict[str, Callable[[Any, TextIO], None]] = {
    "cypher": _cypher,
    "graphml": _graphml,
    "json": _json,
    "turtle": _turtle,
}
EXPORT_FORMATS = tuple(_WRITERS)
"""The names of the export formats."""
