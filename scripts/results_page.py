"""``docs/results.md``, the figures in the README and in ``docs/does-the-graph-help.md``: renderings of ``docs/results.json``.

``python -m scripts.results_page`` renews them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from eval.report import (
    Cell,
    Column,
    Document,
    Paragraph,
    Picture,
    Section,
    Table,
    averages_picture,
    by_group_picture,
    configs_table,
    difference_table,
    document_to_markdown,
    measure_table,
    per_set_table,
    pictures_of,
    sets_table,
    table3,
    table_to_markdown,
)
from eval.report.figure_lookup import Figures
from eval.report.numbers import milliseconds, percent, points
from eval.summary import Figure, Summary
from ontology.files import write_file
from retrieval.presets import DEFAULT_PRESET
from scripts.bench_sets import MACRO_SETS, ROOT, SHIPPED
from scripts.published_results import BASELINE, DOCS, PAPER_TABLE, PublishedGraph, Results, read_results, replace_block

__all__ = ["graph_blocks", "readme_block", "renew_documents", "results_document"]

_CUTOFFS = (3, 5, 10)
_SHOWN = (*PAPER_TABLE, BASELINE, "fusion", DEFAULT_PRESET)
_NINE = f"the mean over {', '.join(MACRO_SETS[:-1])} and {MACRO_SETS[-1]}"


def renew_documents(results: Results, *, root: Path = ROOT) -> None:
    """Write every document that shows the results."""
    docs = root / "docs"
    document = results_document(results)
    write_file(docs / "results.md", document_to_markdown(document))
    for picture in pictures_of(document.sections):
        write_file(docs / picture.name, picture.png)
    replace_block(root / "README.md", "results", readme_block(results))
    for name, text in graph_blocks(results).items():
        replace_block(docs / "does-the-graph-help.md", name, text)


def results_document(results: Results) -> Document:
    """The page of all results."""
    everything, nine = results.everything, results.nine
    sections = [
        Section(
            title="What was measured",
            blocks=(
                Paragraph(
                    text=f"{len(everything.systems)} systems on {len(everything.sets)} sets, every development request of each. "
                    "CompleteRecall@k is the share of requests whose needed tools are all among the first k; a request without an "
                    "answer scores 0 and counts; |gold| > k is the share that no system can complete. Intervals are 95 % paired "
                    f"bootstrap intervals over requests ({everything.resamples:,} resamples, seed {everything.seed}), not corrected for "
                    "the number of comparisons. The weights of default were chosen while looking at these sets (docs/unseen.md says what that is worth elsewhere); a held-back part of "
                    "their requests is measured elsewhere. A set that ends in -given has the dependencies that its source declares "
                    "in the catalogue. Written by make bench-quality and make bench-peers from docs/results.json."
                ),
                sets_table(everything),
            ),
        ),
        Section(
            title="Mean over nine sets",
            blocks=(
                Paragraph(text=f"Each set counts the same: {_NINE}."),
                _bare(measure_table(nine, "", "CompleteRecall", cutoffs=_CUTOFFS)),
                averages_picture(nine, systems=_SHOWN, name="results-mean.png"),
                _bare(difference_table(nine, "", systems=_main(nine)), f"Difference to {BASELINE} in points."),
            ),
        ),
        Section(title="Set by set", blocks=tuple(_set_by_set(everything))),
        Section(title="What each feature is worth", blocks=tuple(_ablations(results))),
        Section(title="Other measures, mean over nine sets", blocks=tuple(_other_measures(nine))),
        Section(title="By class of request, the shipped set", blocks=tuple(_shipped(everything))),
        Section(title="Peers", blocks=tuple(_peers(results))),
        Section(title="The tool graph", blocks=tuple(_graph(results.graph))),
        Section(
            title="Configurations by set",
            blocks=(
                Paragraph(
                    text="The hash of every system's configuration on every set: snapshot, models, and the code that answers."
                ),
                configs_table(everything),
            ),
        ),
    ]
    return Document(title="Results", warnings=_warnings(everything), sections=tuple(sections))


def _warnings(summary: Summary) -> tuple[str, ...]:
    """Answers that are missing: they score 0, and the reader must know."""
    return tuple(
        f"{fact.system} on {fact.set_name} left {fact.unanswered:,} of {fact.answered + fact.unanswered:,} requests without an answer."
        for fact in summary.facts
        if fact.unanswered
    )


def _main(summary: Summary) -> tuple[str, ...]:
    return tuple(name for name in summary.systems if not name.startswith(f"{DEFAULT_PRESET}-no-"))


def _bare(table: Table, caption: str = "") -> Table:
    """A table without the long caption of a report: here snapshots and config hashes have tables of their own."""
    return replace(table, caption=caption)


def _set_by_set(summary: Summary) -> Iterator[Table | Picture]:
    for cutoff in _CUTOFFS:
        table = per_set_table(
            summary, f"CompleteRecall@{cutoff}", _SHOWN, sets=tuple(summary.sets), intervals=cutoff == _CUTOFFS[-1]
        )
        yield _bare(table, f"CompleteRecall@{cutoff} (%), the best in bold.")
    yield by_group_picture(summary, systems=(*PAPER_TABLE, BASELINE, DEFAULT_PRESET), name="results-sets.png")


def _ablations(results: Results) -> Iterator[Table | Paragraph]:
    yield Paragraph(text=f"default without one feature, minus default: {_NINE}. Negative: the feature helps.")
    yield _bare(difference_table(results.ablations, ""), "Points of CompleteRecall.")


def _other_measures(summary: Summary) -> Iterator[Table]:
    for measure in ("R", "nDCG", "AP", "RR"):
        table = measure_table(summary, "", measure, cutoffs=_CUTOFFS, systems=_SHOWN)
        yield _bare(table, f"{measure}@k (%).")


def _shipped(summary: Summary) -> Iterator[Table | Picture | Paragraph]:
    yield Paragraph(text=f"{SHIPPED}: the paper's Table 3 and Figure 5 on the requests that come with egotools.")
    yield _bare(table3(summary, SHIPPED, systems=(*PAPER_TABLE, DEFAULT_PRESET)), "CompleteRecall@k (%).")


def _peers(results: Results) -> Iterator[Table | Paragraph]:
    if results.peers is None or results.peers_nine is None or results.peers_given is None:
        yield Paragraph(text="Not measured yet: make bench-peers.")
        return
    requests = max(known.queries for known in results.peers.sets.values())
    yield Paragraph(
        text="Other retrievers, each in its own environment and process, beside ours in the same run, on one core each: the same tools, "
        f"the same requests (at most {requests} of each set, chosen by the hash of their ids), and the same embedded MiniLM where they "
        "embed. research/peers/README.md says how each is asked."
    )
    yield _bare(measure_table(results.peers_nine, "", "CompleteRecall", cutoffs=_CUTOFFS), "Mean over nine sets (%).")
    yield _bare(
        difference_table(results.peers_nine, ""), f"Difference to {DEFAULT_PRESET} in points, mean over nine sets."
    )
    for cutoff in _CUTOFFS:
        table = per_set_table(results.peers, f"CompleteRecall@{cutoff}", sets=tuple(results.peers.sets))
        yield _bare(table, f"CompleteRecall@{cutoff} (%).")
    given = per_set_table(results.peers_given, "CompleteRecall@10", sets=tuple(results.peers_given.sets))
    yield _bare(given, "CompleteRecall@10 (%) where the catalogue was given its source's dependencies.")
    yield Paragraph(text="Absolute times are one machine's, and it was busy: compare within a row.")
    yield _facts_table(results.peers, "Milliseconds a request, p50 / p95.", _latency)
    yield _facts_table(
        results.peers,
        "Seconds to build; MB of memory at most while answering, the process's imports left out.",
        _building,
    )


def _latency(summary: Summary, set_name: str, system: str) -> str:
    fact = Figures(summary).facts(set_name, system)
    return " / ".join(map(milliseconds, fact.stages_ms["total"])) if fact and "total" in fact.stages_ms else "–"


def _building(summary: Summary, set_name: str, system: str) -> str:
    fact = Figures(summary).facts(set_name, system)
    if fact is None:
        return "–"
    seconds, memory = fact.resources.get("build_s"), fact.resources.get("resident_bytes")
    said = (f"{seconds:,.1f} s" if seconds is not None else "–", f"{memory / 1e6:,.0f} MB" if memory else "–")
    return "; ".join(said)


def _facts_table(summary: Summary, caption: str, cell: Any) -> Table:
    rows = [
        (Cell(text=name), *(Cell(text=cell(summary, name, system)) for system in summary.systems))
        for name in summary.sets
    ]
    columns = (Column(name="set", number=False), *(Column(name=system) for system in summary.systems))
    return Table(caption=caption, columns=columns, rows=tuple(rows))


def _graph(graph: Mapping[str, PublishedGraph]) -> Iterator[Table | Paragraph]:
    yield Paragraph(
        text="A bad graph is where bad retrieval starts. Edges between tools, found from the documents alone, against the "
        "dependencies that a source declares or that its answers imply; “same name”, “shared words” and “same type” join "
        "tools by likeness of what they yield and take, without a graph. Keys are far from complete, so precision is a lower bound."
    )
    yield _edges_table(graph)
    yield Paragraph(
        text="Requests with several tools of which an edge joins two, against chance (the same graph with the ends of its edges "
        "swapped), names left double after canonicalisation, and what the build refused."
    )
    yield _state_table(graph)


def _edges_table(graph: Mapping[str, PublishedGraph]) -> Table:
    shown = ("supplies", "resolved_by", "together", "same name", "shared words", "same type")
    rows = []
    for name, quality in graph.items():
        found: dict[str, dict[str, str]] = {}
        for row in quality.scores:
            if row.precision.of:
                pair = f"{percent(row.precision.value or 0.0)} / {percent(row.recall.value or 0.0)}"
                found.setdefault(row.gold, {})[row.edges] = pair
        for key, by_edges in found.items():
            rows.append(tuple(Cell(text=text) for text in (name, key, *(by_edges.get(edges, "–") for edges in shown))))
    columns = (Column(name="set", number=False), Column(name="dependencies", number=False), *map(_column, shown))
    return Table(caption="Precision / recall (%), directed.", columns=columns, rows=tuple(rows))


def _state_table(graph: Mapping[str, PublishedGraph]) -> Table:
    rows = []
    for name, quality in graph.items():
        shares = ["–"] * 3
        if (found := quality.connectivity) is not None:
            shares = [percent(share) for share in (found.share.value or 0.0, found.chance, found.chance_in_system)]
        counts = (quality.duplicates, quality.names_merged, quality.triples_kept, quality.triples_rejected)
        rows.append(tuple(Cell(text=text) for text in (name, *shares, *(f"{count:,}" for count in counts))))
    names = (
        "joined, %",
        "by chance, %",
        "by chance in one system, %",
        "pairs left double",
        "names merged",
        "triples kept",
        "triples rejected",
    )
    return Table(caption="", columns=(Column(name="set", number=False), *map(_column, names)), rows=tuple(rows))


def _column(name: str) -> Column:
    return Column(name=name)


def readme_block(results: Results) -> str:
    """The table of the README: the mean over nine sets."""
    labels = {
        "bm25-regex-title": "lexical (rank-bm25 on titles and descriptions)",
        "semantic": "semantic (MiniLM)",
        BASELINE: "flat hybrid (BM25 and MiniLM by reciprocal ranks)",
        "hybrid": "the paper's hybrid, reranked",
        "paper": "the paper's ego graphs (`paper`)",
        DEFAULT_PRESET: "**egotools (`default`)**",
    }
    figures = _macro(results.nine)
    lines = ["| CompleteRecall, % | @3 | @5 | @10 |", "|---|---:|---:|---:|"]
    for system, label in labels.items():
        cells = (percent(figures[system, f"CompleteRecall@{cutoff}"].value) for cutoff in _CUTOFFS)
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", *_peers_sentence(results.peers_nine)])


def _peers_sentence(summary: Summary | None) -> Iterator[str]:
    if summary is None:
        return
    figures = _macro(summary)
    said = [
        f"{system} {percent(figures[system, 'CompleteRecall@10'].value)}"
        for system in summary.systems
        if (system, "CompleteRecall@10") in figures and system not in ("paper", BASELINE)
    ]
    requests = max(known.queries for known in summary.sets.values())
    yield f"Beside others in one run, on at most {requests} requests of each set, @10: {', '.join(said)}."


def _macro(summary: Summary) -> dict[tuple[str, str], Figure]:
    return {(one.system, one.measure): one for one in summary.figures if one.scope == "macro"}


def graph_blocks(results: Results) -> dict[str, str]:
    """The tables of ``docs/does-the-graph-help.md`` by the name of their block."""
    return {
        "paper-table": table_to_markdown(
            _bare(
                per_set_table(
                    results.everything,
                    "CompleteRecall@10",
                    PAPER_TABLE,
                    sets=tuple(results.everything.sets),
                    intervals=True,
                )
            )
        ),
        "paper-against-hybrid": _differences(results.paper_against_hybrid, "paper", "set"),
        "paper-by-class": _differences(results.paper_against_hybrid, "paper", "class"),
        "paper-against-fusion": _differences(results.paper_against_fusion, "paper", "set"),
        "graph-against-none": _differences(results.graph_against_none, DEFAULT_PRESET, "set"),
        "graph-by-class": _differences(results.graph_against_none, DEFAULT_PRESET, "class"),
        "default-by-class": _differences(results.default_against_hybrid, DEFAULT_PRESET, "class", only=SHIPPED),
    }


def _differences(summary: Summary, system: str, scope: str, only: str = "") -> str:
    """Differences of a system to the summary's baseline, a row for each set or class, of one set alone where it is named."""
    rows: dict[tuple[str, str], dict[str, Figure]] = {}
    for figure in summary.figures:
        if only and figure.set_name != only:
            continue
        if (figure.scope, figure.system) == (scope, system) and figure.difference is not None:
            rows.setdefault((figure.set_name, figure.group), {})[figure.measure] = figure
    if scope == "set":
        macro = {one.measure: one for one in summary.figures if (one.scope, one.system) == ("macro", system)}
        rows["", "mean of these rows"] = macro
    lines = ["| set | class | requests | @3 | @5 | @10 |", "|---|---|---:|---:|---:|---:|"]
    if scope == "set":
        lines = ["| set | requests | @3 | @5 | @10 |", "|---|---:|---:|---:|---:|"]
    for (set_name, group), by_measure in rows.items():
        found = [by_measure[f"CompleteRecall@{cutoff}"] for cutoff in _CUTOFFS]
        names = (set_name, group or "no class") if scope == "class" else (group,)
        lines.append(f"| {' | '.join((*names, f'{found[0].queries:,}', *map(_points, found)))} |")
    return "\n".join(lines)


def _points(figure: Figure) -> str:
    low, high = figure.difference_low or 0.0, figure.difference_high or 0.0
    text = points(figure.difference or 0.0)
    sure = low > 0 or high < 0
    return f"{f'**{text}**' if sure else text} [{points(low)}, {points(high)}]"


if __name__ == "__main__":
    renew_documents(read_results(DOCS))
