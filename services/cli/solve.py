"""The command ``egotools solve``: one task, many tasks, or a run told again."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from egotools import AsyncClient
from egotools.client_errors import ClientError
from ontology.errors import (
    BudgetExceededError,
    DeadlineError,
    EgotoolsError,
    InvalidArgumentError,
    ModelError,
    NotFoundError,
)
from ontology.files import only_writer
from planners.calls.tool_access import Ask, ToolAccess, always, never
from planners.journal.run_journal import RunJournal
from planners.kgot.batch import (
    BatchTask,
    TaskResult,
    answer_matches,
    batch_report,
    finished_before,
    journal_path,
    read_tasks,
    run_batch,
    solve_in_folder,
    write_report,
)
from planners.kgot.recorded_run import SolveParts
from services.cli.calls import NO_CALL_OPTIONS, CallOptions, ask_at_terminal
from services.cli.console import counted, plain, print_json, say, tell
from services.cli.options import Journal, Json, On, Rare, Replay, Server, Yes
from services.cli.search import tools_client
from services.cluster.ray_cluster import each_on_ray, on_ray
from services.jobs.plans import AllowedModels
from services.jobs.solve_parts import SolvePlan, SolveTools, open_solve_parts

if TYPE_CHECKING:
    from planners.journal.run_journal import RunAccount
    from planners.kgot.kgot_controller import KgotRun
    from planners.kgot.kgot_task import KgotEvent, KgotTask

__all__ = ["Catalogue", "Solved", "opened_tools", "replay", "run_solve", "solve"]

_MOST = 300  # characters of a text on a line
_TOOLS = 8
_NO_PLAN = SolvePlan()
_NEEDED = {
    "kgot/ask_llm": "--llm-url and --llm-model",
    "kgot/search": "--search-url",
    "kgot/inspect_image": "--vision-model",
}
"""Integrated tool → the options without which it is not ready."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """Where tools are found.

    :param store: of the tools; None and no server: the integrated tools alone.
    :param server: address of a running server.
    :param cache: folder for the store of the integrated tools; the user's cache where None.
    """

    store: Path | None = None
    server: str = ""
    allowed_models: tuple[str, ...] = ()
    cache: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """What came of a run."""

    run: KgotRun
    account: RunAccount


def solve(
    question: Annotated[
        str, typer.Argument(help="The task in plain words. Not with --replay, --tasks or --demo.")
    ] = "",
    files: Annotated[
        list[Path] | None,
        typer.Option("--file", "-f", help="A file of the task; tools know it by its name. Repeatable."),
    ] = None,
    plan: SolvePlan = _NO_PLAN,
    store: Annotated[
        Path | None,
        typer.Option(
            "--store",
            "-s",
            file_okay=False,
            envvar="EGOTOOLS_STORE",
            help="Store with tools. Default: integrated ones.",
        ),
    ] = None,
    server: Server = "",
    calling: CallOptions = NO_CALL_OPTIONS,
    yes: Yes = False,
    journal: Journal = None,
    replay: Replay = False,
    demo: Annotated[bool, typer.Option("--demo", help="Tell a recorded run of a real model again.")] = False,
    tasks: Annotated[
        Path | None,
        Rare("--tasks", help="Solve the tasks of a file, JSON Lines: id, question, and perhaps files, answer."),
    ] = None,
    out: Annotated[
        Path | None, Rare("--out", "-o", file_okay=False, help="With --tasks: folder of journals, results, report.")
    ] = None,
    workers: Annotated[int, Rare(min=1, max=256, help="With --tasks: tasks that are solved at once.")] = 1,
    on: On = "local",
    tools_cache: Annotated[
        Path | None, Rare("--tools-cache", file_okay=False, help="Cache of the integrated tools.")
    ] = None,
    allowed_models: AllowedModels = (),
    as_json: Json = False,
) -> None:
    """Solve a task in several steps by a model. Tools are called, their answers kept in a graph, and a query of it answers."""
    if demo:
        return _demo()
    shown = _Shown(as_json)
    if replay:
        if journal is None:
            raise InvalidArgumentError("it needs --journal", subject="--replay", remedy="Name the journal of the run")
        return shown.end(asyncio.run(_replay(journal, shown.tell)))
    url = plan.endpoint.base_url if plan.endpoint.base_url != os.environ.get("OPENAI_BASE_URL") else ""
    for option, given, other, beside in (
        ("--llm-url", url, "--llm-model", plan.endpoint.model),
        ("--llm-model", plan.endpoint.model, "--llm-url", plan.endpoint.base_url),
        ("--out", out, "--tasks", tasks),
        ("--workers", workers != 1, "--tasks", tasks),
        ("--on", on != "local", "--tasks", tasks),
    ):
        if given and not beside:
            raise InvalidArgumentError(f"it needs {other}", subject=option, remedy=f"Give {other} too")
    plan.require_model()
    catalogue = Catalogue(store=store, server=server, allowed_models=allowed_models, cache=tools_cache)
    access = calling.access(yes=yes)
    if tasks is not None:
        if out is None:
            raise InvalidArgumentError("it needs a folder", subject="--tasks", remedy="Name one: --out DIR")
        return _solve_batch(plan, catalogue, access, tasks, out, workers=workers, on=on, as_json=as_json)
    from planners.calls.untrusted import clean_text
    from planners.kgot.kgot_task import KgotTask

    if not question.strip():
        known = journal is not None and journal.is_file()
        more = "; to see the finished run of the journal, add --replay" if known else ""
        raise InvalidArgumentError("there is no task", subject="question", remedy=f"Say what is to be solved{more}")
    if clean_text(question) != question:  # bytes of the command line that are no UTF-8
        raise InvalidArgumentError("the task is no UTF-8", subject="question", remedy="Write it in UTF-8")
    task = KgotTask(question=question, files=tuple(files or ()))
    run = run_solve(
        plan,
        catalogue,
        task,
        access,
        ask_at_terminal(),
        journal=journal,
        observe=shown.tell,
        unusable=shown.unusable,
    )
    shown.end(asyncio.run(run))


@contextlib.asynccontextmanager
async def opened_tools(catalogue: Catalogue, access: ToolAccess, ask: Ask) -> AsyncIterator[SolveTools]:
    """Open the catalogues, and close them at the end."""
    from services.jobs.cached_store import integrated_store

    async with contextlib.AsyncExitStack() as stack:
        own = await stack.enter_async_context(tools_client("", integrated_store(catalogue.cache)))
        given: AsyncClient | None = None
        if catalogue.server or catalogue.store is not None:
            store = catalogue.store or Path()
            given = await stack.enter_async_context(tools_client(catalogue.server, store, catalogue.allowed_models))
        yield SolveTools(client=given or own, own=own if given is not None else None, access=access, ask=ask)


async def run_solve(
    plan: SolvePlan,
    catalogue: Catalogue,
    task: KgotTask,
    access: ToolAccess,
    ask: Ask,
    *,
    journal: Path | None,
    observe: Callable[[KgotEvent], None],
    unusable: Callable[[Mapping[str, str]], None] = lambda reasons: None,
) -> Solved:
    """Solve a task, or go on with its run.

    :param journal: None: it is kept in a temporary folder and removed at the end.
    :param unusable: gets the integrated tools that cannot be used here, with the reason.
    :raises EgotoolsError: when a part cannot be opened, or the journal is of another run.
    :raises ClientError: when the server does not answer.
    """
    from planners.journal.run_journal import account_of
    from planners.kgot.recorded_run import OtherRunError, solve_recorded

    with _opened_journal(journal) as kept:
        async with (
            opened_tools(catalogue, access, ask) as tools,
            open_solve_parts(plan, tools, task, kept, unusable=unusable) as parts,
        ):
            try:
                run = await solve_recorded(task, kept, parts, observe=observe)
            except OtherRunError as error:
                raise _other_run(error.differing, str(journal)) from error
        return Solved(run=run, account=account_of(kept.records))


async def replay(path: Path, observe: Callable[[KgotEvent], None]) -> Solved:
    """Take the steps of a finished run again; nobody is asked and nothing is called.

    :raises InvalidArgumentError: when it is the journal of no finished run, or the replay differs.
    """
    from planners.journal.run_journal import account_of, read_run_journal
    from planners.kgot.recorded_run import header_of, replay_recorded
    from planners.kgot.steps import steps_factory

    journal = read_run_journal(path)
    header = header_of(journal)
    if header is None:
        raise InvalidArgumentError("the journal is empty", subject=str(path), remedy="Name the journal of a run")
    if not {"graph", "tool"} <= header.models.keys():
        problem = "the journal does not say who took its steps"
        raise InvalidArgumentError(problem, subject=str(path), remedy="Name the journal of a whole run")
    make = steps_factory(language=header.language, settings=header.replay_settings)
    run = await replay_recorded(journal, make, observe=observe)
    return Solved(run=run, account=account_of(journal.records))


_replay = replay
_WORDS = {
    "files": "--file",
    "language": "--graph",
    "models": "--llm-model",
    "num_next_steps_decision": "--votes",
    "question": "the question",
}
"""What a run must agree in → its option, where that has another name."""


def _other_run(differing: tuple[str, ...], journal: str) -> InvalidArgumentError:
    """Return the error with the names of options."""
    named = dict.fromkeys(_WORDS.get(each, f"--{each.replace('_', '-')}") for each in differing)
    problem = f"it is the journal of another run, which differs in {', '.join(named)}"
    remedy = "Give a new file, or the same question and options; to see a finished run, add --replay"
    return InvalidArgumentError(problem, subject=journal, remedy=remedy)


@contextlib.contextmanager
def _opened_journal(path: Path | None) -> Iterator[RunJournal]:
    from planners.journal.run_journal import open_run_journal

    with contextlib.ExitStack() as stack:
        if path is None:
            path = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="egotools-run-"))) / "run.jsonl"
        yield stack.enter_context(open_run_journal(path))


def _demo() -> None:
    """Tell the recorded run of a real model, and say that it is recorded."""
    import planners.kgot
    from planners.journal.run_journal import read_run_journal
    from planners.kgot.recorded_run import header_of

    folder = Path(planners.kgot.__file__).parent / "tasks"
    recorded = folder / "recorded" / "run.jsonl"
    journal = read_run_journal(recorded)
    header = header_of(journal)
    if header is None or journal.first is None:
        remedy = "Install the package again"
        raise InvalidArgumentError("the recorded run is empty", subject=str(recorded), remedy=remedy)
    models = " and ".join(sorted({name.partition("@")[0].removeprefix("openai:") for name in header.models.values()}))
    say(f"[bold]{plain(header.question)}[/]")
    made = f"this run was made on {journal.first.at[:10]} with {plain(models)}"
    say(f"[yellow]Recorded[/]: {made}. It is replayed, and no model is asked now.")
    shown = _Shown(as_json=False)
    solved = asyncio.run(replay(recorded, shown.tell))
    shown.end(solved)
    for task in read_tasks(folder / "tasks.jsonl"):
        if task.question == header.question:
            right = answer_matches(solved.run.answer, task.answer, in_order=task.in_order, question=header.question)
            say(f"The answer is [bold]{'right' if right else 'wrong'}[/]; expected: {plain(task.answer)}")


class _Shown:
    """What is shown of a run: each step on a line or two, or JSON at the end."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._iteration = 0
        self._unusable: Mapping[str, str] = {}

    def unusable(self, reasons: Mapping[str, str]) -> None:
        """Take which integrated tools cannot be used here, and why; it is told when one of them is called."""
        self._unusable = reasons

    def tell(self, event: Any) -> None:
        """Take an event."""
        from planners.kgot.kgot_task import CallMade

        if self._unusable and isinstance(event, CallMade) and event.call.tool_id in self._unusable:
            named = {each: f"Give {_NEEDED[each]}" if each in _NEEDED else why for each, why in self._unusable.items()}
            told = "; ".join(f"{each} ({why.rstrip('.')})" for each, why in named.items())
            tell(f"[dim]not ready: {plain(told)}[/]")
            self._unusable = {}
        if self._as_json:
            return
        iteration = getattr(event, "iteration", self._iteration)
        if iteration > self._iteration:
            self._iteration = iteration
            say(f"[bold]step {iteration}[/]")
        for what, text in _lines(event):
            _say(what, text)

    def end(self, solved: Solved) -> None:
        """Show the outcome.

        :raises EgotoolsError: when the task was not solved.
        """
        run, account = solved.run, solved.account
        if self._as_json:
            print_json(
                {
                    "answer": run.answer,
                    "outcome": run.outcome,
                    "missing": run.missing,
                    "iterations": run.iterations,
                    "calls": [asdict(call) for call in run.calls],
                    "graph": asdict(run.state),
                    "account": asdict(account),
                }
            )
        else:
            _show_outcome(run, account)
        failed = _outcome_error(run)
        if failed is not None:
            raise failed


