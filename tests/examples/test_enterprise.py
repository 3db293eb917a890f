"""The shipped catalogue: it loads whole, it is as large and as varied as promised."""

import json
from pathlib import Path
from typing import Any

import pytest

from eval.queries import read_queries, with_needs
from ingest.sources import Catalog
from ontology.tool import Tool

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "enterprise"


@pytest.fixture(scope="module")
def tools(catalog: Catalog) -> dict[str, Tool]:
    return {tool.id: tool for tool in catalog.tools}


@pytest.fixture(scope="module")
def requests() -> list[dict[str, Any]]:
    text = (FOLDER / "requests.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_everything_is_read_and_nothing_refused(catalog: Catalog) -> None:
    assert catalog.rejected == ()
    assert catalog.renamed == ()


@pytest.mark.parametrize(
    ("requests", "needs"),
    [
        ("enterprise/requests.jsonl", "enterprise/needs.jsonl"),
        ("enterprise/benchmark/hand.jsonl", "enterprise/benchmark/needs.jsonl"),
        ("real/requests.jsonl", "real/needs.jsonl"),
    ],
)
def test_every_request_has_needs_without_values(requests: str, needs: str) -> None:
    examples = FOLDER.parent
    queries = with_needs(read_queries([examples / requests], unanswerable=True), [examples / needs])
    assert (queries.without_needs, queries.unknown_needs) == (0, ())
    phrases = [need for query in queries.asked for need in query.needs or ()]
    assert all(query.needs for query in queries.asked)
    assert not any(character.isdigit() for need in phrases for character in need)
