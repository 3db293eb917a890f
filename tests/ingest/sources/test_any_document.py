"""Whatever a document holds, each reader yields tools and rejected records and nothing else, under any hash seed."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings

from ingest.sources import Document, RejectedRecord, Source
from ingest.sources.function import FunctionSource
from ingest.sources.mcp.source import McpSource
from ingest.sources.sanitize import sanitize_tool
from ingest.sources.table.source import TableSource
from ontology.tool import Tool
from tests.harness.hash_seeds import said_by
from tests.ingest.sources import any_json

LINKED = {
    "openapi": "3.0.0",
    "paths": {
        "/a": {
            "post": {
                "requestBody": {
                    "content": {"application/json": {"schema": {"oneOf": [{"$ref": "#/x/A"}, {"$ref": "#/x/B"}]}}}
                },
                "responses": {"200": {"links": {"b": {"operationId": "b"}, "c": {"operationId": "c"}}}},
            },
            "get": {"operationId": "b"},
        }
    },
    "x": {
        "A": {"properties": {name: {"enum": ["p", "q"]} for name in "fedcba"}, "required": ["a", "b", "c"]},
        "B": {"properties": {name: {"type": "string"} for name in "bcxyz"}, "required": ["z", "c", "b"]},
    },
}

ROWS = any_json(
    "id name title description parameters returns depends_on metadata type enum required function input_schema args properties $ref $defs "
    "items allOf inputSchema outputSchema tools in",
    *("enum [a, b]", "#/$defs/x", "object"),
)


@pytest.mark.parametrize("source", [TableSource(), FunctionSource(), McpSource()], ids=lambda source: source.name)
@settings(max_examples=80)
@given(row=ROWS)
def test_whatever_a_row_holds_it_is_a_tool_or_a_refusal(tmp_path: Path, source: Source, row: object) -> None:
    for ending, data in (("json", [row, {"name": "good", "parameters": row}]), ("jsonl", row)):
        path = tmp_path / f"a.{ending}"
        path.write_text(json.dumps(data), encoding="utf-8")
        for item in source.read(Document(path.name, path=path)):
            if isinstance(item, Tool):
                assert sanitize_tool(item).canonical_json().encode("utf-8")
            else:
                assert isinstance(item, RejectedRecord)


def test_the_hash_seed_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(LINKED), encoding="utf-8")
    (tmp_path / "b.jsonl").write_text(
        '{"name": "x", "parameters": [], "z": 1, "y": 2}\n{"name": "x", "parameters": []}\n', encoding="utf-8"
    )
    program = "from ingest.sources import read_catalog; read = read_catalog([%r]); print(read.tools, read.rejected, read.renamed)"
    (said,) = said_by(program % str(tmp_path), ("1", "2"))
    assert "duplicate-id" in said
