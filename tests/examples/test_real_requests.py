"""The requests and dependencies of the real catalogue: what its datasheet promises, and that their tools exist."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from eval.queries import read_queries
from examples.real.labelled import (
    DEPENDENCIES,
    REQUESTS,
    UNANSWERABLE,
    RealRequest,
    TrueDependency,
    half_of,
    read_labelled,
)
from examples.real.listed import read_list
from ingest.sources import Catalog, read_catalog
from ingest.sources.json_schema.schema import MAX_FIELDS
from ontology.errors import DocumentError
from ontology.tool import Parameter
from tests.conftest import ROOT

PER_CLASS = 60
SHEET = ROOT / "examples" / "real" / "DATASHEET.md"


@pytest.fixture(scope="module")
def requests() -> tuple[RealRequest, ...]:
    return read_labelled(REQUESTS, RealRequest) + read_labelled(UNANSWERABLE, RealRequest)


@pytest.fixture(scope="module")
def dependencies() -> tuple[TrueDependency, ...]:
    return read_labelled(DEPENDENCIES, TrueDependency)


@pytest.fixture(scope="module")
def fetched() -> Catalog:
    """The catalogue, where `python -m examples.real.fetch out/real` has been run; EGOTOOLS_REAL may name another folder."""
    folder = Path(os.environ.get("EGOTOOLS_REAL", ROOT / "out" / "real")) / "documents"
    if not folder.is_dir():
        pytest.skip(f"the real documents are not fetched: no folder {folder}")
    return read_catalog([str(folder)])


@cache
def formats() -> dict[str, str]:
    return {listed.name: listed.format for archive in read_list() for listed in archive.listed}


def test_ids_and_queries_are_unique(requests: tuple[RealRequest, ...]) -> None:
    assert len({request.id for request in requests}) == len(requests)
    assert len({request.query.casefold() for request in requests}) == len(requests)


def test_classes_have_the_same_number_of_requests(requests: tuple[RealRequest, ...]) -> None:
    counts = Counter(request.request_class for request in requests)
    assert counts == {"single": PER_CLASS, "implicit": PER_CLASS, "multi": PER_CLASS, "none": 30}


def test_a_class_says_how_many_slots_there_are(requests: tuple[RealRequest, ...]) -> None:
    for request in requests:
        slots = len(request.tools)
        assert {"single": slots == 1, "none": slots == 0}.get(request.request_class, slots >= 2), request.id
        assert all(len(set(slot)) == len(slot) for slot in request.tools), request.id


def test_eval_reads_the_served_requests_with_their_alternatives_and_halves() -> None:
    rows = read_labelled(REQUESTS, RealRequest)
    queries = {query.id: query for split in ("dev", "test") for query in read_queries([REQUESTS], split=split).queries}
    assert len(queries) == len(rows) == 3 * PER_CLASS
    for row in rows:
        query = queries[row.id]
        assert (query.slots, query.split, query.request_class) == (row.tools, row.split, row.request_class)


def test_requests_that_nothing_serves_are_in_a_file_of_their_own() -> None:
    assert all(row.tools == () and row.request_class == "none" for row in read_labelled(UNANSWERABLE, RealRequest))
    with pytest.raises(DocumentError, match="'tools' is empty"):
        read_queries([UNANSWERABLE])


def test_gold_sets_use_every_document_and_no_other(requests: tuple[RealRequest, ...]) -> None:
    used = {tool.split("/")[0] for request in requests for slot in request.tools for tool in slot}
    assert used == set(formats())


def test_a_hash_decides_the_half_and_the_halves_are_alike(requests: tuple[RealRequest, ...]) -> None:
    assert all(request.split == half_of(request.id) for request in requests)
    groups: list[str] = [request.request_class for request in requests]
    groups += [formats()[request.tools[0][0].split("/")[0]] for request in requests if request.tools]
    halves = [request.split for request in requests] + [request.split for request in requests if request.tools]
    counts = Counter(zip(groups, halves, strict=True))
    for group in set(groups):
        dev, test = counts[group, "dev"], counts[group, "test"]
        assert min(dev, test) >= 0.4 * (dev + test), group


def test_dependencies_are_many_and_of_many_documents(dependencies: tuple[TrueDependency, ...]) -> None:
    assert len({dependency.id for dependency in dependencies}) == len(dependencies) >= 100
    links = {(d.consumer, d.input, d.producer, d.output) for d in dependencies}
    assert len(links) == len(dependencies)
    documents = Counter(dependency.document for dependency in dependencies)
    by_format = Counter(formats()[document] for document in documents)
    assert len(documents) >= 8
    assert by_format["openapi.v1"] >= 4
    assert by_format["mcp.v1"] == 2
    assert {"aws.v1", "google-discovery.v1"} <= set(by_format)


def test_dependencies_stay_in_their_document_and_half(dependencies: tuple[TrueDependency, ...]) -> None:
    for dependency in dependencies:
        places = {dependency.consumer.split("/")[0], dependency.producer.split("/")[0], dependency.document}
        assert len(places) == 1, dependency.id
        assert dependency.consumer != dependency.producer, dependency.id
        assert dependency.split == half_of(dependency.id), dependency.id
    halves = Counter(dependency.split for dependency in dependencies)
    assert min(halves.values()) >= 0.4 * len(dependencies)


def test_the_datasheet_counts_the_tools_and_rows_of_each_document(
    requests: tuple[RealRequest, ...], dependencies: tuple[TrueDependency, ...]
) -> None:
    cells = [line.strip("| ").split(" | ") for line in SHEET.read_text(encoding="utf-8").splitlines()]
    told = {
        row[0].strip("`"): [int(cell) for cell in row[4:]] for row in cells if row[0].startswith("`") and len(row) == 7
    }
    asked = Counter(name for request in requests for name in {tool.split("/")[0] for s in request.tools for tool in s})
    linked = Counter(dependency.document for dependency in dependencies)
    listed = [document for archive in read_list() for document in archive.listed]
    assert told == {one.name: [one.tools, asked[one.name], linked[one.name]] for one in listed}


def test_the_documents_give_the_listed_number_of_tools(fetched: Catalog) -> None:
    found = Counter(tool.id.split("/")[0] for tool in fetched.tools)
    assert found == {listed.name: listed.tools for archive in read_list() for listed in archive.listed}


def test_every_gold_tool_exists(fetched: Catalog, requests: tuple[RealRequest, ...]) -> None:
    known = {tool.id for tool in fetched.tools}
    assert not {tool for request in requests for slot in request.tools for tool in slot} - known


def test_every_input_and_output_of_a_dependency_exists(
    fetched: Catalog, dependencies: tuple[TrueDependency, ...]
) -> None:
    tools = {tool.id: tool for tool in fetched.tools}
    for dependency in dependencies:
        consumer, producer = tools[dependency.consumer], tools[dependency.producer]
        assert known_or_cut(dependency.input, consumer.parameters), dependency.id
        if producer.returns:
            assert known_or_cut(dependency.output, producer.returns), dependency.id
        else:
            assert not dependency.output, dependency.id


def known_or_cut(path: str, fields: Sequence[Parameter]) -> bool:
    """Whether the reader has the field, or had to leave out some fields of this tool."""
    return path in {field.name for field in fields} or len(fields) >= MAX_FIELDS
