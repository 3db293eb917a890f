"""The type of a Cypher expression, as far as its words tell: a column is made of it before the value is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from planners.graphs.cypher.cypher_patterns import closing, map_items
from planners.graphs.cypher.cypher_tokens import CypherToken
from planners.graphs.ladybug.column_types import ColumnType, joined_type, natural_type
from planners.graphs.property_graph import Value

__all__ = ["ExpressionScope", "Shape", "element_shape", "expression_type", "shape_of"]

_INTEGERS = frozenset(
    "count size length tointeger tointegerornull char_length year month day list_position len".split()
)
_DECIMALS = frozenset(
    "avg tofloat tofloatornull sqrt exp log log10 log2 ln sin cos tan stdev percentilecont pi e".split()
)
_LISTS_OF_TEXT = frozenset("split string_split labels".split())
_TEXTS = frozenset(
    """tostring tolower toupper lower upper trim ltrim rtrim left right substring replace type label date datetime timestamp
    duration concat""".split()
)
_COMPARE = ("=", "<>", "<", ">", "<=", ">=", "=~")
_COMPARE_WORDS = ("IN", "IS", "CONTAINS", "STARTS", "ENDS", "NOT", "AND", "OR", "XOR")


Shape: TypeAlias = "ColumnType | dict[str, Shape] | None"
"""What is known of a variable: the type of its value, or of each field of its map."""


@dataclass(slots=True, kw_only=True)
class ExpressionScope:
    """What is known while a statement is read.

    :param parameters: of the statement.
    :param values: variable → what it holds, where it is no node or edge.
    :param property_type: variable, property → type of its column, if both are known.
    """

    parameters: Mapping[str, Value]
    values: dict[str, Shape] = field(default_factory=dict)
    property_type: Callable[[str, str], ColumnType | None] = lambda _variable, _name: None


def expression_type(tokens: Sequence[CypherToken], start: int, stop: int, scope: ExpressionScope) -> ColumnType | None:
    """Return the type of the expression from one place up to another; None: its words do not tell."""
    shape = shape_of(tokens, start, stop, scope)
    return None if isinstance(shape, dict) else shape


def shape_of(tokens: Sequence[CypherToken], start: int, stop: int, scope: ExpressionScope) -> Shape:
    """Return what an expression holds."""
    if start >= stop:
        return None
    first, depth = tokens[start], tokens[start].depth
    if first.symbol("{") and closing(tokens, start) == stop - 1:
        return {tokens[key].text: shape_of(tokens, value, end, scope) for key, value, end in map_items(tokens, start)}
    level = [token for token in tokens[start:stop] if token.depth == depth]
    if first.word != "CASE" and any(t.symbol(*_COMPARE) or t.word in _COMPARE_WORDS for t in level):
        return "BOOL"
    if first.symbol("[") and closing(tokens, start) == stop - 1:
        return _list(tokens, start, stop - 1, scope)
    if stop - start == 1 and first.is_name and first.text in scope.values:
        return scope.values[first.text]
    return _atoms(tokens, start, stop, scope)


def element_shape(shape: Shape) -> Shape:
    """Return what the members of a list hold."""
    if isinstance(shape, str):
        return {"BOOL[]": "BOOL", "INT64[]": "INT64", "DOUBLE[]": "DOUBLE", "STRING[]": "STRING"}.get(shape)  # type: ignore[return-value]
    return shape


def _list(tokens: Sequence[CypherToken], open_: int, close: int, scope: ExpressionScope) -> Shape:
    """Return the type of a list; of a list of maps, what its fields hold."""
    joined: ColumnType | None = None
    maps: dict[str, Shape] = {}
    place = open_ + 1
    while place < close:
        stop = _item_end(tokens, place, close)
        shape = shape_of(tokens, place, stop, scope)
        if isinstance(shape, dict):
            for name, part in shape.items():
                known = maps.get(name)
                maps[name] = part if isinstance(part, dict) or isinstance(known, dict) else joined_type(known, part)
        else:
            joined = joined_type(joined, shape)
        place = stop + 1
    if maps:
        return maps
    lists: dict[str, ColumnType] = {"BOOL": "BOOL[]", "INT64": "INT64[]", "DOUBLE": "DOUBLE[]", "STRING": "STRING[]"}
    return lists.get(joined or "", "[]" if close == open_ + 1 else None)


def _item_end(tokens: Sequence[CypherToken], place: int, close: int) -> int:
    depth = tokens[close].depth + 1
    return next((at for at in range(place, close) if tokens[at].depth == depth and tokens[at].symbol(",")), close)


def _atoms(tokens: Sequence[CypherToken], start: int, stop: int, scope: ExpressionScope) -> ColumnType | None:
    """Join the types of what an expression is computed from."""
    joined: ColumnType | None = None
    at = start
    while at < stop:
        type_, at = _atom(tokens, at, stop, scope)
        joined = joined_type(joined, type_)
    return joined


def _atom(tokens: Sequence[CypherToken], at: int, stop: int, scope: ExpressionScope) -> tuple[ColumnType | None, int]:
    token = tokens[at]
    after = tokens[at + 1] if at + 1 < stop else None
    if token.kind == "string":
        return "STRING", at + 1
    if token.kind == "number":
        return ("INT64" if token.text.isdecimal() else "DOUBLE"), at + 1
    if token.kind == "parameter":
        value = scope.parameters.get(token.text[1:])
        return (None if value is None else natural_type(value)), at + 1
    if token.word in ("TRUE", "FALSE"):
        return "BOOL", at + 1
    if token.is_name and after is not None and after.symbol("("):
        end = closing(tokens, at + 1)
        return _function(tokens, at, end, scope), end + 1
    if token.is_name and after is not None and after.symbol(".") and at + 2 < stop:
        known = scope.values.get(token.text)
        shape = known.get(tokens[at + 2].text) if isinstance(known, dict) else None
        found = scope.property_type(token.text, tokens[at + 2].text) if shape is None else shape
        return (None if isinstance(found, dict) else found), at + 3
    if token.is_name and token.text in scope.values:
        known = scope.values[token.text]
        return (None if isinstance(known, dict) else known), at + 1
    return None, at + 1


def _function(tokens: Sequence[CypherToken], at: int, end: int, scope: ExpressionScope) -> ColumnType | None:
    name = tokens[at].text.lower()
    if name in _INTEGERS:
        return "INT64"
    if name in _DECIMALS:
        return "DOUBLE"
    if name in _TEXTS:
        return "STRING"
    if name in _LISTS_OF_TEXT:
        return "STRING[]"
    inner = _atoms(tokens, at + 2, end, scope)
    if name == "collect":
        return {"BOOL": "BOOL[]", "INT64": "INT64[]", "DOUBLE": "DOUBLE[]", "STRING": "STRING[]"}.get(inner or "")  # type: ignore[return-value]
    return inner
