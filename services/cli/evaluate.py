"""The command ``egotools eval``: measure systems over a snapshot, and compare two results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperGroup

from ontology.errors import ModelError
from services.cli.console import print_json, progress_bars, stderr, stdout, table

if TYPE_CHECKING:  # these bring numeric libraries, which must not come before the threads are pinned
    from eval.summary import Summary
    from services.jobs.evaluate import Evaluation

__all__ = ["eval_app"]

_RUN = "run"
_MEASURE = "CompleteRecall"
_CUTOFFS = (3, 5, 10)


class _RunUnlessNamed(TyperGroup):
    """A group in which ``run`` may be left out, and whose help is the help of all its commands."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in {*self.commands, *self.get_help_option_names(ctx)}:
            args = [_RUN, *args]
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        super().format_help(ctx, formatter)
        for name, command in self.commands.items():
            with type(ctx)(command, info_name=name, parent=ctx) as inner:
                command.format_help(inner, formatter)


eval_app = typer.Typer(
    cls=_RunUnlessNamed,
    help="Measure systems on labelled requests: egotools eval SNAPSHOT --queries FILE --out DIR. The word run may be "
    "left out; a folder that is called run or compare is written ./run or ./compare.",
    no_args_is_help=True,
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of tables.")]


@eval_app.command(_RUN)
def run(
    snapshot: Annotated[
        Path, typer.Argument(metavar="SNAPSHOT", help="Folder with the published snapshot, or a snapshot itself.")
    ],
    queries: Annotated[
        list[Path],
        typer.Option(
            "--queries", "-q", help="Labelled requests, JSON Lines: id, query, tools, class. May be repeated."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="Folder for results. Answers in it are kept and not asked for again where system, configuration, "
            "snapshot, requests and k are the same; a run in which one differs is replaced.",
        ),
    ],
    systems: Annotated[
        list[str] | None,
        typer.Option(
            help="Presets, default-no-…, grpc:HOST:PORT, grpc:HOST:PORT/PRESET, or the groups paper-four, baselines, ablations, all; "
            "with commas, or repeated. paper-four,rrf,fusion,default where left out."
        ),
    ] = None,
    baseline: Annotated[
        str, typer.Option(help="Differences are against this system; rrf, or the first, where left out.")
    ] = "",
    k: Annotated[int, typer.Option("--k", "-k", min=3, max=1_000, help="How many tools an answer may hold.")] = 30,
    timeout: Annotated[float, typer.Option(min=0.001, help="Seconds a request may take; later is no answer.")] = 10.0,
    limit: Annotated[
        int, typer.Option(min=0, help="Only so many requests, chosen by the hash of their ids; 0 for all.")
    ] = 0,
    split: Annotated[str, typer.Option(help="Only requests of this split (dev, test); all where left out.")] = "",
    name: Annotated[str, typer.Option(help="What the report calls the requests; by their file where left out.")] = "",
    footprint: Annotated[
        bool, typer.Option(help="Also measure memory and loading, in a process for each system: some seconds each.")
    ] = True,
    allow_missing: Annotated[
        bool,
        typer.Option(
            "--allow-missing", help="Measure though gold tools are not in the snapshot; they count as missed."
        ),
    ] = False,
    dependencies: Annotated[
        list[Path] | None,
        typer.Option(help="True dependencies, JSON Lines: from, to; scores the tool graph. May be repeated."),
    ] = None,
    edges: Annotated[
        list[Path] | None,
        typer.Option(
            help="Edges found elsewhere, JSON Lines: source, target (source gives what target needs), scored by the "
            "dependencies beside the graph's own. Called as the file; may be repeated."
        ),
    ] = None,
    reranker: Annotated[
        str, typer.Option(help="fusion.v2, egotools-reranker-int8.v1, cross-encoder:PATH or http:URL.")
    ] = "fusion.v2",
    as_json: Json = False,
) -> None:
    """Ask every system every request, and write a report with intervals."""
    from services.threads import pin_threads

    pin_threads()  # before anything numeric is imported
    from services.jobs.evaluate import EvaluationPlan, evaluate

    plan = EvaluationPlan(
        store=snapshot,
        queries=tuple(queries),
        out=out,
        systems=tuple(name.strip() for names in systems or () for name in names.split(",") if name.strip()),
        baseline=baseline,
        k=k,
        timeout_s=timeout,
        split=split,
        limit=limit,
        allow_missing=allow_missing,
        gold_edges=tuple(dependencies or ()),
        external_edges=tuple(edges or ()),
        reranker=reranker,
        name=name,
        footprint=footprint,
    )
    with progress_bars(hidden=as_json or not stderr.is_terminal) as progress:
        done = evaluate(plan, progress)
    if as_json:
        from eval.summary import summary_to_json

        print_json({"summary": summary_to_json(done.summary), "files": list(map(str, done.files))})
    else:
        _show(done)
    for run in done.failed:
        stderr.print(
            f"[bold red]Failed[/]: {escape(run.system)}: {escape(run.failure)}\n"
            "Its finished answers are kept; the same command again goes on where it stopped.",
            soft_wrap=True,
        )
    if done.failed:
        raise typer.Exit(ModelError.exit_code)


@eval_app.command("compare")
def compare(
    before: Annotated[
        Path, typer.Argument(metavar="A", help="Folder of results, or one with such folders below it: before.")
    ],
    after: Annotated[Path, typer.Argument(metavar="B", help="The same: after.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write: .md, .html or .json; printed where left out.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what changed between two results, query by query, and whether it is more than chance."""
    from services.threads import pin_threads

    pin_threads()  # before anything numeric is imported
    from eval.analysis.compare import comparison_to_json
    from eval.report import comparison_to_markdown
    from services.jobs.evaluate import compare_results, write_comparison

    comparison = compare_results(before, after)
    if out is not None:
        write_comparison(comparison, out)
    if as_json:
        print_json(comparison_to_json(comparison))
    elif out is not None:
        stdout.print(f"Comparison: [bold]{escape(str(out))}[/]", soft_wrap=True)
    else:
        stdout.file.write(comparison_to_markdown(comparison))


def _show(done: Evaluation) -> None:
    from eval.report.plots import missing_plots

    for set_name, facts in done.summary.sets.items():
        title = f"{_MEASURE} in % [95 % interval] · {set_name} · {facts.queries:,} requests · {facts.tools:,} tools · snapshot {facts.snapshot_id}"
        columns = ("system", *(f"@{k}" for k in _shown(done.summary, set_name)), "no answer", "median ms")
        stdout.print(table(title, columns, _rows(done.summary, set_name)))
        if facts.missing_gold:
            stdout.print(f"[yellow]note[/] {facts.missing_gold:,} requests need tools that the snapshot does not have")
    for warning in missing_plots():
        stdout.print(f"[yellow]note[/] {escape(warning)}", soft_wrap=True)
    stdout.print(f"Report: [bold]{escape(str(done.page))}[/]", soft_wrap=True)


def _shown(summary: Summary, set_name: str) -> list[int]:
    there = {figure.measure for figure in summary.figures if (figure.scope, figure.group) == ("set", set_name)}
    return [k for k in _CUTOFFS if f"{_MEASURE}@{k}" in there]


def _rows(summary: Summary, set_name: str) -> list[tuple[str, ...]]:
    figures = {
        (figure.system, figure.measure): f"{figure.value * 100:.1f} [{figure.low * 100:.1f}, {figure.high * 100:.1f}]"
        for figure in summary.figures
        if (figure.scope, figure.group) == ("set", set_name)
    }
    rows = []
    for fact in summary.facts:
        if fact.set_name == set_name:
            values = (figures[fact.system, f"{_MEASURE}@{k}"] for k in _shown(summary, set_name))
            median = f"{fact.stages_ms['total'][0]:.1f}" if fact.answered else ""
            rows.append((fact.system, *values, str(fact.unanswered or ""), median))
    return rows
