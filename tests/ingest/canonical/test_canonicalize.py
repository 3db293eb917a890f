from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

import pytest

from ingest.canonical.canonicalize import canonicalize
from ingest.canonical.merges import Canonicalization, MergeKind
from ontology import Ontology, Parameter, Provenance, Tool, Triple, load_ontology
from tests.hash_seeds import said_by

SAID = Provenance("erp/t1", "description", "rules.v1", 0, 5)


@pytest.fixture(scope="module")
def ontology() -> Ontology:
    return load_ontology()


def has(
    name: str, kind: str = "business_object", *, tool: str = "erp/t1", field: str = "description", times: int = 1
) -> list[Triple]:
    triple = Triple(
        head=tool,
        head_type="tool",
        predicate="has_parameter" if kind == "parameter" else "has_entity",
        tail=name,
        tail_type=kind,
        confidence=0.8,
        provenance=replace(SAID, tool_id=tool, field=field),
    )
    return [triple] * times


def between(
    head: str, predicate: str, tail: str, phrase: str = "", types: tuple[str, str] = ("business_object",) * 2
) -> Triple:
    return Triple(
        head=head,
        head_type=types[0],
        predicate=predicate,
        tail=tail,
        tail_type=types[1],
        confidence=0.6,
        provenance=SAID,
        phrase=phrase,
    )


def documents(*descriptions: str) -> list[Tool]:
    return [Tool(id=f"erp/t{n}", name=f"t{n}", description=text) for n, text in enumerate(descriptions, 1)]


def tails(result: Canonicalization) -> list[str]:
    return [triple.tail for triple in result.triples]


def merges(result: Canonicalization, kind: str) -> list[tuple[str, str]]:
    return [(merge.surface, merge.canonical) for merge in result.merges if merge.kind == kind]


def test_surface_forms_of_one_thing_share_one_node(ontology: Ontology) -> None:
    raw = [*has("Supplier", times=2), *has("suppliers", times=3), *has("supplier")]
    result = canonicalize(raw, [], ontology)
    assert tails(result) == ["supplier"] * 6
    assert result.surface_forms == {"business_object:supplier": (("suppliers", 3), ("Supplier", 2), ("supplier", 1))}
    assert merges(result, "case") == [("Supplier", "supplier")]
    assert merges(result, "inflection") == [("suppliers", "supplier")]


def test_a_lone_form_that_is_only_respelled_is_no_merge(ontology: Ontology) -> None:
    result = canonicalize(has("PurchaseOrders"), [], ontology)
    assert tails(result) == ["purchase order"]
    assert result.merges == ()
    assert result.surface_forms == {"business_object:purchase order": (("PurchaseOrders", 1),)}


@pytest.mark.parametrize(
    "name", ["purchase_order_id", "purchaseOrderID", "PurchaseOrder-Id", "purchase.order.id", "PO_ID"]
)
def test_parameters_are_one_by_name(name: str, ontology: Ontology) -> None:
    assert tails(canonicalize(has(name, "parameter"), [], ontology)) == ["purchase order id"]


def test_tools_are_never_renamed(ontology: Ontology) -> None:
    depends = between("ERP/CreatePOs", "depends_on", "ERP/ListPOs", types=("tool", "tool"))
    result = canonicalize([depends], [], ontology)
    assert result.triples == (depends,)
    assert result.surface_forms == {}


def test_provenance_confidence_and_equal_assertions_are_kept(ontology: Ontology) -> None:
    raw = [*has("Orders", tool="a"), *has("order", tool="a", field="name")]
    result = canonicalize(raw, [], ontology)
    assert [triple.provenance for triple in result.triples] == [triple.provenance for triple in raw]
    assert len({triple.key for triple in result.triples}) == 1


def test_values_keep_signs_and_are_not_read_as_abbreviations(ontology: Ontology) -> None:
    values = ["-1", "1", "<=", "AR", "IN_PROGRESS", "in progress", "C++", "1.50"]
    result = canonicalize([triple for value in values for triple in has(value, "value")], [], ontology)
    assert tails(result) == ["-1", "1", "<=", "ar", "in progress", "in progress", "c++", "1.50"]


def test_a_name_without_letters_is_refused_and_nothing_else(ontology: Ontology) -> None:
    result = canonicalize([*has("…"), *has("order")], [], ontology)
    assert tails(result) == ["order"]
    assert [(rejected.triple.tail, rejected.reason) for rejected in result.rejected] == [("…", "no-name")]


