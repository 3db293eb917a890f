"""Evaluations: labelled requests and systems over one snapshot in, a folder with the report out; and the comparison of two."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from eval.compare import Comparison, compare
from eval.failures import analyse_failures
from eval.graph_quality import graph_quality
from eval.measured_set import SET_FILE, MeasuredSet, Run, read_measured, write_measured
from eval.metrics import CUTOFFS
from eval.queries import missing_gold, of_split, read_queries, require_gold, sample_queries, with_needs
from eval.report import needs_notes, write_report
from eval.run import ASKED, NEEDS, WHOLE, asked_name, run_system
from eval.summary import Summary, summarise
from eval.systems import DEFAULT_SYSTEMS, make_systems
from inference import Encoder, load_encoder
from ontology.errors import InvalidArgumentError
from ontology.reporting import Progress
from retrieval.engine import Engine, open_engine, open_reranker
from retrieval.presets import DEFAULT_PRESET
from retrieval.query.request import MAX_K
from services.jobs.plans import EvaluationPlan

_BASELINE = "rrf"
_FAILURES, _FAILURES_AT = 60, 10  # requests on the page of failures; they fail when the top 10 are not complete
_PAGE = "report.html"


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The result."""

    summary: Summary
    page: Path  # the first page of the report; one of ``files``
    files: tuple[Path, ...]
    failed: tuple[Run, ...]  # runs that ended before their last request
    notes: tuple[str, ...]  # on requests that were left out, a sentence each


def evaluate(plan: EvaluationPlan, progress: Progress) -> Evaluation:
    """Send every request to every system, one after the other, and write the report. What would make the measures invalid is raised before."""
    measured, engine, baseline = _measured(plan, progress, load_encoder)
    progress("figures", 0, 0)
    cutoffs = [cutoff for cutoff in CUTOFFS if cutoff <= plan.k]
    summary = summarise([measured], baseline=baseline, cutoffs=cutoffs)
    names = [run.system for run in measured.runs]
    explained = DEFAULT_PRESET if DEFAULT_PRESET in names else names[-1]
    progress("failures", 0, 0)
    k, snapshot = min(_FAILURES_AT, plan.k), engine.snapshot
    failures = analyse_failures(
        snapshot, engine.encoder, measured, explained, k=k, limit=_FAILURES, reranker=engine.reranker
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


def measure_systems(
    plan: EvaluationPlan, progress: Progress, *, load: Callable[[str], Encoder] = load_encoder
) -> MeasuredSet:
    """:func:`evaluate` without the report, with what loads the encoder of the snapshot: nothing is drawn, and no failed request looked into."""
    return _measured(plan, progress, load)[0]


def _measured(
    plan: EvaluationPlan, progress: Progress, load: Callable[[str], Encoder]
) -> tuple[MeasuredSet, Engine, str]:
    """The answers of every system, the engine of the snapshot, and the baseline."""
    if not min(CUTOFFS) <= plan.k <= MAX_K:
        problem, remedy = f"{plan.k} tools in an answer cannot be measured", f"Use {min(CUTOFFS)} to {MAX_K}"
        raise InvalidArgumentError(problem, subject="--k", remedy=remedy)
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
        for asked, chosen in _asked(plan).items()
        for system in make_systems(chosen, snapshot, engine.encoder, reranker=reranker)
    ]
    names = [asked_name(system.name, asked) for system, asked in systems]
    if plan.baseline and plan.baseline not in names:
        problem, remedy = f"the baseline {plan.baseline!r} is not measured", f"Use one of: {', '.join(names)}"
        raise InvalidArgumentError(problem, subject="--baseline", remedy=remedy)
    baseline = plan.baseline or (_BASELINE if _BASELINE in names else names[0])
    progress("tool graph", 0, 0)
    graph = graph_quality(snapshot, gold_edges=plan.gold_edges)
    run = partial(run_system, snapshot_id=snapshot.id, k=plan.k, timeout_s=plan.timeout_s, known=known)
    measured = MeasuredSet(
        queries=queries,
        runs=tuple(run(each, queries, plan.out, progress=progress, asked=asked) for each, asked in systems),
        tools=snapshot.tool_count,
        snapshot_id=snapshot.id,
        missing_gold=missing,
        graph=graph,
    )
    write_measured(plan.out, measured)
    return measured, engine, baseline


def _asked(plan: EvaluationPlan) -> dict[str, list[str]]:
    """What is sent of a request (:data:`eval.run.ASKED`) → the names of the systems and groups that are sent it."""
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
            remedy = "Add --needs-file FILE, or --needs where the requests have them"
            raise InvalidArgumentError("no needs are given", subject=name, remedy=remedy)
        for each in ways:
            asked[each].append(system)
    return {way: systems for way, systems in asked.items() if systems}


def compare_results(before: Path, after: Path) -> Comparison:
    """Compare two folders of results, or two folders that contain folders of results. Raises NotFoundError when a
    folder has no results, DocumentError when they are damaged, and InvalidArgumentError when the two have no set, or no
    system, in common."""
    return compare(_results(before), _results(after))


def _results(folder: Path) -> list[MeasuredSet]:
    below = [] if (folder / SET_FILE).exists() else sorted(path.parent for path in folder.rglob(SET_FILE))
    results = [read_measured(each) for each in below or [folder]]
    names = [measured.queries.name for measured in results]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        problem = f"there is more than one evaluation of {', '.join(map(repr, twice))} below this folder"
        raise InvalidArgumentError(problem, subject=str(folder), remedy="Choose the folder of one of them")
    return results
