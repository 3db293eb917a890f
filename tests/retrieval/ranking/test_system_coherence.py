"""System coherence: tools of systems that nothing in the request speaks of are lowered, and by no more than chance explains."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from inference import HashingEncoder
from ontology import Ontology, Tool
from retrieval.graph_retriever import GraphRetriever
from retrieval.query.request import Request
from retrieval.ranking.features import SystemEvidence, system_evidence
from retrieval.snapshot.reader import Snapshot, open_snapshot
from tests.retrieval.conftest import content_of, published


def evidence_of(systems: list[int], *, clauses: int = 1, named: dict[int, float] | None = None) -> SystemEvidence:
    named_CS = np.zeros((clauses, max(systems) + 1), dtype=np.float32)
    for system, share in (named or {}).items():
        named_CS[:, system] = share
    return SystemEvidence(systems_T=np.array(systems), named_CS=named_CS, system_count=max(2, len(set(systems))))


def catalogue(folder: Path, ontology: Ontology, *, systems: bool = True) -> Snapshot:
    """Two systems with a tool for tickets each, and one more in the desk."""
    tools = [
        Tool(id="acmedesk/open_ticket", name="open_ticket", description="Open a ticket."),
        Tool(id="acmedesk/escalate_case", name="escalate_case", description="Escalate a case to the second level."),
        Tool(id="zentrain/open_ticket", name="open_ticket", description="Open a ticket."),
    ]
    if systems:
        tools = [replace(tool, metadata={"system": tool.id.partition("/")[0]}) for tool in tools]
    published(folder, content_of(tools, ontology))
    return open_snapshot(folder)


@settings(max_examples=100)
@given(
    scores=arrays.arrays(np.float32, (3, 7), elements=st.floats(-6, 6, width=32)),
    whole=arrays.arrays(np.float32, 7, elements=st.floats(-6, 6, width=32)),
    systems=st.lists(st.integers(0, 3), min_size=7, max_size=7),
)
@example(np.zeros((3, 7), np.float32), np.array([1e-45, *[0] * 6], np.float32), [0] * 7)  # its spread rounds to 0
def test_the_penalty_is_bounded_by_chance_equal_in_a_system_and_zero_for_the_best(
    scores: np.ndarray, whole: np.ndarray, systems: list[int]
) -> None:
    evidence = evidence_of(systems, clauses=3)
    penalties = evidence.log_shares(scores, whole)
    assert penalties.dtype == np.float32
    assert penalties.max() == 0
    assert penalties.min() >= -math.log(evidence.system_count) - 1e-5
    for system in set(systems):
        assert len({float(p) for p, of in zip(penalties, systems, strict=True) if of == system}) == 1


def test_a_tool_whose_system_has_no_other_good_tool_is_lowered() -> None:
    scores = np.array([[2.0, 1.9, 1.95, -1.0]], dtype=np.float32)
    first, second, stray, last = evidence_of([0, 0, 1, 1]).log_shares(scores, np.zeros(4, np.float32)).tolist()
    assert first == second == 0
    assert stray == last < -0.3


def test_a_named_system_goes_before_one_that_only_matches() -> None:
    scores = np.array([[2.0, 2.2]], dtype=np.float32)
    whole = np.zeros(2, np.float32)
    assert evidence_of([0, 1]).log_shares(scores, whole).argmax() == 1
    assert evidence_of([0, 1], named={0: 3.0}).log_shares(scores, whole).argmax() == 0


def test_a_request_that_names_a_system_gets_its_tool_first(tmp_path: Path, ontology: Ontology) -> None:
    retriever = GraphRetriever(catalogue(tmp_path, ontology), HashingEncoder())
    for system in ("acmedesk", "zentrain"):
        for text in (f"open a ticket in {system}", f"{system}: please open a ticket for the printer"):
            assert retriever.retrieve(Request(query=text)).tools[0].id == f"{system}/open_ticket", text


def test_an_everyday_word_in_small_letters_hardly_names_a_system(tmp_path: Path, ontology: Ontology) -> None:
    tools = [
        Tool(id=f"{system}/open_ticket", name="open_ticket", description="Open.", metadata={"system": system})
        for system in ("support", "zentrain")
    ]
    published(tmp_path, content_of(tools, ontology))
    retriever = GraphRetriever(open_snapshot(tmp_path), HashingEncoder())

    def share(text: str) -> float:
        found = system_evidence(retriever.find_candidates(Request(query=text)))
        assert found is not None
        return float(found.named_CS.max())

    assert 0 < share("please support my ticket") < share("a ticket in Support, please") == share("a zentrain ticket")
