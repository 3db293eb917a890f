"""Sync: what changed in a source, and only that, goes to the catalogue."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from egotools import PreconditionError
from egotools.admin import AdminClient
from ontology import CatalogError, InvalidArgumentError, NotReadyError, StorageError
from ontology.errors import OtherWriterError
from scripts.reliability.changing import Changing, built, row
from services.jobs.change_sinks import server_errors
from services.jobs.source_sync import Sync
from services.jobs.sync_watch import watch
from tests.waiting import wait_until


class _Sink:
    """A catalogue in memory, which counts what it is sent."""

    def __init__(self, target: str = "here", tenant: str = "", base: str = "1") -> None:
        self.target, self.tenant, self.at, self.bad = target, tenant, base, ""
        self.tools: dict[str, Mapping[str, Any]] = {}
        self.calls: list[str] = []
        self.refuses = False

    def base(self) -> str:
        return self.at

    def upsert(self, tools: Sequence[Mapping[str, Any]]) -> None:
        if self.bad in {tool["id"] for tool in tools}:
            raise CatalogError("it has findings", subject="tools")
        if self.refuses:
            raise StorageError("the disk is full")
        self.calls += [f"+{tool['id']}" for tool in tools]
        self.tools |= {tool["id"]: tool for tool in tools}

    def delete(self, ids: Sequence[str]) -> None:
        self.calls += [f"-{id_}" for id_ in ids]
        for id_ in ids:
            self.tools.pop(id_, None)


def _write(path: Path, *names: str, text: str = "Does it.") -> None:
    functions = [
        {"name": name, "description": text, "parameters": {"type": "object", "properties": {}}} for name in names
    ]
    path.write_text(json.dumps(functions), encoding="utf-8")


def _sources(folder: Path, refresh: str = "") -> Path:
    path = folder / "sources.yaml"
    lines = ["sources:", "  - name: hr", "    location: hr.json", "  - name: crm", "    location: crm.json"]
    path.write_text("\n".join([*lines, *([f"    refresh: {refresh}"] if refresh else [])]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    _write(tmp_path / "hr.json", "hire", "fire")
    _write(tmp_path / "crm.json", "call")
    _sources(tmp_path)
    return tmp_path


def _sync(folder: Path, sink: _Sink) -> list[tuple[str, int, int, bool]]:
    runs = Sync([str(folder / "sources.yaml")], sink, folder / "sync.json")
    names = [entry.name for entry in runs.sources()]
    return [(one.name, one.upserted, one.deleted, bool(one.problem)) for one in runs.run(names)]


def test_only_what_differs_is_sent_and_what_is_gone_is_removed(folder: Path) -> None:
    sink = _Sink()
    assert _sync(folder, sink) == [("crm", 1, 0, False), ("hr", 2, 0, False)]
    assert sorted(sink.tools) == ["crm/call", "hr/fire", "hr/hire"]
    sink.calls.clear()
    assert _sync(folder, sink) == [("crm", 0, 0, False), ("hr", 0, 0, False)]
    _write(folder / "hr.json", "hire", "promote")
    assert _sync(folder, sink) == [("crm", 0, 0, False), ("hr", 1, 1, False)]
    assert sink.calls == ["+hr/promote", "-hr/fire"]


@pytest.mark.parametrize("text", ["", "{]", '[{"description": "no name", "parameters": {"type": "object"}}]'])
def test_a_source_that_cannot_be_read_keeps_its_tools(folder: Path, text: str) -> None:
    sink = _Sink()
    _sync(folder, sink)
    (folder / "hr.json").write_text(text, encoding="utf-8")
    assert _sync(folder, sink) == [("crm", 0, 0, False), ("hr", 0, 0, True)]
    assert sorted(sink.tools) == ["crm/call", "hr/fire", "hr/hire"]


def test_what_was_refused_is_sent_again(folder: Path) -> None:
    sink = _Sink()
    sink.refuses = True
    with pytest.raises(StorageError):
        _sync(folder, sink)
    sink.refuses = False
    assert [counts[1] for counts in _sync(folder, sink)] == [1, 2]


def test_another_catalogue_gets_everything_and_so_does_another_snapshot(folder: Path) -> None:
    first = _Sink()
    _sync(folder, first)
    for other in (_Sink("there"), _Sink(tenant="acme")):
        assert [counts[1] for counts in _sync(folder, other)] == [1, 2]
    _write(folder / "hr.json", "hire")
    _sync(folder, first)
    first.at, first.tools["hr/fire"] = "0", {}  # a rollback
    assert _sync(folder, first) == [("crm", 1, 0, False), ("hr", 1, 1, False)]
    assert sorted(first.tools) == ["crm/call", "hr/hire"]
    assert [counts[1] for counts in _sync(folder, first)] == [0, 0]


def test_a_tool_that_is_refused_holds_up_no_other(folder: Path) -> None:
    _write(folder / "hr.json", "hire", "fire", "move", "pay")
    sink = _Sink()
    sink.bad = "hr/move"
    runs = Sync([str(folder / "sources.yaml")], sink, folder / "sync.json")
    crm, hr = runs.run(["crm", "hr"])
    assert (crm.exit_code, hr.exit_code, hr.upserted) == (0, CatalogError.exit_code, 3)
    assert hr.refused == (("hr/move", "it has findings"),)
    assert sorted(sink.tools) == ["crm/call", "hr/fire", "hr/hire", "hr/pay"]
    sink.bad = ""
    assert [counts[1] for counts in _sync(folder, sink)] == [0, 1]


def test_a_catalogue_that_another_process_changes_is_no_fault_of_a_tool(folder: Path) -> None:
    class Follows(_Sink):
        def upsert(self, tools: Sequence[Mapping[str, Any]]) -> None:
            self.calls.append("+")
            with server_errors("here"):
                raise PreconditionError("It follows.", code="FAILED_PRECONDITION", reason="OTHER_WRITER")

    sink = Follows()
    with pytest.raises(OtherWriterError, match="here: It follows"):
        _sync(folder, sink)
    assert sink.calls == ["+"]


def test_an_address_without_a_name_is_refused(folder: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="sources with names"):
        Sync([str(folder / "hr.json")], _Sink(), folder / "sync.json").sources()


def test_another_file_is_not_taken_for_the_state(folder: Path) -> None:
    with pytest.raises(StorageError, match="no state of a sync"):
        Sync([], _Sink(), folder / "hr.json")


class _Watched:
    """A watch on a thread."""

    def __init__(self, folder: Path, sink: _Sink) -> None:
        self.stopped = threading.Event()
        self.done: list[str] = []
        runs = Sync([str(folder / "sources.yaml")], sink, folder / "sync.json")
        self._thread = threading.Thread(target=self._run, args=(runs,))
        self._thread.start()

    def _run(self, runs: Sync) -> None:
        for one in watch(runs, self.stopped, look_every_s=0.02):
            self.done.append(one.name)

    def close(self) -> None:
        self.stopped.set()
        self._thread.join()


def test_a_changed_file_is_synced_and_another_one_is_not_read_again(folder: Path) -> None:
    sink = _Sink()
    watched = _Watched(folder, sink)
    try:
        wait_until(lambda: len(sink.tools) == 3)
        _write(folder / "hr.json", "hire", "fire", "promote")
        wait_until(lambda: "hr/promote" in sink.tools)
    finally:
        watched.close()
    assert watched.done.count("crm") == 1


def test_a_source_is_read_again_after_its_interval(folder: Path) -> None:
    _sources(folder, refresh="1s")
    watched = _Watched(folder, _Sink())
    try:
        wait_until(lambda: watched.done.count("crm") > 1)
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
    sink = _Sink()
    watched = _Watched(tmp_path, sink)
    try:
        wait_until(lambda: "depot/book" in sink.tools and listening.exists())
        flag.touch()
        wait_until(lambda: "depot/unbook" in sink.tools)
    finally:
        watched.close()


@pytest.mark.slow
def test_synced_tools_are_those_of_a_build(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    built(store, [row(0), row(1)])
    changing = Changing(store)

    class Store(_Sink):
        def upsert(self, tools: Sequence[Mapping[str, Any]]) -> None:
            changing.upsert(*tools)

        def delete(self, ids: Sequence[str]) -> None:
            changing.delete(*ids)

    _sync(folder, Store())
    assert {"hr/hire", "hr/fire", "crm/call"} <= {*changing.tools()}
    tool = changing.engine.tool("hr/hire")
    assert (tool.namespace, tool.metadata["source"]) == ("hr", "hr")
    _write(folder / "hr.json", "hire")
    _sync(folder, Store())
    assert "hr/fire" not in changing.tools()


def test_a_server_that_does_not_answer_is_said_within_seconds() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # as a server with TLS is for a client without
        target = f"127.0.0.1:{silent.getsockname()[1]}"
        with (
            pytest.raises(NotReadyError, match="--ca-file"),
            server_errors(target),
            AdminClient(target) as client,
        ):
            client.connect(timeout_s=0.2)
