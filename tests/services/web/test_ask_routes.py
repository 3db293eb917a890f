"""Questions of a graph over HTTP, read by rules: an answer, a question that cannot be read, who may ask, and what is refused."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from inference.chat import ChatModel, ScriptedChat
from ontology.errors import NotFoundError
from services.jobs.ask_parts import AskPlan
from services.server.settings import ServerSettings
from services.web.page_talks import PageTalks
from tests.services.web.test_page_access import browsing, closed, sign_in
from tests.services.web.web_pages import web_page

QUESTION = "How many tools does each system offer?"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that keeps the tool graph."""
    return tmp_path_factory.mktemp("graphs")


@asynccontextmanager
async def page(
    store: Path, cache: Path, settings: ServerSettings | None = None, chat: ChatModel | None = None, **options: Any
) -> AsyncIterator[httpx.AsyncClient]:
    plan = AskPlan(graph="", cache=cache, chat=chat)
    async with web_page(store, settings=settings, ask=plan) as address, browsing(address, **options) as client:
        yield client


async def asked(client: httpx.AsyncClient, **body: Any) -> tuple[str, list[dict[str, Any]]]:
    """Ask, and return the conversation and all events."""
    begun = await client.post("/api/talks", json=body)
    assert begun.status_code == 201, begun.text
    stream = await client.get(f"/api/runs/{begun.json()['run']}/events", timeout=30.0)
    lines = [line.removeprefix("data: ") for line in stream.text.splitlines() if line.startswith("data: ")]
    return begun.json()["talk"], [json.loads(line) for line in lines]


async def test_rules_answer_and_the_result_is_paged(web_store: Path, cache: Path) -> None:
    async with page(web_store, cache) as client:
        talk, events = await asked(client, query=QUESTION)
        names = [each["event"] for each in events]
        assert names[0] == "TurnBegun" and names[-2:] == ["Ended", "TurnEnded"] and "QueryRun" in names
        last = events[-1]
        (table,) = last["pages"]
        rows = {row[-2]: row[-1] for row in table["rows"]}
        assert last["error"] is None and rows["Sales Hub"] > 10
        where = f"/api/talks/{talk}/1/results/{table['handle']}"
        second = (await client.get(where, params={"offset": 1, "count": 1})).json()
        assert second["rows"] == table["rows"][1:2] and second["total"] == table["total"]
        assert (await client.get(f"/api/talks/{talk}/1/results/t99")).status_code == 404
        assert (await client.get(f"/api/talks/{talk}/7/results/t1")).status_code == 404

        _, events = await asked(client, query="Zork the blorb", talk=talk)
        error = events[-1]["error"]
        assert (
            error["code"] == "INVALID_ARGUMENT"
            and "--query-model" in error["remedy"]
            and "--llm" not in error["remedy"]
        )
        assert events[-1]["turn"] == 2 and events[0]["question"] == "Zork the blorb"
        _, events = await asked(client, query="x", talk=talk, branch={"turn": 9, "step": 1})
        assert events[-1]["event"] == "Failed" and "no such turn" in events[-1]["error"]["message"]


async def test_a_dialogue_is_promised_only_where_a_model_reads_the_questions(web_store: Path, cache: Path) -> None:
    for chat in (None, ScriptedChat([])):
        async with page(web_store, cache, chat=chat) as client:
            assert (await client.get("/api/session")).json()["dialogue"] is (chat is not None)
            html = (await client.get("/")).text
        assert '<span id="question-dialogue" hidden>; the next one may speak of the answer before</span>' in html


async def test_what_is_refused(web_store: Path, cache: Path) -> None:
    async with page(web_store, cache) as client:
        for body, status in (
            ({"query": ""}, 400),
            ({"query": "x", "branch": {"turn": 1, "step": 1}}, 400),
            ({"query": "x", "talk": "unknown"}, 404),
            ({"query": "x" * 30_000}, 400),
        ):
            assert (await client.post("/api/talks", json=body)).status_code == status, body
        del client.headers["x-egotools-csrf"]
        assert (await client.post("/api/talks", json={"query": QUESTION})).status_code == 403
    async with web_page(web_store) as address, browsing(address) as client:
        assert (await client.get("/api/session")).json()["talks"] is False
        assert (await client.post("/api/talks", json={"query": QUESTION})).status_code == 501


async def test_a_question_that_is_refused_throws_out_no_conversation(
    web_store: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with page(web_store, cache) as client:
        talk, events = await asked(client, query=QUESTION)
        where = f"/api/talks/{talk}/1/results/{events[-1]['pages'][0]['handle']}"
        monkeypatch.setattr("services.web.page_talks._MOST_TALKS", 1)
        monkeypatch.setattr("services.web.live_runs._MOST_RUNNING", 0)
        assert (await client.post("/api/talks", json={"query": QUESTION})).status_code == 429
        assert (await client.get(where)).status_code == 200


def test_many_conversations_of_one_visitor_throw_out_none_of_another() -> None:
    talks = PageTalks(AskPlan(graph="ladybug:absent"), {})
    other = talks.new("other", "")
    talks.keep(other)
    own = [talks.new("one", "") for _ in range(60)]
    for talk in own:
        talks.keep(talk)
    assert talks.find(other.id, "other") is other and talks.find(own[-1].id, "one") is own[-1]
    with pytest.raises(NotFoundError):
        talks.find(own[0].id, "one")
    talks.close()


async def test_only_who_may_see_all_tools_asks_and_sees_own_conversations(
    web_store: Path, cache: Path, tmp_path: Path
) -> None:
    settings, tokens = closed(tmp_path)
    async with page(web_store, cache, settings) as client:
        assert (await client.post("/api/talks", json={"query": QUESTION})).status_code == 401
        for name in ("reader", "sales"):
            session = await sign_in(client, tokens[name])
            assert session["talks"] is False
            assert (await client.post("/api/talks", json={"query": QUESTION})).status_code == 403
        session = await sign_in(client, tokens["admin"])
        assert session["talks"] is True
        talk, events = await asked(client, query=QUESTION)
        assert events[-1]["pages"]
        await sign_in(client, tokens["reader"])
        assert (await client.get(f"/api/talks/{talk}/1/results/t1")).status_code == 403
