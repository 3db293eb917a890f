"""The questions without a model: rules on the questions as they are asked, on paraphrases, with another catalog, and with random parameters."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from planners.graphseek.draft import draft_by_rules

from ontology.ontology import load_ontology
from planners.graphseek.rules_turns import RulesTurns
from planners.graphseek.turn import AgentSettings
from scripts.account.kept_rows import KeptRows
from scripts.graphseek.account_graph import AccountGraph
from scripts.graphseek.asked_systems import ask_graphseek
from scripts.graphseek.question import FIRST_PARAPHRASES, SECOND_PARAPHRASES, Question, paraphrases
from scripts.graphseek.real_account import scored_row

__all__ = ["measure_rules", "random_section"]

_RANDOM = "random parameters"


async def measure_rules(graphs: Sequence[AccountGraph], drawn: Sequence[Question], rows: KeptRows) -> None:
    """Ask each question, and its paraphrases where there are any; also with a catalog that rules drafted from the graph.

    :param drawn: questions on the EV graph with random parameters.
    """
    for graph in graphs:
        draft = replace(draft_by_rules(await graph.graph.census(), load_ontology()), accepted=True)
        drafted = replace(graph, catalog=draft)
        asked = {question.id: question.text for question in graph.questions}
        first, second = (paraphrases(graph.questions, file) for file in (FIRST_PARAPHRASES, SECOND_PARAPHRASES))
        ways: Mapping[str, tuple[AccountGraph, Mapping[str, str]]] = {
            "asked": (graph, asked),
            "paraphrase": (graph, first),
            "second paraphrase": (graph, second),
            "asked, drafted catalog": (drafted, asked),
            "paraphrase, drafted catalog": (drafted, first),
        }
        for question in graph.questions:
            for wording, (of, texts) in ways.items():
                if question.id in texts:
                    await _measure(of, replace(question, text=texts[question.id]), wording, rows)
        counted = Counter[str]()
        for question in drawn:
            if question.graph == graph.name:
                counted[question.id] += 1
                await _measure(graph, question, _RANDOM, rows, counted[question.id])


async def _measure(graph: AccountGraph, question: Question, wording: str, rows: KeptRows, sample: int = 0) -> None:
    if rows.has(question=question.id, wording=wording, sample=sample):
        return
    started = time.perf_counter()
    given = await ask_graphseek(graph, question.text, RulesTurns(), settings=AgentSettings(), told=[])
    rows.add(
        question=question.id,
        wording=wording,
        sample=sample,
        graph=graph.name,
        family=question.family,
        is_none=not any(question.truth.parts),
        **scored_row(graph, question, given),
        seconds=round(time.perf_counter() - started, 3),
    )


def random_section(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the figures of random parameters by question: how many were drawn, of how many there is no answer, how many are right."""
    by_question: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["wording"] == _RANDOM:
            by_question.setdefault(row["question"], []).append(row)
    keys = ("is_none", "paper", "whole")
    return [
        {"question": name, "drawn": len(of), **{key: sum(bool(each[key]) for each in of) for key in keys}}
        for name, of in by_question.items()
    ]
