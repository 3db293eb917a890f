"""Canonical names: what becomes one node, what stays apart, and what is kept of each spelling."""

from dataclasses import replace

import pytest

from ingest.canonical.canonicalize import Canonicalization, canonicalize, system_aliases
from ontology import Ontology, Tool, Triple, load_ontology
from tests.ingest import triple


@pytest.fixture(scope="module")
def ontology() -> Ontology:
    return load_ontology()


def has(
    name: str, kind: str = "business_object", *, tool: str = "erp/t1", field: str = "description", times: int = 1
) -> list[Triple]:
    return [triple(tool, "has_entity", name, types=("tool", kind), confidence=0.8, field=field, span=(0, 5))] * times


def between(head: str, predicate: str, tail: str) -> Triple:
    return triple(
        head, predicate, tail, types=("business_object",) * 2, tool="erp/t1", field="description", span=(0, 5)
    )


def tails(result: Canonicalization) -> list[str]:
    return [triple.tail for triple in result.triples]


def test_surface_forms_of_one_thing_share_one_node(ontology: Ontology) -> None:
    raw = [*has("Supplier", times=2), *has("suppliers", times=3), *has("supplier")]
    result = canonicalize(raw, ontology)
    assert tails(result) == ["supplier"] * 6
    assert result.surface_forms == {"business_object:supplier": (("suppliers", 3), ("Supplier", 2), ("supplier", 1))}


def test_provenance_confidence_and_equal_assertions_are_kept(ontology: Ontology) -> None:
    raw = [*has("Orders", tool="a"), *has("order", tool="a", field="name")]
    result = canonicalize(raw, ontology)
    assert [triple.provenance for triple in result.triples] == [triple.provenance for triple in raw]
    assert len({triple.key for triple in result.triples}) == 1


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("PO qty", "purchase order quantity"),
        ("POBoxLobbyName", "post office box lobby name"),
        ("Purchase Req", "purchase requisition"),
        ("PO item req", "purchase order item request"),
        ("BoxPO", "box purchase order"),
    ],
)
def test_two_words_of_the_list_win_over_their_words(name: str, canonical: str, ontology: Ontology) -> None:
    result = canonicalize(has(name), ontology)
    assert tails(result) == [canonical]


def test_a_type_is_not_changed_where_a_predicate_needs_it(ontology: Ontology) -> None:
    can = replace(has("search", "capability")[0], predicate="has_capability")
    result = canonicalize([can, *has("search", times=3)], ontology)
    assert [triple.tail_type for triple in result.triples] == ["capability", *["business_object"] * 3]
    assert all(ontology.allows(t.head_type, t.predicate, t.tail_type) for t in result.triples)


@pytest.mark.parametrize(("frequent", "rare"), [("email address", "e-mail address"), ("line item", "lineitem")])
def test_spellings_are_merged_into_the_more_frequent(frequent: str, rare: str, ontology: Ontology) -> None:
    result = canonicalize([*has(rare), *has(frequent, times=2)], ontology)
    assert set(tails(result)) == {frequent}


APART = [
    ("purchase order", "purchase order item"),
    ("address line 1", "address line 2"),
    ("line 1 2", "line 12"),
    ("country code", "county code"),
    ("list of order", "order list"),
]


@pytest.mark.parametrize("pair", APART, ids=" / ".join)
@pytest.mark.parametrize("kind", ["business_object", "capability"])
def test_things_that_only_look_alike_stay_apart(pair: tuple[str, str], kind: str, ontology: Ontology) -> None:
    result = canonicalize([t for name in pair for t in has(name, kind)], ontology)
    assert len(set(tails(result))) == 2


def test_the_owner_s_aliases_name_the_systems_of_a_source(ontology: Ontology) -> None:
    tools = [Tool(id=f"{space}/t", name="t", metadata={"namespace": space}) for space in ("a", "b", "c")]
    raw = [replace(has(f"{tool.namespace} api", "system", tool=tool.id)[0], predicate="has_system") for tool in tools]
    given = {"a": ("Client Book", "back office"), "b": ("back office", "B API")}
    assert system_aliases(tools, canonicalize(raw, ontology).triples, given) == {
        "system:a api": (("back office", "sources file"), ("client book", "sources file")),
        "system:b api": (("back office", "sources file"),),
    }


def test_a_loop_that_merging_made_is_refused_with_its_reason(ontology: Ontology) -> None:
    result = canonicalize([between("Orders", "related_to", "order"), *has("order")], ontology)
    assert [triple.predicate for triple in result.triples] == ["has_entity"]
    assert [rejected.reason for rejected in result.rejected] == ["self-loop"]


def test_the_order_of_triples_changes_the_order_of_the_result_and_nothing_else(ontology: Ontology) -> None:
    raw: list[Triple] = [
        *has("line item"),
        *has("lineitem"),
        *has("Approval", "event"),
        *has("approval"),
        between("worker", "employed_by", "company"),
        between("company", "related_to", "workers"),
    ]
    one = canonicalize(raw, ontology)
    other = canonicalize(raw[::-1], ontology)
    assert list(one.triples) == list(other.triples)[::-1]
    assert list(one.surface_forms.items()) == list(other.surface_forms.items())
