"""The commands ``egotools solve``, a task, many, or a run told again, and ``ask``, a question of a graph in plain words."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from typer import Argument, Option

from egotools.client_errors import ClientError
from ontology.errors import (
    BudgetExceededError,
    DeadlineError,
    EgotoolsError,
    InvalidArgumentError,
    ModelError,
    NotFoundError,
)
from ontology.files import only_writer, write_file
from ontology.json_values import canonical_text
from planners.calls.tool_access import Ask, ToolAccess, always, never
from planners.graphseek.turn import AgentSettings
from planners.journal.recorded import header_of
from planners.journal.run_journal import RunAccount, RunJournal, account_of, open_run_journal, read_run_journal
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
)
from planners.kgot.recorded_run import OtherRunError, RunHeader, SolveParts, replay_recorded, solve_recorded
from services.cli.console import counted, plain, print_json, say, show_event, show_result, show_step, table, tell
from services.cli.options import NO_CALL_OPTIONS, CallOptions, Journal, Json, On, Replay, Server, Yes, ask_at_terminal
from services.cluster.ray_cluster import each_on_ray, on_ray
from services.jobs.plans import AllowedModels, ChatEndpoint, Rare, open_chat
from services.jobs.served_store import tools_client
from services.jobs.solve_parts import SolvePlan, SolveTools, open_solve_parts

if TYPE_CHECKING:
    from planners.graphseek.turn import AgentEvent
    from planners.kgot.kgot_controller import KgotRun
    from planners.kgot.kgot_task import KgotEvent, KgotTask

_Observe: TypeAlias = Callable[["KgotEvent"], None]
_Ended: TypeAlias = "tuple[KgotRun, RunAccount]"
_HIDDEN = frozenset(("ModelAsked", "Ended"))  # events that say nothing to a person
_NO_PLAN = SolvePlan()
# What a run must agree in → its option, where that has another name
_OPTIONS = {
    "files": "--file",
    "language": "--graph",
    "models": "--llm-model",
    "num_next_steps_decision": "--votes",
    "question": "the question",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """Where tools are found."""

    store: Path | None = None  # of the tools; None and no server: the integrated tools alone
    server: str = ""  # address of a running one
    allowed_models: tuple[str, ...] = ()


def solve(
    question: Annotated[str, Argument(help="The task in plain words.")] = "",
    files: Annotated[list[Path] | None, Option("--file", "-f", help="A file of the task. Repeatable.")] = None,
    plan: SolvePlan = _NO_PLAN,
    store: Annotated[
        Path | None, Option("--store", "-s", file_okay=False, envvar="EGOTOOLS_STORE", help="A store.")
    ] = None,
    server: Server = "",
    calling: CallOptions = NO_CALL_OPTIONS,
    yes: Yes = False,
    journal: Journal = None,
    replay: Replay = False,
    demo: Annotated[bool, Option("--demo", help="Tell a recorded run of a real model again.")] = False,
    tasks: Annotated[Path | None, Rare("--tasks", help="JSON Lines: id, question, files, answer.")] = None,
    out: Annotated[Path | None, Rare("--out", "-o", file_okay=False, help="With --tasks: folder of results.")] = None,
    workers: Annotated[int, Rare(min=1, max=256, help="With --tasks: tasks that are solved at once.")] = 1,
    on: On = "local",
    allowed_models: AllowedModels = (),
    as_json: Json = False,
) -> None:
    """Solve a task in several steps by a model. Tools are called, their answers kept in a graph, and a query of it answers."""
    shown = _Shown(as_json)
    if demo:
        return _demo(shown)
    if replay:
        if journal is None:
            raise InvalidArgumentError("it needs --journal", subject="--replay", remedy="Name the journal of the run")
        return shown.end(*_replayed(journal, shown.tell))
    plan.endpoint.check_pair()
    for option, given in (("--out", out), ("--workers", workers != 1), ("--on", on != "local")):
        if given and tasks is None:
            raise InvalidArgumentError("it needs --tasks", subject=option, remedy="Give --tasks too")
    plan.require_model()
    catalogue = Catalogue(store=store, server=server, allowed_models=allowed_models)
    access = calling.access(yes=yes)
    if tasks is not None:
        if out is None:
            raise InvalidArgumentError("it needs a folder", subject="--tasks", remedy="Name one: --out DIR")
        return _solve_batch(_Batch(plan, catalogue, access, out.absolute()), tasks, workers, on, as_json=as_json)
    from planners.calls.untrusted import clean_text
    from planners.kgot.kgot_task import KgotTask

    if not question.strip():
        known = journal is not None and journal.is_file()
        more = "; to see the finished run of the journal, add --replay" if known else ""
        raise InvalidArgumentError("there is no task", subject="question", remedy=f"Say what is to be solved{more}")
    if clean_text(question) != question:  # bytes of the command line that are no UTF-8
        raise InvalidArgumentError("the task is no UTF-8", subject="question", remedy="Write it in UTF-8")
    task = KgotTask(question=question, files=tuple(files or ()))
    with tempfile.TemporaryDirectory(prefix="egotools-run-") as folder:
        kept = journal or Path(folder) / "run.jsonl"
        shown.end(*asyncio.run(_solved(plan, catalogue, task, access, kept, shown.tell)))


async def _solved(
    plan: SolvePlan, catalogue: Catalogue, task: KgotTask, access: ToolAccess, journal: Path, observe: _Observe
) -> _Ended:
    """Solve a task, or go on with its run; return the run and what it took."""
    async with _opened_tools(catalogue, access, ask_at_terminal()) as tools:
        with open_run_journal(journal) as kept:
            async with open_solve_parts(plan, tools, task, kept) as parts:
                try:
                    return await solve_recorded(task, kept, parts, observe=observe), account_of(kept.records)
                except OtherRunError as error:
                    named = dict.fromkeys(_OPTIONS.get(each, f"--{each.replace('_', '-')}") for each in error.differing)
                    problem = f"it is the journal of another run, which differs in {', '.join(named)}"
                    remedy = "Give a new file, or the same question and options; to see a finished run, add --replay"
                    raise InvalidArgumentError(problem, subject=str(journal), remedy=remedy) from error


@contextlib.asynccontextmanager
async def _opened_tools(catalogue: Catalogue, access: ToolAccess, ask: Ask) -> AsyncIterator[SolveTools]:
    """Open the catalogue where one is named, and close it at the end."""
    if not catalogue.server and catalogue.store is None:
        yield SolveTools(client=None, access=access, ask=ask)
        return
    async with tools_client(catalogue.server, catalogue.store or Path(), catalogue.allowed_models) as client:
        yield SolveTools(client=client, access=access, ask=ask)


def _replayed(path: Path, observe: _Observe) -> _Ended:
    """Take the steps of a finished run again; nobody is asked and nothing is called."""

    journal = read_run_journal(path)
    header = header_of(journal, RunHeader)
    if header is None or not {"graph", "tool"} <= header.models.keys():
        problem = "the journal is empty" if header is None else "the journal does not say who took its steps"
        raise InvalidArgumentError(problem, subject=str(path), remedy="Name the journal of a whole run")
    return asyncio.run(replay_recorded(journal, observe=observe)), account_of(journal.records)


def _demo(shown: _Shown) -> None:
    """Tell the recorded run of a real model, and say that it is recorded."""
    import planners.kgot

    folder = Path(planners.kgot.__file__).parent / "tasks"
    recorded = folder / "recorded" / "run.jsonl"
    journal = read_run_journal(recorded)
    header: Any = header_of(journal, RunHeader)
    models = " and ".join(sorted({name.partition("@")[0].removeprefix("openai:") for name in header.models.values()}))
    shown.say(f"[bold]{plain(header.question)}[/]")
    made = f"this run was made on {journal.records[0].at[:10]} with {plain(models)}"
    shown.say(f"[yellow]Recorded[/]: {made}. It is replayed, and no model is asked now.")
    run, account = _replayed(recorded, shown.tell)
    shown.end(run, account)
    task = next(each for each in read_tasks(folder / "tasks.jsonl") if each.question == header.question)
    right = answer_matches(run.answer, task.answer, in_order=task.in_order)
    shown.say(f"The answer is [bold]{'right' if right else 'wrong'}[/]; expected: {plain(task.answer)}")


class _Shown:
    """What is shown of a run: each step on a line or two, or JSON at the end."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._iteration = 0

    def say(self, markup: str) -> None:
        """Print a line; none beside JSON."""
        if not self._as_json:
            say(markup)

    def tell(self, event: Any) -> None:
        """Take an event."""
        if self._as_json:
            return
        told = event.to_json()
        if told.get("iteration", self._iteration) > self._iteration:
            self._iteration = told["iteration"]
            say(f"[bold]step {self._iteration}[/]")
        if told["event"] not in _HIDDEN or told.get("problem"):
            show_event(told, ("iteration", "snapshot_id", "executor"))

    def end(self, run: KgotRun, account: RunAccount) -> None:
        """Show the outcome; raise why a run has no answer, be it a forced one."""
        if self._as_json:
            told = {name: getattr(run, name) for name in ("answer", "outcome", "missing", "iterations")}
            calls = [asdict(call) for call in run.calls]
            print_json({**told, "calls": calls, "graph": asdict(run.state), "account": asdict(account)})
        else:
            forced = "" if run.outcome == "solved" else " (forced)"
            if run.answer:
                say(f"[bold green]answer{forced}[/] [bold]{plain(run.answer)}[/]")
            if run.outcome != "solved":
                show_step("[yellow]outcome[/]", run.outcome + (f": {run.missing}" if run.missing else ""))
            model = account.model
            tokens = f"{model.prompt_tokens:,} + {model.completion_tokens:,} tokens, {model.usd:.4f} USD"
            asked = f"{counted(run.iterations, 'step')}; {counted(model.calls, 'model call')}, {tokens}"
            show_step("took", f"{asked}; {counted(account.calls, 'tool call')}, {account.failed:,} without an answer")
        why, again = run.missing.rstrip(".?! ").removeprefix("budget: "), "run the command again with the same journal"
        going_on = "The run ended there; with the same journal the command goes on with it"
        errors = {
            "budget": BudgetExceededError(why, subject="budget", remedy=f"Raise it and {again}"),
            "deadline": DeadlineError(why, subject="--max-seconds", remedy=f"Raise it and {again}"),
            "model": ModelError(why, remedy=going_on),
        }
        if run.outcome in errors:
            raise errors[run.outcome]
        if not run.answer:
            remedy = "Read its steps; more tools, steps or another model may help"
            raise NotFoundError(f"no answer was found: {why}", subject="task", remedy=remedy)


