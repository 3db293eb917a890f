"""Writing a snapshot: tools, graph and every index into one folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inference.encoder import Encoder
from ontology.names import words
from ontology.ontology import Ontology
from ontology.tool import Tool
from retrieval.index.adjacency import write_adjacency
from retrieval.index.analysis import name_key, terms
from retrieval.index.bm25 import make_postings, write_postings
from retrieval.index.lookup import write_lookup
from retrieval.index.name_coverage import make_coverage, name_terms
from retrieval.index.records import write_records, write_texts
from retrieval.index.text_fields import FIELDS, NAMES, filter_terms
from retrieval.index.vectors import write_vectors
from retrieval.snapshot.layout import FORMAT_VERSION
from retrieval.snapshot.publish import write_manifest

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["SnapshotContent", "write_snapshot"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotContent:
    """What a snapshot is made of.

    :param graph: the tool graph, nodes keyed ``type:name``; its tool nodes are those of ``tools``.
    :param encoder: makes the vectors.
    :param extractor: versioned name of the extractor that read the triples.
    :param abbreviations: short → long, as used while names were made canonical.
    :param created_by: name and version of the program.
    """

    tools: Sequence[Tool]
    graph: nx.MultiDiGraph[str]
    ontology: Ontology
    encoder: Encoder
    extractor: str
    abbreviations: Mapping[str, str]
    created_by: str


def write_snapshot(folder: Path, content: SnapshotContent, *, progress: Callable[[str], None] = lambda _: None) -> str:
    """Write everything and then the manifest; returns the snapshot id. Equal content gives equal bytes."""
    order = _node_order(content)
    numbers = {key: number for number, key in enumerate(order)}
    progress("tools and graph")
    write_records(folder / "tools", (tool.to_json() for tool in content.tools))
    write_texts(folder / "node_keys", order)
    write_records(folder / "nodes", _node_rows(content.graph, order))
    edges = _write_edges(folder, content.graph, numbers, sorted(content.ontology.predicates))
    write_lookup(folder, "keys", numbers.items())
    write_lookup(folder, "ngrams", _ngram_entries(content.graph, order))
    write_lookup(folder, "filters", ((term, i) for i, tool in enumerate(content.tools) for term in filter_terms(tool)))
    progress("lexical indexes")
    for field, text_of in FIELDS.items():
        write_postings(folder, field, make_postings(terms(text_of(tool)) for tool in content.tools))
    write_postings(folder, NAMES, make_coverage([name_terms(tool) for tool in content.tools]))
    progress("vectors")
    write_vectors(folder, "nodes", content.encoder.encode([content.graph.nodes[key]["text"] for key in order]))
    names = content.encoder.encode([" ".join(words(tool.title)) for tool in content.tools])
    write_vectors(folder, "names", names, searched=False)
    return write_manifest(folder, _manifest(content, edges))


def _node_order(content: SnapshotContent) -> list[str]:
    tools = [f"tool:{tool.id}" for tool in content.tools]
    others = sorted(key for key in content.graph if content.graph.nodes[key]["type"] != "tool")
    return tools + others


def _node_rows(graph: nx.MultiDiGraph[str], order: Sequence[str]) -> Iterator[dict[str, Any]]:
    for key in order:
        node: dict[str, Any] = graph.nodes[key]
        yield {
            "type": node["type"],
            "name": node["name"],
            "text": node["text"] if node["type"] != "tool" else "",  # a tool's text is made from its record
            "forms": [[form, count] for form, count in node.get("surface_forms", ())],
        }


def _write_edges(
    folder: Path, graph: nx.MultiDiGraph[str], numbers: Mapping[str, int], predicates: Sequence[str]
) -> Counter[str]:
    rows = sorted(
        ((numbers[head], numbers[tail], str(key), data) for head, tail, key, data in graph.edges(keys=True, data=True)),
        key=lambda row: row[:3],
    )
    known = {name: number for number, name in enumerate(predicates)}
    write_adjacency(
        folder,
        len(numbers),
        [(head, tail, known[data["predicate"]], data["confidence"]) for head, tail, _, data in rows],
    )
    write_records(folder / "edges", (_edge_row(key, data) for _, _, key, data in rows))
    return Counter(data["predicate"] for *_, data in rows)


def _edge_row(key: str, data: Mapping[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {"key": key}
    for name, value in data.items():
        if name in ("predicate", "confidence") or value in ((), "", None):
            continue
        if name == "provenance":
            value = [[p.tool_id, p.field, p.extractor, p.start, p.end] for p in value]
        row[name] = value
    return row


def _ngram_entries(graph: nx.MultiDiGraph[str], order: Sequence[str]) -> Iterator[tuple[str, int]]:
    for number, key in enumerate(order):
        node: dict[str, Any] = graph.nodes[key]
        found = name_key(node["name"] if node["type"] == "tool" else node["id"])
        if found:
            yield found, number


def _manifest(content: SnapshotContent, edges: Counter[str]) -> dict[str, Any]:
    nodes = Counter(kind for _, kind in content.graph.nodes(data="type"))
    return {
        "format_version": FORMAT_VERSION,
        "created_by": content.created_by,
        "ontology": {
            "name": content.ontology.name,
            "version": content.ontology.version,
            "sha256": content.ontology.digest,
        },
        "predicates": sorted(content.ontology.predicates),
        "encoder": {
            "name": content.encoder.name,
            "sha256": content.encoder.digest,
            "dimensions": content.encoder.dimensions,
        },
        "extractor": content.extractor,
        "abbreviations": dict(sorted(content.abbreviations.items())),
        "counts": {
            "tools": len(content.tools),
            "nodes": dict(sorted(nodes.items())),
            "edges": dict(sorted(edges.items())),
        },
    }
