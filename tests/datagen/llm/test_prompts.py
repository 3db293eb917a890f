"""Prompts: the texts that a model is sent, byte for byte, because kept answers are found by them."""

from __future__ import annotations

import hashlib

import pytest

from datagen.llm import LlmOutputs, LlmSequence, llm_validators
from datagen.tool_links import ToolLinks
from inference.scripted import ScriptedChat
from tests.datagen.llm.shop import CHAIN, EDGE, catalogue, request
from tests.datagen.llm.test_generator import generator

REPAIR = "Answer again with one complete JSON object as described, and nothing else."


def _sent(step: str) -> ScriptedChat:
    """A model that was sent the prompts of one step, and gave no answer that can be used."""
    model = ScriptedChat(lambda _messages: "no")
    if step == "outputs":
        LlmOutputs(catalogue(), model, concurrency=1).find()
    elif step == "sequence":
        LlmSequence(catalogue(), model).validate(EDGE)
    elif step == "paraphrase":
        generator(model).generate(CHAIN, "implicit-multi-step", seed=3)
    else:
        validators = {one.check: one for one in llm_validators(catalogue(), ToolLinks(), model)}
        validators[step.removeprefix("check ")].validate(request())
    return model


@pytest.mark.parametrize(
    ("step", "digest"),
    [
        ("outputs", "d062c3748d3e"),
        ("sequence", "19ba1f980487"),
        ("paraphrase", "5671dd5ad0c9"),
        ("check class", "ab1ca6535327"),
        ("check sequence", "add542604d90"),
        ("check error", "3be386049ddb"),
    ],
)
def test_a_prompt_is_what_kept_answers_were_given_to(step: str, digest: str) -> None:
    first, second = _sent(step).calls[:2]
    text = "\n".join(f"{message.role}\n{message.content}" for message in first)
    assert hashlib.sha256(text.encode()).hexdigest()[:12] == digest
    assert second[-1].content.endswith(REPAIR)
