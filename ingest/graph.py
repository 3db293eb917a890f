"""Triples in columns, and the ToolGraph made of them: the directed, typed multigraph of canonical triples, with evidence on every edge."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from operator import attrgetter
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from egotools.values import Provenance
from ingest.linking.edges import DerivedEdge
from ontology.tool import Tool, tool_text
from ontology.tool_graph import (
    EDGE_DETAILS,
    MAX_PROVENANCE,
    OVERLAY,
    Aliases,
    EdgeTable,
    NodeAttributes,
    SurfaceForms,
    ToolGraph,
    Triple,
)

HEAD, TAIL, PREDICATE, PHRASE, TOOL, FIELD, EXTRACTOR, START, END = range(9)  # the rows of columns
_ENDS = (attrgetter("head_type", "head"), attrgetter("tail_type", "tail"))
_PLACE = ("tool_id", "field", "extractor", "start", "end")
_TEXTS = [attrgetter(name) for name in ("predicate", "phrase", *(f"provenance.{each}" for each in _PLACE[:3]))]
_PLACES = [attrgetter(f"provenance.{each}") for each in _PLACE[3:]]
_T = TypeVar("_T", bound=Hashable)


@dataclass(frozen=True, slots=True, eq=False)
class TripleTable(Sequence[Triple]):
    """Triples, each made when it is read."""

    ends: Sequence[tuple[str, str]]  # distinct ``(type, name)`` of heads and tails
    texts: Sequence[str]  # distinct predicates, phrases, tool ids, fields and extractors
    columns: NDArray[np.int32]  # numbers of ends and of texts, and the places in the fields, int32 [9, triples]
    confidences: NDArray[np.float64]  # float64 [triples], in [0, 1]

    @classmethod
    def of(cls, triples: Iterable[Triple]) -> TripleTable:
        """The table of some triples, in their order; of a table itself."""
        if isinstance(triples, TripleTable):
            return triples
        rows, ends, texts = list(triples), dict[tuple[str, str], int](), dict[str, int]()
        columns = [
            *(_numbers(map(read, rows), ends) for read in _ENDS),
            *(_numbers(map(read, rows), texts) for read in _TEXTS),
            *(list(map(read, rows)) for read in _PLACES),
        ]
        confidences = np.asarray([one.confidence for one in rows], dtype=np.float64)
        return cls(list(ends), list(texts), np.asarray(columns, dtype=np.int32), confidences)

    @classmethod
    def joined(cls, tables: Iterable[TripleTable]) -> TripleTable:
        """The triples of several tables, one table after another; of one table at least. No table is kept."""
        ends, texts, parts, confidences = dict[tuple[str, str], int](), dict[str, int](), [], []
        for table in tables:
            of_end = np.asarray(_numbers(table.ends, ends), dtype=np.int32)[table.columns[:PREDICATE]]
            of_text = np.asarray(_numbers(table.texts, texts), dtype=np.int32)[table.columns[PREDICATE:START]]
            parts.append(np.concatenate((of_end, of_text, table.columns[START:])))
            confidences.append(table.confidences)
        return cls(list(ends), list(texts), np.concatenate(parts, axis=1), np.concatenate(confidences))

    def chosen(self, mask: NDArray[np.bool_]) -> TripleTable:
        """Some of the triples; ``mask`` is bool [triples]."""
        return TripleTable(self.ends, self.texts, self.columns[:, mask], self.confidences[mask])

    def by_predicate(self) -> Counter[str]:
        """How many triples have each predicate."""
        return Counter(map(self.texts.__getitem__, self.columns[PREDICATE].tolist()))

    def to_bytes(self) -> bytes:
        """The table as a line of JSON and the bytes of its arrays; :meth:`from_bytes` reads it."""
        head = json.dumps((self.ends, self.texts, len(self)), ensure_ascii=False).encode("utf-8", "surrogatepass")
        return b"\n".join((head, self.columns.astype("<i4").tobytes() + self.confidences.astype("<f8").tobytes()))

    @classmethod
    def from_bytes(cls, data: bytes) -> TripleTable:
        """The table of its bytes; ValueError for others."""
        head, _, arrays = data.partition(b"\n")
        ends, texts, size = json.loads(head.decode("utf-8", "surrogatepass"))
        columns = np.frombuffer(arrays, "<i4", count=(END + 1) * size).reshape(END + 1, size)
        confidences = np.frombuffer(arrays, "<f8", count=size, offset=columns.nbytes)
        return cls([(kind, name) for kind, name in ends], texts, columns, confidences)

    def __len__(self) -> int:
        return len(self.confidences)

    def __getitem__(self, index: Any) -> Any:
        """:param index: the number of one triple."""
        head, tail, predicate, phrase, tool, field, extractor, start, end = self.columns[:, index].tolist()
        (head_type, head_name), (tail_type, tail_name), texts = self.ends[head], self.ends[tail], self.texts
        return Triple(
            head=head_name,
            head_type=head_type,
            predicate=texts[predicate],
            tail=tail_name,
            tail_type=tail_type,
            confidence=float(self.confidences[index]),
            provenance=Provenance(texts[tool], texts[field], texts[extractor], start, end),
            phrase=texts[phrase],
        )

    def __iter__(self) -> Iterator[Triple]:
        return map(self.__getitem__, range(len(self)))


def _numbers(values: Iterable[_T], known: dict[_T, int]) -> list[int]:
    """The number of each value; new ones get the next."""
    return [known.setdefault(value, len(known)) for value in values]


_LOG = logging.getLogger(__name__)
_EXTRACTOR = "derived.v1"  # versioned name of the origin of derived edges
_Between: TypeAlias = tuple[str, str, str]  # head, tail and key of an edge between tools


@dataclass(slots=True)
class _Evidence:
    predicate: str
    confidence: float = 0.0
    provenance: set[Provenance] = field(default_factory=set)
    phrases: set[str] = field(default_factory=set)
    details: Mapping[str, str] = field(default_factory=dict)

    def add(self, triple: Triple) -> None:
        self.confidence = max(self.confidence, triple.confidence)
        self.provenance.add(triple.provenance)
        if triple.phrase:
            self.phrases.add(triple.phrase)

    def derive(self, edge: DerivedEdge) -> None:
        if edge.confidence < self.confidence:
            return
        self.confidence = edge.confidence
        ends = (edge.source, edge.target)
        consumer, producer = ends[::-1] if edge.predicate == "supplies" else ends
        made = f"returns.{edge.output}" if edge.output else "name"
        self.provenance = {
            Provenance(consumer, f"parameters.{edge.parameter}", _EXTRACTOR),
            Provenance(producer, made, _EXTRACTOR),
        }
        self.details = {name: getattr(edge, name) for name in EDGE_DETAILS}

    def texts(self) -> Iterator[str]:
        yield self.predicate
        yield from self.details.values()


def node_key(type_: str, name: str) -> str:
    """Return the key of a node: ``tool:po/list``, ``business_object:purchase order``."""
    return f"{type_}:{name}"


def build_graph(
    tools: Sequence[Tool],
    triples: Iterable[Triple],
    surface_forms: Mapping[str, SurfaceForms] = {},
    *,
    derived: Iterable[DerivedEdge] = (),
    aliases: Mapping[str, Aliases] = {},
    origins: Mapping[tuple[str, str], str] = {},
) -> ToolGraph:
    """Build the ToolGraph of canonical triples and derived edges. Every tool is a node, also one without a triple. An
    edge is all triples with the same head, predicate and tail, which is its key, or one derived edge, whose key is
    predicate and parameter. ``surface_forms`` are by node key, and so are ``aliases``, which are ignored for nodes that
    the graph does not have; ``origins`` say for (tool, needed tool) where the owner declares the dependency:
    ``overlay.yaml:12``."""
    table = TripleTable.of(triples)

    def node(kind: str, name: str, label: str, text: str, forms: SurfaceForms = ()) -> NodeAttributes:
        return {"type": kind, "id": name, "name": label, "text": text, "surface_forms": forms}

    nodes = {node_key("tool", tool.id): node("tool", tool.id, tool.title, tool_text(tool)) for tool in tools}
    heads, tails = table.columns[HEAD], table.columns[TAIL]
    known_E = np.asarray([kind != "tool" or node_key(kind, name) in nodes for kind, name in table.ends], dtype=np.bool_)
    tool_E = np.asarray([kind == "tool" for kind, _ in table.ends], dtype=np.bool_)
    known_N, between_N = known_E[heads] & known_E[tails], tool_E[heads] & tool_E[tails]
    if unknown := len(table) - np.count_nonzero(known_N):
        _LOG.warning("%d triple(s) name a tool that is not in the catalogue; they are not in the graph", unknown)
    between: dict[_Between, _Evidence] = {}
    for triple in table.chosen(known_N & between_N):
        place = triple.head, triple.tail, triple.predicate
        between.setdefault(place, _Evidence(triple.predicate)).add(triple)
    for tool in tools:  # which output fills which input, where the document declares it
        for needed in tool.depends_on:
            edge = between.get((tool.id, needed.tool, "depends_on"))
            if edge is not None and not edge.details and (needed.parameter or needed.output):
                edge.details = {"parameter": needed.parameter, "output": needed.output}
    for (consumer, producer), origin in origins.items():
        edge = between.get((consumer, producer, "depends_on"))
        if edge is not None:
            edge.provenance = {Provenance(consumer, origin, OVERLAY)}
    for link in derived:
        between.setdefault((link.source, link.target, link.key), _Evidence(link.predicate)).derive(link)
    # The predicate of these triples is the key of the edge.
    evidence = [
        Triple(
            head=head,
            head_type="tool",
            predicate=key,
            tail=tail,
            tail_type="tool",
            confidence=each.confidence,
            provenance=place,
            phrase=phrase,
        )
        for (head, tail, key), each in between.items()
        for place, phrase in product(each.provenance, each.phrases or ("",))
    ]
    table = TripleTable.joined([table.chosen(known_N & ~between_N), TripleTable.of(evidence)])
    used = [table.ends[number] for number in np.unique(table.columns[[HEAD, TAIL]]).tolist()]
    for key, kind, name in sorted((node_key(*end), *end) for end in used if end[0] != "tool"):
        forms = tuple(surface_forms.get(key, ()))
        # The label is the most frequent form in the documents; ties in alphabetical order.
        label = min(forms, key=lambda form: (-form[1], form[0]))[0] if forms else name
        nodes[key] = node(kind, name, label, name, forms)
    for key in nodes.keys() & aliases.keys():
        nodes[key]["aliases"] = aliases[key]
    return _graph(nodes, len(tools), table, between)


def _graph(
    nodes: Mapping[str, NodeAttributes], tools: int, table: TripleTable, between: Mapping[_Between, _Evidence]
) -> ToolGraph:
    """Gather the triples with equal ends and key on one edge; the first nodes are the tools."""
    position = {key: number for number, key in enumerate(nodes)}
    table, texts = _with_sorted_texts(table, (text for each in between.values() for text in each.texts()))
    at_E = np.asarray([position.get(node_key(*end), -1) for end in table.ends], dtype=np.int32)
    heads, tails, keys = at_E[table.columns[HEAD]], at_E[table.columns[TAIL]], table.columns[PREDICATE]
    order = np.lexsort((*table.columns[:PHRASE:-1], keys, tails, heads))
    edge_3N, places = np.stack((heads, tails, keys))[:, order], table.columns[TOOL:, order]
    confidences, phrases = table.confidences[order], table.columns[PHRASE][order]

    is_new = np.ones(len(order), dtype=np.bool_)  # the first row of an edge
    is_new[1:] = (edge_3N[:, 1:] != edge_3N[:, :-1]).any(axis=0)
    is_place = is_new.copy()  # the first row of a provenance of an edge
    is_place[1:] |= (places[:, 1:] != places[:, :-1]).any(axis=0)
    firsts, edge_N = np.flatnonzero(is_new), (np.cumsum(is_new) - 1).astype(np.int32)
    heads, tails, keys = edge_3N[:, firsts]
    counts = np.bincount(edge_N[is_place], minlength=len(firsts)).astype(np.int32)
    starts = np.cumsum(counts) - counts
    is_kept = np.arange(counts.sum()) - np.repeat(starts, counts) < MAX_PROVENANCE
    phrase_2M = np.unique(np.stack((edge_N, phrases))[:, phrases != texts[""]], axis=1)

    predicates, names = keys.copy(), list(nodes)
    detail_edges, details = [], []
    for edge in np.flatnonzero((heads < tools) & (tails < tools)).tolist():
        head, tail = (nodes[names[int(end[edge])]]["id"] for end in (heads, tails))
        evidence = between[head, tail, table.texts[int(keys[edge])]]
        predicates[edge] = texts[evidence.predicate]
        if any(evidence.details.values()):
            detail_edges.append(edge)
            details.append([texts[evidence.details.get(name, "")] for name in EDGE_DETAILS])
    edges = EdgeTable(
        texts=table.texts,
        keys=keys,
        evidence_counts=counts,
        place_pointers=np.concatenate(([0], np.cumsum(np.minimum(counts, MAX_PROVENANCE)))).astype(np.int64),
        places=np.ascontiguousarray(places[:, is_place][:, is_kept].T),
        phrase_edges=phrase_2M[0],
        phrases=phrase_2M[1],
        detail_edges=np.asarray(detail_edges, dtype=np.int32),
        details=np.asarray(details, dtype=np.int32).reshape(-1, len(EDGE_DETAILS)),
    )
    highest = np.maximum.reduceat(confidences, firsts) if len(firsts) else confidences
    return ToolGraph(nodes=nodes, heads=heads, tails=tails, predicates=predicates, confidences=highest, edges=edges)


def _with_sorted_texts(table: TripleTable, more: Iterable[str]) -> tuple[TripleTable, Mapping[str, int]]:
    """Return the table with the texts that it uses, and more and the empty one, in their order; and the number of each."""
    used = {table.texts[number] for number in np.unique(table.columns[PREDICATE:START]).tolist()}
    texts = {text: number for number, text in enumerate(sorted(used.union(more, ("",))))}
    number_T = np.asarray([texts.get(text, 0) for text in table.texts], dtype=np.int32)
    columns = np.concatenate(
        (table.columns[:PREDICATE], number_T[table.columns[PREDICATE:START]], table.columns[START:])
    )
    return TripleTable(table.ends, list(texts), columns, table.confidences), texts
