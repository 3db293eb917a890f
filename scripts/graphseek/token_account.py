"""Prompt tokens: of the same plans on graphs of three sizes, and with operators looked up against all of them bound.

An invocation counts as looked up where its operator is none of the core, and as offered where the step that makes it had the operator.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from planners.calls.tool_finder import Finder
from planners.graphseek.operators.operator import known_operators
from planners.graphseek.question_run import CORE
from planners.graphseek.turn import AgentEvent, AgentSettings, StepBegun
from scripts.account.kept_rows import KeptRows
from scripts.graphseek.account_graph import AccountGraph, ev_file, open_account_graph
from scripts.graphseek.asked_systems import SYSTEMS
from scripts.graphseek.ev_plans import ev_plan
from scripts.graphseek.plan_model import PlanModel
from scripts.graphseek.question import Question
from scripts.graphseek.real_account import scored_row

__all__ = ["measure_tokens", "token_section"]

_BOUND, _LOOKUP = "all bound", "basic"


async def measure_tokens(folder: Path, scales: Sequence[float], finder: Finder, rows: KeptRows) -> None:
    """Play the plans of the 15 questions on the EV graph of each size with all operators bound; at size 1 also with lookup.

    :param folder: of the graphs.
    """
    for scale in scales:
        path, questions = ev_file(folder, scale)
        async with open_account_graph("ev", path, questions) as graph:
            for question in questions:
                for system in (_BOUND, _LOOKUP) if scale == 1 else (_BOUND,):
                    if not rows.has(scale=scale, system=system, question=question.id):
                        row = await _played(graph, question, system, finder)
                        rows.add(scale=scale, system=system, question=question.id, **row)


async def _played(graph: AccountGraph, question: Question, system: str, finder: Finder) -> dict[str, Any]:
    plan, told = ev_plan(question), list[AgentEvent]()
    model = PlanModel(plan)
    given = await SYSTEMS[system].ask(model, graph, question, finder, settings=AgentSettings(), attempts=1, told=told)
    offered = {each.step: each.operators for each in told if isinstance(each, StepBegun) and not each.fallback}
    looked_up = [(at, each.operator) for at, each in enumerate(plan.steps, start=1) if each.operator not in CORE]
    scored = scored_row(graph, question, given)
    return {
        "solved": scored["whole"],
        "outcome": scored["outcome"],
        "prompts": len(model.prompts),
        "messages": sum(model.prompts),
        "schemas": sum(model.schemas),
        "looked_up": len(looked_up),
        "offered": sum(name in offered.get(step, ()) for step, name in looked_up),
    }


def token_section(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the figures: totals by size, how far they differ, and lookup beside all bound."""
    kept = list(rows)
    sizes = {}
    for scale in sorted({each["scale"] for each in kept}):
        of = [each for each in kept if each["scale"] == scale and each["system"] == _BOUND]
        sizes[f"{scale:g}"] = {key: sum(each[key] for each in of) for key in ("messages", "schemas", "prompts")} | {
            "questions": len(of),
            "by_question": {each["question"]: each["messages"] for each in of},
        }
    ways = {}
    for system in (_BOUND, _LOOKUP):
        of = [each for each in kept if each["scale"] == 1 and each["system"] == system]
        if of:
            keys = ("messages", "schemas", "prompts", "solved", "looked_up", "offered")
            ways[system] = {key: sum(int(each[key]) for each in of) for key in keys}
            ways[system]["questions"] = len(of)
    return {"operators": len(known_operators()), "sizes": sizes, "ways": ways} if kept else {}
