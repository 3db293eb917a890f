"""What a prompt is made of: the schema of a turn, earlier turns, the steps so far."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator

from planners.graphseek.agent.earlier_turns import history_text
from planners.graphseek.agent.trace_text import trace_text
from planners.graphseek.agent.turn_schema import turn_schema
from planners.graphseek.operators import cypher, subtask
from planners.graphseek.results.result import Result
from planners.graphseek.turn import Answer, Fault, Invocation, StepRecord
from tests.planners.graphseek.agent.toy_parts import SCHEMA, Toy, echo


def words(text: str) -> int:
    return len(text.split())


def test_a_turn_is_calls_or_an_answer_or_a_question_back() -> None:
    schema = turn_schema([Toy("echo", echo), subtask.OPERATOR, cypher.OPERATOR], SCHEMA, ["t1"])
    valid = Draft202012Validator(schema).is_valid
    good = {"operator": "echo", "arguments": {"of": "x", "handle": "t1"}}
    assert (
        valid({"calls": [good]})
        and valid({"answer": "x"})
        and valid({"answer": "x", "of": ["t1"]})
        and valid({"ask": "x"})
    )
    unusable: tuple[dict[str, Any], ...] = (
        {},
        {"calls": []},
        {"calls": [good] * 5},
        {"calls": [{"operator": "echo", "arguments": {"text": "x"}}]},
        {"calls": [{"operator": "read", "arguments": {}}]},
        {"calls": [good], "answer": "x"},
        {"answer": ""},
    )
    for wrong in unusable:
        assert not valid(wrong), wrong


def test_parts_that_stand_in_the_schema_often_are_written_once() -> None:
    class Wide(Toy):
        def parameters(self, schema: Any, handles: Any) -> dict[str, Any]:
            filters = {"type": "array", "items": {"type": "string", "enum": [f"property {at}" for at in range(20)]}}
            both = {"type": filters, "items": filters}  # names of arguments that are words of JSON Schema too
            return {"type": "object", "properties": {"b": both["type"], **both}, "additionalProperties": False}

    schema = turn_schema([Wide("one", echo), Wide("two", echo)], SCHEMA, [])
    assert str(schema).count("property 19") == 1
    call = {"operator": "two", "arguments": {"b": ["property 7"], "type": ["property 1"]}}
    assert Draft202012Validator(schema).is_valid({"calls": [call]})
    call["arguments"] = {"b": ["property 21"]}
    assert not Draft202012Validator(schema).is_valid({"calls": [call]})


async def test_the_newest_turns_are_whole_and_older_ones_are_left_out_or_summarised() -> None:
    turns = [(f"question {at}", f"answer {at}") for at in range(30)]
    told = await history_text(turns, most_tokens=60, count=words)
    assert (
        words(told) <= 60 and "answer 29" in told and "answer 3\n" not in told and "earlier turns are left out" in told
    )
    asked: list[str] = []

    async def summarise(text: str) -> str:
        asked.append(text)
        return "there were ten answers"

    told = await history_text(turns, most_tokens=60, count=words, summarise=summarise)
    assert told.startswith("Before that, in short: there were ten answers") and words(told) <= 60
    (older,) = asked
    assert "question 0" in older and "answer 29" not in older
    assert all((f"answer {at}" in older) != (f"Answer: answer {at}" in told.splitlines()) for at in range(30))
    long = await history_text([("q", "word " * 500), ("q2", "short")], most_tokens=60, count=words)
    assert words(long) <= 60 and "short" in long and "word" in long
    assert await history_text(turns[:2], most_tokens=60, count=words, summarise=summarise) and len(asked) == 1


def step(number: int, *, summary: str = "rows " * 50) -> StepRecord:
    made = Result(handle=f"t{number}", kind="table", size=7, summary=summary)
    invocation = Invocation(operator="echo", arguments={"of": f"x{number}"})
    return StepRecord(number=number, invocations=(invocation,), outcomes=(made,))


def test_a_trace_that_is_too_long_loses_the_oldest_summaries_then_the_oldest_steps() -> None:
    records = [step(at) for at in range(1, 9)]

    def told(most: int) -> str:
        return trace_text(records, fenced=lambda text: f"<{text}>", most_tokens=most, count=words)

    assert "left out" not in told(10_000)
    shorter = told(300)
    assert "gave t1: a table of 7 (its summary is left out" in shorter and "gave t8:\n<rows rows" in shorter
    shortest = told(60)
    assert "earlier steps are left out" in shortest and "t8" in shortest and '"x1"' not in shortest
    assert trace_text([], fenced=str, most_tokens=9, count=words) == ""


def test_a_trace_says_what_failed_and_what_was_handed_back() -> None:
    fault = Fault(kind="empty", problem="no module costs 99.42", hint="Order by unitCost")
    failed = StepRecord(number=1, invocations=(Invocation(operator="echo", arguments={"of": "é"}),), outcomes=(fault,))
    rejected = StepRecord(number=2, rejected=Answer(text="It is Omega."), why="in no result: Omega. Get them")
    unusable = StepRecord(number=3, why="no JSON")
    text = trace_text([failed, rejected, unusable], fenced=lambda data: f"<{data}>", most_tokens=999, count=words)
    for told in (
        'echo {"of": "é"}\nfailed (empty): no module costs 99.42. Order by unitCost',
        "handed back, in no result: Omega. Get them. It was:\n<It is Omega.>",
        "It could not be used: no JSON",
    ):
        assert told in text
