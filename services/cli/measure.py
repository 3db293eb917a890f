"""The commands ``egotools eval``, ``datagen``, ``tune`` and ``learn``: how good answers are, and what makes them better."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from ontology.errors import ModelError
from services.cli.console import ProgressDisplay, plain, print_json, say, show_result, stdout, table, tell
from services.cli.options import Json, command, group
from services.jobs.plans import DatagenPlan, EvaluationPlan, LearningPlan, TuningPlan

if TYPE_CHECKING:
    from eval.metrics import AbstentionRate
    from eval.summary import Figure
    from services.jobs.evaluate import Evaluation
    from services.jobs.improve import Improvement

_RUN = "run"
_MEASURE = "CompleteRecall"
_CUTOFFS = (3, 5, 10)
_OF_PROGRAMS = ("snapshot_id", "published", "published_id", "weights", "shipped", "before", "found", "reason")


class _RunUnlessNamed(TyperGroup):
    """A group in which ``run`` may be left out. Its help is the help of all its commands."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in {*self.commands, *self.get_help_option_names(ctx)}:
            args = [_RUN, *args]
        return super().parse_args(ctx, args)


eval_app = group(
    "Measure systems on labelled requests: egotools eval SNAPSHOT --queries FILE --out FOLDER (the word run may be left"
    " out: ./run is a folder of that name); egotools eval compare A B.",
    _RunUnlessNamed,
)


@command(eval_app, _RUN)
def run(plan: EvaluationPlan, as_json: Json = False) -> None:
    """Send every request to every system, and write a report with confidence intervals."""
    from eval.summary import summary_to_json
    from services.jobs.evaluate import evaluate

    with ProgressDisplay(as_json=as_json) as progress:
        done = evaluate(plan, progress)
    if as_json:
        print_json({"summary": summary_to_json(done.summary), "files": list(map(str, done.files)), "notes": done.notes})
    else:
        _show_evaluation(done)
    for run in done.failed:
        tell(f"[bold red]Failed[/]: {plain(run.system)}: {plain(run.failure)}")
        tell("Its answers are kept. Run the same command again to continue.")
    if done.failed:
        raise typer.Exit(ModelError.exit_code)


@command(eval_app)
def compare(
    before: Annotated[Path, typer.Argument(metavar="A", help="Before: a folder that eval wrote, or one above.")],
    after: Annotated[Path, typer.Argument(metavar="B", help="After, likewise.")],
    as_json: Json = False,
) -> None:
    """Compare two results, query by query, and test whether the difference is significant. Prints Markdown."""
    from eval.compare import comparison_to_json
    from eval.report import comparison_to_markdown
    from services.jobs.evaluate import compare_results

    comparison = compare_results(before, after)
    if as_json:
        print_json(comparison_to_json(comparison))
    else:
        stdout.file.write(comparison_to_markdown(comparison))


def _show_evaluation(done: Evaluation) -> None:
    """Print the share of complete answers of each system, and of abstentions; the report has the rest."""
    from eval.metrics import ANSWERABLE, KIND

    notes, summary, named = list(done.notes), done.summary, {ANSWERABLE: "answerable (false)"}
    for name, facts in summary.sets.items():
        rows: list[tuple[str, ...]] = [
            (rate.system, named.get(rate.scope, rate.kind if rate.scope == KIND else rate.scope), _percent(rate))
            for rate in summary.abstention
            if facts.unanswerable and rate.set_name == name
        ]
        if rows:
            counts = f"{facts.unanswerable:,} unanswerable requests, {facts.queries:,} answerable ones"
            table(f"Abstention in % [95 % interval] · {name} · {counts}", ("system", "requests", "abstained"), rows)
        shares = {
            (each.system, each.measure): _percent(each)
            for each in summary.figures
            if (each.scope, each.group) == ("set", name)
        }
        cutoffs = [k for k in _CUTOFFS if any(measure == f"{_MEASURE}@{k}" for _, measure in shares)]
        rows = [
            (
                fact.system,
                *(shares[fact.system, f"{_MEASURE}@{k}"] for k in cutoffs),
                str(fact.unanswered or ""),
                f"{fact.stages_ms['total'][0]:.1f}" if fact.answered else "",
            )
            for fact in summary.facts
            if facts.queries and fact.set_name == name
        ]
        if rows:
            of = f"{facts.queries:,} requests · {facts.tools:,} tools · snapshot {facts.snapshot_id}"
            columns = ("system", *(f"@{k}" for k in cutoffs), "no answer", "median ms")
            table(f"{_MEASURE} in % [95 % interval] · {name} · {of}", columns, rows)
        if facts.missing_gold:
            notes.append(f"{facts.missing_gold:,} requests need tools that are not in the snapshot")
    _show_notes(notes, done.page)


