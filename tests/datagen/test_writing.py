"""Writers and the blind reader: what stands in a text by construction, what is rejected and why, what is asked again."""

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from datagen.models import RecordedChat, prompt_key
from datagen.requests import PathEdge, RejectedRequest, SyntheticRequest, ToolPath
from datagen.slots import fault_of_value, find_unsayable, kind_of, sample, slots_of
from datagen.writing import BlindReader, ModelWriter, TemplateWriter
from inference.chat import Message
from inference.result_cache import ResultCache
from ontology.errors import InvalidArgumentError
from ontology.tool import Parameter, Tool
from tests.datagen.author import Author
from tests.datagen.catalogues import catalogue_of, tool
from tests.inference.scripted_chat import ScriptedChat

FIND = tool("find_orders", "customer_name", "orders[].order_id orders[].state", description="Orders of a customer.")
SHIP = Tool(
    id="shop/ship_order",
    name="ship_order",
    description="Sends an order out on a day.",
    parameters=(
        Parameter(name="order_id", required=True),
        Parameter(name="ship_date", required=True, format="date"),
        Parameter(name="carrier", required=True, enum=("NORTH_WIND", "south")),
    ),
    metadata={"namespace": "shop"},
)
RATE = tool("rate_order", "order_id stars", "rating_id", description="Rates an order.")
CATALOGUE = catalogue_of([FIND, SHIP, RATE, tool("ping", "", "up", description="Says whether the shop is up.")])
EDGE = PathEdge(
    kind="R-P", source=FIND.id, target=SHIP.id, output="orders[].order_id", parameter="order_id", confidence=1
)
CHAIN = ToolPath(tools=(FIND.id, SHIP.id), edges=(EDGE,), shape="chain")
KIND = "implicit-multi-step"
SAID = {
    "refusal": "",
    "text": "Send Ada Quinn's order out on 24 December by north wind",
    "said": [
        {"step": 1, "input": "customer_name", "words": "Ada Quinn", "value": "Ada Quinn"},
        {"step": 2, "input": "ship_date", "words": "24 December", "value": "2026-12-24"},
        {"step": 2, "input": "carrier", "words": "north wind", "value": "NORTH_WIND"},
    ],
    "names": [],
    "needs": ["look up purchases", "dispatch a purchase"],
}


def wrote(*answers: Mapping[str, Any], path: ToolPath = CHAIN) -> SyntheticRequest | RejectedRequest:
    """What a writer makes of these answers of a model."""
    chat = ScriptedChat([json.dumps(answer) for answer in answers])
    return ModelWriter(CATALOGUE, chat).write(path, KIND, id="r", seed=0)


def changed(**fields: Any) -> dict[str, Any]:
    return {**SAID, **fields}


def said(step: int, name: str, words: str, value: str = "") -> dict[str, Any]:
    return {"step": step, "input": name, "words": words, "value": value or words}


