"""The oracle over every store and every kind of retrieval; and the oracle with faults, with each layer of containment and without."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

from inference.chat import ChatModel
from planners.kgot.batch import answer_matches
from planners.kgot.kgot_controller import KgotRun, solve_task
from planners.kgot.kgot_settings import KgotSettings, RetrieveKind
from planners.kgot.kgot_task import KgotTask
from planners.kgot.steps import LlmSteps
from planners.stores import open_graph
from planners.stores.property_graph import GraphState
from scripts.account.kept_rows import KeptRows
from scripts.kgot.account_tasks import AccountTask
from scripts.kgot.injected_faults import FaultyModel
from scripts.kgot.oracle_model import OracleModel
from scripts.kgot.task_world import TaskWorld

__all__ = [
    "KINDS",
    "LAYERS",
    "fault_section",
    "measure_faults",
    "measure_oracle",
    "oracle_section",
]

KINDS: tuple[RetrieveKind, ...] = ("query", "script", "direct", "fusion")
_RATES = (0.0, 0.1, 0.2, 0.4)
_FULL = KgotSettings()
LAYERS: Mapping[str, KgotSettings] = {
    "all layers": _FULL,
    "without repair of JSON": replace(_FULL, repair_json=False),
    "without re-asks": replace(_FULL, max_json_reasks=0),
    "without fixes and new queries": replace(_FULL, max_cypher_fixing_retry=0, max_retrieve_query_retry=0),
    "without votes": replace(_FULL, num_next_steps_decision=1, max_final_solution_parsing=1),
    "none of them": replace(
        _FULL,
        repair_json=False,
        max_json_reasks=0,
        max_cypher_fixing_retry=0,
        max_retrieve_query_retry=0,
        num_next_steps_decision=1,
        max_final_solution_parsing=1,
    ),
}
"""Name → settings of a run."""


async def _run_once(
    world: TaskWorld, task: AccountTask, model: ChatModel, oracle: ChatModel, *, store: str, settings: KgotSettings
) -> KgotRun:
    """Run a task on a new graph.

    :param oracle: what answers the tool that asks a model.
    """
    async with AsyncExitStack() as stack:
        graph = await stack.enter_async_context(open_graph(store, world.sandbox))
        steps = LlmSteps(model, model, settings=settings, language=graph.language)
        asked = KgotTask(question=task.question, files=task.files)
        invoker = await world.invoker(task, oracle)
        return await solve_task(asked, graph, steps, world.finder(), invoker, world.sandbox, settings=settings)


async def measure_oracle(
    world: TaskWorld,
    tasks: Sequence[AccountTask],
    stores: Sequence[str],
    kinds: Sequence[RetrieveKind],
    rows: KeptRows,
    wanted: KeptRows,
) -> None:
    """Run all tasks with the oracle in these stores.

    :param stores: addresses of stores, see ``egotools solve --graph``; rows have what stands before the colon.
    :param wanted: gets which tools each step wanted, and which the prompt showed.
    """
    for task in tasks:
        for store in stores:
            for kind in kinds:
                if not rows.has(store=_engine(store), retrieve=kind, task=task.id):
                    await _measure_one(world, task, store, kind, rows, wanted)


async def _measure_one(
    world: TaskWorld, task: AccountTask, store: str, kind: RetrieveKind, rows: KeptRows, wanted: KeptRows
) -> None:
    oracle, started = OracleModel([task]), time.perf_counter()
    run = await _run_once(world, task, oracle, oracle, store=store, settings=KgotSettings(retrieve=kind))
    rows.add(
        store=_engine(store),
        retrieve=kind,
        task=task.id,
        kind=task.kind,
        solved=_is_solved(run.answer, task.answer, task.question),
        outcome=run.outcome,
        in_graph=_stands(run.state, task.answer),
        iterations=run.iterations,
        nodes=len(run.state.nodes),
        seconds=round(time.perf_counter() - started, 3),
    )
    if not wanted.has(task=task.id):
        wanted.add(task=task.id, kind=task.kind, steps=oracle.wanted)


def _is_solved(given: str, truth: str, question: str = "") -> bool:
    return answer_matches(given.strip().strip("\"'`").strip(), truth, question=question)


def _engine(store: str) -> str:
    return store.partition(":")[0]


def _stands(state: GraphState, answer: str) -> bool:
    """Whether a node has the answer as a value."""
    values = (value for node in state.nodes for value in node.properties.values())
    return any(not isinstance(value, tuple) and _is_solved(str(value), answer) for value in values)


async def measure_faults(
    world: TaskWorld, tasks: Sequence[AccountTask], rows: KeptRows, *, store: str, seed: int
) -> None:
    """Run tasks with faults at each rate, with all layers and without each."""
    for task in tasks:
        for rate in _RATES:
            for layers, settings in LAYERS.items():
                if rows.has(rate=rate, layers=layers, task=task.id):
                    continue
                oracle = OracleModel([task])
                faulty = FaultyModel(oracle, rate=rate, seed=seed)
                run = await _run_once(world, task, faulty, oracle, store=store, settings=settings)
                solved = _is_solved(run.answer, task.answer, task.question)
                rows.add(
                    rate=rate,
                    layers=layers,
                    task=task.id,
                    solved=solved,
                    outcome=run.outcome,
                    faults=dict(faulty.made),
                )


def oracle_section(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a row of figures for each store and kind of retrieval."""
    found: dict[tuple[str, str], Counter[str]] = {}
    for row in rows:
        counts = found.setdefault((row["store"], row["retrieve"]), Counter())
        counts["tasks"] += 1
        counts["solved"] += row["solved"]
        counts["in_graph"] += row["in_graph"]
        counts["ms"] += round(1_000 * row["seconds"])
    return [
        {"store": store, "retrieve": kind, **{name: counts[name] for name in ("tasks", "solved", "in_graph")}}
        | {"seconds": counts["ms"] / 1_000}
        for (store, kind), counts in found.items()
    ]


def fault_section(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a row of figures for each rate and set of layers."""
    found: dict[tuple[float, str], Counter[str]] = {}
    for row in rows:
        counts = found.setdefault((row["rate"], row["layers"]), Counter())
        counts["tasks"] += 1
        counts["solved"] += row["solved"]
        counts["faults"] += sum(row["faults"].values())
    return [
        {"rate": rate, "layers": layers, **{name: counts[name] for name in ("tasks", "solved", "faults")}}
        for (rate, layers), counts in found.items()
    ]
