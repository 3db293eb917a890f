"""Questions of a graph over HTTP, read by rules: an answer with its table, a question that cannot be read, who may ask."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from services.jobs.ask_parts import AskPlan
from tests.services.web.test_page_access import closed, page, sign_in

QUESTION = "How many tools does each system offer?"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that keeps the tool graph."""
    return tmp_path_factory.mktemp("graphs")


async def asked(client: httpx.AsyncClient, query: str) -> list[dict[str, Any]]:
    """Ask, and return all events."""
    stream = await client.post("/api/questions", json={"query": query}, timeout=30.0)
    assert stream.status_code == 200, stream.text
    return [json.loads(line.removeprefix("data: ")) for line in stream.text.splitlines() if line.startswith("data: ")]


async def test_rules_answer_with_a_table_or_say_what_cannot_be_read(web_store: Path, cache: Path) -> None:
    async with page(web_store, ask=AskPlan(graph="", cache=cache)) as client:
        events = await asked(client, QUESTION)
        names = [each["event"] for each in events]
        assert names[-2:] == ["Ended", "QuestionAnswered"] and "QueryRun" in names
        (table,) = events[-1]["pages"]
        assert {row[-2]: row[-1] for row in table["rows"]}["Sales Hub"] > 10
        assert events[-1]["error"] is None
        error = (await asked(client, "Zork the blorb"))[-1]["error"]
        assert error["code"] == "INVALID_ARGUMENT" and "--query-model" in error["remedy"]
        for body in ({"query": ""}, {"query": "x" * 30_000}, {"query": "x", "talk": "y"}):
            assert (await client.post("/api/questions", json=body)).status_code == 400
    async with page(web_store) as client:
        assert (await client.post("/api/questions", json={"query": QUESTION})).status_code == 501


async def test_only_who_may_see_all_tools_asks(web_store: Path, cache: Path, tmp_path: Path) -> None:
    settings, tokens = closed(tmp_path)
    async with page(web_store, None, settings, ask=AskPlan(graph="", cache=cache)) as client:
        assert (await client.post("/api/questions", json={"query": QUESTION})).status_code == 401
        for name in ("reader", "sales"):
            assert (await sign_in(client, tokens[name]))["questions"] is False
            assert (await client.post("/api/questions", json={"query": QUESTION})).status_code == 403
        assert (await sign_in(client, tokens["admin"]))["questions"] is True
        assert (await asked(client, QUESTION))[-1]["pages"]
