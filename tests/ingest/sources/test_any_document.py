"""Whatever a document holds, each reader yields tools and rejected records and nothing else, under any hash seed; a document that would
use up time or memory is one rejected record, and the build goes on.
"""

import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import given, settings

from ingest.sources import RejectedRecord, Source, read_catalog
from ingest.sources.document import Document, parse_json, parse_yaml
from ingest.sources.function import FunctionSource
from ingest.sources.mcp.source import McpSource
from ingest.sources.sanitize import sanitize_tool
from ingest.sources.table.source import TableSource
from ontology.errors import DocumentError
from ontology.tool import Tool
from tests.harness.hash_seeds import said_by
from tests.ingest.sources import any_json

LINKED = """
openapi: 3.0.0
paths:
  /a:
    post:
      requestBody: {content: {application/json: {schema: {oneOf: [{$ref: '#/x/A'}, {$ref: '#/x/B'}]}}}}
      responses: {200: {links: {b: {operationId: b}, c: {operationId: c}}}}
    get: {operationId: b}
x:
  A:
    properties: {f: {enum: [p, q]}, e: {enum: [p, q]}, d: {enum: [p, q]}, c: {enum: [p, q]}, b: {enum: [p, q]}, a: {}}
    required: [a, b, c]
  B: {properties: {b: {type: string}, c: {type: string}, x: {}, y: {}, z: {type: string}}, required: [z, c, b]}
"""


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
    (tmp_path / "a.yaml").write_text(LINKED, encoding="utf-8")
    (tmp_path / "b.jsonl").write_text(
        '{"name": "x", "parameters": [], "z": 1, "y": 2}\n{"name": "x", "parameters": []}\n', encoding="utf-8"
    )
    program = "from ingest.sources import read_catalog; read = read_catalog([%r]); print(read.tools, read.rejected, read.renamed)"
    (said,) = said_by(program % str(tmp_path), ("1", "2"))
    assert "duplicate-id" in said


TOOL = {"name": "find", "description": "Find.", "inputSchema": {"type": "object"}}


def merge_bomb(levels: int = 9, copies: int = 9) -> str:
    """Each level merges the level above it several times: 9 levels of 9 copies are 387 million entries."""
    rows = ["a0: &a0 {k0: 1}"]
    for level in range(1, levels + 1):
        names = ", ".join([f"*a{level - 1}"] * copies)
        rows.append(f"a{level}: &a{level} {{<<: [{names}], k{level}: 1}}")
    return "\n".join(rows) + "\n"


def test_a_merge_bomb_ends_at_once() -> None:
    assert len(merge_bomb()) < 700
    started = time.process_time()
    with pytest.raises(DocumentError, match="aliases expand to more than 5,000,000 values") as caught:
        parse_yaml(merge_bomb(), subject="bomb.yaml")
    assert time.process_time() - started < 1
    assert caught.value.subject.startswith("bomb.yaml:")
    assert caught.value.reason == "invalid-yaml"


def test_many_small_values_are_refused_before_they_take_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.sources.document.MAX_NODES", 1_000)
    with pytest.raises(DocumentError, match="more than 1,000 values") as caught:
        parse_json("[" + "[]," * 2_000 + "0]", subject="a.json", whole=True)
    assert (caught.value.reason, caught.value.remedy) == ("too-large", "Split the document")
    assert parse_json(json.dumps({"text": 'a, {[\\" ' * 5_000}), subject="a.json")["text"]
    with pytest.raises(DocumentError, match="more than 1,000 values"):
        parse_yaml("- []\n" * 2_000, subject="a.yaml")


@pytest.mark.parametrize(
    ("ref", "said"), [("pipe.yaml#/x", "it is no regular file"), (f"{'x' * 5_000}.yaml#/x", "File name too long")]
)
def test_a_reference_to_what_cannot_be_read_costs_its_operation(tmp_path: Path, ref: str, said: str) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    operation = {"parameters": [{"$ref": ref}], "responses": {"200": {"description": "ok"}}}
    paths = {"/thing": {"get": {"operationId": "getThing", **operation}}, "/kept": {"get": {"operationId": "kept"}}}
    document = {"openapi": "3.0.0", "info": {"title": "t", "version": "1"}, "paths": paths}
    (tmp_path / "api.json").write_text(json.dumps(document), encoding="utf-8")
    (tmp_path / "mcp.json").write_text(json.dumps([TOOL]), encoding="utf-8")
    catalog = read_catalog([str(tmp_path)])
    assert {"mcp/find", "api/kept"} == {tool.id for tool in catalog.tools}
    (record,) = (each for each in catalog.rejected if each.reason == "dangling-ref")
    assert said in record.detail


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.sources.document.MAX_BYTES", 1_000)
    (tmp_path / "rows.jsonl").write_bytes(b"{}\n" + b"x" * 5_000)
    with pytest.raises(DocumentError, match="the file is larger than 1000 bytes") as caught:
        list(Document("rows.jsonl", path=tmp_path / "rows.jsonl").lines())
    assert caught.value.reason == "too-large"


def test_a_fault_of_a_reader_is_one_rejected_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.json").write_text(json.dumps([TOOL]), encoding="utf-8")
    (tmp_path / "b.json").write_text(json.dumps([TOOL]), encoding="utf-8")
    from ingest.sources import catalog as module

    seen: list[Tool] = []

    def broken(tool: Tool) -> Tool:
        seen.append(tool)
        if len(seen) == 1:
            raise KeyError("surprise")
        return sanitize_tool(tool)

    monkeypatch.setattr(module, "sanitize_tool", broken)
    found = read_catalog([str(tmp_path)])
    assert [tool.id for tool in found.tools] == ["b/find"]
    assert [(record.reason, record.subject) for record in found.rejected] == [
        ("unreadable", (tmp_path / "a.json").as_posix())
    ]
