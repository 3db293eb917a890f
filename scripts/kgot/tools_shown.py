"""Prompt tokens of the tools that a search returns against those of all tools, and how often the needed ones are among them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import Any

from egotools import Tool
from planners.calls.model_text import PromptTokens
from planners.calls.tool_finder import FoundTool, FoundTools, ToolFinder
from planners.kgot.steps import tools_text
from planners.kgot.tools.tool_set import NAMESPACE
from scripts.bench_sets import ROOT
from scripts.kgot.account_tasks import AccountTask
from scripts.kgot.oracle_key import oracle_plan
from scripts.kgot.task_world import TaskWorld

__all__ = ["ORACLE_TEXTS", "tool_section"]

_SEARCHES = ("auto_k, at most 8", "8 tools")
ORACLE_TEXTS = "distinct texts of what the oracle says is missing"
"""Begins the names of rows whose requests are made from templates: no sample, so no interval."""
_ORACLE_OWN, _ORACLE_PUBLIC = f"{ORACLE_TEXTS}, own tasks", f"{ORACLE_TEXTS}, public tasks"
_BENCHMARK = ROOT / "examples" / "enterprise" / "benchmark"


async def tool_section(
    world: TaskWorld, tasks: Sequence[AccountTask], wanted: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the figures.

    :param wanted: of the oracle's runs: for each step the tools that it wanted, and what it said is missing.
    """
    counter = PromptTokens()
    documents = [await world.client.get_tool(each, schema_format="openai") async for each in world.client.tool_ids()]
    every = counter.count(tools_text(_found(documents)))
    asked: dict[str, list[tuple[str, frozenset[str]]]] = {
        _ORACLE_OWN: _steps(wanted, own=True),
        _ORACLE_PUBLIC: _steps(wanted, own=False),
        "own tasks as they are asked, first tools": [
            (each.question, _first_tools(each)) for each in tasks if each.level
        ],
    }
    for name in ("hand", "generated"):
        lines = (_BENCHMARK / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        labelled = [(row["query"], frozenset(row["tools"])) for row in map(json.loads, lines)]
        asked[f"labelled requests of the shipped company, {name}"] = labelled
    rows = [
        await _measured(world.finder(auto_k=auto_k), name, requests, counter)
        for name, requests in asked.items()
        if requests
        for auto_k in (True, False)
    ]
    for row, search in zip(rows, cycle(_SEARCHES), strict=False):
        row["search"] = search
    return {"tools": len(documents), "all_tokens": every, "counter": counter.name, "rows": rows}


def _steps(wanted: Iterable[Mapping[str, Any]], *, own: bool) -> list[tuple[str, frozenset[str]]]:
    """Return the distinct texts of what was missing in the steps of the oracle, each with all tools that it was said of.

    The oracle writes them from few templates, so that steps are no independent requests.
    """
    found: dict[str, frozenset[str]] = {}
    for row in wanted:
        if (row["kind"] == "own") == own:
            for missing, tools in row["steps"]:
                found[missing] = found.get(missing, frozenset()) | frozenset(map(_id, tools))
    return list(found.items())


def _first_tools(task: AccountTask) -> frozenset[str]:
    """Return the tools that a task needs at the beginning: those of the plan's first calls, or Python where it only computes."""
    first = {_id(call.tool) for call in oracle_plan(task).calls(())}
    return frozenset(first or {_id("run_python")})


def _id(tool: str) -> str:
    return tool if "/" in tool else f"{NAMESPACE}/{tool}"


async def _measured(
    finder: ToolFinder, name: str, requests: Sequence[tuple[str, frozenset[str]]], counter: PromptTokens
) -> dict[str, Any]:
    shown, tokens, complete, found, needed = 0, 0, 0, 0, 0
    for request, tools in requests:
        answer = await finder.find(request)
        ids = {each.tool.id for each in answer.tools}
        shown += len(ids)
        tokens += counter.count(tools_text(answer))
        complete += tools <= ids
        found += len(tools & ids)
        needed += len(tools)
    n = len(requests)
    return {"requests": name, "n": n, "shown": shown / n, "tokens": tokens / n} | {
        "complete": complete,
        "found": found,
        "needed": needed,
    }


def _found(tools: Sequence[Tool]) -> FoundTools:
    ranked = (FoundTool(rank=rank, score=0.0, explanation="", tool=each) for rank, each in enumerate(tools, 1))
    return FoundTools(request="", tools=tuple(ranked), snapshot_id="")
