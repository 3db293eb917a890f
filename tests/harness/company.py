"""A mock company that listens on loopback, and calls of its tools by the contract that agents use."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import httpx

from egotools.calling.http_invoker import send_http
from egotools.calling.tool_request import AwsCall, McpCall, PythonCall, build_request
from examples.company.mock_company import served_company
from ingest.sources.catalog import read_catalog
from ontology.tool import Tool
from tests.conftest import ROOT

CATALOG = ROOT / "examples" / "enterprise" / "catalog"
_SYSTEMS = ("facilities", "finance", "hr", "procurement", "sales", "travel", "warehouse")


@cache
def tools() -> Mapping[str, Tool]:
    """The tools of the OpenAPI documents, by id, as ``egotools build`` reads them."""
    return {tool.id: tool for tool in read_catalog([str(CATALOG)]).tools if tool.id.split("/")[0] in _SYSTEMS}


@dataclass(frozen=True)
class RunningCompany:
    """The address of a company, and a client that keeps its connections."""

    url: str
    client: httpx.Client

    def request(self, tool_id: str, arguments: Mapping[str, Any]) -> httpx.Request:
        """The request that the document of a tool asks for."""
        tool = tools()[tool_id]
        assert tool.call is not None
        server = f"{self.url}/{tool_id.split('/')[0]}"
        request = build_request(tool.call, arguments, schema=tool.input_schema, server=server)
        assert not isinstance(request, McpCall | AwsCall | PythonCall)
        return request

    def call(self, tool_id: str, arguments: Mapping[str, Any]) -> tuple[int, Any]:
        """Call a tool; returns status and JSON."""
        answer = self.client.send(self.request(tool_id, arguments))
        return answer.status_code, answer.json() if answer.content else None

    def call_by_contract(self, tool_id: str, arguments: Mapping[str, Any]) -> tuple[int, Any]:
        """As :meth:`call`, sent as egotools sends calls of tools."""
        answer = asyncio.run(send_http(self.request(tool_id, arguments)))
        return int(answer.status.split()[0]), json.loads(answer.body) if answer.body else None

    def ask(self, tool_id: str, **arguments: Any) -> Any:
        """The JSON of a call that must succeed."""
        status, body = self.call(tool_id, arguments)
        assert 200 <= status < 300, (tool_id, arguments, status, body)
        return body


@contextmanager
def running(folder: Path) -> Iterator[RunningCompany]:
    """Serve the records of a folder while the block runs."""
    with served_company(CATALOG, folder) as systems, httpx.Client(timeout=60) as client:
        yield RunningCompany(systems["hr"].removesuffix("/hr"), client)
