"""Precision and recall of the edges between tools against gold edges."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ontology.errors import DocumentError
from ontology.files import read_bounded
from ontology.reporting import Proportion
from retrieval.snapshot.reader import Snapshot

__all__ = [
    "DEPENDENCY_PREDICATES",
    "EdgePrecision",
    "ExternalEdges",
    "GoldKind",
    "Numbers",
    "Pairs",
    "Score",
    "encode",
    "measure_edge_precision",
    "read_external_edges",
]

Numbers = NDArray[np.int64]
Pairs = NDArray[np.int64]
"""A set of ordered pairs of numbers below ``size``: ``first * size + second``, ascending, distinct; no number is
paired with itself.
"""

DEPENDENCY_PREDICATES = ("supplies", "resolved_by", "depends_on")
"""The predicates between a consumer and a producer."""
_FROM_PRODUCER = (
    "supplies"  # leads from the producer to the consumer; the others lead from the consumer to the producer
)


def encode(first: NDArray[np.integer[Any]], second: NDArray[np.integer[Any]], size: int) -> Pairs:
    """Encode the pairs ``(first[i], second[i])`` as a set."""
    differ = first != second
    return np.unique(first[differ].astype(np.int64) * size + second[differ])


def ends(pairs: Pairs, size: int) -> Numbers:
    """Return the numbers in any pair, ascending."""
    return np.unique(np.concatenate(np.divmod(pairs, size)))


def undirected(pairs: Pairs, size: int) -> Pairs:
    """Return the pairs with the smaller number first."""
    first, second = np.divmod(pairs, size)
    return encode(np.minimum(first, second), np.maximum(first, second), size)


def derived_pairs(snapshot: Snapshot) -> dict[str, Pairs]:
    """Return for each predicate of :data:`DEPENDENCY_PREDICATES` the pairs (consumer, producer) of the graph."""
    count, edges = snapshot.tool_count, snapshot.adjacency
    between = np.flatnonzero((edges.heads < count) & (edges.tails < count))
    heads, tails, predicates = edges.heads[between], edges.tails[between], edges.predicates[between]
    found = {}
    for name in DEPENDENCY_PREDICATES:
        of = predicates == snapshot.predicates.index(name) if name in snapshot.predicates else predicates < 0
        consumers, producers = (tails[of], heads[of]) if name == _FROM_PRODUCER else (heads[of], tails[of])
        found[name] = encode(consumers, producers, count)
    return found


def declared_pairs(snapshot: Snapshot) -> Pairs:
    """The pairs (consumer, producer) that the documents declare."""
    found = []
    for number, tool in enumerate(snapshot.tools):
        for dependency in tool.depends_on:
            producer = snapshot.find_node(f"tool:{dependency.tool}")
            if producer is not None:
                found.append((number, producer))
    pairs = np.asarray(found, dtype=np.int64).reshape(-1, 2)
    return encode(pairs[:, 0], pairs[:, 1], snapshot.tool_count)


ExternalEdges = Mapping[str, Sequence[tuple[str, str]]]
"""Map from the name of a group to its edges (id of the consumer, id of the producer)."""
_RP = "R-P"


@dataclass(frozen=True, kw_only=True)
class EncodedEdges:
    """Groups of edges as pairs of numbers.

    :param pairs: map from the name of a group to its pairs (consumer, producer).
    :param unknown: map from the name of a group to the number of edges with an unknown tool; they are left out.
    """

    pairs: Mapping[str, Pairs]
    unknown: Mapping[str, int]


class _Edge(NamedTuple):
    consumer: str
    producer: str
    kind: str


def read_gold_edges(files: Sequence[Path]) -> dict[str, list[tuple[str, str]]]:
    """Read gold edges by kind; only the part of a kind before the first colon is used (``parameter:supplier_id``).

    :raises DocumentError: for an invalid row, with file and line.
    """
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for path in files:
        for edge in _edges(path, "from", "to"):
            found[(edge.kind or "dependency").split(":")[0]].append((edge.consumer, edge.producer))
    return dict(sorted(found.items()))


def read_external_edges(files: Sequence[Path]) -> dict[str, list[tuple[str, str]]]:
    """Read groups of external edges; a group has the name of its file, without the extension.

    Rows with another ``kind`` than ``R-P`` are left out, because they are not dependencies.

    :raises DocumentError: for an invalid row, with file and line.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    for path in files:
        edges = _edges(path, "target", "source")
        found.setdefault(path.stem, []).extend(
            (each.consumer, each.producer) for each in edges if each.kind in ("", _RP)
        )
    return found


