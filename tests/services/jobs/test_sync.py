"""Sync: the published snapshot has the tools that its sources have now, and keeps those of a source that cannot be read."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ontology.errors import CatalogError, EgotoolsError, SourcesFileError
from retrieval.snapshot.publish import published_id
from retrieval.snapshot.reader import open_snapshot
from services.jobs.build import build
from services.jobs.plans import BuildPlan
from services.jobs.source_sync import SyncReport, sync_sources, watch
from tests.harness.commands import Run
from tests.harness.waiting import wait_until


def _write(path: Path, *names: str) -> None:
    functions = [
        {"name": name, "description": "Does it.", "parameters": {"type": "object", "properties": {}}} for name in names
    ]
    path.write_text(json.dumps(functions), encoding="utf-8")


def _sources(folder: Path, *names: str, refresh: str = "") -> str:
    path = folder / "sources.yaml"
    more = f", refresh: {refresh}" if refresh else ""
    lines = ["sources:", *(f"  - {{name: {name}, location: {name}.json{more}}}" for name in names)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


@pytest.fixture
def plan(tmp_path: Path) -> BuildPlan:
    """A plan for the sources ``hr`` and ``crm``, which are published."""
    _write(tmp_path / "hr.json", "hire", "fire")
    _write(tmp_path / "crm.json", "call")
    addresses = (_sources(tmp_path, "hr", "crm"),)
    plan = BuildPlan(addresses=addresses, store=tmp_path / "store", encoder="hashing.v1", workers=1)
    build(plan, lambda *_: None)
    return plan


def _tools(store: Path) -> list[str]:
    snapshot = open_snapshot(store)
    return [snapshot.tool_id(number) for number in range(snapshot.tool_count)]


def _delete_source(folder: Path) -> None:
    _sources(folder, "hr")


def _add_tool(folder: Path) -> None:
    _write(folder / "hr.json", "hire", "fire", "pay")


def _leave(folder: Path) -> None:
    _write(folder / "hr.json", "hire")


def _as(name: str, text: str | None) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        if text is None:
            (folder / f"{name}.json").unlink()
        else:
            (folder / f"{name}.json").write_text(text, encoding="utf-8")

    return change


HR, CRM = ["hr/fire", "hr/hire"], ["crm/call"]


@pytest.mark.parametrize(
    ("change", "tools", "kept"),
    [
        (lambda folder: None, CRM + HR, []),
        (_add_tool, [*CRM, *HR, "hr/pay"], []),
        (_leave, [*CRM, "hr/hire"], []),  # since the build: no sync has seen it
        (_delete_source, HR, []),
        (_as("crm", "[]"), HR, []),
        (_as("crm", '{"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}'), HR, []),
        (_as("crm", ""), CRM + HR, ["crm"]),
        (_as("crm", "{]"), CRM + HR, ["crm"]),
        (_as("crm", None), CRM + HR, ["crm"]),
        (
            _as("hr", '[{"name": "pay", "parameters": {"type": "object"}}, {"parameters": {"type": "object"}}]'),
            None,
            ["hr"],
        ),
    ],
)
def test_the_catalogue_is_that_of_the_sources(
    plan: BuildPlan, tmp_path: Path, change: Callable[[Path], None], tools: list[str] | None, kept: list[str]
) -> None:
    before = published_id(plan.store)
    change(tmp_path)
    found = sync_sources(plan)
    assert _tools(plan.store) == (tools or [*CRM, *HR, "hr/pay"])
    assert [each.name for each in found.kept] == kept
    assert (found.previous_id, found.snapshot_id) == (before, published_id(plan.store))
    assert len(found.added) - len(found.removed) == found.tools - 3 and not found.changed
    if not kept:
        assert build(plan, lambda *_: None).snapshot_id == found.snapshot_id, "a build of the same sources"


def test_no_source_that_cannot_be_read_empties_the_catalogue(plan: BuildPlan, tmp_path: Path) -> None:
    _as("hr", "{]")(tmp_path)
    for _ in range(2):  # the second one knows that nothing has changed
        _as("crm", None)(tmp_path) if (tmp_path / "crm.json").exists() else None
        assert sorted(each.name for each in sync_sources(plan).kept) == ["crm", "hr"]
        assert _tools(plan.store) == CRM + HR


def test_strict_publishes_nothing(plan: BuildPlan, tmp_path: Path) -> None:
    _as("crm", "{]")(tmp_path)
    _leave(tmp_path)
    strict = BuildPlan(addresses=plan.addresses, store=plan.store, strict=True)
    with pytest.raises(CatalogError, match="1 rejected"):
        sync_sources(strict)
    assert _tools(plan.store) == CRM + HR


def test_the_command_and_what_is_gone(plan: BuildPlan, tmp_path: Path, run: Run) -> None:
    _leave(tmp_path)
    code, out, _ = run("sync", *plan.addresses, "--store", plan.store)
    assert code == 0 and "2 tools, 0 added, 0 changed, 1 removed" in out and "- hr/fire" in out
    _as("crm", "{]")(tmp_path)
    code, out, _ = run("sync", *plan.addresses, "--store", plan.store, "--json")
    assert (code, [each["name"] for each in json.loads(out)["kept"]]) == (4, ["crm"])
    for option in ("--server", "--state", "--tenant", "--token-file", "--ca-file"):
        code, _, err = run("sync", *plan.addresses, "--store", plan.store, option, "x")
        assert code == 2 and "admin publish" in err


class _Watched:
    """A watch on a thread."""

    def __init__(self, plan: BuildPlan) -> None:
        self.stopped = threading.Event()
        self.done: list[SyncReport | EgotoolsError] = []
        self._thread = threading.Thread(target=self._run, args=(plan,))
        self._thread.start()

    def _run(self, plan: BuildPlan) -> None:
        for one in watch(plan.addresses, lambda: sync_sources(plan), self.stopped, look_every_s=0.02):
            self.done.append(one)

    def close(self) -> None:
        self.stopped.set()
        self._thread.join()


def test_a_changed_file_and_a_changed_sources_file_are_synced(plan: BuildPlan, tmp_path: Path) -> None:
    watched = _Watched(plan)
    try:
        wait_until(lambda: len(watched.done) == 1)
        _add_tool(tmp_path)
        wait_until(lambda: "hr/pay" in _tools(plan.store))
        (tmp_path / "sources.yaml").write_text("sources: 3\n", encoding="utf-8")
        wait_until(lambda: isinstance(watched.done[-1], SourcesFileError))
        _delete_source(tmp_path)
        wait_until(lambda: "crm/call" not in _tools(plan.store))
    finally:
        watched.close()


_SERVER = """
import sys
from pathlib import Path

