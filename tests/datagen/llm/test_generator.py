from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from datagen.interfaces import GeneratedText, Generator
from datagen.llm import LlmGenerator
from datagen.synthetic_request import CLASSES, RejectedRequest, SampleValue
from datagen.tool_path import ToolPath
from inference.budget import Budget
from inference.result_cache import ResultCache
from inference.scripted import ScriptedChat
from ontology import BudgetExceededError, InvalidArgumentError, ModelError, NotFoundError
from tests.datagen.llm.shop import CHAIN, EDGE, FIND, ONE, PING, SHIP, TRACK, Named, bodies, catalogue, chat, llm_answer
from tests.ingest.extract.llm_server import Reply, chat_server

GOOD = llm_answer(
    "Put whatever Ada Wren ordered on the road for Friday, please.",
    (1, "customer_name", "Ada Wren"),
    (2, "ship_date", "friday"),
)
CLASS = "implicit-multi-step"


def rejected(answer: str, path: ToolPath = CHAIN, request_class: str = CLASS) -> RejectedRequest:
    """The rejection after the same answer twice."""
    model = ScriptedChat([answer, answer])
    found = LlmGenerator(catalogue(), model).generate(path, request_class, seed=0)
    assert isinstance(found, RejectedRequest)
    assert len(model.calls) == 2
    assert found.stage == "generate"
    assert found.subject == path.tools
    assert found.request_class == request_class
    assert not found.reason.endswith(".")
    return found


def test_a_good_answer_becomes_a_text_whose_values_stand_in_it() -> None:
    with chat_server(lambda _request, _number: Reply(text=GOOD)) as server:
        generator: Generator = LlmGenerator(catalogue(), chat(server))
        generated = generator.generate(CHAIN, CLASS, seed=1)
    assert generator.name == "llm.v1"
    assert generated == GeneratedText(
        text="Put whatever Ada Wren ordered on the road for Friday, please.",
        values=(
            SampleValue(tool=FIND.id, parameter="customer_name", value="Ada Wren"),
            SampleValue(tool=SHIP.id, parameter="ship_date", value="Friday"),
        ),
    )
    (request,) = server.requests
    assert request["response_format"]["type"] == "json_schema"
    (said,) = bodies(server.requests)
    assert "Orders of a customer." in said
    assert "order_id comes from step 1 (order id)" in said
    assert "carrier (optional, one of north, south)" in said
    assert FIND.id not in said and FIND.name not in said
    assert "page" not in said


@pytest.mark.parametrize("request_class", CLASSES)
def test_each_class_has_its_own_prompt(request_class: str) -> None:
    model = ScriptedChat([GOOD])
    path = ONE if request_class == "single-intent" else CHAIN
    assert isinstance(LlmGenerator(catalogue(), model).generate(path, request_class, seed=0), GeneratedText)
    instructions = model.calls[0][0].content
    others = ScriptedChat([GOOD])
    LlmGenerator(catalogue(), others).generate(CHAIN, "multi-intent", seed=0)
    assert (others.calls[0][0].content == instructions) is (request_class == "multi-intent")
    shown = json.loads(instructions.splitlines()[-1])
    assert all(value["value"] in shown["query"] for value in shown["values"])


def test_values_that_are_not_in_the_text_are_dropped() -> None:
    answer = llm_answer(
        "Put whatever Ada Wren ordered on the road for Friday.",
        (1, "customer_name", "Ada Wren"),
        (2, "ship_date", "2025-03-14"),  # not in the text
        (2, "order_id", "Friday"),  # an earlier step gives it
        (2, "carrier", "Fri"),  # not a whole word
        (2, "weight", "Friday"),  # no such input
        (7, "carrier", "Friday"),  # no such step
        (1, "customer_name", "Ada"),  # stated already
    )
    generated = LlmGenerator(catalogue(), ScriptedChat([answer])).generate(CHAIN, CLASS, seed=0)
    assert isinstance(generated, GeneratedText)
    assert [(value.parameter, value.value) for value in generated.values] == [("customer_name", "Ada Wren")]


def test_a_whole_number_may_be_written_with_a_point() -> None:
    answer = GOOD.replace('"tool": 1', '"tool": 1.0')
    generated = LlmGenerator(catalogue(), ScriptedChat([answer])).generate(CHAIN, CLASS, seed=0)
    assert isinstance(generated, GeneratedText)
    assert len(generated.values) == 2


