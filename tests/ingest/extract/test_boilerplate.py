"""Boilerplate: sentences of many documents are not extracted from, and the documents keep them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from inference.result_cache import ResultCache
from ingest.build_report import find_hubs
from ingest.extract.extractor import Extraction
from ingest.extract.rules_extractor import RulesExtractor
from ingest.pipeline import build_tool_graph
from ontology import Parameter, Tool, load_ontology

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
