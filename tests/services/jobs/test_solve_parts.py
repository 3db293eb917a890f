"""The parts of a run of ``egotools solve``: attempts of a call, and the votes of rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from egotools import AsyncClient
from ontology.errors import InvalidArgumentError
from planners.calling.consent import never
from planners.calling.tool_access import ToolAccess
from planners.kgot.kgot_settings import KgotSettings
from planners.kgot.kgot_task import KgotTask
from planners.runs.run_journal import open_run_journal
from services.jobs.plans import ChatEndpoint
from services.jobs.solve_parts import SolveTools, open_solve_parts
from services.jobs.solve_plan import SolvePlan
from tests.egotools.loopback import Reply, loopback
from tests.planners.calling.tools import NOTHING, http

TODAY = "2026-11-20"


async def test_a_call_is_sent_once_since_the_run_itself_tries_again(tmp_path: Path) -> None:
    plan = SolvePlan(graph="memory", today=TODAY)
    with loopback(lambda arrived: Reply(status=503)) as server, open_run_journal(tmp_path / "run") as journal:
        async with AsyncClient("127.0.0.1:1") as client:
            tools = SolveTools(client=client, own=None, access=ToolAccess(servers={"": server.url}), ask=never)
            async with open_solve_parts(plan, tools, KgotTask(question="?"), journal) as parts:
                answer = await parts.invoker.invoke(http("orders", NOTHING, "GET"), {})
        assert (answer.ok, answer.status[:3], len(server.arrived)) == (False, "503", 1)


def test_rules_vote_once_and_a_model_as_often_as_the_settings_say() -> None:
    settings = KgotSettings(num_next_steps_decision=5, max_final_solution_parsing=3, tools=4)
    rules = SolvePlan(settings=settings, today=TODAY).settings
    assert (rules.num_next_steps_decision, rules.max_final_solution_parsing, rules.tools) == (1, 1, 4)
    endpoint = ChatEndpoint(base_url="http://127.0.0.1:1", model="m")
    assert SolvePlan(settings=settings, endpoint=endpoint, write="rules").settings == settings


def test_rules_ask_the_graph_by_queries_only() -> None:
    with pytest.raises(InvalidArgumentError, match="compiled queries"):
        SolvePlan(settings=KgotSettings(retrieve="fusion"), today=TODAY)
