"""The whole service over a real snapshot: build, load, serve over loopback, ask through the shipped client."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from egotools import AsyncClient, ClientError, NotFoundError, Query
from inference import Floats2d, HashingEncoder
from inference.encoder_wrappers import PunctualEncoder
from ontology.errors import InvalidArgumentError, ModelError
from retrieval.engine import open_engine
from retrieval.presets import BASELINES
from services.jobs.build import build_snapshot
from services.server.catalogs import CatalogStore
from services.server.server import Server
from services.server.settings import ServerSettings
from tests.conftest import ROOT
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
