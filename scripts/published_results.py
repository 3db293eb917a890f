"""``docs/results.json``: the one place of every published figure. The documents are made from it, which a test checks.

``make bench-quality`` and ``make bench-peers`` renew it. It keeps the figures that the documents show; all that was
measured is in ``out/``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from eval.graph_quality.statistics import ConnectivityShare
from pydantic import TypeAdapter

from eval.graph_quality import ANY_TOOL_EDGE, GraphQuality
from eval.graph_quality.edge_precision import Score
from eval.measured_set import MeasuredSet
from eval.queries import of_split
from eval.summary import Figure, Summary, summarise, summary_from_json, summary_to_json
from eval.systems.ablations import ABLATIONS
from ontology.errors import InvalidArgumentError
from ontology.files import write_file
from retrieval.presets import DEFAULT_PRESET
from scripts.bench_sets import DEPENDENCIES_GIVEN, MACRO_SETS, ROOT, SHIPPED
from scripts.provenance import Provenance

__all__ = [
    "BASELINE",
    "COMPLETE",
    "DOCS",
    "NO_GRAPH",
    "PAIRS",
    "PAPER_TABLE",
    "SPLITS",
    "PublishedGraph",
    "Results",
    "collect",
    "half_sets",
    "read_results",
    "with_halves",
    "with_peers",
    "with_sets",
    "with_system",
    "write_results",
]

DOCS = ROOT / "docs"
PAPER_TABLE = ("bm25-regex-title", "semantic", "hybrid", "paper")
BASELINE = "rrf"
NO_GRAPH = "default-no-graph"
COMPLETE = ("CompleteRecall@3", "CompleteRecall@5", "CompleteRecall@10")
PAIRS = {
    "paper_against_hybrid": ("paper", "hybrid"),
    "paper_against_fusion": ("paper", "fusion"),
    "graph_against_none": (DEFAULT_PRESET, NO_GRAPH),
    "default_against_hybrid": (DEFAULT_PRESET, "hybrid"),
    "default_against_paper": (DEFAULT_PRESET, "paper"),
}
"""Name of a comparison → a system and the baseline of its differences."""
SPLITS = ("dev", "test")
_LADDER = (*PAPER_TABLE, "bm25", BASELINE, "fusion", "fusion-clauses", NO_GRAPH, DEFAULT_PRESET)


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


@dataclass(frozen=True, kw_only=True)
class Results:
    """What is published.

    :param everything: every system on every set, differences to ``rrf``.
    :param nine: the same, averaged over the sets of the macro average.
    :param ablations: ``default`` and its ablations, averaged over these nine, differences to ``default``.
    :param halves: the shipped model-written requests, the dev half and the test half each as a set, differences to
        ``rrf``.
    :param pairs: by the names of :data:`PAIRS`, two systems on every set and class, and on the two halves.
    :param graph: set → quality of its tool graph.
    :param peers: other retrievers beside ours, differences to ``default``: ``peers`` on every set, ``peers_nine``
        averaged over the nine, ``peers_given`` with dependencies given; empty before they were measured.
    :param measured: with what: ``everything``, ``peers``, and by name each set, half or ablation that was measured apart.
    """

    everything: Summary
    nine: Summary
    ablations: Summary
    halves: Summary
    pairs: Mapping[str, Summary]
    graph: Mapping[str, PublishedGraph]
    peers: Mapping[str, Summary] = field(default_factory=dict)
    measured: Mapping[str, Provenance] = field(default_factory=dict)


_PARTS = ("everything", "nine", "ablations", "halves")
_PEERS = ("peers", "peers_nine", "peers_given")
_GRAPHS = TypeAdapter(dict[str, PublishedGraph])
_MEASURED = TypeAdapter(dict[str, Provenance])


def collect(measured: Sequence[MeasuredSet]) -> Results:
    """The figures of a whole run, without peers."""
    nine = _nine(measured)
    (shipped,) = (one for one in measured if one.queries.name == SHIPPED)
    return Results(
        everything=_by_set(summarise(measured, baseline=BASELINE)),
        nine=_means(summarise(nine, baseline=BASELINE)),
        ablations=_means(summarise(_ablated(nine), baseline=DEFAULT_PRESET)),
        halves=_halves(shipped),
        pairs=_pairs([*measured, *half_sets(shipped)]),
        graph=_graphs(measured),
    )


def with_peers(results: Results, measured: Sequence[MeasuredSet]) -> Results:
    """The results with the peers' figures, of sets as they are and of sets with dependencies given."""
    given = [one for one in measured if one.queries.name.endswith(DEPENDENCIES_GIVEN)]
    plain = [one for one in measured if one not in given]
    peers = {
        "peers": _by_set(summarise(plain, baseline=DEFAULT_PRESET)),
        "peers_nine": _means(summarise(_nine(plain), baseline=DEFAULT_PRESET)),
        "peers_given": _by_set(summarise(given, baseline=DEFAULT_PRESET)),
    }
    return replace(results, peers=peers)


