"""The clauses and patterns of a Cypher statement, with where they stand in its tokens."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from planners.stores.statements import CLAUSES, StatementToken

__all__ = ["CypherClause", "CypherPatterns", "NodePattern", "RelPattern", "closing", "cypher_patterns", "map_items"]

_PATTERN_CLAUSES = ("MATCH", "CREATE", "MERGE")


@dataclass(frozen=True, slots=True, kw_only=True)
class CypherClause:
    """A clause: tokens from its first word up to ``end``, which it does not hold."""

    word: str
    start: int
    end: int
    depth: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePattern:
    """``(variable:Label {…})``.

    :param labels: places of the tokens of its labels.
    :param properties: place of the bracket that opens its map, or -1.
    """

    open: int
    close: int
    variable: str
    labels: tuple[int, ...]
    properties: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RelPattern:
    """``-[variable:TYPE*1..3 {…}]->``; ``-->`` is none.

    :param types: places of the tokens of its types.
    :param star: place of the sign of a path of any length, or -1.
    """

    variable: str
    types: tuple[int, ...]
    star: int


@dataclass(slots=True, kw_only=True)
class CypherPatterns:
    """What was found in a statement."""

    clauses: list[CypherClause] = field(default_factory=list)
    nodes: dict[int, NodePattern] = field(default_factory=dict)
    rels: list[RelPattern] = field(default_factory=list)

    def clause_at(self, at: int) -> CypherClause | None:
        """Return the innermost clause around a token."""
        found = [clause for clause in self.clauses if clause.start <= at < clause.end]
        return max(found, key=lambda clause: (clause.depth, clause.start), default=None)


def cypher_patterns(tokens: Sequence[StatementToken]) -> CypherPatterns:
    """Return the clauses and patterns of a statement that the allow-list admitted."""
    found = CypherPatterns(clauses=_clauses(tokens))
    for at, token in enumerate(tokens):
        if token.symbol("(") and (node := _node(tokens, at)) and _is_pattern(tokens, node, found):
            found.nodes[at] = node
    ends = {node.close for node in found.nodes.values()}
    for at in range(1, len(tokens) - 1):
        if tokens[at].symbol("[") and tokens[at - 1].symbol("-") and _follows_node(tokens, at - 1, ends):
            rel = _rel(tokens, at)
            if rel is not None:
                found.rels.append(rel)
    return found


def closing(tokens: Sequence[StatementToken], at: int) -> int:
    """Return the place of the bracket that closes the one at ``at``."""
    depth = tokens[at].depth
    return next(
        place
        for place in range(at + 1, len(tokens))
        if tokens[place].depth == depth and tokens[place].symbol(")", "]", "}")
    )


def map_items(tokens: Sequence[StatementToken], at: int) -> list[tuple[int, int, int]]:
    """Return the items of the map that opens at ``at``: places of key, of the value's first token, and past its last."""
    end, depth = closing(tokens, at), tokens[at].depth + 1
    items: list[tuple[int, int, int]] = []
    place = at + 1
    while place < end:
        stop = next((p for p in range(place, end) if tokens[p].depth == depth and tokens[p].symbol(",")), end)
        if stop - place >= 3 and tokens[place + 1].symbol(":"):
            items.append((place, place + 2, stop))
        place = stop + 1
    return items


def _clauses(tokens: Sequence[StatementToken]) -> list[CypherClause]:
    starts = [
        (at, token.word)
        for at, token in enumerate(tokens)
        if token.word in CLAUSES and not (at and tokens[at - 1].symbol(":", ".", "|")) and not _is_key(tokens, at)
    ]
    found = []
    for nth, (at, word) in enumerate(starts):
        depth = tokens[at].depth
        close = next(
            (p for p in range(at, len(tokens)) if tokens[p].symbol(")", "]", "}") and tokens[p].depth < depth),
            len(tokens),
        )
        after = next((p for p, _ in starts[nth + 1 :] if tokens[p].depth == depth), len(tokens))
        found.append(CypherClause(word=word, start=at, end=min(close, after), depth=depth))
    return found


def _is_key(tokens: Sequence[StatementToken], at: int) -> bool:
    return at > 0 and at + 1 < len(tokens) and tokens[at - 1].symbol("{", ",") and tokens[at + 1].symbol(":")


def _node(tokens: Sequence[StatementToken], at: int) -> NodePattern | None:
    place, variable = at + 1, ""
    if tokens[place].is_name:
        variable, place = tokens[place].text, place + 1
    labels, place = _names(tokens, place)
    properties, place = _map(tokens, place)
    if not tokens[place].symbol(")"):
        return None
    return NodePattern(open=at, close=place, variable=variable, labels=labels, properties=properties)


def _is_pattern(tokens: Sequence[StatementToken], node: NodePattern, found: CypherPatterns) -> bool:
    before = tokens[node.open - 1] if node.open else None
    if before is not None and before.is_name and before.text.lower() in ("shortestpath", "allshortestpaths"):
        return False
    if node.labels or node.properties >= 0:
        return True
    clause = found.clause_at(node.open)
    if clause is not None and clause.word in _PATTERN_CLAUSES and (before is None or not _calls(before)):
        return True
    after = tokens[node.close + 1 : node.close + 4]
    dashed = len(after) > 1 and (after[0].symbol("-") or (after[0].symbol("<") and after[1].symbol("-")))
    drawn = len(after) > 1 and dashed and any(token.symbol("[", "-", ">") for token in after[1:])
    return drawn or (
        before is not None and before.symbol("-", ">") and node.open > 1 and tokens[node.open - 2].symbol("-", "]")
    )


def _calls(token: StatementToken) -> bool:
    return token.is_name and token.word not in CLAUSES


def _names(tokens: Sequence[StatementToken], at: int) -> tuple[tuple[int, ...], int]:
    """Read ``:A|B`` or ``:A|:B``."""
    found: list[int] = []
    if not tokens[at].symbol(":"):
        return (), at
    while tokens[at].symbol(":", "|"):
        at += 1
        if tokens[at].symbol(":"):
            at += 1
        if not tokens[at].is_name:
            break
        found.append(at)
        at += 1
    return tuple(found), at


def _map(tokens: Sequence[StatementToken], at: int) -> tuple[int, int]:
    if tokens[at].symbol("{"):
        return at, closing(tokens, at) + 1
    return -1, at + 1 if tokens[at].kind == "parameter" else at


def _follows_node(tokens: Sequence[StatementToken], dash: int, ends: Container[int]) -> bool:
    """Say whether a dash starts from a node.

    :param ends: places of the brackets that close nodes.
    """
    return (dash - 2 if dash and tokens[dash - 1].symbol("<") else dash - 1) in ends


def _rel(tokens: Sequence[StatementToken], at: int) -> RelPattern | None:
    place, variable, star = at + 1, "", -1
    if tokens[place].is_name:
        variable, place = tokens[place].text, place + 1
    types, place = _names(tokens, place)
    if tokens[place].symbol("*"):
        star = place
        while not tokens[place].symbol("{", "]"):
            place += 1
    _, place = _map(tokens, place)
    if not tokens[place].symbol("]") or place + 1 >= len(tokens) or not tokens[place + 1].symbol("-"):
        return None
    return RelPattern(variable=variable, types=types, star=star)