def test_capabilities_start_with_the_base_form_of_their_verb(ontology: Ontology) -> None:
    raw = [*has("Creating purchase orders", "capability"), *has("creates PO", "capability")]
    assert tails(canonicalize(raw, [], ontology)) == ["create purchase order"] * 2


# --- abbreviations ---------------------------------------------------------------------------------------------------


def test_the_ontology_s_abbreviations_are_written_out_with_evidence(ontology: Ontology) -> None:
    (merge,) = canonicalize(has("PO qty"), [], ontology).merges
    assert (merge.kind, merge.surface, merge.canonical) == ("abbreviation", "PO qty", "purchase order quantity")
    assert "po = purchase order (the ontology's list)" in merge.evidence


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("POBoxLobbyName", "post office box lobby name"),
        ("Purchase Req", "purchase requisition"),
        ("PO item req", "purchase order item request"),
        ("BoxPO", "box purchase order"),
    ],
)
def test_two_words_of_the_list_win_over_their_words(name: str, canonical: str, ontology: Ontology) -> None:
    result = canonicalize(has(name), [], ontology)
    assert tails(result) == [canonical]
    assert [merge.kind for merge in result.merges] == ["abbreviation"]


@pytest.mark.parametrize(
    "text",
    [
        "Handles the Advance Shipping Notice (ASN) of a supplier.",
        "Handles advance shipping notices (ASNs).",
        "Send an ASN (advance shipping notice) first.",
    ],
)
def test_a_document_s_own_abbreviation_holds_in_the_whole_catalogue(text: str, ontology: Ontology) -> None:
    tools = documents(text, "Cancels it.")
    result = canonicalize(has("ASN number", tool="erp/t2"), tools, ontology)
    assert tails(result) == ["advance shipping notice number"]
    assert result.abbreviations["asn"] == "advance shipping notice"
    assert "declared in the document of erp/t1" in result.merges[0].evidence


@pytest.mark.parametrize(
    "text", ["Returns the result (JSON).", "The price (USD) of an item.", "A purchase order (SAP).", "Order (O)."]
)
def test_a_bracket_that_does_not_spell_its_words_declares_nothing(text: str, ontology: Ontology) -> None:
    assert canonicalize([], documents(text), ontology).abbreviations == ontology.abbreviations


def test_documents_that_disagree_keep_their_own_meaning(ontology: Ontology) -> None:
    tools = documents("Reads a Delivery Note (DN).", "Posts a Debit Note (DN).", "Prints the document.")
    raw = [triple for tool in tools for triple in has("DN", tool=tool.id)]
    result = canonicalize(raw, tools, ontology)
    assert tails(result) == ["delivery note", "debit note", "dn"]
    assert "dn" not in result.abbreviations
    (warning,) = result.warnings
    assert "'debit note' in erp/t2; 'delivery note' in erp/t1" in warning


def test_a_document_outvotes_the_ontology_s_list_for_itself_only(ontology: Ontology) -> None:
    tools = documents("Merges a pull request (PR).", "Approves it.")
    raw = [*has("PR", tool="erp/t1"), *has("PR", tool="erp/t2")]
    result = canonicalize(raw, tools, ontology)
    assert tails(result) == ["pull request", "purchase requisition"]
    assert result.abbreviations["pr"] == "purchase requisition"
    assert len(result.warnings) == 1


def test_an_abbreviation_that_is_an_ordinary_word_elsewhere_stays_in_its_document(ontology: Ontology) -> None:
    tools = documents("Asks Information Technology (IT) for help.", "Creates an order and sends it.")
    raw = [*has("IT ticket", tool="erp/t1"), *has("it ticket", tool="erp/t2")]
    assert tails(canonicalize(raw, tools, ontology)) == ["information technology ticket", "it ticket"]


def test_parameter_descriptions_declare_abbreviations_too(ontology: Ontology) -> None:
    described = Parameter(name="uan", description="The Universal Account Number (UAN)")
    tool = Tool(id="erp/t1", name="t1", returns=(described,))
    assert canonicalize([], [tool], ontology).abbreviations["uan"] == "universal account number"


# --- one type a name -------------------------------------------------------------------------------------------------