def test_a_request_has_its_values_as_said_and_as_typed_and_a_need_for_each_tool() -> None:
    made = wrote(SAID)
    assert isinstance(made, SyntheticRequest)
    assert [(one.parameter, one.value, one.typed) for one in made.values] == [
        ("customer_name", "Ada Quinn", "Ada Quinn"),
        ("ship_date", "24 December", "2026-12-24"),
        ("carrier", "north wind", "NORTH_WIND"),
    ]
    assert made.needs == ("look up purchases", "dispatch a purchase")
    assert SyntheticRequest.from_json(json.loads(json.dumps(made.to_json()))) == made


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (changed(said=SAID["said"][:2]), "nothing is stated for carrier"),
        (changed(text="Send Ada Quinn's order out by north wind"), "'24 December' for ship_date does not stand"),
        (changed(text=f"{SAID['text']}, it is number 4711"), "recorded for no input"),
        (changed(text=f'{SAID["text"]} "express"'), "recorded for no input"),
        (changed(said=[*SAID["said"], said(2, "order_id", "order")]), "order_id of shop/ship_order is no slot"),
        (changed(said=[*SAID["said"], said(3, "x", "order")]), "there is no step 3"),
        (changed(said=[*SAID["said"][:2], said(2, "carrier", "north wind", "EAST")]), "none of the values of carrier"),
        (changed(said=[*SAID["said"][::2], said(2, "ship_date", "24 December", "soon")]), "no date in ISO 8601"),
        (changed(text=f"{SAID['text']} with ship_order"), "a name that only the software has"),
        (changed(names=["Kessler"]), "the name 'Kessler' does not stand"),
        (changed(needs=["look up purchases"]), "1 needs are given for 2 steps"),
        (changed(needs=[]), "each step needs a need"),
        (changed(needs=["the same", "the same"]), "two needs are the same"),
        (changed(needs=["find_orders of somebody", "dispatch it"]), "has the name 'find_orders'"),
        (changed(text=""), "neither a need nor a query"),
        ({"text": "hello"}, "outside the schema"),
    ],
)
def test_an_answer_with_a_fault_is_repaired_once_and_else_rejected_with_the_fault(
    answer: dict[str, Any], told: str
) -> None:
    rejected = wrote(answer, answer)
    assert isinstance(rejected, RejectedRequest)
    assert rejected.stage == "generate" and told in rejected.reason and not rejected.final
    assert isinstance(wrote(answer, SAID), SyntheticRequest)


def test_what_a_writer_refuses_is_final() -> None:
    rejected = wrote(changed(refusal="Nobody ships twice.", text=""))
    assert isinstance(rejected, RejectedRequest)
    assert rejected.final and rejected.reason == "the writer refuses: Nobody ships twice"


def test_an_identifier_is_said_as_it_was_drawn() -> None:
    path = ToolPath(tools=(RATE.id,))
    question = asked(lambda chat: ModelWriter(CATALOGUE, chat).write(path, "single-intent", id="r", seed=0))
    (drawn,) = (each["say"] for each in question["steps"][0]["state"] if "say" in each)
    answer = changed(
        text=f"Give {drawn} five", said=[said(1, "order_id", drawn), said(1, "stars", "five", "5")], needs=["x y"]
    )
    assert isinstance(wrote(answer, path=path), SyntheticRequest)
    other = changed(text="Give A five", said=[said(1, "order_id", "A"), said(1, "stars", "five", "5")], needs=["x y"])
    rejected = wrote(other, other, path=path)
    assert isinstance(rejected, RejectedRequest) and f"must be said as {drawn!r}" in rejected.reason


def asked(call: Callable[[ScriptedChat], object]) -> dict[str, Any]:
    """The question that a call asks a model first."""
    chat = ScriptedChat(lambda messages: "")
    call(chat)
    question: dict[str, Any] = json.loads(chat.calls[0][1].content)
    return question


def test_a_writer_is_told_what_comes_from_where_and_which_tools_are_not_meant() -> None:
    question = asked(lambda chat: ModelWriter(CATALOGUE, chat).write(CHAIN, KIND, id="r", seed=0))
    find, ship = question["steps"]
    assert ship["comes"] == [{"input": "order_id", "from_step": 1, "what": "orders[].order_id"}]
    assert [each["input"] for each in ship["state"]] == ["ship_date", "carrier"]
    meant = {find["does"], ship["does"]}
    assert find["not"] and meant.isdisjoint(other["does"] for step in (find, ship) for other in step["not"])


def accepted() -> SyntheticRequest:
    made = wrote(SAID)
    assert isinstance(made, SyntheticRequest)
    return made


REQUEST = accepted()
READ = {
    "calls": [
        {"tool": FIND.id, "values": [{"input": "customer_name", "words": "Ada Quinn's"}], "uses": []},
        {
            "tool": SHIP.id,
            "values": [{"input": "ship_date", "words": "on 24 December"}, {"input": "carrier", "words": "north wind"}],
            "uses": [FIND.id],
        },
    ],
    "kind": KIND,
    "missing": "",
    "typed": True,
    "reason": "it is asked for",
}


