"""The page of failures: each request with its tools and the graph evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from egotools.values import EntryMatch, TraversedEdge
from eval.analysis.failures import CAUSES, Failure, MissingTool, failed_requests
from eval.gold_slots import Slot
from eval.measured_set import MeasuredSet
from eval.report.blocks import (
    Block,
    Document,
    Listing,
    Paragraph,
    Quotation,
    Section,
    Table,
    make_table,
    number_columns,
    text_columns,
)
from eval.report.numbers import rank_of

__all__ = ["failures_document"]

_TEXT_CHARS = 2_000  # of a request
_ENTRIES = 20  # entry nodes that are named


def failures_document(failures: Sequence[Failure], sets: Sequence[MeasuredSet], *, title: str = "") -> Document:
    """Counts by cause, then every failure that was analysed, by set and system.

    :param sets: what was measured; the page says how many requests failed in all.
    """
    if not failures:
        none = Paragraph(text="No failure was analysed.")
        return Document(title=title or "Failures", sections=(Section(title="Causes", blocks=(none,)),))
    groups: dict[tuple[str, str], list[Failure]] = {}
    for failure in failures:
        groups.setdefault(_key(failure), []).append(failure)
    sections = [Section(title="Causes", blocks=(_causes_table(failures, sets),))]
    for (set_name, system), members in groups.items():
        sections.append(Section(title=f"{system} on {set_name}", sections=tuple(map(_failure, members))))
    return Document(title=title or "Failures", sections=tuple(sections))


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


def _failure(failure: Failure) -> Section:
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
    blocks: list[Block] = [Quotation(text=query.text[:_TEXT_CHARS]), Listing(items=tuple(facts)), _missing(failure)]
    if failure.entries:
        blocks.append(Paragraph(text=f"Entry nodes: {_entries(failure.entries)}"))
    return Section(title=f"{query.id}: {failure.cause}", blocks=tuple(blocks))


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
