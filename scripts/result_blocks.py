"""Blocks of ``docs/does-the-graph-help.md`` that are made from ``docs/results.json``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from eval.metrics import COMPLETE
from eval.report import (
    Cell,
    Table,
    difference_cell,
    make_table,
    number_columns,
    per_set_table,
    table_to_markdown,
    text_columns,
)
from eval.report.blocks import points
from eval.summary import Figure, Summary
from scripts.bench_sets import GRAPH_RULE_SETS, MACRO_SETS, SHIPPED, SHIPPED_GENERATED
from scripts.graph_gain import SetGroups, mean_over_sets, set_differences, share_of
from scripts.published_results import BASELINE, PAPER_TABLE, Results

__all__ = [
    "SEMANTIC",
    "graph_blocks",
    "most_requests",
    "peers_names",
    "provenance_lines",
    "relabelled",
]

_MEASURES = tuple(f"{COMPLETE}@{cutoff}" for cutoff in (3, 5, 10))
SEMANTIC = {"semantic": "semantic (tuned encoder)"}
"""``semantic`` in a table: its encoder saw tools of two of the nine sets, which the text beside the table says."""


def provenance_lines(results: Results) -> Iterator[str]:
    """With what the figures were measured, one line; none where that is not known."""
    usual = results.measured.get("everything")
    if usual is None:
        return
    told = [str(usual)]
    for name, one in results.measured.items():
        if one is not usual:
            told.append(f"{name}: {replace(one, encoder='') if one.encoder == usual.encoder else one}")
    yield f"Measured with {'; '.join(told)}."


def peers_names(results: Results) -> dict[str, str]:
    """System of ours → how it is called in the peers' tables: by its commit, where that is not that of the other tables."""
    everything, peers = results.measured.get("everything"), results.measured.get("peers")
    if peers is None or everything == peers:
        return {}
    return {system: f"{system} as of {peers.commit}" for system in ("default", "paper", BASELINE)}


def relabelled(table: Table, names: Mapping[str, str]) -> Table:
    """A table with other names of systems in its first column and in its head."""
    columns = (
        replace(column, name=names.get(column.name, column.name), group=names.get(column.group, column.group))
        for column in table.columns
    )
    rows = ((replace(row[0], text=names.get(row[0].text, row[0].text)), *row[1:]) for row in table.rows)
    return replace(table, columns=tuple(columns), rows=tuple(rows))


def graph_blocks(results: Results) -> dict[str, str]:
    """The blocks of ``docs/does-the-graph-help.md`` by name."""
    everything, pairs = results.everything, results.pairs
    table = per_set_table(everything, _MEASURES[-1], PAPER_TABLE, sets=tuple(everything.sets), intervals=True)
    blocks = {
        "graph-in-short": _in_short(pairs["graph_against_none"]),
        "measured": "\n".join(provenance_lines(results)),
        "paper-table": table_to_markdown(replace(relabelled(table, SEMANTIC), caption="")),
        "paper-by-class": _by_class(pairs["paper_against_hybrid"], (SHIPPED, SHIPPED_GENERATED)),
        "graph-by-class": _by_class(pairs["graph_against_none"], (SHIPPED, SHIPPED_GENERATED)),
        "default-by-class": _by_class(pairs["default_against_hybrid"], (SHIPPED,)),
    }
    for name in ("paper-against-hybrid", "paper-against-fusion", "graph-against-none"):
        blocks[name] = _by_set(pairs[name.replace("-", "_")])
    return blocks


