"""Tools that the values of a request speak for."""

from pathlib import Path

import pytest

from inference import HashingEncoder
from ontology import Ontology, Parameter, Tool
from retrieval.graph_retriever import GraphRetriever
from retrieval.query.context import support_by_values
from retrieval.query.request import Request
from retrieval.query.typed_values import find_values
from retrieval.snapshot.reader import Snapshot, open_snapshot
from tests.retrieval.conftest import content_of, published


def _id(name: str, example: str = "") -> Parameter:
    return Parameter(name=name, required=True, example=example)


TOOLS = (
    Tool(id="crm/close_case", name="close_case", description="Done.", parameters=(_id("case_id", "C-21066"),)),
    Tool(id="desk/rate_case", name="rate_case", description="Stars.", parameters=(_id("case_id"),)),
    Tool(id="crm/open_case", name="open_case", description="New.", returns=(_id("number", "C-21066"),)),
    Tool(id="crm/list_rooms", name="list_rooms", description="Rooms.", parameters=(_id("building", "BLD/77-2"),)),
    Tool(id="hr/getMyProfile", name="getMyProfile", description="Who is asking.", returns=(_id("employee_id"),)),
    Tool(id="hr/get_current_user", name="get_current_user", parameters=(_id("tenant"),)),
    Tool(id="hr/get_payslips", name="get_payslips", parameters=(_id("employee_id"),)),
)
REQUEST = "that is done with, C-21066"


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory, ontology: Ontology) -> Snapshot:
    folder: Path = tmp_path_factory.mktemp("cases")
    published(folder, content_of(TOOLS, ontology))
    return open_snapshot(folder)


def _support(snapshot: Snapshot, text: str) -> dict[str, float]:
    support = support_by_values(snapshot, find_values(text, snapshot.value_shapes))
    return {snapshot.tool_id(tool): strength for tool, strength in support.items()}


def test_tools_that_take_the_entity_are_supported_whether_they_show_the_shape_or_not(cases: Snapshot) -> None:
    support = _support(cases, REQUEST)
    assert 1 >= support["crm/close_case"] >= support["desk/rate_case"] > 0
    assert "crm/list_rooms" not in support and "hr/get_payslips" not in support


def test_a_filter_holds_for_what_values_bring_too(cases: Snapshot) -> None:
    request = Request(query=REQUEST, k=10, filters={"id": ["hr/*"]})
    assert all(tool.id.startswith("hr/") for tool in GraphRetriever(cases, HashingEncoder()).retrieve(request).tools)
