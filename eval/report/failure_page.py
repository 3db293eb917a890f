"""The page of failures: each request with what is missing, what took its place, and what the graph saw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from egotools.values import EntryMatch, TraversedEdge
from eval.analysis.failures import CAUSES, Failure, MissingTool, failed_requests
from eval.analysis.wins_losses import Explained, GainedTool, HelpedAndHurt
from eval.report.document import Block, Cell, Column, Document, Listing, Paragraph, Quotation, Section, Table
from eval.report.numbers import counted, percent
from eval.summary import MeasuredSet

__all__ = ["causes_table", "failures_document", "helped_and_hurt_section"]

_TEXT_CHARS = 2_000  # of a request
_ENTRIES = 20  # entry nodes that are named


def failures_document(failures: Sequence[Failure], sets: Sequence[MeasuredSet], *, title: str = "") -> Document:
    """Counts by cause, then every failure that was looked into, by set and system.

    :param sets: what was measured, for how many requests failed in all.
    """
    if not failures:
        none = Paragraph(text="No failure was looked into.")
        return Document(title=title or "Failures", sections=(Section(title="Causes", blocks=(none,)),))
    groups: dict[tuple[str, str], list[Failure]] = {}
    for failure in failures:
        groups.setdefault(_key(failure), []).append(failure)
    sections = [Section(title="Causes", blocks=(causes_table(failures, sets),))]
    for (set_name, system), members in groups.items():
        inner = tuple(_failure(failure) for failure in members)
        sections.append(Section(title=f"{system} on {set_name}", sections=inner))
    return Document(title=title or "Failures", sections=tuple(sections))


def causes_table(failures: Sequence[Failure], sets: Sequence[MeasuredSet]) -> Table:
    """How many failures of each system have which cause, and how many there are in all."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for failure in failures:
        counts.setdefault(_key(failure), Counter())[failure.cause] += 1
    depth = {_key(failure): failure.k for failure in failures}
    totals = _totals(depth, sets)
    causes = [cause for cause in CAUSES if any(cause in tally for tally in counts.values())]
    rows = []
    for key, tally in counts.items():
        knew = sum(_key(failure) == key and any(tool.graph_knew for tool in failure.missing) for failure in failures)
        texts = (*key, str(depth[key]), totals.get(key, "–"), str(tally.total()), str(knew))
        rows.append(tuple(Cell(text=text) for text in (*texts, *(str(tally[cause]) for cause in causes))))
    columns = [Column(name="set", number=False), Column(name="system", number=False), Column(name="k")]
    columns += [Column(name=name) for name in ("not complete", "looked into", "the graph knew", *causes)]
    identity = sorted({f"{one.set_name} {one.snapshot_id}, {one.system} {one.config_hash}" for one in failures})
    return Table(
        caption="Requests that were not completed at k, and the causes of those that were looked into; a request counts "
        "under the hardest cause of its missing tools, the graph knew where an edge joins a missing tool with one that was "
        f"found. Snapshots and configurations: {'; '.join(identity)}.",
        columns=tuple(columns),
        rows=tuple(rows),
    )


def helped_and_hurt_section(
    found: HelpedAndHurt, *, title: str = "", limit: int = 10, of_requests: int | None = None
) -> Section:
    """Where one system completes what the other does not, with the edges that explain it.

    :param limit: how many requests of each side are shown; all are counted.
    :param of_requests: how many requests there are in all, for the shares.
    """

    def said(count: int) -> str:
        share = f" ({percent(count / of_requests)} % of {of_requests:,})" if of_requests else ""
        return f"{counted(count, 'request')}{share}"

    counts = Paragraph(
        text=f"{found.first} completes {said(len(found.helped))} at {found.k} that {found.second} does not; "
        f"{found.second} completes {said(len(found.hurt))} that {found.first} does not. Snapshot {found.snapshot_id}."
    )
    sides = ((found.first, found.second, found.helped), (found.second, found.first, found.hurt))
    sections = [
        Section(
            title=f"{winner} completes, {loser} does not",
            sections=tuple(_explained(one, winner, loser) for one in explained[:limit]),
        )
        for winner, loser, explained in sides
        if explained[:limit]
    ]
    return Section(title=title or f"{found.first} against {found.second}", blocks=(counts,), sections=tuple(sections))


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
    blocks: list[Block] = [Quotation(text=query.text[:_TEXT_CHARS])]
    facts = [f"class: {query.request_class}"] if query.request_class else []
    facts += [f"no answer: {failure.error}"] if failure.error else []
    facts += [
        f"gold: {_called(failure, query.tools)}",
        f"found among the first {failure.k}: {_called(failure, failure.found) or 'none'}",
        f"took their place: {_called(failure, failure.intruders) or 'nothing'}",
    ]
    if failure.last_features:
        facts.append(f"last admitted: {failure.last_admitted} ({_features(failure.last_features)})")
    blocks.append(Listing(items=tuple(facts)))
    blocks.append(_missing_table(failure))
    if failure.entries:
        blocks.append(Paragraph(text=f"Entry nodes: {_entries(failure.entries)}"))
    return Section(title=f"{query.id}: {failure.cause}", blocks=tuple(blocks))


def _called(failure: Failure, tools: Sequence[str]) -> str:
    """Tools by id, with the name where the id does not say it."""
    return ", ".join(f"{tool} ({failure.names[tool]})" if tool in failure.names else tool for tool in tools)


def _missing_table(failure: Failure) -> Table:
    names = ("missing", "rank", "cause", "candidate", "in an ego graph", "features", "what the graph knew")
    return Table(
        caption="",
        columns=tuple(Column(name=name, number=name == "rank") for name in names),
        rows=tuple(
            (
                Cell(text=_called(failure, [tool.tool_id])),
                Cell(text="–" if tool.rank is None else str(tool.rank)),
                Cell(text=tool.cause + (f": {tool.twin}" if tool.twin else "")),
                Cell(text=_yes_or_no(tool.candidate)),
                Cell(text=_yes_or_no(tool.in_ego_graph)),
                Cell(text=_features(tool.features)),
                Cell(text=_knowledge(tool)),
            )
            for tool in failure.missing
        ),
    )


def _knowledge(tool: MissingTool) -> str:
    """What joins the missing tool with those that were found."""
    if tool.edges:
        return f"it knew: {_edges(tool.edges)}"
    if tool.shared:
        return f"no edge, but in common: {', '.join(tool.shared)}"
    return "it did not know"


def _explained(explained: Explained, winner: str, loser: str) -> Section:
    query = explained.query
    names = ("gold", winner, loser, "reached from", "joined with other gold by")
    table = Table(
        caption="",
        columns=tuple(Column(name=name, number=name in (winner, loser)) for name in names),
        rows=tuple(
            (
                Cell(text=tool.tool_id),
                Cell(text=str(tool.rank)),
                Cell(text="–" if tool.other_rank is None else str(tool.other_rank)),
                Cell(text=_reached(tool)),
                Cell(text=_edges(tool.edges) or "–"),
            )
            for tool in explained.tools
        ),
    )
    gold = Paragraph(text=f"Gold: {', '.join(query.tools)}.")
    return Section(title=query.id, blocks=(Quotation(text=query.text[:_TEXT_CHARS]), gold, table))


def _reached(tool: GainedTool) -> str:
    """The entry nodes that led to the tool, and the edges walked from them."""
    parts = [part for part in (_entries(tool.reasons.entries), _edges(tool.reasons.edges)) if part]
    return "; ".join(parts) or "–"


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
