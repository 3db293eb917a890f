import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inference.chat import Budget, ScriptedChat
from inference.openai_client import OpenAIChat
from inference.result_cache import ResultCache
from inference.retry import RetryPolicy
from ingest.extract.extractor import Extraction, Extractor
from ingest.extract.llm_extractor import LlmExtractor
from ingest.extract.structure import structural_triples
from ingest.extract.triple_validation import validate
from ontology import (
    BudgetExceededError,
    ModelError,
    Ontology,
    Parameter,
    Tool,
    load_ontology,
)
from tests.harness.chat import Body, ChatServer, Reply, asked, chat_server

QUICK = RetryPolicy(max_retries=2, base_delay_s=0.01, max_delay_s=0.02)
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


def good(_request: Body, _number: int) -> Reply:
    return Reply(text=answer())


def chat(server: ChatServer | str, **options: Any) -> OpenAIChat:
    base_url = server if isinstance(server, str) else server.base_url
    return OpenAIChat("test", base_url=base_url, api_key="k", **{"policy": QUICK, "timeout_s": 5.0, **options})


def said(extraction: Extraction) -> set[tuple[str, str, str]]:
    """The triples that language gave, in short."""
    return {
        (triple.head, triple.predicate, triple.tail)
        for triple in extraction.triples
        if triple.provenance.field == "description"
    }


def test_a_good_answer_becomes_triples_with_evidence_beside_the_declared_structure(ontology: Ontology) -> None:
    with chat_server(good) as server:
        extractor: Extractor = LlmExtractor(chat(server), ontology)
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
    with chat_server(good) as server:
        list(LlmExtractor(chat(server), ontology).extract([tool()]))
    (request,) = server.requests
    assert request["response_format"]["type"] == "json_schema"
    fields = request["response_format"]["json_schema"]["schema"]["properties"]["triples"]["items"]["properties"]
    assert "business_object" in fields["head_type"]["enum"]
    assert "part_of" in fields["predicate"]["enum"]
    assert not {"supplies", "resolved_by", "has_parameter", "has_topic"} & set(fields["predicate"]["enum"])
    assert request["temperature"] == 0
    assert RECEIPT in asked(request)
    assert "input delivery_id: The delivery that came in" in asked(request)


OUTSIDE = row("delivery", "is_in", "warehouse", "belongs to a warehouse")
BAD_ANSWERS = {
    "half-json": answer()[:-40],
    "prose": "Here are the triples you asked for: delivery, part_of, warehouse.",
    "fenced": f"```json\n{answer()}\n```",
    "unknown-predicate": answer([OUTSIDE]),
    "unknown-type": answer([{**GOOD[1], "head_type": "thing"}]),
    "derived-predicate": answer([{**GOOD[1], "predicate": "supplies"}]),
    "missing-field": json.dumps({"triples": [{"head": "delivery"}]}),
    "more-fields": answer([{**GOOD[1], "confidence": "1"}]),
    "list": json.dumps(GOOD),
    "number-for-name": json.dumps({"triples": [{**GOOD[1], "head": 7}]}),
    "too-many": answer([row(f"a{n}", "part_of", "b", "c") for n in range(60)]),
    "deep": "[" * 50_000,
}


@pytest.mark.parametrize("text", BAD_ANSWERS.values(), ids=BAD_ANSWERS.keys())
def test_an_unusable_answer_is_told_its_fault_and_mended(text: str, ontology: Ontology) -> None:
    with chat_server(lambda _, number: Reply(text=text if number == 1 else answer())) as server:
        (extraction,) = LlmExtractor(chat(server), ontology).extract([tool()])
    assert extraction.error == ""
    assert ("delivery", "part_of", "warehouse") in said(extraction)
    assert server.hits == 2
    again = server.requests[1]["messages"]
    assert [message["role"] for message in again] == ["system", "user", "assistant", "user"]
    assert re.search("not one JSON object|outside the schema", again[3]["content"])


def test_an_answer_that_stays_unusable_costs_that_tool_s_language_only(ontology: Ontology) -> None:
    def script(request: Body, _number: int) -> Reply:
        return Reply(
            text=BAD_ANSWERS["prose"] if "receipt2" in asked(request) or "receipt 2" in asked(request) else answer()
        )

    with chat_server(script) as server:
        one, two, three = LlmExtractor(chat(server), ontology).extract([tool(1), tool(2), tool(3)])
    assert server.hits == 4
    assert one.error == three.error == ""
    assert "rejected twice" in two.error
    assert said(two) == set()
    declared = {triple.key for triple in structural_triples(tool(2), ontology, "llm.v1")}
    assert declared and declared <= {triple.key for triple in two.triples}


