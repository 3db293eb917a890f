"""``egotools solve --demo``: five tasks solved by rules over a mock company and files, and a recorded run of a real model where one is shipped."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

import planners.kgot
from planners.calling.consent import never
from planners.calling.tool_access import ToolAccess
from planners.kgot.batch.answer_match import answer_matches
from planners.kgot.batch.task_file import BatchTask, read_tasks
from planners.kgot.recorded_run import header_of, solve_recorded
from planners.runs.account import account_of
from planners.runs.run_journal import open_run_journal, read_run_journal
from services.cli.console import plain, stdout
from services.cli.demo_company import demo_company
from services.cli.show_solve import SolvePrinter, show_outcome
from services.cli.tools_client import tools_client
from services.company.shipped_documents import SHIPPED_CATALOG
from services.jobs.integrated_store import integrated_store
from services.jobs.solve_parts import SolveTools, open_solve_parts
from services.jobs.solve_plan import SolvePlan

__all__ = ["RECORDED_RUN", "keyless_tasks", "solve_demo"]

_TASKS = Path(planners.kgot.__file__).parent / "tasks"
RECORDED_RUN = _TASKS / "recorded" / "run.jsonl"
"""The journal of a run of a real model; a release without one shows nothing in its place."""
_DEMO_TASKS = ("task-01", "task-04", "task-06", "task-07", "task-11")
"""One to three hops over a company, a sum of amounts, a file; none needs an extra, and none has Python to isolate."""
_DAY = "2026-11-20"  # on which the mock company stands


def solve_demo() -> None:
    """Solve the tasks and print each step, then replay the recorded run where there is one."""
    with tempfile.TemporaryDirectory(prefix="egotools-solve-demo-") as temporary:
        folder = Path(temporary)
        keyless_tasks(folder, _build(folder))
    _recorded()


def keyless_tasks(folder: Path, store: Path) -> None:
    """Solve the tasks and print each step.

    :param folder: for journals, and for the store of the integrated tools.
    :param store: of the shipped catalogue.
    """
    asyncio.run(_solve_all(folder, store, integrated_store(folder / "integrated")))


async def _solve_all(folder: Path, store: Path, own_store: Path) -> None:
    tasks = {task.id: task for task in read_tasks(_TASKS / "tasks.jsonl")}
    plan = SolvePlan(today=_DAY)
    right = 0
    with demo_company(SHIPPED_CATALOG, folder / "solved-company") as systems:
        access = ToolAccess(servers=systems)
        async with tools_client("", store) as client, tools_client("", own_store) as own:
            tools = SolveTools(client=client, own=own, access=access, ask=never)
            for id_ in _DEMO_TASKS:
                right += await _solved(tasks[id_], plan, tools, folder)
    _say(f"[bold]{right} of {len(_DEMO_TASKS)}[/] answers are those expected. No model was asked.\n")


async def _solved(task: BatchTask, plan: SolvePlan, tools: SolveTools, folder: Path) -> bool:
    _say(f"[bold]{plain(task.task.question)}[/]")
    printer = SolvePrinter()
    with open_run_journal(folder / f"{task.id}.jsonl", sync="batch", kept="file") as journal:
        async with open_solve_parts(plan, tools, task.task, journal) as parts:
            run = await solve_recorded(task.task, journal, parts, observe=printer.tell)
        show_outcome(run, account_of(journal.records))
    stdout.print()
    return answer_matches(run.answer, task.expected, in_order=task.in_order, question=task.task.question)


def _recorded() -> None:
    """Replay the recorded run where there is one, and say that it is recorded."""
    if not RECORDED_RUN.is_file():
        return
    from services.cli import solve_run

    journal = read_run_journal(RECORDED_RUN, kept="file")
    header = header_of(journal) or {}
    models = " and ".join(
        sorted({name.partition("@")[0].removeprefix("openai:") for name in header["models"].values()})
    )
    day = next(iter(journal.records)).at[:10]
    _say(f"[bold]{plain(header['question'])}[/]")
    _say(
        f"[yellow]Recorded[/]: this run was made on {day} with {plain(models)}. It is replayed, and no model is asked now."
    )
    printer = SolvePrinter()
    solved = asyncio.run(solve_run.replay(RECORDED_RUN, printer.tell))
    show_outcome(solved.run, solved.account)
    for task in read_tasks(_TASKS / "tasks.jsonl"):
        if task.task.question == header["question"]:
            right = answer_matches(
                solved.run.answer, task.expected, in_order=task.in_order, question=header["question"]
            )
            _say(f"The answer is [bold]{'right' if right else 'wrong'}[/]; expected: {plain(task.expected)}")


def _build(folder: Path) -> Path:
    """Build the store of the company's documents."""
    from inference import DEFAULT_ENCODER, load_encoder
    from services.jobs.build import build_snapshot

    started = time.perf_counter()
    encoder = load_encoder(DEFAULT_ENCODER, workers=2)
    build_snapshot([str(SHIPPED_CATALOG)], folder / "store", encoder=encoder, workers=1)
    _say(f"The tools of a mock company are in a store, in {time.perf_counter() - started:.1f} s.\n")
    return folder / "store"


def _say(line: str) -> None:
    stdout.print(line, soft_wrap=True, highlight=False)
