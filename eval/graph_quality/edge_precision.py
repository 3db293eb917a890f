"""Precision and recall of the edges between tools against gold edges, compared with lexical baselines."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ontology.errors import DocumentError
from ontology.files import read_bounded
from ontology.names import canonical_name
from ontology.reporting import Proportion
from ontology.tool import Parameter, Tool
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


def map_ends(pairs: Pairs, size: int, groups: Numbers, group_count: int) -> Pairs:
    """Return the pairs of the groups of both ends; ``groups`` maps each number below ``size`` to a number below
    ``group_count``.
    """
    first, second = np.divmod(pairs, size)
    return encode(groups[first], groups[second], group_count)


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


LEXICAL_BASELINES = ("same name", "shared words", "same type")
"""A tool is a consumer of another by ``same name``: one of its inputs has the name of one of the other's outputs; by
``shared words``: every word of the name of one of its inputs is in the other's name or in the names of its outputs; by
``same type``: one of its inputs has the declared type of one of the other's outputs."""


def lexical_pairs(snapshot: Snapshot, scope: Numbers) -> dict[str, Pairs]:
    """Return for each of :data:`LEXICAL_BASELINES` the pairs (consumer, producer) among the tools of ``scope``."""
    tools = {int(number): snapshot.tool(int(number)) for number in scope}
    names = _Names(snapshot.abbreviations)
    outputs = _index(tools, names.outputs)
    words = _index(tools, names.output_words)
    types = _index(tools, lambda tool: _types(tool.returns))
    size = snapshot.tool_count
    found = (
        _matched(tools, names.inputs, outputs.get, size),
        _matched(tools, names.inputs, lambda name: _having_all(name.split(), words), size),
        _matched(tools, lambda tool: _types(tool.parameters), types.get, size),
    )
    return dict(zip(LEXICAL_BASELINES, found, strict=True))


class _Names:
    """Canonical names of fields; the last segment of a dotted path is the field's name."""

    def __init__(self, abbreviations: Mapping[str, str]) -> None:
        self._abbreviations = abbreviations

    def inputs(self, tool: Tool) -> set[str]:
        return {self._field(parameter.name) for parameter in tool.parameters} - {""}

    def outputs(self, tool: Tool) -> set[str]:
        return {self._field(output.name) for output in tool.returns} - {""}

    def output_words(self, tool: Tool) -> set[str]:
        """The words of the tool's name and of the names of its outputs."""
        names = [canonical_name(tool.name, self._abbreviations), *self.outputs(tool)]
        return {word for name in names for word in name.split()}

    def _field(self, name: str) -> str:
        return canonical_name(name.rsplit(".", 1)[-1], self._abbreviations)


def _types(fields: Iterable[Parameter]) -> set[str]:
    return {field.type.lower() for field in fields}


def _index(tools: Mapping[int, Tool], texts: Callable[[Tool], set[str]]) -> dict[str, Numbers]:
    """Return a map from text to the tools with it, ascending."""
    found: dict[str, list[int]] = defaultdict(list)
    for number, tool in tools.items():
        for text in texts(tool):
            found[text].append(number)
    return {text: np.asarray(sorted(numbers), dtype=np.int64) for text, numbers in found.items()}


def _having_all(words: Iterable[str], index: Mapping[str, Numbers]) -> Numbers | None:
    found: Numbers | None = None
    for word in words:
        having = index.get(word)
        if having is None:
            return None
        found = having if found is None else np.intersect1d(found, having, assume_unique=True)
    return found


def _matched(
    tools: Mapping[int, Tool],
    inputs: Callable[[Tool], set[str]],
    producers_of: Callable[[str], Numbers | None],
    size: int,
) -> Pairs:
    """Return the pairs (tool, other tool) where the other tool produces one of the tool's inputs."""
    known: dict[str, Numbers | None] = {}
    found = [np.empty(0, dtype=np.int64)]
    for number, tool in tools.items():
        for name in inputs(tool):
            if name not in known:
                known[name] = producers_of(name)
            if (producers := known[name]) is not None:
                found.append(encode(np.full(len(producers), number), producers, size))
    return np.unique(np.concatenate(found))


_TOGETHER = "together"  # all dependencies between tools
_ALL_KINDS = "all kinds"
_OF_ENTITY_SETS = " of entity sets"


