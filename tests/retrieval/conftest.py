"""A small catalogue, its graph and its snapshot, made once."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pytest

from inference import HashingEncoder
from ingest.canonical.canonicalize import canonicalize
from ingest.extract.structure import structural_triples
from ingest.graph import build_graph
from ingest.linking.edges import DerivedEdge, derive_links
from ingest.linking.shape_uses import shape_uses
from ontology import Ontology, Parameter, Tool, Triple, load_ontology
from retrieval.engine import Engine
from retrieval.query.request import Request
from retrieval.snapshot.publish import publish, staging_folder
from retrieval.snapshot.reader import Snapshot, open_snapshot
from retrieval.snapshot.writer import SnapshotContent, write_snapshot


def _parameter(name: str, *, required: bool = True, description: str = "", enum: tuple[str, ...] = ()) -> Parameter:
    return Parameter(name=name, description=description, required=required, enum=enum)


REQUESTS = (
    "give Jan a spot award",
    "create a purchase order with supplier Acme",
    "who is the manager of employee 48812",
    "status of purchase orders",
    "amount",
    "find the supplier Acme, create a purchase order for it and give Jan a spot award",
)
TOOLS = (
    Tool(
        id="hr/search_employees",
        name="search_employees",
        description="Find employees by name.",
        parameters=(_parameter("name", description="Part of the name"),),
        returns=(_parameter("employee_id"), _parameter("department_id")),
        metadata={"line_of_business": "HR", "namespace": "hr"},
    ),
    Tool(
        id="hr/get_employee",
        name="get_employee",
        description="One employee with manager and department.",
        parameters=(_parameter("employee_id"),),
        returns=(_parameter("employee_id"), _parameter("manager_id"), _parameter("hire_date")),
        metadata={"line_of_business": "HR", "namespace": "hr"},
    ),
    Tool(
        id="hr/give_spot_award",
        name="give_spot_award",
        description="Give a spot award to an employee.",
        parameters=(_parameter("employee_id"), _parameter("amount")),
        returns=(Parameter(name="award_id", required=True, example="AW-10482"),),
        metadata={"line_of_business": "HR", "namespace": "hr"},
    ),
    Tool(
        id="procurement/search_suppliers",
        name="search_suppliers",
        description="Find suppliers by words.",
        parameters=(_parameter("query", description="Free text"),),
        returns=(_parameter("supplier_id"), _parameter("supplier_name")),
        metadata={"line_of_business": "Procurement", "namespace": "procurement"},
    ),
    Tool(
        id="procurement/query_purchase_order_items",
        name="query_purchase_order_items",
        description="List items of purchase orders.",
        parameters=(_parameter("status", required=False, enum=("open", "pending", "closed")),),
        returns=(_parameter("purchase_order_id"), _parameter("item_number")),
        metadata={"line_of_business": "Procurement", "namespace": "procurement"},
    ),
    Tool(
        id="procurement/create_purchase_order",
        name="create_purchase_order",
        description="Create a purchase order with a supplier.",
        parameters=(_parameter("supplier_id"), _parameter("amount")),
        returns=(_parameter("purchase_order_id"),),
        metadata={"line_of_business": "Procurement", "namespace": "procurement"},
    ),
)
SAID = {
    "hr/give_spot_award": ("reward somebody for great work", "a little something for going the extra mile"),
    "procurement/create_purchase_order": ("buy from a vendor",),
}
"""Everyday phrases of two of the tools."""


@pytest.fixture(scope="session")
def ontology() -> Ontology:
    return load_ontology()


def content_of(
    tools: Sequence[Tool], ontology: Ontology, derived: Sequence[DerivedEdge] | None = None
) -> SnapshotContent:
    """What a snapshot of these tools is made of, with the edges that are derived of them or with others."""
    tools = sorted(tools, key=lambda tool: tool.id)
    triples: list[Triple] = [triple for tool in tools for triple in structural_triples(tool, ontology, "rules.v1")]
    canonical = canonicalize(triples, ontology)
    links = derive_links(tools, ontology).edges if derived is None else derived
    return SnapshotContent(
        tools=tools,
        graph=build_graph(tools, canonical.triples, canonical.surface_forms, derived=links),
        ontology=ontology,
        encoder=HashingEncoder(),
        extractor="rules.v1",
        created_by="egotools test",
        value_shapes=shape_uses(tools, ontology),
    )


@pytest.fixture(scope="session")
def content(ontology: Ontology) -> SnapshotContent:
    return content_of(TOOLS, ontology)


def published(store: Path, content: SnapshotContent) -> Path:
    """Publish the content in a store; returns the snapshot's folder."""
    with staging_folder(store) as folder:
        return publish(store, folder, write_snapshot(folder, content))


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory, content: SnapshotContent) -> Path:
    folder = tmp_path_factory.mktemp("store")
    published(folder, content)
    return folder


@pytest.fixture(scope="session")
def snapshot(store: Path) -> Snapshot:
    return open_snapshot(store)


@pytest.fixture(scope="session")
def engine(snapshot: Snapshot) -> Engine:
    return Engine(snapshot, HashingEncoder())


EngineOf: TypeAlias = Callable[..., Engine]
"""From tools, and edges between them in place of those that are derived of them, to an engine."""


@pytest.fixture(scope="session")
def engine_of(tmp_path_factory: pytest.TempPathFactory, ontology: Ontology) -> EngineOf:
    """Publishes a catalogue in a store of its own."""

    def made(tools: Sequence[Tool], derived: Sequence[DerivedEdge] | None = None) -> Engine:
        store = tmp_path_factory.mktemp("made")
        published(store, content_of(tools, ontology, derived))
        return Engine(open_snapshot(store), HashingEncoder())

    return made


def lines_of(engine: Engine, query: str, **others: object) -> dict[str, str]:
    """Tool → the line that explains it in an answer."""
    request = Request(query=query, explain=False, explanation=True, **{"k": 8, **others})  # type: ignore[arg-type]
    return {tool.id: tool.explanation for tool in engine.retriever().retrieve(request).tools}


@pytest.fixture(scope="session")
def said(tmp_path_factory: pytest.TempPathFactory, content: SnapshotContent) -> Path:
    """A store of the same catalogue with the phrases of :data:`SAID`."""
    folder = tmp_path_factory.mktemp("said")
    rows = {tool: {"phrases": {"texts": list(texts), "by": "Ana"}} for tool, texts in SAID.items()}
    tools = [replace(tool, metadata={**tool.metadata, **rows.get(tool.id, {})}) for tool in content.tools]
    published(folder, replace(content, tools=tools))
    return folder
