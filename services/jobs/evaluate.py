"""Evaluations: labelled requests and systems over one snapshot in, a report in a folder out; and two of them compared."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from eval.analysis.compare import Comparison, compare, comparison_to_json
from eval.analysis.failures import analyse_failures
from eval.graph_quality import GraphQuality, find_build_report, graph_quality, read_external_edges
from eval.measured_set import SET_FILE, MeasuredSet, read_measured, write_measured
from eval.metrics import CUTOFFS
from eval.queries import QuerySet, missing_gold, read_queries, require_gold, sample_queries
from eval.report import comparison_document, document_to_html, document_to_markdown, write_report
from eval.run import Run, keep_resources, run_system
from eval.summary import Summary, summarise
from eval.system import System
from eval.systems import DEFAULT_SYSTEMS, LocalSystem, make_systems
from eval.systems.footprint import measure_footprint
from ontology.errors import InvalidArgumentError
from ontology.files import write_file
from ontology.progress import Progress
from retrieval.presets import DEFAULT_PRESET
from retrieval.retriever import MAX_K
from retrieval.snapshot.reader import Snapshot
from retrieval.snapshot.weights import FUSION
from retrieval.snapshot_engine import SnapshotEngine, open_engine
from services.rerankers import open_reranker

__all__ = ["Evaluation", "EvaluationPlan", "compare_results", "evaluate", "write_comparison"]

_BASELINE = "rrf"
_FAILURES = 60  # as many as one reads
_FAILURES_AT = 10
_PAGE = "report.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationPlan:
    """What to measure, on what, and where the results go.

    :param store: folder of the published snapshot.
    :param queries: files of labelled requests, measured as one set.
    :param out: folder of the results; finished answers in it are not asked for again.
    :param systems: names as for :func:`eval.systems.make_systems`; empty for the usual ones.
    :param baseline: the system that differences are against; empty for ``rrf``, or the first where that is not measured.
    :param split: only requests of this split, all where empty.
    :param limit: how many requests at most, 0 for all.
    :param gold_edges: files of true dependencies, to score the tool graph by.
    :param external_edges: files of edges between tools that another method found, scored beside the graph's own; each group
        has the name of its file.
    :param name: what the reports call the set; by the first file where left out.
    :param footprint: also measure each system's memory and loading, in a process of its own: some seconds a system.
    """

    store: Path
    queries: tuple[Path, ...]
    out: Path
    systems: tuple[str, ...] = ()
    baseline: str = ""
    k: int = 30
    timeout_s: float = 10.0
    split: str = ""
    limit: int = 0
    allow_missing: bool = False
    gold_edges: tuple[Path, ...] = ()
    external_edges: tuple[Path, ...] = ()
    reranker: str = FUSION
    name: str = ""
    footprint: bool = True


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What came of it.

    :param page: the page of the report to read first, of ``files``.
    """

    summary: Summary
    page: Path
    files: tuple[Path, ...]
    failed: tuple[Run, ...]


def evaluate(plan: EvaluationPlan, progress: Progress) -> Evaluation:
    """Ask every system every request, one system after the other, and report.

    :raises EgotoolsError: for anything that would spoil the measure, before the first request is asked.
    """
    cutoffs = _cutoffs(plan.k)
    queries = read_queries(plan.queries, name=plan.name, split=plan.split)
    if plan.limit:
        queries = sample_queries(queries, plan.limit)
    engine = open_engine(plan.store, reranker=(reranker := open_reranker(plan.reranker)))
    snapshot = engine.snapshot
    known = frozenset(map(snapshot.tool_id, range(snapshot.tool_count)))
    missing = missing_gold(queries, known)
    if not plan.allow_missing:
        require_gold(queries, missing)
    systems = make_systems(plan.systems or DEFAULT_SYSTEMS, snapshot, engine.encoder, reranker=reranker)
    baseline = _baseline(plan.baseline, systems)
    graph = _graph(snapshot, queries, plan, progress)
    measured = MeasuredSet(
        queries=queries,
        runs=tuple(_run(system, queries, plan, snapshot, known, progress) for system in systems),
        tools=snapshot.tool_count,
        snapshot_id=snapshot.id,
        missing_gold=missing,
        graph=graph,
    )
    write_measured(plan.out, measured)
    return _report(measured, engine, plan, baseline=baseline, cutoffs=cutoffs, progress=progress)


