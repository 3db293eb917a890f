"""A real model on a sample of the tasks: the task graph, and four baselines with the same tools, search, limits and grading. Goes on where it was.

The order is: run, task, system. Tasks are handed out round robin over their kinds, so each prefix is about stratified.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from egotools import ClientError
from inference import DEFAULT_ENCODER, load_encoder
from inference.chat import GREEDY, ChatModel, Message
from inference.encoder import Encoder
from ontology.errors import EgotoolsError
from planners.kgot.kgot_controller import solve_task
from planners.kgot.kgot_settings import KgotSettings
from planners.kgot.kgot_task import KgotEvent, KgotTask, TaskView
from planners.kgot.steps import LlmSteps
from planners.stores.memory_graph import MemoryGraph
from planners.stores.open_graph import open_graph
from planners.stores.property_graph import PropertyGraph
from scripts.account.kept_rows import KeptRows
from scripts.account.tallied_model import TalliedModel
from scripts.kgot.account_tasks import AccountTask
from scripts.kgot.answer_verdict import verdict_of
from scripts.kgot.notes_graph import CHUNK_CHARS, NearestChunks, NotesSteps
from scripts.kgot.plain_systems import PlainLimits, call_tools_plainly, zero_shot
from scripts.kgot.task_world import TaskWorld

__all__ = ["REAL_SETTINGS", "SYSTEMS", "measure_real"]

REAL_SETTINGS = KgotSettings(
    max_iterations=2,
    num_next_steps_decision=3,
    max_answer_tokens=512,
    max_json_reasks=1,
    max_cypher_fixing_retry=1,
    max_retrieve_query_retry=1,
    max_shown_bytes=6_000,
    max_graph_chars=12_000,
    max_seconds=3_600.0,
)
"""Of the real model: 3 votes and 2 iterations instead of 5 and 7, and one re-ask, fix and new query instead of 3, because of what calls cost here."""
SYSTEMS = ("kgot", "no graph", "nearest chunks", "tool calling", "zero-shot")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ended:
    answer: str
    outcome: str = "answered"
    calls: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """What a system gets for a task."""

    world: TaskWorld
    task: AccountTask
    model: TalliedModel
    encoder: Encoder
    store: str
    observe: Callable[[KgotEvent], None]


async def measure_real(
    world: TaskWorld,
    tasks: Sequence[AccountTask],
    model: ChatModel,
    rows: KeptRows,
    *,
    runs: int,
    store: str = "memory",
    events: Path | None = None,
) -> None:
    """Run each task by each system, as often as is said.

    :raises ModelError: when the model does not answer any more; the row of that run is not kept.
    :param events: folder for the events of the task graph's runs, a file each.
    """
    encoder = load_encoder(DEFAULT_ENCODER)
    for run in range(runs):
        for task in tasks:
            for system in SYSTEMS:
                if rows.has(run=run, task=task.id, system=system):
                    continue
                tallied, started, told = TalliedModel(model, run), time.perf_counter(), list[KgotEvent]()
                given = _Given(world=world, task=task, model=tallied, encoder=encoder, store=store, observe=told.append)
                ended = await _contained(system, given)
                if tallied.tally["failed"]:  # of a server that is gone, nothing is kept
                    await asyncio.to_thread(model.complete, [Message(role="user", content="Say yes.")], max_tokens=8)
                rows.add(
                    run=run,
                    task=task.id,
                    kind=task.kind,
                    level=task.level,
                    system=system,
                    verdict=verdict_of(ended.answer, task.answer, task.question),
                    answer=ended.answer[:500],
                    outcome=ended.outcome,
                    calls=ended.calls,
                    seconds=round(time.perf_counter() - started, 1),
                    **{name: tallied.tally[name] for name in ("asked", "prompt_tokens", "completion_tokens")},
                )
                if events is not None and told:
                    _keep_events(events / f"{run}-{system.replace(' ', '-')}-{task.id}.jsonl", told)


def _keep_events(path: Path, told: Sequence[KgotEvent]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(each.to_json(), ensure_ascii=False) for each in told)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


async def _contained(system: str, given: _Given) -> _Ended:
    try:
        return await _SOLVERS[system](given)
    except (EgotoolsError, ClientError) as error:
        return _Ended(answer="", outcome=f"{type(error).__name__}: {error}"[:300])


async def _graph(given: _Given) -> _Ended:
    async with open_graph(given.store, given.world.sandbox) as graph:
        return await _controlled(given, graph, REAL_SETTINGS)


async def _notes(given: _Given) -> _Ended:
    return await _controlled(given, MemoryGraph(), replace(REAL_SETTINGS, retrieve="direct"), 0)


async def _chunks(given: _Given) -> _Ended:
    graph = NearestChunks(given.task.question, given.encoder)
    return await _controlled(given, graph, replace(REAL_SETTINGS, retrieve="direct"), CHUNK_CHARS)


async def _controlled(
    given: _Given, graph: PropertyGraph, settings: KgotSettings, chunk_chars: int | None = None
) -> _Ended:
    """Run the planner's controller.

    :param chunk_chars: notes of this length take the place of the model's writes, see :class:`NotesSteps`.
    """
    steps = LlmSteps(given.model, given.model, settings=settings, language=graph.language)
    if chunk_chars is not None:
        steps = NotesSteps(given.model, settings, chunk_chars)
    run = await solve_task(
        KgotTask(question=given.task.question, files=given.task.files),
        graph,
        steps,
        given.world.finder(),
        await given.world.invoker(given.task, given.model),
        given.world.sandbox,
        settings=settings,
        observe=given.observe,
    )
    return _Ended(answer=run.answer, outcome=run.outcome, calls=len(run.calls))


_LIMITS = PlainLimits(
    calls=2 * REAL_SETTINGS.max_iterations,
    max_tokens=REAL_SETTINGS.max_answer_tokens,
    shown_chars=REAL_SETTINGS.max_shown_bytes,
)


async def _tool_calling(given: _Given) -> _Ended:
    invoker = await given.world.invoker(given.task, given.model)
    question = _with_files(given.task)
    answer = await call_tools_plainly(question, given.model, given.world.finder(), invoker, GREEDY, _LIMITS)
    return _Ended(answer=await _formed(given, answer))


async def _zero_shot(given: _Given) -> _Ended:
    answer = await zero_shot(given.task.question, given.model, GREEDY, _LIMITS)
    return _Ended(answer=await _formed(given, answer))


def _with_files(task: AccountTask) -> str:
    names = ", ".join(path.name for path in task.files)
    return f"{task.question}\nFiles of the task: {names}" if names else task.question


async def _formed(given: _Given, answer: str) -> str:
    """Return an answer in its final form: three times asked as the planner does, the most frequent wins."""
    if not answer.strip():
        return ""
    steps = LlmSteps(given.model, given.model, settings=REAL_SETTINGS, language="cypher")
    asked = KgotTask(question=given.task.question, files=given.task.files)
    view = TaskView(task=asked, iteration=1, graph_text="")
    found = [await steps.final(view, answer, nth) for nth in range(REAL_SETTINGS.max_final_solution_parsing)]
    counts = Counter(each.strip() for each in found if each)
    return counts.most_common(1)[0][0] if counts else ""


_SOLVERS = {
    "kgot": _graph,
    "no graph": _notes,
    "nearest chunks": _chunks,
    "tool calling": _tool_calling,
    "zero-shot": _zero_shot,
}
