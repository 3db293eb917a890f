"""Graphs for the tests of exports and stores: a plain one and one with every nasty character."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.graph import build_graph
from ingest.linking.edges import DerivedEdge
from ontology import Provenance, Tool, Triple
from tests.harness.graphs import as_networkx

if TYPE_CHECKING:
    import networkx as nx

NASTY = 'a "quoted" \\ back\\slash\'s <tag> & {brace}\n second\r line\ttab\x00\x0b\ud800\uffff 🧾 采购订单 \u2028 end;'


def small_graph() -> nx.MultiDiGraph[str]:
    """Three tools, entities of two types, parallel edges, a tool without an edge."""
    return _graph("Purchase Order", ["list_orders", "ship_order", "lonely"], "order")


def nasty_graph() -> nx.MultiDiGraph[str]:
    """The same with names that no file format likes, two of which differ only in what cannot be written."""
    return _graph(NASTY, [NASTY, "x\x01", "x\x02"], NASTY)


def _graph(name: str, ids: list[str], entity: str) -> nx.MultiDiGraph[str]:
    tools = [Tool(id=id_, name=name, description=name) for id_ in ids]
    triples = [
        Triple(
            head=ids[0],
            head_type="tool",
            predicate=predicate,
            tail=entity,
            tail_type=tail_type,
            confidence=0.1 + 0.2,
            provenance=Provenance(ids[0], name, "rules.v1", 3, 9),
            phrase=name,
        )
        for predicate, tail_type in (("has_entity", "business_object"), ("has_parameter", "parameter"))
    ]
    edges = [
        DerivedEdge(
            source=ids[0],
            predicate="supplies",
            target=ids[1],
            parameter=parameter,
            output="id",
            entity=entity,
            field="id",
            confidence=1.0,
        )
        for parameter in (name, "other")
    ]
    forms = {f"business_object:{entity}": ((name, 2), ("other", 1))}
    return as_networkx(build_graph(tools, triples, forms, derived=edges))
