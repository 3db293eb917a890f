"""The oracle over the real controller, stores and tools: it solves tasks, and what is lost on the way costs them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from planners.calling.sandbox import Sandbox
from planners.finding.tool_finder import FoundTool, FoundTools
from planners.graphs.open_graph import open_graph
from planners.graphs.property_graph import GraphState, Statement
from planners.kgot.kgot_controller import KgotRun, solve_task
from planners.kgot.kgot_events import Decided, KgotEvent
from planners.kgot.kgot_settings import KgotSettings, RetrieveKind
from planners.kgot.kgot_task import KgotTask
from planners.kgot.llm.graph_json import read_operations
from planners.kgot.llm.llm_makers import llm_makers
from planners.kgot.step_makers import Retrieve
from planners.kgot.tools.standard_tools import ToolModels, standard_tools
from planners.kgot.tools.task_files import TaskFiles
from planners.kgot.tools.tool_set import ToolSet
from planners.runs.step_log import unheard
from scripts.kgot.account_tasks import AccountTask, account_tasks
from scripts.kgot.answer_verdict import verdict_of
from scripts.kgot.injected_faults import FaultyModel
from scripts.kgot.oracle_model import OracleModel
from scripts.kgot.oracle_writes import Fact, written

pytestmark = pytest.mark.usefixtures("needs_sandbox")

_TASKS = {task.id: task for task in account_tasks(Path("none"))}
_STORES = ("memory", "ladybug", "rdf")
_FACTS = (
    Fact(
        "inspect_file", "Row", {"name": "a 'quoted' \\ \"name\"", "price": 2.5, "pieces": 3, "open": True, "place": 0}
    ),
    Fact("inspect_file", "Row", {"name": "two\nlines", "price": 4, "place": 1}),
    Fact("run_python", "Answer", {"value": "409.5"}),
)


class _AllTools:
    """Finds every integrated tool, whatever is missing."""

    def __init__(self, tools: ToolSet) -> None:
        self._tools = tools.tools()

    async def find(self, request: str) -> FoundTools:
        found = (FoundTool(rank=at, score=1.0, explanation="", tool=each) for at, each in enumerate(self._tools, 1))
        return FoundTools(request=request, tools=tuple(found), snapshot_id="all")


async def _solved(
    task: AccountTask,
    store: str,
    settings: KgotSettings,
    folder: Path,
    *,
    rate: float = 0.0,
    observe: Callable[[KgotEvent], None] = unheard,
) -> KgotRun:
    oracle = OracleModel([task])
    model = FaultyModel(oracle, rate=rate, seed=3)
    sandbox = Sandbox()
    tools = standard_tools(TaskFiles(task.files, folder), sandbox, models=ToolModels(chat=oracle))
    async with open_graph(store, sandbox) as graph:
        makers = llm_makers(model, model, settings=settings, language=graph.language)
        asked = KgotTask(question=task.question, files=task.files)
        found, invoker = _AllTools(tools), tools.invoker()
        return await solve_task(asked, graph, makers, found, invoker, sandbox, settings=settings, observe=observe)


@pytest.mark.parametrize("retrieve", ["query", "script", "direct", "fusion"])
@pytest.mark.parametrize("store", _STORES)
def test_the_oracle_solves_a_task_in_every_store(store: str, retrieve: RetrieveKind, tmp_path: Path) -> None:
    run = asyncio.run(_solved(_TASKS["task-11"], store, KgotSettings(retrieve=retrieve), tmp_path))
    assert (run.answer, run.outcome) == ("9", "solved")
    assert "9" in [node.properties.get("value") for node in run.state.nodes]


@pytest.mark.parametrize("id_", ["task-14", "task-19", "task-20", "task-22"])
def test_the_oracle_solves_json_archives_and_arithmetic(id_: str, tmp_path: Path) -> None:
    run = asyncio.run(_solved(_TASKS[id_], "memory", KgotSettings(retrieve="direct"), tmp_path))
    assert verdict_of(run.answer, _TASKS[id_].answer) == "solved"


@pytest.mark.parametrize(
    ("id_", "votes", "decisions"),
    [
        ("task-16", 5, [("RRRIR", "solve")]),
        ("task-14", 5, [("RIRII", "enhance"), ("RRRRR", "solve")]),
        ("task-14", 4, [("RIRI", "enhance"), ("RRRR", "solve")]),
    ],
    ids=["a majority retrieves", "a majority inserts", "a tie"],
)
def test_votes_that_differ_are_counted_and_the_task_is_solved(
    id_: str, votes: int, decisions: list[tuple[str, str]], tmp_path: Path
) -> None:
    told: list[KgotEvent] = []
    settings = KgotSettings(num_next_steps_decision=votes)
    run = asyncio.run(_solved(_TASKS[id_], "memory", settings, tmp_path, observe=told.append))
    decided = [each for each in told if isinstance(each, Decided)]
    counted = [
        ("".join("R" if isinstance(vote, Retrieve) else "I" for vote in each.votes), each.decision) for each in decided
    ]
    assert counted == [("I" * votes, "enhance")] * 2 + decisions
    assert verdict_of(run.answer, _TASKS[id_].answer) == "solved" == run.outcome


def test_the_oracle_has_no_answer_of_its_own(tmp_path: Path) -> None:
    """With another file of the same name it computes the answer of that file."""
    other = tmp_path / "sales.csv"
    other.write_text(
        "sale,region,product,quantity,amount\nS-1,North,pump,1,2.5\nS-2,South,pump,1,2.5\n", encoding="utf-8"
    )
    task = replace(_TASKS["task-11"], files=(other,))
    assert asyncio.run(_solved(task, "memory", KgotSettings(retrieve="direct"), tmp_path)).answer == "1"


def test_containment_holds_what_the_model_does_wrong(tmp_path: Path) -> None:
    task, full = _TASKS["task-11"], KgotSettings()
    bare = replace(
        full,
        repair_json=False,
        max_json_reasks=0,
        max_cypher_fixing_retry=0,
        max_retrieve_query_retry=0,
        num_next_steps_decision=1,
        max_final_solution_parsing=1,
    )
    contained = asyncio.run(_solved(task, "ladybug", full, tmp_path, rate=0.2))
    uncontained = asyncio.run(_solved(task, "ladybug", bare, tmp_path, rate=0.9))
    assert contained.answer == "9"
    assert uncontained.answer != "9"


@pytest.mark.parametrize("store", _STORES)
def test_facts_in_every_language_are_one_state(store: str) -> None:
    async def state(address: str) -> GraphState:
        async with open_graph(address) as graph:
            form = {"cypher": "cypher", "sparql": "sparql"}.get(graph.language, "operations")
            given = written(_FACTS, form)  # type: ignore[arg-type]
            writes: Sequence[object] = (
                read_operations(given)
                if form == "operations"
                else [Statement(text=text) for text in given["statements"]]
            )
            await graph.apply(writes)  # type: ignore[arg-type]
            return await graph.state()

    assert asyncio.run(state(store)) == asyncio.run(state("memory"))
