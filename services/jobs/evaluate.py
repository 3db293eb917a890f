"""Evaluations: labelled requests and systems over one snapshot in, a folder with the report out; and the comparison
of two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from eval.analysis.compare import Comparison, compare
from eval.analysis.failures import analyse_failures
from eval.graph_quality import GraphQuality, graph_quality, read_external_edges
from eval.measured_set import SET_FILE, MeasuredSet, read_measured, write_measured
from eval.metrics import CUTOFFS
from eval.queries import QuerySet, missing_gold, of_split, read_queries, require_gold, sample_queries, with_needs
from eval.report import needs_notes, write_report
from eval.run import Run, keep_resources, run_system
from eval.summary import Summary, summarise
from eval.system import ASKED, NEEDS, WHOLE, System, asked_name
from eval.systems import DEFAULT_SYSTEMS, LocalSystem, make_systems
from eval.systems.footprint import measure_footprint
from inference import Encoder, load_encoder
from ontology.errors import InvalidArgumentError, MissingExtraError
from ontology.reporting import Progress
from retrieval.engine import SnapshotEngine, open_engine, open_reranker
from retrieval.presets import DEFAULT_PRESET
from retrieval.query.request import MAX_K
from retrieval.snapshot.reader import Snapshot
from services.jobs.plans import EvaluationPlan

__all__ = ["Evaluation", "compare_results", "evaluate", "measure_systems"]

_BASELINE = "rrf"
_FAILURES = 60  # failed requests on the page of failures
_FAILURES_AT = 10  # a request fails when the top 10 are not complete
_PAGE = "report.html"


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The result.

    :param page: the first page of the report; one of ``files``.
    :param failed: runs that ended before their last request.
    :param notes: on requests that were left out, a sentence each.
    """

    summary: Summary
    page: Path
    files: tuple[Path, ...]
    failed: tuple[Run, ...]
    notes: tuple[str, ...]


def _require_measures() -> None:
    """Raise MissingExtraError where ir-measures is not installed: before the first request, not after the last."""
    if find_spec("ir_measures") is None:
        raise MissingExtraError("egotools eval", extra="eval")


def evaluate(plan: EvaluationPlan, progress: Progress) -> Evaluation:
    """Send every request to every system, one system after the other, and write the report.

    :raises EgotoolsError: for every error that would make the measures invalid, before the first request is sent.
    """
    measured, engine, baseline = _measured(plan, progress, load_encoder)
    return _report(measured, engine, plan, baseline=baseline, cutoffs=_cutoffs(plan.k), progress=progress)


def measure_systems(
    plan: EvaluationPlan, progress: Progress, *, load: Callable[[str], Encoder] = load_encoder
) -> MeasuredSet:
    """:func:`evaluate` without the report: nothing is drawn, and no failed request is looked into.

    :param load: returns the encoder of the snapshot.
    :raises EgotoolsError: as there.
    """
    return _measured(plan, progress, load)[0]


def _measured(
    plan: EvaluationPlan, progress: Progress, load: Callable[[str], Encoder]
) -> tuple[MeasuredSet, SnapshotEngine, str]:
    _require_measures()
    _cutoffs(plan.k)
    queries = read_queries(plan.queries, name=plan.name, unanswerable=True)
    if plan.needs or plan.needs_files:
        queries = with_needs(queries, plan.needs_files or plan.queries, split=plan.split)
    else:
        queries = of_split(queries, plan.split)
    if plan.limit:
        queries = sample_queries(queries, plan.limit)
    reranker = open_reranker(plan.reranker)
    engine = open_engine(plan.store, reranker=reranker, allowed_models=plan.allowed_models, load=load)
    snapshot = engine.snapshot
    known = frozenset(map(snapshot.tool_id, range(snapshot.tool_count)))
    missing = missing_gold(queries, known)
    if not plan.allow_missing:
        require_gold(queries, missing)
    systems = [
        (system, asked)
        for asked, names in _asked(plan).items()
        for system in make_systems(names, snapshot, engine.encoder, reranker=reranker)
    ]
    baseline = _baseline(plan.baseline, [asked_name(system.name, asked) for system, asked in systems])
    graph = _graph(snapshot, queries, plan, progress)
    measured = MeasuredSet(
        queries=queries,
        runs=tuple(_run(system, asked, queries, plan, snapshot, known, progress) for system, asked in systems),
        tools=snapshot.tool_count,
        snapshot_id=snapshot.id,
        missing_gold=missing,
        graph=graph,
    )
    write_measured(plan.out, measured)
    return measured, engine, baseline


def _asked(plan: EvaluationPlan) -> dict[str, list[str]]:
    """Return a map from what is sent of a request (:data:`eval.system.ASKED`) to the names of the systems and groups that are sent it."""
    names = [name.strip() for names in plan.systems for name in names.split(",") if name.strip()]
    recorded = bool(plan.needs or plan.needs_files)
    asked: dict[str, list[str]] = {each: [] for each in ASKED}
    for name in names or DEFAULT_SYSTEMS:
        system, _, way = name.rpartition("@")
        if way not in ASKED:
            system, ways = name, (WHOLE, NEEDS) if recorded else (WHOLE,)
        elif way == WHOLE or recorded:
            ways = (way,)
        else:
            raise InvalidArgumentError(
                "no needs are given",
                subject=name,
                remedy="Add --needs-file FILE, or --needs where the requests have them",
            )
        for each in ways:
            asked[each].append(system)
    return {way: systems for way, systems in asked.items() if systems}


def _cutoffs(k: int) -> tuple[int, ...]:
    cutoffs = tuple(cutoff for cutoff in CUTOFFS if cutoff <= k)
    if not cutoffs or k > MAX_K:
        raise InvalidArgumentError(
            f"{k} tools in an answer cannot be measured", subject="--k", remedy=f"Use {min(CUTOFFS)} to {MAX_K}"
        )
    return cutoffs


def _baseline(chosen: str, names: Sequence[str]) -> str:
    if chosen and chosen not in names:
        raise InvalidArgumentError(
            f"the baseline {chosen!r} is not measured", subject="--baseline", remedy=f"Use one of: {', '.join(names)}"
        )
    return chosen or (_BASELINE if _BASELINE in names else names[0])


def _run(
    system: System,
    asked: str,
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
        asked=asked,
    )
    measurable = plan.footprint and isinstance(system, LocalSystem) and asked == WHOLE
    if not measurable or "load_s" in run.resources or run.failure:
        return run
    cost = measure_footprint(
        plan.store, system.name, queries.asked[0].text, reranker=plan.reranker, allowed_models=plan.allowed_models
    )
    return keep_resources(plan.out, run, cost)


def _graph(snapshot: Snapshot, queries: QuerySet, plan: EvaluationPlan, progress: Progress) -> GraphQuality:
    progress("tool graph", 0, 0)
    return graph_quality(
        snapshot,
        gold_edges=plan.gold_edges,
        external_edges=read_external_edges(plan.external_edges),
        queries=queries if queries.queries else None,
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
        notes=needs_notes(measured.queries),
    )


def compare_results(before: Path, after: Path) -> Comparison:
    """Compare two folders of results, or two folders that contain folders of results.

    :raises NotFoundError: when a folder has no results.
    :raises DocumentError: when they are damaged.
    :raises InvalidArgumentError: when the two have no set, or no system, in common.
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
            remedy="Choose the folder of one of them",
        )
    return results
