"""The conformance suite of date readers, and what the one with a chat model asks and does with bad answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date

import pytest

from inference import OpenAIChat, ScriptedChat
from ontology.errors import InvalidArgumentError, ModelError
from planners.query.dates import DateReader, LlmDates, RulesDates
from tests.harness.chat import Body, Reply, chat_server

TODAY = date(2026, 2, 15)
DAYS = {
    "in February": ("2026-02-01", "2026-02-28"),
    "last week": ("2026-02-02", "2026-02-08"),
    "before July 2025": ("", "2025-06-30"),
    "since Monday": ("2026-02-09", ""),
    "from May to July 2025": ("2025-05-01", "2025-07-31"),
}
RANGES = {
    "in February": "2026-02-01/2026-03-01",
    "last week": "2026-02-02/2026-02-09",
    "before July 2025": "../2025-07-01",
    "since Monday": "2026-02-09/..",
    "from May to July 2025": "2025-05-01/2025-08-01",
}


def _answer(first: str, last: str) -> str:
    return json.dumps({"first": first, "last": last})


def _knowing() -> DateReader:
    return LlmDates(
        ScriptedChat(lambda messages: _answer(*DAYS.get(messages[-1].content.partition("expression: ")[2], ("", ""))))
    )


READERS: dict[str, Callable[[], DateReader]] = {"rules.v1": RulesDates, "llm.v1": _knowing}


@pytest.fixture(params=READERS)
def reader(request: pytest.FixtureRequest) -> DateReader:
    return READERS[request.param]()


@pytest.mark.parametrize(("text", "wanted"), RANGES.items(), ids=list(RANGES))
def test_an_expression_is_read_as_its_range(reader: DateReader, text: str, wanted: str) -> None:
    reading = reader.read(text, TODAY)
    assert reading.range.iso() == wanted
    assert text in reading.said


def test_operators_count_from_the_beginning_of_the_range(reader: DateReader) -> None:
    assert reader.read("last week", TODAY, "<").range.iso() == "../2026-02-02"
    assert reader.read("last week", TODAY, ">").range.iso() == "2026-02-02/.."
    with pytest.raises(InvalidArgumentError):
        reader.read("before July 2025", TODAY, ">")


def test_nonsense_is_a_named_error(reader: DateReader) -> None:
    with pytest.raises(InvalidArgumentError):
        reader.read("banana", TODAY)


def test_the_model_reads_what_the_rules_cannot() -> None:
    model = ScriptedChat([_answer("2025-11-28", "2025-11-28")])
    assert LlmDates(model).read("on Black Friday", TODAY).range.iso() == "2025-11-28/2025-11-29"
    assert [message.content for message in model.calls[0]][-1] == (
        "Today is Sunday 2026-02-15.\nDate expression: on Black Friday"
    )


@pytest.mark.parametrize(
    "answer",
    ["In February.", "[]", "3", '{"first": 1}', _answer("2026-02-30", ""), _answer("2026-02-09", "2026-02-01"), _answer("", ""),
     _answer("1999-02-01", "1999-02-28"), ModelError("gone", subject="model", remedy="wait"), _answer("2026-02-01", "9999-12-31")],
    ids=str,
)  # fmt: skip
def test_an_answer_that_is_none_or_contradicts_the_rules_leaves_the_rules(answer: str | ModelError) -> None:
    reading = LlmDates(ScriptedChat([answer])).read("in February", TODAY)
    assert reading.range.iso() == "2026-02-01/2026-03-01"


def test_over_http_the_server_gets_the_expression_the_day_and_a_schema_and_nothing_else() -> None:
    def script(request: Body, number: int) -> Reply:
        return Reply(text=_answer("2025-11-28", "2025-11-28")) if number == 1 else Reply(status=400)

    with chat_server(script) as server:
        reader = LlmDates(OpenAIChat("small", base_url=server.base_url, api_key="none"))
        assert reader.read("on Black Friday", TODAY).range.iso() == "2025-11-28/2025-11-29"
        assert reader.read("last week", TODAY).range.iso() == RANGES["last week"]  # the server fails: the rules decide
    first, second = server.requests
    assert [each["content"] for each in first["messages"]][1:] == [
        "Today is Sunday 2026-02-15.\nDate expression: on Black Friday"
    ]
    assert first["messages"][0] == second["messages"][0]
    assert first["response_format"]["json_schema"]["schema"]["required"] == ["first", "last"]
    assert first["temperature"] == 0 and first["max_tokens"] <= 100