def _in_short(summary: Summary) -> str:
    """The gain of the graph, and how it is spread over the sets."""
    differences = [set_differences(summary, measure) for measure in _MEASURES]
    groups = SetGroups.of(tuple(differences[0]))
    rules = [name for name in groups.rules if name in MACRO_SETS]
    others = groups.published_without_rule
    beside = [name for name in groups.no_rule if name not in others]
    mean = [mean_over_sets(one, groups.published) for one in differences]
    rest = [mean_over_sets(one, others) for one in differences]
    shares = [f"{100 * share_of(one, rules, groups.published):.0f}" for one in differences]
    by_rule = " and ".join(f"{GRAPH_RULE_SETS[name]} ({name})" for name in rules)
    ten = differences[-1]
    better = [name for name in groups.no_rule if (ten[name].difference_low or 0.0) > 0]
    worse = [name for name in groups.no_rule if (ten[name].difference_high or 0.0) < 0]
    return (
        f"- **{_slashed(shares)} % of the graph's mean gain at 3 / 5 / 10 tools come from {len(rules)} sets, by one rule "
        f"each**, and each rule was "
        f"found on that set: {by_rule}.\n"
        f"- Over the nine published sets ({', '.join(MACRO_SETS)}) the graph gains {_slashed(points(one.value) for one in mean)} points of "
        f"CompleteRecall. **Over the "
        f"other {len(others)} it gains {_slashed(points(one.value) for one in rest)}.**\n"
        f"- With the set as the unit (exact sign-flip test), p is {_slashed(f'{one.p:.3f}' for one in mean)} "
        f"over the nine and "
        f"{_slashed(f'{one.p:.3f}' for one in rest)} over the {len(others)}.\n"
        f"- No rule was found on {len(groups.no_rule)} measured sets: these {len(others)} and {', '.join(beside)}. "
        f"At ten tools the graph is better beyond chance on "
        f"{len(better)} of them ({', '.join(better) or 'none'}) and worse beyond chance on {len(worse)}."
    )


def _slashed(values: Iterable[str]) -> str:
    return " / ".join(values)


def _by_set(summary: Summary) -> str:
    """Differences to the baseline by set; sets that a rule was found on and sets in no mean come after the others."""
    differences = [set_differences(summary, measure) for measure in _MEASURES]
    groups = SetGroups.of(tuple(differences[0]))

    def row(name: str, note: str) -> tuple[str | Cell, ...]:
        cells = (difference_cell(one[name], with_p=False) for one in differences)
        return name, note, f"{differences[0][name].queries:,}", *cells

    def mean(label: str, names: Sequence[str]) -> tuple[str, ...]:
        requests = sum(differences[0][name].queries for name in names)
        found = (mean_over_sets(one, names) for one in differences)
        return label, "", f"{requests:,}", *(f"{points(one.value)}, p {one.p:.3f}" for one in found)

    rows: list[tuple[str | Cell, ...]] = [row(name, "") for name in groups.no_rule]
    averages = [len(rows)]
    rows.append(mean(f"mean of the {len(groups.no_rule)} sets on which no rule was found", groups.no_rule))
    rows += [row(name, "a rule was found on it") for name in groups.rules]
    if groups.rules:
        others = groups.published_without_rule
        averages += [len(rows), len(rows) + 1]
        rows.append(mean(f"mean of the {len(groups.published)} published sets", groups.published))
        rows.append(mean(f"mean of the other {len(others)}", others))
    rows += [row(name, "in no mean") for name in groups.in_no_mean]
    columns = (*text_columns("set", "note"), *number_columns("requests", "@3", "@5", "@10"))
    return table_to_markdown(make_table(columns, rows, averages=averages))


def _by_class(summary: Summary, sets: Sequence[str]) -> str:
    """Differences to the baseline by class of request of these sets."""
    found: dict[tuple[str, str], dict[str, Figure]] = {}
    for one in summary.figures:
        if one.scope == "class" and one.set_name in sets and one.difference is not None:
            found.setdefault((one.set_name, one.group), {})[one.measure] = one
    rows: list[tuple[str | Cell, ...]] = []
    for names, figures in found.items():
        cells = (difference_cell(figures[measure], with_p=False) for measure in _MEASURES)
        rows.append((*names, f"{figures[_MEASURES[0]].queries:,}", *cells))
    return table_to_markdown(
        make_table((*text_columns("set", "class"), *number_columns("requests", "@3", "@5", "@10")), rows)
    )


def most_requests(summary: Summary) -> int:
    """The number of requests of the largest set."""
    return max(facts.queries for facts in summary.sets.values())
