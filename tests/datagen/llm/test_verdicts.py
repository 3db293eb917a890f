from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from datagen.interfaces import RequestValidator, SequenceValidator
from datagen.llm import LlmSequence, llm_validators
from datagen.synthetic_request import CLASSES
from datagen.tool_links import ToolLinks
from datagen.tool_path import ToolPath
from inference.budget import Budget
from inference.result_cache import ResultCache
from inference.scripted import ScriptedChat
from ontology import BudgetExceededError, NotFoundError
from tests.datagen.llm.shop import CHAIN, EDGE, Named, bodies, catalogue, chat, request
from tests.harness.chat import Reply, chat_server

FOLLOWS = json.dumps({"reason": "The order that was found is sent.", "follows": True})
ANSWERS: dict[str, dict[str, Any]] = {
    "class": {"reason": "One wish.", "class": "implicit-multi-step"},
    "sequence": {"reason": "All is said.", "fits": True},
    "error": {"reason": "Nothing is missing.", "fault": "none"},
}
FAULTY: dict[str, dict[str, Any]] = {
    "class": {"reason": "An order is said.", "class": "explicit-multi-step"},
    "sequence": {"reason": "The day is not said.", "fits": False},
    "error": {"reason": "It breaks off.", "fault": "incomplete"},
}
UNUSABLE = {
    "prose": "Yes, it does follow.",
    "half": '{"reason": "it',
    "missing-field": '{"reason": "it follows"}',
    "no-reason": '{"reason": " . ", "follows": true, "class": "multi-intent", "fits": true, "fault": "none"}',
    "list": "[true]",
}


def validators(model: ScriptedChat, cache: ResultCache | None = None) -> dict[str, RequestValidator]:
    return {validator.check: validator for validator in llm_validators(catalogue(), ToolLinks((EDGE,)), model, cache)}


def test_a_sequence_is_validated_with_a_reason() -> None:
    with chat_server(lambda *_: Reply(text=FOLLOWS)) as server:
        validator: SequenceValidator = LlmSequence(catalogue(), chat(server))
        verdict = validator.validate(EDGE)
    assert validator.name == verdict.by == "llm.v1"
    assert (verdict.check, verdict.passed) == ("sequence", True)
    assert verdict.reason == "The order that was found is sent"
    (said,) = bodies(server.requests)
    assert "First: find orders: Orders of a customer." in said
    assert "The first gives: order id. The second takes it as: order_id." in said


@pytest.mark.parametrize("answer", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_an_unusable_verdict_on_a_sequence_is_a_no_that_says_so(answer: str) -> None:
    model = ScriptedChat([answer, answer])
    verdict = LlmSequence(catalogue(), model).validate(EDGE)
    assert not verdict.passed
    assert verdict.reason.startswith("the model gave no usable verdict: ")
    assert not verdict.reason.endswith(".")


def test_an_edge_between_tools_that_are_not_there_is_an_error() -> None:
    with pytest.raises(NotFoundError):
        LlmSequence(catalogue(), ScriptedChat([])).validate(replace(EDGE, source="shop/none"))


@pytest.mark.parametrize("check", ANSWERS)
def test_each_check_passes_and_fails_with_the_model_s_reason(check: str) -> None:
    model = ScriptedChat([json.dumps(ANSWERS[check]), json.dumps(FAULTY[check])])
    validator = validators(model)[check]
    good, bad = validator.validate(request()), validator.validate(request())
    assert validator.name == good.by == "llm.v1"
    assert (good.check, good.passed, bad.passed) == (check, True, False)
    assert ANSWERS[check]["reason"].rstrip(".") in good.reason
    assert FAULTY[check]["reason"].rstrip(".") in bad.reason
    said = model.calls[0][1].content
    assert "send Ada's order on Friday" in said
    assert "Ship order" in said or "ship order" in said


@pytest.mark.parametrize("label", CLASSES)
def test_the_class_is_asked_for_without_its_label(label: str) -> None:
    model = ScriptedChat([json.dumps(ANSWERS["class"])])
    verdict = validators(model)["class"].validate(request(label=label))
    assert verdict.passed is (label == "implicit-multi-step")
    assert label not in model.calls[0][1].content


def test_a_request_without_edges_is_validated_with_those_of_the_graph() -> None:
    model = ScriptedChat(lambda _messages: json.dumps(ANSWERS["sequence"]))
    bare = replace(request(), path=ToolPath(tools=CHAIN.tools, shape="chain"))
    validators(model)["sequence"].validate(bare)
    assert "order_id comes from step 1" in model.calls[0][1].content
    apart = replace(request(), path=ToolPath(tools=CHAIN.tools, shape="set"))
    validators(model)["sequence"].validate(apart)
    assert "comes from" not in model.calls[1][1].content


def test_verdicts_are_kept_and_only_new_requests_are_asked_about() -> None:
    cache = ResultCache()
    with chat_server(lambda *_: Reply(text=json.dumps(ANSWERS["error"]))) as server:
        model = chat(server)
        for text in ("send Ada's order", "send Ben's order", "send Ada's order"):
            llm_validators(catalogue(), ToolLinks(), model, cache)[2].validate(request(text))
        assert server.hits == 2
    with chat_server(lambda *_: Reply(status=500)) as second:
        again = llm_validators(catalogue(), ToolLinks(), Named(chat(second), model.name), cache)[2]
        assert again.validate(request("send Ben's order")).passed
    assert second.hits == 0


def test_the_budget_is_an_error_and_no_verdict() -> None:
    with chat_server(lambda *_: Reply(text=FOLLOWS)) as server:
        with pytest.raises(BudgetExceededError):
            LlmSequence(catalogue(), chat(server, budget=Budget(max_tokens=10))).validate(EDGE)
    assert server.hits == 0
