"""The messages of answers: what depends on a tool alone is made once for an engine, and kept within bounds."""

from __future__ import annotations

import gc
from dataclasses import replace

import pytest

from egotools.v1 import egotools_pb2 as pb
from ontology.errors import InvalidArgumentError
from ontology.tool import Tool
from retrieval.query.request import Request
from services.server.encode import response_message
from services.server.kept_texts import KeptTexts
from tests.services.server.memory_engine import TOOLS, MemoryEngine


class _CountingEngine(MemoryEngine):
    reads = 0

    def tool(self, tool_id: str) -> Tool:
        self.reads += 1
        return super().tool(tool_id)


def _answer(engine: _CountingEngine, *, schema_format: str = "none", max_bytes: int = 1 << 20) -> pb.RetrieveResponse:
    response = engine.retriever("").retrieve(Request(query="list the orders of a customer", k=5))
    engine.reads = 0  # those of the retriever
    return response_message(
        engine, response, schema_format=schema_format, explain=False, queued_ms=0.0, max_bytes=max_bytes
    )


def test_a_tool_is_read_once_for_each_format() -> None:
    engine = _CountingEngine()
    first = _answer(engine)
    assert engine.reads == len(first.tools) > 0
    again = _answer(engine)
    assert engine.reads == 0
    first.ClearField("timings_ms")
    again.ClearField("timings_ms")
    assert again == first
    with_schemas = _answer(engine, schema_format="mcp")
    assert engine.reads == len(with_schemas.tools)
    assert all(tool.schema_json for tool in with_schemas.tools) and not any(tool.schema_json for tool in again.tools)


@pytest.mark.parametrize("schema_format", ["openai", "openai_strict", "anthropic", "mcp"])
def test_a_tool_whose_schema_cannot_be_made_costs_no_other_its_schema(schema_format: str) -> None:
    bad = {"properties": {"a": {"default": float("nan"), "required": [{}], "properties": {"b": {}}}}}
    answer = _answer(
        _CountingEngine(tools=(replace(TOOLS[0], input_schema=bad), *TOOLS[1:])), schema_format=schema_format
    )
    assert [tool.id for tool in answer.tools if not tool.schema_json and tool.schema_notes] == [TOOLS[0].id]
    assert len(answer.tools) > 1


def test_another_engine_has_texts_of_its_own() -> None:
    _answer(_CountingEngine())
    changed = _CountingEngine(tools=tuple(replace(tool, description="another text") for tool in TOOLS))
    assert {tool.description for tool in _answer(changed).tools} == {"another text"}


def test_long_texts_are_not_kept() -> None:
    long = _CountingEngine(tools=tuple(replace(tool, name=f"{tool.name}{'x' * 20_000}") for tool in TOOLS))
    for _ in range(2):
        assert len(_answer(long).tools) == long.reads > 0


def test_many_texts_are_not_kept() -> None:
    tools = tuple(replace(TOOLS[0], id=f"crm/{number}") for number in range(600))
    engine = _CountingEngine(tools=tools)
    response = engine.retriever("").retrieve(Request(query="list the orders of a customer", k=600))
    for _ in range(2):
        engine.reads = 0
        response_message(engine, response, schema_format="none", explain=False, queued_ms=0.0, max_bytes=1 << 20)
        assert engine.reads > 0


def test_the_texts_of_many_engines_take_the_room_of_one() -> None:
    """Each caller who sees a part of a catalogue has an engine of its own."""
    kept, text = KeptTexts(most_bytes=10_000), b"x" * 1_000
    engines = [MemoryEngine() for _ in range(64)]
    for number in range(3):
        for engine in engines:
            assert kept.text(engine, f"crm/{number}", "none", lambda: text) == text
            assert kept.size <= 10_000
    assert kept.size > 0
    kept.text(engines[0], "crm/x", "none", lambda: b"first")
    assert kept.text(engines[0], "crm/x", "none", lambda: b"second") == b"first"
    engines.clear()
    del engine
    gc.collect()
    assert kept.size == 0


def test_an_answer_that_is_too_large_is_not_made_to_the_end() -> None:
    engine = _CountingEngine()
    with pytest.raises(InvalidArgumentError):
        _answer(engine, max_bytes=10)
    assert engine.reads == 1
