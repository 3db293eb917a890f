"""A caller that sees a part of a catalogue: nothing that it can ask tells a hidden tool from one that never was."""

import random
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

from egotools.v1 import egotools_pb2 as pb
from egotools.v1 import egotools_pb2_grpc as pb_grpc
from inference import HashingEncoder
from retrieval.engine import Engine, open_engine
from retrieval.snapshot.visible import VisibleSnapshot, VisibleSnapshots
from services.jobs.build import build_snapshot
from services.server.calls import ERROR_METADATA_KEY
from tests.conftest import ROOT
from tests.harness.engines import serving, small_settings
from tests.harness.issuers import guarded_by
from tests.harness.waiting import LIMIT_S

CATALOG = ROOT / "examples" / "enterprise" / "catalog"
SEEN, HIDDEN = "procurement", "purchasing"
QUERIES = (
    "which suppliers still owe us items of a purchase order",
    "block supplier 4711 and list its purchase orders",
    "create a purchase requisition for plant 1010",
    "who approved the goods receipt of order 4500000012, and when is the invoice due",
)
_Reply = tuple[grpc.StatusCode, bytes]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    folder = tmp_path_factory.mktemp("hidden")
    names = ("procurement.yaml", "purchasing.edmx", "sales.yaml", "warehouse.json")
    build_snapshot([str(CATALOG / name) for name in names], folder, encoder=HashingEncoder())
    return open_engine(folder)


@pytest.fixture(scope="module")
def view(engine: Engine) -> VisibleSnapshot:
    return VisibleSnapshots(engine.snapshot).of({"namespace": [SEEN]})


def ids_of(engine: Engine, namespace: str) -> list[str]:
    return [each for each in engine.tool_ids(0, 10_000) if each.startswith(f"{namespace}/")]


class Caller:
    """Calls a server that lets it see the tools of one namespace."""

    def __init__(self, channel: grpc.aio.Channel, token: str) -> None:
        self._stub: Any = pb_grpc.ToolRetrievalStub(channel)
        self._metadata = (("authorization", f"Bearer {token}"),)

    async def call(self, method: str, message: Any) -> _Reply:
        """The status and the bytes of the answer or of the error."""
        try:
            reply = await getattr(self._stub, method)(message, metadata=self._metadata, timeout=LIMIT_S)
        except grpc.aio.AioRpcError as error:
            raw = dict(error.trailing_metadata() or ())[ERROR_METADATA_KEY]
            return error.code(), raw + (error.details() or "").encode()
        for result in [reply, *(each.response for each in getattr(reply, "results", ()))]:
            if hasattr(result, "timings_ms"):
                result.timings_ms.clear()
        return grpc.StatusCode.OK, reply.SerializeToString(deterministic=True)


@pytest.fixture
async def caller(engine: Engine, tmp_path: Path) -> AsyncIterator[Caller]:
    access, tokens = guarded_by(tmp_path, agent={"roles": ["read"], "filters": {"namespace": [SEEN]}})
    settings = small_settings(**access)
    async with serving(engine, settings) as server, grpc.aio.insecure_channel(server.address) as channel:
        yield Caller(channel, tokens["agent"])


def asked_of(name: str, value: str) -> Iterator[tuple[str, Any]]:
    """Every way to name a tool, or a value that only some tools have."""

    def retrieve(**fields: Any) -> pb.RetrieveRequest:
        return pb.RetrieveRequest(query=QUERIES[0], k=3, explain=True, **fields)

    def filters(key: str, *values: str) -> dict[str, pb.StringList]:
        return {key: pb.StringList(values=values)}

    yield "GetTool", pb.GetToolRequest(id=name)
    yield "Neighbors", pb.NeighborsRequest(node=name)
    yield "Neighbors", pb.NeighborsRequest(node=f"tool:{name}")
    yield "Plan", pb.PlanRequest(goals=[name])
    yield "Plan", pb.PlanRequest(query=QUERIES[0], done=[name])
    yield "Plan", pb.PlanRequest(query=QUERIES[0], have={name: value})
    yield "Retrieve", retrieve(done=[name])
    yield "Retrieve", retrieve(have={name: value})
    for pattern in (name, f"!{name}", f"{name[:-1]}*", f"!{name[:-1]}*"):
        yield "Retrieve", retrieve(filters=filters("id", pattern))
    for pattern in (value, f"!{value}", f"{value[:-1]}*"):
        yield "Retrieve", retrieve(filters=filters("namespace", pattern))
    yield "Retrieve", retrieve(filters=filters(value, "x"))
    batch = [retrieve(done=[name]), retrieve(filters=filters("id", name))]
    yield "RetrieveBatch", pb.RetrieveBatchRequest(requests=batch)


