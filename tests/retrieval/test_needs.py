"""Needs over the wire, with a real engine: each is served, the answer says how well, and what is no need is refused by name."""

import json
from pathlib import Path

import pytest

from egotools.v1 import egotools_pb2 as pb
from inference import DEFAULT_ENCODER, load_encoder
from retrieval.engine import Engine, open_engine
from retrieval.query.request import Request
from services.jobs.build import build_snapshot
from services.server.messages import decode_request, request_cost
from tests.harness.engines import serving
from tests.services.server.test_admission import INVALID, connected
from tests.services.server.test_server import failure, told

NEEDS = ["find employees by name", "give an award to an employee"]


@pytest.mark.parametrize("preset", ["default", "fast", "rrf", "paper"])
async def test_each_need_is_served_before_one_is_served_twice(engine: Engine, preset: str) -> None:
    async with serving(engine) as server, connected(server.address) as stub:
        asked = pb.RetrieveRequest(needs=[*NEEDS, NEEDS[0]], k=4, preset=preset, explain=True)
        answer = await stub.Retrieve(asked)
        batch = await stub.RetrieveBatch(pb.RetrieveBatchRequest(requests=[asked]))
    assert {tool.id for tool in answer.tools[:2]} == {"hr/search_employees", "hr/give_spot_award"}
    assert [each.need for each in answer.need_results] == [*NEEDS, NEEDS[0]]
    assert [each.tool for each in answer.need_results][:2] == ["hr/search_employees", "hr/give_spot_award"]
    found = {tool.id: tool for tool in answer.tools}
    assert 0 in found["hr/search_employees"].needs and 1 in found["hr/give_spot_award"].needs
    assert not found["hr/search_employees"].completes
    scores = [tool.score for tool in answer.tools]
    assert scores == sorted(scores, reverse=True) and [tool.rank for tool in answer.tools] == [1, 2, 3, 4]
    assert [tool.id for tool in batch.results[0].response.tools] == [tool.id for tool in answer.tools]


async def test_a_plan_leads_to_the_best_tool_of_each_need(engine: Engine) -> None:
    async with serving(engine) as server, connected(server.address) as stub:
        plan = await stub.Plan(pb.PlanRequest(query="give Jan Novak a spot award", needs=[NEEDS[1], NEEDS[1]]))
    assert [each.tool for each in plan.need_results] == ["hr/give_spot_award"] * 2
    assert [step.tool_id for step in plan.steps if step.kind == "goal"] == ["hr/give_spot_award"]
    assert len(plan.steps) > 1 and plan.steps[-1].confidence < 1


async def test_filters_done_and_the_context_hold_for_needs(engine: Engine) -> None:
    async with serving(engine) as server, connected(server.address) as stub:
        hidden = pb.RetrieveRequest(needs=NEEDS, filters={"id": pb.StringList(values=["!hr/give_spot_award"])})
        done = pb.RetrieveRequest(query="give Jan a spot award", needs=NEEDS, done=["hr/search_employees"], auto_k=True)
        for asked, gone in ((hidden, "hr/give_spot_award"), (done, "hr/search_employees")):
            answer = await stub.Retrieve(asked)
            assert answer.tools and gone not in {tool.id for tool in answer.tools}
            assert gone not in {each.tool for each in answer.need_results}


@pytest.mark.parametrize(
    ("fields", "subject"),
    [
        ({}, "query"),
        ({"needs": ["find a tool"] * 33}, "needs"),
        ({"needs": ["ok", "x" * 501]}, "needs[1]"),
        ({"needs": [""]}, "needs[0]"),
        ({"needs": ["4711 / 12"]}, "needs[0]"),
    ],
)
async def test_what_is_no_need_is_named(engine: Engine, fields: dict[str, list[str]], subject: str) -> None:
    async with serving(engine) as server, connected(server.address) as stub:
        error = await failure(stub.Retrieve(pb.RetrieveRequest(needs=fields.get("needs", []))))
    assert (error.code(), told(error).subject) == (INVALID, subject)


def test_needs_count_in_the_cost_of_a_call() -> None:
    one, many = (decode_request(pb.RetrieveRequest(needs=["find a document by its title " * 10] * n)) for n in (1, 32))
    assert request_cost(many) >= 8 * request_cost(one)
    assert request_cost(many, reranked=True) >= request_cost(many) + 32, "ten tools are read again for each"


POOR = {
    "resv_cxl": "Cancel",
    "resv_chg": "Change booking",
    "cust_find": "Find customer",
    "cust_new": "",
    "veh_dmg_add": "Report damage",
    "veh_svc_due": "Due for service",
    "loc_hrs": "Opening hours",
    "dep_rel": "Release deposit",
    "toll_list": "Tolls",
    "rate_quote": "Quote",
}
"""Tools of a car hire that hardly have documents: name → description."""


def test_documents_of_two_words_serve_a_need_and_not_every_need(tmp_path: Path) -> None:
    table = "\n".join(json.dumps({"id": name, "name": name, "description": said}) for name, said in POOR.items())
    (tmp_path / "tools.jsonl").write_text(table, encoding="utf-8")
    build_snapshot([str(tmp_path / "tools.jsonl")], tmp_path / "store", encoder=load_encoder(DEFAULT_ENCODER))
    served = (
        "find a customer by name",
        "report damage to a car",
        "refund the deposit",
        "get opening hours of a branch",
    )
    unserved = ("book a flight", "get the weather forecast for a city", "run payroll for employees")
    answer = open_engine(tmp_path / "store").retriever("default").retrieve(Request(needs=(*served, *unserved)))
    assert {each.need: each.unserved for each in answer.need_results} == {
        **dict.fromkeys(served, False),
        **dict.fromkeys(unserved, True),
    }
