"""A found tool of an MCP server is called in a session at the address that the developer gave, with its token."""

from __future__ import annotations

import json
from pathlib import Path

from egotools import Client
from egotools.integrations import ToolSource
from inference import HashingEncoder
from services.jobs.build import build_snapshot
from services.server.server_process import server_process
from tests.egotools.guarded_mcp import guarded_mcp

BOOK = {
    "name": "book",
    "description": "Book material in the warehouse",
    "inputSchema": {"type": "object", "properties": {"material": {"type": "string"}}, "required": ["material"]},
}


def test_with_its_token(tmp_path: Path) -> None:
    listed, store = tmp_path / "tools.json", tmp_path / "store"
    listed.write_text(json.dumps({"tools": [BOOK]}), encoding="utf-8")
    build_snapshot([f"warehouse={listed}"], store, encoder=HashingEncoder())
    with (
        server_process(store) as server,
        guarded_mcp(tmp_path, "t0ken-of-mcp") as address,
        Client(server["address"]) as client,
    ):
        source = ToolSource(
            client,
            servers={"warehouse": address},
            credentials={"warehouse": {"Authorization": "Bearer t0ken-of-mcp"}},
            confirm=lambda tool, arguments: True,
        )
        source.search("book material in the warehouse")
        assert "M1 booked" in source.call("warehouse__book", {"material": "M1"})
