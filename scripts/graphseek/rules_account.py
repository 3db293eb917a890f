"""The questions without a model: rules on the questions as they are asked, and on paraphrases."""

from __future__ import annotations

import time
from collections.abc import Sequence

from planners.graphseek.agent.agent_settings import AgentSettings
from planners.graphseek.rules.rules_turns import RulesTurns
from scripts.graphseek.account_graph import AccountGraph
from scripts.graphseek.asked_systems import ask_graphseek
from scripts.graphseek.question import Question, paraphrases
from scripts.graphseek.real_account import scored_row
from scripts.kgot.kept_rows import KeptRows

__all__ = ["measure_rules"]


async def measure_rules(graphs: Sequence[AccountGraph], rows: KeptRows) -> None:
    """Ask each question, and its paraphrase where there is one."""
    for graph in graphs:
        other = paraphrases(graph.questions)
        for question in graph.questions:
            await _measure(graph, question, question.text, "asked", rows)
            if question.id in other:
                await _measure(graph, question, other[question.id], "paraphrase", rows)


async def _measure(graph: AccountGraph, question: Question, text: str, wording: str, rows: KeptRows) -> None:
    if rows.has(question=question.id, wording=wording):
        return
    started = time.perf_counter()
    given = await ask_graphseek(graph, text, RulesTurns(), settings=AgentSettings(), told=[])
    rows.add(
        question=question.id,
        wording=wording,
        graph=graph.name,
        family=question.family,
        **scored_row(graph, question, given),
        seconds=round(time.perf_counter() - started, 3),
    )