@dataclass(frozen=True, slots=True)
class PrecisionRecall:
    """Precision and recall of a set of edges.

    :param precision: share of gold edges among the edges between tools that occur in any gold edge. Gold edges are far
        from complete, so edges of other tools count as neither right nor wrong.
    :param recall: share of the gold edges that were found.
    """

    precision: Proportion
    recall: Proportion


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One group of edges against one kind of gold edges."""

    gold: str
    edges: str
    directed: bool
    precision: Proportion
    recall: Proportion


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldKind:
    """One kind of gold edges.

    :param ends: number of tools (or entity sets) in any of its pairs.
    :param density: ``pairs`` divided by all ordered pairs of ``ends``, in [0, 1]: the precision of a complete
        graph.
    """

    pairs: int
    ends: int
    density: float | None


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


def score(found: Pairs, gold: Pairs, size: int, *, directed: bool) -> PrecisionRecall:
    """Return precision and recall of pairs of numbers below ``size``."""
    if not directed:
        found, gold = undirected(found, size), undirected(gold, size)
    in_gold = np.zeros(size, dtype=bool)
    in_gold[ends(gold, size)] = True
    first, second = np.divmod(found, size)
    within = found[in_gold[first] & in_gold[second]]
    hits = int(np.isin(within, gold, assume_unique=True).sum())
    return PrecisionRecall(precision=Proportion(hits, len(within)), recall=Proportion(hits, len(gold)))


def measure_edge_precision(
    snapshot: Snapshot, gold_files: Sequence[Path], external: ExternalEdges | None = None
) -> EdgePrecision:
    """Score every group of edges, and the lexical baselines, against every kind of gold edges.

    Dependencies that the documents declare were not derived, so these ``depends_on`` edges are left out and counted.

    :param external: further groups of edges to score, from another method.
    :raises DocumentError: when a file cannot be read.
    """
    gold = encode_edges(read_gold_edges(gold_files), snapshot)
    found = derived_pairs(snapshot)
    declared = np.intersect1d(found["depends_on"], declared_pairs(snapshot), assume_unique=True)
    found["depends_on"] = np.setdiff1d(found["depends_on"], declared, assume_unique=True)
    views = _views(snapshot, {kind: pairs for kind, pairs in gold.pairs.items() if len(pairs)})
    others = encode_edges(external or {}, snapshot)
    groups = {
        **{name: pairs for name, pairs in found.items() if name != "depends_on" or len(pairs)},
        _TOGETHER: _union(found.values()),
        **others.pairs,
        **lexical_pairs(snapshot, _union(view.tools_in_gold for view in views)),
    }
    return EdgePrecision(
        gold={kind: facts for view in views for kind, facts in view.gold_kinds().items()},
        unknown_gold_edges=sum(gold.unknown.values()),
        unknown_external_edges=others.unknown,
        declared_left_out=len(declared),
        scores=tuple(one for view in views for one in view.scores(groups)),
    )


@dataclass(frozen=True, kw_only=True)
class _View:
    """Single tools, or tools grouped by their OData entity set.

    :param suffix: suffix of the names of the kinds.
    :param groups: for each tool the number, below ``size``, of its group, int64 [tools].
    :param gold: map from kind to pairs of these numbers; with :data:`_ALL_KINDS` where there are several kinds.
    """

    suffix: str
    groups: Numbers
    size: int
    gold: Mapping[str, Pairs]

    @property
    def tools_in_gold(self) -> Numbers:
        """The tools in any gold edge."""
        return np.flatnonzero(np.isin(self.groups, ends(_union(self.gold.values()), self.size)))

    def gold_kinds(self) -> dict[str, GoldKind]:
        """The kinds of gold edges by name."""
        facts = {}
        for kind, pairs in self.gold.items():
            count = len(ends(pairs, self.size))
            density = len(pairs) / (count * (count - 1)) if count > 1 else None
            facts[kind + self.suffix] = GoldKind(pairs=len(pairs), ends=count, density=density)
        return facts

    def scores(self, groups: Mapping[str, Pairs]) -> Iterator[Score]:
        """Yield the score of each group of pairs against each kind."""
        mapped = {name: map_ends(pairs, len(self.groups), self.groups, self.size) for name, pairs in groups.items()}
        for kind, gold in self.gold.items():
            for name, pairs in mapped.items():
                for directed in (True, False):
                    found = score(pairs, gold, self.size, directed=directed)
                    yield Score(
                        gold=kind + self.suffix,
                        edges=name,
                        directed=directed,
                        precision=found.precision,
                        recall=found.recall,
                    )


def _views(snapshot: Snapshot, gold: Mapping[str, Pairs]) -> list[_View]:
    """Return the view of single tools and, where some have an OData entity set, the view grouped by entity set.

    A navigation property connects two entity sets, and so all tools of the two.
    """
    if not gold:
        return []
    by_kind = dict(gold)
    if len(by_kind) > 1:
        by_kind[_ALL_KINDS] = _union(by_kind.values())
    count = snapshot.tool_count
    plain = np.arange(count, dtype=np.int64)
    views = [_View(suffix="", groups=plain, size=count, gold=by_kind)]
    numbers: dict[str, int] = {}
    sets = plain.copy()
    for number, tool in enumerate(snapshot.tools):
        if name := _entity_set(tool):
            sets[number] = count + numbers.setdefault(name, len(numbers))
    if numbers:
        size = count + len(numbers)
        mapped = {kind: map_ends(pairs, count, sets, size) for kind, pairs in by_kind.items()}
        views.append(_View(suffix=_OF_ENTITY_SETS, groups=sets, size=size, gold=mapped))
    return views


def _entity_set(tool: Tool) -> str:
    """Return the service and the entity set of a tool; empty where there is none."""
    metadata = tool.metadata
    name = metadata.get("entity_set")
    service = metadata.get("service") or metadata.get("namespace") or metadata.get("app") or ""
    return f"{service} {name}" if name else ""


def _union(sets: Iterable[Pairs]) -> Pairs:
    return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *sets]))
