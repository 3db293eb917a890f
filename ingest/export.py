"""Export the graph to a file: GraphML, JSON, Cypher or Turtle. Each format has the same nodes and edges."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO
from urllib.parse import quote

from ingest.graph_rows import EDGE_COLUMNS, NODE_COLUMNS, batches, edge_rows, node_rows, relations
from ontology.errors import InvalidArgumentError
from ontology.files import disk_errors, replacing

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["EXPORT_FORMATS", "NODE_LABEL", "export_graph"]

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