def _lines(event: KgotEvent) -> Iterator[tuple[str, str]]:
    """Yield what an event is and what it says, a line each; none of those that are shown elsewhere."""
    from planners.kgot import kgot_task as events

    match event:
        case events.ModelAsked(problem=problem) if problem:
            yield "[yellow]model[/]", f"{event.step}: {problem}"
        case events.Decided():
            votes = Counter("unusable" if vote is None else type(vote).__name__.lower() for vote in event.votes)
            yield "decide", f"{event.decision} ({', '.join(f'{count} {word}' for word, count in votes.most_common())})"
        case events.Missing():
            yield "missing", event.text
        case events.ToolsFound():
            yield "tools", ", ".join(event.tool_ids[:_TOOLS]) or "none fits"
        case events.CallMade(call=call):
            yield "call", f"{call.tool_id} {_json(call.arguments)}"
            why = "" if call.ok else f": {call.body if isinstance(call.body, str) else _json(call.body)}"
            yield "  ok" if call.ok else "  [yellow]failed[/]", f"{call.status} in {event.seconds:.1f} s{why}"
        case events.Written():
            kinds = Counter(type(each).__name__ for each in event.operations)
            told = ", ".join(f"{count} {kind}" for kind, count in kinds.items()) or "nothing"
            yield "write", told + (f", {len(event.dropped)} left out" if event.dropped else "")
        case events.GraphChanged():
            yield "graph", f"{len(event.state.nodes):,} nodes, {len(event.state.edges):,} edges"
        case events.Queried():
            yield event.kind, event.query
            if event.rows is not None:
                yield "  rows", f"{len(event.rows.rows)}: {_json([list(row) for row in event.rows.rows])}"
            elif event.fault:
                yield "  [yellow]failed[/]", event.fault
        case events.Computed():
            yield "compute", f"{event.code} → {event.output or event.fault}"
        case events.Parsed():
            yield "answers", " | ".join(event.answers)
        case events.Dropped():
            yield "[yellow]left out[/]", f"{event.step}: {event.problem}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _show_outcome(run: KgotRun, account: RunAccount) -> None:
    """Print the answer and what it took."""
    if run.answer:
        say(f"[bold green]answer{'' if run.outcome == 'solved' else ' (forced)'}[/] [bold]{plain(run.answer)}[/]")
    if run.outcome != "solved":
        _say("[yellow]outcome[/]", run.outcome + (f": {run.missing}" if run.missing else ""))
    model = account.model
    tokens = f"{model.prompt_tokens:,} + {model.completion_tokens:,} tokens, {model.usd:.4f} USD"
    asked = f"{counted(run.iterations, 'step')}; {counted(model.calls, 'model call')}, {tokens}"
    _say("took", f"{asked}; {counted(account.calls, 'tool call')}, {account.failed:,} without an answer")


