"""``docs/results.md``, made from ``docs/results.json``.

``python -m scripts.results_page`` renews it, and the blocks of other documents (:mod:`scripts.result_blocks`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from eval.metrics import COMPLETE, metric_of
from eval.report import (
    Document,
    Figures,
    Paragraph,
    Picture,
    Section,
    Table,
    averages_picture,
    by_group_picture,
    configs_table,
    difference_table,
    document_to_markdown,
    make_table,
    measure_table,
    number_columns,
    per_set_table,
    pictures_of,
    sets_table,
    table3,
    text_columns,
)
from eval.report.blocks import milliseconds, percent
from eval.summary import Summary
from ontology.files import write_file
from retrieval.presets import DEFAULT_PRESET
from scripts.bench_sets import MACRO_SETS, ROOT, SHIPPED
from scripts.document_blocks import replace_block
from scripts.published_results import (
    BASELINE,
    DOCS,
    NO_GRAPH,
    PAPER_TABLE,
    PublishedGraph,
    Results,
    read_results,
)
from scripts.result_blocks import (
    SEMANTIC,
    graph_blocks,
    most_requests,
    peers_names,
    provenance_lines,
    relabelled,
)

__all__ = ["renew_documents"]

_CUTOFFS = (3, 5, 10)
_MEASURES = tuple(f"{COMPLETE}@{cutoff}" for cutoff in _CUTOFFS)
_SHOWN = (*PAPER_TABLE, "bm25", BASELINE, "fusion", "fusion-clauses", NO_GRAPH, DEFAULT_PRESET)
_NINE = f"the mean over {', '.join(MACRO_SETS[:-1])} and {MACRO_SETS[-1]}"
Block = Table | Picture | Paragraph


def renew_documents(results: Results, *, root: Path = ROOT) -> None:
    """Write every document that shows the results."""
    docs = root / "docs"
    document = _results_document(results)
    write_file(docs / "results.md", document_to_markdown(document))
    for picture in pictures_of(document.sections):
        write_file(docs / picture.name, picture.png)
    for name, text in graph_blocks(results).items():
        replace_block(docs / "does-the-graph-help.md", name, text)


def _results_document(results: Results) -> Document:
    """The page of all results."""
    sections: dict[str, Iterator[Block]] = {
        "What was measured": _measured(results),
        "Mean over nine sets": _mean(results.nine),
        "Set by set": _set_by_set(results.everything),
        "The shipped benchmark, dev and test half": _halves(results.halves),
        "What each part of default is worth": _ablations(results.ablations),
        "Other measures, mean over nine sets": _other_measures(results.nine),
        "By class of request, the shipped set": _shipped(results.everything),
        "Peers": _peers(results),
        "The tool graph": _graph(results.graph),
        "Configurations by set": _configs(results.everything),
    }
    return Document(
        title="Results",
        warnings=_warnings(results.everything),
        sections=tuple(Section(title=title, blocks=tuple(blocks)) for title, blocks in sections.items()),
    )


def _warnings(summary: Summary) -> tuple[str, ...]:
    """Answers that are missing: they score 0, and the reader must know."""
    return tuple(
        f"{fact.system} on {fact.set_name} left {fact.unanswered:,} of {fact.answered + fact.unanswered:,} "
        f"requests without an answer."
        for fact in summary.facts
        if fact.unanswered
    )


def _bare(table: Table, caption: str = "") -> Table:
    """A table without the long caption of a report: snapshots and config hashes have tables of their own here."""
    return replace(relabelled(table, SEMANTIC), caption=caption)


def _measured(results: Results) -> Iterator[Block]:
    summary = results.everything
    for line in provenance_lines(results):
        rest = "Every system that embeds uses this encoder; snapshots and config hashes are those of these commits."
        yield Paragraph(text=f"{line.replace('`', '')} {rest}")
    yield Paragraph(
        text=f"{len(summary.systems)} systems on {len(summary.sets)} sets, every development request of each. "
        "CompleteRecall@k is the share of requests whose needed tools are all among the first k; a request without an "
        "answer scores 0 and counts; |gold| > k is the share that no system can complete. Intervals are 95 % paired "
        f"bootstrap intervals over requests ({summary.resamples:,} resamples, seed {summary.seed}), not corrected for "
        "the number of comparisons. The weights of default were chosen on the nine sets of the mean below (docs/unseen.md measures "
        "what they are "
        "worth on a set that was left out); a held-back part of the requests is measured elsewhere. A set that "
        "ends in -given "
        "has the dependencies that its source declares in the catalogue. Written by make bench-quality and make "
        "bench-peers "
        "from docs/results.json."
    )
    yield sets_table(summary)


def _mean(nine: Summary) -> Iterator[Block]:
    plain = [name for name in nine.systems if name == NO_GRAPH or not name.startswith(f"{DEFAULT_PRESET}-no-")]
    yield Paragraph(text=f"Each set counts the same: {_NINE}.")
    yield _bare(measure_table(nine, "", COMPLETE, cutoffs=_CUTOFFS))
    yield averages_picture(nine, systems=_SHOWN, name="results-mean.png")
    yield _bare(difference_table(nine, "", systems=plain), f"Difference to {BASELINE} in points.")


def _set_by_set(summary: Summary) -> Iterator[Block]:
    for cutoff, measure in zip(_CUTOFFS, _MEASURES, strict=True):
        intervals = cutoff == _CUTOFFS[-1]
        table = per_set_table(summary, measure, _SHOWN, sets=tuple(summary.sets), intervals=intervals)
        yield _bare(table, f"{measure} (%), the best in bold.")
    yield by_group_picture(summary, systems=(*PAPER_TABLE, BASELINE, NO_GRAPH, DEFAULT_PRESET), name="results-sets.png")


def _halves(halves: Summary) -> Iterator[Block]:
    yield Paragraph(
        text="The model-written requests of the shipped company: written one at a time by a language model, "
        "without generator or "
        "template. Dev and test half share no tool path; weights and rules may be chosen on the dev half. Measured by: "
        "python -m scripts.bench_quality --sets enterprise --publish."
    )
    for measure in _MEASURES:
        table = per_set_table(halves, measure, _SHOWN, sets=tuple(halves.sets), intervals=True)
        yield _bare(table, f"{measure} (%), the best in bold.")


def _ablations(ablations: Summary) -> Iterator[Block]:
    yield Paragraph(text=f"default without one part, minus default: {_NINE}. Negative: the part helps.")
    yield _bare(difference_table(ablations, ""), "Points of CompleteRecall.")
    yield Paragraph(
        text="One ablation is measured again with: python -m scripts.bench_quality "
        f"--sets {','.join(MACRO_SETS)} --systems rrf,default,default-no-clauses --publish. Its times are not published, "
        "because they are of another run."
    )


def _other_measures(nine: Summary) -> Iterator[Block]:
    metrics = dict.fromkeys(metric_of(figure.measure) for figure in nine.figures)
    for metric in metrics:
        if metric != COMPLETE:
            yield _bare(measure_table(nine, "", metric, cutoffs=_CUTOFFS, systems=_SHOWN), f"{metric}@k (%).")


def _shipped(summary: Summary) -> Iterator[Block]:
    yield Paragraph(text=f"{SHIPPED}: the paper's Table 3 and Figure 5 on the model-written requests.")
    yield _bare(table3(summary, SHIPPED, systems=(*PAPER_TABLE, DEFAULT_PRESET)), "CompleteRecall@k (%).")


def _peers(results: Results) -> Iterator[Block]:
    peers, names = results.peers, peers_names(results)
    if not peers:
        yield Paragraph(text="Not measured yet: make bench-peers.")
        return
    every, nine, given = peers["peers"], peers["peers_nine"], peers["peers_given"]
    yield Paragraph(
        text="Other retrievers, each in its own environment and process, beside ours in the same run, on one "
        "core each: the same tools, "
        f"the same requests (at most {most_requests(every)} of each set, chosen by the hash of their ids), and "
        f"the same encoder where they embed. research/peers/README.md describes how each is asked."
        + (f" Measured with {results.measured['peers']}.".replace("`", "") if names else "")
    )
    yield _bare(relabelled(measure_table(nine, "", COMPLETE, cutoffs=_CUTOFFS), names), "Mean over nine sets (%).")
    baseline = names.get(DEFAULT_PRESET, DEFAULT_PRESET)
    differences = relabelled(difference_table(nine, ""), names)
    yield _bare(differences, f"Difference to {baseline} in points, mean over nine sets.")
    for measure in _MEASURES:
        yield _bare(relabelled(per_set_table(every, measure, sets=tuple(every.sets)), names), f"{measure} (%).")
    table = relabelled(per_set_table(given, _MEASURES[-1], sets=tuple(given.sets)), names)
    yield _bare(table, f"{_MEASURES[-1]} (%) where the catalogue was given the dependencies of its source.")
    yield Paragraph(text="Absolute times are of one busy machine: compare within a row.")
    yield relabelled(_facts_table(every, "Milliseconds a request, p50 / p95.", _latency), names)
    costs = "Seconds to build; MB of memory at most while answering, without the process's imports."
    yield relabelled(_facts_table(every, costs, _building), names)


def _latency(summary: Summary, set_name: str, system: str) -> str:
    fact = Figures(summary).facts(set_name, system)
    return " / ".join(map(milliseconds, fact.stages_ms["total"])) if fact and "total" in fact.stages_ms else "–"


def _building(summary: Summary, set_name: str, system: str) -> str:
    fact = Figures(summary).facts(set_name, system)
    if fact is None:
        return "–"
    seconds, memory = fact.resources.get("build_s"), fact.resources.get("resident_bytes")
    return f"{'–' if seconds is None else f'{seconds:,.1f} s'}; {f'{memory / 1e6:,.0f} MB' if memory else '–'}"


def _facts_table(summary: Summary, caption: str, cell: Callable[[Summary, str, str], str]) -> Table:
    rows = [(name, *(cell(summary, name, system) for system in summary.systems)) for name in summary.sets]
    return make_table((*text_columns("set"), *number_columns(*summary.systems)), rows, caption=caption)


def _graph(graph: Mapping[str, PublishedGraph]) -> Iterator[Block]:
    yield Paragraph(
        text="Edges between tools, derived from the documents alone, against the dependencies that a source "
        "declares or that its "
        "answers imply; “same name”, “shared words” and “same type” join tools by lexical matching, without a "
        "graph. Gold edges "
        "are far from complete, so precision is a lower bound."
    )
    yield _edges_table(graph)
    yield Paragraph(
        text="Share of requests with several tools of which an edge joins two, against chance (the same graph "
        "with the ends of its "
        "edges swapped); residual duplicates after canonicalisation; what the build kept and rejected."
    )
    columns = ("connected, %", "by chance, %", "by chance in one system, %")
    counts = ("residual duplicates", "names merged", "triples kept", "triples rejected")
    yield make_table(
        (*text_columns("set"), *number_columns(*columns, *counts)),
        [(name, *_state(quality)) for name, quality in graph.items()],
    )


def _edges_table(graph: Mapping[str, PublishedGraph]) -> Table:
    shown = ("supplies", "resolved_by", "together", "same name", "shared words", "same type")
    rows = []
    for name, quality in graph.items():
        found: dict[str, dict[str, str]] = {}
        for one in quality.scores:
            if one.precision.of:
                pair = f"{percent(one.precision.value or 0.0)} / {percent(one.recall.value or 0.0)}"
                found.setdefault(one.gold, {})[one.edges] = pair
        rows += [(name, kind, *(by_edges.get(edges, "–") for edges in shown)) for kind, by_edges in found.items()]
    columns = (*text_columns("set", "dependencies"), *number_columns(*shown))
    return make_table(columns, rows, caption="Precision / recall (%), directed.")


def _state(quality: PublishedGraph) -> tuple[str, ...]:
    found = quality.connectivity
    shares = (found.share.value or 0.0, found.chance, found.chance_in_system) if found is not None else (None,) * 3
    counts = (quality.duplicates, quality.names_merged, quality.triples_kept, quality.triples_rejected)
    return (*("–" if one is None else percent(one) for one in shares), *(f"{count:,}" for count in counts))


def _configs(summary: Summary) -> Iterator[Block]:
    yield Paragraph(
        text="The hash of every system's configuration on every set: snapshot, models, and the code that answers."
    )
    yield configs_table(summary)


if __name__ == "__main__":
    renew_documents(read_results(DOCS))