async def test_no_call_tells_a_hidden_tool_from_an_absent_one(engine: Engine, caller: Caller) -> None:
    hidden = ids_of(engine, HIDDEN)[:3]
    assert hidden and ids_of(engine, SEEN)
    for name in hidden:
        absent = name[:-1] + "?"  # of the same length, and at the same place among the sorted ids
        told = [await caller.call(*asked) for asked in asked_of(name, HIDDEN)]
        made_up = [await caller.call(*asked) for asked in asked_of(absent, "purchasinG")]
        for one, other, (method, message) in zip(told, made_up, asked_of(name, HIDDEN), strict=True):
            renamed = other[1].replace(absent.encode(), name.encode()).replace(b"purchasinG", HIDDEN.encode())
            assert (one[0], one[1]) == (other[0], renamed), f"{method} tells: {message}"
    assert (await caller.call("GetTool", pb.GetToolRequest(id=hidden[0])))[0] == grpc.StatusCode.NOT_FOUND
    seen = ids_of(engine, SEEN)[0]
    assert (await caller.call("GetTool", pb.GetToolRequest(id=seen)))[0] == grpc.StatusCode.OK


async def test_nothing_that_is_returned_names_a_hidden_tool(engine: Engine, caller: Caller) -> None:
    hidden = [name.encode() for name in engine.tool_ids(0, 10_000) if not name.startswith(f"{SEEN}/")]
    replies = []
    for preset in engine.catalog().presets:
        for query in QUERIES:
            message = pb.RetrieveRequest(
                query=query, k=50, explain=True, preset=preset, schema_format=pb.SCHEMA_FORMAT_OPENAI
            )
            replies.append(await caller.call("Retrieve", message))
    for name in ids_of(engine, SEEN):
        replies.append(await caller.call("GetTool", pb.GetToolRequest(id=name)))
        replies.append(await caller.call("Plan", pb.PlanRequest(goals=[name], query=QUERIES[1])))
        replies.append(await caller.call("Plan", pb.PlanRequest(goals=[name])))
    replies.append(await caller.call("GetCatalog", pb.GetCatalogRequest(page_size=5_000)))
    for code, content in replies:
        assert code == grpc.StatusCode.OK
        assert not [name for name in hidden if name in content]


async def test_the_graph_is_that_of_the_visible_tools(engine: Engine, view: VisibleSnapshot, caller: Caller) -> None:
    hidden = [name.encode() for name in engine.tool_ids(0, 10_000) if not name.startswith(f"{SEEN}/")]
    degrees: dict[str, int] = {}
    edges: set[tuple[str, str, str]] = set()
    keys = [view.node_key(int(node)) for node in np.flatnonzero(view.allowed({}))]
    some = [*keys[:40], *random.Random(1).sample(keys, 60)]
    for key in some:
        code, content = await caller.call("Neighbors", pb.NeighborsRequest(node=key, limit=1_000))
        assert code == grpc.StatusCode.OK
        assert not [name for name in hidden if name in content]
        graph = pb.NeighborsResponse.FromString(content)
        assert graph.total_degree == graph.center.degree == len(graph.edges)
        degrees |= {node.key: node.degree for node in (graph.center, *graph.nodes)}
        edges |= {(edge.head, edge.predicate, edge.tail) for edge in graph.edges}
        assert {node.key for node in graph.nodes} <= set(keys)
    assert len(edges) > 50
    only_hidden = [
        engine.snapshot.node_key(int(node)) for node in np.flatnonzero(~view.allowed({})) if node >= view.tool_count
    ]
    assert only_hidden, "no node that only hidden tools have: the test is worth nothing"
    for key in only_hidden[:20]:
        assert (await caller.call("Neighbors", pb.NeighborsRequest(node=key)))[0] == grpc.StatusCode.NOT_FOUND


async def test_the_catalogue_counts_what_is_visible(engine: Engine, view: VisibleSnapshot, caller: Caller) -> None:
    _, content = await caller.call("GetCatalog", pb.GetCatalogRequest(page_size=4))
    first = pb.GetCatalogResponse.FromString(content)
    found = list(first.tool_ids)
    token = first.next_page_token
    while token:
        _, content = await caller.call("GetCatalog", pb.GetCatalogRequest(page_size=4, page_token=token))
        page = pb.GetCatalogResponse.FromString(content)
        found, token = [*found, *page.tool_ids], page.next_page_token
    assert found == ids_of(engine, SEEN)
    assert first.tool_count == first.node_counts["tool"] == first.filter_keys["id"] == len(found)
    assert first.filter_keys["namespace"] == 1
    assert [(each.name, each.tool_count) for each in first.namespaces] == [(SEEN, len(found))]
    hidden = {name for each in engine.namespaces if each.name != SEEN for name in each.objects}
    named = set(first.namespaces[0].objects)
    assert named and all(view.find_node(f"business_object:{name}") is not None for name in named)
    assert hidden - named, "other namespaces have objects of their own"
    assert sum(first.node_counts.values()) == int(view.allowed({}).sum())
    assert sum(first.edge_counts.values()) == len(view.edges) < len(engine.snapshot.edges)
