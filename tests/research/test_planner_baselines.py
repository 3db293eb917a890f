"""The baselines of the planner: how answers are scored, keyword search, and the loop of tool calls with a scripted model over HTTP."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from datagen.personal import TruthTables, write_personal_data
from datagen.personal.write_personal_data import TODAY
from egotools import Tool
from egotools.calling.tool_answer import ToolAnswer
from inference import OpenAIChat
from planners.dfs.request_set import GoldRequest
from research.planner_baselines import asked_requests, by_keywords, scored, summary
from research.tool_calling import Called, call_tools
from scripts.graph_truth import true_answer
from tests.harness.chat import Body, Reply, chat_server
from tests.planners.dfs.personal_tables import graph_of

ANN, BEA = "ann@example.com", "bea@example.com"


@pytest.fixture
def truth() -> TruthTables:
    tables = TruthTables()
    tables.add("Person", ANN, name="Ann Reed", email_addresses=[ANN])
    tables.add("Person", BEA, name="Bea Reed", email_addresses=[BEA])
    for id_, subject, sender in (("m1", "roadmap", ANN), ("m2", "lunch", BEA), ("m3", "lunch", ANN)):
        tables.add("Email", id_, subject=subject, content="text", sent_at="2025-01-10T12:00:00+00:00")
        tables.link(("Email", id_), "from", ("Person", sender))
        tables.link(("Email", id_), "sent_on", ("Date", "2025-01-10/2025-01-11"))
    return tables


def _gold(
    returned: str, constraints: str, *, action: str = "find", request: str = "lunch with Ann Reed"
) -> GoldRequest:
    graph = graph_of(returned, "all", constraints).model_copy(update={"action": action})
    return GoldRequest(id="personal-x", split="test", paper=False, hops=1, request=request, graph=graph)


FROM_ANN = "e from p; p.name = Ann Reed"


@pytest.mark.parametrize(
    ("returned", "constraints", "action", "given", "right", "precision", "recall"),
    [
        ("e", FROM_ANN, "find", ["m3", "m1"], True, 1.0, 1.0),
        ("e", FROM_ANN, "find", ["m1"], False, 1.0, 0.5),
        ("e", FROM_ANN, "find", ["m1", "m2", "m3", "m9"], False, 0.5, 1.0),
        ("e", FROM_ANN, "find", [], False, 0.0, 0.0),
        ("p", "e from p; e.subject contains roadmap", "find", [" ann reed "], True, 1.0, 1.0),
        ("p", "e from p; e.subject contains roadmap", "find", [ANN], True, 1.0, 1.0),
        ("d", "e sent_on d; e.subject contains roadmap", "find", ["2025-01-10"], True, 1.0, 1.0),
        ("e", FROM_ANN, "count", ["2"], True, 1.0, 1.0),
        ("e", FROM_ANN, "count", ["m1", "m3"], False, 0.0, 0.0),
    ],
)
def test_answers_are_identifiers_or_names_and_a_count_is_its_number(
    truth: TruthTables, returned: str, constraints: str, action: str, given: list[str], right: bool, precision: float, recall: float
) -> None:  # fmt: skip
    found = scored(_gold(returned, constraints, action=action), given, truth)
    assert (found.right, found.precision, found.recall) == (right, precision, recall)


def test_keyword_search_sees_words_and_no_relations(truth: TruthTables) -> None:
    assert by_keywords(_gold("e", "e.subject contains roadmap", request="the roadmap"), truth).right
    assert by_keywords(_gold("e", FROM_ANN, request="mails from Ann Reed"), truth).recall == 0.0


def test_the_requests_are_the_eight_of_the_paper_and_others_that_have_an_answer(tmp_path: Path) -> None:
    truth = write_personal_data(tmp_path / "home", messages=60, seed=3)
    asked = asked_requests(truth, 3)
    assert [each.paper for each in asked] == [True] * 8 + [False] * 3
    assert all(each.split == "test" and true_answer(each.graph, truth, TODAY) for each in asked[8:])
    assert asked == asked_requests(truth, 3)


class Tools:
    """Answers a call by its arguments."""

    def __init__(self) -> None:
        self.calls: list[Mapping[str, Any]] = []

    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        self.calls.append(arguments)
        return ToolAnswer(ok=True, status="ok", body={"emails": ["m1", "m3"], "more": "x" * 500})


TOOL = Tool(
    id="t", name="list_emails", title="", description="List emails.", namespace="n",
    input_schema_json=json.dumps({"type": "object", "properties": {"who": {"type": "string", "description": "Who."}}}),
)  # fmt: skip


async def _ask(*answers: str) -> tuple[Called, list[Body], Tools]:
    tools = Tools()

    def script(_request: Body, number: int) -> Reply:
        return Reply(text=answers[min(number, len(answers)) - 1], prompt_tokens=70)

    with chat_server(script) as server:
        model = OpenAIChat("m", base_url=server.base_url, api_key="none")
        called = await call_tools("Mails of Ann?", model, [TOOL], tools, today="Monday 2026-06-15", shown=60)
    return called, server.requests, tools


CALL = json.dumps({"tool": "list_emails", "arguments": {"who": "Ann"}})


async def test_the_model_calls_tools_gets_their_answers_cut_and_answers() -> None:
    called, asked, tools = await _ask(CALL, json.dumps({"answer": ["m1", "m3"]}))
    assert called._replace(seconds=0.0) == Called(("m1", "m3"), 140, 1, 0.0)
    assert tools.calls == [{"who": "Ann"}]
    assert '- list_emails {"who": "Who."}: List emails.' in asked[0]["messages"][0]["content"]
    forms = [each["response_format"]["json_schema"]["schema"]["anyOf"] for each in asked]
    assert [[next(iter(form["properties"])) for form in each] for each in forms] == [["tool"], ["tool", "answer"]]
    shown = asked[1]["messages"][-1]["content"]
    assert shown.startswith('{"emails": ["m1", "m3"]') and shown.endswith("more characters)") and len(shown) < 100


@pytest.mark.parametrize(
    ("answer", "calls", "said"),
    [(CALL, 8, "no answer in 8 steps"), ("I cannot.", 0, "JSONDecodeError"), ('{"tool": "gone"}', 0, "KeyError")],
)
async def test_the_loop_is_bounded_and_a_bad_step_ends_it(answer: str, calls: int, said: str) -> None:
    called, _, tools = await _ask(answer)
    assert called.answers is None and len(tools.calls) == called.calls == calls and called.said.startswith(said)


def test_the_summary_is_means_over_requests(truth: TruthTables) -> None:
    outcomes = [
        scored(_gold("e", FROM_ANN), given, truth)._replace(tokens=1_000, calls=2) for given in (["m1", "m3"], [])
    ]
    line = summary("x", outcomes)
    assert line.startswith("x: right 1 of 2; precision 0.50, recall 0.50, 1,000 prompt tokens, 2.0 calls")
