"""The client against a real server: both clients give the same, errors are typed, dead replicas are gone round."""

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from egotools import (
    AsyncClient,
    Client,
    InvalidRequestError,
    NotFoundError,
    Query,
    Response,
    UnavailableError,
)
from services.server.server import Server
from tests.egotools.asking import Ask, client_of
from tests.services.server.memory_engine import SNAPSHOT_ID, MemoryEngine, serving


@pytest.fixture
def engine() -> MemoryEngine:
    return MemoryEngine()


@pytest.fixture
async def server(engine: MemoryEngine) -> AsyncIterator[Server]:
    async with serving(engine) as running:
        yield running


@pytest.fixture(params=["sync", "async"])
async def ask(request: pytest.FixtureRequest, server: Server) -> AsyncIterator[Ask]:
    """``ask("retrieve", …)``: the same tests for both clients."""
    async with client_of(str(request.param), server.address) as asking:
        yield asking


# -- results -----------------------------------------------------------------------------------------------------------


async def test_retrieve(ask: Ask) -> None:
    answer = await ask("retrieve", "find a customer", 2, schema_format="anthropic")
    assert isinstance(answer, Response)
    assert [(tool.rank, tool.id) for tool in answer.tools] == [(1, "crm/find_customer"), (2, "crm/get_customer")]
    first = answer.tools[0]
    assert (first.title, first.namespace, first.score) == ("Find Customer", "crm", 1.0)
    assert first.schema["input_schema"]["required"] == ["name"]
    assert first.reasons.entries[0].node == "business_object:customer"
    assert first.reasons.features == {"words": 0.25}
    assert first.reasons.bindings[0].confidence == 0.75
    assert (answer.snapshot_id, answer.preset, answer.fallbacks) == (SNAPSHOT_ID, "words", ())
    assert set(answer.timings_ms) == {"total", "queue"}


async def test_retrieve_batch(ask: Ask) -> None:
    results = await ask("retrieve_batch", ["find customer", Query("!!"), Query("orders", k=1, explain=False)])
    assert isinstance(results[0], Response) and len(results[0].tools) == 3
    assert isinstance(results[1], InvalidRequestError) and results[1].subject == "query"
    assert isinstance(results[2], Response) and [tool.id for tool in results[2].tools] == ["erp/list_orders"]


async def test_get_tool(ask: Ask) -> None:
    tool = await ask("get_tool", "crm/find_customer", schema_format="openai")
    assert (tool.name, tool.title, tool.snapshot_id) == ("find_customer", "Find Customer", SNAPSHOT_ID)
    assert tool.parameters[0].required and tool.parameters[0].location == "query"
    assert tool.returns[0].name == "items[].customer_id"
    assert tool.metadata["tags"] == ["customer", "顧客"]
    assert tool.schema["function"]["name"] == "crm__find_customer"
    needed = (await ask("get_tool", "crm/get_customer")).depends_on[0]
    assert (needed.tool_id, needed.output) == ("crm/find_customer", "items[].customer_id")


async def test_neighbors(ask: Ask) -> None:
    graph = await ask("neighbors", "erp/list_orders", predicates=["has_parameter"], limit=2)
    assert (graph.center.tool_id, graph.center.degree) == ("erp/list_orders", 3)
    assert (graph.total_degree, graph.truncated, len(graph.edges)) == (3, True, 2)
    assert graph.edges[0].provenance[0].extractor == "rules.v1"
    assert graph.nodes[0].surface_forms == ("x",)


async def test_a_plan_says_where_each_input_comes_from(ask: Ask) -> None:
    plan = await ask("plan", ["crm/get_customer", "erp/list_orders"], have={"status": "open"})
    assert plan.tool_ids == ("crm/find_customer", "crm/get_customer", "erp/list_orders")
    assert (plan.snapshot_id, plan.cost, plan.fallbacks) == (SNAPSHOT_ID, 3.0, ("made by hand",))
    found, goal, orders = plan.steps
    assert goal.bindings() == ("step 2.customer_id ← step 1.items[].customer_id",)
    (filled,) = goal.inputs
    assert (filled.source, filled.supplier, filled.kind) == ("step", "crm/find_customer", "depends_on")
    assert (filled.step, filled.confidence, filled.alternatives) == (1, 1.0, ("erp/list_orders",))
    assert found.kind == "depends_on" and orders.inputs[0].source == "ask"
    assert [(each.parameter, each.description, each.steps) for each in plan.open_inputs] == [
        ("customer_id", "顧客", (3,))
    ]
    assert (await ask("plan", query="list the orders of a customer")).steps[-1].tool_id == "erp/list_orders"
    with pytest.raises(NotFoundError):
        await ask("plan", ["crm/none"])


async def test_catalog_and_all_tool_ids(ask: Ask) -> None:
    catalog = await ask("catalog")
    assert (catalog.tool_count, catalog.tool_ids, catalog.next_page_token) == (3, (), "")
    assert (catalog.presets, catalog.default_preset) == (("title", "words"), "words")
    assert catalog.ontology.version == 3 and catalog.edge_counts == {"has_parameter": 5}
    ids = ["crm/find_customer", "crm/get_customer", "erp/list_orders"]
    assert await ask("tool_ids", page_size=2) == ids == await ask("tool_ids")


# -- errors ------------------------------------------------------------------------------------------------------------


async def test_errors_are_typed_and_say_what_to_do(ask: Ask) -> None:
    with pytest.raises(NotFoundError) as missing:
        await ask("get_tool", "crm/none")
    error = missing.value
    assert (error.code, error.reason, error.subject) == ("NOT_FOUND", "NOT_FOUND", "crm/none")
    assert str(error) == "NOT_FOUND: crm/none: there is no such tool. See the catalogue for the ids."
    with pytest.raises(InvalidRequestError, match="Use one of title, words"):
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


def dead_address() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{taken.getsockname()[1]}"


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_a_dead_replica_is_gone_round(kind: str, server: Server) -> None:
    async with client_of(kind, f"ipv4:{dead_address()},{server.address}") as ask:
        for _ in range(10):
            assert len((await ask("retrieve", "customer")).tools) == 3


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_nobody_there_is_unavailable(kind: str) -> None:
    async with client_of(kind, dead_address()) as ask:
        with pytest.raises(UnavailableError) as caught:
            await ask("retrieve", "customer", timeout_s=5)
    assert caught.value.code == "UNAVAILABLE"


# -- transport and surface ---------------------------------------------------------------------------------------------


async def test_tls_does_not_fall_back_to_plain_text(server: Server) -> None:
    async with AsyncClient(server.address, tls=grpc.ssl_channel_credentials()) as client:
        with pytest.raises(UnavailableError):
            await client.retrieve("customer", timeout_s=3)
    with Client(server.address, tls=True) as sync_client, pytest.raises(UnavailableError):
        await asyncio.to_thread(sync_client.retrieve, "customer", timeout_s=3)