def test_language_types_of_one_name_become_the_most_frequent(ontology: Ontology) -> None:
    raw = [*has("approval", times=2), *has("Approval", "event"), *has("goods receipt", "event", times=2)]
    result = canonicalize(raw, [], ontology)
    assert {(t.tail_type, t.tail) for t in result.triples} == {
        ("business_object", "approval"),
        ("event", "goods receipt"),
    }
    assert result.surface_forms["business_object:approval"] == (("approval", 2), ("Approval", 1))
    (merge,) = [merge for merge in result.merges if merge.kind == "type"]
    assert (merge.entity_type, merge.surface, merge.canonical) == ("event", "approval", "business_object")


@pytest.mark.parametrize("declared", ["department", "line_of_business", "user_role", "system", "topic", "value"])
def test_declared_types_stay_apart_from_business_objects(declared: str, ontology: Ontology) -> None:
    result = canonicalize([*has("sales", times=5), *has("sales", declared)], [], ontology)
    assert {triple.tail_type for triple in result.triples} == {"business_object", declared}


def test_a_type_is_not_changed_where_a_predicate_needs_it(ontology: Ontology) -> None:
    can = replace(has("search", "capability")[0], predicate="has_capability")
    result = canonicalize([can, *has("search", times=3)], [], ontology)
    assert [triple.tail_type for triple in result.triples] == ["capability", *["business_object"] * 3]
    assert all(ontology.allows(t.head_type, t.predicate, t.tail_type) for t in result.triples)


# --- near-duplicates -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frequent", "rare"),
    [
        ("organization unit", "organisation unit"),
        ("cancelled order", "canceled order"),
        ("email address", "e-mail address"),
        ("line item", "lineitem"),
        ("catalog item", "catalogue item"),
        ("fulfillment status", "fulfilment status"),
    ],
)
def test_spellings_are_merged_into_the_more_frequent(frequent: str, rare: str, ontology: Ontology) -> None:
    result = canonicalize([*has(rare), *has(frequent, times=2)], [], ontology)
    assert set(tails(result)) == {frequent}
    assert [merge[1] for merge in merges(result, "near-duplicate")] == [frequent]


APART = [
    ("purchase order", "sales order"),
    ("purchase order", "purchase requisition"),
    ("purchase order", "purchase order item"),
    ("order header", "order item"),
    ("inbound delivery", "outbound delivery"),
    ("debit memo", "credit memo"),
    ("start date", "end date"),
    ("minimum amount", "maximum amount"),
    ("address line 1", "address line 2"),
    ("source system", "target system"),
    ("country code", "county code"),
    ("contract detail", "contact detail"),
    ("invoice date", "invoice data"),
    ("employer record", "employee record"),
    ("approved request", "unapproved request"),
    ("active contract", "inactive contract"),
    ("order process", "order processor"),
    ("list of order", "order list"),
    ("german invoice", "french invoice"),
    ("filing fee", "filling fee"),
]


@pytest.mark.parametrize("pair", APART, ids=" / ".join)
@pytest.mark.parametrize("kind", ["business_object", "capability"])
def test_things_that_only_look_alike_stay_apart(pair: tuple[str, str], kind: str, ontology: Ontology) -> None:
    result = canonicalize([t for name in pair for t in has(name, kind)], [], ontology)
    if kind == "business_object":
        assert len(set(tails(result))) == 2
    assert merges(result, "near-duplicate") == []


@pytest.mark.parametrize("verbs", [("create", "delete"), ("open", "close"), ("import", "export"), ("attach", "detach")])
def test_opposite_capabilities_stay_apart(verbs: tuple[str, str], ontology: Ontology) -> None:
    raw = [triple for verb in verbs for triple in has(f"{verb} sales order", "capability")]
    assert len(set(tails(canonicalize(raw, [], ontology)))) == 2


def test_parameters_and_values_are_not_merged_by_likeness(ontology: Ontology) -> None:
    raw = [*has("colour", "value"), *has("color", "value"), *has("e_mail", "parameter"), *has("email", "parameter")]
    assert merges(canonicalize(raw, [], ontology), "near-duplicate") == []


# --- predicates ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phrase", ["works at", "works for", "hired by", "employed by", "is employed by"])
def test_synonyms_are_one_predicate_and_the_phrase_is_kept(phrase: str, ontology: Ontology) -> None:
    result = canonicalize([between("worker", phrase, "company")], [], ontology)
    (triple,) = result.triples
    assert (triple.predicate, triple.phrase) == ("employed_by", phrase)
    assert merges(result, "predicate-synonym") == [(phrase, "employed_by")]


