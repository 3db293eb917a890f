"""The pages of an evaluation: what was measured, the figures, latency and cost, the configurations; and the failures."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from egotools.values import EntryMatch, TraversedEdge
from eval.abstention_rates import abstains
from eval.analysis.failures import CAUSES, Failure, MissingTool, failed_requests
from eval.measured_set import MeasuredSet
from eval.metrics import COMPLETE, METRICS, answered_tools, complete_at, cutoff_of, gold_ranks, ranks_of
from eval.queries import QuerySet, Slot, row_tools
from eval.report.blocks import (
    Table,
    counted,
    make_table,
    markdown_to_html,
    number_columns,
    rank_of,
    render,
    text_columns,
)
from eval.report.graph_tables import graph_section
from eval.report.pictures import Picture, averages_picture, by_group_picture, missing_plots
from eval.report.tables import (
    PAPER_CUTOFFS,
    Figures,
    abstention_table,
    chosen,
    configs_table,
    cost_table,
    difference_table,
    latency_table,
    measure_table,
    missing_gold_table,
    per_set_table,
    sets_table,
    systems_table,
    table3,
)
from eval.summary import Summary, summary_to_json
from eval.system import ASKED, WHOLE, asked_name
from ontology.files import write_file, write_rows

__all__ = ["needs_notes", "per_query_rows", "write_report"]

# The systems of the paper's own table, and default; where more were measured, these have a short table of their own.
_PAPER_SYSTEMS = ("bm25-regex-title", "semantic", "hybrid", "paper", "default")


def write_report(
    folder: Path, summary: Summary, sets: Sequence[MeasuredSet], *, failures: Sequence[Failure] = (), title: str = ""
) -> tuple[Path, ...]:
    """Write ``report.md`` and ``.html`` with their pictures, ``summary.json``, ``per_query.jsonl``, ``failures.md`` and ``.html``.

    :param sets: the measured sets of the summary.
    :param failures: result of :func:`eval.analysis.failures.analyse_failures`.
    :returns: the written files.
    :raises StorageError: when a file cannot be written; existing files are then old or new, never incomplete.
    """
    name = title or f"Evaluation: {', '.join(summary.sets)}"
    values, pictures = _report(summary, sets)
    found = _failures(failures, sets)
    failed = f"Failures: {title}" if title else "Failures"
    return (
        *(write_file(folder / each.name, each.png) for each in pictures),
        *_write_page(folder, "report", name, values, pictures),
        *_write_page(folder, "failures", failed, found, ()),
        write_file(folder / "summary.json", json.dumps(summary_to_json(summary), ensure_ascii=False, indent=1) + "\n"),
        write_rows(folder / "per_query.jsonl", per_query_rows(sets)),
    )


def _write_page(
    folder: Path, name: str, title: str, values: Mapping[str, Any], pictures: Sequence[Picture]
) -> tuple[Path, Path]:
    text = render(f"{name}.md", title=title, **values)
    page = markdown_to_html(text, title=title, pictures={each.name: each.png for each in pictures})
    return write_file(folder / f"{name}.md", text), write_file(folder / f"{name}.html", page)


def _report(summary: Summary, sets: Sequence[MeasuredSet]) -> tuple[dict[str, Any], list[Picture]]:
    """What the template of the report shows, and its pictures; with several sets, their means come first."""
    means = _means(summary) if sum(facts.queries > 0 for facts in summary.sets.values()) > 1 else None
    each = [_of_set(summary, measured) for measured in sets]
    values = {
        "warnings": (*warnings_of(summary, sets), *missing_plots()),
        "described": _described(summary, sets),
        "sets": sets_table(summary),
        "baseline": summary.baseline,
        "means": means,
        "measured_sets": each,
        "systems": systems_table(summary, sets),
        "configs": configs_table(summary),
    }
    return values, [picture for part in (means, *each) if part for picture in part["pictures"]]


def _described(summary: Summary, sets: Sequence[MeasuredSet]) -> str:
    cutoffs = ", ".join(map(str, _cutoffs(summary)))
    by_needs = (way for way in ASKED if way != WHOLE)
    ways = [way for way in by_needs if any(system.endswith(asked_name("", way)) for system in summary.systems)]
    told = [f"NAME was sent {ASKED[WHOLE]}", *(f"{asked_name('NAME', way)} {ASKED[way]}" for way in ways)]
    sent = f" Of each request {', '.join(told)}." if ways else ""
    return (
        f"{len(summary.systems)} systems, {sum(len(one.queries.asked) for one in sets):,} requests"
        f"{f', cutoffs {cutoffs}' if cutoffs else ''}. A request without an answer scores 0 and counts. Intervals are 95 % bootstrap "
        f"intervals over requests ({summary.resamples:,} resamples, seed {summary.seed}); differences are to {summary.baseline}, "
        f"paired.{sent}"
    )


def _means(summary: Summary) -> dict[str, Any]:
    """Means over the sets, each set counting the same, and every set beside the others."""
    drawn = not missing_plots()
    return {
        "pictures": [averages_picture(summary, name="figure3.png"), by_group_picture(summary, name="figure5.png")]
        if drawn
        else [],
        "complete": measure_table(summary, "", COMPLETE, cutoffs=_cutoffs(summary)),
        "differences": difference_table(summary, ""),
        "by_set": [per_set_table(summary, f"{COMPLETE}@{cutoff}") for cutoff in PAPER_CUTOFFS],
        "measures": _measures(summary, "", but=COMPLETE),
    }


def _of_set(summary: Summary, measured: MeasuredSet) -> dict[str, Any]:
    """What the template shows of one set; what does not apply is empty."""
    name, queries = measured.queries.name, measured.queries
    answerable, alternatives = bool(queries.queries), queries.has_alternatives
    strict = (metric.name for metric in METRICS if metric.by_class and alternatives)
    return {
        "name": name,
        "classes": _by_class(summary, name) if answerable else (),
        "pictures": list(_pictures(summary, name)) if answerable else (),
        "abstention": abstention_table(summary, name) if queries.unanswerable else None,
        "differences": difference_table(summary, name) if answerable else None,
        "measures": _measures(summary, name) if answerable else (),
        "alternatives": sum(any(len(slot) > 1 for slot in query.slots) for query in queries.queries),
        "strict": [measure_table(summary, name, each, cutoffs=_cutoffs(summary), strict=True) for each in strict],
        "latency": latency_table(summary, name),
        "cost": cost_table(summary, name),
        "missing_gold": missing_gold_table(measured) if measured.missing_gold else None,
        "graph": graph_section(measured.graph, title=f"The tool graph, {name}") if measured.graph else None,
    }


def _by_class(summary: Summary, set_name: str) -> list[Table]:
    paper = chosen(summary, _PAPER_SYSTEMS)
    short = [table3(summary, set_name, systems=paper)] if 1 < len(paper) < len(summary.systems) else []
    return [*short, table3(summary, set_name)]


def _pictures(summary: Summary, set_name: str) -> Iterator[Picture]:
    if missing_plots():
        return
    suffix = f"-{_file_name(summary, set_name)}" if len(summary.sets) > 1 else ""
    yield averages_picture(summary, set_name, name=f"figure3{suffix}.png")
    if Figures(summary).classes(set_name):
        yield by_group_picture(summary, set_name, name=f"figure5{suffix}.png")


def _file_name(summary: Summary, set_name: str) -> str:
    """A set's name as part of a file name: its own where it is short and plain, else its number."""
    plain = set_name.replace("-", "").replace("_", "")
    usable = plain.isascii() and plain.isalnum() and len(plain) < 60
    return set_name if usable else f"set{list(summary.sets).index(set_name) + 1}"