def _say(what: str, text: str) -> None:
    one = " ".join(text.split())
    cut = one if len(one) <= _MOST else f"{one[:_MOST]}…"
    say(f"  {what:<9} {plain(cut)}")


def _outcome_error(run: KgotRun) -> EgotoolsError | None:
    """Return why a run has no answer; None where it has one, also a forced one."""
    why, again = run.missing.rstrip(".?! "), "run the command again with the same journal"
    if run.outcome == "budget":
        return BudgetExceededError(why, subject="budget", remedy=f"Raise it and {again}")
    if run.outcome == "deadline":
        return DeadlineError(why, subject="--max-seconds", remedy=f"Raise it and {again}")
    if run.outcome == "model":
        return ModelError(why, remedy="The run ended there; with the same journal the command goes on with it")
    if run.answer:
        return None
    remedy = "Read its steps; more tools, steps or another model may help"
    return NotFoundError(f"no answer was found: {why}", subject="task", remedy=remedy)


def _solve_batch(
    plan: SolvePlan,
    catalogue: Catalogue,
    access: ToolAccess,
    file: Path,
    out: Path,
    *,
    workers: int,
    on: str,
    as_json: bool,
) -> None:
    """Solve the tasks of a file, and report. Finished tasks are not run again.

    Nobody is asked at a terminal: a call that may change something is made where ``--yes`` or the policy says so.

    :raises EgotoolsError: when the tasks cannot be read, or the folder cannot be written.
    """
    if ":" in plan.graph:
        remedy = "Use memory or rdf with --tasks"
        raise InvalidArgumentError("each task needs a store of its own", subject="--graph", remedy=remedy)
    tasks = read_tasks(file)
    done: list[str] = []

    def show(result: TaskResult) -> None:
        done.append(result.id)
        said = f"[yellow]{plain(result.error)}[/]" if result.error else plain(result.answer or result.missing)
        if not as_json:
            tell(f"{len(done)}/{len(tasks)} {plain(result.id)} {plain(result.outcome)}: {said}")

    with only_writer(out):
        if (before := finished_before(tasks, out)) and not as_json:
            again = f"To run one again, delete {journal_path(out, 'ID')}"
            tell(plain(f"{before} of {len(tasks)} were finished before. {again}"))
        if on_ray(on):
            results = _batch_on_ray(tasks, plan, catalogue, access, out, workers, show)
        else:
            results = asyncio.run(_batch_here(tasks, plan, catalogue, access, out, workers, show))
        report = batch_report(tasks, results)
        written = write_report(report, out)
    if as_json:
        print_json(report)
    else:
        _show_report(report, written)


