"""The page of a comparison: other differences of the evaluations, then the requests that each system gained and lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from eval.analysis.compare import ChangedRequest, Comparison, Point, SetComparison, SystemComparison
from eval.metrics import complete_at
from eval.queries import slot_name
from eval.report.blocks import (
    Cell,
    Table,
    make_table,
    number_columns,
    p_value,
    percent,
    points,
    rank_of,
    render,
    text_columns,
)

__all__ = ["comparison_to_markdown"]

_TEXT_CHARS = 160  # of a request, in a row
_NAMED = 20  # ids that a warning names


def comparison_to_markdown(comparison: Comparison, *, title: str = "") -> str:
    """The page as Markdown: first the other differences of the evaluations, then each set."""
    return render(
        "comparison.md",
        title=title or "What changed",
        warnings=list(_warnings(comparison)),
        sets=[_set(compared, comparison) for compared in comparison.sets],
    )


def _warnings(comparison: Comparison) -> Iterator[str]:
    """Yield the differences other than the answers, the most important first."""
    for compared in comparison.sets:
        name = _both(compared.names)
        if compared.snapshots[0] != compared.snapshots[1]:
            yield f"{name}: the snapshots differ: {_both(compared.snapshots)}. The catalogue or its graph is another."
        if compared.queries_sha256[0] != compared.queries_sha256[1]:
            yield (
                f"{name}: the requests differ; figures are over the {len(compared.paired):,} that are the same in both."
                + _named(" Only before", compared.only_before)
                + _named(" Only after", compared.only_after)
                + _named(" With another text or gold set", compared.altered)
            )
        yield from _config_warnings(compared, name)
        if compared.too_deep:
            yield f"{name}: answers do not reach k = {', '.join(map(str, compared.too_deep))} in both; left out."
    for names, when in ((comparison.sets_only_before, "before"), (comparison.sets_only_after, "after")):
        if names:
            yield f"Sets measured only {when}, left out: {', '.join(names)}."


def _config_warnings(compared: SetComparison, name: str) -> Iterator[str]:
    differing: dict[tuple[str, ...], list[str]] = {}
    for one in compared.systems:
        if one.hashes[0] != one.hashes[1]:
            differing.setdefault(one.settings, []).append(f"{one.system} ({' → '.join(one.hashes)})")
        if any(one.unanswered):
            yield (
                f"{name}: {one.system} left requests without an answer, {one.unanswered[0]:,} before and "
                f"{one.unanswered[1]:,} after; each scores 0."
            )
    for settings, systems in differing.items():
        yield f"{name}: configurations differ in {', '.join(settings) or 'their hash'}: {', '.join(systems)}."
    for systems_only, when in ((compared.systems_only_before, "before"), (compared.systems_only_after, "after")):
        if systems_only:
            yield f"{name}: systems measured only {when}, left out: {', '.join(systems_only)}."


def _set(compared: SetComparison, comparison: Comparison) -> dict[str, Any]:
    return {
        "name": _both(compared.names),
        "points": _points(compared, comparison),
        "systems": [{"name": one.system, "changes": _changes(one)} for one in compared.systems],
    }


def _points(compared: SetComparison, comparison: Comparison) -> Table:
    configs = ", ".join(f"{one.system} {_both(one.hashes)}" for one in compared.systems)
    return make_table(
        (*text_columns("system"), *number_columns("k", "before", "after", "difference", "gained", "lost")),
        [(one.system, *_point(point)) for one in compared.systems for point in one.points],
        caption=f"CompleteRecall@k (%) over the {len(compared.paired):,} requests that both have; differences in "
        f"points "
        f"with paired 95 % interval and two-sided p (bootstrap of {comparison.resamples:,} resamples, seed "
        f"{comparison.seed}), bold where the interval excludes 0; requests gained and lost. Snapshot "
        f"{_both(compared.snapshots)}; config hash of {configs}.",
    )


def _point(point: Point) -> tuple[str | Cell, ...]:
    difference = Cell(
        text=points(point.difference),
        best=point.low > 0 or point.high < 0,
        detail=f"[{points(point.low)}, {points(point.high)}], p {p_value(point.p)}",
    )
    values = (str(point.k), percent(point.before), percent(point.after))
    return (*values, difference, str(len(point.gained)), str(len(point.lost)))


def _changes(one: SystemComparison) -> dict[str, Table]:
    """The requests whose completeness changed at any k; empty where there are none."""
    tables = {
        "Gained": _change_table([(point.k, point.gained) for point in one.points]),
        "Lost": _change_table([(point.k, point.lost) for point in one.points]),
    }
    return {side: table for side, table in tables.items() if table.rows}


def _change_table(by_cutoff: Sequence[tuple[int, tuple[ChangedRequest, ...]]]) -> Table:
    """A row for each request, with the cutoffs at which it changed and the ranks of its gold tools."""
    at: dict[str, list[int]] = {}
    changes: dict[str, ChangedRequest] = {}
    for k, changed in by_cutoff:
        for change in changed:
            at.setdefault(change.query.id, []).append(k)
            changes[change.query.id] = change
    rows = []
    for query_id, change in sorted(changes.items()):
        ranks = ", ".join(
            f"{slot_name(slot)} {rank_of(before)} → {rank_of(after)}"
            for slot, before, after in zip(change.query.slots, change.before, change.after, strict=True)
        )
        depth = f"{rank_of(complete_at(change.before))} → {rank_of(complete_at(change.after))}"
        described = (query_id, change.query.request_class, _shortened(change.query.text))
        rows.append((*described, " ".join(f"@{k}" for k in at[query_id]), depth, ranks))
    return make_table(text_columns("request", "class", "text", "at", "complete at", "ranks of the gold tools"), rows)


def _both(values: tuple[str, str]) -> str:
    return values[0] if values[0] == values[1] else f"{values[0]} → {values[1]}"


def _named(what: str, ids: Sequence[str]) -> str:
    if not ids:
        return ""
    more = f" and {len(ids) - _NAMED:,} more" if len(ids) > _NAMED else ""
    return f"{what} ({len(ids):,}): {', '.join(ids[:_NAMED])}{more}."


def _shortened(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _TEXT_CHARS else f"{plain[: _TEXT_CHARS - 1]}…"
