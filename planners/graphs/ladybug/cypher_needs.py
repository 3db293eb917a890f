"""What tables and columns a Cypher statement names: types of edges, and properties with their types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from planners.graphs.cypher.cypher_patterns import CypherPatterns, cypher_patterns, map_items
from planners.graphs.cypher.cypher_tokens import CypherToken
from planners.graphs.ladybug.column_types import ColumnType
from planners.graphs.ladybug.expression_type import ExpressionScope, element_shape, expression_type, shape_of
from planners.graphs.ladybug.ladybug_tables import LadybugTables, Needs, RowKind
from planners.graphs.property_graph import Value

__all__ = ["CypherNames", "cypher_names"]

_COMPARISONS = ("=", "<>", "<", ">", "<=", ">=")
_WRITING = ("CREATE", "MERGE")


@dataclass(slots=True, kw_only=True)
class CypherNames:
    """What a statement names.

    :param variables: name → whether it is a node or an edge, and the types of an edge; none: any.
    """

    tokens: Sequence[CypherToken]
    patterns: CypherPatterns
    needs: Needs
    variables: dict[str, tuple[RowKind, set[str]]] = field(default_factory=dict)


def cypher_names(
    tokens: Sequence[CypherToken],
    parameters: Mapping[str, Value],
    tables: LadybugTables,
) -> CypherNames:
    """Return what a statement names."""
    names = CypherNames(tokens=tokens, patterns=cypher_patterns(tokens), needs=Needs())
    _read_variables(names)
    scope = ExpressionScope(
        parameters=parameters, property_type=lambda variable, name: _known(names, tables, variable, name)
    )
    _read_values(names, scope)
    for node in names.patterns.nodes.values():
        _read_map(names, "NODE", set(), node.open, node.properties, scope, tables)
    for rel in names.patterns.rels:
        types = {tokens[at].text for at in rel.types}
        names.needs.types |= types
        _read_map(names, "REL", types, rel.open, rel.properties, scope, tables)
    _read_sets(names, scope)
    _read_accesses(names, scope, tables)
    return names


def _read_variables(names: CypherNames) -> None:
    tokens = names.tokens
    for node in names.patterns.nodes.values():
        if node.variable:
            names.variables.setdefault(node.variable, ("NODE", set()))
    for rel in names.patterns.rels:
        if rel.variable and rel.star < 0:
            names.variables.setdefault(rel.variable, ("REL", set()))[1].update(tokens[at].text for at in rel.types)
    for at, token in enumerate(tokens):
        if token.word == "AS" and 0 < at < len(tokens) - 1 and tokens[at - 1].text in names.variables:
            if not tokens[at - 2].symbol("."):
                names.variables.setdefault(tokens[at + 1].text, names.variables[tokens[at - 1].text])


def _read_values(names: CypherNames, scope: ExpressionScope) -> None:
    """Note what variables of UNWIND and WITH hold."""
    tokens = names.tokens
    for clause in names.patterns.clauses:
        if clause.word not in ("UNWIND", "WITH"):
            continue
        start = clause.start + 1
        for at in range(clause.start, clause.end):
            if tokens[at].depth == clause.depth and tokens[at].symbol(","):
                start = at + 1
            if tokens[at].word == "AS" and tokens[at].depth == clause.depth and at + 1 < clause.end:
                shape = shape_of(tokens, start, at, scope)
                scope.values[tokens[at + 1].text] = element_shape(shape) if clause.word == "UNWIND" else shape


def _clause_word(names: CypherNames, at: int) -> str:
    clause = names.patterns.clause_at(at)
    return clause.word if clause else ""


def _known(names: CypherNames, tables: LadybugTables, variable: str, name: str) -> ColumnType | None:
    if variable not in names.variables:
        return None
    column = tables.column(names.variables[variable][0], name)
    return column.type if column else None


def _want(names: CypherNames, kind: RowKind, owners: set[str], name: str, type_: ColumnType | None) -> None:
    for owner in owners or (None,):
        names.needs.want(kind, owner, name, type_)


def _read_map(
    names: CypherNames,
    kind: RowKind,
    owners: set[str],
    open_: int,
    at: int,
    scope: ExpressionScope,
    tables: LadybugTables,
) -> None:
    """Note the properties of a pattern; those that are only compared do not widen a column."""
    if at < 0:
        return
    writes = _clause_word(names, open_) in _WRITING
    for key, value, end in map_items(names.tokens, at):
        name = names.tokens[key].text
        type_ = expression_type(names.tokens, value, end, scope)
        _want(names, kind, owners, name, type_ if writes or tables.column(kind, name) is None else None)


def _read_sets(names: CypherNames, scope: ExpressionScope) -> None:
    """Note what SET assigns: ``x.name = value``, ``x = {…}`` and ``x += {…}``."""
    tokens = names.tokens
    for start, stop in _items(names, "SET"):
        variable = names.variables.get(tokens[start].text)
        if variable is None or stop - start < 3:
            continue
        if tokens[start + 1].symbol(".") and stop - start > 4:
            type_ = expression_type(tokens, start + 4, stop, scope)
            _want(names, *variable, tokens[start + 2].text, type_)
            if not variable[1]:
                names.needs.everywhere.add(tokens[start + 2].text)
        elif tokens[start + 2].symbol("{"):
            for key, value, end in map_items(tokens, start + 2):
                _want(names, *variable, tokens[key].text, expression_type(tokens, value, end, scope))


def _items(names: CypherNames, word: str) -> Iterator[tuple[int, int]]:
    """Yield the places of what commas separate in the clauses of a word."""
    for clause in names.patterns.clauses:
        if clause.word != word:
            continue
        start = clause.start + 1
        for at in range(start, clause.end + 1):
            if at == clause.end or (names.tokens[at].symbol(",") and names.tokens[at].depth == clause.depth):
                yield start, at
                start = at + 1


def _read_accesses(names: CypherNames, scope: ExpressionScope, tables: LadybugTables) -> None:
    """Note what is read of nodes and edges; a column that is missing gets the type that it is compared with."""
    tokens = names.tokens
    for at in range(1, len(tokens) - 1):
        if not (tokens[at].symbol(".") and tokens[at - 1].text in names.variables and tokens[at + 1].is_name):
            continue
        kind, owners = names.variables[tokens[at - 1].text]
        name = tokens[at + 1].text
        hint = None
        if tables.column(kind, name) is None and at + 3 < len(tokens) and tokens[at + 2].symbol(*_COMPARISONS):
            hint = expression_type(tokens, at + 3, at + 4, scope)
        for owner in owners or (None,):
            if names.needs.properties.get((kind, owner, name)) is None:
                names.needs.want(kind, owner, name, hint)
