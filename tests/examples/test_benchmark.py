"""The open benchmark of the shipped catalogue: what its datasheet promises."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import pytest

from datagen.synthetic_request import CLASSES, SyntheticRequest
from eval.gold_slots import gold_slots
from eval.queries import read_queries
from ingest.sources import Catalog
from ontology.tool import Parameter, Tool
from research.enterprise_benchmark import FOLDER, HALVES, NOTHING, PER_CLASS, READING, SOURCES, half_of, read_rows
from research.readings.__main__ import read_reading

Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def by_source() -> dict[str, Rows]:
    return {source: list(read_rows(FOLDER / f"{source}.jsonl")) for source in SOURCES}


@pytest.fixture(scope="module")
def rows(by_source: dict[str, Rows]) -> Rows:
    return [row for source in SOURCES for row in by_source[source]]


@pytest.fixture(scope="module")
def unanswerable() -> Rows:
    return list(read_rows(FOLDER / "unanswerable.jsonl"))


def test_at_least_a_thousand_requests_sixty_of_each_class_by_hand(by_source: dict[str, Rows], rows: Rows) -> None:
    assert len(rows) >= 1_000
    by_hand = Counter(row["class"] for row in by_source["hand"])
    assert set(by_hand) == set(CLASSES)
    assert min(by_hand.values()) >= 60
    assert {row["generator"] for row in by_source["hand"]} == {"hand"}
    assert {row["generator"] for row in by_source["generated"]} == {"rules.v2"}


def test_sixty_requests_that_nothing_serves(unanswerable: Rows) -> None:
    assert len(unanswerable) >= 60
    assert all(row["tools"] == [] and row["class"] == NOTHING for row in unanswerable)


def test_the_datasheet_counts_what_the_files_have(by_source: dict[str, Rows]) -> None:
    page = (FOLDER / "DATASHEET.md").read_text(encoding="utf-8").splitlines()
    counted = {
        cells[1].strip(): [cell.strip() for cell in cells[2:-1]] for line in page if (cells := line.split("|"))[1:]
    }
    for name in CLASSES:
        assert counted[name] == [
            f"{sum(row['class'] == name and row['split'] == half for row in by_source[source]):,}"
            for source in SOURCES
            for half in HALVES
        ]
    assert counted["tool paths"] == [f"{len({row['path_id'] for row in by_source[one]}):,}" for one in SOURCES]


def test_no_tool_path_is_in_both_halves(rows: Rows) -> None:
    of = {half: {frozenset(gold_slots(row["tools"])) for row in rows if row["split"] == half} for half in HALVES}
    assert not of["dev"] & of["test"]
    assert all(half_of(row["path_id"]) == row["split"] for row in rows)
    assert min(sum(row["split"] == half for row in rows) for half in HALVES) > 0.4 * len(rows)


def test_the_hand_written_ones_are_those_of_their_writers(by_source: dict[str, Rows]) -> None:
    written = [row for path in sorted((FOLDER / "writers").glob("*.jsonl")) for row in read_rows(path)]
    kept = {row["id"]: (row["query"], row["tools"], row["class"]) for row in by_source["hand"]}
    assert kept == {r["id"]: (r["query"], r["tools"], r["class"]) for r in written if r["class"] != NOTHING}


def test_two_readers_accept_every_generated_request(by_source: dict[str, Rows]) -> None:
    generated = Counter(row["class"] for row in by_source["generated"])
    assert {row["id"] for row in by_source["generated"]} <= read_reading(READING).accepted
    assert max(generated.values()) <= PER_CLASS


def test_version_1_of_the_generated_requests_is_kept() -> None:
    path = FOLDER / "generated-v1.jsonl"
    assert (
        hashlib.sha256(path.read_bytes()).hexdigest()
        == "4914025f7531ca9c78bffef0f36874b930591c29b0c1fb39890481a22dff6eb2"
    )
    assert len(list(read_rows(path))) == 660


def test_generated_requests_passed_every_check(by_source: dict[str, Rows]) -> None:
    assert all(verdict["passed"] for row in by_source["generated"] for verdict in row["verdicts"])


def test_every_text_and_every_id_is_there_once(rows: Rows, unanswerable: Rows) -> None:
    everything = rows + unanswerable
    assert len({row["id"] for row in everything}) == len(everything)
    assert len({" ".join(row["query"].lower().split()) for row in everything}) == len(everything)


def test_the_rows_are_what_eval_and_datagen_read(rows: Rows) -> None:
    queries = read_queries([FOLDER / f"{source}.jsonl" for source in SOURCES])
    assert [query.slots for query in queries.queries] == [gold_slots(row["tools"]) for row in rows]
    for row in rows:
        request = SyntheticRequest.from_json(row)
        assert request.path.id == row["path_id"]
        assert len(set(request.path.tools)) == len(request.path.tools)
        assert {verdict.check for verdict in request.verdicts} >= {"class", "sequence", "error"}


def test_values_are_said_and_belong_to_tools_of_the_path(rows: Rows, tools: dict[str, dict[str, Any]]) -> None:
    for row in rows:
        for value in row["values"]:
            assert value["value"] in row["query"], row["id"]
            assert value["tool"] in _tools(row), row["id"]
            assert value["parameter"] in {one["name"] for one in tools[value["tool"]]["parameters"]}, row["id"]


def test_edges_join_tools_of_the_path_in_the_order_they_run(rows: Rows) -> None:
    for row in rows:
        place = {tool: at for at, slot in enumerate(gold_slots(row["tools"])) for tool in slot}
        for edge in row["edges"]:
            assert edge["kind"] == "P-P" or place[edge["source"]] < place[edge["target"]], row["id"]


def _tools(row: dict[str, Any]) -> list[str]:
    """All tools of a gold set, alternatives among them."""
    return [tool for slot in gold_slots(row["tools"]) for tool in slot]


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


def test_the_requests_reach_nearly_all_tools_and_every_system(rows: Rows, tools: dict[str, dict[str, Any]]) -> None:
    used: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        for tool in _tools(row):
            used[tool.split("/")[0]].add(tool)
    assert {tool.split("/")[0] for tool in tools} == set(used)
    assert sum(map(len, used.values())) >= 0.9 * len(tools)
