"""``docs/results.json`` and the documents made from it: the one place that every published figure comes from.

``make bench-quality`` and ``make bench-peers`` renew the JSON; the documents are its rendering and nothing else, which a
test checks. It keeps the figures that the documents show, not all that were measured: those are in ``out/``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from eval.graph_quality import ANY_TOOL_EDGE, GraphQuality
from eval.graph_quality.connectivity import ConnectivityShare
from eval.graph_quality.edge_precision import Score
from eval.measured_set import MeasuredSet
from eval.summary import Figure, Summary, summarise, summary_from_json, summary_to_json
from ontology.files import write_file
from retrieval.ablations import ABLATIONS
from retrieval.presets import DEFAULT_PRESET
from scripts.bench_sets import DEPENDENCIES_GIVEN, MACRO_SETS, ROOT, SHIPPED

__all__ = [
    "DOCS",
    "PAPER_TABLE",
    "Results",
    "collect",
    "read_results",
    "replace_block",
    "slashed",
    "with_peers",
    "write_results",
]

DOCS = ROOT / "docs"
PAPER_TABLE = ("bm25-regex-title", "semantic", "hybrid", "paper")
BASELINE = "rrf"
NO_GRAPH = "default-no-graph"
_HEADLINE = (*PAPER_TABLE, BASELINE, "fusion", DEFAULT_PRESET, NO_GRAPH)
_COMPLETE = ("CompleteRecall@3", "CompleteRecall@5", "CompleteRecall@10")


@dataclass(frozen=True, kw_only=True)
class PublishedGraph:
    """What the documents show of the quality of a tool graph.

    :param scores: of the directed edges.
    :param connectivity: share of requests of which an edge joins two tools; None where none needs several.
    """

    scores: tuple[Score, ...]
    connectivity: ConnectivityShare | None
    duplicates: int
    names_merged: int
    triples_kept: int
    triples_rejected: int


_GRAPHS = TypeAdapter(dict[str, PublishedGraph])


@dataclass(frozen=True, kw_only=True)
class Results:
    """What is published.

    :param everything: every system on every set, differences to ``rrf``.
    :param nine: the same over the sets of the macro average.
    :param ablations: ``default`` and its ablations over these nine, differences to ``default``.
    :param paper_against_hybrid: the paper's claim: two systems, every set and class.
    :param paper_against_fusion: the same reranker over the ensemble of ego graphs and over the whole catalogue, likewise.
    :param graph_against_none: ``default`` against itself without the graph, likewise.
    :param default_against_hybrid: ``default`` and the paper's hybrid, likewise.
    :param graph: set → quality of its tool graph.
    :param peers: other retrievers beside ours on every set, differences to ``default``; None before they were measured.
    :param peers_nine: the same over the sets of the macro average.
    :param peers_given: the same with dependencies given.
    """

    everything: Summary
    nine: Summary
    ablations: Summary
    paper_against_hybrid: Summary
    paper_against_fusion: Summary
    graph_against_none: Summary
    default_against_hybrid: Summary
    graph: Mapping[str, PublishedGraph]
    peers: Summary | None = None
    peers_nine: Summary | None = None
    peers_given: Summary | None = None


_PEERS = ("peers", "peers_nine", "peers_given")
_SUMMARIES = (
    "everything",
    "nine",
    "ablations",
    "paper_against_hybrid",
    "paper_against_fusion",
    "graph_against_none",
    "default_against_hybrid",
    *_PEERS,
)


def collect(measured: Sequence[MeasuredSet]) -> Results:
    """The figures of a whole run; peers are left to their own."""
    nine = [one for one in measured if one.queries.name in MACRO_SETS]
    parts = [_only(one, (DEFAULT_PRESET, *ABLATIONS)) for one in nine]
    return Results(
        everything=_by_set(summarise(measured, baseline=BASELINE)),
        nine=_means(summarise(nine, baseline=BASELINE)),
        ablations=_means(summarise(parts, baseline=DEFAULT_PRESET)),
        paper_against_hybrid=_pair(measured, "paper", "hybrid"),
        paper_against_fusion=_pair(measured, "paper", "fusion"),
        graph_against_none=_pair(measured, DEFAULT_PRESET, NO_GRAPH),
        default_against_hybrid=_pair(measured, DEFAULT_PRESET, "hybrid"),
        graph={
            one.queries.name: _published(one.graph)
            for one in measured
            if one.graph is not None and not one.queries.name.endswith(DEPENDENCIES_GIVEN)
        },
    )


def with_peers(results: Results, measured: Sequence[MeasuredSet]) -> Results:
    """The results with the peers' figures, of sets as they are and of sets with dependencies given."""
    given = [one for one in measured if one.queries.name.endswith(DEPENDENCIES_GIVEN)]
    plain = [one for one in measured if one not in given]
    nine = [one for one in plain if one.queries.name in MACRO_SETS]
    return replace(
        results,
        peers=_by_set(summarise(plain, baseline=DEFAULT_PRESET)),
        peers_nine=_means(summarise(nine, baseline=DEFAULT_PRESET)),
        peers_given=_by_set(summarise(given, baseline=DEFAULT_PRESET)),
    )


