"""A Cypher statement as Ladybug takes it: names of its tables and columns, trails instead of walks, and what it spells otherwise.

Neo4j never takes an edge twice within one MATCH, Ladybug does. Edges of fixed patterns are told apart by conditions; a path of
any length becomes a ``TRAIL``. Left as Ladybug has it: an edge of a fixed pattern can stand again in a path of any length
of the same MATCH, a path without an upper bound has at most 30 edges, and patterns used as conditions are walks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from planners.graphs.cypher.cypher_patterns import CypherClause, NodePattern, RelPattern, closing, map_items
from planners.graphs.cypher.cypher_tokens import CypherToken, quoted_text
from planners.graphs.cypher_names import quoted_name
from planners.graphs.ladybug.cypher_needs import CypherNames
from planners.graphs.ladybug.ladybug_refusals import check_for_ladybug
from planners.graphs.ladybug.ladybug_tables import EXACT, LABEL, NODES, LadybugTables, RowKind

__all__ = ["HIDDEN_EDGE", "column_titles", "ladybug_statement"]

HIDDEN_EDGE = "_trail"
"""Names of edges that the statement leaves without one start with this."""
_PATHS = ("TRAIL", "ACYCLIC", "SHORTEST", "ALL")
_RENAMED: Mapping[tuple[str, int], str] = {
    ("round", 1): "_round",
    ("substring", 3): "_substring",
    ("substring", 2): "_substring_from",
}
"""Function and number of arguments → the macro that does the same (``ladybug_tables``)."""


@dataclass(frozen=True, slots=True)
class _Edit:
    start: int
    end: int
    text: str


def ladybug_statement(text: str, names: CypherNames, tables: LadybugTables) -> str:
    """Return the statement for Ladybug; its tables and columns must be there.

    :param names: of this text.
    :raises StatementError: when Ladybug would do something else than it says.
    """
    check_for_ladybug(names)
    edits = [
        *_table_names(names, tables),
        *_columns(names, tables),
        *_trails(names),
        *_merges(names),
        *_assignments(names, tables),
        *_functions(names),
        *_label_conditions(names),
    ]
    parts: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if edit.start >= at:
            parts += [text[at : edit.start], edit.text]
            at = edit.end
    return "".join([*parts, text[at:]])


def column_titles(names: CypherNames, text: str) -> list[str] | None:
    """Return the titles of the columns, as the statement has them; None: it returns everything."""
    tokens = names.tokens
    clause = next((c for c in reversed(names.patterns.clauses) if c.word == "RETURN" and c.depth == 0), None)
    if clause is None:
        return None
    titles: list[str] = []
    start = clause.start + 1 + (clause.start + 1 < clause.end and tokens[clause.start + 1].word == "DISTINCT")
    for at in range(start, clause.end + 1):
        if at < clause.end and not (tokens[at].symbol(",") and tokens[at].depth == 0):
            continue
        if at <= start or tokens[start].symbol("*"):
            return None
        named = at - start > 2 and tokens[at - 2].word == "AS"
        titles.append(tokens[at - 1].text if named else text[tokens[start].start : tokens[at - 1].end])
        start = at + 1
    return titles


def _replaced(token: CypherToken, text: str) -> _Edit:
    return _Edit(token.start, token.end, text)


def _inserted(at: int, text: str) -> _Edit:
    return _Edit(at, at, text)


def _table_names(names: CypherNames, tables: LadybugTables) -> Iterator[_Edit]:
    """Spell labels as the table of all nodes with a hidden property; several of them become a condition (``_conditions``)."""
    tokens = names.tokens
    for node in names.patterns.nodes.values():
        if not node.labels:
            continue
        colon = tokens[node.labels[0] - 1]
        yield _Edit(colon.start, tokens[node.labels[-1]].end, f":{NODES}")
        if len(node.labels) == 1:
            label = f"`{LABEL}`: {quoted_text(tokens[node.labels[0]].text)}"
            if node.properties < 0:
                yield _inserted(tokens[node.close].start, f" {{{label}}}")
            else:
                comma = ", " if map_items(tokens, node.properties) else ""
                yield _inserted(tokens[node.properties].end, f"{label}{comma}")
    for rel in names.patterns.rels:
        for at in rel.types:
            yield _replaced(tokens[at], quoted_name(tables.edges(tokens[at].text)))


def _columns(names: CypherNames, tables: LadybugTables) -> Iterator[_Edit]:
    tokens = names.tokens
    maps = [("NODE", node.properties) for node in names.patterns.nodes.values()]
    maps += [("REL", rel.properties) for rel in names.patterns.rels]
    for kind, at in maps:
        for key, _, _ in map_items(tokens, at) if at >= 0 else ():
            yield _column(tokens[key], kind, tables)  # type: ignore[arg-type]
    for at in range(1, len(tokens) - 1):
        if tokens[at].symbol(".") and tokens[at - 1].text in names.variables and tokens[at + 1].is_name:
            yield _column(tokens[at + 1], names.variables[tokens[at - 1].text][0], tables)


def _column(token: CypherToken, kind: RowKind, tables: LadybugTables) -> _Edit:
    column = tables.column(kind, token.text)
    return _replaced(token, quoted_name(column.name if column else token.text))


def _trails(names: CypherNames) -> Iterator[_Edit]:
    tokens = names.tokens
    for rel in names.patterns.rels:
        if rel.star >= 0 and tokens[rel.star + 1].word not in _PATHS:
            yield _inserted(tokens[rel.star].end, " TRAIL ")
    for clause in names.patterns.clauses:
        if clause.word != "MATCH":
            continue
        rels = [rel for rel in names.patterns.rels if clause.start < rel.open < clause.end and rel.star < 0]
        rels = [rel for rel in rels if names.patterns.clause_at(rel.open) == clause]
        together = [rel for rel in rels if any(_can_be_one(names, rel, other) for other in rels if other is not rel)]
        called: dict[int, str] = {}
        for rel in together:
            called[rel.open] = _called(rel)
            if not rel.variable:
                yield _naming(names, rel)
        conditions = [
            f"id({called[rel.open]}) <> id({called[other.open]})"
            for at, rel in enumerate(together)
            for other in together[at + 1 :]
            if _can_be_one(names, rel, other)
        ]
        for node in names.patterns.nodes.values():
            if len(node.labels) > 1 and names.patterns.clause_at(node.open) == clause:
                if not node.variable:
                    yield _naming(names, node)
                labels = ", ".join(quoted_text(tokens[at].text) for at in node.labels)
                conditions.append(f"{_called(node)}.`{LABEL}` IN [{labels}]")
        yield from _with_conditions(names, clause, conditions)


def _called(part: NodePattern | RelPattern) -> str:
    return quoted_name(part.variable) if part.variable else f"{HIDDEN_EDGE}{part.open}"


def _naming(names: CypherNames, part: NodePattern | RelPattern) -> _Edit:
    bare = isinstance(part, RelPattern) and part.bare
    return _inserted(names.tokens[part.open].end, f"[{_called(part)}]" if bare else _called(part))


def _merges(names: CypherNames) -> Iterator[_Edit]:
    """Give each MERGE an ON CREATE that changes nothing: without one, Ladybug 0.22 loses rows for the clauses after it.

    Found by comparing random chains of CREATE and MERGE after UNWIND with a plain computation: 54 of 150 differed, none with it.
    """
    for at, clause in enumerate(names.patterns.clauses):
        if clause.word != "MERGE" or _has_on_create(names.patterns.clauses[at + 1 :]):
            continue
        parts: list[NodePattern | RelPattern] = [
            rel for rel in names.patterns.rels if clause.start < rel.open < clause.end
        ]
        parts += [node for node in names.patterns.nodes.values() if clause.start < node.open < clause.end]
        if parts:
            if not parts[0].variable:
                yield _naming(names, parts[0])
            yield _inserted(names.tokens[clause.end - 1].end, f" ON CREATE SET {_called(parts[0])}.`{EXACT}` = NULL")


def _has_on_create(clauses: Sequence[CypherClause]) -> bool:
    words = [clause.word for clause in clauses]
    at = 0
    while words[at : at + 1] == ["ON"]:
        if words[at + 1] == "CREATE":
            return True
        at += 3  # ON, MATCH, SET
    return False


def _can_be_one(names: CypherNames, rel: RelPattern, other: RelPattern) -> bool:
    if rel.variable and rel.variable == other.variable:
        return False
    types = [{names.tokens[at].text for at in one.types} for one in (rel, other)]
    return not (types[0] and types[1]) or bool(types[0] & types[1])


def _with_conditions(names: CypherNames, clause: CypherClause, conditions: list[str]) -> Iterator[_Edit]:
    if not conditions:
        return
    joined = " AND ".join(conditions)
    where = next((c for c in names.patterns.clauses if c.start == clause.end and c.word == "WHERE"), None)
    if where is None:
        yield _inserted(names.tokens[clause.end - 1].end, f" WHERE {joined}")
    else:
        yield _inserted(names.tokens[where.start].end, f" {joined} AND (")
        yield _inserted(names.tokens[where.end - 1].end, ")")


def _assignments(names: CypherNames, tables: LadybugTables) -> Iterator[_Edit]:
    """Spell ``REMOVE x.name``, ``SET x += {…}`` and ``SET x = {…}`` as single assignments."""
    tokens = names.tokens
    for clause in names.patterns.clauses:
        if clause.word not in ("SET", "REMOVE"):
            continue
        if clause.word == "REMOVE":
            yield _replaced(tokens[clause.start], "SET")
        start = clause.start + 1
        for at in range(start, clause.end + 1):
            if at < clause.end and not (tokens[at].symbol(",") and tokens[at].depth == clause.depth):
                continue
            if clause.word == "REMOVE":
                yield _inserted(tokens[at - 1].end, " = NULL")
            elif at - start > 2 and tokens[start + 2].symbol("{") and tokens[start].text in names.variables:
                yield _map_assignment(names, tables, start, at)
            start = at + 1


def _map_assignment(names: CypherNames, tables: LadybugTables, start: int, stop: int) -> _Edit:
    tokens = names.tokens
    variable, kind = tokens[start], names.variables[tokens[start].text][0]
    text: dict[str, str] = {}
    if tokens[start + 1].symbol("="):
        owners = names.variables[variable.text][1]
        text = dict.fromkeys(tables.columns_of(kind, owners), "NULL")
    for key, value, end in map_items(tokens, start + 2):
        column = tables.column(kind, tokens[key].text)
        text[column.name if column else tokens[key].text] = _joined(tokens[value:end])
    sets = ", ".join(f"{quoted_name(variable.text)}.{quoted_name(name)} = {value}" for name, value in text.items())
    return _Edit(variable.start, tokens[stop - 1].end, sets)


def _joined(tokens: Sequence[CypherToken]) -> str:
    return " ".join(quoted_name(token.text) if token.kind == "quoted" else token.text for token in tokens)


def _functions(names: CypherNames) -> Iterator[_Edit]:
    tokens = names.tokens
    for at in range(len(tokens) - 1):
        if tokens[at].kind == "name" and tokens[at + 1].symbol("(") and not (at and tokens[at - 1].symbol(".")):
            end = closing(tokens, at + 1)
            inner = [token for token in tokens[at + 2 : end] if token.depth == tokens[at + 1].depth + 1]
            count = 1 + sum(token.symbol(",") for token in inner)
            kind = names.variables.get(tokens[at + 2].text, ("NODE",))[0]
            if tokens[at].text.lower() in ("label", "labels") and end == at + 3 and kind == "NODE":
                label = f"{quoted_name(tokens[at + 2].text)}.`{LABEL}`"
                yield _Edit(
                    tokens[at].start, tokens[end].end, f"[{label}]" if tokens[at].text.lower() == "labels" else label
                )
            elif name := _RENAMED.get((tokens[at].text.lower(), count)):
                yield _replaced(tokens[at], name)


def _label_conditions(names: CypherNames) -> Iterator[_Edit]:
    """Spell ``n:Label`` outside of patterns as a comparison."""
    tokens = names.tokens
    inside = {at for node in names.patterns.nodes.values() for at in range(node.open, node.close)}
    inside |= {at for rel in names.patterns.rels for at in range(rel.open, rel.close)}
    for at in range(1, len(tokens) - 1):
        known = tokens[at].symbol(":") and at not in inside and tokens[at - 1].text in names.variables
        if known and tokens[at + 1].is_name and not (at > 1 and tokens[at - 2].symbol("{", ",")):
            variable = quoted_name(tokens[at - 1].text)
            is_node = names.variables[tokens[at - 1].text][0] == "NODE"
            name = f"{variable}.`{LABEL}`" if is_node else f"label({variable})"
            yield _Edit(tokens[at - 1].start, tokens[at + 1].end, f"({name} = {quoted_text(tokens[at + 1].text)})")
