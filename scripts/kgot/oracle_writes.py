"""How the oracle writes facts into a graph, nodes and edges as JSON, and asks for the answer: Cypher, SPARQL, Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from planners.stores.property_graph import Scalar

__all__ = ["Fact", "answer_query", "written"]


class Fact(NamedTuple):
    """A node that a tool gave: it is joined to the node of the tool."""

    tool: str
    label: str
    properties: Mapping[str, Scalar]


def answer_query(language: str) -> str:
    """Return the query for the answer that a computation gave."""
    return {
        "Cypher": "MATCH (t:Tool)-[:GAVE]->(a:Answer) RETURN a.value AS value",
        "SPARQL": "SELECT ?value WHERE { ?t :GAVE ?a . ?a a :Answer ; :value ?value }",
        "Python": "result = [each['value'] for _, each in G.nodes(data=True) if each['label'] == 'Answer']",
    }[language]


def written(facts: Sequence[Fact]) -> dict[str, Any]:
    """Return the answer of a model that writes these facts."""
    tools = [
        {"label": "Tool", "key": {"name": name}, "properties": {}}
        for name in dict.fromkeys(each.tool for each in facts)
    ]
    nodes = [{"label": each.label, "key": dict(each.properties), "properties": {}} for each in facts]
    edges = [
        {
            "type": "GAVE",
            "from": {"label": "Tool", "key": {"name": each.tool}},
            "to": {"label": each.label, "key": dict(each.properties)},
            "properties": {},
        }
        for each in facts
    ]
    return {"nodes": [*tools, *nodes], "edges": edges}