def with_halves(results: Results, shipped: MeasuredSet) -> Results:
    """The results with the halves of the shipped requests measured again."""
    return replace(_with_pairs(results, half_sets(shipped)), halves=_halves(shipped))


def with_sets(results: Results, measured: Sequence[MeasuredSet]) -> Results:
    """The results with these sets added, or measured again, without times; none is of the nine, so no mean changes.

    :raises InvalidArgumentError: when one is of the nine.
    """
    nine = [one.queries.name for one in _nine(measured)]
    if nine:
        raise InvalidArgumentError(
            "the mean would not be of these answers", subject=", ".join(nine), remedy="Measure everything again"
        )
    return replace(
        _with_pairs(results, measured),
        everything=_merged(results.everything, _untimed(_by_set(summarise(measured, baseline=BASELINE)))),
        graph=dict(sorted((dict(results.graph) | _graphs(measured)).items(), key=lambda item: _place(item[0]))),
    )


def _with_pairs(results: Results, measured: Sequence[MeasuredSet]) -> Results:
    pairs = dict(results.pairs)
    for name, fresh in _pairs(measured).items():
        pairs[name] = _merged(pairs[name], fresh) if name in pairs else fresh
    return replace(results, pairs=pairs)


def _merged(published: Summary, fresh: Summary) -> Summary:
    """A published summary with the sets of a fresh one in the place of those of the same names."""
    return replace(
        published,
        sets=dict(sorted((dict(published.sets) | dict(fresh.sets)).items(), key=lambda item: _place(item[0]))),
        figures=(*(one for one in published.figures if _set_of(one) not in fresh.sets), *fresh.figures),
        facts=(*(one for one in published.facts if one.set_name not in fresh.sets), *fresh.facts),
    )


def _untimed(summary: Summary) -> Summary:
    """Without times: those of a part are from another run than the published ones."""
    return replace(summary, facts=tuple(replace(fact, stages_ms={}, resources={}) for fact in summary.facts))


def _place(name: str) -> tuple[bool, str]:
    """Open sets by name, then the shipped ones."""
    return name.startswith(SHIPPED), name


def _set_of(figure: Figure) -> str:
    return figure.set_name or figure.group


def with_system(results: Results, measured: Sequence[MeasuredSet], system: str) -> Results:
    """The results with one ablation measured again on the nine sets, beside ``default`` and ``rrf``; without its times.

    :raises InvalidArgumentError: when one of these two now has other figures than the published ones.
    """
    nine = _nine(measured)
    fresh = (
        ("everything", _untimed(_by_set(summarise(nine, baseline=BASELINE)))),
        ("nine", _means(summarise(nine, baseline=BASELINE))),
        ("ablations", _means(summarise(_ablated(nine), baseline=DEFAULT_PRESET))),
    )
    parts: dict[str, Any] = {name: _replaced(getattr(results, name), part, system) for name, part in fresh}
    return replace(results, **parts)


def _replaced(published: Summary, fresh: Summary, system: str) -> Summary:
    """A published summary in which the figures of one system are the fresh ones."""
    figures = {_key(one): one for one in fresh.figures}
    facts = {(one.set_name, one.system): one for one in fresh.facts}
    for one in published.figures:
        if one.system != system and not _agree(one, figures.get(_key(one), one)):
            raise InvalidArgumentError(
                f"{one.system} was published with {one.value} for {one.measure} and now has {figures[_key(one)].value}",
                subject=one.group or "the mean",
                remedy="Measure everything again, with: make bench-quality",
            )
    return replace(
        published,
        figures=tuple(figures.get(_key(one), one) if one.system == system else one for one in published.figures),
        facts=tuple(
            facts.get((one.set_name, one.system), one) if one.system == system else one for one in published.facts
        ),
    )


def _agree(one: Figure, other: Figure) -> bool:
    """Whether two figures are equal up to the last of their six digits, which the order of a sum may change."""
    return all(
        math.isclose(value, asdict(other)[name] or 0.0, abs_tol=2e-6)
        for name, value in asdict(one).items()
        if isinstance(value, float)
    )


def _key(figure: Figure) -> tuple[str, ...]:
    return figure.scope, figure.set_name, figure.group, figure.system, figure.measure


def _nine(measured: Sequence[MeasuredSet]) -> list[MeasuredSet]:
    return [one for one in measured if one.queries.name in MACRO_SETS]


