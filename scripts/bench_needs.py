"""Needs beside whole requests, on every set with recorded needs: ``make bench-needs`` writes ``docs/needs.json`` and the tables of README
and ``benchmarks/notes/needs.md`` that are made from it. ``--render`` makes the tables alone.

The half of the real documents' requests that is kept for the end is not measured.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import TypeAdapter

from eval.report.blocks import points
from ontology.files import write_file
from scripts.bench_sets import REAL, REAL_ABSENT, ROOT, SHIPPED_TEST, BenchSet, bench_sets, real_sets
from scripts.document_blocks import replace_block
from scripts.provenance import Provenance, current
from scripts.run_command import run_command
from services.threads import pin_threads

if TYPE_CHECKING:
    from eval.measured_set import MeasuredSet
    from eval.summary import Figure, Summary

__all__ = ["NeedsResults", "TokenCost", "collect", "read_needs_results", "renew_needs", "write_needs_results"]

OUT = ROOT / "out" / "bench-needs"
_FILE = "needs.json"
_LABELS = {
    "bm25": "`bm25`",
    "rrf": "`rrf`: BM25 and encoder by reciprocal ranks",
    "paper": "`paper`: the paper's ego graphs",
    "default-no-graph": "`default` without the graph",
    "default": "**`default`**",
}
_BY_NEEDS, _ALONE = "default@needs", "default@needs-alone"
_AGAINST = {
    "default": "itself on whole requests",
    "rrf@needs": "`rrf` on needs",
    "default-no-graph@needs": "itself without the graph on needs",
}
_MEASURES = ("CompleteRecall@5", "CompleteRecall@10")
_SHOWN = 10  # tools whose schemas an agent reads


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCost:
    """Mean tokens of a request: of its needs, of the schemas of the first ten tools, and of the schemas of all tools."""

    needs: float
    schemas: float
    all_schemas: float


@dataclass(frozen=True, kw_only=True)
class NeedsResults:
    """What is published.

    :param summary: differences to ``default@needs``; ``macro`` is the mean over the open sets, without the shipped company and the real
        documents.
    :param cost: set → tokens, of the shipped company and the real documents.
    """

    summary: Summary
    cost: Mapping[str, TokenCost]
    measured: Provenance


def main(
    out: Annotated[Path, typer.Option(help="Folder of snapshots and answers.")] = OUT,
    render: Annotated[bool, typer.Option("--render", help="Measure nothing: make the tables again.")] = False,
) -> None:
    """Measure every set with recorded needs, and renew the documents."""
    pin_threads()  # before anything numeric is imported
    if not render:
        write_needs_results(_measured(out))
    renew_needs(read_needs_results())


def _measured(out: Path) -> NeedsResults:
    from inference import DEFAULT_ENCODER
    from scripts.measure import measure

    measured, cost, now = [], {}, current(DEFAULT_ENCODER)
    for one in _sets():
        found = measure(one, out / one.name, (*_LABELS, _ALONE), report=False, needs=True).measured
        measured.append(found)
        if one.name in (SHIPPED_TEST, REAL):
            cost[one.name] = _cost(found, out / one.name / "store")
        print(f"{one.name}: {len(found.queries.queries):,} requests", flush=True)
    return collect(measured, cost, now)


def _sets() -> list[BenchSet]:
    real = [one for one in real_sets() if one.name == REAL]
    if not real:
        raise typer.BadParameter(REAL_ABSENT)
    open_sets = [one for one in bench_sets() if one.needs is not None and one.declared is None]
    return [*bench_sets([SHIPPED_TEST]), *real, *open_sets]


def collect(measured: Sequence[MeasuredSet], cost: Mapping[str, TokenCost], now: Provenance) -> NeedsResults:
    """The figures of a whole run."""
    from eval.summary import summarise

    everything = summarise(measured, baseline=_BY_NEEDS)
    open_sets = [one for one in measured if one.queries.name not in (SHIPPED_TEST, REAL)]
    mean = summarise(open_sets, baseline=_BY_NEEDS)
    figures = [
        *(one for one in everything.figures if one.scope == "set"),
        *(one for one in mean.figures if one.scope == "macro"),
    ]
    shown = tuple(one for one in figures if one.measure in _MEASURES)
    return NeedsResults(summary=replace(everything, figures=shown, facts=()), cost=cost, measured=now)


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


def write_needs_results(results: NeedsResults, *, docs: Path = ROOT / "docs") -> None:
    """Write the JSON, a line for each figure."""
    from eval.summary import summary_to_json

    summary = summary_to_json(results.summary)
    figures = ",\n".join(json.dumps(row, separators=(",", ":")) for row in summary.pop("figures"))
    rest = {
        "cost": _COST.dump_python(dict(results.cost), mode="json"),
        "measured": _PROVENANCE.dump_python(results.measured, mode="json"),
        "summary": summary,
    }
    text = json.dumps(rest, ensure_ascii=False, indent=1)
    write_file(docs / _FILE, f'{text[:-2]},\n"figures": [\n{figures}\n]\n}}\n')


def read_needs_results(docs: Path = ROOT / "docs") -> NeedsResults:
    """What was published last."""
    from eval.summary import summary_from_json

    values = json.loads((docs / _FILE).read_text(encoding="utf-8"))
    return NeedsResults(
        summary=summary_from_json({**values["summary"], "figures": values["figures"]}),
        cost=_COST.validate_python(values["cost"]),
        measured=_PROVENANCE.validate_python(values["measured"]),
    )


_COST = TypeAdapter(dict[str, TokenCost])
_PROVENANCE = TypeAdapter(Provenance)


def renew_needs(results: NeedsResults, *, root: Path = ROOT) -> None:
    """Write the tables of README and of the page on serving."""
    replace_block(root / "README.md", "needs", "\n".join(_first_table(results)))
    replace_block(root / "benchmarks" / "notes" / "needs.md", "needs-by-set", "\n".join(_by_set(results)))


def _first_table(results: NeedsResults) -> Iterator[str]:
    """Whole requests and needs side by side, what the difference is worth, and what a request costs the agent."""
    figures, summary = _found(results.summary), results.summary
    groups = {
        SHIPPED_TEST: "shipped company",
        REAL: "real documents",
        "": f"mean of {len(_open_sets(summary))} open sets",
    }
    yield f"| CompleteRecall @5 / @10, % | {' | '.join(f'{told}: whole | needs' for told in groups.values())} |"
    yield f"|---|{'---:|' * 6}"
    for system, label in _LABELS.items():
        cells = [_pair(figures, group, way) for group in groups for way in (system, f"{system}@needs")]
        yield f"| {label} | {' | '.join(cells)} |"
    yield ""
    yield f"| `default` on needs minus | {' | '.join(groups.values())} |"
    yield f"|---|{'---:|' * 3}"
    for other, told in _AGAINST.items():
        yield f"| {told} | {' | '.join(_gain(figures, group, other) for group in groups)} |"
    yield ""
    costs = (
        f"{groups[name]}: {cost.needs:.0f} of needs that it writes, and {cost.schemas:,.0f} of the schemas of ten tools that it reads, not "
        f"{cost.all_schemas:,.0f} of all {summary.sets[name].tools:,}"
        for name, cost in results.cost.items()
    )
    yield f"Mean tokens of a request for the agent, by the tokenizer of the encoder: {'; '.join(costs)}."
    yield f"Measured by `make bench-needs` with {_told(results)}."


def _told(results: NeedsResults) -> str:
    return f"{replace(results.measured, encoder='')}, encoder `{results.measured.encoder}`"


def _open_sets(summary: Summary) -> list[str]:
    return [name for name in summary.sets if name not in (SHIPPED_TEST, REAL)]


def _by_set(results: NeedsResults) -> Iterator[str]:
    """Every set: ``default`` on whole requests, and on needs beside its rivals, with the gain of the graph."""
    figures, summary = _found(results.summary), results.summary
    columns = ("default", "rrf@needs", "default-no-graph@needs", _ALONE, _BY_NEEDS)
    gains = "`default@needs` minus whole | minus `rrf@needs` | minus no graph"
    yield f"| set | requests | {' | '.join(f'`{each}`' for each in columns)} | {gains} |"
    yield f"|---|---:|{'---:|' * (len(columns) + len(_AGAINST))}"
    open_sets = _open_sets(summary)
    for name in (SHIPPED_TEST, REAL, *open_sets, ""):
        requests = sum(summary.sets[each].queries for each in ([name] if name else open_sets))
        cells = [
            *(_pair(figures, name, each) for each in columns),
            *(_gain(figures, name, each) for each in _AGAINST),
        ]
        yield f"| {name or f'*mean of the {len(open_sets)} open sets*'} | {requests:,} | {' | '.join(cells)} |"
    yield ""
    yield f"Measured by `make bench-needs` with {_told(results)}."


Found = Mapping[tuple[str, str, str], "Figure"]


def _found(summary: Summary) -> Found:
    return {(one.group, one.system, one.measure): one for one in summary.figures}


def _pair(figures: Found, group: str, system: str) -> str:
    """``58.2 / 77.6``, at five and ten tools."""
    return " / ".join(f"{figures[group, system, measure].value * 100:.1f}" for measure in _MEASURES)


def _gain(figures: Found, group: str, other: str) -> str:
    """What ``default`` on needs is above another system, in points, with paired intervals; bold where an interval excludes 0."""
    return " / ".join(_difference(figures[group, other, measure]) for measure in _MEASURES)


def _difference(one: Figure) -> str:
    value, low, high = (0.0 - (each or 0.0) for each in (one.difference, one.difference_high, one.difference_low))
    told = f"**{points(value)}**" if low > 0 or high < 0 else points(value)
    return f"{told} [{points(low)}, {points(high)}]"


if __name__ == "__main__":
    run_command(main)
