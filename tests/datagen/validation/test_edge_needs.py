"""Needless tools and open inputs of worded requests, on sure edges."""

from __future__ import annotations

from dataclasses import replace

import pytest

from datagen.synthetic_request import SampleValue, SyntheticRequest
from datagen.tool_links import ToolLinks
from datagen.tool_path import PathEdge, ToolPath
from datagen.validation.edge_needs import EdgeNeeds
from datagen.validation.parsed_request import parse_request
from datagen.validation.tool_slots import CatalogueSlots
from tests.datagen.catalogues import catalogue_of, tool

ORDERS, LINES = (
    tool("search_orders", "query", "orders[].order_id"),
    tool("list_order_lines", "order_id", "lines[].line_id"),
)
CATALOGUE = catalogue_of((ORDERS, LINES))
EDGE = PathEdge(
    kind="R-P", source=ORDERS.id, target=LINES.id, output="orders[].order_id", parameter="order_id", confidence=0.95
)
CHAIN = ToolPath(tools=(ORDERS.id, LINES.id), edges=(EDGE,), shape="chain")
WORDS = SampleValue(tool=ORDERS.id, parameter="query", value="pumps")
NUMBER = SampleValue(tool=LINES.id, parameter="order_id", value="4711")


@pytest.mark.parametrize(
    ("path", "values", "request_class", "confidence", "because"),
    [
        (CHAIN, (WORDS,), "implicit-multi-step", 0.95, ""),
        (CHAIN, (WORDS,), "implicit-multi-step", 0.6, "not sure"),
        (CHAIN, (WORDS, NUMBER), "implicit-multi-step", 0.95, f"states all that {ORDERS.id} gives"),
        (CHAIN, (WORDS, NUMBER), "conditional-multi-step", 0.95, ""),
        (ToolPath(tools=(LINES.id,)), (NUMBER,), "single-intent", 0.95, ""),
        (ToolPath(tools=(LINES.id,)), (), "single-intent", 0.95, "neither said nor given"),
    ],
)
def test_each_tool_is_needed_and_each_input_is_given(
    path: ToolPath, values: tuple[SampleValue, ...], request_class: str, confidence: float, because: str
) -> None:
    request = SyntheticRequest(
        id="r", text="Show the lines", request_class=request_class, path=path, values=values, generator="rules.v2"
    )
    rp = ToolLinks((replace(EDGE, confidence=confidence),))
    fault = EdgeNeeds(CATALOGUE, rp, CatalogueSlots(CATALOGUE)).find_fault(request, parse_request(request.text))
    assert because in fault and bool(fault) is bool(because)