def read(answer: Mapping[str, Any]) -> str:
    """What failed, where a reader with this answer, in which tools have their ids, reads the request; empty where nothing did."""

    def script(messages: object) -> str:
        question = json.loads(messages[1].content)  # type: ignore[index]
        shown = {each["does"]: each["tool"] for each in question["tools"]}
        names = {one.id: name for one in CATALOGUE.tools for does, name in shown.items() if one.description in does}
        text = json.dumps(answer)
        for tool_id, name in names.items():
            text = text.replace(json.dumps(tool_id), json.dumps(name))
        return text

    verdicts = BlindReader(CATALOGUE, ScriptedChat(script)).read(REQUEST, seed=0)
    if isinstance(verdicts, str):
        return verdicts
    assert [one.check for one in verdicts] == ["sequence", "error", "class"]
    return "; ".join(f"{one.check}: {one.reason}" for one in verdicts if not one.passed)


def with_call(at: int, **fields: Any) -> dict[str, Any]:
    calls = [dict(call) for call in READ["calls"]]  # type: ignore[attr-defined]
    calls[at].update(fields)
    return {**READ, "calls": calls}


EXTRA = {"tool": RATE.id, "values": [], "uses": []}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (READ, ""),
        ({**READ, "calls": READ["calls"][1:]}, "sequence: a reader does not call shop/find_orders"),  # type: ignore[index]
        ({**READ, "calls": [*READ["calls"], EXTRA]}, "sequence: a reader also calls shop/rate_order"),  # type: ignore[misc]
        ({**READ, "missing": "The address."}, "sequence: a reader misses something: The address"),
        (with_call(1, uses=[]), "sequence: a reader does not take anything of shop/find_orders"),
        (with_call(0, values=[]), "error: a reader does not take 'Ada Quinn' as customer_name"),
        (with_call(0, values=[{"input": "state", "words": "Ada Quinn"}]), "error: a reader does not take 'Ada Quinn'"),
        (
            with_call(
                0, values=[{"input": "customer_name", "words": "Ada Quinn"}, {"input": "state", "words": "order"}]
            ),
            "error: a reader takes 'order' as state",
        ),
        ({**READ, "typed": False}, "error: nobody would type it"),
        ({**READ, "kind": "single-intent"}, "class: it reads as single-intent"),
        (with_call(0, tool="T99"), "it was not read back"),
    ],
)
def test_what_does_not_read_back_to_the_same_slots_has_a_failed_verdict(answer: dict[str, Any], told: str) -> None:
    found = read(answer)
    assert told in found and bool(found) is bool(told)


def test_a_reader_sees_neither_ids_nor_labels() -> None:
    question = asked(lambda chat: BlindReader(CATALOGUE, chat).read(REQUEST, seed=0))
    assert question.keys() == {"message", "tools"}
    assert {each["tool"] for each in question["tools"]} == {"T1", "T2", "T3", "T4"}
    assert "shop/" not in json.dumps(question)


def test_templates_state_every_value_and_say_what_they_are() -> None:
    writer = TemplateWriter(CATALOGUE)
    for kind in ("explicit-multi-step", KIND, "conditional-multi-step", "long-task"):
        made = writer.write(CHAIN, kind, id="r", seed=3)
        assert isinstance(made, SyntheticRequest), made
        assert {one.parameter for one in made.values} == {"customer_name", "ship_date", "carrier"}
        assert all(one.value in made.text for one in made.values)
        assert (made.generator, made.needs) == ("template.v1", ())