def test_a_server_that_dies_on_the_way_stops_the_run_and_keeps_what_was_answered(
    tmp_path: Path, ontology: Ontology
) -> None:
    tools = [tool(number) for number in range(10)]
    with ResultCache(tmp_path / "cache.sqlite") as cache:
        with chat_server(lambda _, number: Reply(text=answer()) if number <= 4 else Reply(status=400)) as server:
            model = chat(server)
            got: list[Extraction] = []
            with pytest.raises(ModelError):
                got.extend(LlmExtractor(model, ontology, cache=cache, concurrency=1).extract(tools))
        assert server.hits < 10
        with chat_server(good) as second:
            renamed = _SameName(chat(second), model.name)
            extractions = list(LlmExtractor(renamed, ontology, cache=cache).extract(tools))
    assert second.hits == 6
    assert all(said(extraction) for extraction in extractions)


class _SameName:
    """A chat model that goes by another's name, as one server does after a restart."""

    def __init__(self, model: OpenAIChat, name: str) -> None:
        self.name = name
        self.complete = model.complete


def test_the_budget_stops_the_run_and_the_next_one_pays_only_for_the_rest(tmp_path: Path, ontology: Ontology) -> None:
    tools = [tool(number) for number in range(8)]
    path = tmp_path / "cache.sqlite"
    reply = Reply(text=answer(), prompt_tokens=2_000, completion_tokens=100)
    with chat_server(lambda _request, _number: reply) as server:
        got = []
        poor = chat(server, budget=Budget(max_tokens=13_000), max_tokens=500)
        with ResultCache(path) as cache, pytest.raises(BudgetExceededError):
            for extraction in LlmExtractor(poor, ontology, cache=cache, concurrency=2).extract(tools):
                got.append(extraction)
        paid = server.hits
        assert 2 <= paid < 8
        assert poor.budget.spent.tokens <= 13_000
        with ResultCache(path) as cache:
            extractions = list(LlmExtractor(chat(server), ontology, cache=cache).extract(tools))
        assert server.hits == 8
    assert extractions[: len(got)] == got
    assert [extraction.tool_id for extraction in extractions] == [one.id for one in tools]


def test_a_rerun_pays_only_for_what_changed(ontology: Ontology) -> None:
    tools = [tool(number) for number in range(6)]
    cache = ResultCache()
    with chat_server(good) as server:
        first = list(LlmExtractor(chat(server), ontology, cache=cache).extract(tools))
        assert list(LlmExtractor(chat(server), ontology, cache=cache).extract(tools)) == first
        assert server.hits == 6
        tools[3] = tool(3, f"{RECEIPT} It is checked.")
        list(LlmExtractor(chat(server), ontology, cache=cache).extract(tools))
        assert server.hits == 7
        other = replace(ontology, version=ontology.version + 1)
        list(LlmExtractor(chat(server), other, cache=cache).extract(tools))
        assert server.hits == 13


def test_what_the_model_made_up_is_refused_with_its_reason(ontology: Ontology) -> None:
    rows = [
        *GOOD,
        row("delivery", "managed_by", "stock clerk", "managed by the stock clerk", "business_object user_role"),
        row("customs_code", "refers_to", "warehouse", "a warehouse", "parameter business_object"),
        row("delivery", "related_to", "Deliveries", "for a delivery"),
        row("warehouse", "acts_on", "delivery", "belongs to a warehouse"),
        row("the tool", "part_of", "warehouse", "a warehouse", "tool business_object"),
        row("x" * 100, "part_of", "warehouse", "a warehouse"),
    ]
    model = ScriptedChat([answer(rows)])
    (extraction,) = LlmExtractor(model, ontology).extract([tool()])
    valid = validate(tool(), extraction.triples, ontology)
    assert {"no-evidence", "contradicts-declared", "self-loop", "outside-domain", "long-name"} <= {
        one.reason for one in (*extraction.rejected, *valid.rejected)
    }
    assert "stock clerk" not in {triple.tail for triple in valid.triples}