def _measures(summary: Summary, set_name: str, *, but: str = "") -> list[Table]:
    names = (metric.name for metric in METRICS if metric.name != but)
    return [measure_table(summary, set_name, name, cutoffs=_cutoffs(summary)) for name in names]


def _cutoffs(summary: Summary) -> list[int]:
    return sorted({cutoff_of(figure.measure) for figure in summary.figures})


def warnings_of(summary: Summary, sets: Sequence[MeasuredSet]) -> tuple[str, ...]:
    """Return the warnings about the figures: requests without needs, missing gold tools, failed runs, requests without an answer."""
    found = [note for measured in sets for note in needs_notes(measured.queries)]
    for measured in sets:
        name, missing = measured.queries.name, measured.missing_gold
        if missing:
            tools = {tool for missed in missing.values() for tool in missed}
            found.append(
                f"{name}: {len(missing):,} of {len(measured.queries.queries):,} requests need "
                f"{counted(len(tools), 'tool')} "
                "that the catalogue does not have; they count, and no system can complete them."
            )
        for run in measured.runs:
            if run.k > measured.tools:
                found.append(
                    f"{name}: answers of {run.system} could hold {run.k:,} tools, the catalogue has {measured.tools:,}."
                )
    for fact in summary.facts:
        where = f"{fact.system} on {fact.set_name}"
        if fact.failure:
            found.append(f"{where} stopped before its end ({fact.failure}); requests without an answer score 0.")
        elif fact.unanswered:
            found.append(f"{where} left {counted(fact.unanswered, 'request')} without an answer; each scores 0.")
    return tuple(found)


