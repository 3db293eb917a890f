"""Exact types of the values that a statement wrote into columns of a wider type, as its text and parameters have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from planners.graphs.cypher.cypher_patterns import closing
from planners.graphs.cypher.cypher_tokens import CypherToken
from planners.graphs.ladybug.column_types import ColumnType, column_value, natural_type
from planners.graphs.ladybug.ladybug_tables import LadybugTables, RowKind
from planners.graphs.property_graph import Properties, Value
from planners.graphs.property_rows import EdgeRow, NodeRow, PropertyRows
from planners.graphs.property_values import value_key

__all__ = ["exact_rows"]

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def exact_rows(
    before: PropertyRows,
    after: PropertyRows,
    tables: LadybugTables,
    tokens: Sequence[CypherToken],
    parameters: Mapping[str, Value],
) -> PropertyRows:
    """Return the rows after a statement with the types that the statement wrote.

    ``{price: 10}`` among decimals reads 10.0; where the text or a parameter has the integer 10 and no 10.0, it was the integer.
    Values that a statement computes keep the type of their column.
    """
    written = list(_literals(tokens, parameters))
    rows = after.copy()
    for key, node in after.nodes.items():
        old = before.nodes.get(key)
        properties = _exact(old.properties if old else {}, node.properties, tables, "NODE", written)
        if properties is not node.properties:
            rows.nodes[key] = NodeRow(label=node.label, properties=properties)
    for key, edge in after.edges.items():
        former = before.edges.get(key)
        properties = _exact(former.properties if former else {}, edge.properties, tables, "REL", written)
        if properties is not edge.properties:
            rows.edges[key] = EdgeRow(type=edge.type, source=edge.source, target=edge.target, properties=properties)
    return rows


def _exact(
    old: Properties, new: Properties, tables: LadybugTables, kind: RowKind, written: Sequence[Value]
) -> Properties:
    changed: dict[str, Value] = {}
    for name, value in new.items():
        column = tables.column(kind, name)
        if column is None or (name in old and value_key(old[name]) == value_key(value)):
            continue
        fits = [other for other in written if _stands_for(other, value, column.type)]
        if fits and all(natural_type(other) != natural_type(value) for other in fits):
            changed[name] = fits[0]
    return {**new, **changed} if changed else new


def _stands_for(written: Value, value: Value, type_: ColumnType) -> bool:
    """Say whether a column of a type shows a value that was written as this one."""
    if isinstance(written, tuple) != isinstance(value, tuple) and type_ != "STRING":
        return False
    if type_.startswith(("BOOL", "INT64")) or (type_.startswith("DOUBLE") and isinstance(written, bool | str)):
        return False
    if isinstance(written, float) and isinstance(value, str):
        return _as_number(value) == written
    shown = column_value(written, type_)
    return (tuple(shown) if isinstance(shown, list) else shown) == value


def _as_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _literals(tokens: Sequence[CypherToken], parameters: Mapping[str, Value]) -> Iterator[Value]:
    yield from parameters.values()
    for value in parameters.values():
        if isinstance(value, tuple):
            yield from value
    for at in range(len(tokens)):
        for length in (1, 2):
            literal = _literal(tokens[at : at + length], {})
            if literal is not None:
                yield literal
        if tokens[at].symbol("["):
            members = [_literal(tokens[a:b], {}) for a, b in _list_items(tokens, at)]
            if (
                members
                and len({type(member) for member in members}) == 1
                and not isinstance(members[0], tuple | type(None))
            ):
                yield tuple(member for member in members if member is not None and not isinstance(member, tuple))


def _list_items(tokens: Sequence[CypherToken], at: int) -> Iterator[tuple[int, int]]:
    end, start = closing(tokens, at), at + 1
    for place in range(start, end + 1):
        if place == end or (tokens[place].symbol(",") and tokens[place].depth == tokens[at].depth + 1):
            yield start, place
            start = place + 1


def _literal(tokens: Sequence[CypherToken], parameters: Mapping[str, Value]) -> Value | None:
    """Return the value of a literal or a parameter."""
    if len(tokens) == 2 and tokens[0].symbol("-") and tokens[1].kind == "number":
        number = _number(tokens[1].text)
        return -number
    if len(tokens) != 1:
        return None
    token = tokens[0]
    if token.kind == "number":
        return _number(token.text)
    if token.kind == "string":
        return _text(token.text)
    if token.kind == "parameter":
        return parameters.get(token.text[1:])
    return {"TRUE": True, "FALSE": False}.get(token.word)


def _number(text: str) -> int | float:
    return int(text) if text.isdecimal() else float(text)


def _text(quoted: str) -> str:
    """Return the text of a string token, its escapes resolved."""
    parts = quoted[1:-1].split("\\")
    found = [parts[0]]
    at = 1
    while at < len(parts):
        if parts[at]:
            found.append(_ESCAPES.get(parts[at][0], parts[at][0]) + parts[at][1:])
        elif at + 1 < len(parts):  # an escaped backslash
            found.append("\\" + parts[at + 1])
            at += 1
        at += 1
    return "".join(found)
