"""Values and messages: the same fields, the same content in both directions, and values that need no gRPC."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from egotools import values
from egotools.codec import message_fields, read_value
from egotools.v1 import egotools_pb2 as pb
from egotools.values import (
    EgoGraph,
    EntryMatch,
    GraphEdge,
    GraphNode,
    ParameterBinding,
    Provenance,
    RankedTool,
    Reasons,
    Response,
    Tool,
    TraversedEdge,
)
from tests.conftest import ROOT

MESSAGES = {
    **{name: getattr(pb, name) for name in values.__all__ if hasattr(pb, name)},
    "Query": pb.RetrieveRequest,
    "Response": pb.RetrieveResponse,
    "EgoGraph": pb.NeighborsResponse,
    "CatalogInfo": pb.GetCatalogResponse,
}
BESIDE = {"Tool": {"schema_json", "snapshot_id"}}  # fields of the response around the tool

RESPONSE = Response(
    tools=(
        RankedTool(
            id="erp/list_orders",
            rank=1,
            score=0.5,
            name="list_orders",
            probability=0.0,
            reasons=Reasons(
                entries=(EntryMatch(node="tool:erp/list_orders", kind="semantic", text="orders", score=0.75),),
                edges=(TraversedEdge(head="a:b", predicate="acts_on", tail="c:d", confidence=0.25),),
                features={"bm25_text": 2.0},
                bindings=(ParameterBinding(parameter="customer_id", supplier="crm/find_customer"),),
            ),
        ),
        RankedTool(id="crm/find_customer", rank=2, score=-1.0),
    ),
    snapshot_id="s",
    preset="default",
    timings_ms={"total": 1.5},
    fallbacks=("no semantic matching: the encoder is down",),
    answerable_probability=0.0,
    unanswerable=True,
)
GRAPH = EgoGraph(
    center=GraphNode(key="tool:a", type="tool", name="a", degree=2, tool_id="a"),
    nodes=(GraphNode(key="parameter:b", type="parameter", name="b", surface_forms=("b", "B")),),
    edges=(
        GraphEdge(
            head="tool:a",
            predicate="has_parameter",
            tail="parameter:b",
            provenance=(Provenance(tool_id="a", field="parameters.b", extractor="rules.v1"),),
        ),
    ),
    total_degree=2,
    snapshot_id="s",
)


@pytest.mark.parametrize("name", [name for name in values.__all__ if is_dataclass(getattr(values, name))])
def test_a_value_has_the_fields_of_its_message(name: str) -> None:
    named = {each.name for each in fields(getattr(values, name))} - BESIDE.get(name, set())
    others = {"truncated"} if name == "EgoGraph" else set()
    assert named | others == set(MESSAGES[name].DESCRIPTOR.fields_by_name)


@pytest.mark.parametrize("value", [RESPONSE, GRAPH], ids=["response", "graph"])
def test_what_is_encoded_is_read_back(value: Any) -> None:
    message = MESSAGES[type(value).__name__](**message_fields(value))
    assert read_value(type(value), type(message).FromString(message.SerializeToString())) == value


def test_a_number_that_is_not_there_is_none_and_reasons_that_are_not_there_are_empty() -> None:
    read = read_value(Response, pb.RetrieveResponse(tools=[pb.RankedTool(id="a", rank=1)]))
    assert read.answerable_probability is None and read.tools[0].probability is None
    assert read.tools[0].reasons == Reasons()


def test_half_a_surrogate_pair_is_replaced_wherever_it_stands() -> None:
    graph = EgoGraph(center=GraphNode(key="tool:\ud800", type="tool", name="a", surface_forms=("\ud800",)))
    message = pb.NeighborsResponse(**message_fields(graph))
    assert (message.center.key, list(message.center.surface_forms)) == ("tool:?", ["?"])


def test_fields_beside_the_message_are_given() -> None:
    tool = read_value(Tool, pb.Tool(id="a", metadata_json='{"tags": ["x"]}'), schema_json="{}", snapshot_id="s")
    assert (tool.id, tool.metadata, tool.schema, tool.snapshot_id) == ("a", {"tags": ["x"]}, {}, "s")
    assert Tool(id="a", name="a", title="a", description="", namespace="").metadata == {}


def test_the_values_and_errors_need_neither_grpc_nor_protobuf() -> None:
    code = (
        "import sys, egotools.values, egotools.client_errors\n"
        "print(sorted({'grpc', 'google.protobuf', 'numpy'} & set(sys.modules)))\n"
        "from egotools import Client\n"
        "print('grpc' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "True"]
