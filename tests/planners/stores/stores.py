"""The stores that the conformance suite runs over: one more is one more entry of ``STORES``, and its language of ``TEXTS``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeAlias

import pytest

from planners.calls.sandbox import Sandbox, SandboxLimits
from planners.stores import open_graph
from planners.stores.property_graph import GraphState, Properties, PropertyGraph
from tests.harness.waiting import LIMIT_S

Opened: TypeAlias = AbstractAsyncContextManager[PropertyGraph]


def _memory(request: pytest.FixtureRequest) -> Opened:
    request.getfixturevalue("needs_sandbox")
    return open_graph("memory", Sandbox(SandboxLimits(seconds=LIMIT_S)))


def _rdf(request: pytest.FixtureRequest) -> Opened:
    pytest.importorskip("pyoxigraph", reason="the extra `rdf` is not installed")
    request.getfixturevalue("needs_sandbox")
    return open_graph("rdf", Sandbox(SandboxLimits(seconds=LIMIT_S)))


def _neo4j(request: pytest.FixtureRequest) -> Opened:
    pytest.importorskip("neo4j", reason="the extra `neo4j` is not installed")
    return open_graph(f"neo4j:{request.getfixturevalue('neo4j_address')}")


STORES: dict[str, Callable[[pytest.FixtureRequest], Opened]] = {
    "memory": _memory,
    "rdf": _rdf,
    "neo4j": _neo4j,
}
SLOW = {"neo4j"}
PARAMS = [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [], id=name) for name in STORES]

# What the suite writes and asks, in each language.
TEXTS: dict[str, dict[str, str]] = {
    "titles of an author": {
        "cypher": 'MATCH (a:Author {name: "Ann Ott"})-[:WROTE]->(b:Book) RETURN b.title AS title',
        "python": "result = [G.nodes[b]['title'] for a, b, d in G.edges(data=True) if d['type'] == 'WROTE'"
        " and G.nodes[a].get('name') == 'Ann Ott']",
        "sparql": "SELECT ?title WHERE { ?a a :Author ; :name 'Ann Ott' ; :WROTE ?b . ?b :title ?title }",
    },
    "all names": {
        "cypher": "MATCH (n) WHERE n.name IS NOT NULL RETURN n.name AS name",
        "python": "result = [d['name'] for n, d in G.nodes(data=True) if 'name' in d]",
        "sparql": "SELECT ?name WHERE { ?n :name ?name }",
    },
    "write while reading": {
        "cypher": "CREATE (:Thing {name: 'new'})",
        "python": "G.add_node('x', label='Thing', name='new')\nresult = 1",
        "sparql": "INSERT DATA { [] a :Thing ; :name 'new' }",
    },
    "no such thing": {
        "cypher": "MATCH (n:Nowhere)-[:NEVER]->(m) RETURN m.nothing AS x",
        "python": "result = [n for n, d in G.nodes(data=True) if d['label'] == 'Nowhere']",
        "sparql": "SELECT ?x WHERE { ?n a :Nowhere ; :NEVER ?x }",
    },
    "broken": {"cypher": "MATCH (n RETURN n", "python": "result = (", "sparql": "SELECT ?x WHERE { ?x"},
    "endless": {
        "cypher": "MATCH (a:Thing), (b:Thing), (c:Thing), (d:Thing), (e:Thing), (f:Thing), (g:Thing), (h:Thing)"
        " WHERE a.n + b.n + c.n + d.n + e.n + f.n + g.n + h.n < 0 RETURN a.n AS n",
        "python": "while True: pass",
        "sparql": "SELECT (COUNT(*) AS ?x) WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n ?o . ?p ?q ?r . ?s ?t ?u }",
    },
    "files": {
        "cypher": "LOAD FROM '/etc/passwd' RETURN *",
        "python": "result = open('/etc/shadow').read()",
        "sparql": "SELECT ?x WHERE { SERVICE <http://127.0.0.1:9/> { ?x ?y ?z } }",
    },
}


def contents(state: GraphState) -> tuple[list[object], list[object]]:
    """Return what stands in a state whatever the order of its nodes: values with their types."""
    nodes = {node.id: (node.label, typed(node.properties)) for node in state.nodes}
    edges = [(edge.type, nodes[edge.source], nodes[edge.target], typed(edge.properties)) for edge in state.edges]
    return sorted(nodes.values(), key=repr), sorted(edges, key=repr)


def typed(properties: Properties) -> list[tuple[str, str]]:
    """Return properties such that 1, 1.0 and true differ."""
    return [(name, repr(value)) for name, value in sorted(properties.items())]