def _cutoffs(k: int) -> tuple[int, ...]:
    cutoffs = tuple(cutoff for cutoff in CUTOFFS if cutoff <= k)
    if not cutoffs or k > MAX_K:
        raise InvalidArgumentError(
            f"{k} tools an answer cannot be measured", subject="--k", remedy=f"Give {min(CUTOFFS)} to {MAX_K}"
        )
    return cutoffs


def _baseline(asked_for: str, systems: Sequence[System]) -> str:
    names = [system.name for system in systems]
    if asked_for and asked_for not in names:
        raise InvalidArgumentError(
            f"the baseline {asked_for!r} is not measured", subject="--baseline", remedy=f"Measured: {', '.join(names)}"
        )
    return asked_for or (_BASELINE if _BASELINE in names else names[0])


def _run(
    system: System,
    queries: QuerySet,
    plan: EvaluationPlan,
    snapshot: Snapshot,
    known: frozenset[str],
    progress: Progress,
) -> Run:
    run = run_system(
        system,
        queries,
        plan.out,
        snapshot_id=snapshot.id,
        k=plan.k,
        timeout_s=plan.timeout_s,
        progress=progress,
        known=known,
    )
    measurable = plan.footprint and isinstance(system, LocalSystem)
    if not measurable or "load_s" in run.resources or run.failure:
        return run
    reranker = "" if plan.reranker == FUSION else plan.reranker
    cost = measure_footprint(plan.store, system.name, queries.queries[0].text, reranker=reranker)
    return keep_resources(plan.out, run, cost)


def _graph(snapshot: Snapshot, queries: QuerySet, plan: EvaluationPlan, progress: Progress) -> GraphQuality:
    progress("tool graph", 0, 0)
    return graph_quality(
        snapshot,
        gold_edges=plan.gold_edges,
        external_edges=read_external_edges(plan.external_edges),
        queries=queries,
        build_report=find_build_report(snapshot),
    )


def _report(
    measured: MeasuredSet,
    engine: SnapshotEngine,
    plan: EvaluationPlan,
    *,
    baseline: str,
    cutoffs: Sequence[int],
    progress: Progress,
) -> Evaluation:
    progress("figures", 0, 0)
    summary = summarise([measured], baseline=baseline, cutoffs=cutoffs)
    names = [run.system for run in measured.runs]
    explained = DEFAULT_PRESET if DEFAULT_PRESET in names else names[-1]
    progress("failures", 0, 0)
    failures = analyse_failures(
        engine.snapshot, engine.encoder, measured, explained, k=min(_FAILURES_AT, plan.k), limit=_FAILURES
    )
    progress("report", 0, 0)
    files = write_report(plan.out, summary, [measured], failures=failures, title=measured.queries.name)
    return Evaluation(
        summary=summary,
        page=next((file for file in files if file.name == _PAGE), files[0]),
        files=files,
        failed=tuple(run for run in measured.runs if run.failure),
    )


def compare_results(before: Path, after: Path) -> Comparison:
    """Compare two folders of results: what ``evaluate`` wrote, or folders that have such folders below them.

    :raises NotFoundError: when a folder has no results.
    :raises DocumentError: when they are damaged.
    :raises InvalidArgumentError: when the two have nothing in common.
    """
    return compare(_results(before), _results(after))


def _results(folder: Path) -> list[MeasuredSet]:
    below = [] if (folder / SET_FILE).exists() else sorted(path.parent for path in folder.rglob(SET_FILE))
    results = [read_measured(each) for each in below or [folder]]
    names = [measured.queries.name for measured in results]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidArgumentError(
            f"there is more than one evaluation of {', '.join(map(repr, twice))} below this folder",
            subject=str(folder),
            remedy="Name the folder of one of them",
        )
    return results


def write_comparison(comparison: Comparison, file: Path) -> None:
    """Write a comparison as Markdown, HTML or JSON, by the file's ending.

    :raises InvalidArgumentError: when the ending is none of these.
    :raises StorageError: when the disk refuses.
    """
    document = comparison_document(comparison)
    if file.suffix == ".json":
        text = json.dumps(comparison_to_json(comparison), ensure_ascii=False, indent=1) + "\n"
    elif file.suffix == ".html":
        text = document_to_html(document)
    elif file.suffix == ".md":
        text = document_to_markdown(document)
    else:
        raise InvalidArgumentError(
            f"there is no form for the ending {file.suffix!r}", subject="--out", remedy="Give .md, .html or .json"
        )
    write_file(file, text)