def _percent(rate: Figure | AbstentionRate) -> str:
    return f"{rate.value * 100:.1f} [{rate.low * 100:.1f}, {rate.high * 100:.1f}]"


def _show_notes(notes: Iterable[str], report: Path) -> None:
    for note in notes:
        say(f"[yellow]note[/] {plain(note)}")
    say(f"Report: [bold]{plain(report)}[/]")


def datagen(plan: DatagenPlan, as_json: Json = False) -> None:
    """Generate labelled requests of six classes from the tools of a snapshot, to evaluate retrieval with."""
    from services.jobs.generate import generate_requests

    with ProgressDisplay(as_json=as_json) as progress:
        done = generate_requests(plan, progress)
    if as_json:
        print_json(asdict(done.figures))
    else:
        figures, classes = done.figures, done.figures.classes
        title = f"Requests · {figures.coverage.tools:,} tools · snapshot {figures.snapshot_id}"
        table(
            title,
            ("class", "made", "wanted"),
            [(name, f"{row.made:,}", f"{row.wanted:,}") for name, row in classes.items()],
        )
        say(f"{figures.coverage.tools_used:,} of {figures.coverage.tools:,} tools are needed")
        smoke = "sentence templates: good to smoke-test a catalogue, not to measure; --generator llm writes requests"
        notes = [smoke] * figures.smoke_test
        short = [name for name, row in classes.items() if row.made < row.wanted]
        if short and done.stopped is None:
            notes.append(f"fewer requests than wanted: {', '.join(short)}; the report has the reasons")
        _show_notes(notes, done.report)
    if done.stopped is not None:
        tell("Everything generated before is written. Run the same command again to continue.")
        raise done.stopped


def tune(plan: TuningPlan, as_json: Json = False) -> None:
    """Fit the ranking weights to labelled requests of your own, and publish them if they are better on held-out ones.

    If they are not better, nothing is published, the command prints the reason, and the exit code is 15.
    """
    from services.jobs.improve import roll_back_weights, tune_snapshot

    with ProgressDisplay(as_json=as_json) as progress:
        tuned = roll_back_weights(plan) if plan.rollback else tune_snapshot(plan, progress)
    _show_outcome(tuned, as_json)


def learn(plan: LearningPlan, as_json: Json = False) -> None:
    """Learn from reported outcomes, and publish it if held-out sessions are answered better.

    If they are not, nothing is published, the command prints the reason, and the exit code is 15.
    """
    from services.jobs.improve import learn_from_use

    with ProgressDisplay(as_json=as_json) as progress:
        learned = learn_from_use(plan, progress)
    _show_outcome(learned, as_json, may_publish_nothing=plan.forget)


def _show_outcome(made: Improvement, as_json: bool, *, may_publish_nothing: bool = False) -> None:
    from services.jobs.improve import NOT_BETTER

    told = made.to_json()
    if as_json:
        print_json(told)
    else:
        show_result({name: value for name, value in told.items() if name not in _OF_PROGRAMS})
        say(f"[bold {'green' if made.published_id else 'yellow'}]{plain(made.outcome)}[/]")
    if not made.published_id and not may_publish_nothing:
        raise typer.Exit(NOT_BETTER)