def encode_edges(groups: ExternalEdges, snapshot: Snapshot) -> EncodedEdges:
    """Encode groups of edges as pairs of the snapshot's tool numbers."""
    pairs: dict[str, Pairs] = {}
    unknown: dict[str, int] = {}
    for name, edges in groups.items():
        numbers = [tuple(snapshot.find_node(f"tool:{tool}") for tool in edge) for edge in edges]
        known = np.asarray([pair for pair in numbers if None not in pair], dtype=np.int64).reshape(-1, 2)
        pairs[name] = encode(known[:, 0], known[:, 1], snapshot.tool_count)
        unknown[name] = len(numbers) - len(known)
    return EncodedEdges(pairs=pairs, unknown=unknown)


def _edges(path: Path, consumer: str, producer: str) -> Iterator[_Edge]:
    """Yield the edges of a file; ``consumer`` and ``producer`` are the JSON keys of the two tools."""
    try:
        lines = read_bounded(path, 2**30).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentError(f"the edges cannot be read: {error}", subject=str(path)) from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            edge = _Edge(str(row[consumer]), str(row[producer]), str(row.get("kind") or ""))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DocumentError(
                "an edge must be an object with the tool ids {!r} and {!r}".format(*sorted((consumer, producer))),
                subject=f"{path}:{number}",
            ) from error
        yield edge


_TOGETHER = "together"  # all dependencies between tools
_ALL_KINDS = "all kinds"


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One group of edges against one kind of gold edges.

    :param precision: share of gold edges among the edges between tools that occur in any gold edge. Gold edges are far
        from complete, so edges of other tools count as neither right nor wrong.
    :param recall: share of the gold edges that were found.
    """

    gold: str
    edges: str
    directed: bool
    precision: Proportion
    recall: Proportion


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldKind:
    """One kind of gold edges.

    :param ends: number of tools in any of its pairs.
    :param density: ``pairs`` divided by all ordered pairs of ``ends``, in [0, 1]: the precision of a complete
        graph.
    """

    pairs: int
    ends: int
    density: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgePrecision:
    """Every group of edges against every kind of gold edges.

    :param gold: map from kind to its facts.
    :param unknown_gold_edges: number of gold edges with a tool that the catalogue does not have.
    :param unknown_external_edges: map from group to the number of such external edges.
    :param declared_left_out: number of ``depends_on`` edges that the documents declare and that are not scored.
    """

    gold: Mapping[str, GoldKind]
    unknown_gold_edges: int
    unknown_external_edges: Mapping[str, int]
    declared_left_out: int
    scores: tuple[Score, ...]


def score(found: Pairs, gold: Pairs, size: int, *, directed: bool) -> dict[str, Proportion]:
    """Return precision and recall of pairs of numbers below ``size``."""
    if not directed:
        found, gold = undirected(found, size), undirected(gold, size)
    in_gold = np.zeros(size, dtype=bool)
    in_gold[ends(gold, size)] = True
    first, second = np.divmod(found, size)
    within = found[in_gold[first] & in_gold[second]]
    hits = int(np.isin(within, gold, assume_unique=True).sum())
    return {"precision": Proportion(hits, len(within)), "recall": Proportion(hits, len(gold))}


def measure_edge_precision(
    snapshot: Snapshot, gold_files: Sequence[Path], external: ExternalEdges | None = None
) -> EdgePrecision:
    """Score every group of edges against every kind of gold edges.

    Dependencies that the documents declare were not derived, so these ``depends_on`` edges are left out and counted.

    :param external: further groups of edges to score, from another method.
    :raises DocumentError: when a file cannot be read.
    """
    gold = encode_edges(read_gold_edges(gold_files), snapshot)
    found = derived_pairs(snapshot)
    declared = np.intersect1d(found["depends_on"], declared_pairs(snapshot), assume_unique=True)
    found["depends_on"] = np.setdiff1d(found["depends_on"], declared, assume_unique=True)
    by_kind = {kind: pairs for kind, pairs in gold.pairs.items() if len(pairs)}
    if len(by_kind) > 1:
        by_kind[_ALL_KINDS] = _union(by_kind.values())
    others = encode_edges(external or {}, snapshot)
    groups = {
        **{name: pairs for name, pairs in found.items() if name != "depends_on" or len(pairs)},
        _TOGETHER: _union(found.values()),
        **others.pairs,
    }
    size = snapshot.tool_count
    return EdgePrecision(
        gold={kind: _facts(pairs, size) for kind, pairs in by_kind.items()},
        unknown_gold_edges=sum(gold.unknown.values()),
        unknown_external_edges=others.unknown,
        declared_left_out=len(declared),
        scores=tuple(
            Score(gold=kind, edges=name, directed=directed, **score(pairs, wanted, size, directed=directed))
            for kind, wanted in by_kind.items()
            for name, pairs in groups.items()
            for directed in (True, False)
        ),
    )


def _facts(pairs: Pairs, size: int) -> GoldKind:
    count = len(ends(pairs, size))
    return GoldKind(pairs=len(pairs), ends=count, density=len(pairs) / (count * (count - 1)))


def _union(sets: Iterable[Pairs]) -> Pairs:
    return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *sets]))
