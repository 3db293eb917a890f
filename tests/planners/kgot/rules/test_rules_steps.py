"""The steps by rules at their seams: what they vote, which calls they want, what they say when something is missing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from egotools import ClientError, Parameter, Tool, UnavailableError
from egotools.tool_plan import PlanInput, PlanStep, ToolPlan
from planners.finding.tool_finder import FoundTool, FoundTools
from planners.kgot.asked import (
    Asked,
    AskedEdge,
    AskedFilter,
    AskedLookup,
    AskedOrder,
    AskedVariable,
    TableShape,
    Unreadable,
)
from planners.kgot.kgot_task import MadeCall, TaskView
from planners.kgot.rules.needed_calls import CallPlanner
from planners.kgot.rules.rules_steps import rules_makers
from planners.kgot.step_makers import Insert, Retrieve, StepMakers, Vote, WantedCall
from tests.planners.kgot.rules.views import answer, view_of


@dataclass
class Reader:
    """Reads every question alike."""

    asked: Asked | Unreadable
    tables: list[Sequence[TableShape]] = field(default_factory=list)

    def read(self, question: str, tables: Sequence[TableShape], files: Sequence[str]) -> Asked | Unreadable:
        self.tables.append(tables)
        return self.asked


def _tool(id_: str, returns: tuple[Parameter, ...], effect: str = "read", **inputs: Any) -> FoundTool:
    schema = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in inputs},
        "required": [n for n in inputs if inputs[n]],
    }
    tool = Tool(
        id=id_,
        name=id_.rpartition("/")[2],
        title=id_,
        namespace="",
        description="",
        input_schema_json=json.dumps(schema),
        effect=effect,
        returns=returns,
    )
    return FoundTool(rank=1, score=1.0, explanation="", tool=tool)


def _returns(*names: str) -> tuple[Parameter, ...]:
    return tuple(Parameter(name=name, type="string") for name in names)


_SHOP = AskedVariable(
    name="s",
    label="Shop",
    nouns=("Shop",),
    identifier="shopId",
    lookup=AskedLookup(request="find shops by name", takes="shopId", gives="shops[].shopId", fields={"name": "q"}),
)
_SALE = AskedVariable(name="v", label="Sale", nouns=("Sale",), identifier="saleId")
_EDGE = AskedEdge(
    name="sold_by",
    source="v",
    target="s",
    field="shopId",
    forward=AskedLookup(request="get a sale", takes="saleId", gives="shopId"),
    backward=AskedLookup(request="list sales of a shop", takes="shopId", gives="sales[].saleId"),
)
_ASKED = Asked(
    variables=(_SALE, _SHOP),
    edges=(_EDGE,),
    filters=(AskedFilter(variable="s", field="name", operator="=", value="Corner"),),
    measure="count",
    variable="v",
)
_FIND = _tool("shop/find", _returns("shops[].shopId", "shops[].name"), q=True)
_LIST = _tool("shop/sales", _returns("sales[].saleId"), shopId=True)
_CHANGES = _tool("shop/close", _returns("shops[].shopId"), effect="destructive", q=True)
_SHOPS = answer({"shops": [{"name": "Corner", "shopId": "S1"}]}, "shop/find", q="Corner")
_SALES = answer(
    {"sales": [{"saleId": "V1", "shopId": "S1"}, {"saleId": "V2", "shopId": "S1"}]}, "shop/sales", shopId="S1"
)


def _found(*tools: FoundTool) -> FoundTools:
    ranked = tuple(replace(each, rank=rank) for rank, each in enumerate(tools, start=1))
    return FoundTools(request="?", tools=ranked, snapshot_id="s")


def _makers(asked: Asked | Unreadable = _ASKED, planner: CallPlanner | None = None) -> StepMakers:
    return rules_makers(Reader(asked), planner=planner)


def _vote(makers: StepMakers, view: TaskView) -> Vote:
    vote = asyncio.run(makers.next_step.vote(view, 0))
    assert vote is not None
    return vote


def _calls(makers: StepMakers, view: TaskView, *tools: FoundTool) -> tuple[WantedCall, ...]:
    return asyncio.run(makers.chooser.calls(view, "?", _found(*tools), 0))


def test_what_is_missing_is_asked_for_step_by_step_until_the_graph_answers() -> None:
    makers = _makers()
    nothing = view_of("?")
    assert _vote(makers, nothing) == Insert(reason="find shops by name")
    assert _calls(makers, nothing, _CHANGES, _FIND) == (WantedCall(tool_id="shop/find", arguments={"q": "Corner"}),)
    shops = view_of("?", _SHOPS)
    assert _vote(makers, shops) == Insert(reason="list sales of a shop")
    assert _calls(makers, shops, _LIST) == (WantedCall(tool_id="shop/sales", arguments={"shopId": "S1"}),)
    vote = _vote(makers, view_of("?", _SHOPS, _SALES))
    assert isinstance(vote, Retrieve)
    assert "count(DISTINCT `v`)" in vote.query


def test_a_name_that_nothing_has_is_said_and_not_counted_as_none() -> None:
    makers = _makers()
    _vote(makers, view_of("?"))
    _calls(makers, view_of("?"), _FIND)
    vote = _vote(makers, view_of("?", answer({"shops": []}, "shop/find", q="Corner")))
    assert isinstance(vote, Insert)
    assert "no shop was found whose name is Corner" in vote.reason


@pytest.mark.parametrize(
    ("status", "said"), [("503 Service Unavailable", "failed (503"), ("DEADLINE_EXCEEDED", "failed (DEADLINE")]
)
def test_a_call_that_failed_is_no_empty_answer(status: str, said: str) -> None:
    makers = _makers()
    _calls(makers, view_of("?"), _FIND)
    _calls(makers, view_of("?", _SHOPS), _LIST)
    failed = replace(_SALES, ok=False, status=status, body="oops")
    view = replace(view_of("?", _SHOPS), calls=(_SHOPS, failed))
    vote = _vote(makers, view)
    assert isinstance(vote, Insert)
    assert said in vote.reason


def test_a_thing_that_does_not_exist_is_an_answer() -> None:
    makers = _makers()
    _calls(makers, view_of("?"), _FIND)
    _calls(makers, view_of("?", _SHOPS), _LIST)
    none = replace(_SALES, ok=False, status="404 Not Found", body={})
    assert isinstance(_vote(makers, replace(view_of("?", _SHOPS), calls=(_SHOPS, none))), Retrieve)


def test_why_no_tool_fits_is_said() -> None:
    makers = _makers()
    assert _calls(makers, view_of("?"), _CHANGES) == ()
    vote = _vote(makers, view_of("?"))
    assert isinstance(vote, Insert)
    assert "shop/close may change something" in vote.reason


def test_a_question_that_cannot_be_read_is_said_at_each_step() -> None:
    makers = _makers(Unreadable(reason="it rhymes"))
    view = view_of("?")
    assert _vote(makers, view) == Insert(reason="The question cannot be answered by rules: it rhymes.", is_final=True)
    assert _calls(makers, view, _FIND) == ()
    assert asyncio.run(makers.reader.query(view, "", forced=True)) is None
    assert asyncio.run(makers.reader.direct(view, forced=True)) is None
    assert asyncio.run(makers.answerer.final(view, "[]", 0)) is None


def test_an_empty_answer_is_not_asked_for_again() -> None:
    makers = _makers()
    _calls(makers, view_of("?"), _FIND)
    _calls(makers, view_of("?", _SHOPS), _LIST)
    view = view_of("?", _SHOPS, _SALES)
    query = asyncio.run(makers.reader.query(view, "", forced=False))
    assert query
    assert asyncio.run(makers.reader.query(view, query, forced=False)) is None
    vote = _vote(makers, replace(view, fruitless=(query,)))
    assert isinstance(vote, Insert)
    assert "nothing was found for Shop name = Corner; Sale sold_by Shop" in vote.reason
    vote = _vote(makers, replace(view, fruitless=(query,), faults={query: "no module named x"}))
    assert isinstance(vote, Insert)
    assert vote.reason.endswith("by rules: the query of the graph failed (no module named x).")


@dataclass
class Planner:
    """Plans each goal alone."""

    fault: ClientError | None = None
    asked: list[tuple[tuple[str, ...], dict[str, str]]] = field(default_factory=list)

    async def plan(self, goals: Sequence[str] = (), *, have: Mapping[str, str] | None = None) -> ToolPlan:
        self.asked.append((tuple(goals), dict(have or {})))
        if self.fault is not None:
            raise self.fault
        inputs = tuple(PlanInput(parameter=name, source="have", value=value) for name, value in (have or {}).items())
        return ToolPlan(steps=(PlanStep(number=1, tool_id=goals[0], kind="goal", confidence=1.0, inputs=inputs),))


def test_calls_are_planned_by_the_service_with_the_values_that_are_known() -> None:
    planner = Planner()
    wanted = _calls(_makers(planner=planner), view_of("?"), _FIND)
    assert wanted == (WantedCall(tool_id="shop/find", arguments={"q": "Corner"}),)
    assert planner.asked == [(("shop/find",), {"q": "Corner"})]


def test_without_an_answer_of_the_planner_the_binding_stands() -> None:
    planner = Planner(fault=UnavailableError("gone", code="UNAVAILABLE"))
    assert _calls(_makers(planner=planner), view_of("?"), _FIND)[0].arguments == {"q": "Corner"}


_READ, _UNPACK = _tool("kgot/inspect_file", (), file=True), _tool("kgot/extract_zip", (), file=True)


def _page(name: str, page: int, pages: int) -> MadeCall:
    text = "| a | b |\n|---|---|\n| 1 | x |\n"
    more = {"page": page} if page > 1 else {}
    return answer({"file": name, "page": page, "pages": pages, "text": text}, "kgot/inspect_file", file=name, **more)


def test_archives_are_unpacked_and_every_page_of_every_file_is_read() -> None:
    makers = _makers(Unreadable(reason="no table"))
    view = view_of("?", files=["a.zip", "b.csv"])
    assert "ZIP" in str(_vote(makers, view))
    assert [each.arguments for each in _calls(makers, view, _READ, _UNPACK)] == [{"file": "a.zip"}]
    unpacked = answer(
        {"file": "a.zip", "files": [{"name": "c.csv", "path": "x/c.csv"}]}, "kgot/extract_zip", file="a.zip"
    )
    view = view_of("?", unpacked, files=["a.zip", "b.csv"])
    assert [each.arguments for each in _calls(makers, view, _READ)] == [{"file": "b.csv"}, {"file": "c.csv"}]
    view = view_of("?", unpacked, _page("b.csv", 1, 2), _page("c.csv", 1, 1), files=["a.zip", "b.csv"])
    assert [each.arguments for each in _calls(makers, view, _READ)] == [{"file": "b.csv", "page": 2}]
    view = view_of(
        "?", unpacked, _page("b.csv", 1, 2), _page("b.csv", 2, 2), _page("c.csv", 1, 1), files=["a.zip", "b.csv"]
    )
    assert "no table" in str(_vote(makers, view))


def test_rows_without_a_name_are_not_named_by_a_guess() -> None:
    text = "| date | payee | amount |\n|---|---|---|\n| 2026-01-03 | Rail Co | 120.5 |\n| 2026-02-01 | Air Co | 410 |\n"
    body = {"file": "budget.csv", "page": 1, "pages": 1, "text": text}
    view = view_of("?", answer(body, "kgot/inspect_file", file="budget.csv"), files=["budget.csv"])
    [label] = {node.label for node in view.graph.nodes if "amount" in node.properties}
    asked = Asked(
        variables=(AskedVariable(name="r", label=label, nouns=("Budget",)),),
        variable="r",
        order=AskedOrder(variable="r", field="amount", descending=True),
    )
    vote = _vote(_makers(asked), view)
    assert isinstance(vote, Insert)
    assert "no column names a budget; ask for one of these: amount, date, payee" in vote.reason
    assert isinstance(_vote(_makers(replace(asked, fields=("payee",))), view), Retrieve)


_ROW = Asked(variables=(AskedVariable(name="r", label="Row"),), measure="count", variable="r")


def test_a_file_that_could_not_be_read_is_no_reason_to_read_it_again() -> None:
    failed = MadeCall(
        tool_id="kgot/inspect_file", arguments={"file": "b.pdf"}, ok=False, status="error", body={"error": "damaged"}
    )
    view = replace(view_of("?", files=["b.pdf"]), calls=(failed,))
    vote = _vote(_makers(Unreadable(reason="the files hold no table")), view)
    assert isinstance(vote, Insert)
    assert "the files hold no table" in vote.reason
    assert "b.pdf: damaged" in vote.reason


@pytest.mark.parametrize(
    ("asked", "partial", "code", "final"),
    [
        (Asked(expression="1 + 2"), '[{"expression": "1 + 2"}]', "Decimal('1') + Decimal('2')", None),
        (replace(_ROW, combination="share"), '[{"part": 1, "whole": 4}]', "100 * Decimal('1') / Decimal('4')", None),
        (replace(_ROW, combination="share"), '[{"part": 0, "whole": 0}]', None, None),
        (replace(_ROW, combination="difference"), '[{"first": 1.5, "second": null}]', None, None),
        (_ROW, '[{"answer": 7}]', None, "7"),
        (replace(_ROW, measure="mean", decimals=2), '[{"answer": 2.345}]', None, "2.35"),
        (replace(_ROW, measure="sum"), '[{"answer": 2481.0899999999997}]', None, "2481.09"),
        (replace(_ROW, measure="find", in_order=True), '[{"answer": "b"}, {"answer": "A"}]', None, "A, b"),
        (replace(_ROW, measure="find"), '[{"answer": "0150"}, {"answer": "0150"}]', None, "0150"),
        (_ROW, "[]", None, None),
        (_ROW, "prose", None, None),
    ],
)
def test_what_is_computed_and_said(asked: Asked, partial: str, code: str | None, final: str | None) -> None:
    answerer, view = _makers(asked).answerer, view_of("?")
    made = asyncio.run(answerer.maths(view, partial))
    assert (code in made) if code is not None and made is not None else made is code
    assert asyncio.run(answerer.final(view, partial, 0)) == final


def test_what_was_computed_is_the_answer() -> None:
    answerer = _makers(replace(_ROW, combination="share", decimals=1)).answerer
    assert asyncio.run(answerer.final(view_of("?"), '[{"part": 1, "whole": 3}]\nComputed: 33.3333333', 0)) == "33.3"