import anyio
from mcp.server.mcpserver import MCPServer
from mcp.server.subscriptions import InMemorySubscriptionBus, ToolsListChanged

bus, flag, listening = InMemorySubscriptionBus(), Path(sys.argv[1]), Path(sys.argv[2])
server = MCPServer("depot", subscriptions=bus)


@server.tool()
def book(material: str) -> str:
    return material


if flag.exists():
    server.tool(name="unbook")(book)


async def tell():
    while not bus._listeners:
        await anyio.sleep(0.01)
    listening.touch()
    while not flag.exists():
        await anyio.sleep(0.01)
    await bus.publish(ToolsListChanged())


async def main():
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tell)
        await server.run_stdio_async()
        tasks.cancel_scope.cancel()


anyio.run(main)
"""


@pytest.mark.slow
def test_a_server_that_says_that_its_tools_changed_is_read_again(tmp_path: Path) -> None:
    pytest.importorskip("mcp.server.mcpserver", reason="the extra mcp is not installed")
    (tmp_path / "server.py").write_text(_SERVER, encoding="utf-8")
    flag, listening = tmp_path / "flag", tmp_path / "listening"
    words = json.dumps([sys.executable, str(tmp_path / "server.py"), str(flag), str(listening)])
    lines = f"sources:\n  - name: depot\n    location: {{mcp: {words}}}\n"
    (tmp_path / "sources.yaml").write_text(lines, encoding="utf-8")
    addresses = (str(tmp_path / "sources.yaml"),)
    watched = _Watched(BuildPlan(addresses=addresses, store=tmp_path / "store", encoder="hashing.v1", workers=1))
    try:
        wait_until(lambda: bool(watched.done) and listening.exists())
        flag.touch()
        wait_until(lambda: "depot/unbook" in _tools(tmp_path / "store"))
    finally:
        watched.close()
