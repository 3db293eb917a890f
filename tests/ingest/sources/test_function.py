"""Function definitions in the forms that chat models and their frameworks take."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ingest.sources.function import FunctionSource
from tests.ingest.sources import read_file

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "The city"},
        "unit": {"type": "string", "enum": ["c", "f"]},
        "stops": {"type": "array", "items": {"$ref": "#/$defs/Stop"}},
    },
    "required": ["city"],
    "$defs": {"Stop": {"type": "object", "properties": {"lat": {"type": "number"}}}},
}
NAMED = {"name": "weather", "description": "Tells the weather."}
FORMS: dict[str, Any] = {
    "openai": [{"type": "function", "function": {**NAMED, "parameters": SCHEMA}}],
    "openai flat": [{"type": "function", **NAMED, "parameters": SCHEMA, "strict": True}],
    "openai functions": {"functions": [{**NAMED, "parameters": SCHEMA}]},
    "anthropic": {"tools": [{**NAMED, "input_schema": SCHEMA}]},
    "langchain": [{**NAMED, "args_schema": SCHEMA}],
    "langchain text": [{**NAMED, "args_schema": json.dumps(SCHEMA)}],
    "gemini": [{"function_declarations": [{**NAMED, "parameters": SCHEMA}]}],
    "bedrock": {"tools": [{"toolSpec": {**NAMED, "inputSchema": {"json": SCHEMA}}}]},
    "one": {**NAMED, "parameters": SCHEMA},
}


read = partial(read_file, FunctionSource())


def test_each_form(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for ending in ["json", "jsonl"]:
        for form in FORMS:
            with subtests.test(ascii(form)):
                tools, rejected = read(tmp_path / f"f.{ending}", json.dumps(FORMS[form]))
                assert rejected == []
                (tool,) = tools.values()
                assert (tool.id, tool.name, tool.description) == ("weather", "weather", "Tells the weather.")
                assert [(p.name, p.type, p.required, p.enum) for p in tool.parameters] == [
                    ("city", "string", True, ()),
                    ("unit", "string", False, ("c", "f")),
                    ("stops", "array", False, ()),
                    ("stops[].lat", "number", False, ()),
                ]


def test_outputs_and_metadata(tmp_path: Path) -> None:
    row = {
        **NAMED,
        "parameters": {},
        "output_schema": {"properties": {"degrees": {"type": "number"}}},
        "department": "Met",
    }
    tools, _ = read(tmp_path / "f.json", json.dumps([row]))
    (tool,) = tools.values()
    assert tool.parameters == ()
    assert [output.name for output in tool.returns] == ["degrees"]
    assert tool.metadata == {"department": "Met"}


def test_bad_definitions_are_refused_one_by_one(tmp_path: Path) -> None:
    rows = [
        json.dumps(FORMS["one"]),
        '{"description": "no name", "parameters": {}}',
        '{"name": "torn"',
        '{"name": "lost", "parameters": {"properties": {"a": {"$ref": "#/$defs/Nowhere"}}}}',
        '{"name": "away", "parameters": {"properties": {"a": {"$ref": "https://example.com/x.json"}}}}',
        '{"name": "list", "parameters": []}',
        "7",
    ]
    tools, rejected = read(tmp_path / "f.jsonl", "\n".join(rows))
    assert list(tools) == ["weather"]
    assert [(record.subject, record.reason) for record in rejected] == [
        ("f.jsonl:2", "no-name"),
        ("f.jsonl:3", "invalid-json"),
        ("f.jsonl:4", "dangling-ref"),
        ("f.jsonl:5", "dangling-ref"),
        ("f.jsonl:6", "wrong-type"),
        ("f.jsonl:7", "wrong-type"),
    ]