def _ablated(measured: Sequence[MeasuredSet]) -> list[MeasuredSet]:
    return [_only(one, (DEFAULT_PRESET, *ABLATIONS)) for one in measured]


def half_sets(shipped: MeasuredSet) -> list[MeasuredSet]:
    """The dev half and the test half of the shipped requests, each as a set."""
    parts = []
    for split in SPLITS:
        queries = of_split(shipped.queries, split)
        queries = replace(queries, name=f"{queries.name}-{split}")
        runs = (run for run in shipped.runs if run.system in _LADDER)
        ids = {query.id for query in queries.queries}
        halved = tuple(
            replace(
                run,
                queries_sha256=queries.sha256,
                answers={id_: answer for id_, answer in run.answers.items() if id_ in ids},
            )
            for run in runs
        )
        parts.append(replace(shipped, queries=queries, runs=halved, missing_gold={}, graph=None))
    return parts


def _halves(shipped: MeasuredSet) -> Summary:
    return _by_set(summarise(half_sets(shipped), baseline=BASELINE))


def _by_set(summary: Summary) -> Summary:
    """CompleteRecall of every set, and of the shipped set by class."""

    def shown(one: Figure) -> bool:
        by_class = one.scope == "class" and one.set_name == SHIPPED and one.system in _LADDER
        return one.measure in COMPLETE and (one.scope == "set" or by_class)

    totals = tuple(
        replace(fact, stages_ms={stage: ms for stage, ms in fact.stages_ms.items() if stage == "total"})
        for fact in summary.facts
    )
    return _filtered(replace(summary, facts=totals), shown)


def _means(summary: Summary) -> Summary:
    """Every measure, averaged over the sets."""
    return replace(_filtered(summary, lambda one: one.scope == "macro"), facts=())


def _pairs(measured: Sequence[MeasuredSet]) -> dict[str, Summary]:
    return {name: _pair(measured, *pair) for name, pair in PAIRS.items()}


def _pair(measured: Sequence[MeasuredSet], system: str, baseline: str) -> Summary:
    """CompleteRecall of two systems, every set and class; not their mean, which would count some sets twice."""
    summary = summarise([_only(one, (system, baseline)) for one in measured], baseline=baseline)
    shown = _filtered(summary, lambda one: one.measure in COMPLETE and one.scope in ("set", "class"))
    return replace(shown, facts=())


def _graphs(measured: Sequence[MeasuredSet]) -> dict[str, PublishedGraph]:
    return {
        one.queries.name: _published(one.graph)
        for one in measured
        if one.graph is not None and not one.queries.name.endswith(DEPENDENCIES_GIVEN)
    }


def _filtered(summary: Summary, shown: Callable[[Figure], bool]) -> Summary:
    return replace(summary, figures=tuple(filter(shown, summary.figures)))


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
    """Write the JSON; where the results have no peers, those in the file stay."""
    path = docs / "results.json"
    values: dict[str, Any] = {name: summary_to_json(getattr(results, name)) for name in _PARTS}
    values |= {name: summary_to_json(part) for name, part in results.pairs.items()}
    if results.peers:
        values |= {name: summary_to_json(part) for name, part in results.peers.items()}
    elif path.exists():
        before = json.loads(path.read_text(encoding="utf-8"))
        values |= {name: before[name] for name in _PEERS if name in before}
        results = replace(results, measured={**results.measured, **_peers_measured(before)})
    values["measured"] = _MEASURED.dump_python(dict(results.measured), mode="json")
    values["graph"] = _GRAPHS.dump_python(dict(results.graph), mode="json")
    lines = [f"{json.dumps(name)}: {_compact(value)}" for name, value in values.items()]
    write_file(path, "{\n" + ",\n".join(lines) + "\n}\n")


def _peers_measured(values: Mapping[str, Any]) -> dict[str, Provenance]:
    measured = _MEASURED.validate_python(values.get("measured", {}))
    return {name: one for name, one in measured.items() if name == "peers"}


def read_results(docs: Path = DOCS) -> Results:
    """What was published last.

    :raises DocumentError: when it is damaged.
    """
    values = json.loads((docs / "results.json").read_text(encoding="utf-8"))
    parts: dict[str, Any] = {name: summary_from_json(values[name]) for name in _PARTS}
    return Results(
        **parts,
        pairs={name: summary_from_json(values[name]) for name in PAIRS if name in values},
        peers={name: summary_from_json(values[name]) for name in _PEERS if name in values},
        graph=_GRAPHS.validate_python(values["graph"]),
        measured=_MEASURED.validate_python(values.get("measured", {})),
    )


def _compact(value: Any) -> str:
    """JSON with a line for each figure, so that a difference is readable."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return re.sub(r'(?<=[\]}]),(?=\[|\{"set_name")', ",\n", text)
