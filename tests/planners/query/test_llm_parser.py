"""The parser by a chat model: what the model is told, and what becomes of bad answers."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from ontology.errors import ModelError
from planners.query.domain import read_domain
from planners.query.llm_reader import LlmParser, WrittenGraph, worked_examples
from tests.inference.scripted_chat import ScriptedChat

TODAY = date(2026, 2, 15)
PERSONAL = read_domain("personal")
TABLE = yaml.safe_load(Path(__file__).with_name("faults.yaml").read_text("utf-8"))
REQUEST = "How many emails did I get from Jane Doe in February?"
GOOD: dict[str, Any] = {
    "ask": "count all e",
    "edges": ["e to self", "e from p", "e sent_on d"],
    "filters": ["p.name = Jane Doe", "d.value = in February"],
}


def test_the_prompt_holds_the_domain_worked_examples_and_the_request_and_nothing_else() -> None:
    model = ScriptedChat([json.dumps(GOOD)])
    LlmParser(model).parse(REQUEST, PERSONAL, TODAY)
    system, *examples, asked = model.calls[0]
    assert asked.content == REQUEST
    for source, edge, target in PERSONAL.signatures():
        assert f"- {PERSONAL.types[source].variable} {edge} {PERSONAL.types[target].variable}:" in system.content
    for kind in PERSONAL.types.values():
        for field, each in kind.fields.items():
            assert f"- {kind.variable}.{field} {' or '.join(each.operators)}" in system.content
    shown = worked_examples(REQUEST, PERSONAL)
    assert [each.content for each in examples[::2]] == [each.request for each in shown]
    assert [each.content for each in examples[1::2]] == [
        WrittenGraph.of(each.graph).model_dump_json() for each in shown
    ]


@pytest.mark.parametrize(("bad", "said"), TABLE["answers"])
def test_a_bad_answer_goes_back_with_its_fault_and_is_repaired(bad: Any, said: str) -> None:
    text = bad if isinstance(bad, str) else json.dumps({**GOOD, **bad})
    model = ScriptedChat([text, json.dumps(GOOD)])
    parsed = LlmParser(model).parse(REQUEST, PERSONAL, TODAY)
    assert parsed.graph == WrittenGraph(**GOOD).graph(PERSONAL)
    assert "The model needed 2 attempts." in parsed.notes
    *_, rejected, repair = model.calls[1]
    assert rejected.content == text[:4_000]
    assert said in repair.content


def test_the_attempts_are_bounded_and_the_error_names_the_faults() -> None:
    model = ScriptedChat([f"{number} prose without end " * 10_000 for number in range(9)])
    with pytest.raises(ModelError) as failed:
        LlmParser(model).parse(REQUEST, PERSONAL, TODAY)
    assert len(model.calls) == 3
    assert "is no graph" in failed.value.problem and "rules.v1" in failed.value.remedy
    assert sum(len(message.content) for message in model.calls[-1]) < 40_000
