"""Usage lines by a chat model, over loopback and with scripted answers."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from inference.budget import Budget
from inference.chat import Message
from inference.openai_chat import OpenAIChat
from inference.result_cache import ResultCache
from inference.retry import RetryPolicy
from inference.scripted import ScriptedChat
from ingest.usage import usage_llm
from ingest.usage.usage_check import MAX_LINE_CHARS, DocumentVocabulary
from ingest.usage.usage_llm import LlmUsage
from ingest.usage.usage_rules import usage_by_rules
from ontology import ModelError, Parameter, Tool, load_ontology
from tests.harness.chat import Body, ChatServer, Reply, chat_server

ONTOLOGY = load_ontology()
REFUND = "Refunds the order of a customer. Only paid orders can be refunded, at most 50 each day."
LINES = {
    "when_to_use": ["When a client wants the money of a purchase back.", "When a customer wants a refund of an order."],
    "limitations": ["Only paid orders can be refunded."],
    "requests": [
        "give the customer a refund",
        "refund the order of my client",
        "cancel the order",
        "open it in Salesforce",
    ],
}


def tool(number: int = 1, description: str = REFUND) -> Tool:
    return Tool(
        id=f"shop/refund{number}",
        name="refund_order",
        description=description,
        parameters=(Parameter(name="order_id", required=True),),
    )


def good(_request: Body, _number: int) -> Reply:
    return Reply(text=json.dumps(LINES))


def chat(server: ChatServer, budget: Budget | None = None) -> OpenAIChat:
    policy = RetryPolicy(max_retries=1, base_delay_s=0.01, max_delay_s=0.02)
    return OpenAIChat("test", base_url=server.base_url, api_key="k", policy=policy, timeout_s=5.0, budget=budget)


def test_lines_that_the_document_supports_are_kept_with_the_model_as_their_source() -> None:
    with chat_server(good) as server:
        build = LlmUsage(chat(server), ONTOLOGY).make([tool()])
    (lines,) = build.lines
    by_model = [line.text for line in (*lines.when_to_use, *lines.requests) if line.origin == "model"]
    assert by_model == [
        "When a customer wants a refund of an order.",
        "give the customer a refund",
        "refund the order of my client",
    ]
    assert {line.source for line in lines.requests if line.origin == "model"} == {"llm.v1 openai:test prompt 1"}
    assert build.maker == "llm.v1 openai:test prompt 1"
    assert server.base_url not in repr(build)
    assert (build.by_model, build.failed, build.stopped) == (1, {}, "")
    assert {(line.text, line.reason) for line in build.dropped} == {
        ("When a client wants the money of a purchase back.", "unknown-thing: purchase"),
        ("cancel the order", "other-action: cancel"),
        ("open it in Salesforce", "unknown-name: Salesforce"),
    }
    assert build.dropped_by_reason == {"other-action": 1, "unknown-name": 1, "unknown-thing": 1}


def test_rules_fill_up_to_four_requests_and_quotes_of_the_document_stay() -> None:
    build = LlmUsage(ScriptedChat([json.dumps(LINES)]), ONTOLOGY).make([tool()])
    (lines,) = build.lines
    assert [line.origin for line in lines.requests] == ["model", "model", "rule", "rule"]
    assert [(line.text, line.origin) for line in lines.limitations] == [
        ("Only paid orders can be refunded, at most 50 each day.", "document"),
        ("Only paid orders can be refunded.", "model"),
    ]


def test_an_unchanged_document_is_asked_about_once(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = ResultCache()
    with chat_server(good) as server:
        first = LlmUsage(chat(server), ONTOLOGY, cache=cache).make([tool(1), tool(2)])
        assert server.hits == 2
        again = LlmUsage(chat(server), ONTOLOGY, cache=cache).make([tool(1), tool(2)])
        assert server.hits == 2
        LlmUsage(chat(server), ONTOLOGY, cache=cache).make([tool(1), tool(2, "Refunds the order.")])
        assert server.hits == 3
        other = OpenAIChat("other", base_url=server.base_url, api_key="k")
        LlmUsage(other, ONTOLOGY, cache=cache).make([tool(1)])
        assert server.hits == 4
        monkeypatch.setattr(usage_llm, "PROMPT_VERSION", "2")
        LlmUsage(chat(server), ONTOLOGY, cache=cache).make([tool(1)])
        assert server.hits == 5
    assert again == first


def test_where_the_budget_ends_the_rest_has_lines_by_rules() -> None:
    tools = [tool(number) for number in range(6)]
    with chat_server(lambda *_: Reply(text=json.dumps(LINES), prompt_tokens=1_000, completion_tokens=100)) as server:
        build = LlmUsage(chat(server, Budget(max_tokens=4_000)), ONTOLOGY).make(tools)
    assert 0 < build.by_model < len(tools)
    assert build.stopped == "the budget is used up"
    rest = [lines for lines in build.lines if all(line.origin != "model" for line in lines.requests)]
    assert len(rest) == len(tools) - build.by_model
    assert all(lines == usage_by_rules(tools[0], ONTOLOGY) for lines in rest)


def test_with_a_limit_those_tools_come_first_whose_document_does_not_say_when() -> None:
    says = tool(1, "Refunds the order. Use this when a customer sends it back.")
    asked: list[str] = []

    def script(messages: Sequence[Message]) -> str:
        asked.append(messages[1].content)
        return json.dumps(LINES)

    build = LlmUsage(ScriptedChat(script), ONTOLOGY, max_tools=1).make([says, tool(2)])
    assert len(asked) == 1
    assert "at most 50" in asked[0]
    assert build.stopped == "limited to 1 of 2 tools"
    assert [any(line.origin == "model" for line in lines.requests) for lines in build.lines] == [False, True]


def test_an_answer_outside_the_schema_is_repaired_once_and_then_the_rules_take_over() -> None:
    bad = json.dumps({**LINES, "system": "x"})
    model = ScriptedChat([bad, json.dumps(LINES), bad, "no JSON"])
    good_build = LlmUsage(model, ONTOLOGY).make([tool()])
    assert good_build.by_model == 1
    build = LlmUsage(model, ONTOLOGY).make([tool()])
    assert build.by_model == 0
    assert "rejected twice" in build.failed["shop/refund1"]
    assert build.lines == (usage_by_rules(tool(), ONTOLOGY),)


def test_a_model_that_is_down_ends_the_build_with_its_error() -> None:
    with chat_server(lambda *_: Reply(status=500)) as server, pytest.raises(ModelError):
        LlmUsage(chat(server), ONTOLOGY).make([tool(number) for number in range(4)])


ORDER = Tool(
    id="crm/get_order",
    name="get_order",
    description="Gets an order of a customer with its status. At most 50 rows.",
    parameters=(Parameter(name="order_id", bounds=(("maximum", 900),)),),
)


@pytest.mark.parametrize(
    "line",
    [
        "where is my order?",
        "what's the status of the order of a client?",
        "I'd like to check how my orders are doing",
        "Use this when a customer asks about an order.",
        "at most 50 rows",
        "order_id goes up to 900",
    ],
)
def test_a_line_in_words_of_the_document_their_synonyms_and_plain_english_is_kept(line: str) -> None:
    assert DocumentVocabulary(ORDER).fault(line) == ""


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("show the order in salesforce", "unknown-thing: salesforce"),
        ("look up my order in Salesforce", "unknown-name: Salesforce"),
        ("has my package arrived?", "unknown-thing: package"),
        ("sort the orders by `page_size`", "unknown-parameter: `page_size`"),
        ("needs customerRef", "unknown-parameter: customerRef"),
        ("at most 100 rows", "unknown-number: 100"),
        ("cancel the order", "other-action: cancel"),
        ("please delete my orders", "other-action: delete"),
        ("", "bad-length"),
        ("order " * MAX_LINE_CHARS, "bad-length"),
    ],
)
def test_a_line_that_names_what_the_document_does_not_is_dropped_with_the_reason(line: str, reason: str) -> None:
    assert DocumentVocabulary(ORDER).fault(line) == reason