async def _batch_here(
    tasks: Sequence[BatchTask],
    plan: SolvePlan,
    catalogue: Catalogue,
    access: ToolAccess,
    out: Path,
    workers: int,
    show: Callable[[TaskResult], None],
) -> list[TaskResult]:
    budget = plan.endpoint.budget()  # of all tasks together
    async with opened_tools(catalogue, access, _ask_nobody(access)) as tools:

        def parts(task: BatchTask, journal: RunJournal) -> contextlib.AbstractAsyncContextManager[SolveParts]:
            return open_solve_parts(plan, tools, task.task, journal, budget=budget)

        return await run_batch(tasks, lambda task: solve_in_folder(task, out, parts), workers=workers, observe=show)


def _batch_on_ray(
    tasks: Sequence[BatchTask],
    plan: SolvePlan,
    catalogue: Catalogue,
    access: ToolAccess,
    out: Path,
    workers: int,
    show: Callable[[TaskResult], None],
) -> list[TaskResult]:
    there = replace(catalogue, store=catalogue.store.absolute() if catalogue.store is not None else None)
    results: dict[str, TaskResult] = {}
    for task, given in each_on_ray(_solve_there, tasks, plan, there, access, out.absolute(), at_once=workers):
        result = TaskResult(id=task.id, error=str(given)) if isinstance(given, EgotoolsError) else given
        results[task.id] = result
        show(result)
    return [results[task.id] for task in tasks]


