"""The open benchmark of the shipped catalogue: what its datasheet promises."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from datagen.requests import SyntheticRequest
from eval.queries import gold_slots, read_queries
from ingest.sources import Catalog
from ontology.tool import Parameter, Tool
from tests.conftest import ROOT

Rows = list[dict[str, Any]]
FOLDER = ROOT / "examples" / "enterprise" / "benchmark"
SOURCES = ("hand", "generated")


def read_rows(path: Path) -> Rows:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def by_source() -> dict[str, Rows]:
    return {source: list(read_rows(FOLDER / f"{source}.jsonl")) for source in SOURCES}


@pytest.fixture(scope="module")
def rows(by_source: dict[str, Rows]) -> Rows:
    return [row for source in SOURCES for row in by_source[source]]


def test_the_rows_are_what_eval_and_datagen_read(rows: Rows) -> None:
    queries = read_queries([FOLDER / f"{source}.jsonl" for source in SOURCES])
    assert [query.slots for query in queries.queries] == [gold_slots(row["tools"]) for row in rows]
    for row in rows:
        request = SyntheticRequest.from_json(row)
        assert request.path.id == row["path_id"]
        assert len(set(request.path.tools)) == len(request.path.tools)
        assert {verdict.check for verdict in request.verdicts} >= {"class", "sequence", "error"}


@pytest.fixture(scope="module")
def tools() -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in read_rows(FOLDER / "tools.jsonl")}


def _without_calls(tool: Tool) -> Tool:
    """What retrieval is measured on: neither the schemas of a call nor what a schema states of single values."""
    return replace(
        tool,
        input_schema=None,
        output_schema=None,
        call=None,
        parameters=tuple(map(_without_values, tool.parameters)),
        returns=tuple(map(_without_values, tool.returns)),
    )


def _without_values(parameter: Parameter) -> Parameter:
    return replace(parameter, example="", default="", pattern="", bounds=())


def test_the_tools_are_those_of_the_shipped_catalogue(catalog: Catalog, tools: dict[str, dict[str, Any]]) -> None:
    read = {tool.id: json.loads(_without_calls(tool).canonical_json()) for tool in catalog.tools}
    assert len(read) >= 300
    assert tools == read
