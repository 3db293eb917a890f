"""The nodes that a Cypher statement of a model can touch, by label and literal properties; unknown unless all of it is plain.

Plain is what models write to fill a graph: MATCH, MERGE, CREATE and SET over patterns whose nodes have one label each, with
values that are literals. Anything else (WITH, UNWIND, DELETE, ON CREATE SET, paths of any length, a node without a label) could touch any node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ontology.errors import StatementError
from planners.stores.cypher_patterns import CypherPatterns, NodePattern, cypher_patterns, map_items
from planners.stores.property_graph import Properties, Statement, Value
from planners.stores.statements import StatementToken, cypher_tokens

__all__ = ["statement_touches"]

_PLAIN = frozenset({"MATCH", "MERGE", "CREATE", "SET"})
_NEVER = frozenset({"OPTIONAL", "UNION", "CALL", "FOREACH", "EXISTS", "COUNT", "ON"})
_ASSIGNED = 5  # tokens: variable . property = value


def statement_touches(statement: Statement) -> list[tuple[str, Properties]] | None:
    """Return the nodes that a statement reads or changes, as they are before it and after it; None: any."""
    try:
        tokens = cypher_tokens(statement.text.rstrip().rstrip(";"))
    except StatementError:
        return None
    patterns = cypher_patterns(tokens)
    words = {clause.word for clause in patterns.clauses}
    if statement.parameters or not words or not words <= _PLAIN or any(token.word in _NEVER for token in tokens):
        return None
    nodes = _nodes(tokens, patterns)
    sets = _sets(tokens, patterns)
    if nodes is None or sets is None or any(rel.star >= 0 for rel in patterns.rels):
        return None
    found: list[tuple[str, Properties]] = []
    for variable, label, properties in nodes:
        found.append((label, properties))
        if changed := sets.get(variable):
            after = {**properties, **changed}
            found.append((label, {key: value for key, value in after.items() if value is not None}))
    return found


def _nodes(tokens: Sequence[StatementToken], patterns: CypherPatterns) -> list[tuple[str, str, dict[str, Value]]] | None:
    """Return variable, label and literal properties of each node that is described; None where one has no label."""
    found: dict[str, tuple[str, str, dict[str, Value]]] = {}
    for at, node in sorted(patterns.nodes.items()):
        if node.variable in found and not node.labels and node.properties < 0:
            continue  # it was described before
        if len(node.labels) != 1 or node.variable in found:
            return None
        label = tokens[node.labels[0]].text
        found[node.variable or f"#{at}"] = (node.variable, label, dict(_literals(tokens, node)))
    return list(found.values()) or None


def _literals(tokens: Sequence[StatementToken], node: NodePattern) -> Iterator[tuple[str, Value]]:
    """Yield the properties of a pattern whose values are literals; of the others nothing is known."""
    if node.properties >= 0:
        for key, start, stop in map_items(tokens, node.properties):
            value = _literal(tokens, start, stop)
            if value is not None:
                yield tokens[key].text, value


def _sets(tokens: Sequence[StatementToken], patterns: CypherPatterns) -> dict[str, dict[str, Value | None]] | None:
    """Return what SET gives the properties of each variable, None for a value that is no literal; None: it sets more than properties."""
    found: dict[str, dict[str, Value | None]] = {}
    for clause in patterns.clauses:
        if clause.word != "SET":
            continue
        start = clause.start + 1
        for stop in _ends(tokens, start, clause.end, clause.depth):
            item = tokens[start:stop]
            if len(item) < _ASSIGNED or not item[1].symbol(".") or not item[3].symbol("="):
                return None
            found.setdefault(item[0].text, {})[item[2].text] = _literal(tokens, start + _ASSIGNED - 1, stop)
            start = stop + 1
    return found


def _ends(tokens: Sequence[StatementToken], start: int, end: int, depth: int) -> Iterator[int]:
    """Yield the ends of the items of a list between commas."""
    for at in range(start, end):
        if tokens[at].depth == depth and tokens[at].symbol(","):
            yield at
    yield end


def _literal(tokens: Sequence[StatementToken], start: int, stop: int) -> Value | None:
    """Return a literal; None for what is none, and for a text with escapes, which two spellings may have."""
    if stop - start != 1:
        return None
    token = tokens[start]
    if token.kind == "string" and "\\" not in token.text:
        return token.text[1:-1]
    if token.kind == "number":
        return int(token.text) if token.text.isdigit() else float(token.text)
    if token.word in ("TRUE", "FALSE"):
        return token.word == "TRUE"
    return None
