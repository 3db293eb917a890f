"""Write a snapshot: tools, graph and all indexes in one folder."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from inference.encoder import Encoder
from inference.result_cache import ResultCache
from ontology.files import code_digest
from ontology.names import words
from ontology.ontology import Ontology
from ontology.reporting import return_freed_memory
from ontology.tool import PHRASES, NamedSource, Tool
from ontology.tool_graph import NodeAttributes, ToolGraph
from ontology.value_shape import ShapeUse
from retrieval.index.adjacency import GRAPH, make_adjacency
from retrieval.index.bm25 import (
    NAMES,
    field_postings,
    field_terms,
    make_coverage_postings,
    name_key,
    name_terms,
    write_postings,
)
from retrieval.index.edge_records import write_edge_records
from retrieval.index.filters import write_filters
from retrieval.index.lookup import write_lookup
from retrieval.index.phrases import phrases_of, write_phrases
from retrieval.index.records import write_columns, write_lines, write_records
from retrieval.index.value_shapes import write_value_shapes
from retrieval.index.vectors import write_vectors
from retrieval.snapshot.manifest import (
    KEYS,
    NAME_VECTORS,
    NGRAMS,
    NODE_KEYS,
    NODE_VECTORS,
    NODES,
    TOOLS,
    Counts,
    EncoderInfo,
    Manifest,
    OntologyVersion,
    OverlayInfo,
    PhrasesInfo,
    RankingSection,
    write_manifest,
)

_TERMS_KIND = "field-terms.v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotContent:
    """The content of a snapshot."""

    tools: Sequence[Tool]
    graph: ToolGraph  # its tools are ``tools``, in their order
    ontology: Ontology
    encoder: Encoder  # encodes the texts of nodes and the names of tools
    extractor: str  # versioned name of the extractor of the triples
    created_by: str  # name and version of the program
    sources: tuple[NamedSource, ...] = ()  # the named sources, sorted by name
    overlays: tuple[OverlayInfo, ...] = ()  # the overlay files, in the order in which they were applied
    # tool id → standard deviations of the scores that are added to its score, in [-1, 1]
    boosts: Mapping[str, float] = field(default_factory=dict)
    value_shapes: Sequence[ShapeUse] = ()  # the parameters whose values have a shape
    ranking: RankingSection | None = None  # the ranking weights; None for the shipped ones


def write_snapshot(
    folder: Path,
    content: SnapshotContent,
    *,
    cache: ResultCache | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> str:
    """Write all files and then the manifest; return the snapshot id. Equal content gives equal bytes, with a cache and
    without one: what was made of tools that have not changed is taken from it."""
    graph = content.graph
    nodes = list(graph.nodes.values())
    progress("tools and graph")
    digests: list[str] = []
    write_lines(folder / TOOLS, _lines(content.tools, digests))
    write_lines(folder / NODE_KEYS, graph.nodes, ".txt")
    write_records(folder / NODES, map(_node_row, nodes))
    edges = _write_edges(folder, graph, sorted(content.ontology.predicates))
    write_lookup(folder, KEYS, ((key, number) for number, key in enumerate(graph.nodes)))
    write_lookup(folder, NGRAMS, _ngram_entries(nodes))
    write_filters(folder, content.tools)
    write_value_shapes(folder, content.value_shapes, {tool.id: number for number, tool in enumerate(content.tools)})
    progress("lexical indexes")
    for name, postings in field_postings(_field_terms(content.tools, digests, cache)):
        write_postings(folder, name, postings)
    write_postings(folder, NAMES, make_coverage_postings([name_terms(tool) for tool in content.tools]))
    progress("vectors")
    return_freed_memory()
    write_vectors(
        folder, NODE_VECTORS, content.encoder.encode([node["text"] for node in nodes]), tool_count=len(content.tools)
    )
    write_vectors(
        folder,
        NAME_VECTORS,
        content.encoder.encode([" ".join(words(tool.title)) for tool in content.tools]),
        with_index=False,
    )
    if any(phrases_of(tool.metadata) for tool in content.tools):
        write_phrases(folder, content.tools, content.encoder)
    return write_manifest(folder, _manifest(content, edges)).snapshot_id


def _lines(tools: Iterable[Tool], digests: list[str]) -> Iterator[str]:
    """Yield the JSON of each tool, and append its SHA-256 to ``digests``: all lines together would take much memory."""
    for tool in tools:
        line = tool.canonical_json()
        digests.append(hashlib.sha256(line.encode("utf-8", "surrogatepass")).hexdigest())
        yield line


def _field_terms(tools: Sequence[Tool], digests: Sequence[str], cache: ResultCache | None) -> list[bytes]:
    """Return the counted terms of each tool. ``digests``: of the JSON of each tool."""
    if cache is None:
        return list(map(field_terms, tools))
    code = code_digest("retrieval.index", "ontology")
    keys = [f"{code[:32]}{digest}" for digest in digests]
    known = cache.get_many(_TERMS_KIND, keys)
    fresh = {key: field_terms(tool) for key, tool in zip(keys, tools, strict=True) if key not in known}
    cache.put_many(_TERMS_KIND, fresh)
    return [known.get(key) or fresh[key] for key in keys]


def _write_edges(folder: Path, graph: ToolGraph, predicates: Sequence[str]) -> Counter[str]:
    """Write the edges; return how many have each predicate."""
    known = {name: number for number, name in enumerate(predicates)}
    of_text = np.asarray([known.get(text, 0) for text in graph.edges.texts], dtype=np.uint8)
    adjacency = make_adjacency(
        len(graph.nodes),
        heads=graph.heads,
        tails=graph.tails,
        predicates=of_text[graph.predicates],
        confidences=graph.confidences.astype(np.float32),
    )
    write_columns(folder, GRAPH, adjacency)
    write_edge_records(folder, graph.edges)
    counts = np.bincount(adjacency.predicates, minlength=len(predicates)).tolist()
    return Counter({name: count for name, count in zip(predicates, counts, strict=True) if count})


def _node_row(node: NodeAttributes) -> dict[str, Any]:
    """Return the JSON form of a node; a tool's text comes from its own record."""
    forms = [[form, count] for form, count in node["surface_forms"]]
    row = {"type": node["type"], "name": node["name"], "text": "" if node["type"] == "tool" else node["text"]}
    aliases = {"aliases": [list(alias) for alias in node["aliases"]]} if node.get("aliases") else {}
    return {**row, "forms": forms, **aliases}


