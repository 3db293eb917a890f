"""Write a snapshot: tools, graph and all indexes in one folder."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from inference.encoder import Encoder
from inference.result_cache import ResultCache
from ontology.files import code_digest
from ontology.names import words
from ontology.ontology import Ontology
from ontology.tool import PHRASES, NamedSource, Tool
from ontology.tool_graph import EdgeAttributes, NodeAttributes
from ontology.value_shape import ShapeUse
from retrieval.index.adjacency import write_adjacency
from retrieval.index.bm25 import (
    NAMES,
    field_postings,
    field_terms,
    make_coverage_postings,
    name_key,
    name_terms,
    write_postings,
)
from retrieval.index.filters import write_filters
from retrieval.index.lookup import write_lookup
from retrieval.index.phrases import phrases_of, write_phrases
from retrieval.index.records import write_lines, write_records, write_texts
from retrieval.index.value_shapes import write_value_shapes
from retrieval.index.vectors import write_vectors
from retrieval.snapshot.manifest import (
    EDGES,
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
from retrieval.snapshot.reader import EDGE_DETAILS

if TYPE_CHECKING:
    import networkx as nx


_PLACE = attrgetter("tool_id", "field", "extractor", "start", "end")
_TERMS_KIND = "field-terms.v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotContent:
    """The content of a snapshot.

    :param graph: the tool graph with node keys ``type:name``; its tool nodes are those of ``tools``.
    :param encoder: encodes the texts of nodes and the names of tools.
    :param extractor: versioned name of the extractor of the triples.
    :param abbreviations: map from each abbreviation to its long form, as used in canonicalisation.
    :param created_by: name and version of the program.
    :param sources: the named sources, sorted by name.
    :param overlays: the overlay files, in the order in which they were applied.
    :param boosts: tool id → standard deviations of the scores that are added to its score, in [-1, 1].
    :param value_shapes: the parameters whose values have a shape.
    :param ranking: the ranking weights; None for the shipped ones.
    """

    tools: Sequence[Tool]
    graph: nx.MultiDiGraph[str]
    ontology: Ontology
    encoder: Encoder
    extractor: str
    abbreviations: Mapping[str, str]
    created_by: str
    sources: tuple[NamedSource, ...] = ()
    overlays: tuple[OverlayInfo, ...] = ()
    boosts: Mapping[str, float] = field(default_factory=dict)
    value_shapes: Sequence[ShapeUse] = ()
    ranking: RankingSection | None = None


def write_snapshot(
    folder: Path,
    content: SnapshotContent,
    *,
    cache: ResultCache | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> str:
    """Write all files and then the manifest; return the snapshot id. Equal content gives equal bytes, with a cache and without one.

    :param cache: what was made of tools that have not changed is taken from it.
    """
    order = _node_order(content)
    numbers = {key: number for number, key in enumerate(order)}
    nodes = [cast("NodeAttributes", content.graph.nodes[key]) for key in order]
    progress("tools and graph")
    digests: list[str] = []
    write_lines(folder / TOOLS, _lines(content.tools, digests))
    write_texts(folder / NODE_KEYS, order)
    write_records(folder / NODES, map(_node_row, nodes))
    edges = _write_edges(folder, content.graph, numbers, sorted(content.ontology.predicates))
    write_lookup(folder, KEYS, numbers.items())
    write_lookup(folder, NGRAMS, _ngram_entries(nodes))
    write_filters(folder, content.tools)
    write_value_shapes(folder, content.value_shapes, {tool.id: number for number, tool in enumerate(content.tools)})
    progress("lexical indexes")
    for name, postings in field_postings(_field_terms(content.tools, digests, cache)):
        write_postings(folder, name, postings)
    write_postings(folder, NAMES, make_coverage_postings([name_terms(tool) for tool in content.tools]))
    progress("vectors")
    vectors_ND = content.encoder.encode([node["text"] for node in nodes])
    write_vectors(folder, NODE_VECTORS, vectors_ND, tool_count=len(content.tools), cache=cache)
    names = content.encoder.encode([" ".join(words(tool.title)) for tool in content.tools])
    write_vectors(folder, NAME_VECTORS, names, with_index=False)
    if any(map(phrases_of, content.tools)):
        write_phrases(folder, content.tools, content.encoder, vectors_ND[: len(content.tools)])
    return write_manifest(folder, _manifest(content, edges)).snapshot_id


def _lines(tools: Iterable[Tool], digests: list[str]) -> Iterator[str]:
    """Yield the JSON of each tool, and append its SHA-256 to ``digests``: all lines together would take much of the memory of a build."""
    for tool in tools:
        line = tool.canonical_json()
        digests.append(hashlib.sha256(line.encode("utf-8", "surrogatepass")).hexdigest())
        yield line


def _field_terms(tools: Sequence[Tool], digests: Sequence[str], cache: ResultCache | None) -> list[bytes]:
    """Return the counted terms of each tool.

    :param digests: of the JSON of each tool.
    """
    if cache is None:
        return list(map(field_terms, tools))
    code = code_digest("retrieval.index", "ontology")
    keys = [f"{code[:32]}{digest}" for digest in digests]
    known = cache.get_many(_TERMS_KIND, keys)
    fresh = {key: field_terms(tool) for key, tool in zip(keys, tools, strict=True) if key not in known}
    cache.put_many(_TERMS_KIND, fresh)
    return [known.get(key) or fresh[key] for key in keys]


def _node_order(content: SnapshotContent) -> list[str]:
    tools = [f"tool:{tool.id}" for tool in content.tools]
    others = sorted(key for key in content.graph if content.graph.nodes[key]["type"] != "tool")
    return tools + others


def _write_edges(
    folder: Path, graph: nx.MultiDiGraph[str], numbers: Mapping[str, int], predicates: Sequence[str]
) -> Counter[str]:
    rows = sorted(
        (
            (numbers[head], numbers[tail], str(key), cast("EdgeAttributes", data))
            for head, tail, key, data in graph.edges(keys=True, data=True)
        ),
        key=lambda row: row[:3],
    )
    known = {name: number for number, name in enumerate(predicates)}
    write_adjacency(
        folder,
        len(numbers),
        [(head, tail, known[data["predicate"]], data["confidence"]) for head, tail, _, data in rows],
    )
    write_records(folder / EDGES, (_edge_row(key, data) for _, _, key, data in rows))
    return Counter(data["predicate"] for *_, data in rows)


def _node_row(node: NodeAttributes) -> dict[str, Any]:
    """Return the JSON form of a node; a tool's text comes from its own record."""
    forms = [[form, count] for form, count in node["surface_forms"]]
    row = {"type": node["type"], "name": node["name"], "text": "" if node["type"] == "tool" else node["text"]}
    aliases = {"aliases": [list(alias) for alias in node["aliases"]]} if node.get("aliases") else {}
    return {**row, "forms": forms, **aliases}


