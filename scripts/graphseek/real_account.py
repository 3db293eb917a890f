"""A real model on the questions: six systems with the same graph, limits and grading. Goes on where it was.

The order is: run, question, system. Questions are taken from the graphs in turn, so that each prefix has about as many of each.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from egotools import ClientError
from inference.chat import ChatModel, Message
from ontology.errors import EgotoolsError
from planners.calls.tool_finder import Finder
from planners.graphseek.turn import AgentEvent, AgentSettings
from scripts.account.kept_rows import KeptRows
from scripts.account.tallied_model import TalliedModel
from scripts.graphseek.account_graph import AccountGraph
from scripts.graphseek.answer_score import Answer, score_answer
from scripts.graphseek.asked_systems import SYSTEMS
from scripts.graphseek.question import Question
from scripts.graphseek.system_answer import SystemAnswer

__all__ = ["measure_real", "scored_row"]


def _mixed_questions(graphs: Sequence[AccountGraph]) -> Iterator[tuple[AccountGraph, Question]]:
    """Yield the questions of graphs in turn."""
    rounds = zip_longest(*([(graph, each) for each in graph.questions] for graph in graphs))
    yield from (pair for pair in chain.from_iterable(rounds) if pair is not None)


def scored_row(graph: AccountGraph, question: Question, given: SystemAnswer) -> dict[str, Any]:
    """Return what a row says of an answer: whether it is right by both rules, and how it came about."""
    score = score_answer(question.truth, given.answer, graph.names)
    return {
        "paper": score.paper,
        "whole": score.whole,
        "outcome": given.outcome[:300],
        "answer": given.answer.text[:300],
        "steps": given.steps,
        "last": given.last[:600],
    }


async def measure_real(
    graphs: Sequence[AccountGraph],
    finder: Finder,
    model: ChatModel,
    rows: KeptRows,
    *,
    runs: int,
    settings: AgentSettings,
    attempts: int,
    events: Path | None = None,
) -> None:
    """Ask each question of each system, as often as is said.

    :param events: folder for the events of the agent's runs, a file each.
    :raises ModelError: when the model does not answer any more; the row of that question is not kept.
    """
    for run in range(runs):
        for graph, question in _mixed_questions(graphs):
            for name, system in SYSTEMS.items():
                row = {"run": run, "question": question.id, "system": name}
                if rows.has(**row):
                    continue
                tallied, started, told = TalliedModel(model, run), time.perf_counter(), list[AgentEvent]()
                try:
                    given = await system.ask(
                        tallied, graph, question, finder, settings=settings, attempts=attempts, told=told
                    )
                except (EgotoolsError, ClientError) as error:
                    outcome = f"{type(error).__name__}: {error}"
                    given = SystemAnswer(answer=Answer(), outcome=outcome, steps=0)
                seconds = round(time.perf_counter() - started, 1)
                if tallied.tally["failed"]:  # of a server that is unavailable, nothing is kept
                    await asyncio.to_thread(model.complete, [Message(role="user", content="Say yes.")], max_tokens=8)
                counts = {key: tallied.tally[key] for key in ("asked", "prompt_tokens", "completion_tokens")}
                rows.add(
                    **row,
                    graph=graph.name,
                    family=question.family,
                    **scored_row(graph, question, given),
                    seconds=seconds,
                    **counts,
                )
                if events is not None and told:
                    _keep_events(events / f"{run}-{name.replace(' ', '-')}-{question.id}.jsonl", told)


def _keep_events(path: Path, told: Sequence[AgentEvent]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(each.to_json(), ensure_ascii=False)}\n" for each in told), encoding="utf-8")
