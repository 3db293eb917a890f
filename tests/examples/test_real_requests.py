"""The requests and dependencies of the real catalogue: what its datasheet promises, and that their tools exist."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from eval.queries import read_queries
from examples.real.labelled import (
    DEPENDENCIES,
    LATER_DEPENDENCIES,
    REQUESTS,
    UNANSWERABLE,
    RealRequest,
    TrueDependency,
    read_labelled,
)
from examples.real.listed import LIST, read_list
from ingest.sources import Catalog, read_catalog
from ingest.sources.json_schema.schema import MAX_FIELDS
from ontology.tool import Parameter
from tests.conftest import ROOT

PER_CLASS = 60
LATER = LIST.with_name("later_documents.yaml")


@pytest.fixture(scope="module")
def requests() -> tuple[RealRequest, ...]:
    return read_labelled(REQUESTS, RealRequest) + read_labelled(UNANSWERABLE, RealRequest)


@pytest.fixture(scope="module")
def fetched() -> Catalog:
    """The catalogue, where `python -m examples.real.fetch out/real` has been run; EGOTOOLS_REAL may name another folder."""
    return catalog(Path(os.environ.get("EGOTOOLS_REAL", ROOT / "out" / "real")) / "documents")


def catalog(folder: Path) -> Catalog:
    if not folder.is_dir():
        pytest.skip(f"the real documents are not fetched: no folder {folder}")
    return read_catalog([str(folder)])


def test_eval_reads_the_served_requests_with_their_alternatives_and_halves() -> None:
    rows = read_labelled(REQUESTS, RealRequest)
    queries = {query.id: query for split in ("dev", "test") for query in read_queries([REQUESTS], split=split).queries}
    assert len(queries) == len(rows) == 3 * PER_CLASS
    for row in rows:
        query = queries[row.id]
        assert (query.slots, query.split, query.request_class) == (row.tools, row.split, row.request_class)


def test_the_documents_give_the_listed_number_of_tools(fetched: Catalog) -> None:
    found = Counter(tool.id.split("/")[0] for tool in fetched.tools)
    assert found == {listed.name: listed.tools for archive in read_list() for listed in archive.listed}


def test_every_gold_tool_exists(fetched: Catalog, requests: tuple[RealRequest, ...]) -> None:
    known = {tool.id for tool in fetched.tools}
    assert not {tool for request in requests for slot in request.tools for tool in slot} - known


def test_every_input_and_output_of_a_dependency_exists(fetched: Catalog) -> None:
    check_dependencies(read_labelled(DEPENDENCIES, TrueDependency), fetched)


def test_every_input_and_output_of_a_later_dependency_exists() -> None:
    folder = Path(f"{os.environ.get('EGOTOOLS_REAL', ROOT / 'out' / 'real')}-later") / "documents"
    check_dependencies(read_labelled(LATER_DEPENDENCIES, TrueDependency), catalog(folder))


def test_a_later_document_has_fifteen_dependencies_of_one_half() -> None:
    rows = Counter((row.document, row.split) for row in read_labelled(LATER_DEPENDENCIES, TrueDependency))
    listed = {one.name for archive in read_list(LATER) for one in archive.listed}
    assert {document for document, _ in rows} == listed
    assert set(rows.values()) == {15}
    assert Counter(split for _, split in rows) == {"dev": 4, "test": 4}


def check_dependencies(dependencies: Sequence[TrueDependency], documents: Catalog) -> None:
    tools = {tool.id: tool for tool in documents.tools}
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
