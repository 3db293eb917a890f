"""The extractor that asks a model: what it asks, what it keeps of an answer. Retries, the cache and broken JSON are tested at ``inference``."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from inference.openai_client import OpenAIChat
from inference.result_cache import ResultCache
from ingest.extract.extractor import Extraction, Extractor
from ingest.extract.llm_extractor import LlmExtractor
from ingest.extract.structure import structural_triples
from ingest.extract.triple_validation import validate
from ontology import ModelError, Ontology, Parameter, Tool, load_ontology
from tests.harness.chat import Reply, asked, chat_server
from tests.inference.scripted_chat import ScriptedChat

RECEIPT = "Posts a goods receipt for a delivery. The delivery belongs to a warehouse."


@pytest.fixture(scope="module")
def ontology() -> Ontology:
    return load_ontology()


def tool(number: int = 1, description: str = RECEIPT) -> Tool:
    return Tool(
        id=f"wms/receipt{number}",
        name=f"receipt{number}",
        description=description,
        parameters=(Parameter(name="delivery_id", description="The delivery that came in", required=True),),
        returns=(Parameter(name="receipt_number"),),
    )


def row(
    head: str, predicate: str, tail: str, evidence: str, types: str = "business_object business_object"
) -> dict[str, str]:
    head_type, tail_type = types.split()
    return {
        "head": head,
        "head_type": head_type,
        "predicate": predicate,
        "tail": tail,
        "tail_type": tail_type,
        "evidence": evidence,
    }


GOOD = [
    row("the tool", "has_capability", "post goods receipt", "posts a  goods receipt", "tool capability"),
    row("goods receipt", "used_for", "delivery", "a goods receipt for a delivery"),
    row("delivery", "part_of", "warehouse", "The delivery belongs to a warehouse"),
]


def answer(rows: Sequence[dict[str, str]] = GOOD) -> str:
    return json.dumps({"triples": list(rows)})


def said(extraction: Extraction) -> set[tuple[str, str, str]]:
    """The triples that language gave, in short."""
    return {
        (triple.head, triple.predicate, triple.tail)
        for triple in extraction.triples
        if triple.provenance.field == "description"
    }


def test_a_good_answer_becomes_triples_with_evidence_beside_the_declared_structure(ontology: Ontology) -> None:
    extractor: Extractor = LlmExtractor(ScriptedChat([answer()]), ontology)
    (extraction,) = extractor.extract([tool()])
    assert extraction.error == ""
    assert ("delivery", "part_of", "warehouse") in said(extraction)
    assert ("wms/receipt1", "has_capability", "post goods receipt") in said(extraction)
    by_ends = {(triple.head, triple.predicate, triple.tail): triple for triple in extraction.triples}
    part = by_ends["delivery", "part_of", "warehouse"]
    assert RECEIPT[part.provenance.start : part.provenance.end] == "The delivery belongs to a warehouse"
    assert part.provenance.extractor == extractor.name == "llm.v1"
    for declared in structural_triples(tool(), ontology, "llm.v1"):
        assert declared in extraction.triples
    valid = validate(tool(), extraction.triples, ontology)
    assert not valid.rejected
    assert ("wms/receipt1", "has_entity", "warehouse") in said(valid)


def test_the_request_carries_the_ontology_as_schema_and_the_document_as_text(ontology: Ontology) -> None:
    with chat_server(lambda _request, _number: Reply(text=answer())) as server:
        model = OpenAIChat("test", base_url=server.base_url, api_key="k")
        list(LlmExtractor(model, ontology).extract([tool()]))
    (request,) = server.requests
    assert request["response_format"]["type"] == "json_schema"
    fields = request["response_format"]["json_schema"]["schema"]["properties"]["triples"]["items"]["properties"]
    assert "business_object" in fields["head_type"]["enum"]
    assert "part_of" in fields["predicate"]["enum"]
    assert not {"supplies", "resolved_by", "has_parameter", "has_topic"} & set(fields["predicate"]["enum"])
    assert request["temperature"] == 0
    assert RECEIPT in asked(request)
    assert "input delivery_id: The delivery that came in" in asked(request)


BAD_ANSWERS = {
    "prose": "Here are the triples you asked for: delivery, part_of, warehouse.",
    "unknown-predicate": answer([row("delivery", "is_in", "warehouse", "belongs to a warehouse")]),
    "derived-predicate": answer([{**GOOD[1], "predicate": "supplies"}]),
    "number-for-name": json.dumps({"triples": [{**GOOD[1], "head": 7}]}),
    "too-many": answer([row(f"a{n}", "part_of", "b", "c") for n in range(60)]),
}


@pytest.mark.parametrize("text", BAD_ANSWERS.values(), ids=BAD_ANSWERS.keys())
def test_an_unusable_answer_is_told_its_fault_and_mended(text: str, ontology: Ontology) -> None:
    model = ScriptedChat([text, answer()])
    (extraction,) = LlmExtractor(model, ontology).extract([tool()])
    assert extraction.error == ""
    assert ("delivery", "part_of", "warehouse") in said(extraction)
    fault = model.calls[1][-1].content
    assert "not one JSON object" in fault or "outside the schema" in fault


@pytest.mark.parametrize("bad", [BAD_ANSWERS["prose"], ModelError("it is down", subject="m")], ids=["answer", "call"])
def test_an_answer_that_stays_unusable_costs_that_tool_s_language_only(
    bad: str | ModelError, ontology: Ontology
) -> None:
    model = ScriptedChat([answer(), bad, *([bad] if isinstance(bad, str) else []), answer()])
    one, two, three = LlmExtractor(model, ontology, concurrency=1).extract([tool(1), tool(2), tool(3)])
    assert one.error == three.error == "" != two.error
    assert said(two) == set()
    declared = {triple.key for triple in structural_triples(tool(2), ontology, "llm.v1")}
    assert declared and declared <= {triple.key for triple in two.triples}


def test_a_model_that_never_answers_is_an_error(ontology: Ontology) -> None:
    with pytest.raises(ModelError, match="it is down"):
        list(LlmExtractor(ScriptedChat([ModelError("it is down", subject="m")]), ontology).extract([tool()]))


def test_a_rerun_pays_only_for_what_changed(ontology: Ontology) -> None:
    tools, cache = [tool(number) for number in range(6)], ResultCache()
    model = ScriptedChat(lambda _: answer())
    first = list(LlmExtractor(model, ontology, cache=cache).extract(tools))
    assert list(LlmExtractor(model, ontology, cache=cache).extract(tools)) == first
    assert len(model.calls) == 6
    tools[3] = tool(3, f"{RECEIPT} It is checked.")
    list(LlmExtractor(model, ontology, cache=cache).extract(tools))
    assert len(model.calls) == 7
    other = replace(ontology, version=ontology.version + 1)
    list(LlmExtractor(model, other, cache=cache).extract(tools))
    assert len(model.calls) == 13


def test_what_the_model_made_up_is_refused_with_its_reason(ontology: Ontology) -> None:
    rows = [
        *GOOD,
        row("delivery", "managed_by", "stock clerk", "managed by the stock clerk", "business_object user_role"),
        row("x" * 100, "part_of", "warehouse", "a warehouse"),
    ]
    model = ScriptedChat([answer(rows)])
    (extraction,) = LlmExtractor(model, ontology).extract([tool()])
    valid = validate(tool(), extraction.triples, ontology)
    assert {one.reason for one in (*extraction.rejected, *valid.rejected)} == {"no-evidence", "long-name"}
    assert "stock clerk" not in {triple.tail for triple in valid.triples}