def _edge_row(key: str, edge: EdgeAttributes) -> dict[str, Any]:
    """Return the JSON form of an edge, without empty fields."""
    row: dict[str, Any] = {name: value for name in EDGE_DETAILS if (value := edge.get(name)) not in ("", None)}
    if edge["phrases"]:
        row["phrases"] = edge["phrases"]
    if edge["provenance"]:
        row["provenance"] = list(map(_PLACE, edge["provenance"]))
    return {"key": key, **row}


def _ngram_entries(nodes: Sequence[NodeAttributes]) -> Iterator[tuple[str, int]]:
    """Yield the n-gram of each node's name, and of each alias of a system."""
    for number, node in enumerate(nodes):
        names = (
            node["name"] if node["type"] == "tool" else node["id"],
            *(alias for alias, _ in node.get("aliases", ())),
        )
        yield from ((found, number) for found in map(name_key, names) if found)


def _manifest(content: SnapshotContent, edges: Counter[str]) -> Manifest:
    ontology, encoder = content.ontology, content.encoder
    nodes: Counter[str] = Counter(node["type"] for _, node in content.graph.nodes(data=True))
    return Manifest(
        created_by=content.created_by,
        ontology=OntologyVersion(name=ontology.name, version=ontology.version, sha256=ontology.digest),
        predicates=tuple(sorted(ontology.predicates)),
        encoder=EncoderInfo(name=encoder.name, sha256=encoder.digest, dimensions=encoder.dimensions),
        extractor=content.extractor,
        abbreviations=dict(sorted(content.abbreviations.items())),
        counts=Counts(tools=len(content.tools), nodes=dict(sorted(nodes.items())), edges=dict(sorted(edges.items()))),
        ranking=content.ranking,
        sources=content.sources or None,
        overlays=content.overlays or None,
        boosts=dict(sorted(content.boosts.items())) or None,
        phrases=_phrases_info(content.tools),
    )


def _phrases_info(tools: Sequence[Tool]) -> PhrasesInfo | None:
    found = {tool.id: tool.metadata[PHRASES].get("by", "") for tool in tools if phrases_of(tool)}
    return (
        PhrasesInfo(
            tools=len(found),
            phrases=sum(len(phrases_of(tool)) for tool in tools),
            by=tuple(sorted(set(found.values()))),
        )
        if found
        else None
    )
