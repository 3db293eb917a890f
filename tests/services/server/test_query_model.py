"""A chat model that helps with requests: what it changes, and that no request fails or waits long for it."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from egotools import AsyncClient, Query, Response
from inference import HashingEncoder
from inference.chat import ChatModel, Completion, Message
from inference.scripted import ScriptedChat
from ontology.errors import InvalidArgumentError, ModelError
from retrieval.query.request import Request
from retrieval.snapshot_engine import open_engine
from services.jobs.build import build_snapshot
from services.server.query_model import QueryModel, open_query_chat
from services.server.server import Server
from services.server.settings import ServerSettings
from tests.conftest import ROOT

QUERY = "what does Acme charge us"
NEED = "find suppliers by name"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("query-model")
    build_snapshot(
        [str(ROOT / "examples" / "enterprise" / "catalog" / "procurement.yaml")], folder, encoder=HashingEncoder()
    )
    return folder


@asynccontextmanager
async def served(store: Path, chat: ChatModel, **settings: Any) -> AsyncIterator[AsyncClient]:
    server = Server(ServerSettings(port=0, workers=2, drain_s=0.0, grace_s=0.0, **settings), chat=chat)
    address = await server.start()
    try:
        await server.load(lambda: open_engine(store))
        async with AsyncClient(address) as client:
            yield client
    finally:
        await server.stop()


def _offered(messages: Sequence[Message]) -> list[str]:
    return messages[1].content.partition("Tools:\n")[2].splitlines()


def _last_two(messages: Sequence[Message]) -> str:
    """Needs for a request; of the tools the last two of the list, the last one first, and one that is not there."""
    tools = _offered(messages)
    return json.dumps({"tools": [len(tools), 99, len(tools) - 1]} if tools else {"needs": [NEED]})


def _ids(answer: Response) -> list[str]:
    return [tool.id for tool in answer.tools]


async def test_needs_are_matched_and_chosen_tools_stand_first_in_their_order(store: Path) -> None:
    chat = ScriptedChat(_last_two)
    async with served(store, chat) as client:
        improved = await client.retrieve(QUERY, k=3)
        plain = await client.retrieve(QUERY, k=3, preset="fast")
        rewritten = await client.retrieve(f"{QUERY}\n{NEED}", k=30, preset="fast")
    rewriting, choosing = chat.calls
    assert rewriting[1].content == f"Request:\n{QUERY}"
    assert len(_offered(choosing)) == len(rewritten.tools)
    assert _ids(improved)[:2] == _ids(rewritten)[-1:-3:-1]
    assert [tool.score for tool in improved.tools] == sorted((tool.score for tool in improved.tools), reverse=True)
    assert not improved.fallbacks and improved.timings_ms["model"] > 0
    assert "model" not in plain.timings_ms, "fast never asks the model"


async def test_the_same_request_is_not_paid_for_twice_and_batches_go_without(store: Path) -> None:
    chat = ScriptedChat(_last_two)
    async with served(store, chat, query_steps="rewrite") as client:
        first, second = [await client.retrieve(QUERY) for _ in range(2)]
        assert _ids(first) == _ids(second) and len(chat.calls) == 1
        batch = await client.retrieve_batch([Query(QUERY)])
    assert len(chat.calls) == 1 and len(batch) == 1


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ([ModelError("the endpoint is down", subject="m")], "the endpoint is down"),
        (["no JSON"], "not in the form"),
        (['{"needs": 3}'], "not in the form"),
        (["[]"], "not in the form"),
        (['{"needs": "find"}'], "not in the form"),
        (['{"needs": ["find", {"a": 1}]}'], "not in the form"),
        (['{"needs": [1e999]}'], "not in the form"),
        (['{"needs": ["\\ud800"]}'], "not in the form"),
        (['{"needs": ' + "[" * 100_000], "not in the form"),
        (['{"needs": []}', '{"tools": [1e999]}'], "not in the form"),
        (['{"needs": []}', '{"tools": [NaN]}'], "not in the form"),
        (['{"needs": []}', '{"tools": [-Infinity]}'], "not in the form"),
        (['{"needs": []}', '{"tools": [1.5]}'], "not in the form"),
        (['{"needs": []}', '{"tools": [true]}'], "not in the form"),
        (['{"needs": []}', '{"tools": ["1"]}'], "not in the form"),
        (['{"needs": []}', '{"tools": [' + "9" * 5_000 + "]}"], "not in the form"),
        (['{"needs": []}', '{"tools": ' + "[" * 900 + "]" * 900 + "}"], "not in the form"),
    ],
)
async def test_a_model_that_fails_costs_nothing_but_its_help(
    store: Path, script: list[str | ModelError], said: str
) -> None:
    async with served(store, ScriptedChat(script)) as client:
        answer = await client.retrieve(QUERY)
        plain = await client.retrieve(QUERY, preset="fast")
    assert _ids(answer) == _ids(plain)
    assert any(each.startswith("no query model") and said in each for each in answer.fallbacks)


async def test_numbers_that_come_twice_or_name_no_tool_count_once_or_not(store: Path) -> None:
    numbers = json.dumps({"tools": [2, 2, 0, -1, 10**300, 1, 2], "why": "more than was asked for"})
    async with served(store, ScriptedChat(['{"needs": [], "needs": []}', numbers])) as client:
        answer = await client.retrieve(QUERY, k=30)
        plain = await client.retrieve(QUERY, k=30, preset="fast")
    assert not answer.fallbacks
    assert _ids(answer)[:2] == _ids(plain)[1::-1] and sorted(_ids(answer)) == sorted(_ids(plain))


class _Broken(ScriptedChat):
    """A client with a bug."""

    def complete(self, messages: Sequence[Message], **options: Any) -> Completion:
        raise OverflowError("s3cret")


async def test_a_bug_of_the_client_costs_nothing_but_its_help(store: Path) -> None:
    async with served(store, _Broken([])) as client:
        answer = await client.retrieve(QUERY)
    assert answer.tools and answer.fallbacks == ("no query model: its client failed: OverflowError",)


class _Slow(ScriptedChat):
    """Answers when it is let go."""

    def __init__(self) -> None:
        super().__init__(_last_two)
        self.go = threading.Event()

    def complete(self, messages: Sequence[Message], **options: Any) -> Completion:
        self.go.wait(20)
        return super().complete(messages, **options)


async def test_half_of_the_deadline_is_kept_and_no_worker_waits(store: Path) -> None:
    chat = _Slow()
    async with served(store, chat) as client:
        started = time.monotonic()
        late = [asyncio.ensure_future(client.retrieve(QUERY, timeout_s=2.0)) for _ in range(4)]
        await asyncio.sleep(0.3)
        plain = await client.retrieve(QUERY, preset="fast", timeout_s=2.0)
        assert time.monotonic() - started < 0.9, "plain requests do not wait for the model"
        answers = await asyncio.gather(*late)
        spent = time.monotonic() - started
        chat.go.set()
    assert all(_ids(answer) == _ids(plain) for answer in answers) and spent < 1.9
    reasons = [each for answer in answers for each in answer.fallbacks]
    assert sum("requests are with it already" in each for each in reasons) == 2, "two calls at once for a tenant"
    assert sum("did not answer within" in each for each in reasons) == 2


async def test_one_tenant_does_not_take_the_turns_of_another(store: Path) -> None:
    chat, engine = _Slow(), open_engine(store)
    model = QueryModel(chat, calls_per_tenant=1, steps=("rewrite",))
    request = Request(query=QUERY, explain=False)

    async def answer(asked: Request) -> Response:
        return engine.retriever("fast").retrieve(asked)

    ends = time.monotonic() + 8
    first = asyncio.ensure_future(model.improve(engine, request, "a", answer, ends))
    await asyncio.sleep(0.1)
    second = await model.improve(engine, request, "a", answer, ends)
    other = asyncio.ensure_future(model.improve(engine, request, "b", answer, ends))
    await asyncio.sleep(0.1)
    chat.go.set()
    assert "already" in second.fallbacks[0]
    for improved in (await first, await other):
        assert improved.request.query == f"{QUERY}\n{NEED}" and not improved.fallbacks and improved.tokens > 0


async def test_a_request_that_needs_too_many_tokens_goes_without(store: Path) -> None:
    chat = ScriptedChat(_last_two)
    async with served(store, chat) as client:
        answer = await client.retrieve("order pens " * 1_800)
    assert not chat.calls and any("tokens" in each for each in answer.fallbacks)


def test_a_wrong_name_or_step_is_refused_at_the_start() -> None:
    with pytest.raises(InvalidArgumentError, match="openai:MODEL@"):
        open_query_chat("gpt")
    with pytest.raises(InvalidArgumentError, match="Known: rewrite, choose"):
        QueryModel(ScriptedChat([]), steps=("dance",))
