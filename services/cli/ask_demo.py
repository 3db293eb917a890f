"""The demo's questions: three about the tool graph of the shipped company, planned by rules, with their plans and tables."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from services.cli.ask_run import Asked, ask_opened
from services.cli.console import plain, stdout
from services.cli.show_ask import AskPrinter, show_end
from services.jobs.ask_parts import AskPlan, OpenedGraph, open_asked_graph

__all__ = ["QUESTIONS", "ask_company"]

QUESTIONS = (
    "Which tools break if supplier_id changes?",
    "Which topics only write?",
    "Which tools reach the tool 'Pay supplier invoice' within two steps of supplies?",
)
"""Of planners/graphseek/tasks/tool_graph.jsonl, whose answers are known."""
_ROWS = 5


def ask_company(folder: Path, store: Path) -> None:
    """Ask the questions, and print plans, tables and answers.

    :param folder: for the graph, journals and results.
    :param store: of the shipped catalogue.
    """
    asyncio.run(_ask_all(folder, store))


async def _ask_all(folder: Path, store: Path) -> None:
    started = time.perf_counter()
    async with open_asked_graph(AskPlan(graph=f"store:{store}", cache=folder / "graphs")) as graph:
        took = time.perf_counter() - started
        stdout.print(
            f"Its tool graph is in a graph database, in {took:.1f} s: it is asked in plain words.", highlight=False
        )
        for number, question in enumerate(QUESTIONS, 1):
            await _ask(graph, question, folder / "questions" / f"{number}.jsonl")


async def _ask(graph: OpenedGraph, text: str, journal: Path) -> None:
    stdout.print(f"[bold]{plain(text)}[/]", soft_wrap=True, highlight=False)
    told = await ask_opened(graph, Asked(text=text, journal=journal, rows=_ROWS), AskPrinter().tell)
    show_end(told.answered.end, told.pages)
    stdout.print()
