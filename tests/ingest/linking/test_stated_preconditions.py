"""Preconditions that descriptions state; names alone conclude nothing."""

from __future__ import annotations

import pytest

from ingest.linking.derive import derive_edges
from ontology import Tool, load_ontology

ONTOLOGY = load_ontology()


def tools(description: str) -> list[Tool]:
    names = ("enable_data_roaming", "get_data_roaming_status", "open_cash_session")
    return [Tool(id="act", name="browse_page", description=description), *(Tool(id=name, name=name) for name in names)]


@pytest.mark.parametrize(
    ("description", "needed"),
    [
        ("Loads a page. Raises an error if data roaming is off.", {"enable_data_roaming"}),
        ("Loads a page. Data roaming must be enabled.", {"enable_data_roaming"}),
        ("Requires an active cash session.", {"open_cash_session"}),
        ("Loads a page with data roaming.", set()),
        ("", set()),
    ],
)
def test_a_sentence_says_what_must_hold(description: str, needed: set[str]) -> None:
    edges = [edge for edge in derive_edges(tools(description), ONTOLOGY) if edge.predicate == "depends_on"]
    assert {edge.target for edge in edges} == needed
    assert all(edge.source == "act" and edge.stated for edge in edges)
