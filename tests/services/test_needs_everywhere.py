"""The same needs by every interface: the same tools, the same needs of each, the same results of needs, the same plan."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from egotools import AsyncClient, Client
from inference import DEFAULT_ENCODER
from tests.harness.commands import Run
from tests.harness.company import CATALOG
from tests.harness.servers import running_server
from tests.harness.stores import BuiltStore

pytest.importorskip("mcp", reason="the extra mcp is not installed")
pytest.importorskip("starlette", reason="the extra web is not installed")
QUERY = "give Jan Novak a spot award"
NEEDS = ["find an employee by name", "measure the tide at a harbour", "give an award to an employee"]
ASKED: dict[str, Any] = {"query": QUERY, "needs": NEEDS, "k": 8}
PLANNED: dict[str, Any] = {"query": QUERY, "needs": NEEDS}
OPTIONS = [QUERY, *(part for need in NEEDS for part in ("--need", need)), "--json"]


def told(answer: Mapping[str, Any]) -> dict[str, Any]:
    """What an answer says of needs, and its tools or steps."""
    seen: dict[str, Any] = json.loads(
        json.dumps(
            {
                "tools": [(each["id"], each["needs"], each["completes"]) for each in answer.get("tools", ())],
                "steps": [(each["tool_id"], each["kind"]) for each in answer.get("steps", ())],
                "need_results": answer["need_results"],
            }
        )
    )
    return seen


async def over_http(address: str, store: Path) -> dict[str, Any]:
    """The answers of the interfaces with a loop of their own."""
    from tests.services.mcp.conftest import connected
    from tests.services.rest.gateways import gateway
    from tests.services.web.test_page_access import browsing
    from tests.services.web.web_pages import web_page

    async with AsyncClient(address) as client:
        found = {"async": asdict(await client.retrieve(**ASKED)), "async plan": asdict(await client.plan(**PLANNED))}
    async with gateway(address) as rest:
        found["rest"] = (await rest.post("/v1/retrieve", json=ASKED)).json()
        found["rest batch"] = (await rest.post("/v1/retrieve-batch", json={"requests": [ASKED]})).json()["results"][0][
            "response"
        ]
        found["rest plan"] = (await rest.post("/v1/plan", json=PLANNED)).json()
    async with web_page(store) as page, browsing(page) as browser:
        found["page"] = (await browser.post("/api/retrieve", json=ASKED)).json()
    async with connected(address, "legacy") as model:
        for name, tool, asked in (("mcp", "search_tools", ASKED), ("mcp plan", "plan_tools", PLANNED)):
            found[name] = (await model.call_tool(tool, asked)).structured_content
    return found


def test_each_interface_says_the_same(run: Run, store_of: BuiltStore) -> None:
    store = store_of(str(CATALOG), DEFAULT_ENCODER)
    with running_server(store) as server:
        with Client(server.address) as client:
            answer, plan = told(asdict(client.retrieve(**ASKED))), told(asdict(client.plan(**PLANNED)))
        found = asyncio.run(over_http(server.address, store))
        for where in (("--server", server.address), ("--store", store)):
            found[f"cli {where[0]}"] = json.loads(run("search", *OPTIONS, "-k", ASKED["k"], *where)[1])
            found[f"cli {where[0]} plan"] = json.loads(run("plan", *OPTIONS, *where)[1])
    assert [each["unserved"] for each in answer["need_results"]] == [False, True, False]
    assert {need for _, needs, _ in answer["tools"] for need in needs} == {0, 1, 2}
    reply = found.pop("mcp")
    assert [(tool["id"], tool.get("serves_needs", [])) for tool in reply["tools"]] == [
        (tool, needs) for tool, needs, _ in answer["tools"]
    ]
    assert [each.get("may_not_fit", False) for each in reply["needs"]] == [False, True, False]
    assert [step["id"] for step in found.pop("mcp plan")["steps"]] == [step for step, _ in plan["steps"]]
    for name, each in found.items():
        assert told(each) == (plan if name.endswith("plan") else answer), name