@pytest.mark.parametrize("phrase", ["looks like", "is not part of", "comprised of"])
def test_a_phrase_without_a_synonym_is_the_fallback_and_kept(phrase: str, ontology: Ontology) -> None:
    result = canonicalize([between("plant", phrase, "region")], [], ontology)
    (triple,) = result.triples
    assert (triple.predicate, triple.phrase) == ("related_to", phrase)


def test_the_fallback_s_phrase_is_tried_again(ontology: Ontology) -> None:
    (triple,) = canonicalize([between("worker", "related_to", "company", "works for")], [], ontology).triples
    assert (triple.predicate, triple.phrase) == ("employed_by", "works for")


def test_a_predicate_of_the_ontology_stays_with_its_phrase(ontology: Ontology) -> None:
    raw = between("worker", "part_of", "company", "works for")
    assert canonicalize([raw], [], ontology).triples == (raw,)


def test_a_synonym_outside_its_domain_is_not_taken(ontology: Ontology) -> None:
    raw = between("order id", "works for", "order", types=("parameter", "business_object"))
    (triple,) = canonicalize([raw], [], ontology).triples
    assert (triple.predicate, triple.phrase) == ("related_to", "works for")


def test_derived_predicates_are_never_given(ontology: Ontology) -> None:
    raw = between("a", "resolved by", "b", types=("tool", "tool"))
    (triple,) = canonicalize([raw], [], ontology).triples
    assert triple.predicate not in ("supplies", "resolved_by")


# --- the whole -------------------------------------------------------------------------------------------------------


def test_a_loop_that_merging_made_is_refused_with_its_reason(ontology: Ontology) -> None:
    result = canonicalize([between("Orders", "related_to", "order"), *has("order")], [], ontology)
    assert [triple.predicate for triple in result.triples] == ["has_entity"]
    assert [rejected.reason for rejected in result.rejected] == ["self-loop"]


def test_the_order_of_triples_changes_the_order_of_the_result_and_nothing_else(ontology: Ontology) -> None:
    raw: list[Triple] = [
        *has("organisation unit"),
        *has("organization unit"),
        *has("Approval", "event"),
        *has("approval"),
        between("worker", "works at", "company"),
        between("company", "resembles", "workers"),
    ]
    tools = documents("Reads a Delivery Note (DN).", "Posts a Debit Note (DN).")
    one = canonicalize(raw, tools, ontology)
    other = canonicalize(raw[::-1], tools[::-1], ontology)
    assert one.merges == other.merges
    assert one.triples == other.triples[::-1]
    assert list(one.surface_forms.items()) == list(other.surface_forms.items())


def test_canonical_triples_are_canonical(ontology: Ontology) -> None:
    raw = [*has("E-Mail Addresses"), *has("email address", times=2), between("Employees", "works at", "Companies")]
    once = canonicalize(raw, [], ontology)
    assert canonicalize(once.triples, [], ontology).triples == once.triples


def test_every_merge_has_a_known_kind_and_evidence(ontology: Ontology) -> None:
    raw: Sequence[Triple] = [*has("POs"), *has("purchase orders"), between("worker", "works at", "POs")]
    result = canonicalize(raw, [], ontology)
    assert result.merges
    for merge in result.merges:
        assert merge.kind in get_args(MergeKind)
        assert merge.evidence


def test_nothing_gives_nothing(ontology: Ontology) -> None:
    result = canonicalize([], [], ontology)
    assert (result.triples, result.merges, result.rejected, dict(result.surface_forms)) == ((), (), (), {})


_SEEDED = """
import hashlib
from ingest.canonical.canonicalize import canonicalize
from ontology import Provenance, Tool, Triple, load_ontology
names = ["organisation unit", "organization unit", "line item", "lineitem", "Orders", "order", "calender", "e-mail",
    "email", "meta data", "metadata", "approval"]
tools = [Tool(id=f"t{n}", name="t", description=text) for n, text in enumerate(["A Delivery Note (DN).", "A Debit Note (DN)."])]
raw = [
    Triple(head=name, head_type=kind, predicate=predicate, tail=tail, tail_type="business_object", confidence=0.5,
        provenance=Provenance("t1", "description", "x.v1"))
    for name in names for kind in ("business_object", "event", "entity")
    for predicate, tail in (("part_of", "DN"), ("made out of", "supplier"), ("is placed near", "order"))
]
print(hashlib.sha256(repr(canonicalize(raw, tools, load_ontology())).encode()).hexdigest())
"""


def test_the_hash_seed_changes_nothing() -> None:
    (seen,) = said_by(_SEEDED, ("1", "7"))
    assert len(seen.strip()) == 64