def _ngram_entries(nodes: Sequence[NodeAttributes]) -> Iterator[tuple[str, int]]:
    """Yield the n-gram of each node's name, and of each alias of a system."""
    for number, node in enumerate(nodes):
        aliases = (alias for alias, _ in node.get("aliases", ()))
        names = (node["name"] if node["type"] == "tool" else node["id"], *aliases)
        yield from ((found, number) for found in map(name_key, names) if found)


def _manifest(content: SnapshotContent, edges: Counter[str]) -> Manifest:
    ontology, encoder = content.ontology, content.encoder
    nodes = Counter(node["type"] for node in content.graph.nodes.values())
    said = [tool for tool in content.tools if phrases_of(tool.metadata)]
    phrases = PhrasesInfo(
        tools=len({tool.id for tool in said}),
        phrases=sum(len(phrases_of(tool.metadata)) for tool in said),
        by=tuple(sorted({tool.metadata[PHRASES].get("by", "") for tool in said})),
    )
    return Manifest(
        created_by=content.created_by,
        ontology=OntologyVersion(name=ontology.name, version=ontology.version, sha256=ontology.digest),
        predicates=tuple(sorted(ontology.predicates)),
        encoder=EncoderInfo(name=encoder.name, sha256=encoder.digest, dimensions=encoder.dimensions),
        extractor=content.extractor,
        abbreviations=dict(sorted(content.ontology.abbreviations.items())),
        counts=Counts(tools=len(content.tools), nodes=dict(sorted(nodes.items())), edges=dict(sorted(edges.items()))),
        ranking=content.ranking,
        sources=content.sources or None,
        overlays=content.overlays or None,
        boosts=dict(sorted(content.boosts.items())) or None,
        phrases=phrases if said else None,
    )
