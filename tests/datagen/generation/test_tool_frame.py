"""Tools read as intentions."""

from __future__ import annotations

import pytest

from datagen.generation.lexicon import load_lexicon
from datagen.generation.tool_frame import Reading, read_tool
from ontology.tool import Parameter, Tool
from tests.datagen.generation.material import catalogue_of, enterprise


def _read(tool_id: str) -> Reading:
    reading = read_tool(enterprise(), tool_id, load_lexicon())
    assert isinstance(reading, Reading), reading
    return reading


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
def test_what_a_tool_is_wanted_for(tool: str, kind: str, noun: str, identity: str, owner: str) -> None:
    reading = _read(tool)
    assert (reading.kind, reading.noun.key) == (kind, noun)
    assert (reading.identity.names[0] if reading.identity else "") == identity
    assert (reading.owner.names[0] if reading.owner else "") == owner


def test_a_tool_about_oneself_is_mine() -> None:
    assert _read("hr/getMyProfile").mine
    assert not _read("hr/getEmployee").mine


def test_an_amount_and_its_currency_are_one_thing_to_say() -> None:
    money = next(one for one in _read("finance/transferBudget").arguments if one.field and one.field.kind == "money")
    assert money.names == ("amount.amount", "amount.currency")


def test_pages_and_sessions_are_never_said() -> None:
    tool = Tool(
        id="list",
        name="list_orders",
        parameters=tuple(Parameter(name=name) for name in ("page", "pageSize", "session_id", "apiKey", "city")),
    )
    reading = read_tool(catalogue_of(tool), "list", load_lexicon())
    assert isinstance(reading, Reading)
    assert [one.names[0] for one in reading.arguments] == ["city"]


def test_a_decision_is_told_from_other_choices() -> None:
    decision = _read("hr/decideLeaveRequest").decision
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
    reading = read_tool(catalogue_of(tool, other), "a", load_lexicon())
    assert isinstance(reading, Reading)
    assert (reading.kind, reading.noun.key) == ("list", "movie")
    assert reading.quality
