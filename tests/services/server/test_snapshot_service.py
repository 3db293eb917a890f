"""The whole service over a real snapshot: build, load, serve over loopback, ask through the shipped client."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from egotools import AsyncClient, ClientDeadlineError, ClientError, InvalidRequestError, NotFoundError, Query
from inference import Floats2d, HashingEncoder, HttpReranker, RetryPolicy
from inference.bounded_wait import PunctualEncoder, PunctualReranker
from ontology.errors import InvalidArgumentError, ModelError
from retrieval.presets import BASELINES
from retrieval.snapshot_engine import open_engine
from services.jobs.build import build_snapshot
from services.server.catalog_store import CatalogStore
from services.server.server import Server
from services.server.settings import ServerSettings
from tests.conftest import ROOT
from tests.harness.http_server import Loopback, Reply
from tests.harness.waiting import until

CATALOG = ROOT / "examples" / "enterprise" / "catalog"
QUERY = "which suppliers still owe us items of a purchase order"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("service")
    documents = [str(CATALOG / "procurement.yaml"), str(CATALOG / "purchasing.edmx")]
    build_snapshot(documents, folder, encoder=HashingEncoder())
    return folder


@asynccontextmanager
async def _client(store: Path) -> AsyncIterator[AsyncClient]:
    server = Server(ServerSettings(port=0, workers=2, drain_s=0.0))
    address = await server.start()
    try:
        await server.load(lambda: open_engine(store))
        async with AsyncClient(address) as client:
            yield client
    finally:
        await server.stop(grace_s=1.0)


async def test_every_preset_answers_with_reasons(store: Path) -> None:
    async with _client(store) as client:
        catalog = await client.catalog()
        assert {"default", "paper", "semantic", "hybrid", "bm25-spacy-title"} <= set(catalog.presets)
        for preset in catalog.presets:
            answer = await client.retrieve(QUERY, k=5, preset=preset)
            assert answer.preset == preset
            assert answer.snapshot_id == catalog.snapshot_id
            assert 1 <= len(answer.tools) <= 5
            assert all(tool.reasons is not None and tool.reasons.features for tool in answer.tools)
        paper = await client.retrieve(QUERY, k=5, preset="paper")
        assert any(tool.reasons and tool.reasons.entries and tool.reasons.edges for tool in paper.tools)


def test_presets_to_compare_with_are_served_where_the_operator_says_so(store: Path) -> None:
    served, compared = (CatalogStore(path=store, baselines=baselines).open() for baselines in (False, True))
    for engine in (served, served.restricted({"namespace": ["procurement"]})):
        assert engine.catalog().presets == ("default", "fast")
        with pytest.raises(InvalidArgumentError, match="serve --baselines"):
            engine.retriever("hybrid")
    assert {"default", "fast", *BASELINES} == set(compared.catalog().presets)


async def test_a_batch_is_the_same_as_one_by_one(store: Path) -> None:
    async with _client(store) as client:
        queries = [QUERY, "block supplier 4711", "create a purchase requisition"]
        batch = await client.retrieve_batch([*queries, Query(query="x", k=0)])
        for query, answer in zip(queries, batch, strict=False):
            alone = await client.retrieve(query)
            assert not isinstance(answer, Exception)
            assert [tool.id for tool in answer.tools] == [tool.id for tool in alone.tools]
        assert isinstance(batch[-1], InvalidRequestError)


async def test_tools_schemas_and_filters(store: Path) -> None:
    async with _client(store) as client:
        answer = await client.retrieve(QUERY, filters={"namespace": ["purchasing"]}, schema_format="mcp")
        assert answer.tools
        assert all(tool.id.startswith("purchasing/") for tool in answer.tools)
        assert all(tool.schema and "inputSchema" in tool.schema for tool in answer.tools)
        tool = await client.get_tool("purchasing/read_PurchaseOrderItem")
        assert {parameter.name for parameter in tool.parameters} >= {"PurchaseOrder", "PurchaseOrderItem"}
        with pytest.raises(NotFoundError):
            await client.get_tool("purchasing/read_Unicorn")


async def test_an_unknown_filter_is_an_error_and_the_catalogue_lists_the_keys(store: Path) -> None:
    async with _client(store) as client:
        catalog = await client.catalog(page_size=0)
        assert catalog.filter_keys["id"] == catalog.tool_count
        assert catalog.filter_keys["namespace"] >= 1
        with pytest.raises(InvalidRequestError, match=r"filters\.namespace.*Known values: purchasing"):
            await client.retrieve(QUERY, filters={"namespace": ["Purchasing"]})
        with pytest.raises(InvalidRequestError, match="Known keys: namespace"):
            await client.retrieve(QUERY, filters={"Namespace": ["purchasing"]})
        answer = await client.retrieve(QUERY, filters={"id": ["purchasing/*", "!purchasing/read_PurchaseOrderItem"]})
        assert {tool.id for tool in answer.tools}.isdisjoint({"purchasing/read_PurchaseOrderItem"})


async def test_the_graph_can_be_walked(store: Path) -> None:
    async with _client(store) as client:
        ego = await client.neighbors("business_object:purchase order item", limit=1_000)
        tools = {node.tool_id for node in ego.nodes if node.tool_id}
        assert {"purchasing/query_PurchaseOrderItem", "purchasing/read_PurchaseOrderItem"} <= tools
        assert "Purchase Order Item" in ego.center.surface_forms or ego.center.surface_forms
        around = await client.neighbors("purchasing/query_PurchaseOrderItem", predicates=["supplies"])
        assert {edge.predicate for edge in around.edges} == {"supplies"}


async def test_busy_callers_all_get_the_answer_of_one(store: Path) -> None:
    async with _client(store) as client:
        alone = await client.retrieve(QUERY)
        together = await asyncio.gather(*(client.retrieve(QUERY) for _ in range(40)))
        assert {tuple(tool.id for tool in answer.tools) for answer in together} == {tuple(t.id for t in alone.tools)}


HOSTILE = {
    "one word": "supplier",
    "20,000 characters": ("create a purchase order and block supplier 4711, " * 500)[:20_000],
    "20,000 characters in one word": "x" * 20_000,
    "values alone": "4500118277",
    "many values": " ".join(f"PO-{n}" for n in range(3_000))[:20_000],
    "Chinese": "显示所有采购订单",
    "German": "Bitte lege eine Bestellung für den Lieferanten Acme an",
    "right to left override": "\u202eredro esahcrup\u202c \x00\x1b[31m \ufeff\U0010ffff",
    "combining marks": "o" + "\u0301" * 9_000 + "rder",
}


@pytest.mark.parametrize("query", HOSTILE.values(), ids=HOSTILE.keys())
async def test_a_hostile_request_is_answered_or_stopped_at_its_deadline(store: Path, query: str) -> None:
    async with _client(store) as client:
        answer = await client.retrieve(query, k=5)
        assert len(answer.tools) <= 5 and answer.snapshot_id
        with pytest.raises(ClientDeadlineError):
            await client.retrieve(query, k=5, timeout_s=0.0001)
        assert (await client.retrieve(QUERY)).tools, "the next caller is served"


@pytest.mark.parametrize("query", ["", "  \n", "?!…", "\u200b", "x" * 20_001])
async def test_a_request_without_words_or_too_long_is_a_typed_error(store: Path, query: str) -> None:
    async with _client(store) as client:
        with pytest.raises(InvalidRequestError, match="query"):
            await client.retrieve(query)


async def test_contradictory_filters_give_no_tool(store: Path) -> None:
    async with _client(store) as client:
        answer = await client.retrieve(QUERY, filters={"namespace": ["purchasing", "!purchasing"]})
        assert answer.tools == ()
        assert answer.fallbacks == ("no tool passes all filters",)


class _DownEncoder(HashingEncoder):
    down = False

    def encode(self, texts: Sequence[str]) -> Floats2d:
        if self.down:
            raise ModelError("the endpoint does not answer", subject="http://127.0.0.1:9")
        return super().encode(texts)


async def test_an_encoder_that_goes_down_leaves_an_answer_that_says_so(store: Path) -> None:
    encoder = _DownEncoder()
    server = Server(ServerSettings(port=0, workers=2, drain_s=0.0))
    address = await server.start()
    try:
        await server.load(lambda: open_engine(store, encoder=encoder))
        encoder.down = True
        async with AsyncClient(address) as client:
            answer = await client.retrieve(QUERY)
            assert answer.tools
            assert answer.fallbacks == ("no semantic matching: the endpoint does not answer",)
            with pytest.raises(ClientError):
                await client.retrieve(QUERY, preset="semantic")
    finally:
        await server.stop(grace_s=1.0)


async def test_the_next_step_of_a_task(store: Path) -> None:
    """Executed tools are not returned, known values are not looked up, and an unknown tool is a fallback, over real gRPC."""
    asked = "release purchase order 4500118277 and block its supplier"
    async with _client(store) as client:
        first = await client.retrieve(asked, k=5, explain=False)
        done = [tool.id for tool in first.tools[:2]]
        answer = await client.retrieve(
            asked,
            k=5,
            explain=False,
            explanation=True,
            done=[*done, "gone/tool"],
            have={"ReleaseCode": "02", "supplier": ""},
        )
        assert len(answer.tools) == 5 and not {tool.id for tool in answer.tools} & set(done)
        assert answer.fallbacks == ("done: the catalogue has no tool gone/tool",)
        assert all(1 <= len(tool.explanation.split()) <= 25 and not tool.reasons.features for tool in answer.tools)
        assert all(not tool.explanation for tool in first.tools)
        (batched,) = await client.retrieve_batch([Query(asked, k=5, explain=False, done=done)])
        assert not isinstance(batched, Exception)
        assert [tool.id for tool in batched.tools] == [tool.id for tool in answer.tools]


async def test_a_line_says_what_the_request_and_the_caller_give(store: Path) -> None:
    async with _client(store) as client:
        for have, given in (
            ({}, "PurchaseOrder is 4500118277; needs ReleaseCode"),
            ({"ReleaseCode": "02"}, "ReleaseCode is 02"),
        ):
            answer = await client.retrieve(
                "release purchase order 4500118277", explain=False, explanation=True, have=have
            )
            line = {tool.id: tool.explanation for tool in answer.tools}["purchasing/ReleasePurchaseOrder"]
            assert line.startswith('matches "release purchase order"; ') and given in line


@pytest.mark.parametrize(
    ("others", "subject"),
    [
        ({"done": [f"x{number}" for number in range(1_001)]}, "done"),
        ({"done": [""]}, "done"),
        ({"have": {"": "x"}}, "have"),
        ({"have": {"order": "x" * 4_001}}, "have.order"),
    ],
)
async def test_a_task_beyond_the_limits_is_refused(store: Path, others: dict[str, Any], subject: str) -> None:
    async with _client(store) as client:
        with pytest.raises(InvalidRequestError) as caught:
            await client.retrieve("x", **others)
        assert caught.value.subject == subject


class _Late(HashingEncoder):
    """An encoder that answers the warm query, and then no more until it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.held = False
        self.released = threading.Event()

    def encode(self, texts: Sequence[str]) -> Floats2d:
        if self.held:
            self.released.wait()
        return super().encode(texts)