def needs_notes(queries: QuerySet) -> tuple[str, ...]:
    """Return how many requests were left out because they have no recorded needs, and how many recorded needs are of no request."""
    notes = []
    if queries.without_needs:
        left_out = counted(queries.without_needs, "request")
        notes.append(f"{queries.name}: {left_out} without recorded needs left out, of whole requests too.")
    if queries.unknown_needs:
        of_none = counted(len(queries.unknown_needs), "id")
        notes.append(
            f"{queries.name}: {of_none} with recorded needs of no request, such as {queries.unknown_needs[0]!r}."
        )
    return tuple(notes)


_TEXT_CHARS = 2_000  # of a request
_ENTRIES = 20  # entry nodes that are named


def _failures(failures: Sequence[Failure], sets: Sequence[MeasuredSet]) -> dict[str, Any]:
    """What the template of the failures shows: counts by cause, then every failure that was analysed, by set and system."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for failure in failures:
        groups.setdefault(f"{failure.system} on {failure.set_name}", []).append(_failure(failure))
    return {"groups": groups, "causes": _causes_table(failures, sets) if failures else None}


def _causes_table(failures: Sequence[Failure], sets: Sequence[MeasuredSet]) -> Table:
    """How many failures of each system have which cause, and how many there are in all."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for failure in failures:
        counts.setdefault(_key(failure), Counter())[failure.cause] += 1
    depth = {_key(failure): failure.k for failure in failures}
    totals = _totals(depth, sets)
    causes = [cause for cause in CAUSES if any(cause in tally for tally in counts.values())]
    rows = []
    for key, tally in counts.items():
        linked = sum(_key(failure) == key and any(tool.edges for tool in failure.missing) for failure in failures)
        found = (str(depth[key]), totals.get(key, "–"), str(tally.total()), str(linked))
        rows.append((*key, *found, *(str(tally[cause]) for cause in causes)))
    identity = sorted({f"{one.set_name} {one.snapshot_id}, {one.system} {one.config_hash}" for one in failures})
    return make_table(
        (
            *text_columns("set", "system"),
            *number_columns("k", "not complete", "analysed", "linked by an edge", *causes),
        ),
        rows,
        caption="Requests that were not completed at k, and the causes of those that were analysed. A request "
        "counts under the "
        "most basic cause of its missing tools; linked by an edge: an edge joins a missing tool with one that "
        "was found. "
        f"Snapshots and configurations: {'; '.join(identity)}.",
    )


def _key(failure: Failure) -> tuple[str, str]:
    return failure.set_name, failure.system