@dataclass(frozen=True, slots=True)
class _Batch:
    """What the tasks of a file are solved with; it can be sent to another process. Nobody is asked at a terminal."""

    plan: SolvePlan
    catalogue: Catalogue
    access: ToolAccess
    out: Path

    async def run(
        self, tasks: Sequence[BatchTask], workers: int, show: Callable[[TaskResult], None]
    ) -> list[TaskResult]:
        """Solve tasks under one budget."""
        budget, ask = self.plan.endpoint.budget(), always if self.access.policy.confirmed else never
        async with _opened_tools(self.catalogue, self.access, ask) as tools:

            def parts(task: BatchTask, journal: RunJournal) -> contextlib.AbstractAsyncContextManager[SolveParts]:
                return open_solve_parts(self.plan, tools, task.task, journal, budget=budget)

            return await run_batch(
                tasks, lambda task: solve_in_folder(task, self.out, parts), workers=workers, observe=show
            )


def _solve_there(task: BatchTask, batch: _Batch) -> TaskResult:
    """Solve a task in a worker of the cluster; the folder is one that all its nodes have."""
    try:
        return asyncio.run(batch.run([task], 1, lambda result: None))[0]
    except (EgotoolsError, ClientError) as error:
        return TaskResult(id=task.id, error=str(error))


