"""Statements that Ladybug 0.22 would take and do otherwise than Cypher says: refused, with what to write instead.

Found by comparing random statements, and those that our writers produce, with a plain computation of what they say.
"""

from __future__ import annotations

from collections.abc import Iterator

from ontology.errors import StatementError
from planners.graphs.cypher.cypher_patterns import NodePattern
from planners.graphs.ladybug.cypher_needs import CypherNames

__all__ = ["check_for_ladybug"]


def check_for_ladybug(names: CypherNames) -> None:
    """Check the nodes and edges that a statement makes.

    :raises StatementError: when a new node has no label, MERGE has an edge from a node to itself (Ladybug makes none), or a node that
        WITH gave another name stands in CREATE or MERGE (Ladybug makes a new node of that name).
    """
    _check_new_nodes(names)
    _check_loops(names)
    _check_renamed(names)


def _check_new_nodes(names: CypherNames) -> None:
    bound: set[str] = set()
    for node in sorted(names.patterns.nodes.values(), key=lambda node: node.open):
        clause = names.patterns.clause_at(node.open)
        is_new = node.properties >= 0 or not (node.variable in bound or _named_before(names, node))
        if clause is not None and clause.word in ("CREATE", "MERGE") and not node.labels and is_new:
            raise StatementError(
                f"the new node {node.variable[:40] or '()'} has no label",
                subject="Cypher",
                remedy="Write (n:Label {…})",
            )
        bound.add(node.variable)


def _named_before(names: CypherNames, node: NodePattern) -> bool:
    """Say whether WITH or UNWIND bound a variable."""
    tokens = names.tokens[: node.open]
    return any(tokens[at].word == "AS" and tokens[at + 1].text == node.variable for at in range(len(tokens) - 1))


def _check_loops(names: CypherNames) -> None:
    nodes = names.patterns.nodes
    for rel in names.patterns.rels:
        clause = names.patterns.clause_at(rel.open)
        ends = [nodes[at].variable for at in (rel.left, rel.right) if at in nodes]
        if clause is not None and clause.word == "MERGE" and len(ends) == 2 and ends[0] and ends[0] == ends[1]:
            name = ends[0][:40]
            raise StatementError(
                f"MERGE of a relationship from {name} to itself is not possible here",
                subject="Cypher",
                remedy="Match the node under two names: MATCH (a:Label {…}), (b:Label {…}) MERGE (a)-[:TYPE]->(b)",
            )


def _check_renamed(names: CypherNames) -> None:
    renamed = dict(_renamings(names))
    for node in names.patterns.nodes.values():
        clause = names.patterns.clause_at(node.open)
        if clause is not None and clause.word in ("CREATE", "MERGE") and node.variable in renamed:
            if node.open > renamed[node.variable]:
                name = node.variable[:40]
                raise StatementError(
                    f"{name} is a node that WITH gave another name; it cannot stand in {clause.word} here",
                    subject="Cypher",
                    remedy="Hand the node on under its own name: WITH n, not WITH n AS other",
                )


def _renamings(names: CypherNames) -> Iterator[tuple[str, int]]:
    """Yield names that WITH gives to nodes, with their places."""
    tokens = names.tokens
    for clause in names.patterns.clauses:
        for at in range(clause.start + 2, clause.end - 1) if clause.word == "WITH" else ():
            old, new = tokens[at - 1], tokens[at + 1]
            starts = tokens[at - 2].symbol(",") or tokens[at - 2].word in ("WITH", "DISTINCT")
            if tokens[at].word == "AS" and starts and old.is_name and old.text != new.text:
                if names.variables.get(old.text, ("",))[0] == "NODE":
                    yield new.text, at
