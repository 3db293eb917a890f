"""``egotools solve --demo``: a recorded run of a real model."""

from __future__ import annotations

import asyncio
from pathlib import Path

import planners.kgot
from ontology.errors import InvalidArgumentError
from planners.journal.run_journal import read_run_journal
from planners.kgot.batch import answer_matches, read_tasks
from planners.kgot.recorded_run import header_of
from services.cli import solve_run
from services.cli.console import plain, stdout
from services.cli.show_solve import SolvePrinter, show_outcome

__all__ = ["RECORDED_RUN", "solve_demo"]

_TASKS = Path(planners.kgot.__file__).parent / "tasks"
RECORDED_RUN = _TASKS / "recorded" / "run.jsonl"
"""The journal of a run of a real model."""


def solve_demo() -> None:
    """Replay the recorded run, and say that it is recorded."""
    journal = read_run_journal(RECORDED_RUN)
    header = header_of(journal)
    if header is None or journal.first is None:
        raise InvalidArgumentError(
            "the recorded run is empty", subject=str(RECORDED_RUN), remedy="Install the package again"
        )
    models = " and ".join(sorted({name.partition("@")[0].removeprefix("openai:") for name in header.models.values()}))
    day = journal.first.at[:10]
    _say(f"[bold]{plain(header.question)}[/]")
    _say(
        f"[yellow]Recorded[/]: this run was made on {day} with {plain(models)}. It is replayed, and no model is asked now."
    )
    printer = SolvePrinter()
    solved = asyncio.run(solve_run.replay(RECORDED_RUN, printer.tell))
    show_outcome(solved.run, solved.account)
    for task in read_tasks(_TASKS / "tasks.jsonl"):
        if task.question == header.question:
            right = answer_matches(solved.run.answer, task.answer, in_order=task.in_order, question=header.question)
            _say(f"The answer is [bold]{'right' if right else 'wrong'}[/]; expected: {plain(task.answer)}")


def _say(line: str) -> None:
    stdout.print(line, soft_wrap=True, highlight=False)
