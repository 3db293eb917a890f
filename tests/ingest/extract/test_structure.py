"""What structure declares: names of parameters, what they identify, values, metadata, dependencies."""

from collections.abc import Sequence

import pytest

from ingest.extract.structure import structural_triples
from ontology import Ontology, Parameter, Tool, Triple, load_ontology

ONTOLOGY = load_ontology()


def read(tool: Tool, ontology: Ontology = ONTOLOGY) -> list[Triple]:
    return structural_triples(tool, ontology, "rules.v1")


def tails(triples: Sequence[Triple], predicate: str, head: str | None = None) -> list[str]:
    return [t.tail for t in triples if t.predicate == predicate and head in (None, t.head)]


NAMES = {
    "results[].movie_id": "movie_id",
    "movie.id": "movie id",
    "guest_stars[].name": "guest star name",
    "data.order.status": "order status",
    "address.street": "street",
    "total": "total",
}
BARE = {
    ("/search/movie", "GET", "results[].id"): "movie id",
    ("/tv/popular", "GET", "results[].id"): "tv id",
    ("/orders", "POST", "id"): "order id",
    ("/orders/{order_id}", "GET", "id"): "order id",
    ("/movie/{movie_id}/keywords", "GET", "id"): "id",
}


def test_outputs_go_by_a_name_that_says_whose_they_are_and_a_bare_id_takes_its_entity_from_the_path() -> None:
    for documented, name in NAMES.items():
        tool = Tool(id="t", name="t", returns=(Parameter(name=documented),))
        assert tails(read(tool), "returns") == [name], documented
    for (path, method, output), name in BARE.items():
        returns = (Parameter(name=output, type="integer"),)
        tool = Tool(id="t", name="t", returns=returns, metadata={"path": path, "method": method})
        assert tails(read(tool), "returns") == [name], path


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
