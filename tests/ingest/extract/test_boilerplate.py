"""Boilerplate: sentences of many documents are not extracted from, and the documents keep them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from inference.result_cache import ResultCache
from ingest.extract.boilerplate import find_boilerplate
from ingest.extract.extractor import Extraction
from ingest.extract.rules_extractor import RulesExtractor
from ingest.extract.sentences import sentence_spans
from ingest.pipeline import build_tool_graph
from ingest.tool_hubs import find_hubs
from ontology import Parameter, Tool, load_ontology
from tests.harness.waiting import bounded_work

ONTOLOGY = load_ontology()
OBJECTS = (
    "invoice supplier contract shipment customer warehouse employee vehicle passenger flight hotel concert "
    "painting museum library bicycle kitchen garden hospital doctor"
).split()
SCOPE = "Access tokens of legacy accounts (classic) need the {scope} scope to use this endpoint."
ACCOUNT = "The name of the ledger without the trailing extension. The name is not case sensitive."


def tool(thing: str, number: int, said: str = "") -> Tool:
    scope = ("admin:org", "read:org", "write:billing")[number % 3]
    return Tool(
        id=f"books/get_{thing}",
        name=f"get_{thing}",
        description=said or f"Returns the {thing} of a cost center. {SCOPE.format(scope=scope)}",
        parameters=(Parameter(name="ledger", description=ACCOUNT),),
        metadata={"namespace": "books"},
    )


TOOLS = tuple(tool(thing, number) for number, thing in enumerate(OBJECTS))


@pytest.fixture(scope="module")
def rules() -> RulesExtractor:
    return RulesExtractor(ONTOLOGY)


class Recorded:
    """The rules extractor; it records the ids of the tools that it is given."""

    def __init__(self, rules: RulesExtractor) -> None:
        self._rules = rules
        self.name, self.fingerprint = rules.name, rules.fingerprint
        self.seen: list[str] = []

    def extract(self, tools: Sequence[Tool]) -> Iterator[Extraction]:
        self.seen = [tool.id for tool in tools]
        return self._rules.extract(tools)


def test_the_objects_of_boilerplate_are_not_in_the_graph(rules: RulesExtractor) -> None:
    alone = build_tool_graph(TOOLS[:9], ONTOLOGY, rules).graph
    assert {"business_object:classic", "business_object:access token", "business_object:extension"} & set(alone)
    build = build_tool_graph(TOOLS, ONTOLOGY, rules)
    noise = ("classic", "token", "extension", "legacy", "scope", "endpoint")
    assert not [key for key in build.graph if key.startswith("business_object:") and any(word in key for word in noise)]
    assert {f"business_object:{thing}" for thing in OBJECTS} <= set(build.graph)
    hubs = {hub.entity for hub in find_hubs(build.graph, build.tools)}
    assert "ledger" in hubs, "an object that the input itself names stays"


def test_the_document_keeps_its_boilerplate(rules: RulesExtractor) -> None:
    build = build_tool_graph(TOOLS, ONTOLOGY, rules)
    assert [tool.description for tool in build.tools] == [tool.description for tool in TOOLS]
    assert "legacy accounts" in build.graph.nodes["tool:books/get_invoice"]["text"]


def test_sentences_that_differ_in_a_literal_are_one(rules: RulesExtractor) -> None:
    found = build_tool_graph(TOOLS, ONTOLOGY, rules).boilerplate
    assert [(one.namespace, one.tools) for one in found] == [("books", 20)] * 3
    assert any("admin:org" in one.text for one in found)
    objects = [replace(tool, description=f"Reads records of the table {tool.name}.") for tool in TOOLS]
    assert not any("table" in one.text for one in find_boilerplate(objects).sentences), (
        "the object of a tool is no literal"
    )


def test_a_sentence_of_few_tools_is_no_boilerplate() -> None:
    assert find_boilerplate(TOOLS[:10]).sentences
    assert not find_boilerplate(TOOLS[:9]).sentences, "in nine tools there may be one family"
    other = [
        tool(f"{thing}_{number}", number, f"Reads one of {thing} and {number}")
        for thing in OBJECTS
        for number in range(11)
    ]
    assert not [one for one in find_boilerplate([*TOOLS[:11], *other]).sentences if "classic" in one.text]
    split = [replace(one, metadata={"namespace": str(number % 3)}) for number, one in enumerate(TOOLS)]
    assert not find_boilerplate(split).sentences, "a namespace is judged by itself"


def test_a_label_is_no_boilerplate() -> None:
    labelled = [replace(one, parameters=(Parameter(name="x", description="Customer number"),)) for one in TOOLS]
    assert not any("Customer" in one.text for one in find_boilerplate(labelled).sentences)


def test_evidence_stays_where_the_document_has_it(rules: RulesExtractor) -> None:
    scope = SCOPE.format(scope="admin:org")
    after = [replace(one, description=f"{scope} Returns the {one.name} of a cost center.") for one in TOOLS]
    graph = build_tool_graph(after, ONTOLOGY, rules).graph
    (edge,) = graph["tool:books/get_hotel"]["business_object:cost center"].values()
    description = next(one.description for one in after if one.id == "books/get_hotel")
    assert [description[place.start : place.end] for place in edge["provenance"]] == ["cost center"]


def test_a_changed_description_extracts_one_tool_again(rules: RulesExtractor) -> None:
    with ResultCache() as cache:
        build_tool_graph(TOOLS, ONTOLOGY, rules, cache=cache)
        recorded = Recorded(rules)
        changed = replace(TOOLS[3], description="Returns the shipment and its parcels.")
        build = build_tool_graph([*TOOLS[:3], changed, *TOOLS[4:]], ONTOLOGY, recorded, cache=cache)
        assert recorded.seen == [changed.id]
        assert build.reused == len(TOOLS) - 1
        recorded = Recorded(rules)
        build_tool_graph(TOOLS[:9], ONTOLOGY, recorded, cache=cache)
        assert recorded.seen == [tool.id for tool in TOOLS[:9]], "without its namespace the sentence is no boilerplate"


@pytest.mark.parametrize(
    "text",
    ["x" * 100_000, "x/" * 50_000, " " * 100_000 + "End", "a\n" + "\r" * 100_000 + "end", "a:" + " \t" * 50_000],
    ids=["one word", "a path", "blanks", "carriage returns", "a label"],
)
def test_one_long_word_or_gap_is_read_with_bounded_work(text: str) -> None:
    tools = [*TOOLS, tool("ledger", 0, text)]
    with bounded_work():
        boilerplate = find_boilerplate(tools)
        assert boilerplate.cut(tools[-1]).description == text
    assert {one.tools for one in boilerplate.sentences} == {len(TOOLS), len(tools)}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Gets it\r\nReturns a list", ["Gets it", "Returns a list"]),
        ("Gets it \n  \r\n Returns a list", ["Gets it ", " Returns a list"]),
        ("Gets it\nand more", ["Gets it\nand more"]),
    ],
)
def test_a_capital_after_a_line_begins_a_sentence(text: str, parts: list[str]) -> None:
    assert [text[start:end] for start, end in sentence_spans(text)] == parts
