"""System coherence: tools of systems that nothing in the request speaks of are lowered, and by no more than chance explains."""

from dataclasses import replace
from pathlib import Path

from inference import HashingEncoder
from ontology import Ontology, Tool
from retrieval.graph_retriever import GraphRetriever
from retrieval.query.request import Request
from retrieval.ranking.features import system_evidence
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