def test_answers_are_recorded_by_the_conversation(tmp_path: Path) -> None:
    recording, chat = tmp_path / "recorded.jsonl", ScriptedChat([json.dumps(SAID)])
    recording.write_text("", encoding="utf-8")
    rejected = ModelWriter(CATALOGUE, RecordedChat(recording)).write(CHAIN, KIND, id="r", seed=0)
    assert isinstance(rejected, RejectedRequest) and "no answer is recorded" in rejected.reason
    ModelWriter(CATALOGUE, chat).write(CHAIN, KIND, id="r", seed=0)
    row = {"prompt": prompt_key(chat.calls[0]), "answer": SAID, "model": "m", "date": "2026-11-29"}
    recording.write_text(json.dumps(row) + "\n", encoding="utf-8")
    told = RecordedChat(recording)
    assert told.name == "recorded:m"
    assert isinstance(ModelWriter(CATALOGUE, told).write(CHAIN, KIND, id="r", seed=0), SyntheticRequest)
    assert prompt_key([Message("user", "a")]) != prompt_key([Message("user", "b")])
    recording.write_text("{}\n", encoding="utf-8")
    with pytest.raises(InvalidArgumentError, match="recording cannot be read"):
        RecordedChat(recording)


def test_an_answer_that_is_cached_is_not_asked_for_again_usable_or_not() -> None:
    chat, cache = ScriptedChat(Author()), ResultCache()
    first = ModelWriter(CATALOGUE, chat, cache).write(CHAIN, KIND, id="r", seed=0)
    again = ModelWriter(CATALOGUE, chat, cache).write(CHAIN, KIND, id="r", seed=0)
    assert isinstance(first, SyntheticRequest) and first == again and len(chat.calls) == 1
    poor = ScriptedChat(lambda messages: json.dumps(changed(needs=[])))
    outcomes = [ModelWriter(CATALOGUE, poor, cache).write(CHAIN, KIND, id="r", seed=1) for _ in range(2)]
    assert isinstance(outcomes[0], RejectedRequest) and outcomes[0] == outcomes[1] and len(poor.calls) == 2


@pytest.mark.parametrize(
    ("parameter", "kind", "good", "bad"),
    [
        (Parameter(name="state", enum=("OPEN", "CLOSED")), "enum", "OPEN", "open"),
        (Parameter(name="urgent", type="boolean"), "boolean", "true", "maybe"),
        (Parameter(name="due_date"), "date", "2026-12-24", "soon"),
        (Parameter(name="starts_at"), "datetime", "2026-12-24T10:00", "ten"),
        (Parameter(name="count", type="integer", bounds=(("minimum", 1), ("maximum", 5))), "integer", "5", "6"),
        (Parameter(name="count", type="integer"), "integer", "5", "5.5"),
        (Parameter(name="price", type="number"), "number", "5.5", "five"),
        (Parameter(name="contact_email"), "email", "a@b.example", ""),
        (Parameter(name="order_id"), "identifier", "A-1", " "),
        (Parameter(name="subject"), "text", "spring", ""),
    ],
)
def test_a_value_has_the_kind_of_its_input(parameter: Parameter, kind: str, good: str, bad: str) -> None:
    (slot,) = slots_of(
        ToolPath(tools=("shop/x",)),
        catalogue_of([Tool(id="shop/x", name="x", parameters=(required(parameter),))]),
        random.Random(0),
    )
    assert (slot.kind, kind_of(parameter)) == (kind, kind)
    assert not fault_of_value(slot, good)
    assert fault_of_value(slot, bad)
    assert slot.value == sample(required(parameter), kind, random.Random(0))


def required(parameter: Parameter) -> Parameter:
    return Parameter.from_json({**parameter.to_json(), "required": True})


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ([Parameter(name="role_arn", required=True)], "role_arn is no value that people type"),
        ([Parameter(name="id", required=True, format="uuid")], "id is no value that people type"),
        ([Parameter(name=f"part{letter}", required=True) for letter in "abcdefg"], "requires 7 inputs"),
        ([Parameter(name="body", type="object", required=True), Parameter(name="body.a")], "only optional parts"),
        ([Parameter(name="scheme", required=True, description="Should always be one.")], ""),
        ([Parameter(name="role_arn", required=True, default="own")], ""),
        ([Parameter(name="role_arn")], ""),
    ],
)
def test_what_nobody_can_ask_for_is_told(parameters: list[Parameter], told: str) -> None:
    one = Tool(id="shop/x", name="x", parameters=tuple(parameters))
    found = find_unsayable(one, catalogue_of([one]).profile(one.id))
    assert told in found and bool(found) is bool(told)