def test_a_request_without_a_value_is_rejected() -> None:
    assert "no value" in rejected(llm_answer("Put the order on the road for somebody.")).reason
    assert (
        "no value"
        in rejected(llm_answer("Send out the customer name's order.", (1, "customer_name", "the customer name"))).reason
    )


def test_the_whole_message_is_no_value() -> None:
    assert (
        "no value" in rejected(llm_answer("Put Ada's order out.", (1, "customer_name", "Put Ada's order out"))).reason
    )


def test_a_tool_without_inputs_needs_no_value() -> None:
    model = ScriptedChat([llm_answer("Is the shop up at the moment?")])
    generated = LlmGenerator(catalogue(), model).generate(ToolPath(tools=(PING.id,)), "single-intent", seed=0)
    assert generated == GeneratedText(text="Is the shop up at the moment?", values=())


ADA = (1, "customer_name", "Ada")
BAD = {
    "prose": ("Sure! Here is a request: send Ada's order.", "not one JSON object"),
    "half": (GOOD[:-20], "not one JSON object"),
    "fenced": (f"```json\n{GOOD}\n```", "not one JSON object"),
    "missing-field": ('{"query": "send the order of Ada"}', "outside the schema"),
    "wrong-type": ('{"query": 7, "values": []}', "outside the schema"),
    "list": ("[]", "outside the schema"),
    "empty": (llm_answer("", ADA), "empty or too short"),
    "blank": (llm_answer(" \n ", ADA), "empty or too short"),
    "tool-name": (llm_answer("run ship_order for Ada please", ADA), "internal name 'ship_order'"),
    "tool-id": (llm_answer("run shop/find_orders for Ada please", ADA), "internal name"),
    "input-name": (llm_answer("Ada's order, with ship_date Friday", ADA), "internal name 'ship_date'"),
    "placeholder": (llm_answer("send Ada's order on [date]", ADA), "where a real value should stand"),
    "half-character": (llm_answer("send Ada's order \ud83d now", ADA), "half a character"),
    "too-long": (llm_answer("send Ada's order " + " ".join(f"by way {n} or" for n in range(100)), ADA), "are the most"),
    "loop": (llm_answer("send Ada's order. " + "and send it out again " * 6, ADA), "repeats itself"),
    "example": (llm_answer("Ada's order: put the bike that Mrs Amari brought in down", ADA), "repeats the example"),
    "same-sentence": (llm_answer("Send Ada's order on Friday. Send Ada's order on Friday.", ADA), "repeats itself"),
}


@pytest.mark.parametrize(("answer", "reason"), BAD.values(), ids=BAD.keys())
def test_an_answer_that_is_no_request_is_rejected_with_its_reason(answer: str, reason: str) -> None:
    rejection = rejected(answer)
    assert reason in rejection.reason
    assert rejection.text == answer[:500]


@pytest.mark.parametrize(("answer", "reason"), BAD.values(), ids=BAD.keys())
def test_the_model_gets_the_fault_and_a_second_attempt(answer: str, reason: str) -> None:
    with chat_server(lambda _, number: Reply(text=answer if number == 1 else GOOD)) as server:
        generated = LlmGenerator(catalogue(), chat(server)).generate(CHAIN, CLASS, seed=0)
    assert isinstance(generated, GeneratedText)
    assert reason in bodies(server.requests)[1]


def test_an_answer_cut_at_the_limit_is_named_so() -> None:
    with chat_server(lambda *_: Reply(text=GOOD[:40], finish="length")) as server:
        found = LlmGenerator(catalogue(), chat(server)).generate(CHAIN, CLASS, seed=0)
    assert isinstance(found, RejectedRequest)
    assert "cut off" in found.reason


@pytest.mark.parametrize(
    ("path", "request_class"),
    [(CHAIN, "single-intent"), (ONE, "multi-intent"), (ONE, "conditional-multi-step"), (ONE, CLASS)],
)
def test_a_class_that_the_path_cannot_have_makes_no_call(path: ToolPath, request_class: str) -> None:
    model = ScriptedChat([])
    found = LlmGenerator(catalogue(), model).generate(path, request_class, seed=0)
    assert isinstance(found, RejectedRequest)
    assert not model.calls


def test_unknown_classes_and_tools_are_errors() -> None:
    generator = LlmGenerator(catalogue(), ScriptedChat([]))
    with pytest.raises(InvalidArgumentError, match="single-intent"):
        generator.generate(CHAIN, "seven-step", seed=0)
    with pytest.raises(NotFoundError):
        generator.generate(ToolPath(tools=("shop/none",)), "single-intent", seed=0)


