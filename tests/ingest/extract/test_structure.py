"""What structure declares: names of parameters, what they identify, values, metadata, dependencies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ingest.extract.structure import MAX_VALUES, structural_triples
from ontology import Dependency, Ontology, Parameter, Tool, Triple, load_ontology

ONTOLOGY = load_ontology()


def read(tool: Tool, ontology: Ontology = ONTOLOGY) -> list[Triple]:
    return structural_triples(tool, ontology, "rules.v1")


def tails(triples: Sequence[Triple], predicate: str, head: str | None = None) -> list[str]:
    return [t.tail for t in triples if t.predicate == predicate and head in (None, t.head)]


def endpoint(path: str, *parameters: Parameter, returns: tuple[Parameter, ...] = (), **metadata: Any) -> Tool:
    return Tool(id="t", name="t", parameters=parameters, returns=returns, metadata={"path": path, **metadata})


def test_inputs_and_outputs_are_declared_with_certainty() -> None:
    tool = Tool(
        id="x/list", name="list", parameters=(Parameter(name="supplier_id"),), returns=(Parameter(name="total"),)
    )
    triples = read(tool)
    assert tails(triples, "has_parameter", "x/list") == ["supplier_id"]
    assert tails(triples, "returns", "x/list") == ["total"]
    declared = [t for t in triples if t.predicate in ("has_parameter", "returns")]
    assert {t.confidence for t in declared} == {1.0}
    assert [t.provenance.field for t in declared] == ["parameters.supplier_id", "returns.total"]


@pytest.mark.parametrize(
    "documented, name",
    [
        ("results[].movie_id", "movie_id"),
        ("movie.id", "movie id"),
        ("guest_stars[].name", "guest star name"),
        ("data.order.status", "order status"),
        ("address.street", "street"),
        ("total", "total"),
    ],
)
def test_nested_outputs_go_by_a_name_that_says_whose_they_are(documented: str, name: str) -> None:
    tool = Tool(id="t", name="t", returns=(Parameter(name=documented),))
    assert tails(read(tool), "returns") == [name]


@pytest.mark.parametrize(
    "path, method, output, name",
    [
        ("/search/movie", "GET", "results[].id", "movie id"),
        ("/tv/popular", "GET", "results[].id", "tv id"),
        ("/orders", "POST", "id", "order id"),
        ("/orders/{order_id}", "GET", "id", "order id"),
        ("/movie/{movie_id}/keywords", "GET", "id", "id"),
    ],
)
def test_a_bare_id_takes_its_entity_from_the_path_when_that_tells(
    path: str, method: str, output: str, name: str
) -> None:
    tool = endpoint(path, returns=(Parameter(name=output, type="integer"),), method=method)
    assert tails(read(tool), "returns") == [name]


def test_a_bare_id_without_evidence_stays_bare_and_identifies_nothing() -> None:
    tool = Tool(id="t", name="fetch", parameters=(Parameter(name="id"),))
    triples = read(tool)
    assert tails(triples, "has_parameter") == ["id"]
    assert tails(triples, "identifies") == []


@pytest.mark.parametrize(
    "name, entity",
    [
        ("movie_id", "movie"),
        ("purchaseOrderID", "purchase order"),
        ("order_id", "order"),
        ("user_ids", "user"),
        ("customer_number", "customer"),
        ("parent_category_id", "category"),
        ("original_room_id", "room"),
    ],
)
def test_identifiers_by_name(name: str, entity: str) -> None:
    triples = read(Tool(id="t", name="t", parameters=(Parameter(name=name),)))
    assert tails(triples, "identifies", name) == [entity]


@pytest.mark.parametrize(
    "name",
    ["phone_number", "page_number", "zip_code", "api_key", "status_code", "external_id", "request_id", "email", "paid"],
)
def test_what_looks_like_an_identifier_and_is_none(name: str) -> None:
    assert tails(read(Tool(id="t", name="t", parameters=(Parameter(name=name),))), "identifies") == []


def test_identifiers_by_path_position() -> None:
    tool = endpoint("/movies/{id}", Parameter(name="id", location="path"))
    triples = read(tool)
    assert tails(triples, "has_parameter") == ["movie id"]
    assert tails(triples, "identifies", "movie id") == ["movie"]
    pods = endpoint("/namespaces/{namespace}/pods/{name}", Parameter(name="namespace"), Parameter(name="name"))
    assert ("pod name", "pod") in [(t.head, t.tail) for t in read(pods) if t.predicate == "identifies"]
    version = endpoint("/v1/{version}/orders", Parameter(name="version"))
    assert tails(read(version), "identifies") == []


@pytest.mark.parametrize(
    "description, entity",
    [
        ("The ID of the movie.", "movie"),
        ("Unique identifier of an order", "order"),
        ("Customer ID", "customer"),
        ("UUID for the purchase requisition to approve", "purchase requisition"),
    ],
)
def test_identifiers_by_description(description: str, entity: str) -> None:
    triples = read(Tool(id="t", name="t", parameters=(Parameter(name="id", description=description),)))
    found = [t for t in triples if t.predicate == "identifies"]
    assert [t.tail for t in found] == [entity]
    at = found[0].provenance
    assert 0 <= at.start < at.end <= len(description)
    assert entity.split()[0] in description[at.start : at.end].lower()


def test_a_uuid_format_makes_the_description_surer() -> None:
    def confidence(schema_format: str) -> float:
        parameter = Parameter(name="ref", description="Identifier of the invoice", format=schema_format)
        found = [t for t in read(Tool(id="t", name="t", parameters=(parameter,))) if t.predicate == "identifies"]
        return found[0].confidence

    assert confidence("uuid") > confidence("")


def test_evidence_of_different_kinds_has_different_confidence() -> None:
    by_name = next(t for t in read(Tool(id="t", name="t", parameters=(Parameter(name="user_id"),))) if t.phrase == "")
    named = [t for t in read(endpoint("/users/{id}", Parameter(name="id"))) if t.predicate == "identifies"]
    assert by_name.predicate == "has_parameter"
    assert named[0].confidence >= 0.85


@pytest.mark.parametrize(
    "name, entity",
    [("supplier_name", "supplier"), ("recipient_list", "recipient"), ("city", "city"), ("order_status", "order")],
)
def test_parameters_refer_to_what_they_name(name: str, entity: str) -> None:
    assert tails(read(Tool(id="t", name="t", parameters=(Parameter(name=name),))), "refers_to", name) == [entity]


@pytest.mark.parametrize("name", ["email", "limit", "is_active", "start_date", "q", "sort_by", "page", "$filter"])
def test_plain_attributes_refer_to_nothing(name: str) -> None:
    assert tails(read(Tool(id="t", name="t", parameters=(Parameter(name=name),))), "refers_to") == []


def test_allowed_values_are_capped_and_say_something() -> None:
    enum = ("true", "1", "2.5", "", "High", *(f"value {letter}" for letter in "abcdefghijklmnopqrstuvwxyz"))
    triples = read(Tool(id="t", name="t", parameters=(Parameter(name="level", enum=enum),)))
    values = tails(triples, "has_value", "level")
    assert values[0] == "High"
    assert len(values) == MAX_VALUES


def test_metadata_keys_map_onto_predicates() -> None:
    metadata = {
        "line_of_business": "Finance",
        "tags": ["Invoices", "https://example.org/x", "42", "Invoices"],
        "department": {"name": "not a name"},
        "app": "sap",
        "unknown": "ignored",
    }
    triples = read(Tool(id="t", name="t", metadata=metadata))
    assert tails(triples, "has_line_of_business") == ["Finance"]
    assert tails(triples, "has_topic") == ["Invoices"]
    assert tails(triples, "has_department") == []
    assert tails(triples, "has_system") == ["sap"]
    assert "ignored" not in {t.tail for t in triples}


def test_the_namespace_is_the_system_where_none_is_named() -> None:
    assert tails(read(Tool(id="t", name="t", metadata={"namespace": "billing"})), "has_system") == ["billing"]
    both = {"namespace": "billing", "system": "SAP"}
    assert tails(read(Tool(id="t", name="t", metadata=both)), "has_system") == ["SAP"]


def test_an_operation_in_the_place_of_a_system_is_none() -> None:
    metadata = {"tool": "Bitbucket", "api": "deleteTeam"}
    triples = read(Tool(id="t", name="Bitbucket: deleteTeam", metadata=metadata))
    assert tails(triples, "has_system") == ["Bitbucket"]


def test_declared_dependencies_lead_from_tool_to_tool() -> None:
    tool = Tool(id="b", name="b", depends_on=(Dependency(tool="a", reason="openapi link"),))
    found = [t for t in read(tool) if t.predicate == "depends_on"]
    assert [(t.head, t.head_type, t.tail, t.tail_type, t.confidence) for t in found] == [("b", "tool", "a", "tool", 1)]


def test_predicates_that_the_ontology_lacks_are_not_written() -> None:
    predicates = {name: p for name, p in ONTOLOGY.predicates.items() if name not in ("identifies", "refers_to")}
    small = Ontology(name="small", entity_types=ONTOLOGY.entity_types, predicates=predicates)
    triples = read(Tool(id="t", name="t", parameters=(Parameter(name="movie_id"), Parameter(name="city"))), small)
    assert {t.predicate for t in triples} == {"has_parameter"}
