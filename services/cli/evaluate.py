"""The commands ``egotools eval``: measure systems on labelled requests, and compare two results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperGroup

from ontology.errors import ModelError
from services.cli.console import print_json, printable, stderr, stdout, table
from services.cli.options import Json, command
from services.cli.progress_display import shown_progress
from services.jobs.plans import EvaluationPlan
from services.threads import pin_threads

if TYPE_CHECKING:  # these import numeric libraries, which must come after the thread variables are set
    from rich.console import RenderableType

    from eval.summary import Summary
    from services.jobs.evaluate import Evaluation

__all__ = ["eval_app"]

_RUN = "run"
_MEASURE = "CompleteRecall"
_CUTOFFS = (3, 5, 10)


class _RunUnlessNamed(TyperGroup):
    """A group in which ``run`` may be left out. Its help is the help of all its commands."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in {*self.commands, *self.get_help_option_names(ctx)}:
            args = [_RUN, *args]
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        super().format_help(ctx, formatter)
        for name, subcommand in self.commands.items():
            with type(ctx)(subcommand, info_name=name, parent=ctx) as inner:
                subcommand.format_help(inner, formatter)


eval_app = typer.Typer(
    cls=_RunUnlessNamed,
    help="Measure systems on labelled requests: egotools eval SNAPSHOT --queries FILE --out FOLDER. The word run may be"
    " left out. Write ./run or ./compare for a folder of that name.",
    no_args_is_help=True,
)


@command(eval_app, _RUN)
def run(plan: EvaluationPlan, as_json: Json = False) -> None:
    """Send every request to every system, and write a report with confidence intervals."""
    pin_threads()  # before a numeric library is imported
    from services.jobs.evaluate import evaluate

    with shown_progress(as_json=as_json) as progress:
        done = evaluate(plan, progress)
    if as_json:
        from eval.summary import summary_to_json

        print_json({"summary": summary_to_json(done.summary), "files": list(map(str, done.files)), "notes": done.notes})
    else:
        _show(done)
    for run in done.failed:
        stderr.print(
            f"[bold red]Failed[/]: {escape(run.system)}: {escape(run.failure)}\n"
            "Its answers are kept. Run the same command again to continue.",
            soft_wrap=True,
        )
    if done.failed:
        raise typer.Exit(ModelError.exit_code)


@command(eval_app, "compare")
def compare(
    before: Annotated[
        Path,
        typer.Argument(
            metavar="A", help="The result before: a folder that eval wrote, or one that contains such folders."
        ),
    ],
    after: Annotated[Path, typer.Argument(metavar="B", help="The result after, likewise.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write (.md, .html or .json). Default: print Markdown.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare two results, query by query, and test whether the difference is significant."""
    pin_threads()  # before a numeric library is imported
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
    from eval.report.page import missing_plots

    for note in done.notes:
        stdout.print(f"[yellow]note[/] {escape(printable(note))}", soft_wrap=True)
    for set_name, facts in done.summary.sets.items():
        if facts.unanswerable:
            stdout.print(_abstention(done.summary, set_name))
        if not facts.queries:
            continue
        title = (
            f"{_MEASURE} in % [95 % interval] · {set_name} · {facts.queries:,} requests · {facts.tools:,} tools · "
            f"snapshot {facts.snapshot_id}"
        )
        columns = ("system", *(f"@{k}" for k in _shown(done.summary, set_name)), "no answer", "median ms")
        stdout.print(table(title, columns, _rows(done.summary, set_name)))
        if facts.missing_gold:
            stdout.print(f"[yellow]note[/] {facts.missing_gold:,} requests need tools that are not in the snapshot")
    for warning in missing_plots():
        stdout.print(f"[yellow]note[/] {escape(warning)}", soft_wrap=True)
    stdout.print(f"Report: [bold]{escape(str(done.page))}[/]", soft_wrap=True)


def _abstention(summary: Summary, set_name: str) -> RenderableType:
    from eval.abstention_rates import ANSWERABLE, KIND

    facts = summary.sets[set_name]
    rates = [rate for rate in summary.abstention if rate.set_name == set_name]
    groups = dict.fromkeys((rate.scope, rate.kind) for rate in rates)
    shares = {
        (rate.system, rate.scope, rate.kind): f"{rate.share * 100:.1f} [{rate.low * 100:.1f}, {rate.high * 100:.1f}]"
        for rate in rates
    }
    names = {KIND: "", ANSWERABLE: "answerable (false)"}
    title = (
        f"Abstention in % [95 % interval] · {set_name} · {facts.unanswerable:,} unanswerable requests, "
        f"{facts.queries:,} answerable ones"
    )
    columns = ("system", *(names.get(scope, scope) or printable(kind) for scope, kind in groups))
    rows = [(system, *(shares[system, *group] for group in groups)) for system in summary.systems]
    return table(title, columns, rows)


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