def _solve_batch(batch: _Batch, file: Path, workers: int, on: str, *, as_json: bool) -> None:
    """Solve the tasks of a file, and report. Finished tasks are not run again."""
    if ":" in batch.plan.graph:
        remedy = "Use memory or rdf with --tasks"
        raise InvalidArgumentError("each task needs a store of its own", subject="--graph", remedy=remedy)
    tasks = read_tasks(file)
    done: dict[str, TaskResult] = {}

    def show(result: TaskResult) -> None:
        done[result.id] = result
        said = f"[yellow]{plain(result.error)}[/]" if result.error else plain(result.answer or result.missing)
        if not as_json:
            tell(f"{len(done)}/{len(tasks)} {plain(result.id)} {plain(result.outcome)}: {said}")

    with only_writer(batch.out):
        if (before := finished_before(tasks, batch.out)) and not as_json:
            again = f"To run one again, delete {journal_path(batch.out, 'ID')}"
            tell(plain(f"{before} of {len(tasks)} were finished before. {again}"))
        if on_ray(on):
            store = batch.catalogue.store
            there = replace(batch, catalogue=replace(batch.catalogue, store=store.absolute() if store else None))
            for task, given in each_on_ray(_solve_there, tasks, there, at_once=workers):
                show(TaskResult(id=task.id, error=str(given)) if isinstance(given, EgotoolsError) else given)
        else:
            asyncio.run(batch.run(tasks, workers, show))
        report = batch_report(tasks, [done[task.id] for task in tasks])
        written = write_file(batch.out / "report.json", f"{canonical_text(report)}\n")
    if as_json:
        return print_json(report)
    categories, total = Counter(row["category"] for row in report["rows"]), report["total"]
    say(f"[bold]{report['tasks']}[/] tasks: {', '.join(f'{count} {name}' for name, count in categories.most_common())}")
    show_result({name: total[name] for name in ("calls", "prompt_tokens", "completion_tokens", "usd")})
    say(f"Wrote {plain(str(written))}")


