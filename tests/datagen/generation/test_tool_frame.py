"""The frames of tools."""

from __future__ import annotations

import pytest

from datagen.generation.lexicon import load_lexicon
from datagen.generation.tool_frame import ToolFrame, parse_tool
from ontology.tool import Parameter, Tool
from tests.datagen.generation.material import catalogue_of, enterprise


def _frame(tool_id: str) -> ToolFrame:
    frame = parse_tool(enterprise(), tool_id, load_lexicon())
    assert isinstance(frame, ToolFrame), frame
    return frame


@pytest.mark.parametrize(
    ("tool", "kind", "noun", "identity", "owner"),
    [
        ("travel/submitExpenseReport", "act", "expense report", "reportId", ""),
        ("finance/getBudget", "get", "budget", "", "costCenterId"),
        ("procurement/listQuotations", "list", "quotation", "", "rfqId"),
        ("facilities/bookRoom", "act", "room", "roomId", ""),
        ("sales/createQuote", "create", "quote", "", "customerId"),
        ("hr/searchCandidates", "search", "candidate", "", ""),
        ("hr/updateEmployee", "update", "employee", "employeeId", ""),
        ("hr/getCompensation", "get", "compensation", "", "employeeId"),
        ("legal/send_for_signature", "act", "draft", "draft_id", ""),
        ("warehouse/trackShipment", "get", "shipment", "shipmentId", ""),
    ],
)
def test_the_frame_of_a_tool(tool: str, kind: str, noun: str, identity: str, owner: str) -> None:
    frame = _frame(tool)
    assert (frame.kind, frame.noun.key) == (kind, noun)
    assert (frame.identity.names[0] if frame.identity else "") == identity
    assert (frame.owner.names[0] if frame.owner else "") == owner


def test_a_tool_about_oneself_is_own() -> None:
    assert _frame("hr/getMyProfile").own
    assert not _frame("hr/getEmployee").own


def test_an_amount_and_its_currency_are_one_argument() -> None:
    money = next(one for one in _frame("finance/transferBudget").arguments if one.field and one.field.kind == "money")
    assert money.names == ("amount.amount", "amount.currency")


def test_pages_and_sessions_are_no_arguments() -> None:
    tool = Tool(
        id="list",
        name="list_orders",
        parameters=tuple(Parameter(name=name) for name in ("page", "pageSize", "session_id", "apiKey", "city")),
    )
    frame = parse_tool(catalogue_of(tool), "list", load_lexicon())
    assert isinstance(frame, ToolFrame)
    assert [one.names[0] for one in frame.arguments] == ["city"]


def test_a_decision_is_told_from_other_choices() -> None:
    decision = _frame("hr/decideLeaveRequest").decision
    assert decision is not None
    assert decision.choices == ("approve", "reject")


def test_a_name_that_is_a_path_is_read_by_the_path() -> None:
    tool = Tool(
        id="a",
        name="GET_movie-upcoming",
        description="What comes out soon",
        parameters=(Parameter(name="region"),),
        metadata={"method": "GET", "path": "/movie/upcoming"},
    )
    other = Tool(
        id="b",
        name="GET_movie-movie_id",
        parameters=(Parameter(name="movie_id", required=True, location="path"),),
        metadata={"method": "GET", "path": "/movie/{movie_id}"},
    )
    frame = parse_tool(catalogue_of(tool, other), "a", load_lexicon())
    assert isinstance(frame, ToolFrame)
    assert (frame.kind, frame.noun.key) == ("list", "movie")
    assert frame.qualifiers
