"""Precision and recall of the edges between tools against gold edges, compared with lexical baselines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eval.graph_quality.edge_files import ExternalEdges, encode_edges, read_gold_edges
from eval.graph_quality.lexical_edges import lexical_pairs
from eval.graph_quality.tool_pairs import Numbers, Pairs, declared_pairs, derived_pairs, ends, map_ends, undirected
from ontology.proportion import Proportion
from ontology.tool import Tool
from retrieval.snapshot.reader import Snapshot

__all__ = ["EdgePrecision", "GoldKind", "PrecisionRecall", "Score", "measure_edge_precision", "score"]

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