_NO_ENDPOINT, _AGENT = ChatEndpoint(), AgentSettings()
_PRINTED, _ALL = 10, sys.maxsize  # rows of a table
_HIDDEN_OF_ASK = frozenset(("QuestionBegun", "StepBegun", "ModelAsked", "Ended"))  # events that say nothing to a person
_CELL = 40  # characters of a cell
_INTERNAL = frozenset(("degree", "id", "key"))  # of nodes that ingestion writes: for programs


def ask(
    question: Annotated[str, Argument(help="The question. Not with --replay.")] = "",
    graph: Annotated[str, Option("--graph", help="ladybug:PATH, neo4j:bolt://…, csv:FOLDER, store:PATH.")] = "",
    store: Annotated[
        Path | None,
        Option(
            "--store", "-s", file_okay=False, envvar="EGOTOOLS_STORE", help="Store. Default: the shipped company's."
        ),
    ] = None,
    endpoint: ChatEndpoint = _NO_ENDPOINT,
    catalog: Annotated[Path | None, Option(help="Catalog: what the names of the graph mean (YAML).")] = None,
    operators: Annotated[
        tuple[Path, ...], Option("--operators", file_okay=False, metavar="DIR", help="Further operators (code).")
    ] = (),
    explain: Annotated[bool, Option("--explain", help="Print the queries too.")] = False,
    rows: Annotated[int | None, Option(min=1, help="Rows of a table. Default: 10; all with --json.")] = None,
    journal: Journal = None,
    replay: Replay = False,
    settings: AgentSettings = _AGENT,
    as_json: Json = False,
) -> None:
    """Ask a question of a graph in plain words. The graph is never written.

    With --llm-url and --llm-model a model plans the steps; without, rules do, for questions that they can read.
    """
    from planners.graphseek.operators.operator import known_operators
    from planners.stores.ladybug import check_ladybug
    from services.jobs.ask_parts import AskPlan, ask_graph, outcome_error, replay_answer
    from services.jobs.tool_graph_file import shipped_store

    if replay and journal is None:
        raise InvalidArgumentError("it needs --journal", subject="--replay", remedy="Name the journal of the run")
    if replay and question:
        raise InvalidArgumentError("--replay takes no question", subject="question", remedy="Leave it out")
    if not replay and not question.strip():
        raise InvalidArgumentError("there is no question", subject="question", remedy="Say what you want to know")
    count, events, step = rows or (_ALL if as_json else _PRINTED), list[Any](), 0

    def observe(event: AgentEvent) -> None:
        nonlocal step
        told = event.to_json()
        events.append(told)
        hidden = told["event"] in _HIDDEN_OF_ASK or (told["event"] == "QueryRun" and not explain)
        if as_json or (hidden and not told.get("problem")):
            return
        if told.get("step", step) != step:
            step = told["step"]
            say(f"[bold]step {step}[/]")
        show_event(told, ("step", "nth", "summary", "operators"))

    if replay and journal is not None:
        found = asyncio.run(replay_answer(journal, observe, rows=count))
    else:
        endpoint.check_pair()
        if operators and not endpoint.model:
            raise InvalidArgumentError("it needs --llm-model", subject="--operators", remedy="Give --llm-model too")
        plan = AskPlan(
            graph=graph or f"store:{store}",
            catalog=catalog,
            operators=tuple(known_operators(operators).values()),
            settings=settings,
            chat=open_chat(endpoint, needed_by="a run by a model") if endpoint.model else None,
        )
        if plan.graph.startswith("store:"):
            check_ladybug("questions of a tool graph")  # before a store is built or read
        if not graph and store is None:
            tell("[dim]The tool graph of the shipped company is asked.[/]")
            plan = replace(plan, graph=f"store:{shipped_store()}")
        found = asyncio.run(ask_graph(plan, question, observe, rows=count, journal=journal))
    answered = found.answered
    end = answered.end
    if as_json:
        steps = [each for each in events if each["event"] not in ("ModelAsked", "Ended")]
        model = {"calls": answered.model_calls}
        model |= {name: getattr(answered, name) for name in ("prompt_tokens", "completion_tokens", "usd")}
        print_json({**dict(end), "results": list(found.pages), "steps": steps, "model": model})
    else:
        for page in found.pages:
            _show_page(page)
        if end.answer:
            mark = "" if end.outcome == "answered" else f" [yellow]({end.outcome})[/]"
            say(f"[bold {'yellow' if mark else 'green'}]answer[/]{mark} [bold]{plain(end.answer)}[/]")
        if end.missing:
            show_step("[yellow]missing[/]", end.missing)
    failed = outcome_error(end)
    if failed is not None:
        raise failed


def _show_page(page: Mapping[str, Any]) -> None:
    """Print a result: of a table the first rows, without columns that are empty there, and those that say nothing to a person."""

    def cell(value: Any) -> str:
        text = " ".join(str("" if value is None else value).split())
        return text if len(text) <= _CELL else f"{text[:_CELL]}…"

    names, kinds = ([each[what] for each in page["columns"]] for what in ("name", "type"))
    filled = [at for at in range(len(names)) if any(row[at] not in (None, "") for row in page["rows"])]
    is_ingested = {*_INTERNAL} <= {*names}
    shown = [at for at in filled if kinds[at] != "node" and not (is_ingested and names[at] in _INTERNAL)]
    places = shown or filled or list(range(len(names)))
    table(page["handle"], [names[at] for at in places], [[cell(row[at]) for at in places] for row in page["rows"]])
    if (more := page["total"] - len(page["rows"])) > 0:
        say(f"  and {more:,} more rows")
