"""Quality: every system on every set, ``make bench-quality``; writes ``benchmarks/results.json`` and the tables of ``docs/results.md``.

For each set it builds the snapshot (what did not change since the last time is reused), asks every system every request, and keeps the
rank at which each request is complete in ``benchmarks/ranks``. An interrupted run resumes. Where the real documents have been fetched, the
half of their requests that rules may be chosen on is one more set; the other half is measured only when it is named. ``--sets`` measures a
part, and leaves the page as it is; ``--render`` makes the tables alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import TypeAdapter

from benchmarks.command import ROOT, Provenance, current, replace_block, run_command
from benchmarks.sets import (
    MACRO_SETS,
    REAL,
    REAL_ABSENT,
    REAL_KEPT,
    SHIPPED_DEV,
    SHIPPED_TEST,
    BenchSet,
    bench_sets,
    real_sets,
)
from ontology.files import write_file
from services.threads import pin_threads

if TYPE_CHECKING:
    from eval.measured_set import MeasuredSet
    from eval.summary import Figure


OUT = ROOT / "out" / "bench-quality"
RESULTS = ROOT / "benchmarks" / "results.json"
RANKS = ROOT / "benchmarks" / "ranks"
PAGE = ROOT / "docs" / "results.md"
SYSTEMS = ("bm25", "semantic", "rrf", "paper", "default-no-graph", "default")
BASELINES = ("rrf", "default-no-graph")
CUTOFFS = (3, 5, 10)
_MEASURES = {f"CompleteRecall@{k}": k for k in CUTOFFS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """CompleteRecall of one system on one set, as shares with 95 % intervals.

    :param set: its name; empty for the mean over the nine sets.
    :param minus: the baseline of the difference; empty for the baseline itself.
    """

    set: str
    system: str
    k: int
    value: float
    low: float
    high: float
    minus: str = ""
    difference: float = 0.0
    difference_low: float = 0.0
    difference_high: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SetFacts:
    """A set: sizes, the snapshot that was searched, and the digest of its requests."""

    tools: int
    requests: int
    snapshot: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCost:
    """Mean tokens of a request: of its needs, of the schemas of the first ten tools, and of the schemas of all tools."""

    needs: float
    schemas: float
    all_schemas: float


@dataclass(frozen=True, kw_only=True)
class Results:
    """What is published, and with what it was measured.

    :param cost: set → tokens, where sets were asked by needs.
    """

    measured: Provenance
    sets: Mapping[str, SetFacts]
    results: tuple[Result, ...]
    cost: Mapping[str, TokenCost] = field(default_factory=dict)


def main(
    sets: Annotated[str, typer.Option(help="Only these, with commas.")] = "",
    rendered: Annotated[bool, typer.Option("--render", help="Measure nothing: make the tables again.")] = False,
    out: Annotated[Path, typer.Option(help="Folder of snapshots, answers and reports.")] = OUT,
) -> None:
    """Measure, report, renew the page; exit code 1 when a run stopped before its end."""
    if rendered:
        render(read_results())
        return
    pin_threads()  # before anything numeric is imported
    from benchmarks.measure import measure
    from inference import DEFAULT_ENCODER

    measured, now = [], current(DEFAULT_ENCODER)  # before the ranks are written, which are tracked
    for one in _chosen([name for name in sets.split(",") if name]):
        result = measure(one, out / one.name, SYSTEMS)
        failed = [run.system for run in result.runs if run.failure]
        if failed:
            print(f"{one.name} stopped before its end, and resumes when run again: {', '.join(failed)}")
            raise typer.Exit(1)
        measured.append(result)
        print(f"{one.name}: {len(result.queries.queries):,} requests", flush=True)
    if sets:
        print("A part was measured: the page stays as it was. The reports are in", out)
        return
    write_ranks(measured)
    write_results(collect(measured, now))
    render(read_results())


def _chosen(names: Sequence[str]) -> list[BenchSet]:
    """The sets of these names, or all but the half that is kept for the end; says what is left out or opened."""
    if REAL_KEPT in names:
        print(f"{REAL_KEPT} is kept for the end: report it once, and choose nothing by it.", file=sys.stderr)
    if names:
        return bench_sets(names)
    real = [one for one in real_sets() if one.name == REAL]
    if not real:
        print(REAL_ABSENT, file=sys.stderr)
    return [*real, *bench_sets(), *bench_sets([SHIPPED_DEV, SHIPPED_TEST])]


def write_ranks(measured: Sequence[MeasuredSet], kind: str = "") -> None:
    """Keep what the published figures are made from: a file for each set; ``kind`` is ``.needs`` where it was asked by needs."""
    from eval.metrics import completed_ranks

    for each in measured:
        write_file(RANKS / f"{each.queries.name}{kind}.json", json.dumps(completed_ranks(each)) + "\n")


def collect(measured: Sequence[MeasuredSet], now: Provenance) -> Results:
    """The figures of a run; of the nine sets the mean, where all nine were measured."""
    from eval.summary import summarise

    nine = [one for one in measured if one.queries.name in MACRO_SETS]
    found: list[Result] = []
    for baseline in BASELINES:
        fresh = results_of(summarise(measured, baseline=baseline).figures, "set", baseline)
        if len(nine) == len(MACRO_SETS):
            fresh += results_of(summarise(nine, baseline=baseline).figures, "macro", baseline)
        # Differences to the second baseline are kept of ``default`` alone.
        found += [one for one in fresh if baseline == BASELINES[0] or one.system == "default"]
    return Results(measured=now, sets=facts_of(measured), results=tuple(found))


def facts_of(measured: Sequence[MeasuredSet]) -> dict[str, SetFacts]:
    """The facts of sets by name."""
    return {
        one.queries.name: SetFacts(
            tools=one.tools,
            requests=len(one.queries.queries),
            snapshot=one.snapshot_id,
            sha256=one.queries.sha256[:12],
        )
        for one in measured
    }


def results_of(figures: Sequence[Figure], scope: str, baseline: str) -> list[Result]:
    """CompleteRecall at 3, 5 and 10 tools among some figures, of sets (``set``) or of their mean (``macro``)."""
    return [
        Result(
            set=one.group,
            system=one.system,
            k=_MEASURES[one.measure],
            value=one.value,
            low=one.low,
            high=one.high,
            minus="" if one.difference is None else baseline,
            difference=one.difference or 0.0,
            difference_low=one.difference_low or 0.0,
            difference_high=one.difference_high or 0.0,
        )
        for one in figures
        if one.scope == scope and one.measure in _MEASURES
    ]


_RESULTS = TypeAdapter(Results)


def read_results(path: Path = RESULTS) -> Results:
    """What was published last.

    :raises ValidationError: when the file is damaged.
    """
    return _RESULTS.validate_json(path.read_bytes())


def write_results(results: Results, path: Path = RESULTS) -> None:
    """Write the JSON, a line for each figure, so that a difference is readable."""
    head = {
        "measured": asdict(results.measured),
        "sets": {name: asdict(one) for name, one in results.sets.items()},
        "cost": {name: asdict(one) for name, one in results.cost.items()},
    }
    rows = ",\n".join(json.dumps(asdict(one)) for one in results.results)
    write_file(path, f'{json.dumps(head, indent=1)[:-2]},\n"results": [\n{rows}\n]\n}}\n')


def render(results: Results, page: Path = PAGE) -> None:
    """Write the tables of the page."""
    replace_block(page, "mean-of-nine", "\n".join(_mean_table(results)))
    replace_block(page, "set-by-set", "\n".join(_set_table(results)))


Found = dict[tuple[str, str, int, str], Result]


def _found(results: Results) -> Found:
    return {(one.set, one.system, one.k, one.minus or BASELINES[0]): one for one in results.results}


def _mean_table(results: Results) -> Iterator[str]:
    """Each system over the nine sets: the mean with its interval, the median, and the mean difference to ``rrf``."""
    found = _found(results)
    yield "| system | mean @3 | @5 | @10 | median @3/@5/@10 | minus `rrf` @3/@5/@10 |"
    yield "|---|---:|---:|---:|---:|---:|"
    for system in SYSTEMS:
        means = [found["", system, k, BASELINES[0]] for k in CUTOFFS]
        medians = [
            median(100 * found[name, system, k, BASELINES[0]].value for name in MACRO_SETS if name in results.sets)
            for k in CUTOFFS
        ]
        cells = [f"{100 * one.value:.1f} [{100 * one.low:.1f}, {100 * one.high:.1f}]" for one in means]
        gains = "/".join(_points(one) for one in means) if means[0].minus else ""
        yield f"| `{system}` | {' | '.join(cells)} | {'/'.join(f'{one:.1f}' for one in medians)} | {gains} |"
    yield f"\nMeasured with {results.measured}. Command: `make bench-quality`."


def _set_table(results: Results) -> Iterator[str]:
    """Every set: CompleteRecall at 5 and 10 tools, and what the graph is worth at 10."""
    found = _found(results)
    yield f"| set | tools | requests | {' | '.join(f'`{name}`' for name in SYSTEMS)} | graph @10 |"
    yield f"|---|{'---:|' * (len(SYSTEMS) + 3)}"
    for name, facts in results.sets.items():
        cells = [
            "/".join(f"{100 * found[name, system, k, BASELINES[0]].value:.1f}" for k in CUTOFFS[1:])
            for system in SYSTEMS
        ]
        gain = _points(found[name, "default", CUTOFFS[-1], BASELINES[1]])
        yield f"| {name} | {facts.tools:,} | {facts.requests:,} | {' | '.join(cells)} | {gain} |"


def _points(one: Result) -> str:
    """A difference in points, bold where its interval excludes 0."""
    told = f"{100 * one.difference:+.1f}"
    return f"**{told}**" if one.difference_low > 0 or one.difference_high < 0 else told


if __name__ == "__main__":
    run_command(main)
