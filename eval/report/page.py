"""The pages of an evaluation, of its failures, and of a comparison; and the rows of single requests."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from eval.compare import ChangedRequest, Comparison, SystemComparison
from eval.failures import CAUSES, Failure, failed_requests
from eval.measured_set import MeasuredSet
from eval.metrics import COMPLETE_MEASURES, METRICS, abstains, complete_at, cutoff_of, gold_ranks, ranks_of
from eval.queries import QuerySet, row_tools, slot_name
from eval.report.markdown import NOTHING, Markdown, counted, markdown_to_html, render, table
from eval.report.tables import abstention_table, difference_table, figures_table, latency_table, systems_table
from eval.run import ASKED, WHOLE, asked_name
from eval.summary import MEAN, Scope, Summary, of_set, summary_to_json
from ontology.files import write_file, write_rows

_TEXT_CHARS = 160  # of a request, in a row


def write_report(
    folder: Path, summary: Summary, sets: Sequence[MeasuredSet], *, failures: Sequence[Failure] = (), title: str = ""
) -> tuple[Path, ...]:
    """Write ``report.md`` and ``.html``, ``summary.json``, ``per_query.jsonl``, ``failures.md`` and ``.html``.
    ``sets``: the measured sets of the summary. Returns the written files."""
    several = sum(facts.queries > 0 for facts in summary.sets.values()) > 1
    parts = [_means(summary)] if several else []
    parts += [_of_set(summary, measured) for measured in sets]
    systems, common = systems_table(summary, sets)
    report = _write_page(
        folder / "report.md",
        title or f"Evaluation: {', '.join(summary.sets)}",
        warnings=tuple(_warnings(summary, sets)),
        summary=summary,
        requests=sum(len(one.queries.asked) for one in sets),
        cutoffs=", ".join(map(str, _cutoffs(summary))),
        asked=[(asked_name("NAME", way), ASKED[way]) for way in _ways(summary)],
        parts=parts,
        systems=systems,
        common=common,
        hashes={(fact.set_name, fact.system): fact.config_hash for fact in summary.facts},
    )
    failed = _write_page(
        folder / "failures.md",
        f"Failures: {title}" if title else "Failures",
        causes=_causes(failures, sets) if failures else None,
        failures=failures,
    )
    return (
        *report,
        *failed,
        write_file(folder / "summary.json", json.dumps(summary_to_json(summary), ensure_ascii=False, indent=1) + "\n"),
        write_rows(folder / "per_query.jsonl", per_query_rows(sets)),
    )


def _write_page(path: Path, title: str, **values: Any) -> tuple[Path, Path]:
    text = render(path.name, title=title, **values)
    return write_file(path, text), write_file(path.with_suffix(".html"), markdown_to_html(text, title=title))


def _cutoffs(summary: Summary) -> list[int]:
    return sorted({cutoff_of(figure.measure) for figure in summary.figures})


def _ways(summary: Summary) -> list[str]:
    """What was sent of a request, where that is not only the whole one."""
    names = summary.systems
    ways = [way for way in ASKED if way != WHOLE and any(name.endswith(asked_name("", way)) for name in names)]
    return [WHOLE, *ways] if ways else []


def _measures(summary: Summary, scope: Scope) -> list[Markdown]:
    """A table for each metric, with intervals."""
    measures = {each: [f"{each}@{cutoff}" for cutoff in _cutoffs(summary)] for each in METRICS}
    return [figures_table(summary, {name: scope}, of_name, intervals=True) for name, of_name in measures.items()]


_PARTS = ("facts", "groups", "abstention", "differences", "measures", "latency", "missing_gold", "graph")
_EMPTY: dict[str, Any] = dict.fromkeys(_PARTS)


def _means(summary: Summary) -> dict[str, Any]:
    """Means over the sets, each set counting the same, and every set beside the others."""
    by_set: dict[str, Scope] = {**{name: of_set(name) for name in summary.sets}, "macro-average": MEAN}
    return _EMPTY | {
        "name": "All sets",
        "groups": [figures_table(summary, by_set, [measure]) for measure in COMPLETE_MEASURES],
        "differences": difference_table(summary, MEAN),
        "measures": _measures(summary, MEAN),
    }


def _of_set(summary: Summary, measured: MeasuredSet) -> dict[str, Any]:
    """What the template shows of one set; what does not apply is empty."""
    name, queries = measured.queries.name, measured.queries
    facts = [fact for fact in summary.facts if fact.set_name == name]
    part = _EMPTY | {
        "name": name,
        "facts": summary.sets[name],
        "abstention": abstention_table(summary, name) if queries.unanswerable else None,
        "latency": latency_table(facts),
        "missing_gold": measured.missing_gold,
        "graph": measured.graph,
    }
    if not queries.queries:
        return part
    classes: dict[str, Scope] = {each: ("class", name, each) for each in sorted(summary.sets[name].classes)}
    return part | {
        "groups": [figures_table(summary, {**classes, "micro-average": of_set(name)}, COMPLETE_MEASURES)],
        "differences": difference_table(summary, of_set(name)),
        "measures": _measures(summary, of_set(name)),
    }


def _warnings(summary: Summary, sets: Sequence[MeasuredSet]) -> Iterator[str]:
    """Yield what a reader of the figures must know: requests left out, missing gold tools, failed runs, requests without an answer."""
    for measured in sets:
        yield from needs_notes(measured.queries)
    for measured in sets:
        name, missing = measured.queries.name, measured.missing_gold
        if missing:
            tools = counted(len({tool for missed in missing.values() for tool in missed}), "tool")
            yield (
                f"{name}: {len(missing):,} of {len(measured.queries.queries):,} requests need {tools} that the catalogue does not "
                "have; they count, and no system can complete them."
            )
        for run in measured.runs:
            if run.k > measured.tools:
                has = f"the catalogue has {measured.tools:,}"
                yield f"{name}: answers of {run.system} could hold {run.k:,} tools, {has}."
    for fact in summary.facts:
        where = f"{fact.system} on {fact.set_name}"
        if fact.failure:
            yield f"{where} stopped before its end ({fact.failure}); requests without an answer score 0."
        elif fact.unanswered:
            yield f"{where} left {counted(fact.unanswered, 'request')} without an answer; each scores 0."


def needs_notes(queries: QuerySet) -> tuple[str, ...]:
    """Return how many requests were left out because they have no recorded needs, and how many recorded needs are of no request."""
    notes = []
    if queries.without_needs:
        left_out = counted(queries.without_needs, "request")
        notes.append(f"{queries.name}: {left_out} without recorded needs left out, of whole requests too.")
    if unknown := queries.unknown_needs:
        of_none = counted(len(unknown), "id")
        notes.append(f"{queries.name}: {of_none} with recorded needs of no request, such as {unknown[0]!r}.")
    return tuple(notes)


def _causes(failures: Sequence[Failure], sets: Sequence[MeasuredSet]) -> Markdown:
    """How many failures of each system have which cause, and how many there are in all."""
    groups: dict[tuple[str, str, int], list[Failure]] = {}
    for failure in failures:
        groups.setdefault((failure.set_name, failure.system, failure.k), []).append(failure)
    causes = [cause for cause in CAUSES if any(failure.cause == cause for failure in failures)]
    runs = {(one.queries.name, run.system): (run, one.queries) for one in reversed(sets) for run in reversed(one.runs)}
    rows = []
    for (set_name, system, k), found in groups.items():
        tally = Counter(failure.cause for failure in found)
        linked = sum(any(tool.edges for tool in failure.missing) for failure in found)
        total: object = NOTHING
        if (set_name, system) in runs:
            run, queries = runs[set_name, system]
            total = f"{len(failed_requests(run, queries, k)):,} of {len(queries.queries):,}"
        rows.append((set_name, system, k, total, len(found), linked, *(tally[cause] for cause in causes)))
    heads = ("set", "system", "k", "not complete", "analysed", "linked by an edge", *causes)
    return table(heads, rows, texts=2)


def per_query_rows(sets: Sequence[MeasuredSet]) -> Iterator[dict[str, Any]]:
    """A row for each request: the rank of each gold tool in each system's answer, the least k that completes it, and,
    in a set with unanswerable requests, whether the system abstains."""
    for measured in sets:
        for query in measured.queries.asked:
            systems = {}
            for run in measured.runs:
                ranks = gold_ranks(run.tools_of(query.id), query.tools)
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


def comparison_to_markdown(comparison: Comparison) -> str:
    """The page as Markdown: first the other differences of the evaluations, then each set."""
    return render("comparison.md", title="What changed", comparison=comparison, changes=_changes)


def _changes(one: SystemComparison) -> Iterator[tuple[str, int, Markdown]]:
    """Yield the requests whose completeness changed at any k, with the cutoffs and the ranks of their gold tools."""
    for side in ("gained", "lost"):
        at: dict[str, list[str]] = {}
        changes: dict[str, ChangedRequest] = {}
        for point in one.points:
            for change in getattr(point, side):
                at.setdefault(change.query.id, []).append(f"@{point.k}")
                changes[change.query.id] = change
        rows = []
        for query_id, change in sorted(changes.items()):
            pairs = zip(change.query.slots, change.before, change.after, strict=True)
            ranks = (f"{slot_name(slot)} {before or NOTHING} → {after or NOTHING}" for slot, before, after in pairs)
            depth = f"{complete_at(change.before) or NOTHING} → {complete_at(change.after) or NOTHING}"
            text = " ".join(change.query.text.split())
            short = text if len(text) <= _TEXT_CHARS else f"{text[: _TEXT_CHARS - 1]}…"
            rows.append((query_id, change.query.request_class, short, " ".join(at[query_id]), depth, ", ".join(ranks)))
        if rows:
            heads = ("request", "class", "text", "at", "complete at", "ranks of the gold tools")
            yield side.capitalize(), len(rows), table(heads, rows, texts=len(heads))
