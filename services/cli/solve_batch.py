"""``egotools solve --tasks``: many tasks, on this machine or on a cluster of Ray, and their report."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from egotools.client_errors import ClientError
from ontology.errors import EgotoolsError, InvalidArgumentError
from ontology.files import only_writer
from planners.calls.tool_access import Ask, ToolAccess, always, never
from planners.journal.run_journal import RunJournal
from planners.kgot.batch import (
    BatchTask,
    TaskResult,
    finished_before,
    journal_path,
    read_tasks,
    run_batch,
    solve_in_folder,
)
from planners.kgot.batch_report import batch_report, write_report
from planners.kgot.recorded_run import SolveParts
from services.cli.console import plain, print_json, say, tell
from services.cli.solve import Catalogue, opened_tools
from services.cluster.ray_cluster import each_on_ray, on_ray
from services.jobs.solve_parts import SolvePlan, open_solve_parts

__all__ = ["solve_batch"]


def solve_batch(
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
            results = _on_ray(tasks, plan, catalogue, access, out, workers, show)
        else:
            results = asyncio.run(_here(tasks, plan, catalogue, access, out, workers, show))
        report = batch_report(tasks, results)
        written = write_report(report, out)
    if as_json:
        print_json(report)
    else:
        _show(report, written)


async def _here(
    tasks: Sequence[BatchTask],
    plan: SolvePlan,
    catalogue: Catalogue,
    access: ToolAccess,
    out: Path,
    workers: int,
    show: Callable[[TaskResult], None],
) -> list[TaskResult]:
    budget = plan.endpoint.budget()  # of all tasks together
    async with opened_tools(catalogue, access, _ask(access)) as tools:

        def parts(task: BatchTask, journal: RunJournal) -> AbstractAsyncContextManager[SolveParts]:
            return open_solve_parts(plan, tools, task.task, journal, budget=budget)

        return await run_batch(tasks, lambda task: solve_in_folder(task, out, parts), workers=workers, observe=show)


def _on_ray(
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
        async with opened_tools(catalogue, access, _ask(access)) as tools:

            def parts(task: BatchTask, journal: RunJournal) -> AbstractAsyncContextManager[SolveParts]:
                return open_solve_parts(plan, tools, task.task, journal)

            return await solve_in_folder(task, folder, parts)

    try:
        return asyncio.run(solve())
    except (EgotoolsError, ClientError) as error:
        return TaskResult(id=task.id, error=str(error))


def _ask(access: ToolAccess) -> Ask:
    return always if access.policy.confirmed else never


def _show(report: Mapping[str, Any], written: Sequence[Path]) -> None:
    categories = Counter(row["category"] for row in report["rows"])
    total = report["total"]
    say(f"[bold]{report['tasks']}[/] tasks: {', '.join(f'{count} {name}' for name, count in categories.most_common())}")
    tokens = f"{total['prompt_tokens']:,} + {total['completion_tokens']:,} tokens, {total['usd']:.4f} USD"
    say(f"{total['calls']:,} model calls, {tokens}")
    say(f"Wrote {plain(', '.join(map(str, written)))}")
