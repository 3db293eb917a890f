"""System coherence: tools of systems that nothing in the request speaks of are lowered, and by no more than chance explains."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from inference import HashingEncoder
from ontology import Ontology, Tool
from retrieval.graph_retriever import GraphRetriever
from retrieval.query.request import Request
from retrieval.ranking.features import system_evidence
from retrieval.ranking.need_fusion import fuse_needs
from retrieval.ranking.ranking import Ranking
from retrieval.snapshot.reader import Snapshot, open_snapshot
from tests.retrieval.conftest import content_of, published


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


def test_a_request_that_names_a_system_gets_its_tool_first(tmp_path: Path, ontology: Ontology) -> None:
    retriever = GraphRetriever(catalogue(tmp_path, ontology), HashingEncoder())
    for system in ("acmedesk", "zentrain"):
        for text in (f"open a ticket in {system}", f"{system}: please open a ticket for the printer"):
            assert retriever.retrieve(Request(query=text)).tools[0].id == f"{system}/open_ticket", text


@pytest.mark.parametrize("needs", [(), ("open a ticket",)])
def test_a_request_names_a_system_by_the_namespace_of_its_tools(
    tmp_path: Path, ontology: Ontology, needs: tuple[str, ...]
) -> None:
    titles = {"acmedesk": "Acme Desk REST API", "zentrain": "The Zentrain Cloud Platform API"}
    tools = [
        Tool(id=f"{name}/open_ticket", name="open_ticket", metadata={"system": title, "namespace": name})
        for name, title in titles.items()
    ]
    published(tmp_path, content_of(tools, ontology))
    retriever = GraphRetriever(open_snapshot(tmp_path), HashingEncoder())
    for text, name in (("open a ticket in ZenTrain", "zentrain"), ("an AcmeDesk ticket, please", "acmedesk")):
        assert retriever.retrieve(Request(query=text, needs=needs)).tools[0].id == f"{name}/open_ticket"


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


def test_needs_that_find_their_tools_in_one_system_raise_its_tools() -> None:
    """Tools 0 to 3 are of system 7, 4 to 7 of system 9. The second need hardly prefers tool 4 to tool 1."""

    def ranking(**scores: float) -> Ranking:
        row = np.asarray([scores.get(f"t{tool}", 0.0) for tool in range(8)], dtype=np.float32)
        return Ranking(tools=np.arange(8), scores=row, features={})

    def order(*needs: Ranking, systems: np.ndarray | None) -> list[int]:
        nothing = Ranking(tools=np.empty(0, np.int64), scores=np.empty(0, np.float32), features={})
        fused = fuse_needs(needs, nothing, systems=systems).ranking
        return [int(tool) for tool in fused.best(2)]

    clear, undecided = ranking(t0=3.0), ranking(t4=1.01, t1=1.0)
    systems = np.repeat([7, 9], 4)
    assert order(clear, undecided, systems=None) == [0, 4]
    assert order(clear, undecided, systems=systems) == order(undecided, clear, systems=systems) == [0, 1]
    assert order(undecided, systems=systems) == [4, 1]  # one need alone
