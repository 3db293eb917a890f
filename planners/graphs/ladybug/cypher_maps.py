"""Maps of one list made alike: Ladybug 0.22 casts one map to another by the place of its fields, whatever their names.

So ``[{a: 1, b: 2}, {b: 3, a: 4}]`` gave rows with a and b exchanged, and of ``[{a: 1}, {b: 2}]`` the first had 1 for b. Here maps
that stand together in a part of a clause get the same fields in one order, null where one is missing. Not seen are
maps that come together only by variables that hold them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from planners.graphs.cypher.cypher_allow_list import AllowedCypher
from planners.graphs.cypher.cypher_patterns import CypherPatterns, closing, cypher_patterns, map_items
from planners.graphs.cypher.cypher_tokens import CypherToken, cypher_tokens
from planners.graphs.cypher_names import quoted_name
from planners.graphs.ladybug.column_types import ColumnType, joined_type
from planners.graphs.ladybug.expression_type import ExpressionScope, expression_type
from planners.graphs.property_graph import Value

__all__ = ["with_like_maps"]

_Group: TypeAlias = tuple[int | str, int, tuple[str, ...]]
"""A clause (RETURN is one in all parts of a UNION), a part of it between commas, and the keys of the maps around."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _MapLiteral:
    open: int
    group: _Group
    fields: Mapping[str, tuple[int, int]]


def with_like_maps(allowed: AllowedCypher, parameters: Mapping[str, Value]) -> AllowedCypher:
    """Return a statement whose maps have the same fields in one order; the same one where they have already."""
    tokens = allowed.tokens
    maps = {found.open: found for found in _map_literals(tokens)}
    scope = ExpressionScope(parameters=parameters)
    wanted: dict[_Group, dict[str, ColumnType | None]] = defaultdict(dict)
    for found in maps.values():
        for name, (start, stop) in found.fields.items():
            known = wanted[found.group].get(name)
            wanted[found.group][name] = joined_type(known, expression_type(tokens, start, stop, scope))
    if all(list(found.fields) == list(wanted[found.group]) for found in maps.values()):
        return allowed
    text = _Writer(allowed, maps, wanted).written(0, len(tokens))
    return AllowedCypher(text=text, tokens=cypher_tokens(text))


def _map_literals(tokens: Sequence[CypherToken]) -> Iterator[_MapLiteral]:
    """Yield the maps that are values: not those of patterns, nor what SET assigns."""
    patterns = cypher_patterns(tokens)
    others = {node.properties for node in patterns.nodes.values()} | {rel.properties for rel in patterns.rels}
    around: list[tuple[int, str]] = []  # where a value of a map ends, and its key
    keys: dict[int, tuple[int, str]] = {}
    for at, token in enumerate(tokens):
        around = [(end, key) for end, key in around if end > at]
        around += [keys[at]] if at in keys else []
        if not token.symbol("{") or at in others or _is_assigned(tokens, at, patterns):
            continue
        items = map_items(tokens, at)
        if not items or items[-1][2] != closing(tokens, at):
            continue
        fields = {tokens[key].text: (value, stop) for key, value, stop in items}
        yield _MapLiteral(open=at, group=_group(tokens, at, patterns, tuple(key for _, key in around)), fields=fields)
        keys |= {value: (stop, tokens[key].text) for key, value, stop in items}


def _is_assigned(tokens: Sequence[CypherToken], at: int, patterns: CypherPatterns) -> bool:
    clause = patterns.clause_at(at)
    return clause is not None and clause.word == "SET" and tokens[at].depth == clause.depth


def _group(tokens: Sequence[CypherToken], at: int, patterns: CypherPatterns, keys: tuple[str, ...]) -> _Group:
    clause = patterns.clause_at(at)
    if clause is None:
        return "", 0, keys
    commas = sum(token.symbol(",") and token.depth == clause.depth for token in tokens[clause.start : at])
    return (clause.word if clause.word == "RETURN" else clause.start), commas, keys


class _Writer:
    """Writes a text anew.

    :param maps: place of the bracket that opens one → the map.
    :param wanted: the fields of a group, with the types of their values.
    """

    def __init__(
        self,
        allowed: AllowedCypher,
        maps: Mapping[int, _MapLiteral],
        wanted: Mapping[_Group, Mapping[str, ColumnType | None]],
    ) -> None:
        self._allowed = allowed
        self._maps = maps
        self._wanted = wanted

    def written(self, start: int, stop: int) -> str:
        """Return the text from one token up to another."""
        tokens = self._allowed.tokens
        parts: list[str] = []
        at = start
        while at < stop:
            end = at
            if at in self._maps:
                end = closing(tokens, at)
                parts.append(self._map(self._maps[at]))
            else:
                parts.append(self._allowed.text[tokens[at].start : tokens[at].end])
            if end + 1 < stop:
                parts.append(self._allowed.text[tokens[end].end : tokens[end + 1].start])
            at = end + 1
        return "".join(parts)

    def _map(self, found: _MapLiteral) -> str:
        fields = self._wanted[found.group]
        return "{" + ", ".join(f"{quoted_name(name)}: {self._value(found, name)}" for name in fields) + "}"

    def _value(self, found: _MapLiteral, name: str) -> str:
        type_ = self._wanted[found.group][name]
        typed = "NULL" if type_ in (None, "[]") else f"CAST(NULL AS {type_})"
        if name not in found.fields:
            return typed
        start, stop = found.fields[name]
        is_null = stop - start == 1 and self._allowed.tokens[start].word == "NULL"
        return typed if is_null else self.written(start, stop)
