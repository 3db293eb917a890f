"""The shipped catalogue loads whole, and its open benchmark is what the datasheet promises."""

import json
from dataclasses import replace

import pytest

from datagen.requests import SyntheticRequest
from eval.queries import gold_slots, read_queries, with_needs
from ingest.sources import read_catalog
from ontology.tool import Parameter, Tool
from tests.conftest import ROOT
from tests.harness.commands import json_lines

FOLDER = ROOT / "examples" / "enterprise" / "benchmark"
SOURCES = [FOLDER / "hand.jsonl", FOLDER / "generated.jsonl"]


def test_the_rows_are_what_eval_and_datagen_read() -> None:
    rows = [row for source in SOURCES for row in json_lines(source)]
    assert [query.slots for query in read_queries(SOURCES).queries] == [gold_slots(row["tools"]) for row in rows]
    for row in rows:
        request = SyntheticRequest.from_json(row)
        assert request.path.id == row["path_id"]
        assert len(set(request.path.tools)) == len(request.path.tools)
        assert {verdict.check for verdict in request.verdicts} >= {"class", "sequence", "error"}


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


def test_everything_is_read_and_the_tools_of_the_benchmark_are_those_of_the_catalogue() -> None:
    catalog = read_catalog([str(ROOT / "examples" / "enterprise" / "catalog")])
    assert not catalog.rejected and not catalog.renamed
    read = {tool.id: json.loads(_without_calls(tool).canonical_json()) for tool in catalog.tools}
    assert len(read) >= 300
    assert {row["id"]: row for row in json_lines(FOLDER / "tools.jsonl")} == read


@pytest.mark.parametrize(
    ("requests", "needs"),
    [
        ("enterprise/requests.jsonl", "enterprise/needs.jsonl"),
        ("enterprise/benchmark/hand.jsonl", "enterprise/benchmark/needs.jsonl"),
        ("real/requests.jsonl", "real/needs.jsonl"),
    ],
)
def test_every_request_has_needs_without_values(requests: str, needs: str) -> None:
    queries = with_needs(read_queries([ROOT / "examples" / requests], unanswerable=True), [ROOT / "examples" / needs])
    assert (queries.without_needs, queries.unknown_needs) == (0, ())
    phrases = [need for query in queries.asked for need in query.needs or ()]
    assert all(query.needs for query in queries.asked)
    assert not any(character.isdigit() for need in phrases for character in need)
