"""The parts of a run of ``egotools solve``: attempts of a call, files, tools."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from egotools import AsyncClient, Tool
from planners.calls.sandbox import Sandbox
from planners.calls.tool_access import ToolAccess, never
from planners.calls.tool_finder import JoinedFinder
from planners.journal.run_journal import open_run_journal
from planners.kgot.kgot_task import KgotTask
from planners.kgot.tools.task_files import TaskFiles
from planners.kgot.tools.tool_set import standard_tools
from services.jobs.plans import ChatEndpoint
from services.jobs.solve_parts import SolvePlan, SolveTools, open_solve_parts
from tests.harness.http_server import Loopback, Reply
from tests.planners.calls.tools import NOTHING, http
from tests.planners.kgot.run_fakes import FakeFinder, tool
from tests.planners.kgot.tools.task_documents import zipped

MODEL = ChatEndpoint(base_url="http://127.0.0.1:1/v1", model="m")
BEGUN = {
    **{"run": "solve", "question": "?", "language": "python", "files": [], "fence_key": "ab"},
    **{name: {} for name in ("settings", "models", "about", "prices")},
}


async def test_a_call_is_sent_once_since_the_run_itself_tries_again(tmp_path: Path) -> None:
    plan = SolvePlan(graph="memory", endpoint=MODEL)
    with Loopback(lambda arrived: Reply(status=503)) as server, open_run_journal(tmp_path / "run") as journal:
        async with AsyncClient("127.0.0.1:1") as client:
            tools = SolveTools(client=client, own=None, access=ToolAccess(servers={"": server.url}), ask=never)
            async with open_solve_parts(plan, tools, KgotTask(question="?"), journal) as parts:
                answer = await parts.invoker.invoke(http("orders", NOTHING, "GET"), {})
        assert (answer.ok, answer.status[:3], len(server.arrived)) == (False, "503", 1)


async def test_files_of_one_name_of_two_archives_keep_their_names_when_a_run_goes_on(tmp_path: Path) -> None:
    """Both are unpacked at once. That of the second is begun first, ends last."""
    task = KgotTask(question="?", files=(tmp_path / "a.zip", tmp_path / "b.zip"))
    zipped(tmp_path / "a.zip", {"x.csv": b"of a"})
    zipped(tmp_path / "b.zip", {"x.csv": b"of b"})
    plan = SolvePlan(graph="memory", endpoint=MODEL)
    async with AsyncClient("127.0.0.1:1") as client:
        tools = SolveTools(client=client, own=None, access=ToolAccess(), ask=never)
        with open_run_journal(tmp_path / "run") as journal:
            journal.append("run_begun", **BEGUN)
            bodies: dict[str, dict[str, Any]] = {}
            for n, name in enumerate("ba"):
                arguments = {"file": f"{name}.zip"}
                journal.append("call_begun", key=name, nth=0, tool="kgot/extract_zip", reads=True, arguments=arguments)
                given = "x.csv" if n == 0 else "x-2.csv"
                files = [{"name": given, "path": "x.csv", "bytes": 4}]
                bodies[name] = {"file": f"{name}.zip", "files": files}
            for name in "ab":
                journal.append(
                    "call_ended", key=name, nth=0, tool="kgot/extract_zip", ok=True, gave={"body": bodies[name]}
                )
            async with open_solve_parts(plan, tools, task, journal) as parts:
                own = {each.id: each for each in standard_tools(TaskFiles(()), Sandbox()).tools()}
                read = own["kgot/inspect_file"]
                texts = {}
                for name in ("x.csv", "x-2.csv"):
                    answer = await parts.invoker.invoke(read, {"file": name})
                    texts[name] = answer.body["text"]
                again = await parts.invoker.invoke(own["kgot/extract_zip"], {"file": "a.zip"})
    assert texts == {"x.csv": "of b", "x-2.csv": "of a"}
    assert [each["name"] for each in again.body["files"]] == ["x-2.csv"]


async def test_a_catalogue_with_an_id_of_ours_hides_no_integrated_tool() -> None:
    theirs = FakeFinder(foreign("run_python"), tool("list_books"))
    ours = FakeFinder(foreign("inspect_file"))
    joined = JoinedFinder(theirs, ours, most=8, reserved=["kgot/run_python", "kgot/inspect_file"])
    found = await joined.find("read a file")
    assert [each.tool.id for each in found.tools] == ["kgot/inspect_file", "library/list_books"] or [
        each.tool.id for each in found.tools
    ] == ["library/list_books", "kgot/inspect_file"]


def foreign(name: str) -> Tool:
    return replace(tool(name), id=f"kgot/{name}")
