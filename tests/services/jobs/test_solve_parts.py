"""The parts of a run of ``egotools solve``: attempts of a call, files, tools."""

from pathlib import Path

from planners.calls.tool_access import ToolAccess, never
from planners.journal.run_journal import open_run_journal
from planners.kgot.kgot_task import KgotTask
from services.jobs.plans import ChatEndpoint
from services.jobs.solve_parts import SolvePlan, SolveTools, open_solve_parts
from tests.harness.http_server import Loopback, Reply
from tests.planners.calls.tools import NOTHING, http

MODEL = ChatEndpoint(base_url="http://127.0.0.1:1/v1", model="m")


async def test_a_call_is_sent_once_since_the_run_itself_tries_again(tmp_path: Path) -> None:
    plan = SolvePlan(graph="memory", endpoint=MODEL)
    with Loopback(lambda arrived: Reply(status=503)) as server, open_run_journal(tmp_path / "run") as journal:
        tools = SolveTools(client=None, access=ToolAccess(servers={"": server.url}), ask=never)
        async with open_solve_parts(plan, tools, KgotTask(question="?"), journal) as parts:
            answer = await parts.invoker.invoke(http("orders", NOTHING, "GET"), {})
        assert (answer.ok, answer.status[:3], len(server.arrived)) == (False, "503", 1)
