"""A found tool of an MCP server is called in a session at the address that the developer gave, with its token."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from egotools import Client, PermissionDeniedError
from egotools.integrations import ToolSource
from inference import HashingEncoder
from services.jobs.build import build_snapshot
from tests.egotools.guarded_mcp import guarded_mcp
from tests.harness.servers import running_server

BOOK = {
    "name": "book",
    "description": "Book material in the warehouse",
    "inputSchema": {"type": "object", "properties": {"material": {"type": "string"}}, "required": ["material"]},
}


def test_a_tool_that_only_read_when_the_catalogue_was_built_and_whose_inputs_were_others(tmp_path: Path) -> None:
    """Its server says neither any more."""
    then = {"type": "object", "properties": {"plant": {"type": "string"}}, "required": ["plant"]}
    listed, store = tmp_path / "tools.json", tmp_path / "store"
    row = {**BOOK, "inputSchema": then, "annotations": {"readOnlyHint": True}}
    listed.write_text(json.dumps({"tools": [row]}), encoding="utf-8")
    build_snapshot([f"warehouse={listed}"], store, encoder=HashingEncoder())
    asked = []

    def confirm(tool: Any, arguments: Mapping[str, Any]) -> bool:
        asked.append((tool.effect, dict(arguments)))
        return bool(arguments["material"] == "M1")

    with (
        running_server(store) as server,
        guarded_mcp(tmp_path, "t0ken-of-mcp") as address,
        Client(server.address) as client,
    ):
        source = ToolSource(
            client,
            servers={"warehouse": address},
            credentials={"warehouse": {"Authorization": "Bearer t0ken-of-mcp"}},
            confirm=confirm,
        )
        source.search("book material in the warehouse")
        assert not source.asks("warehouse__book")
        told = source.call("warehouse__book", {"material": "M1"})
        assert "M1 booked" in told
        assert "not those of the catalogue" in told.partition("--- begin")[0]
        assert list(source.have) == ["result"]
        with pytest.raises(PermissionDeniedError) as caught:
            source.call("warehouse__book", {"material": "M2"})
        assert caught.value.reason == "NOT_CONFIRMED"
        source.confirm = None
        with pytest.raises(PermissionDeniedError):
            source.call("warehouse__book", {"material": "M1"})
    assert asked == [("change", {"material": "M1"}), ("change", {"material": "M2"})]