def test_another_seed_is_another_call_and_the_same_one_is_not() -> None:
    cache = ResultCache()
    with chat_server(lambda *_: Reply(text=GOOD)) as server:
        generator = LlmGenerator(catalogue(), chat(server), cache)
        first = generator.generate(CHAIN, CLASS, seed=1)
        assert LlmGenerator(catalogue(), chat(server), cache).generate(CHAIN, CLASS, seed=1) == first
        assert server.hits == 1
        for seed in range(2, 12):
            generator.generate(CHAIN, CLASS, seed=seed)
    assert server.hits == 11
    assert len(set(bodies(server.requests))) == 11
    assert len({body.split("Written by ")[1].split(";")[0] for body in bodies(server.requests)}) > 3


def test_the_cache_distinguishes_models_classes_paths_and_documents() -> None:
    cache = ResultCache()
    other = ScriptedChat(lambda _messages: GOOD)
    other.name = "other"
    model = ScriptedChat(lambda _messages: GOOD)
    altered = catalogue(FIND, PING, replace(SHIP, description="Sends an order."), TRACK)
    for chosen, asked, path, request_class in (
        (catalogue(), model, CHAIN, CLASS),
        (catalogue(), other, CHAIN, CLASS),
        (catalogue(), model, CHAIN, "explicit-multi-step"),
        (catalogue(), model, replace(CHAIN, edges=(replace(EDGE, parameter="carrier"),)), CLASS),
        (altered, model, CHAIN, CLASS),
    ):
        LlmGenerator(chosen, asked, cache).generate(path, request_class, seed=0)
    assert len(model.calls) + len(other.calls) == 5


def test_a_model_that_fails_on_the_way_is_an_error_and_the_next_run_makes_only_the_rest_of_the_calls(
    tmp_path: Path,
) -> None:
    with ResultCache(tmp_path / "cache.sqlite") as cache:
        with chat_server(lambda _, number: Reply(text=GOOD) if number <= 4 else Reply(status=400)) as server:
            model = chat(server)
            generator = LlmGenerator(catalogue(), model, cache)
            found = [generator.generate(CHAIN, CLASS, seed=seed) for seed in range(6)]
            with pytest.raises(ModelError, match="400"):
                generator.generate(CHAIN, CLASS, seed=6)
        assert [isinstance(one, GeneratedText) for one in found] == [True] * 4 + [False] * 2
        assert server.hits == 7
        with chat_server(lambda *_: Reply(text=GOOD)) as second:
            again = LlmGenerator(catalogue(), Named(chat(second), model.name), cache)
            assert all(isinstance(again.generate(CHAIN, CLASS, seed=seed), GeneratedText) for seed in range(10))
    assert second.hits == 6


def test_one_failed_call_among_good_ones_costs_one_request() -> None:
    with chat_server(lambda _, number: Reply(status=400) if number % 2 else Reply(text=GOOD)) as server:
        generator = LlmGenerator(catalogue(), chat(server))
        found = [generator.generate(CHAIN, CLASS, seed=seed) for seed in range(8)]
    assert sum(isinstance(one, GeneratedText) for one in found) == 4


def test_the_budget_stops_the_run_and_the_next_one_pays_only_for_the_rest() -> None:
    cache = ResultCache()
    reply = Reply(text=GOOD, prompt_tokens=1_000, completion_tokens=100)
    with chat_server(lambda *_: reply) as server:
        poor = LlmGenerator(catalogue(), chat(server, budget=Budget(max_tokens=5_000)), cache)
        with pytest.raises(BudgetExceededError):
            for seed in range(8):
                poor.generate(CHAIN, CLASS, seed=seed)
        paid = server.hits
        assert 2 <= paid < 8
        rich = LlmGenerator(catalogue(), chat(server), cache)
        assert all(isinstance(rich.generate(CHAIN, CLASS, seed=seed), GeneratedText) for seed in range(8))
        assert server.hits == 8


def test_what_was_rejected_is_not_kept() -> None:
    cache = ResultCache()
    model = ScriptedChat(["no", "no", GOOD])
    assert isinstance(LlmGenerator(catalogue(), model, cache).generate(CHAIN, CLASS, seed=0), RejectedRequest)
    assert isinstance(LlmGenerator(catalogue(), model, cache).generate(CHAIN, CLASS, seed=0), GeneratedText)
