"""Tables: JSONL, CSV and JSON lists in the paper's form."""

import json
from pathlib import Path

import pytest

from ingest.sources import RejectedRecord
from ingest.sources.table.source import TableSource
from ontology.errors import DocumentError
from ontology.tool import Tool
from tests.ingest.sources import read_file


def read(path: Path, text: str | bytes) -> tuple[list[Tool], list[RejectedRecord]]:
    tools, rejected = read_file(TableSource(), path, text, namespace="ns")
    return list(tools.values()), rejected


@pytest.mark.parametrize(
    ("type_", "expected", "enum"),
    [
        ("enum [High, Medium, Low]", "string", ("High", "Medium", "Low")),
        ("string, enum: ['a', 'b']", "string", ("a", "b")),
        ("integer enum(1|2|3)", "integer", ("1", "2", "3")),
        ("Literal['asc', 'desc']", "string", ("asc", "desc")),
        ("Optional[Literal['asc', 'desc']]", "string", ("asc", "desc")),
        ("list<user_email>", "list<user_email>", ()),
        ("List[FlightInfo | dict]", "List[FlightInfo | dict]", ()),
        ("enum []", "enum []", ()),
    ],
)
def test_values_written_into_the_type_become_the_enum(
    tmp_path: Path, type_: str, expected: str, enum: tuple[str, ...]
) -> None:
    row = {"name": "t", "parameters": [{"name": "p", "type": type_}]}
    tools, _ = read(tmp_path / "t.jsonl", json.dumps(row))
    assert (tools[0].parameters[0].type, tools[0].parameters[0].enum) == (expected, enum)


def test_each_bad_line_is_refused_with_its_number_and_the_rest_is_kept(tmp_path: Path) -> None:
    lines = [
        b'{"name": "a", "parameters": []}',
        b'{"name": "b", ',
        b"",
        b'{"description": "no name"}',
        b'{"name": "c", "parameters": "none"}',
        b'["not", "an", "object"]',
        b'{"name": "\xff"}',
        b'{"name": "d", "parameters": [{"type": "string"}]}',
        b'{"name": {"en": "e"}}',
        b'{"name": "f", "metadata": 3}',
        b'{"name": "a", "returns": []}',
        b'{"name": "z", "description": "Zips.", "score": NaN}',
        b'{"name": "y"}',
    ]
    tools, rejected = read(tmp_path / "t.jsonl", b"\n".join(lines))
    assert [tool.name for tool in tools] == ["a", "z"]
    assert tools[1].metadata["score"] is None
    assert [(record.subject, record.reason) for record in rejected] == [
        ("t.jsonl:2", "invalid-json"),
        ("t.jsonl:4", "no-name"),
        ("t.jsonl:5", "wrong-type"),
        ("t.jsonl:6", "wrong-type"),
        ("t.jsonl:7", "not-utf8"),
        ("t.jsonl:8", "wrong-type"),
        ("t.jsonl:9", "wrong-type"),
        ("t.jsonl:10", "wrong-type"),
        ("t.jsonl:11", "duplicate-id"),
        ("t.jsonl:13", "not-a-tool"),
    ]
    assert "t.jsonl:1" in rejected[-2].detail
    assert all(record.detail.endswith(".") for record in rejected)


CSV = """id,Title,Description,Parameters,Returns,Depends On,Line of Business,Tags
po.list,List purchase orders,"Lists them, newest first","[{""name"": ""status"", ""type"": ""enum [open, closed]"", ""required"": true}, {""name"": ""limit""}]","[{""name"": ""order_id""}]",,Procurement,"[""po"", ""list""]"

po.get,Get one,Reads one,"[{""name"": ""order_id"", ""type"": ""string"", ""required"": true}]",,po.list,Procurement,[draft] text
"""


def test_csv_with_cells_of_json(tmp_path: Path) -> None:
    tools, rejected = read(tmp_path / "orders.csv", "\ufeff" + CSV)
    assert rejected == []
    first, second = tools
    assert first.id == "po.list"
    assert [(p.name, p.type, p.required, p.enum) for p in first.parameters] == [
        ("status", "string", True, ("open", "closed")),
        ("limit", "string", False, ()),
    ]
    assert [output.name for output in first.returns] == ["order_id"]
    assert first.metadata["line_of_business"] == "Procurement"
    assert first.metadata["tags"] == ["po", "list"]
    assert second.parameters[0].required
    assert [need.tool for need in second.depends_on] == ["po.list"]
    assert second.metadata["tags"] == "[draft] text"


def test_bad_csv_rows_are_refused_with_their_line(tmp_path: Path) -> None:
    text = 'name,description,parameters\na,ok,\nb,x,y,z,\n,nothing,\nc,"two\nlines",[{broken\nd,ok,\n'
    tools, rejected = read(tmp_path / "t.csv", text)
    assert [tool.name for tool in tools] == ["a", "d"]
    assert [(record.subject, record.reason) for record in rejected] == [
        ("t.csv:3", "wrong-columns"),
        ("t.csv:4", "no-name"),
        ("t.csv:5", "invalid-json"),
    ]


def test_a_quote_that_never_closes_is_refused(tmp_path: Path) -> None:
    tools, rejected = read(tmp_path / "t.csv", 'name,description\na,ok\nb,"never closed\nc,ok\n')
    assert [tool.name for tool in tools] == ["a"]
    assert [(record.subject, record.reason) for record in rejected] == [("t.csv:3", "invalid-csv")]


def test_a_header_that_names_a_column_twice_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="'status' twice"):
        read(tmp_path / "t.csv", "name,Status,status\na,b,c\n")


PACKAGE = {
    "name": "left-pad",
    "version": "1.3.0",
    "description": "Pads a text.",
    "scripts": {"test": "x"},
    "dependencies": {},
}
PEOPLE = [{"id": 1, "name": "Ada", "email": "ada@example.org"}, {"id": 2, "name": "Alan", "email": "alan@example.org"}]


@pytest.mark.parametrize(
    ("name", "text", "named"),
    [
        ("package.json", json.dumps(PACKAGE), "left-pad"),
        ("schema.json", json.dumps({"title": "Lamp", "description": "A thing.", "type": "object"}), "Lamp"),
        ("users.json", json.dumps(PEOPLE), "Ada"),
        ("users.jsonl", "\n".join(map(json.dumps, PEOPLE)), "Ada"),
        ("users.csv", "name,email\nAda,ada@example.org\nAlan,alan@example.org\n", "Ada"),
    ],
)
def test_a_row_with_a_name_is_not_a_tool(tmp_path: Path, name: str, text: str, named: str) -> None:
    tools, rejected = read(tmp_path / name, text)
    assert tools == []
    assert [(record.subject, record.reason) for record in rejected] == [(name, "not-a-tool")], "once for the document"
    assert named in rejected[0].detail
    assert "parameters" in rejected[0].detail
