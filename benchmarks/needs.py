"""Needs beside whole requests, on every set with recorded needs but the real documents' half that is kept for the end: ``make bench-needs``
writes ``benchmarks/needs.json`` and the tables of README and ``docs/results.md``; ``--render`` makes the tables alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated

import typer

from benchmarks.command import ROOT, Provenance, current, replace_block, run_command
from benchmarks.quality import (
    Result,
    Results,
    TokenCost,
    facts_of,
    read_results,
    results_of,
    write_ranks,
    write_results,
)
from benchmarks.sets import REAL, REAL_ABSENT, SHIPPED_TEST, BenchSet, bench_sets, real_sets
from services.threads import pin_threads

if TYPE_CHECKING:
    from eval.measured_set import MeasuredSet


OUT = ROOT / "out" / "bench-needs"
RESULTS = ROOT / "benchmarks" / "needs.json"
_LABELS = {
    "bm25": "`bm25`",
    "rrf": "`rrf`: BM25 and encoder by reciprocal ranks",
    "paper": "`paper`: the paper's ego graphs, our models",
    "default-no-graph": "`default` without the graph",
    "default": "**`default`**",
    "reranked": "`default` with `--reranker egotools-cross-int8.v1`",
}
_BY_NEEDS, _ALONE, _RERANKED = "default@needs", "default@needs-alone", "reranked@needs"
_AGAINST = {
    "default": "itself on whole requests",
    "rrf@needs": "`rrf` on needs",
    "default-no-graph@needs": "itself without the graph on needs",
}
_CUTOFFS = (5, 10)
_SHOWN = 10  # tools whose schemas an agent reads


def main(
    out: Annotated[Path, typer.Option(help="Folder of snapshots and answers.")] = OUT,
    render: Annotated[bool, typer.Option("--render", help="Measure nothing: make the tables again.")] = False,
) -> None:
    """Measure every set with recorded needs, and renew the documents."""
    pin_threads()  # before anything numeric is imported
    if not render:
        write_results(_measured(out), RESULTS)
    renew_needs(read_results(RESULTS))


def _measured(out: Path) -> Results:
    from benchmarks.measure import measure
    from inference import DEFAULT_ENCODER
    from inference.registry import EMBEDDED_CROSS_ENCODER

    measured, cost, now = [], {}, current(DEFAULT_ENCODER)
    asked = [*(name for name in _LABELS if name != "reranked"), _ALONE]
    for one in _sets():
        found = measure(one, out / one.name, asked, report=False, needs=True)
        again = measure(
            one, out / one.name, ("default",), report=False, needs=True, reranker=EMBEDDED_CROSS_ENCODER
        ).runs
        reranked = (replace(run, system=run.system.replace("default", "reranked")) for run in again)
        found = replace(found, runs=(*found.runs, *reranked))
        measured.append(found)
        if one.name in (SHIPPED_TEST, REAL):
            cost[one.name] = _cost(found, out / one.name / "store")
        print(f"{one.name}: {len(found.queries.queries):,} requests", flush=True)
    write_ranks(measured, ".needs")
    return collect(measured, cost, now)


def _sets() -> list[BenchSet]:
    real = [one for one in real_sets() if one.name == REAL]
    if not real:
        raise typer.BadParameter(REAL_ABSENT)
    open_sets = [one for one in bench_sets() if one.needs is not None and one.declared is None]
    return [*bench_sets([SHIPPED_TEST]), *real, *open_sets]


def collect(measured: Sequence[MeasuredSet], cost: Mapping[str, TokenCost], now: Provenance) -> Results:
    """The figures of a whole run: differences to ``default@needs``, and the mean over the open sets."""
    from eval.summary import summarise

    open_sets = [one for one in measured if one.queries.name not in (SHIPPED_TEST, REAL)]
    results = [
        *results_of(summarise(measured, baseline=_BY_NEEDS).figures, "set", _BY_NEEDS),
        *results_of(summarise(open_sets, baseline=_BY_NEEDS).figures, "macro", _BY_NEEDS),
    ]
    shown = tuple(one for one in results if one.k in _CUTOFFS)
    return Results(measured=now, sets=facts_of(measured), results=shown, cost=cost)


def _cost(measured: MeasuredSet, store: Path) -> TokenCost:
    """Tokens by the tokenizer of the embedded encoder."""
    from inference.minilm import WEIGHTS, load_tokenizer, read_card, read_checked
    from retrieval.engine import open_engine
    from services.schemas.call_schema import call_schema

    tokenizer = load_tokenizer(read_checked(WEIGHTS, "tokenizer.json", read_card(WEIGHTS, set())), None)

    def tokens(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    snapshot = open_engine(store).snapshot
    tools = map(snapshot.tool, range(snapshot.tool_count))
    schemas = {tool.id: tokens(call_schema(tool, "openai").json) for tool in tools}
    answers = next(run.answers for run in measured.runs if run.system == _BY_NEEDS)
    queries = measured.queries.queries
    return TokenCost(
        needs=_mean(tokens(json.dumps(query.needs, ensure_ascii=False)) for query in queries),
        schemas=_mean(sum(schemas[tool] for tool in answers[query.id].tools[:_SHOWN]) for query in queries),
        all_schemas=float(sum(schemas.values())),
    )


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return round(sum(found) / len(found), 1)


def renew_needs(results: Results, *, root: Path = ROOT) -> None:
    """Write the tables of README and of the page of results."""
    replace_block(root / "README.md", "needs", "\n".join(_first_table(results)))
    replace_block(root / "docs" / "results.md", "needs-differences", "\n".join(_differences(results)))
    replace_block(root / "docs" / "results.md", "needs-by-set", "\n".join(_by_set(results)))


def _groups(results: Results) -> dict[str, str]:
    return {
        SHIPPED_TEST: "shipped company",
        REAL: "real documents",
        "": f"mean of {len(_open_sets(results))} open sets",
    }


def _first_table(results: Results) -> Iterator[str]:
    """Whole requests and needs side by side."""
    figures, groups = _found(results), _groups(results)
    yield f"| CompleteRecall @5 / @10, % | {' | '.join(f'{told}: whole | needs' for told in groups.values())} |"
    yield f"|---|{'---:|' * 6}"
    for system, label in _LABELS.items():
        cells = [_pair(figures, group, way) for group in groups for way in (system, f"{system}@needs")]
        yield f"| {label} | {' | '.join(cells)} |"
    yield ""
    yield _measured_by(results)


def _differences(results: Results) -> Iterator[str]:
    """What needs are worth, and what a request costs the agent."""
    figures, groups = _found(results), _groups(results)
    yield f"| `default` on needs minus, @5 / @10 | {' | '.join(groups.values())} |"
    yield f"|---|{'---:|' * 3}"
    for other, told in _AGAINST.items():
        gains = (" / ".join(_difference(figures[group, other, k]) for k in _CUTOFFS) for group in groups)
        yield f"| {told} | {' | '.join(gains)} |"
    found = [[figures[each, _RERANKED, k].difference for each in _open_sets(results)] for k in _CUTOFFS]
    medians = " / ".join(_points(100 * median(each)) for each in found)
    gains = (" / ".join(_difference(figures[group, _RERANKED, k], sign=1) for k in _CUTOFFS) for group in groups)
    yield f"| with the cross-encoder, minus itself without it | {' | '.join(gains)}; median {medians} |"
    yield ""
    yield "Mean tokens of a request for the agent, by the tokenizer of the encoder:"
    for name, cost in results.cost.items():
        read = f"{cost.schemas:,.0f} of the schemas of ten tools that it reads, not {cost.all_schemas:,.0f} of all {results.sets[name].tools:,}"
        yield f"- {groups[name]}: {cost.needs:.0f} of needs that it writes, and {read}"


def _measured_by(results: Results) -> str:
    usual = results.measured
    return f"Measured by `make bench-needs` with {replace(usual, encoder='')}, encoder `{usual.encoder}`."


def _open_sets(results: Results) -> list[str]:
    return [name for name in results.sets if name not in (SHIPPED_TEST, REAL)]


def _by_set(results: Results) -> Iterator[str]:
    """Every set: ``default`` on whole requests, and on needs beside its rivals, with what it gains on the nearest one."""
    figures = _found(results)
    columns = ("default", "rrf@needs", "default-no-graph@needs", _ALONE, _BY_NEEDS, _RERANKED)
    yield f"| set | requests | {' | '.join(f'`{each}`' for each in columns)} | minus `rrf@needs` @10 |"
    yield f"|---|---:|{'---:|' * (len(columns) + 1)}"
    open_sets = _open_sets(results)
    for name in (SHIPPED_TEST, REAL, *open_sets, ""):
        requests = sum(results.sets[each].requests for each in ([name] if name else open_sets))
        cells = [_pair(figures, name, each).replace(" ", "") for each in columns]
        gain = _difference(figures[name, "rrf@needs", _CUTOFFS[-1]])
        yield f"| {name or f'*mean of the {len(open_sets)} open sets*'} | {requests:,} | {' | '.join(cells)} | {gain} |"
    yield ""
    yield _measured_by(results)


Found = Mapping[tuple[str, str, int], Result]


def _found(results: Results) -> Found:
    return {(one.set, one.system, one.k): one for one in results.results}


def _pair(figures: Found, group: str, system: str) -> str:
    """``58.2 / 77.6``, at five and ten tools."""
    return " / ".join(f"{figures[group, system, k].value * 100:.1f}" for k in _CUTOFFS)


def _difference(one: Result, *, sign: int = -1) -> str:
    """What ``default`` on needs gains on a system; with the sign 1 the other way round."""
    value, *ends = (100 * sign * each for each in (one.difference, one.difference_low, one.difference_high))
    low, high = sorted(ends)
    told = f"**{_points(value)}**" if low > 0 or high < 0 else _points(value)
    return f"{told} [{_points(low)}, {_points(high)}]"


def _points(value: float) -> str:
    return f"{value:+.1f}" if round(value, 1) else "0.0"


if __name__ == "__main__":
    run_command(main)