async def test_a_late_encoder_costs_the_vectors_and_not_the_answer(store: Path) -> None:
    late = _Late()
    server = Server(ServerSettings(port=0, workers=2, drain_s=0.0, metrics_port=0))
    address = await server.start()
    try:
        await server.load(lambda: open_engine(store, encoder=PunctualEncoder(late, 0.5)))
        late.held = True
        async with AsyncClient(address) as client:
            answers = [await client.retrieve(QUERY, k=5) for _ in range(20)]
            late.released.set()
            await until(lambda: "egotools-model" not in {thread.name for thread in threading.enumerate()})
            whole = await client.retrieve(QUERY, k=5)
        assert all(len(answer.tools) == 5 for answer in answers)
        assert {answer.fallbacks[0].partition(":")[0] for answer in answers} == {"no semantic matching"}
        assert whole.fallbacks == ()
        assert b'egotools_fallbacks_total{kind="encoder"} 20.0' in server.observing.metrics.scrape()
    finally:
        late.released.set()
        await server.stop(grace_s=1.0)


async def test_a_late_or_broken_reranker_costs_its_order_and_not_the_answer(store: Path) -> None:
    for answer in (Reply(hang=True), Reply(status=500), Reply(body=b"no JSON")):
        endpoint = Loopback(lambda asked, answer=answer: answer)  # type: ignore[misc]
        reranker = HttpReranker(endpoint.url, policy=RetryPolicy(max_retries=0))
        server = Server(ServerSettings(port=0, workers=2, drain_s=0.0))
        address = await server.start()
        try:
            await server.load(lambda made=reranker: open_engine(store, reranker=PunctualReranker(made, 0.05)))  # type: ignore[misc]
            async with AsyncClient(address) as client:
                found = await client.retrieve(QUERY, k=5, preset="paper")
            assert len(found.tools) == 5 and endpoint.arrived
            assert any(said.startswith("reranked by fusion") for said in found.fallbacks)
        finally:
            endpoint.stop()
            await server.stop(grace_s=1.0)
