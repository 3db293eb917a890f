"""How the oracle writes facts into a graph and asks for the answer: Cypher, SPARQL, nodes and edges as JSON, Python."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from planners.stores.property_graph import Scalar

__all__ = ["Fact", "Written", "answer_query", "written"]

Written: TypeAlias = Literal["cypher", "sparql", "operations"]


class Fact(NamedTuple):
    """A node that a tool gave: it is joined to the node of the tool."""

    tool: str
    label: str
    properties: Mapping[str, Scalar]


def written(facts: Sequence[Fact], form: Written) -> dict[str, Any]:
    """Return the answer of a model that writes these facts."""
    if form == "operations":
        return _operations(facts)
    statement = _cypher if form == "cypher" else _sparql
    return {"statements": [statement(fact) for fact in facts]}


def answer_query(language: str) -> str:
    """Return the query for the answer that a computation gave."""
    return {
        "Cypher": "MATCH (t:Tool)-[:GAVE]->(a:Answer) RETURN a.value AS value",
        "SPARQL": "SELECT ?value WHERE { ?t :GAVE ?a . ?a a :Answer ; :value ?value }",
        "Python": "result = [each['value'] for _, each in G.nodes(data=True) if each['label'] == 'Answer']",
    }[language]


def _cypher(fact: Fact) -> str:
    listed = ", ".join(f"{name}: {_cypher_value(value)}" for name, value in fact.properties.items())
    return f"MERGE (t:Tool {{name: {_cypher_value(fact.tool)}}}) MERGE (n:{fact.label} {{{listed}}}) MERGE (t)-[:GAVE]->(n)"


def _cypher_value(value: Scalar) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    escaped = (
        value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    )
    return f"'{escaped}'"


def _sparql(fact: Fact) -> str:
    """Return an update that writes a fact under an IRI of its own: the same fact again is the same resource."""
    tool = f"<urn:tool:{fact.tool}>"
    digest = hashlib.sha256(json.dumps([fact.label, dict(fact.properties)], sort_keys=True).encode()).hexdigest()
    node = f"<urn:fact:{digest[:32]}>"
    listed = "".join(f" ; :{name} {_sparql_value(value)}" for name, value in fact.properties.items())
    return f"INSERT DATA {{ {tool} a :Tool ; :name {json.dumps(fact.tool)} ; :GAVE {node} . {node} a :{fact.label}{listed} }}"


def _sparql_value(value: Scalar) -> str:
    if isinstance(value, float):
        return f'"{value!r}"^^xsd:double'
    return json.dumps(value, ensure_ascii=False)


def _operations(facts: Sequence[Fact]) -> dict[str, Any]:
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
