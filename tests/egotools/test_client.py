"""The client against a real server: both clients give the same, errors are typed, dead replicas are gone round."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import grpc
import pytest

from egotools import (
    AsyncClient,
    Client,
    InvalidRequestError,
    NotFoundError,
    Response,
    UnavailableError,
)
from retrieval.query.request import PlanRequest, Request
from services.server.server import Server
from tests.egotools.asking import Ask, client_of
from tests.harness.engines import TOOLS, HookedEngine, serving, small_engine
from tests.harness.servers import free_port


@pytest.fixture
def engine() -> HookedEngine:
    return small_engine()


@pytest.fixture
async def server(engine: HookedEngine) -> AsyncIterator[Server]:
    async with serving(engine) as running:
        yield running


@pytest.fixture(params=["sync", "async"])
async def ask(request: pytest.FixtureRequest, server: Server) -> AsyncIterator[Ask]:
    """``ask("retrieve", …)``: the same tests for both clients."""
    async with client_of(str(request.param), server.address) as asking:
        yield asking


# -- results -----------------------------------------------------------------------------------------------------------


async def test_an_answer_is_that_of_the_engine(ask: Ask, engine: HookedEngine) -> None:
    answer = await ask("retrieve", "find a customer", 2, schema_format="anthropic", done=["crm/find_customer"])
    request = Request(query="find a customer", k=2, done=["crm/find_customer"])
    told = engine.retriever().retrieve(request)
    assert isinstance(answer, Response)
    for sent, own in zip(answer.tools, told.tools, strict=True):
        assert (sent.rank, sent.id, sent.reasons) == (own.rank, own.id, own.reasons)
        assert sent.score == pytest.approx(own.score)
    first = answer.tools[0]
    assert (first.title, first.namespace) == ("get_customer", "crm")
    assert first.schema["input_schema"]["required"] == ["customer_id"]
    assert (answer.snapshot_id, answer.preset, answer.fallbacks) == (engine.snapshot_id, "default", ())
    assert set(answer.timings_ms) == {*told.timings_ms, "queue"}


async def test_a_tool_has_what_its_document_says(ask: Ask, engine: HookedEngine) -> None:
    tool, own = await ask("get_tool", "crm/find_customer", schema_format="openai"), TOOLS[0]
    assert (tool.name, tool.title, tool.snapshot_id) == (own.name, "Find Customer", engine.snapshot_id)
    for sent, document in ((tool.parameters, own.parameters), (tool.returns, own.returns)):
        assert [(each.name, each.required, each.location) for each in sent] == [
            (each.name, each.required, each.location) for each in document
        ]
    assert tool.metadata["tags"] == own.metadata["tags"]
    assert tool.schema["function"]["name"] == "crm__find_customer"
    needed = (await ask("get_tool", "crm/get_customer")).depends_on[0]
    assert (needed.tool_id, needed.output) == ("crm/find_customer", "items[].customer_id")


async def test_a_graph_and_a_plan_are_those_of_the_engine(ask: Ask, engine: HookedEngine) -> None:
    graph = await ask("neighbors", "erp/list_orders", predicates=["has_parameter"], limit=2)
    assert graph == engine.neighbors("erp/list_orders", predicates=["has_parameter"], limit=2) and graph.truncated
    asked: dict[str, Any] = {"goals": ["crm/get_customer", "erp/list_orders"], "have": {"status": "open"}}
    plan = await ask("plan", **asked)
    assert plan == engine.plan(PlanRequest(**asked)) and plan.open_inputs
    assert plan.steps[1].bindings() == ("step 2.customer_id ← step 1.items[].customer_id",)
    assert (await ask("plan", query="list the orders of a customer")).steps[-1].tool_id == "erp/list_orders"
    with pytest.raises(NotFoundError):
        await ask("plan", ["crm/none"])


async def test_catalog_and_all_tool_ids(ask: Ask, engine: HookedEngine) -> None:
    catalog = await ask("catalog")
    own = replace(engine.catalog(), namespaces=engine.namespaces)
    assert catalog == own
    ids = ["crm/find_customer", "crm/get_customer", "erp/list_orders"]
    assert await ask("tool_ids", page_size=2) == ids == await ask("tool_ids")


# -- errors ------------------------------------------------------------------------------------------------------------


async def test_errors_are_typed_and_say_what_to_do(ask: Ask) -> None:
    with pytest.raises(NotFoundError) as missing:
        await ask("get_tool", "crm/none")
    error = missing.value
    assert (error.code, error.reason, error.subject) == ("NOT_FOUND", "NOT_FOUND", "crm/none")
    assert str(error).startswith("NOT_FOUND: crm/none: ")
    with pytest.raises(InvalidRequestError, match="Known: bm25, default"):
        await ask("retrieve", "x", preset="nope")


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("x", {"k": 0}, "k"),
    ("x", {"k": 2**40}, "k"),
    ("x", {"schema_format": "soap"}, "schema_format"),
    ("x", {"filters": {"team": "finance"}}, "filters.team"),
    ("x", {"filters": {"team": ["a\ud800"]}}, "filters.team"),
    ("x", {"filters": {"a\ud800": ["a"]}}, "filters"),
    ("x", {"filters": {"team": 5}}, "filters.team"),
    ("x", {"filters": ["team"]}, "filters"),
    ("x", {"preset": "a\ud800"}, "preset"),
    ("x", {"k": "5"}, "k"),
    ("x", {"k": None}, "k"),
    ("x", {"explain": "yes"}, "explain"),
    ("x", {"explanation": "yes"}, "explanation"),
    ("x", {"done": "crm/find_customer"}, "done"),
    ("x", {"done": [5]}, "done"),
    ("x", {"done": [""]}, "done"),
    ("x", {"have": ["customer"]}, "have"),
    ("x", {"have": {"customer": 5}}, "have.customer"),
    ("x", {"have": {"": "x"}}, "have"),
    ("x", {"schema_format": 3}, "schema_format"),
    ("bad \ud800", {}, "query"),
    ("", {}, "query"),
]


async def test_wrong_arguments_are_named(ask: Ask, subtests: pytest.Subtests) -> None:
    for query, named, subject in WRONG:
        with subtests.test(ascii(query)):
            with pytest.raises(InvalidRequestError) as caught:
                await ask("retrieve", query, **named)
            assert (caught.value.subject, caught.value.code) == (subject, "INVALID_ARGUMENT")


# -- replicas ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_a_dead_replica_is_gone_round(kind: str, server: Server) -> None:
    async with client_of(kind, f"ipv4:127.0.0.1:{free_port()},{server.address}") as ask:
        for _ in range(10):
            assert len((await ask("retrieve", "customer")).tools) == 3


# -- transport and surface ---------------------------------------------------------------------------------------------


async def test_tls_does_not_fall_back_to_plain_text(server: Server) -> None:
    async with AsyncClient(server.address, tls=grpc.ssl_channel_credentials()) as client:
        with pytest.raises(UnavailableError):
            await client.retrieve("customer", timeout_s=3)
    with Client(server.address, tls=True) as sync_client, pytest.raises(UnavailableError):
        await asyncio.to_thread(sync_client.retrieve, "customer", timeout_s=3)