def _solve_there(
    task: BatchTask, plan: SolvePlan, catalogue: Catalogue, access: ToolAccess, folder: Path
) -> TaskResult:
    """Solve a task in a worker of the cluster; the folder is one that all its nodes have."""

    async def solve() -> TaskResult:
        async with opened_tools(catalogue, access, _ask_nobody(access)) as tools:

            def parts(task: BatchTask, journal: RunJournal) -> contextlib.AbstractAsyncContextManager[SolveParts]:
                return open_solve_parts(plan, tools, task.task, journal)

            return await solve_in_folder(task, folder, parts)

    try:
        return asyncio.run(solve())
    except (EgotoolsError, ClientError) as error:
        return TaskResult(id=task.id, error=str(error))


def _ask_nobody(access: ToolAccess) -> Ask:
    return always if access.policy.confirmed else never


def _show_report(report: Mapping[str, Any], written: Sequence[Path]) -> None:
    categories = Counter(row["category"] for row in report["rows"])
    total = report["total"]
    say(f"[bold]{report['tasks']}[/] tasks: {', '.join(f'{count} {name}' for name, count in categories.most_common())}")
    tokens = f"{total['prompt_tokens']:,} + {total['completion_tokens']:,} tokens, {total['usd']:.4f} USD"
    say(f"{total['calls']:,} model calls, {tokens}")
    say(f"Wrote {plain(', '.join(map(str, written)))}")
