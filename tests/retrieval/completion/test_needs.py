"""The needs of a tool: what must go first, what other tools can supply, and what they cannot."""

from __future__ import annotations

import pytest

from inference import HashingEncoder
from ingest.canonical.canonicalize import canonicalize
from ingest.extract.structure import structural_triples
from ingest.graph import build_graph
from ingest.linking.derive import derive_edges
from ontology import Dependency, Ontology, Parameter, Tool
from ontology.tool import CONTEXT_PARAMETERS
from retrieval.completion.needs import DEPENDS_ON, RESOLVED_BY, Need, tool_needs
from retrieval.retriever import DEPENDENCIES
from retrieval.snapshot.reader import Snapshot, open_snapshot
from retrieval.snapshot.writer import SnapshotContent
from tests.retrieval.conftest import published


def _tool(
    name: str,
    *inputs: str,
    gives: tuple[str, ...] = (),
    needs: tuple[Dependency, ...] = (),
    context: tuple[str, ...] = (),
) -> Tool:
    return Tool(
        id=name,
        name=name,
        description=f"{name.replace('_', ' ').capitalize()}.",
        parameters=tuple(Parameter(name=each.rstrip("?"), required=not each.endswith("?")) for each in inputs),
        returns=tuple(Parameter(name=each, required=True) for each in gives),
        depends_on=needs,
        metadata={CONTEXT_PARAMETERS: list(context)} if context else {},
    )


TOOLS = sorted([
    _tool("cancel_order", "order_id", needs=(
        Dependency(tool="sign_in"),
        Dependency(tool="find_order", parameter="order_id", output="orders[].order_id"),
        Dependency(tool="check_rights"),
    )),
    _tool("check_rights"),
    _tool("find_order", "query", gives=("order_id",), needs=(Dependency(tool="check_rights", required=False),)),
    _tool("order_gift", "customer_id", "note"),
    _tool("rate_order", "order_id", context=("order_id",)),
    _tool("search_customers", "query", gives=("customer_id",)),
    _tool("sign_in", needs=(Dependency(tool="check_rights"),)),
    *(_tool(f"step_{number}") for number in range(8)),
    _tool("transform", "token", needs=tuple(Dependency(tool=f"step_{number}") for number in range(8))),
    _tool("get_user_token", "user_name", "password", gives=("token",)),
    _tool("delete_customer", "customer_id?"),
], key=lambda tool: tool.id)  # fmt: skip


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, ontology: Ontology) -> Snapshot:
    triples = [triple for tool in TOOLS for triple in structural_triples(tool, ontology, "rules.v1")]
    canonical = canonicalize(triples, TOOLS, ontology)
    graph = build_graph(
        TOOLS, canonical.triples, ontology, canonical.surface_forms, derived=derive_edges(TOOLS, ontology)
    )
    content = SnapshotContent(
        tools=TOOLS,
        graph=graph,
        ontology=ontology,
        encoder=HashingEncoder(),
        extractor="rules.v1",
        abbreviations=canonical.abbreviations,
        created_by="egotools test",
    )
    return open_snapshot(published(tmp_path_factory.mktemp("shop"), content))


def _needs(shop: Snapshot, tool_id: str, predicates: frozenset[str] = DEPENDENCIES) -> dict[str, Need]:
    """The needs of a tool by input, or by the tool that must go first."""
    needs = tool_needs(shop, predicates, shop.tool_number(tool_id))
    return {need.parameter or shop.tool_id(need.suppliers[0].tool): need for need in needs}


def test_what_must_go_first_is_a_need_of_its_own_in_the_order_of_the_author(shop: Snapshot) -> None:
    needs = _needs(shop, "cancel_order")
    assert set(needs) == {"sign_in", "check_rights", "order_id"}
    assert all(need.required for need in needs.values())
    positions = {name: need.suppliers[0].position for name, need in needs.items()}
    assert positions == {"sign_in": 0, "order_id": 1, "check_rights": 2}


def test_the_suppliers_of_an_input_are_alternatives_each_once_declared_ones_first(shop: Snapshot) -> None:
    order = _needs(shop, "cancel_order")["order_id"]
    assert [shop.tool_id(each.tool) for each in order.suppliers] == ["find_order"]
    assert order.suppliers[0].predicate == DEPENDS_ON
    assert order.suppliers[0].output == "orders[].order_id"
    assert (order.entity, order.field) == ("order", "id")


def test_a_resolver_is_known_by_the_entity_that_it_finds(shop: Snapshot) -> None:
    customer = _needs(shop, "order_gift")["customer_id"]
    assert (customer.entity, customer.field, customer.required) == ("customer", "id", True)
    assert shop.tool_id(customer.suppliers[0].tool) == "search_customers"
    assert customer.suppliers[0].predicate == RESOLVED_BY
    assert 0 < customer.suppliers[0].confidence <= 1