def _totals(depth: Mapping[tuple[str, str], int], sets: Sequence[MeasuredSet]) -> dict[tuple[str, str], str]:
    """How many requests failed in all, of how many."""
    totals = {}
    for measured in sets:
        for run in measured.runs:
            key = (measured.queries.name, run.system)
            if key in depth:
                failed = len(failed_requests(run, measured.queries, depth[key]))
                totals[key] = f"{failed:,} of {len(measured.queries.queries):,}"
    return totals


def _failure(failure: Failure) -> dict[str, Any]:
    query = failure.query
    facts = [f"class: {query.request_class}"] if query.request_class else []
    facts += [f"no answer: {failure.error}"] if failure.error else []
    facts += [
        f"gold: {', '.join(_any_of(failure, slot) for slot in query.slots)}",
        f"found among the first {failure.k}: {_named(failure, failure.found) or 'none'}",
        f"wrong tools among them: {_named(failure, failure.wrong) or 'none'}",
    ]
    if failure.last_features:
        facts.append(f"last of them: {failure.last} ({_features(failure.last_features)})")
    return {
        "heading": f"{query.id}: {failure.cause}",
        "text": query.text[:_TEXT_CHARS],
        "facts": facts,
        "missing": _missing(failure),
        "entries": _entries(failure.entries),
    }


def _any_of(failure: Failure, slot: Slot) -> str:
    return " or ".join(_named(failure, [tool]) for tool in slot)


def _named(failure: Failure, tools: Sequence[str]) -> str:
    """Tools by id, with the name where the id does not contain it."""
    return ", ".join(f"{tool} ({failure.names[tool]})" if tool in failure.names else tool for tool in tools)


def _missing(failure: Failure) -> Table:
    rows = [
        (
            _named(failure, [tool.tool_id]),
            rank_of(tool.rank),
            tool.cause + (f": {tool.near_duplicate}" if tool.near_duplicate else ""),
            _yes_or_no(tool.candidate),
            _yes_or_no(tool.in_ego_graph),
            _features(tool.features),
            _evidence(tool),
        )
        for tool in failure.missing
    ]
    others = text_columns("cause", "candidate", "in an ego graph", "features", "graph evidence")
    return make_table((*text_columns("missing"), *number_columns("rank"), *others), rows)


def _evidence(tool: MissingTool) -> str:
    """What joins the missing tool with those that were found."""
    if tool.edges:
        return f"linked: {_edges(tool.edges)}"
    if tool.shared:
        return f"no edge, but in common: {', '.join(tool.shared)}"
    return "none"


def _entries(entries: Sequence[EntryMatch]) -> str:
    named = [
        f"{entry.node} (“{entry.text}”)" if entry.kind == "ngram" else f"{entry.node} ({entry.score:.2f})"
        for entry in entries[:_ENTRIES]
    ]
    more = [f"and {len(entries) - _ENTRIES} more"] if len(entries) > _ENTRIES else []
    return ", ".join([*named, *more])


def _edges(edges: Sequence[TraversedEdge]) -> str:
    return "; ".join(f"{edge.head} {edge.predicate} {edge.tail} ({edge.confidence:.2f})" for edge in edges)


def _features(features: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.3g}" for name, value in sorted(features.items())) or "–"


def _yes_or_no(known: bool | None) -> str:
    return "–" if known is None else "yes" if known else "no"


def per_query_rows(sets: Sequence[MeasuredSet]) -> Iterator[dict[str, Any]]:
    """A row for each request: the rank of each gold tool in each system's answer, the least k that completes it, and, in a set with
    unanswerable requests, whether the system abstains.
    """
    for measured in sets:
        for query in measured.queries.asked:
            systems = {}
            for run in measured.runs:
                ranks = gold_ranks(answered_tools(run, query.id), query.tools)
                systems[run.system] = {
                    "ranks": dict(zip(query.tools, ranks, strict=True)),
                    "complete_at": complete_at(ranks_of(run, query)) if query.slots else None,
                    **({"abstains": abstains(run, query.id)} if measured.queries.unanswerable else {}),
                }
            yield {
                "id": query.id,
                "set": measured.queries.name,
                "class": query.request_class,
                "gold": row_tools(query.slots),
                "systems": systems,
            }
