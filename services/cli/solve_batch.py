"""``egotools solve --tasks``: many tasks, on this machine or on a cluster of Ray, and their report."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
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
    batch_report,
    finished_before,
    journal_path,
    read_tasks,
    run_batch,
    solve_in_folder,
    write_report,
)
from planners.kgot.recorded_run import SolveParts
from services.cli.command_error import command_error
from services.cli.console import plain, print_json, stderr, stdout
from services.cli.solve_options import BatchOptions
from services.cli.solve_run import Catalogue, opened_tools
from services.cluster.ray_cluster import each_on_ray, on_ray
from services.jobs.solve_parts import open_solve_parts
from services.jobs.solve_plan import SolvePlan

__all__ = ["solve_batch"]


def solve_batch(
    plan: SolvePlan, catalogue: Catalogue, access: ToolAccess, batch: BatchOptions, *, on: str, as_json: bool
) -> None:
    """Solve the tasks of a file, and report. Finished tasks are not run again.

    Nobody is asked at a terminal: a call that may change something is made where ``--yes`` or the policy says so.

    :raises EgotoolsError: when the tasks cannot be read, or the folder cannot be written.
    """
    if batch.tasks is None or batch.out is None:
        raise InvalidArgumentError("it needs a folder", subject="--tasks", remedy="Name one: --out DIR")
    _refuse_shared_store(plan)
    tasks = read_tasks(batch.tasks)
    show = _Progress(len(tasks), quiet=as_json)
    with only_writer(batch.out):
        show.tell_finished(finished_before(tasks, batch.out), journal_path(batch.out, "ID"))
        try:
            if on_ray(on):
                results = _on_ray(tasks, plan, catalogue, access, batch, show)
            else:
                results = asyncio.run(_here(tasks, plan, catalogue, access, batch, show))
        except ClientError as error:
            raise command_error(error) from error
        report = batch_report(tasks, results)
        written = write_report(report, batch.out)
    if as_json:
        print_json(report)
    else:
        _show(report, written)


def _refuse_shared_store(plan: SolvePlan) -> None:
    """Refuse a store that two runs would share."""
    if ":" in plan.graph:
        raise InvalidArgumentError(
            "each task needs a store of its own", subject="--graph", remedy="Use memory or rdf with --tasks"
        )


async def _here(
    tasks: Sequence[BatchTask],
    plan: SolvePlan,
    catalogue: Catalogue,
    access: ToolAccess,
    batch: BatchOptions,
    show: _Progress,
) -> list[TaskResult]:
    budget = plan.endpoint.budget()  # of all tasks together
    folder = batch.out or Path()
    async with opened_tools(catalogue, access, _ask(access)) as tools:

        def parts(task: BatchTask, journal: RunJournal) -> AbstractAsyncContextManager[SolveParts]:
            return open_solve_parts(plan, tools, task.task, journal, budget=budget)

        return await run_batch(
            tasks, lambda task: solve_in_folder(task, folder, parts), workers=batch.workers, observe=show.tell
        )


def _on_ray(
    tasks: Sequence[BatchTask],
    plan: SolvePlan,
    catalogue: Catalogue,
    access: ToolAccess,
    batch: BatchOptions,
    show: _Progress,
) -> list[TaskResult]:
    folder = (batch.out or Path()).absolute()
    store = catalogue.store.absolute() if catalogue.store is not None else None
    there = Catalogue(
        store=store, server=catalogue.server, allowed_models=catalogue.allowed_models, cache=catalogue.cache
    )
    results: dict[str, TaskResult] = {}
    for task, given in each_on_ray(_solve_there, tasks, plan, there, access, folder, at_once=batch.workers):
        result = TaskResult(id=task.id, error=str(given)) if isinstance(given, EgotoolsError) else given
        results[task.id] = result
        show.tell(result)
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


class _Progress:
    """A line for each task that has ended."""

    def __init__(self, total: int, *, quiet: bool) -> None:
        self._total = total
        self._quiet = quiet
        self._count = 0

    def tell_finished(self, count: int, journal: Path) -> None:
        """Say how many tasks are not run again, and how one is."""
        if count and not self._quiet:
            said = f"{count} of {self._total} were finished before. To run one again, delete {journal}"
            stderr.print(plain(said), soft_wrap=True, highlight=False)

    def tell(self, result: TaskResult) -> None:
        """Take a result."""
        self._count += 1
        if self._quiet:
            return
        said = f"[yellow]{plain(result.error)}[/]" if result.error else plain(result.answer or result.missing)
        stderr.print(
            f"{self._count}/{self._total} {plain(result.id)} {plain(result.outcome)}: {said}",
            soft_wrap=True,
            highlight=False,
        )


def _show(report: Mapping[str, Any], written: Sequence[Path]) -> None:
    counted = Counter(row["category"] for row in report["rows"])
    told = ", ".join(f"{count} {name}" for name, count in counted.most_common())
    stdout.print(f"[bold]{report['tasks']}[/] tasks: {told}", highlight=False)
    total = report["total"]
    stdout.print(
        f"{total['calls']:,} model calls, {total['prompt_tokens']:,} + {total['completion_tokens']:,} tokens, {total['usd']:.4f} USD",
        highlight=False,
    )
    stdout.print(f"Wrote {plain(', '.join(str(path) for path in written))}", soft_wrap=True, highlight=False)