def _by_set(summary: Summary) -> Summary:
    """CompleteRecall of every set, and of the shipped set by class."""

    def shown(one: Figure) -> bool:
        by_class = one.scope == "class" and one.set_name == SHIPPED and one.system in _HEADLINE
        return one.measure in _COMPLETE and (one.scope == "set" or by_class)

    totals = tuple(
        replace(fact, stages_ms={stage: ms for stage, ms in fact.stages_ms.items() if stage == "total"})
        for fact in summary.facts
    )
    return replace(summary, figures=tuple(filter(shown, summary.figures)), facts=totals)


def _means(summary: Summary) -> Summary:
    """Every measure, averaged over the sets."""
    return replace(summary, figures=tuple(one for one in summary.figures if one.scope == "macro"), facts=())


def _pair(measured: Sequence[MeasuredSet], system: str, baseline: str) -> Summary:
    """CompleteRecall of two systems, every set and class."""
    summary = summarise([_only(one, (system, baseline)) for one in measured], baseline=baseline)
    return replace(summary, figures=tuple(one for one in summary.figures if one.measure in _COMPLETE), facts=())


def _only(measured: MeasuredSet, systems: Sequence[str]) -> MeasuredSet:
    return replace(measured, runs=tuple(run for run in measured.runs if run.system in systems))


def _published(graph: GraphQuality) -> PublishedGraph:
    relations = graph.connectivity.relations if graph.connectivity is not None else ()
    build = graph.build
    return PublishedGraph(
        scores=tuple(one for one in graph.edges.scores if one.directed) if graph.edges is not None else (),
        connectivity=next((one.two for one in relations if one.relation == ANY_TOOL_EDGE), None),
        duplicates=graph.duplicates.pairs,
        names_merged=sum(build.merges.values()) if build is not None else 0,
        triples_kept=build.triples_kept if build is not None else 0,
        triples_rejected=sum(one.triples for one in build.triples_rejected) if build is not None else 0,
    )


def write_results(results: Results, *, docs: Path = DOCS) -> None:
    """Write the JSON; what it lacks of peers stays as it was."""
    path = docs / "results.json"
    if results.peers is None and path.exists():
        before = json.loads(path.read_text(encoding="utf-8"))  # no more of it than that: it may be of an older form
        peers: dict[str, Any] = {name: summary_from_json(before[name]) for name in _PEERS if name in before}
        results = replace(results, **peers)
    values: dict[str, Any] = {name: summary_to_json(part) for name in _SUMMARIES if (part := getattr(results, name))}
    values["graph"] = _GRAPHS.dump_python(dict(results.graph), mode="json")
    lines = [f"{json.dumps(name)}: {_compact(value)}" for name, value in values.items()]
    write_file(path, "{\n" + ",\n".join(lines) + "\n}\n")


def read_results(docs: Path = DOCS) -> Results:
    """What was published last.

    :raises DocumentError: when it is damaged.
    """
    said = json.loads((docs / "results.json").read_text(encoding="utf-8"))
    parts: dict[str, Any] = {name: summary_from_json(said[name]) for name in _SUMMARIES if name in said}
    return Results(**parts, graph=_GRAPHS.validate_python(said["graph"]))


def _compact(value: Any) -> str:
    """JSON with a line for each figure, so that a difference can be read."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return re.sub(r'(?<=[\]}]),(?=\[|\{"set_name")', ",\n", text)


def slashed(values: Sequence[float]) -> str:
    """Figures at several cutoffs in one cell: ``51.1 / 62.4 / 73.1``."""
    return " / ".join(f"{value:.1f}" for value in values)


def replace_block(path: Path, name: str, text: str) -> None:
    """Put text between ``<!-- name -->`` and ``<!-- end -->`` of a document."""
    page = path.read_text(encoding="utf-8")
    pattern = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL)
    if not pattern.search(page):
        raise ValueError(f"{path.name} has no block {name!r}")
    make: Callable[[re.Match[str]], str] = lambda found: f"{found[1]}{text.strip()}\n{found[2]}"  # noqa: E731
    write_file(path, pattern.sub(make, page))
